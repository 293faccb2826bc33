// Runs of elements that loops read from other nodes: the next ones are asked for ahead, into the cache of the heap.
#include "lapwing_upcc.h"

#include <lapwing/upc/prefetched.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace {

/// The runs that one place in the program reads. A loop around it often goes on by the same distance, as from row to
/// row of a plane or from plane to plane, and as far as it has gone the last time.
class Stream {
public:
    /// Notes a run, and prefetches those that will probably follow it.
    void read(const lapwing_upc_pointer& p, std::size_t bytes) {
        const std::uint64_t step = p.address - last_.address;
        if (p.thread == last_.thread && step == step_) {
            if (steps_++ != 0 || length_ != 0) ask(p, bytes);
        } else {
            // At the start of the next walk its length is known; of an unknown step nothing is.
            const bool again = steps_ >= shortest;
            if (again) length_ = steps_;
            else if (p.thread == last_.thread) step_ = step;
            else length_ = 0;
            steps_ = again || p.thread != last_.thread ? 0 : 1;
            asked_ = 0;
            if (again) ask(p, bytes);
        }
        last_ = p;
    }

private:
    static constexpr std::uint64_t most_ahead = 16;
    static constexpr std::uint64_t shortest = 4; ///< of walks whose length says something

    void ask(const lapwing_upc_pointer& p, std::size_t bytes) {
        const lapwing::upc::detail::HeapAccess& heap = lapwing::upc::detail::heap_access;
        // Consecutive runs are read ahead by the cache itself.
        if (step_ == bytes || step_ == 0) return;
        for (asked_ = asked_ == 0 ? 0 : asked_ - 1; asked_ < most_ahead; ++asked_) {
            if (length_ != 0 && steps_ + asked_ + 1 > length_) return;
            const std::uint64_t next = p.address + step_ * (asked_ + 1);
            if (next - heap.heap_begin > heap.heap_bytes - bytes) return;
            lapwing::upc::detail::heap_window().prefetch(lapwing::Rank{static_cast<int>(p.thread)},
                                                         lapwing::Offset{next}, bytes);
        }
    }

    lapwing_upc_pointer last_{};
    std::uint64_t step_ = 0;   ///< from run to run, which may wrap around
    std::uint64_t steps_ = 0;  ///< that have been alike
    std::uint64_t length_ = 0; ///< of the last walk, in steps; 0: unknown
    std::uint64_t asked_ = 0;  ///< runs beyond the last one
};

} // namespace

void lapwing_upcc_get_run(void* copy, lapwing_upc_pointer p, size_t bytes) {
    // By their place in the program; those that share an entry learn nothing.
    static thread_local std::array<Stream, 64> streams;
    const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    if (lapwing_upc_near.count != 0) streams[(place ^ place >> 6) % streams.size()].read(p, bytes);
    lapwing_upc_get(copy, p, bytes);
}
