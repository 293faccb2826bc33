#include "groups.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/range.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace lapwing::bench::applications::hydro {
namespace {

void sort_once(std::vector<Number>& numbers) {
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

/// Names what this rank will read, as few stretches: a few elements more cost less than another stretch.
[[nodiscard]] Custom<1, std::vector<Domain<1>>> pattern_of(int ranks, int rank, std::vector<Number> reads) {
    constexpr Number worth_a_stretch = 16;
    sort_once(reads);
    std::vector<Domain<1>> stretches;
    for (std::size_t k = 0; k < reads.size();) {
        const std::size_t first = k++;
        while (k < reads.size() && reads[k] - reads[k - 1] <= worth_a_stretch) ++k;
        stretches.emplace_back(Range{reads[first], reads[k - 1] + 1});
    }
    Custom<1, std::vector<Domain<1>>> pattern;
    pattern.table.resize(static_cast<std::size_t>(ranks));
    pattern.table[static_cast<std::size_t>(rank)] = std::move(stretches);
    return pattern;
}

[[nodiscard]] std::vector<GlobalArray<double, 1>> arrays_of(Runtime& runtime, const Parts& parts, std::size_t count,
                                                            const CacheOptions& cache) {
    std::vector<GlobalArray<double, 1>> arrays;
    for (std::size_t k = 0; k < count; ++k)
        arrays.emplace_back(runtime, Extents<1>{parts.extent()}, Block{},
                            GlobalArrayOptions{.name = fmt::format("lulesh {}", k), .cache = cache});
    return arrays;
}

/// Sums of what comes before.
[[nodiscard]] std::vector<int> begins(const std::vector<int>& counts) {
    std::vector<int> begin(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), begin.begin(), 0);
    return begin;
}

} // namespace

GlobalGroup::GlobalGroup(const Access& access, const Parts& parts, std::size_t arrays, std::vector<Number> reads)
    : runtime_{access.runtime},
      prefetch_{access.prefetch},
      arrays_{arrays_of(access.runtime, parts, arrays, access.cache)} {
    if (access.hints) {
        sort_once(reads);
        std::ranges::copy_if(reads, std::back_inserter(hints_),
                             [&](Number number) { return parts.owner(number) != parts.rank; });
    }
    if (!prefetch_) return;
    const auto pattern = pattern_of(access.ranks(), access.rank(), std::move(reads));
    for (auto& array : arrays_) array.prefetch(pattern, {.consistent = false, .static_domain = true});
}

void GlobalGroup::hint() const {
    for (const auto& array : arrays_)
        for (const Number number : hints_) array.prefetch(number);
}

void GlobalGroup::share() {
    runtime_.barrier();
    hint();
    if (!prefetch_) return;
    std::vector<Completion> updates;
    for (auto& array : arrays_) updates.push_back(array.update_async());
    for (Completion& update : updates) update.wait();
}

MappedGroup::MappedGroup(const Access& access, const Parts& parts, std::size_t arrays, std::vector<Number> reads)
    : runtime_{access.runtime}, arrays_{arrays_of(access.runtime, parts, arrays, {})} {
    const auto pattern = pattern_of(access.ranks(), access.rank(), std::move(reads));
    for (const auto& array : arrays_) mapped_.push_back(array.mapped(pattern));
}

void MappedGroup::share() {
    runtime_.barrier();
    std::vector<Completion> refreshes;
    for (const auto& mapped : mapped_) refreshes.push_back(mapped.start_refresh());
    for (Completion& refresh : refreshes) refresh.wait();
}

int MessageGroup::Access::ranks() const {
    int size = 0;
    MPI_Comm_size(world, &size);
    return size;
}

int MessageGroup::Access::rank() const {
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    return rank;
}

void MessageGroup::Access::min(std::span<double> values) const {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MIN, world);
}

MessageGroup::MessageGroup(const Access& access, const Parts& parts, std::size_t arrays, std::vector<Number> reads)
    : world_{access.world}, parts_{parts} {
    sort_once(reads);
    std::vector<int> wanted(static_cast<std::size_t>(parts.ranks));
    for (const Number number : reads)
        if (const int owner = parts.owner(number); owner != parts.rank) {
            copied_.push_back(number);
            ++wanted[static_cast<std::size_t>(owner)];
        }
    const std::size_t total = static_cast<std::size_t>(parts.own()) + copied_.size();
    arrays_.assign(arrays, std::vector<double>(total));

    // Each rank tells the owners what it wants.
    std::vector<int> asked(wanted.size());
    MPI_Alltoall(wanted.data(), 1, MPI_INT, asked.data(), 1, MPI_INT, world_);
    const std::vector<int> wanted_begin = begins(wanted);
    const std::vector<int> asked_begin = begins(asked);
    std::vector<Number> numbers(static_cast<std::size_t>(asked_begin.back() + asked.back()));
    MPI_Alltoallv(copied_.data(), wanted.data(), wanted_begin.data(), MPI_INT64_T, numbers.data(), asked.data(),
                  asked_begin.data(), MPI_INT64_T, world_);
    const auto add = [&](std::vector<Message>& messages, int rank, std::vector<Number> places) {
        if (places.empty()) return;
        std::vector<double> values(places.size() * arrays);
        messages.push_back({rank, std::move(places), std::move(values)});
    };
    for (int rank = 0; rank < parts.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        std::vector<Number> from(numbers.begin() + asked_begin[r], numbers.begin() + asked_begin[r] + asked[r]);
        for (Number& number : from) number -= parts.first();
        add(outgoing_, rank, std::move(from));
        std::vector<Number> to(static_cast<std::size_t>(wanted[r]));
        std::iota(to.begin(), to.end(), parts.own() + wanted_begin[r]);
        add(incoming_, rank, std::move(to));
    }
}

Number MessageGroup::place(Number number) const {
    if (parts_.owner(number) == parts_.rank) return number - parts_.first();
    return parts_.own() + (std::ranges::lower_bound(copied_, number) - copied_.begin());
}

void MessageGroup::share() {
    requests_.clear();
    for (Message& message : incoming_)
        MPI_Irecv(message.values.data(), static_cast<int>(message.values.size()), MPI_DOUBLE, message.rank, 0, world_,
                  &requests_.emplace_back());
    for (Message& message : outgoing_) {
        auto value = message.values.begin();
        for (const std::vector<double>& array : arrays_)
            for (const Number place : message.places) *value++ = array[static_cast<std::size_t>(place)];
        MPI_Isend(message.values.data(), static_cast<int>(message.values.size()), MPI_DOUBLE, message.rank, 0, world_,
                  &requests_.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (const Message& message : incoming_) {
        auto value = message.values.begin();
        for (std::vector<double>& array : arrays_)
            for (const Number place : message.places) array[static_cast<std::size_t>(place)] = *value++;
    }
}

} // namespace lapwing::bench::applications::hydro
