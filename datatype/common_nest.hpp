#pragma once

#include <lapwing/layout.hpp>

#include "src/kernels/copy_kernels.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing {

/// Two layouts of the same number of bytes as one nest of loops around equal blocks, if both are whole and regular
/// enough: no lists of different lengths, and levels that divide each other.
class CommonNest {
public:
    struct Level {
        std::uint64_t count = 1;
        std::int64_t to_stride = 0; ///< in bytes
        std::int64_t from_stride = 0;
        const std::int64_t* to_offsets = nullptr; ///< instead of a stride
        const std::int64_t* from_offsets = nullptr;
    };
    static constexpr std::size_t most_levels = 2 * (Layout::max_levels + 1);

    /// Without levels where there is no such nest. The layouts must outlive it.
    CommonNest(const Layout& target, const Layout& source) noexcept;

    /// Whether the innermost dimensions of the two sides differ, so that elements move as in a transposed matrix, and
    /// there are kernels for that.
    [[nodiscard]] bool transposes() const noexcept { return along_to_ != along_from_; }
    /// Copies all of it, where it transposes().
    void transpose(std::byte* to, const std::byte* from, detail::kernels::Reuse reuse) const noexcept;

private:
    void add(const Level& level) noexcept;
    void find_plane() noexcept;
    void transpose_levels(std::byte* to, const std::byte* from, std::size_t outer,
                          detail::kernels::Reuse reuse) const noexcept;

    std::uint64_t block_bytes_ = 0;
    std::int64_t to_first_ = 0;
    std::int64_t from_first_ = 0;
    std::size_t count_ = 0;
    std::array<Level, most_levels> levels_; ///< the innermost first
    std::size_t along_to_ = 0; ///< the level whose elements are neighbours in the target, and in the source
    std::size_t along_from_ = 0;
};

} // namespace lapwing
