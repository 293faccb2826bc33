#pragma once

#include "model/access_platform.hpp"
#include "model/program_description.hpp"
#include "src/trace/reuse.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lapwing::detail::model {

/// Lapwing's cache of single accesses, without memory behind it: it decides as it does in a program what is a hit, what
/// is fetched and how much of it, what is read ahead, and when accesses bypass it. Get and put take no time, so that it
/// reads ahead as far as in a loop that does not wait for pages.
class SimulatedCache {
public:
    /// Of so many parts (of an object and an owner each), with `part_bytes` of each, at most `largest_part`.
    SimulatedCache(const AccessPlatform::Cache& cache, int parts, std::function<std::uint64_t(int part)> part_bytes,
                   std::uint64_t largest_part);
    ~SimulatedCache();
    SimulatedCache(const SimulatedCache&) = delete;
    SimulatedCache& operator=(const SimulatedCache&) = delete;

    /// line: some lines of a page are fetched; page: all of it, or it becomes one to be written back.
    enum class Outcome : std::uint8_t { hit, line, page, passed };
    [[nodiscard]] Outcome access(int part, std::uint64_t offset, std::uint64_t bytes, bool write = false);
    /// So far.
    [[nodiscard]] std::uint64_t bytes_ahead() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// What the cache makes of each reference's remote accesses, with the accesses of all references of the interval
/// interleaved, at most a million of them. Random walks have a fixed seed.
[[nodiscard]] std::vector<CachedShare> simulated_shares(const ProgramDescription& program,
                                                        const DescribedInterval& interval, int thread,
                                                        const AccessPlatform::Cache& cache);

/// The same for single elements of eight bytes at irregular places, of which only the distances of reuse are known:
/// `accesses` between two sequence points, so many of `pages` pages, at most 50,000 of them.
[[nodiscard]] CachedShare simulated_share(const trace::ReuseCounts& reuse, std::uint64_t accesses, std::uint64_t pages,
                                          bool write, const AccessPlatform::Cache& cache);

} // namespace lapwing::detail::model
