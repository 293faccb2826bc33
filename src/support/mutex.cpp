#include "src/support/mutex.hpp"

#include "src/support/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace lapwing::detail::support {
namespace {

constexpr auto names = std::to_array<std::string_view>(
    {"mpi_use",        "copy_registry",  "prefetch_buffer", "chunked_transfers", "cache_registry", "cache",
     "gathered_adds",  "access_ledger",  "flusher_start",   "flusher_list",      "flusher",        "team_registry",
     "progress_start", "progress_teams", "epoch",           "team_parts",        "engine",         "membership",
     "leaf",           "innermost"});
static_assert(names.size() == static_cast<std::size_t>(LockRank::innermost) + 1);

[[nodiscard]] std::string_view name(LockRank rank) noexcept { return names[static_cast<std::size_t>(rank)]; }

[[noreturn]] void refuse(LockRank rank, LockRank held) noexcept {
    try {
        log_line(fmt::format(
            "internal error: a thread waits for a mutex of the rank {} with one of the rank {} held, which two threads "
            "may do the other way round; see \"The order of mutexes\" in docs/architecture.md",
            name(rank), name(held)));
    } catch (const std::exception&) { // no memory for a line: the end says it
    }
    std::abort();
}

} // namespace

LockOrder::Held& LockOrder::held() noexcept {
    static thread_local constinit Held held; // goes without a destructor: what ends with the thread may lock still
    return held;
}

void LockOrder::before(const void*, LockRank rank) noexcept {
    const Held& held = LockOrder::held();
    for (std::size_t i = 0; i < held.count; ++i)
        if (held.entries[i].rank >= rank) refuse(rank, held.entries[i].rank);
}

void LockOrder::taken(const void* mutex, LockRank rank) noexcept {
    Held& held = LockOrder::held();
    LAPWING_ASSERT(held.count < Held::most);
    if (held.count < Held::most) held.entries[held.count++] = {mutex, rank};
}

void LockOrder::released(const void* mutex) noexcept {
    Held& held = LockOrder::held();
    // Nearly always the one that was taken last.
    for (std::size_t i = held.count; i-- > 0;) {
        if (held.entries[i].mutex != mutex) continue;
        std::copy(held.entries.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  held.entries.begin() + static_cast<std::ptrdiff_t>(held.count),
                  held.entries.begin() + static_cast<std::ptrdiff_t>(i));
        --held.count;
        return;
    }
    assertion_failed("a thread releases mutexes that it has taken", __FILE__, __LINE__, "LockOrder::released");
}

} // namespace lapwing::detail::support
