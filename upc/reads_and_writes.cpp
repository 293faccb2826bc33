#include "upc/reads_and_writes.hpp"

#include "src/trace/recorder.hpp"
#include "upc/program.hpp"
#include "window/window_state.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace lapwing::upc {

void record_block(ProgramState& program, const lapwing_upc_pointer& block, std::uint64_t bytes) {
    if (lapwing::detail::trace::on() && block.address != 0)
        lapwing::detail::trace::add_range(program.heap().state().facts().traced,
                                          program.heap().page_tables() != nullptr ? "cached" : "upc", block.address,
                                          block.address + bytes);
}

CacheCounts cache_counts(ProgramState& program) {
    const StatisticsValues values = program.heap().statistics();
    return {values[Counter::cache_hits], values[Counter::cache_misses]};
}

void note_access(ProgramState& program, const lapwing_upc_pointer& place, std::size_t bytes, bool write,
                 const CacheCounts& before) {
    const CacheCounts after = cache_counts(program);
    program.memory().recorder().note({.write = write,
                                      .local = place.thread == static_cast<std::uint32_t>(program.own_thread()),
                                      .bytes = bytes,
                                      .cache_hits = after.hits - before.hits,
                                      .cache_misses = after.misses - before.misses});
}

void Memory::get(const char* call, void* destination, const lapwing_upc_pointer& source, std::size_t bytes) {
    if (bytes == 0) return;
    program_.require_within(call, source, bytes);
    program_.require_private(call, destination, bytes);
    noted(source, bytes, false, [&] {
        program_.heap().get(rank_of(source), offset_of(source), {static_cast<std::byte*>(destination), bytes});
    });
}

void Memory::put(const char* call, const lapwing_upc_pointer& destination, const void* source, std::size_t bytes) {
    if (bytes == 0) return;
    program_.require_within(call, destination, bytes);
    program_.require_private(call, source, bytes);
    noted(destination, bytes, true, [&] {
        program_.heap().put(rank_of(destination), offset_of(destination),
                            {static_cast<const std::byte*>(source), bytes});
    });
}

void Memory::copy(const char* call, const lapwing_upc_pointer& destination, const lapwing_upc_pointer& source,
                  std::size_t bytes) {
    if (bytes == 0) return;
    program_.require_within(call, destination, bytes);
    program_.require_within(call, source, bytes);
    // This is a read and a write; the one that moves the bytes records itself.
    if (const std::byte* const from = program_.reachable(source)) {
        noted(source, bytes, false, [] {});
        return put(call, destination, from, bytes);
    }
    if (std::byte* const to = program_.reachable(destination)) {
        noted(destination, bytes, true, [] {});
        get(call, to, source, bytes);
        return program_.note_store(destination, {to, bytes});
    }
    noted(destination, bytes, true, [] {});
    // Between two other threads: in pieces, so that memory is bounded, and the next piece arrives while one is
    // sent.
    constexpr std::size_t piece = std::size_t{1} << 20;
    std::array<std::vector<std::byte>, 2> buffers;
    for (std::vector<std::byte>& buffer : buffers) buffer.resize(std::min(bytes, piece));
    const auto start_get = [&](std::size_t begin) {
        const std::size_t size = std::min(piece, bytes - begin);
        return program_.heap().start_get(rank_of(source), Offset{source.address + begin},
                                         std::span{buffers[begin / piece % 2]}.first(size));
    };
    noted(source, bytes, false, [&] {
        Completion coming = bytes > 0 ? start_get(0) : Completion{};
        for (std::size_t done = 0; done < bytes; done += piece) {
            coming.wait();
            if (done + piece < bytes) coming = start_get(done + piece);
            program_.heap().put(rank_of(destination), Offset{destination.address + done},
                                std::span{buffers[done / piece % 2]}.first(std::min(piece, bytes - done)));
        }
    });
}

void Memory::set(const char* call, const lapwing_upc_pointer& destination, int value, std::size_t bytes) {
    if (bytes == 0) return;
    program_.require_within(call, destination, bytes);
    noted(destination, bytes, true, [&] {
        if (std::byte* const to = program_.reachable(destination)) {
            std::memset(to, value, bytes);
            return program_.note_store(destination, {to, bytes});
        }
        std::array<std::byte, 16384> piece; // uninitialised: the used part is set
        std::memset(piece.data(), value, std::min(bytes, piece.size()));
        for (std::size_t done = 0; done < bytes; done += piece.size())
            program_.heap().put(rank_of(destination), Offset{destination.address + done},
                                std::span{piece}.first(std::min(piece.size(), bytes - done)));
    });
}

} // namespace lapwing::upc
