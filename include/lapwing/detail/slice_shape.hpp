// Room: slices
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/detail/direction.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/triplet.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lapwing {

class Team;

/// All indices of a dimension, in a slice: `a(all, 3)`.
struct All {};
inline constexpr All all{};

/// What a slice may have for a dimension of its array: indices in some order, all of them, or one, which leaves the
/// dimension out.
template <class S>
concept SliceArgument = IndexValue<S> || std::convertible_to<S, Triplet> || std::same_as<S, All>;

namespace detail::slices {

/// A slice argument. One index is a triplet of size 1 whose dimension is left out.
struct SlicePart {
    Triplet indices{};
    bool everything = false;
    bool left_out = false;

    template <SliceArgument S>
    [[nodiscard]] static SlicePart of(const S& argument) {
        if constexpr (std::same_as<S, All>) return {.everything = true};
        else if constexpr (IndexValue<S>)
            return {.indices = Triplet::strided(datatype::checked_index(argument), 1, 1), .left_out = true};
        else return {.indices = Triplet{argument}};
    }
};

/// Which elements of an array are in a slice, and in which order: position k of a dimension is index indices[k] of a
/// dimension of the array. The dimensions of the array that the slice does not have stay at one index.
struct SliceShape {
    struct Dimension {
        std::size_t of_array = 0;
        Triplet indices;
    };

    std::array<Dimension, max_dimensions> dimensions{};
    std::size_t count = 0;                            ///< of the dimensions
    std::array<std::int64_t, max_dimensions> fixed{}; ///< index, by dimension of the array, where `is_fixed`
    std::array<bool, max_dimensions> is_fixed{};

    [[nodiscard]] std::span<const Dimension> used() const noexcept { return {dimensions.data(), count}; }
    [[nodiscard]] bool empty() const noexcept;
    /// Throws RangeError above 2^64 - 1 elements.
    [[nodiscard]] std::uint64_t size() const;
    /// Elements from a position to the next in a dense row-major buffer, by dimension.
    [[nodiscard]] std::array<std::int64_t, max_dimensions> dense_strides() const noexcept;
    /// Whether both have an element in common, of one array of so many dimensions.
    [[nodiscard]] bool overlaps(const SliceShape& other, std::size_t array_dimensions) const noexcept;
};

/// A slice without the type of its elements.
class SliceBase {
public:
    /// Number of positions in a dimension, and in all. size() throws RangeError when it is above 2^64 - 1.
    [[nodiscard]] std::uint64_t size() const { return shape_.size(); }
    [[nodiscard]] bool empty() const noexcept { return shape_.empty(); }

    [[nodiscard]] const std::weak_ptr<const ArrayGeometry>& array() const noexcept { return array_; }
    [[nodiscard]] const SliceShape& shape() const noexcept { return shape_; }

protected:
    /// All of an array.
    explicit SliceBase(const std::shared_ptr<const ArrayGeometry>& array);
    /// The indices of a domain, a range for each dimension of the array, which is open. Throws RangeError unless they
    /// are the array's, or the domain is empty.
    SliceBase(const std::shared_ptr<const ArrayGeometry>& array, std::span<const Range> domain);
    SliceBase(const SliceBase&) = default;
    SliceBase& operator=(const SliceBase&) = default;
    ~SliceBase() = default;

    /// Leaves of each dimension what its part says. Throws RangeError for indices that it has not.
    void cut(std::span<const SlicePart> parts);
    /// Dimension d becomes what was dimension order[d]. Throws RangeError unless `order` has each of them once.
    void permute(std::span<const std::size_t> order);
    /// At most as many elements as `buffer`. Throws RangeError.
    void check_buffer(const char* call, std::uint64_t buffer) const;
    /// Throws RangeError unless the extents are those of the slice, and the strides grow from the last dimension to the
    /// first.
    void check_view(const char* call, std::span<const std::int64_t> extents,
                    std::span<const std::int64_t> strides) const;

    /// The elements, to or from a buffer whose positions are `strides` elements apart. One-sided.
    void get(std::byte* buffer, std::span<const std::int64_t> strides) const;
    void put(const std::byte* buffer, std::span<const std::int64_t> strides) const;
    [[nodiscard]] Completion start_get(std::byte* buffer, std::span<const std::int64_t> strides) const;
    [[nodiscard]] Completion start_put(const std::byte* buffer, std::span<const std::int64_t> strides) const;
    /// The same; `call` is for messages, ".start_get" for example. A put only reads the buffer.
    [[nodiscard]] Completion start(const char* call, transport::Direction direction, std::byte* buffer,
                                   std::span<const std::int64_t> strides) const;
    /// The elements of another slice.
    void put_slice(const SliceBase& source) const;
    /// Strides of a dense row-major buffer.
    [[nodiscard]] std::array<std::int64_t, max_dimensions> dense_strides() const noexcept {
        return shape_.dense_strides();
    }

private:
    std::weak_ptr<const ArrayGeometry> array_;
    SliceShape shape_;
};

/// The array of a slice. Throws UsageError when it was closed.
[[nodiscard]] std::shared_ptr<const ArrayGeometry> open_array(const SliceBase& slice, const char* call);
/// Throws RangeError, with both slices, unless they have the same extents.
void require_same_extents(const ArrayGeometry& target_array, const SliceShape& target,
                          const ArrayGeometry& source_array, const SliceShape& source);
/// "GlobalArray("a")([0, 8) by 2, 3)".
/// Throws UsageError, with `text` in it, unless the teams have the same ranks, in any order.
void require_same_ranks(Team& target, Team& source, const std::string& text);
[[nodiscard]] std::string text_of(const ArrayGeometry& array, const SliceShape& shape);

} // namespace detail::slices
} // namespace lapwing
