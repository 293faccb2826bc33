#pragma once

#include "upc/access_recorder.hpp"

#include <lapwing/detail/trace.hpp>
#include <lapwing/upc.h>

#include <cstddef>

namespace lapwing::upc {

class ProgramState;

/// Reads and writes of a program's shared memory, recorded on request. `call` is the name in
/// messages. Throws RangeError. No bytes may also be at the null pointer, which is what upc_alloc(0) gives.
class Memory {
public:
    explicit Memory(ProgramState& program) : program_{program} {}

    void get(const char* call, void* destination, const lapwing_upc_pointer& source, std::size_t bytes);
    void put(const char* call, const lapwing_upc_pointer& destination, const void* source, std::size_t bytes);
    /// Between any two threads, through the calling one's memory where it can load neither part.
    void copy(const char* call, const lapwing_upc_pointer& destination, const lapwing_upc_pointer& source,
              std::size_t bytes);
    void set(const char* call, const lapwing_upc_pointer& destination, int value, std::size_t bytes);

    void record(bool on) noexcept { recording_ = on; }
    [[nodiscard]] bool recording() const noexcept { return recording_; }
    [[nodiscard]] Recorder& recorder() noexcept { return recorder_; }
    /// Makes an access, and records it if accesses are recorded.
    template <class Access>
    auto noted(const lapwing_upc_pointer& place, std::size_t bytes, bool write, Access&& access);

private:
    ProgramState& program_;
    bool recording_ = false;
    Recorder recorder_;
};

/// In records of accesses (LAPWING_TRACE), a block of so many bytes on each thread is an object of its
/// own.
void record_block(ProgramState& program, const lapwing_upc_pointer& block, std::uint64_t bytes);

/// The heap cache's counts of hits and misses.
struct CacheCounts {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
};
[[nodiscard]] CacheCounts cache_counts(ProgramState& program);
/// Records an access, with what the cache has counted since `before`.
void note_access(ProgramState& program, const lapwing_upc_pointer& place, std::size_t bytes, bool write,
                 const CacheCounts& before);

template <class Access>
auto Memory::noted(const lapwing_upc_pointer& place, std::size_t bytes, bool write, Access&& access) {
    const lapwing::detail::trace::CallScope call{lapwing::detail::trace::Way::upc, call_site};
    if (!recording_) [[likely]]
        return access();
    const CacheCounts before = cache_counts(program_);
    if constexpr (std::is_void_v<decltype(access())>) {
        access();
        note_access(program_, place, bytes, write, before);
    } else {
        auto result = access();
        note_access(program_, place, bytes, write, before);
        return result;
    }
}

} // namespace lapwing::upc
