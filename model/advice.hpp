#pragma once

#include "model/cost_model.hpp"
#include "model/recorded_trace.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace lapwing::detail::model {

/// What one call site did with one object in one way, on all ranks: the subject of a piece of advice.
struct AccessUse {
    /// For one rank, or for all.
    struct Amount {
        std::uint64_t calls = 0;
        std::uint64_t accesses = 0;
        std::uint64_t bytes = 0;
        std::uint64_t runs = 0;          ///< of calls that continue where the previous one ended
        std::uint64_t program_calls = 0; ///< that made them: one may make many
        std::uint64_t timed_calls = 0;   ///< a sample of those
        double timed_seconds = 0;
        [[nodiscard]] double seconds() const noexcept {
            return timed_calls == 0
                       ? 0
                       : timed_seconds / static_cast<double>(timed_calls) * static_cast<double>(program_calls);
        }
        Amount& operator+=(const Amount& other) noexcept;
    };

    std::string object_kind = {};
    std::string object_name = {};
    std::uint64_t object_number = 0;
    std::uint64_t object_bytes = 0;         ///< of all parts
    bool object_of_other_team = false;      ///< owners are numbers in another team than the runtime's
    RecordedTrace::Frames object_site = {}; ///< where it is created
    std::string object_made = {};           ///< the same as text, if it was looked up
    /// Where, with the files of the first rank that has it. Empty: call sites that had no room.
    RecordedTrace::Frames site = {};
    int site_rank = 0;
    trace::Way way = trace::Way::element;
    trace::Operation operation = trace::Operation::read;

    std::array<Amount, 3> all{}; ///< by affinity, over all ranks
    int heaviest_rank = 0;       ///< the one whose remote accesses take longest, or are most
    std::array<Amount, 3> heaviest{};
    trace::ReuseCounts within = {}; ///< of the heaviest rank's accesses to other ranks' memory
    trace::ReuseCounts over = {};
    std::uint64_t owners = 0;     ///< the number of ranks that it accesses
    std::uint64_t executions = 0; ///< the intervals in which it occurs
    std::int64_t stride = 0;      ///< the most frequent one of its calls
    double stride_share = 0;
    std::vector<std::pair<int, std::size_t>> records = {}; ///< its ranks, and their records' numbers

    [[nodiscard]] const Amount& far() const noexcept { return all[2]; }
    [[nodiscard]] std::uint64_t accesses() const noexcept {
        return all[0].accesses + all[1].accesses + all[2].accesses;
    }
};

/// Name, number, and whether it is of another team than the runtime's: what tells objects apart, on all ranks alike.
using ObjectKey = std::tuple<std::string, std::uint64_t, bool>;
[[nodiscard]] inline ObjectKey key_of(const RecordedTrace::OfObject& object) {
    return {object.name, object.number, object.other_team};
}
[[nodiscard]] inline ObjectKey key_of(const AccessUse& use) {
    return {use.object_name, use.object_number, use.object_of_other_team};
}

/// A change of the program, or a setting.
struct AdvisedChange {
    std::string kind = {};  ///< a keyword for programs: cache, patch, prefetch, mapped, list, replicate, update,
                            ///< local, distribution, one-owner, notify, follow
    std::string title = {}; ///< a short description
    std::string why = {};
    std::vector<std::size_t> uses = {}; ///< the uses that it concerns
    std::string setting = {};           ///< tries it without a change of the program; empty: there is none
    std::string code = {};              ///< the lines that do it
    std::optional<int> rank = {};       ///< the heaviest one of all its uses; empty: the first use's
    std::uint64_t messages_saved = 0;   ///< round trips of that rank
    /// Of that rank, where rates were measured.
    std::optional<double> now_seconds = {};
    std::optional<double> then_seconds = {};
    /// Relative: the error of predicting what the trace has measured, at least 15 %.
    double uncertainty = 0.15;
    [[nodiscard]] double gain() const noexcept { return now_seconds.value_or(0) - then_seconds.value_or(0); }
};

struct Advice {
    double seconds = 0;                      ///< of the slowest rank
    std::vector<AccessUse> uses = {};        ///< the slowest first
    std::vector<AdvisedChange> changes = {}; ///< by time saved; without rates by round trips saved
    bool rated = false;                      ///< the rates of the trace's path are known
};

/// What dominates the run time, and what would help. `tables`: the costs of the platform; null, or without rates:
/// no predictions.
[[nodiscard]] Advice advise(const RecordedTrace& trace, const CostTables* tables);

} // namespace lapwing::detail::model
