// Room: functions
#pragma once

#include <lapwing/error.hpp>
#include <lapwing/values.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// How the arguments and results of functions at other ranks travel. Trivially copyable values, strings, and spans and
/// vectors of trivially copyable values need nothing; other types say it by a specialisation of Serialise.
namespace lapwing {

/// Specialise it for a type of your own:
///
/// ```cpp
/// template <>
/// struct lapwing::Serialise<Polygon> {
///     static void write(ByteWriter& out, const Polygon& polygon) {
///         out.write(polygon.name);   // a std::string
///         out.write(polygon.points); // a std::vector<Point>
///     }
///     static Polygon read(ByteReader& in) {
///         auto name = in.read<std::string>(); // in the same order
///         return {std::move(name), in.read<std::vector<Point>>()};
///     }
/// };
/// ```
template <class T>
struct Serialise;

class ByteWriter;
class ByteReader;

namespace detail::functions {

template <class T>
concept Serialisable = requires(ByteWriter& out, ByteReader& in, const T& value) {
    Serialise<T>::write(out, value);
    { Serialise<T>::read(in) } -> std::convertible_to<T>;
};
/// Travels as the bytes that it is.
template <class T>
concept Plain = !Serialisable<T> && TriviallyCopyable<T> && !values::leads_elsewhere<T>();

/// The type of the elements of a sequence that travels.
template <class T>
struct SequenceOf {};
/// Those of a span.
template <class E>
struct SequenceOf<std::span<E>> {
    using Element = std::remove_const_t<E>;
};
/// Those of a vector.
template <class E, class Allocator>
    requires(!std::same_as<E, bool>)
struct SequenceOf<std::vector<E, Allocator>> {
    using Element = E;
};
template <class T>
concept Sequence = requires { requires Plain<typename SequenceOf<T>::Element>; };
template <class T>
concept Text = std::same_as<T, std::string> || std::same_as<T, std::string_view> || std::same_as<T, const char*> ||
               std::same_as<T, char*>;

template <class T>
concept Travels = Serialisable<T> || Plain<T> || Sequence<T> || Text<T>;
template <class T>
consteval bool check_travels() {
    static_assert(Travels<T>,
                  "lapwing: values of this type cannot travel to another rank: pass a trivially copyable value "
                  "without pointers, a string, a span or vector of such values, or specialise "
                  "lapwing::Serialise for it");
    return Travels<T>;
}

/// A value of a type that travels as the bytes that it is, and need not have a default constructor.
template <Plain T>
[[nodiscard]] T value_at(const std::byte* place) {
    alignas(T) std::array<std::byte, sizeof(T)> value;
    std::memcpy(value.data(), place, sizeof(T));
    return *reinterpret_cast<T*>(value.data());
}

/// Sequences begin at multiples of this in a message, so that a function can use them where they are.
inline constexpr std::size_t message_alignment = 8;

} // namespace detail::functions

/// Where arguments and results are written to, one after the other.
class ByteWriter {
public:
    ByteWriter() noexcept = default;
    ByteWriter(const ByteWriter&) = delete;
    ByteWriter& operator=(const ByteWriter&) = delete;

    /// Writes a value of a type that travels; the reader must ask for the same type.
    template <class T>
    void write(const T& value) {
        using namespace detail::functions;
        if constexpr (!check_travels<T>()) {
        } else if constexpr (Serialisable<T>) {
            Serialise<T>::write(*this, value);
        } else if constexpr (Plain<T>) {
            std::memcpy(grow(sizeof value), &value, sizeof value);
        } else if constexpr (Text<T>) {
            const std::string_view text{value};
            write_sequence(text.data(), text.size(), 1, 1);
        } else {
            using Element = typename SequenceOf<T>::Element;
            write_sequence(value.data(), value.size(), sizeof(Element), alignof(Element));
        }
    }

    /// What has been written; it begins at a multiple of 8.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data(), size_}; }
    /// Room for as many more bytes, at the end.
    [[nodiscard]] std::byte* grow(std::size_t bytes) {
        if (bytes > capacity_ - size_) [[unlikely]]
            enlarge(bytes);
        std::byte* const place = data() + size_;
        size_ += bytes;
        return place;
    }
    void clear() noexcept { size_ = 0; }

private:
    [[nodiscard]] const std::byte* data() const noexcept { return more_.empty() ? few_.data() : more_.data(); }
    [[nodiscard]] std::byte* data() noexcept { return more_.empty() ? few_.data() : more_.data(); }
    void enlarge(std::size_t bytes) {
        std::vector<std::byte> larger(std::max(2 * capacity_, size_ + bytes));
        std::memcpy(larger.data(), data(), size_);
        more_.swap(larger);
        capacity_ = more_.size();
    }
    void write_sequence(const void* values, std::size_t count, std::size_t value_bytes, std::size_t alignment) {
        write(static_cast<std::uint64_t>(count));
        const std::size_t used = std::min(alignment, detail::functions::message_alignment);
        const std::size_t gap = (used - size_ % used) % used;
        std::byte* const place = grow(gap + count * value_bytes);
        std::memset(place, 0, gap);
        if (count != 0) std::memcpy(place + gap, values, count * value_bytes);
    }

    static constexpr std::size_t few_bytes = 256;
    alignas(detail::functions::message_alignment) std::array<std::byte, few_bytes> few_;
    std::vector<std::byte> more_; ///< instead, where it is more
    std::size_t capacity_ = few_bytes;
    std::size_t size_ = 0;
};

/// What a ByteWriter has written, at another rank. Throws Error where there are fewer bytes than are read.
class ByteReader {
public:
    /// `bytes` begin at a multiple of 8.
    explicit ByteReader(std::span<const std::byte> bytes) noexcept
        : begin_{bytes.data()}, at_{bytes.data()}, end_{bytes.data() + bytes.size()} {}

    /// The next value, of the type that was written.
    template <class T>
    [[nodiscard]] T read() {
        using namespace detail::functions;
        if constexpr (!check_travels<T>()) {
        } else if constexpr (Serialisable<T>) {
            return Serialise<T>::read(*this);
        } else if constexpr (Plain<T>) {
            return value_at<T>(take(sizeof(T)));
        } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
            const std::span<const char> text = sequence<char>();
            return T{text.data(), text.size()};
        } else if constexpr (requires(T vector) { vector.resize(1); }) {
            using Element = typename SequenceOf<T>::Element;
            const std::span<const std::byte> bytes = sequence_bytes<Element>();
            T vector;
            vector.resize(bytes.size() / sizeof(Element));
            if (!bytes.empty()) std::memcpy(vector.data(), bytes.data(), bytes.size());
            return vector;
        } else {
            return sequence<typename SequenceOf<T>::Element>();
        }
    }
    /// The next bytes.
    [[nodiscard]] const std::byte* take(std::size_t bytes) {
        if (bytes > static_cast<std::size_t>(end_ - at_)) [[unlikely]]
            throw_short(bytes);
        return std::exchange(at_, at_ + bytes);
    }
    [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

private:
    [[noreturn]] void throw_short(std::size_t bytes) const;
    template <class Element>
    [[nodiscard]] std::span<const std::byte> sequence_bytes() {
        const auto count = read<std::uint64_t>();
        constexpr std::size_t used = std::min(alignof(Element), detail::functions::message_alignment);
        (void)take((used - static_cast<std::size_t>(at_ - begin_) % used) % used);
        if (count > left() / sizeof(Element)) throw_short(count);
        return {take(count * sizeof(Element)), count * sizeof(Element)};
    }
    /// Where they are.
    template <class Element>
    [[nodiscard]] std::span<const Element> sequence() {
        static_assert(alignof(Element) <= detail::functions::message_alignment);
        const std::span<const std::byte> bytes = sequence_bytes<Element>();
        return {reinterpret_cast<const Element*>(bytes.data()), bytes.size() / sizeof(Element)};
    }

    const std::byte* begin_;
    const std::byte* at_;
    const std::byte* end_;
};

} // namespace lapwing
