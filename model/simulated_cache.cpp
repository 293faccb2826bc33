#include "model/simulated_cache.hpp"

#include "cache/page_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <random>
#include <span>
#include <utility>

namespace lapwing::detail::model {
namespace {

/// Parts whose bytes nobody looks at. Notes what one access asks for.
class NoMemory final : public cache::Backend {
public:
    explicit NoMemory(std::function<std::uint64_t(int)> part_bytes) : part_bytes_{std::move(part_bytes)} {}

    void begin_access(int part, std::uint64_t offset, std::uint64_t bytes) noexcept {
        part_ = part;
        offset_ = offset;
        bytes_ = bytes;
        fetched_ = 0;
        passed_ = false;
    }
    /// Bytes around the access's own that it waits for.
    [[nodiscard]] std::uint64_t fetched() const noexcept { return fetched_; }
    [[nodiscard]] bool passed() const noexcept { return passed_; }
    [[nodiscard]] std::uint64_t bytes_ahead() const noexcept { return bytes_ahead_; }

    Token start_get(Rank part, Offset offset, std::span<std::byte> destination) override {
        get(part, offset, destination);
        return complete;
    }
    Token start_put(Rank, Offset, std::span<const std::byte>) override { return complete; }
    bool test(Token) override { return true; }
    void wait(Token) override {}
    void get(Rank part, Offset offset, std::span<std::byte> destination) override {
        if (part != part_ || offset.bytes > offset_ || offset.bytes + destination.size() <= offset_) {
            bytes_ahead_ += destination.size();
            return;
        }
        fetched_ += destination.size();
        passed_ = is_own(part, offset, destination.size()); // without the rest of a line
    }
    void put(Rank part, Offset offset, std::span<const std::byte> source) override {
        passed_ = passed_ || is_own(part, offset, source.size());
    }
    void put_runs(Rank, std::span<const cache::DirtyRun>) override {}
    std::uint64_t part_bytes(Rank part) const override { return part_bytes_(part.value); }
    bool has_left(Rank) override { return false; }
    void note_lost(Rank, std::uint64_t) override {}

private:
    [[nodiscard]] bool is_own(Rank part, Offset offset, std::uint64_t bytes) const noexcept {
        return part == part_ && offset.bytes == offset_ && bytes == bytes_;
    }

    std::function<std::uint64_t(int)> part_bytes_;
    int part_ = 0;
    std::uint64_t offset_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t fetched_ = 0;
    bool passed_ = false;
    std::uint64_t bytes_ahead_ = 0;
};

[[nodiscard]] cache::PageCacheConfiguration configuration_of(const AccessPlatform::Cache& cache, int parts,
                                                             std::uint64_t largest_part) {
    return {.bytes = std::max(cache.pages, cache::least_pages) * cache.page_bytes,
            .page_bytes = cache.page_bytes,
            .read_ahead_bytes = cache.read_ahead_pages * cache.page_bytes,
            .ranks = parts,
            .largest_part = largest_part};
}

} // namespace

struct SimulatedCache::State {
    State(const AccessPlatform::Cache& cache, int parts, std::function<std::uint64_t(int)> part_bytes,
          std::uint64_t largest_part)
        : memory{std::move(part_bytes)},
          pages{configuration_of(cache, parts, largest_part), memory, epoch, dirty_pages, statistics} {}

    NoMemory memory;
    std::atomic<std::uint64_t> epoch{1};
    std::atomic<std::uint32_t> dirty_pages{0};
    support::Statistics statistics;
    std::vector<std::byte> bytes;
    cache::PageCache pages;
};

SimulatedCache::SimulatedCache(const AccessPlatform::Cache& cache, int parts,
                               std::function<std::uint64_t(int)> part_bytes, std::uint64_t largest_part)
    : state_{std::make_unique<State>(cache, parts, std::move(part_bytes), largest_part)} {}
SimulatedCache::~SimulatedCache() = default;

auto SimulatedCache::access(int part, std::uint64_t offset, std::uint64_t bytes, bool write) -> Outcome {
    auto& table = state_->pages.page_table();
    table.begin(state_->epoch.load(std::memory_order_relaxed));
    if (bytes == sizeof(std::uint64_t) && offset % sizeof(std::uint64_t) == 0)
        if (const std::uint64_t place = table.place_of(part, Offset{offset});
            write ? table.write(place, std::uint64_t{0}) : table.find<std::uint64_t>(place) != nullptr)
            return Outcome::hit;
    NoMemory& memory = state_->memory;
    memory.begin_access(part, offset, bytes);
    state_->bytes.resize(bytes);
    if (write) {
        state_->pages.put(part, offset, state_->bytes);
        return memory.passed() ? Outcome::passed : Outcome::page;
    }
    state_->pages.get(part, offset, state_->bytes);
    if (memory.passed()) return Outcome::passed;
    if (memory.fetched() == 0) return Outcome::hit;
    const std::uint64_t lines = (offset + bytes - 1) / cache::line_bytes - offset / cache::line_bytes + 1;
    return memory.fetched() <= lines * cache::line_bytes ? Outcome::line : Outcome::page;
}

std::uint64_t SimulatedCache::bytes_ahead() const noexcept { return state_->memory.bytes_ahead(); }

namespace {

/// The elements that a reference accesses, one after another.
class Walker {
public:
    Walker(const SharedObject& object, const Reference& reference, int thread, int threads)
        : object_{object}, reference_{reference}, thread_{thread}, threads_{threads} {
        all_ = follows_own() ? owned_elements(object, thread, threads) : object.elements;
        // Several references of a program may be described as one: each element is then accessed so often in a row.
        if (follows_own() && all_ > 0 && std::abs(reference.walk.stride) == 1)
            repeats_ = std::max<std::uint64_t>(1, reference.count / all_);
    }

    struct Place {
        int owner;
        std::uint64_t byte; ///< in the owner's part
    };
    /// None of another thread's elements: an element of the thread's own.
    [[nodiscard]] std::optional<Place> next() {
        if (all_ == 0 || reference_.affinity.kind == ReferenceAffinity::Kind::own) return {};
        if (reference_.affinity.kind == ReferenceAffinity::Kind::share) return next_of_share();
        const std::optional<std::uint64_t> element = element_of(place_);
        advance();
        if (!element) return {};
        const Place place = place_of(*element);
        return place.owner == thread_ ? std::nullopt : std::optional{place};
    }

private:
    [[nodiscard]] bool follows_own() const noexcept {
        return reference_.affinity.kind == ReferenceAffinity::Kind::shift && object_.block != 0;
    }
    /// Of the thread's own elements or of all, the one with this number, moved if the reference is; none outside of the
    /// object.
    [[nodiscard]] std::optional<std::uint64_t> element_of(std::uint64_t number) const {
        if (!follows_own()) return number;
        const std::uint64_t own =
            (number / object_.block * static_cast<std::uint64_t>(threads_) + static_cast<std::uint64_t>(thread_)) *
                object_.block +
            number % object_.block;
        const std::int64_t moved = static_cast<std::int64_t>(own) + reference_.affinity.shift;
        if (moved < 0 || moved >= static_cast<std::int64_t>(object_.elements)) return {};
        return static_cast<std::uint64_t>(moved);
    }
    /// Of the share that is not local, the elements of other threads.
    [[nodiscard]] std::optional<Place> next_of_share() {
        local_ += reference_.affinity.local;
        if (local_ >= 1) {
            local_ -= 1;
            return {};
        }
        for (std::uint64_t tried = 0; tried < all_; ++tried) {
            const Place place = place_of(place_);
            advance();
            if (place.owner != thread_) return place;
        }
        return {};
    }
    void advance() {
        if (++repeated_ < repeats_) return;
        repeated_ = 0;
        switch (reference_.walk.kind) {
        case Walk::Kind::stride: step(reference_.walk.stride); break;
        case Walk::Kind::clustered: step(static_cast<std::int64_t>(random_() % 15) - 7); break;
        case Walk::Kind::random: place_ = random_() % all_; break;
        }
    }
    /// At the end, a strided walk starts again with the next element, as columns do.
    void step(std::int64_t stride) {
        const auto elements = static_cast<std::int64_t>(all_);
        const std::int64_t next = static_cast<std::int64_t>(place_) + stride;
        if (next >= 0 && next < elements) place_ = static_cast<std::uint64_t>(next);
        else
            place_ = (static_cast<std::uint64_t>((next % elements + elements) % elements) +
                      (std::abs(stride) > 1 ? 1U : 0U)) %
                     all_;
    }
    [[nodiscard]] Place place_of(std::uint64_t element) const {
        if (object_.block == 0) return {object_.home, element * object_.element_bytes};
        const std::uint64_t block = element / object_.block;
        const auto threads = static_cast<std::uint64_t>(threads_);
        const std::uint64_t local = block / threads * object_.block + element % object_.block;
        return {static_cast<int>(block % threads), local * object_.element_bytes};
    }

    const SharedObject& object_;
    const Reference& reference_;
    int thread_;
    int threads_;
    std::uint64_t all_ = 0; ///< elements that it walks over
    std::uint64_t place_ = 0;
    std::uint64_t repeats_ = 1;
    std::uint64_t repeated_ = 0;
    double local_ = 0;
    std::mt19937_64 random_{20071};
};

struct Counts {
    std::uint64_t remote = 0;
    std::uint64_t hits = 0;
    std::uint64_t lines = 0;
    std::uint64_t passed = 0;
    std::uint64_t bytes_ahead = 0;

    void add(SimulatedCache::Outcome outcome) noexcept {
        ++remote;
        hits += outcome == SimulatedCache::Outcome::hit ? 1 : 0;
        lines += outcome == SimulatedCache::Outcome::line ? 1 : 0;
        passed += outcome == SimulatedCache::Outcome::passed ? 1 : 0;
    }
    [[nodiscard]] CachedShare share(std::uint64_t page_bytes) const noexcept {
        const auto all = static_cast<double>(std::max<std::uint64_t>(remote, 1));
        return {.hits = static_cast<double>(hits) / all,
                .ahead = static_cast<double>(bytes_ahead) / static_cast<double>(page_bytes) / all,
                .lines = static_cast<double>(lines) / all,
                .passed = static_cast<double>(passed) / all};
    }
};

/// A part for each object and owner.
[[nodiscard]] SimulatedCache cache_of(const ProgramDescription& program, const AccessPlatform::Cache& cache) {
    std::uint64_t largest = 0;
    for (const SharedObject& object : program.objects)
        largest = std::max(largest, object.element_bytes *
                                        owned_elements(object, object.block == 0 ? object.home : 0, program.threads));
    return SimulatedCache{
        cache, static_cast<int>(program.objects.size()) * program.threads,
        [&program](int part) {
            const SharedObject& object = program.objects[static_cast<std::size_t>(part / program.threads)];
            return object.element_bytes * owned_elements(object, part % program.threads, program.threads);
        },
        largest};
}

} // namespace

std::vector<CachedShare> simulated_shares(const ProgramDescription& program, const DescribedInterval& interval,
                                          int thread, const AccessPlatform::Cache& cache) {
    constexpr std::uint64_t most_remote = 1'000'000;
    constexpr std::uint64_t most_steps = 50'000'000;
    SimulatedCache simulated = cache_of(program, cache);
    std::vector<Counts> counts(interval.references.size());
    std::vector<Walker> walkers;
    std::vector<int> objects;
    std::uint64_t longest = 0;
    for (const Reference& reference : interval.references) {
        const SharedObject& object = program.object(reference.object);
        walkers.emplace_back(object, reference, thread, program.threads);
        objects.push_back(static_cast<int>(&object - program.objects.data()));
        longest = std::max(longest, reference.count);
    }
    const std::uint64_t steps = std::min(longest, most_steps / std::max<std::size_t>(1, walkers.size()));
    std::uint64_t remote = 0;
    for (std::uint64_t step = 0; step < steps && remote < most_remote; ++step)
        for (std::size_t r = 0; r < walkers.size(); ++r) {
            const Reference& reference = interval.references[r];
            if (step >= reference.count) continue;
            const auto place = walkers[r].next();
            if (!place) continue;
            ++remote;
            const std::uint64_t ahead = simulated.bytes_ahead();
            counts[r].add(simulated.access(objects[r] * program.threads + place->owner, place->byte,
                                           program.objects[static_cast<std::size_t>(objects[r])].element_bytes,
                                           reference.write));
            counts[r].bytes_ahead += simulated.bytes_ahead() - ahead;
        }
    std::vector<CachedShare> shares;
    shares.reserve(counts.size());
    for (const Counts& of : counts) shares.push_back(of.share(cache.page_bytes));
    return shares;
}

namespace {

/// Pages in an order of use that has given distances of reuse. A sampled page has 2^ReuseSample::page_bits bytes.
class ReusedPages {
public:
    ReusedPages(const trace::ReuseCounts& reuse, std::uint64_t pages) : most_{std::max<std::uint64_t>(1, pages)} {
        std::vector<double> weights{static_cast<double>(reuse.cold)};
        for (const std::uint64_t count : reuse.at) weights.push_back(static_cast<double>(count));
        kind_ = std::discrete_distribution<std::size_t>{weights.begin(), weights.end()};
    }
    /// The number of the next one, below `places`.
    [[nodiscard]] std::uint64_t next() {
        const std::size_t kind = kind_(random_);
        std::uint64_t distance = most_; // of a new page
        if (kind == 1) distance = 0;
        else if (kind > 1) distance = (std::uint64_t{1} << (kind - 2)) + random_() % (std::uint64_t{1} << (kind - 2));
        if (distance >= used_.size() && used_.size() < most_) {
            used_.push_back(used_.size());
            return place_of(used_.back());
        }
        // When all pages have been used, a new one is that which has waited longest.
        distance = std::min<std::uint64_t>(distance, used_.size() - 1);
        std::rotate(used_.end() - static_cast<std::ptrdiff_t>(distance) - 1,
                    used_.end() - static_cast<std::ptrdiff_t>(distance), used_.end());
        return place_of(used_.back());
    }
    /// A cache has memory for each place that it could have, and takes long to touch all of it.
    static constexpr std::uint64_t places = std::uint64_t{1} << 17;

private:
    /// No neighbour of the one before.
    [[nodiscard]] static std::uint64_t place_of(std::uint64_t page) noexcept { return page * 0x9e3779b1 % places; }

    std::uint64_t most_;
    std::discrete_distribution<std::size_t> kind_;
    std::vector<std::uint64_t> used_; ///< the last one at the end
    std::mt19937_64 random_{20071};
};

} // namespace

CachedShare simulated_share(const trace::ReuseCounts& reuse, std::uint64_t accesses, std::uint64_t pages, bool write,
                            const AccessPlatform::Cache& cache) {
    constexpr std::uint64_t most = 50'000;
    constexpr std::uint64_t page_bytes = std::uint64_t{1} << trace::ReuseSample::page_bits;
    constexpr std::uint64_t part_bytes = ReusedPages::places * page_bytes;
    if (reuse.total() == 0) return {};
    SimulatedCache simulated{cache, 1, [](int) { return part_bytes; }, part_bytes};
    ReusedPages order{reuse, std::min(pages, most)};
    std::mt19937_64 random{2007};
    Counts counts;
    for (std::uint64_t k = 0; k < std::min(accesses, most); ++k) {
        const std::uint64_t offset = order.next() * page_bytes + random() % (page_bytes / 8) * 8;
        counts.add(simulated.access(0, offset, 8, write));
    }
    counts.bytes_ahead = simulated.bytes_ahead();
    return counts.share(cache.page_bytes);
}

} // namespace lapwing::detail::model
