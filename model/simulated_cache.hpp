#pragma once

#include "model/access_rates.hpp"
#include "model/program_description.hpp"

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace lapwing::detail::model {

/// A cache of pages with LRU replacement and read-ahead: a miss on the page that a sequential access would miss next
/// fetches twice as many further pages as the last such miss, at least one, up to a limit.
class SimulatedCache {
public:
    SimulatedCache(std::uint64_t pages, std::uint64_t read_ahead_pages)
        : pages_{pages}, read_ahead_pages_{read_ahead_pages} {}

    /// Returns whether it is a hit. `part`: an object and its owner.
    bool access(std::uint64_t part, std::uint64_t page);
    [[nodiscard]] std::uint64_t hits() const noexcept { return hits_; }
    [[nodiscard]] std::uint64_t misses() const noexcept { return misses_; }
    [[nodiscard]] std::uint64_t read_ahead() const noexcept { return fetched_ahead_; }

private:
    struct Key {
        std::uint64_t part;
        std::uint64_t page;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept {
            return static_cast<std::size_t>((key.part * 0x9e3779b97f4a7c15 ^ key.page) * 0xbf58476d1ce4e5b9);
        }
    };
    struct Stream {
        std::uint64_t next = 0; ///< the page of the next miss if accesses are sequential
        std::uint64_t window = 0;
    };
    void enter(const Key& key);

    std::uint64_t pages_;
    std::uint64_t read_ahead_pages_;
    std::list<Key> order_; ///< most recently used first
    std::unordered_map<Key, std::list<Key>::iterator, KeyHash> where_;
    std::unordered_map<std::uint64_t, Stream> streams_; ///< by part
    std::uint64_t hits_ = 0;
    std::uint64_t misses_ = 0;
    std::uint64_t fetched_ahead_ = 0;
};

/// The hit rate of each reference's remote accesses, with the accesses of all references of the interval
/// interleaved, at most a million of them. Random walks have a fixed seed.
[[nodiscard]] std::vector<double> simulated_hit_rates(const ProgramDescription& program,
                                                      const DescribedInterval& interval, int thread,
                                                      const AccessPlatform::Cache& cache);

} // namespace lapwing::detail::model
