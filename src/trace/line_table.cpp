#include "src/trace/line_table.hpp"

#include "src/support/hash.hpp"
#include "src/trace/recorded.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace lapwing::detail::trace {
namespace {

/// In the order of a table: those with most first.
[[nodiscard]] auto weight(const SiteCounts& counts, LineOrder order) noexcept {
    const auto bytes = static_cast<double>(counts.all_bytes());
    return order == LineOrder::time ? std::tuple{counts.seconds, bytes, counts.all_calls()}
                                    : std::tuple{bytes, counts.seconds, counts.all_calls()};
}

[[nodiscard]] SiteCounts counts_of(const Record& record, int rank) noexcept {
    SiteCounts counts{.way = record.way, .operation = record.operation, .slowest_rank = rank};
    const auto affinity = static_cast<std::size_t>(record.affinity);
    counts.calls[affinity] = record.calls;
    counts.bytes[affinity] = record.bytes;
    counts.timed = record.timed_calls != 0;
    if (counts.timed) counts.seconds = counts.slowest_seconds = record.seconds();
    return counts;
}

void name_object(SiteCounts& counts, const Recorded& recorded, ObjectNumber number) noexcept {
    if (number == 0 || number > recorded.objects.size()) return;
    const Object& object = recorded.objects[number - 1];
    if (object.kind == "several") return;
    counts.has_object = true;
    counts.object_number = object.number;
    std::copy_n(object.name.begin(), std::min(object.name.size(), SiteCounts::longest_name - 1), counts.object.begin());
}

void name_places(SiteCounts& counts, const std::vector<LoadedFile>& files, const CallSite& site) noexcept {
    std::size_t size = 0;
    for (std::size_t k = 0; k < site.size; ++k) {
        const auto address = reinterpret_cast<std::uint64_t>(site.frames[k]);
        const auto file =
            std::ranges::find_if(files, [&](const LoadedFile& f) { return address >= f.begin && address < f.end; });
        if (file != files.end()) counts.places[size++] = {file_number(file->path), address - file->base};
    }
}

} // namespace

bool SiteCounts::same_site(const SiteCounts& other) const noexcept {
    return way == other.way && operation == other.operation && has_object == other.has_object &&
           object_number == other.object_number && places == other.places && object == other.object;
}

void SiteCounts::add(const SiteCounts& other) noexcept {
    for (std::size_t k = 0; k < calls.size(); ++k) {
        calls[k] += other.calls[k];
        bytes[k] += other.bytes[k];
    }
    timed = timed || other.timed;
    seconds += other.seconds;
    if (other.slowest_seconds > slowest_seconds) {
        slowest_seconds = other.slowest_seconds;
        slowest_rank = other.slowest_rank;
    }
}

void LineTable::add(std::span<const SiteCounts> sites) {
    std::vector<SiteCounts> all{sites_.begin(), sites_.begin() + static_cast<std::ptrdiff_t>(size_)};
    for (const SiteCounts& counts : sites) {
        const auto found = std::ranges::find_if(all, [&](const SiteCounts& own) { return own.same_site(counts); });
        if (found == all.end()) all.push_back(counts);
        else found->add(counts);
    }
    std::ranges::stable_sort(
        all, [this](const SiteCounts& a, const SiteCounts& b) { return weight(a, order_) > weight(b, order_); });
    size_ = std::min(all.size(), most_sites);
    std::copy_n(all.begin(), size_, sites_.begin());
    for (std::size_t k = size_; k < all.size(); ++k) others_.add(all[k]);
}

void LineTable::add(const LineTable& other) {
    add(other.sites());
    others_.add(other.others_);
}

std::uint64_t file_number(std::string_view path) noexcept { return support::checksum_of(path); }

LineTable take_lines(int rank, LineOrder order) {
    const Recorded& recorded = stopped_recording();
    const std::vector<LoadedFile> files = loaded_files();
    // By call site, over threads, intervals and affinities.
    std::map<std::tuple<std::uint64_t, ObjectNumber, Way, Operation>, SiteCounts> counts;
    for (const auto& thread : recorded.threads)
        for (const Record& record : thread->records()) {
            SiteCounts own = counts_of(record, rank);
            const auto [entry, is_new] =
                counts.try_emplace({record.site, record.object, record.way, record.operation}, own);
            if (!is_new) {
                // The same rank's: its times add up.
                own.slowest_seconds += entry->second.slowest_seconds;
                entry->second.add(own);
                continue;
            }
            name_object(entry->second, recorded, record.object);
            if (const auto site = thread->sites().find(record.site); site != thread->sites().end())
                name_places(entry->second, files, site->second);
        }
    std::vector<SiteCounts> all;
    all.reserve(counts.size());
    for (auto& [key, entry] : counts) all.push_back(entry);
    LineTable table{order};
    table.add(all);
    return table;
}

} // namespace lapwing::detail::trace
