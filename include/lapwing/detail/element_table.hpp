// Room: arrays
#pragma once

#include <lapwing/extents.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::arrays {

/// Addresses of copies by their element's place in the row-major order of the array, for reads at random: for each
/// group of 64 neighbours the address of the first, and which of them are there. A read needs no search. Memory: 16
/// bytes a group, from the first element to the last.
template <std::size_t N>
class ElementTable {
    struct Group {
        std::uint64_t first = 0; ///< address of the first element
        std::uint64_t here = 0;  ///< one bit for each
    };

public:
    static constexpr std::uint64_t group_size = 64;

    ElementTable() noexcept = default;
    /// For elements of an array from place `first` to before `end`. Nothing is there yet.
    ElementTable(const Extents<N>& extents, std::uint64_t first, std::uint64_t end)
        : first_{first / group_size * group_size}, groups_((end - first_ + group_size - 1) / group_size) {
        for (std::size_t d = 0; d < N; ++d) extents_[d] = static_cast<std::uint64_t>(extents[d]);
    }

    [[nodiscard]] static std::uint64_t bytes_of(std::uint64_t first, std::uint64_t end) noexcept {
        return ((end - first) / group_size + 2) * sizeof(Group);
    }
    /// Whether a table takes at most a few times as much memory as the copies that it is for, which have `bytes` bytes.
    [[nodiscard]] static bool is_worth_its_memory(std::uint64_t first, std::uint64_t end,
                                                  std::uint64_t bytes) noexcept {
        return bytes_of(first, end) <= most_of_copies * bytes + 1024;
    }
    /// How many times.
    static constexpr std::uint64_t most_of_copies = 8;
    [[nodiscard]] static std::uint64_t place(const Extents<N>& extents, const Index<N>& index) noexcept {
        std::uint64_t place = 0;
        for (std::size_t d = 0; d < N; ++d)
            place = place * static_cast<std::uint64_t>(extents[d]) + static_cast<std::uint64_t>(index[d]);
        return place;
    }

    /// Adds `count` neighbours from `place` on, the first of which is at `address`. Those of a group must lie as if all
    /// of it were there.
    void add(std::uint64_t place, std::uint64_t count, std::byte* address, std::size_t element_bytes) noexcept {
        for (std::uint64_t at = place - first_, left = count; left > 0;) {
            Group& group = groups_[at / group_size];
            const std::uint64_t within = at % group_size;
            const std::uint64_t here = std::min(left, group_size - within);
            // Modulo 2^64: the first of the group may lie outside of the memory.
            group.first = reinterpret_cast<std::uint64_t>(address) - within * element_bytes;
            group.here |= (here == group_size ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1) << within;
            at += here;
            left -= here;
            address += here * element_bytes;
        }
    }

    /// What a loop keeps of it.
    class Reader {
    public:
        Reader() noexcept = default;
        explicit Reader(const ElementTable& table) noexcept
            : groups_{table.groups_.data()},
              first_{table.first_},
              count_{table.groups_.size() * group_size},
              extents_{table.extents_} {}

        /// The address of an element; null if it is not in the table.
        [[nodiscard, gnu::always_inline]] std::byte* find(const Index<N>& index,
                                                          std::size_t element_bytes) const noexcept {
            std::uint64_t place = static_cast<std::uint64_t>(index[0]);
            if constexpr (N > 1) {
                if (place >= extents_[0]) return nullptr;
                for (std::size_t d = 1; d < N; ++d) {
                    const auto i = static_cast<std::uint64_t>(index[d]);
                    if (i >= extents_[d]) return nullptr;
                    place = place * extents_[d] + i;
                }
            }
            place -= first_;
            if (place >= count_) [[unlikely]]
                return nullptr;
            const Group& group = groups_[place / group_size];
            if ((group.here >> (place % group_size) & 1U) == 0) [[unlikely]]
                return nullptr;
            auto* const element = reinterpret_cast<std::byte*>(group.first + place % group_size * element_bytes);
            if (element == nullptr) __builtin_unreachable(); // spares the caller the test for null
            return element;
        }

    private:
        const Group* groups_ = nullptr;
        std::uint64_t first_ = 0;
        std::uint64_t count_ = 0;
        std::array<std::uint64_t, N> extents_{};
    };

private:
    std::uint64_t first_ = 0; ///< place of the first element of the first group
    std::array<std::uint64_t, N> extents_{};
    std::vector<Group> groups_;
};

} // namespace lapwing::detail::arrays
