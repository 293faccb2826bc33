#include "model/simulated_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>

namespace lapwing::detail::model {

void SimulatedCache::enter(const Key& key) {
    if (pages_ == 0) return;
    order_.push_front(key);
    where_[key] = order_.begin();
    if (order_.size() <= pages_) return;
    where_.erase(order_.back());
    order_.pop_back();
}

bool SimulatedCache::access(std::uint64_t part, std::uint64_t page) {
    const Key key{part, page};
    if (const auto found = where_.find(key); found != where_.end()) {
        order_.splice(order_.begin(), order_, found->second);
        ++hits_;
        return true;
    }
    ++misses_;
    enter(key);
    Stream& stream = streams_[part];
    stream.window =
        page == stream.next ? std::min(read_ahead_pages_, std::max<std::uint64_t>(1, 2 * stream.window)) : 0;
    for (std::uint64_t k = 1; k <= stream.window; ++k) {
        const Key ahead{part, page + k};
        if (where_.contains(ahead)) continue;
        ++fetched_ahead_;
        enter(ahead);
    }
    stream.next = page + stream.window + 1;
    return false;
}

namespace {

/// The elements that a reference accesses, one after another.
class Walker {
public:
    Walker(const SharedObject& object, const Reference& reference, int thread, int threads)
        : object_{object}, reference_{reference}, thread_{thread}, threads_{threads} {
        using Kind = ReferenceAffinity::Kind;
        if (reference.affinity.kind == Kind::shift)
            element_ =
                static_cast<std::uint64_t>(static_cast<std::int64_t>(object.block) * thread + reference.affinity.shift +
                                           static_cast<std::int64_t>(object.block) * threads);
        element_ %= object.elements;
    }

    struct Place {
        int owner;
        std::uint64_t byte; ///< in the owner's part
    };
    Place next() {
        const Place place = place_of(element_);
        switch (reference_.walk.kind) {
        case Walk::Kind::stride: step(reference_.walk.stride); break;
        case Walk::Kind::clustered: step(static_cast<std::int64_t>(random_() % 15) - 7); break;
        case Walk::Kind::random: element_ = random_() % object_.elements; break;
        }
        return place;
    }

private:
    /// At the end of the object, a strided walk starts again with the next element, as columns do.
    void step(std::int64_t stride) {
        const auto elements = static_cast<std::int64_t>(object_.elements);
        const std::int64_t next = static_cast<std::int64_t>(element_) + stride;
        if (next >= 0 && next < elements) element_ = static_cast<std::uint64_t>(next);
        else
            element_ = (static_cast<std::uint64_t>((next % elements + elements) % elements) +
                        (std::abs(stride) > 1 ? 1U : 0U)) %
                       object_.elements;
    }
    [[nodiscard]] Place place_of(std::uint64_t element) const {
        if (object_.block == 0) return {object_.home, element * object_.element_bytes};
        const std::uint64_t block = element / object_.block;
        const auto threads = static_cast<std::uint64_t>(threads_);
        const std::uint64_t local = block / threads * object_.block + element % object_.block;
        const bool own = reference_.affinity.kind == ReferenceAffinity::Kind::own;
        return {own ? thread_ : static_cast<int>(block % threads), local * object_.element_bytes};
    }

    const SharedObject& object_;
    const Reference& reference_;
    int thread_;
    int threads_;
    std::uint64_t element_ = 0;
    std::mt19937_64 random_{20071};
};

} // namespace

std::vector<double> simulated_hit_rates(const ProgramDescription& program, const DescribedInterval& interval,
                                        int thread, const AccessPlatform::Cache& cache) {
    constexpr std::uint64_t most_accesses = 1'000'000;
    SimulatedCache simulated{cache.pages, cache.read_ahead_pages};
    struct Counts {
        std::uint64_t remote = 0;
        std::uint64_t hits = 0;
    };
    std::vector<Counts> counts(interval.references.size());
    std::vector<Walker> walkers;
    std::uint64_t longest = 0;
    for (const Reference& reference : interval.references) {
        walkers.emplace_back(program.object(reference.object), reference, thread, program.threads);
        longest = std::max(longest, reference.count);
    }
    if (walkers.empty()) return {};
    const std::uint64_t steps = std::min(longest, std::max<std::uint64_t>(1, most_accesses / walkers.size()));
    for (std::uint64_t step = 0; step < steps; ++step)
        for (std::size_t r = 0; r < walkers.size(); ++r) {
            if (step >= interval.references[r].count) continue;
            const auto [owner, byte] = walkers[r].next();
            if (owner == thread) continue;
            const auto object =
                static_cast<std::uint64_t>(&program.object(interval.references[r].object) - program.objects.data());
            ++counts[r].remote;
            if (simulated.access(object << 32 | static_cast<std::uint32_t>(owner), byte / cache.page_bytes))
                ++counts[r].hits;
        }
    std::vector<double> rates;
    for (const Counts& of : counts)
        rates.push_back(of.remote == 0 ? 0 : static_cast<double>(of.hits) / static_cast<double>(of.remote));
    return rates;
}

} // namespace lapwing::detail::model
