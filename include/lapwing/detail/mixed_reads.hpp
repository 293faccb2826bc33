// Room: window
#pragma once

#include <lapwing/detail/shared_word.hpp>

#include <atomic>
#include <cstdint>

namespace lapwing::detail::window {

/// Whether reads of an array are mixed. A processor cannot predict whose the elements are that a loop reads at random,
/// so that a branch for those of the node costs more than looking for all of them in the page table. While reads are
/// mixed no element of the node is found in the quick way, and the page table has the node's pages, too.
///
/// Reads are mixed once most elements that are not in the thread's table yet lie far from the one before
/// (PageTables::note_miss()), and until a loop reads the node's pages in order, or writes to them. A guess: it only
/// decides which of two ways is taken.
class MixedReads {
public:
    MixedReads() noexcept = default;
    /// Of an array whose elements are found in the quick way by a comparison with `quick`.
    explicit MixedReads(std::uint64_t quick) noexcept : all_quick_{quick}, quick_{quick} {}
    /// Of an array that is moved: its loops begin anew.
    MixedReads(const MixedReads& other) noexcept : MixedReads{other.all_quick_} {}
    MixedReads& operator=(const MixedReads& other) noexcept {
        all_quick_ = other.all_quick_;
        set(false);
        return *this;
    }

    /// What the quick way compares with now: 0 while reads are mixed.
    [[nodiscard]] std::uint64_t quick() const noexcept { return support::load_shared(quick_); }
    [[nodiscard]] bool on() const noexcept { return support::load_shared(on_); }
    void set(bool on) noexcept {
        std::atomic_ref{on_}.store(on, std::memory_order_relaxed);
        std::atomic_ref{quick_}.store(on ? 0 : all_quick_, std::memory_order_relaxed);
    }

private:
    std::uint64_t all_quick_ = 0;
    std::uint64_t quick_ = 0;
    bool on_ = false;
};

} // namespace lapwing::detail::window
