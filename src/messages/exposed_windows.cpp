#include "src/messages/exposed_windows.hpp"

#include "datatype/run_table.hpp"
#include "src/messages/put_runs.hpp"
#include "src/messages/request_table.hpp"
#include "src/support/thread_sanitizer.hpp"

#include <fmt/format.h>

namespace lapwing::detail::messages {

void ExposedWindows::abandon(std::uint64_t window, LateRequests late) {
    exposed_.erase(window);
    abandoned_.emplace(window, late);
}

const ExposedMemory* ExposedWindows::memory_of(std::uint64_t window) const {
    const auto found = exposed_.find(window);
    return found == exposed_.end() ? nullptr : &found->second;
}

std::byte* ExposedWindows::address_of(Rank origin, const Request& request, Offset offset, std::uint64_t bytes) {
    const ExposedMemory* const memory = memory_of(request.window);
    if (memory != nullptr && bytes <= memory->bytes && offset.bytes <= memory->bytes - bytes)
        return memory->base + offset.bytes;
    if (is_abandoned(request.window)) return nullptr;
    // The origin has checked against the same sizes: this prevents a bug in Lapwing from becoming a stray write.
    endpoint_.note_problem(
        fmt::format("rank {} asked for {} bytes at offset {} of window {}, of which {} are exposed here: the "
                    "request ({}) was dropped; {}",
                    origin.value, bytes, offset.bytes, request.window, memory == nullptr ? 0 : memory->bytes,
                    row_of(request.kind)->name, fault_of_builds));
    return nullptr;
}

bool ExposedWindows::scatter(Rank origin, std::uint64_t window, std::span<const std::byte> message,
                             std::uint64_t table_bytes) {
    const ExposedMemory* const memory = memory_of(window);
    const bool done =
        memory != nullptr && table_bytes <= message.size() &&
        datatype::scatter_runs(message.first(table_bytes), memory->base, memory->bytes, message.subspan(table_bytes));
    if (!done) note_bad_table(origin, window);
    return done;
}

void ExposedWindows::gather(Rank origin, std::uint64_t window, std::span<const std::byte> table,
                            std::span<std::byte> data) {
    const ExposedMemory* const memory = memory_of(window);
    const support::UnseenAccesses unseen; // of a cached reader's lines, as in copy_for_reader()
    if (memory == nullptr || !datatype::gather_runs(table, memory->base, memory->bytes, data))
        note_bad_table(origin, window);
}

void ExposedWindows::note_bad_table(Rank origin, std::uint64_t window) {
    if (is_abandoned(window)) return;
    endpoint_.note_problem(
        fmt::format("rank {} named places outside of window {} as it is exposed here, in a table of blocks: the "
                    "request was dropped; {}",
                    origin.value, window, fault_of_builds));
}

void ExposedWindows::put_runs(Rank origin, const Request& request, std::span<const std::byte> payload) {
    const ExposedMemory* const memory = memory_of(request.window);
    if (memory != nullptr && write_runs(payload, request.tag, {memory->base, memory->bytes}, request.offset)) return;
    if (memory == nullptr && is_abandoned(request.window)) return;
    endpoint_.note_problem(fmt::format(
        "rank {} sent {} runs in {} bytes for window {} from offset {} on, which are not the bytes that the "
        "runs name, or leave the {} bytes that are exposed here: the request was dropped; {}",
        origin.value, request.tag, payload.size(), request.window, request.offset,
        memory == nullptr ? 0 : memory->bytes, fault_of_builds));
}

void ExposedWindows::raise_counter(Rank origin, std::uint64_t window, std::uint32_t counter_plus_one) {
    if (counter_plus_one == 0) return;
    const ExposedMemory* const memory = memory_of(window);
    if (memory == nullptr && is_abandoned(window)) return;
    const std::uint64_t count = memory == nullptr ? 0 : memory->counter_count;
    if (counter_plus_one > count)
        return endpoint_.note_problem(
            fmt::format("rank {} raised notification counter {} of window {}, which has {} here: nothing was "
                        "raised; {}",
                        origin.value, counter_plus_one - 1, window, count, fault_of_builds));
    // Release: whoever sees the counter sees the bytes that were written before.
    memory->counters[counter_plus_one - 1].fetch_add(1, std::memory_order_release);
}

bool ExposedWindows::is_abandoned(std::uint64_t window) {
    const auto found = abandoned_.find(window);
    if (found == abandoned_.end()) return false;
    if (found->second == LateRequests::reported) listener_.on_abandoned_access();
    return true;
}

bool ExposedWindows::find_dropping(std::uint64_t window) const {
    const auto found = abandoned_.find(window);
    return found != abandoned_.end() && found->second == LateRequests::dropped;
}

} // namespace lapwing::detail::messages
