#pragma once

#include "src/kernels/kernel_set.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// Which method copies which kind of run: a built-in table, replaceable by what was measured on this machine.
namespace lapwing::detail::kernels {

enum class Movement : std::uint8_t { gather, scatter, copy };
inline constexpr std::size_t movements = 3;

/// How the blocks lie on the side that is not contiguous; of two such sides the less regular one counts.
enum class StrideClass : std::uint8_t {
    close,   ///< a vector register spans two blocks or more
    near,    ///< a page does
    far,     ///< each block touches another page
    pages,   ///< the same, at the same place in each: they meet in a few sets of the caches
    indexed, ///< offsets
};
inline constexpr std::size_t stride_classes = 5;

/// Bytes of the cache lines that both sides touch, by the cache that holds them. What exceeds a cache is not in it, so
/// this also tells hot runs from cold ones.
enum class SizeClass : std::uint8_t { tiny, level1, level2, last_level, memory };
inline constexpr std::size_t size_classes = 5;

inline constexpr std::size_t reuses = 2;

/// One cell of the table.
struct CopyCase {
    Movement movement = Movement::gather;
    BlockClass block = BlockClass::b1;
    StrideClass stride = StrideClass::close;
    SizeClass size = SizeClass::tiny;
    Reuse reuse = Reuse::soon;

    bool operator==(const CopyCase&) const = default;
};

/// A cell and its method, as a profile stores it.
struct CopyChoice {
    CopyCase where;
    Method method = Method::moves;

    bool operator==(const CopyChoice&) const = default;
};

/// The words of a profile for the enumerators above.
[[nodiscard]] std::string_view name(Movement value) noexcept;
[[nodiscard]] std::string_view name(BlockClass value) noexcept;
[[nodiscard]] std::string_view name(StrideClass value) noexcept;
[[nodiscard]] std::string_view name(SizeClass value) noexcept;
[[nodiscard]] std::string_view name(Reuse value) noexcept;
[[nodiscard]] std::string_view name(Method value) noexcept;
/// The enumerator of that name; none when there is no such one. `Enum` is one of those above.
template <class Enum>
[[nodiscard]] std::optional<Enum> named(std::string_view word) noexcept;

/// Where the size classes begin, in bytes.
struct SizeLimits {
    std::uint64_t tiny = 1 << 10;        ///< up to here setting up a vector of indices does not pay
    std::uint64_t level1 = 32 << 10;     ///< up to here in the first-level cache
    std::uint64_t level2 = 1 << 20;      ///< and in the second
    std::uint64_t last_level = 32 << 20; ///< and in the last

    bool operator==(const SizeLimits&) const = default;
};

/// A table that names a method for each case. A plain value.
class CopyChoices {
public:
    /// The built-in table, and limits from the caches of this machine where they are known.
    CopyChoices();

    [[nodiscard]] Method method(const CopyCase& where) const noexcept { return methods_[index(where)]; }
    /// A method that has no code for the case on this processor is taken as `moves` where it is used.
    void set(const CopyCase& where, Method method) noexcept { methods_[index(where)] = method; }

    [[nodiscard]] const SizeLimits& limits() const noexcept { return limits_; }
    /// Throws SettingError when the limits do not ascend.
    void set_limits(const SizeLimits& limits);
    [[nodiscard]] SizeClass size_class(std::uint64_t bytes) const noexcept {
        if (bytes <= limits_.level1) return bytes <= limits_.tiny ? SizeClass::tiny : SizeClass::level1;
        if (bytes <= limits_.level2) return SizeClass::level2;
        return bytes <= limits_.last_level ? SizeClass::last_level : SizeClass::memory;
    }

    /// All cells, for a profile; and back. Cells that are not listed keep what they have.
    [[nodiscard]] std::vector<CopyChoice> entries() const;
    void set(std::span<const CopyChoice> entries) noexcept;

    bool operator==(const CopyChoices&) const = default;

    static constexpr std::size_t cells = movements * block_classes * stride_classes * size_classes * reuses;

private:
    static constexpr std::size_t index(const CopyCase& where) noexcept {
        std::size_t at = static_cast<std::size_t>(where.movement);
        at = at * reuses + static_cast<std::size_t>(where.reuse);
        at = at * size_classes + static_cast<std::size_t>(where.size);
        at = at * stride_classes + static_cast<std::size_t>(where.stride);
        return at * block_classes + static_cast<std::size_t>(where.block);
    }

    std::array<Method, cells> methods_{};
    SizeLimits limits_;
};

/// The table in use.
[[nodiscard]] const CopyChoices& copy_choices() noexcept;

/// Makes `choices` the table in use. Copies under way finish with the one they began with; tables that were in use stay
/// allocated, so call this when a profile is loaded, not in a loop.
void use_copy_choices(const CopyChoices& choices);

} // namespace lapwing::detail::kernels
