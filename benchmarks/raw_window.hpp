#pragma once

#include "harness.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Baselines on plain MPI windows, as a program without Lapwing would write them. They check no return codes: MPI's
/// default error handler ends the run, which is right for a benchmark.
namespace lapwing::bench::raw {

/// An allocated window: the fastest kind that MPI offers.
class Window {
public:
    enum class Epoch {
        open,   ///< one passive epoch, from construction to destruction
        closed, ///< the caller locks
    };

    /// Collective over the context's world.
    Window(Context& context, std::uint64_t bytes, Epoch epoch = Epoch::open) : epoch_{epoch} {
        // MPICH 4.0.2 sends every operation on an allocated window of less than 16 bytes a rank to rank 0's memory when
        // the ranks are on one node.
        bytes = std::max<std::uint64_t>(bytes, 64);
        const auto size = static_cast<MPI_Aint>(bytes);
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        // All that a portable program can promise to make its operations cheaper.
        MPI_Info_set(info, "same_size", "true");
        MPI_Info_set(info, "same_disp_unit", "true");
        MPI_Info_set(info, "accumulate_ops", "same_op_no_op");
        MPI_Win_allocate(size, 1, info, context.world(), static_cast<void*>(&memory_), &window_);
        MPI_Info_free(&info);
        std::memset(memory_, 0, bytes); // touches every page
        if (epoch_ == Epoch::open) MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
        MPI_Barrier(context.world());
    }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    ~Window() {
        if (epoch_ == Epoch::open) MPI_Win_unlock_all(window_);
        MPI_Win_free(&window_);
    }

    [[nodiscard]] MPI_Win handle() const { return window_; }
    [[nodiscard]] std::byte* memory() const { return memory_; }

    void start_get(void* destination, std::uint64_t bytes, int target, std::uint64_t offset = 0) {
        MPI_Get(destination, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(offset),
                static_cast<int>(bytes), MPI_BYTE, window_);
    }
    void start_put(const void* source, std::uint64_t bytes, int target, std::uint64_t offset = 0) {
        MPI_Put(source, static_cast<int>(bytes), MPI_BYTE, target, static_cast<MPI_Aint>(offset),
                static_cast<int>(bytes), MPI_BYTE, window_);
    }
    void flush(int target) { MPI_Win_flush(target, window_); }

    /// Adds 1 to the 8-byte integer at offset 0.
    std::int64_t fetch_increment(int target) {
        const std::int64_t one = 1;
        std::int64_t before = 0;
        MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 0, MPI_SUM, window_);
        MPI_Win_flush(target, window_);
        return before;
    }
    std::int64_t atomic_read(int target) {
        std::int64_t value = 0;
        MPI_Fetch_and_op(nullptr, &value, MPI_INT64_T, target, 0, MPI_NO_OP, window_);
        MPI_Win_flush(target, window_);
        return value;
    }

private:
    Epoch epoch_;
    std::byte* memory_ = nullptr;
    MPI_Win window_ = MPI_WIN_NULL;
};

} // namespace lapwing::bench::raw
