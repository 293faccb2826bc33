#include "upc/access_recorder.hpp"

#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace lapwing::upc {

const void* call_site = nullptr;

namespace {

[[nodiscard]] std::uint64_t accesses(const lapwing_upc_access_counts& counts) noexcept {
    return counts.local_reads + counts.local_writes + counts.remote_reads + counts.remote_writes;
}

void operator+=(lapwing_upc_access_counts& left, const lapwing_upc_access_counts& right) noexcept {
    left.local_reads += right.local_reads;
    left.local_writes += right.local_writes;
    left.remote_reads += right.remote_reads;
    left.remote_writes += right.remote_writes;
    left.cache_hits += right.cache_hits;
    left.cache_misses += right.cache_misses;
    left.remote_bytes += right.remote_bytes;
}

void add_access(lapwing_upc_access_counts& counts, const RecordedAccess& access) noexcept {
    if (access.local) ++(access.write ? counts.local_writes : counts.local_reads);
    else ++(access.write ? counts.remote_writes : counts.remote_reads);
    if (!access.local) counts.remote_bytes += access.bytes;
    counts.cache_hits += access.cache_hits;
    counts.cache_misses += access.cache_misses;
}

[[nodiscard]] std::string line(const std::string& name, const lapwing_upc_access_counts& counts) {
    return fmt::format("{:<44} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>14}\n", name, counts.local_reads,
                       counts.local_writes, counts.remote_reads, counts.remote_writes, counts.cache_hits,
                       counts.cache_misses, counts.remote_bytes);
}

/// Of all threads, on all of them.
[[nodiscard]] BusiestCounts merged(Team& team, BusiestCounts own) {
    team.combine(
        std::as_writable_bytes(std::span{&own, 1}),
        [](void*, void* left, const void* right) {
            static_cast<BusiestCounts*>(left)->merge(*static_cast<const BusiestCounts*>(right));
        },
        nullptr);
    return own;
}

template <class Name>
[[nodiscard]] std::string table(const BusiestCounts& busiest, const char* title, Name name) {
    std::string text = fmt::format("{:<44} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>14}\n", title, "local reads",
                                   "writes", "remote reads", "writes", "cache hits", "misses", "remote bytes");
    for (std::uint64_t k = 0; k < busiest.size; ++k) text += line(name(busiest.rows[k].key), busiest.rows[k].counts);
    if (busiest.others > 0) text += line(fmt::format("{} more", busiest.others), busiest.of_others);
    return text;
}

} // namespace

void BusiestCounts::add(std::uint64_t key, const lapwing_upc_access_counts& counts) {
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(size);
    const auto same = std::find_if(rows.begin(), end, [&](const Row& row) { return row.key == key; });
    if (same != end) {
        same->counts += counts;
        return;
    }
    if (size < most) {
        rows[size++] = {key, counts};
        return;
    }
    const auto least = std::min_element(
        rows.begin(), end, [](const Row& a, const Row& b) { return accesses(a.counts) < accesses(b.counts); });
    ++others;
    if (accesses(least->counts) < accesses(counts)) {
        of_others += least->counts;
        *least = {key, counts};
    } else {
        of_others += counts;
    }
}

void BusiestCounts::merge(const BusiestCounts& other) {
    for (std::uint64_t k = 0; k < other.size; ++k) add(other.rows[k].key, other.rows[k].counts);
    others += other.others;
    of_others += other.of_others;
}

void Recorder::note(const RecordedAccess& access) {
    add_access(counts_, access);
    if (by_line_) add_access(places_[call_site], access);
}

std::string Recorder::report(Team& team) const {
    BusiestCounts threads;
    if (accesses(counts_) > 0) threads.add(static_cast<std::uint64_t>(team.rank().value), counts_);
    BusiestCounts places;
    for (const auto& [address, counts] : places_) places.add(portable_place(address), counts);
    threads = merged(team, threads);
    places = merged(team, places);
    if (team.rank() != Rank{0}) return {};
    std::sort(threads.rows.begin(), threads.rows.begin() + static_cast<std::ptrdiff_t>(threads.size),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    std::sort(places.rows.begin(), places.rows.begin() + static_cast<std::ptrdiff_t>(places.size),
              [](const auto& a, const auto& b) { return accesses(a.counts) > accesses(b.counts); });
    std::string text = table(threads, "UPC: accesses by thread",
                             [](std::uint64_t thread) { return fmt::format("thread {}", thread); });
    if (places.size > 0)
        text += table(places, "UPC: accesses by source line", [](std::uint64_t place) { return source_line(place); });
    return text;
}

} // namespace lapwing::upc
