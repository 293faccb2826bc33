// Room: upc
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/prefetch.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/upc/array.hpp>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lapwing::upc {

/// Elements of an array that this thread is going to read, copied in bulk from all their threads at once: prefetch
/// (LAPPS: Kayraklioglu, Ferguson and El-Ghazawi, 2018) for UPC's arrays. `.consistent = true`, the default: elements
/// that the thread can load are read in place; reads see what `a[i]` would, since the first one after a barrier, a lock
/// or a fence fills the copies again. `.consistent = false`: all elements are copied, also those that could be loaded,
/// and the copies are those of the last update(). This thread's writes to prefetched elements go to the copies, also
/// those through pointers and blocks, but not through what upc_cast() has returned. While there are manual copies of
/// what could be loaded, accesses to other threads' elements on the node go through the runtime; no other thread of the
/// process may access shared memory while they are made or destroyed, and views to write by are made after them.
///
/// ```cpp
/// upc::Prefetched rows{image, above, below};           // a local call, before the loop
/// for (…) sum += rows[i];                              // in [above, below)
/// ```
///
/// All calls are local. It must be destroyed before its array.
template <Shareable T, std::size_t B>
class Prefetched {
public:
    using value_type = typename SharedArray<T, B>::value_type; ///< of an element

    /// For the elements [begin, end). An error for a range that the array does not have. Cost: memory for the copies;
    /// manual ones are filled by update().
    Prefetched(const SharedArray<T, B>& array, std::int64_t begin, std::int64_t end,
               const PrefetchOptions& options = {})
        : array_{array}, manual_{!options.consistent}, parts_(static_cast<std::size_t>(begin < end ? threads() : 0)) {
        detail::require_range("a prefetch", begin, end, array.size());
        for (int t = 0; t < static_cast<int>(parts_.size()); ++t) {
            // The elements of a thread are contiguous in its part: one slice from the first to the last of them.
            const auto [first, last] = own_of(t, begin, end);
            Part& part = parts_[static_cast<std::size_t>(t)];
            if (first <= last) {
                part.begin = (array + first).addrfield();
                part.end = (array + last).addrfield() + sizeof(value_type);
            }
            const bool in_place =
                t == mythread() ||
                (!manual_ && lapwing_upc_cast({part.begin, static_cast<std::uint32_t>(t), 0}) != nullptr);
            if (part.end == 0 || in_place) continue;
            if (!copies_) copies_.emplace(detail::heap_window(), options);
            part.slice = copies_->request(Rank{t}, Offset{part.begin}, Layout::contiguous(part.end - part.begin));
        }
    }

    /// Element i of the array, which must be in the range.
    [[nodiscard]] value_type operator[](std::int64_t i) {
        const lapwing_upc_pointer place = array_.at_linear(i).place();
        if (place.thread < parts_.size()) {
            const Part& part = parts_[place.thread];
            if (part.slice && place.address - part.begin < part.end - part.begin)
                return copies_->template read<value_type>(*part.slice,
                                                          (place.address - part.begin) / sizeof(value_type));
        }
        return array_.at_linear(i).get();
    }

    /// Fills the copies; complete on return. What other threads have written must have been completed before, for
    /// example by a barrier.
    void update() {
        if (copies_) copies_->update();
    }
    /// The same without waiting; the elements must not be read until the completion is done.
    [[nodiscard]] Completion update_async() { return copies_ ? copies_->update_async() : Completion{}; }
    /// Bytes of the copies.
    [[nodiscard]] std::uint64_t memory() const noexcept { return copies_ ? copies_->memory() : 0; }

private:
    struct FirstAndLast {
        std::int64_t first;
        std::int64_t last; ///< less than `first` if there is none
    };
    /// The elements of [begin, end) with affinity to a thread.
    [[nodiscard]] FirstAndLast own_of(int thread, std::int64_t begin, std::int64_t end) const {
        if (array_.block_size() == indefinite) return thread == 0 ? FirstAndLast{begin, end - 1} : FirstAndLast{0, -1};
        const auto block = static_cast<std::int64_t>(array_.block_size());
        const std::int64_t round = block * threads();
        const auto own_block = [&](std::int64_t i) { return i / round * round + block * thread; }; // in the round of i
        std::int64_t first = own_block(begin);
        if (first + block <= begin) first += round;
        std::int64_t last = own_block(end - 1);
        if (last >= end) last -= round;
        return {std::max(first, begin), std::min(last + block, end) - 1};
    }
    /// The bytes of the range at one thread, and their copy if there is one.
    struct Part {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::optional<PrefetchedSlice> slice;
    };

    const SharedArray<T, B>& array_;
    bool manual_;
    std::vector<Part> parts_; ///< by thread; empty for an empty range
    std::optional<Prefetch> copies_;
};

} // namespace lapwing::upc
