#pragma once

#include "model/access_rates.hpp"
#include "model/cost_model.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lapwing::detail::model {

/// A platform as the model sees it.
struct AccessPlatform {
    AccessRates rates = {};
    /// Reads and writes of own elements of objects of which a thread has several blocks; empty: as of the others.
    std::array<RateCurve, 2> dealt_local = {};
    bool vectorises = false; ///< benefits when successive accesses have the same affinity
    bool coalesces = false;  ///< benefits when accesses are near each other
    int measured_ranks = 0;  ///< up to which what synchronises was measured; beyond it goes on as it grew
    double barrier_seconds = 0;
    // The same for what else synchronises, each once; 0: not known.
    double lock_seconds = 0;
    double collective_seconds = 0;
    double notify_seconds = 0;
    double atomic_seconds = 0;
    double update_seconds = 0;
    std::array<TransferModel, 2> transfers = {}; ///< gets and puts, while the other ranks are idle
    std::array<RateCurve, 2> bulk = {}; ///< the same, by their 8-byte elements, while all ranks make them; may be empty
    std::array<RateCurve, 2> lists = {}; ///< an element of one that is gathered, or scattered
    double contention = 1;               ///< how much longer an access takes where all threads access one of them
    double private_seconds = 0;          ///< an access to private memory
    double private_in_order_seconds = 0; ///< the same, of elements that follow each other; 0: not measured
    /// A cache for remote accesses, as in section 7.2: hits cost what local accesses do, and misses a penalty.
    struct Cache {
        std::uint64_t page_bytes = 1024;
        std::uint64_t pages = 2048;
        std::uint64_t read_ahead_pages = 0; ///< the most that are fetched after a sequential miss
        double miss_seconds = 0;            ///< a page is fetched
        double line_seconds = 0;            ///< one line of it
        double ahead_seconds = 0;           ///< a page that is fetched ahead, while others are
        // What was measured of a cache; what was not is as published: hits are local accesses, and writes miss as reads
        // do.
        std::array<RateCurve, 2> hit = {}; ///< of reads and writes
        std::array<RateCurve, 2> dealt_hit =
            {}; ///< of objects of which a thread has several blocks; empty: as of others
        /// Reads and writes that bypass it; empty: as accesses without a cache.
        std::array<RateCurve, 2> passed = {};
        RateCurve write_miss = {};       ///< a write to a page that is not dirty yet, with its share of the release
        double written_byte_seconds = 0; ///< each further dirty byte of that page
    };
    std::optional<Cache> cache = {};

    /// Of own elements, and of those that are cached, of an object whose blocks are dealt in turn or not; and of
    /// accesses that bypass the cache. The latter two only with a cache.
    [[nodiscard]] const RateCurve& local(bool dealt, bool write) const {
        return measured_or(rates.of(AccessPattern::local, write), dealt, dealt_local, write);
    }
    [[nodiscard]] const RateCurve& hit(bool dealt, bool write) const {
        return measured_or(cache->hit[write ? 1 : 0], dealt, cache->dealt_hit, write);
    }
    [[nodiscard]] const RateCurve& passed(bool write) const {
        return measured_or(rates.of(AccessPattern::baseline, write), true, cache->passed, write);
    }

    /// How much longer a shared access takes than a private one: G of section 6.6. Throws UsageError unless the private
    /// access was measured.
    [[nodiscard]] double concurrency(AccessPattern pattern, bool write, std::uint64_t accesses) const;

private:
    /// The special rate if that is wanted and was measured, else the other one.
    [[nodiscard]] static const RateCurve& measured_or(const RateCurve& other, bool wanted,
                                                      const std::array<RateCurve, 2>& special, bool write) {
        const RateCurve& curve = special[write ? 1 : 0];
        return wanted && !curve.empty() ? curve : other;
    }
};

/// A pattern is exploited whose accesses take less of a baseline access's time than this.
inline constexpr double exploited_below = 0.8;

/// Sets which patterns it exploits, from its rates, for small and for large numbers of accesses, as reads or as writes.
void find_exploited(AccessPlatform& platform);

/// The platform as it is beside a computation on private memory, which makes each access already, to private memory:
/// accesses take what they take longer than that.
[[nodiscard]] AccessPlatform beside_private_memory(AccessPlatform platform);

/// Seconds of a transfer between ranks that are connected by a path: while all ranks make such, if that was measured
/// (lapwing-tune --rates), else while the others are idle. Several that overlap with each other were measured beside
/// idle ranks only: they take as much longer as one does. 0: neither was measured.
[[nodiscard]] double transfer_seconds(const CostTables& tables, std::string_view path, Direction direction,
                                      std::uint64_t bytes, std::uint64_t operations = 1);

/// Sets the times of accesses to own elements of dealt objects, and to private memory.
void use_own_memory(AccessPlatform& platform, const MeasuredRates& rates);

/// Sets the times of bulk transfers, lists and atomics between ranks that are connected by a path.
void use_transfers(AccessPlatform& platform, const CostTables& tables, std::string_view path);

/// Sets the times of barriers, locks, collective calls, notified puts and contention for one owner, for a number of
/// threads, from what was measured for ranks that are connected by a path. With more threads than were measured,
/// barriers and collective calls grow with the logarithm of their number, and locks and contention with their number.
void use_synchronisation(AccessPlatform& platform, const MeasuredRates& rates, std::string_view path, int threads);

/// A path as it was measured, for a number of threads: without a cache, or with one by the rates of each pattern. Its
/// rates are empty if there are none.
[[nodiscard]] AccessPlatform measured_platform(const CostTables& tables, std::string_view path, int threads,
                                               Caching caching = Caching::none);

} // namespace lapwing::detail::model
