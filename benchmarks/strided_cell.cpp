#include "strided_cell.hpp"

#include "median.hpp"

#include "datatype/block_copy.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/detail/layout_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace lapwing::bench {
namespace {

/// Offsets around those of the stride, in order and apart.
Layout::Offsets irregular(const StridedCell& cell) {
    Layout::Offsets offsets;
    std::uint64_t state = 88172645463325252U;
    const std::uint64_t room = cell.stride - cell.block + 1;
    for (std::uint64_t i = 0; i < cell.blocks(); ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        offsets.push_back(static_cast<std::int64_t>(i * cell.stride + state % room));
    }
    return offsets;
}

Layout layout_of(const StridedCell& cell) {
    if (cell.indexed) return Layout::indexed(irregular(cell), cell.block);
    return Layout::strided(cell.blocks(), cell.block, static_cast<std::int64_t>(cell.stride));
}

/// Whether two plans of a transfer of `blocks` blocks do the same: those that pack do if their chunks are the same, of
/// which one may be all there is, and then they are predicted to take the same to the last digit; and one block, packed
/// or not, is one put as long as it is one chunk.
bool same_steps(const Plan& a, const Plan& b, std::uint64_t blocks) {
    const auto packs = [](Strategy strategy) {
        return strategy == Strategy::full_pack || strategy == Strategy::fixed_pipeline ||
               strategy == Strategy::superpipeline;
    };
    const auto one_put = [&](const Plan& plan) {
        constexpr std::uint64_t one_chunk = 4096;
        return blocks == 1 && plan.bytes() <= one_chunk &&
               (packs(plan.strategy()) || plan.strategy() == Strategy::per_block);
    };
    if (one_put(a) && one_put(b)) return true;
    return a.predicted_seconds() == b.predicted_seconds() &&
           (a.strategy() == b.strategy() || (packs(a.strategy()) && packs(b.strategy())));
}

MPI_Datatype mpi_type_of(const StridedCell& cell) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (cell.indexed) {
        std::vector<MPI_Aint> offsets;
        for (const std::int64_t offset : irregular(cell)) offsets.push_back(static_cast<MPI_Aint>(offset));
        MPI_Type_create_hindexed_block(static_cast<int>(offsets.size()), static_cast<int>(cell.block), offsets.data(),
                                       MPI_BYTE, &type);
    } else {
        MPI_Type_create_hvector(static_cast<int>(cell.blocks()), static_cast<int>(cell.block),
                                static_cast<MPI_Aint>(cell.stride), MPI_BYTE, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

} // namespace

std::string size_name(std::uint64_t bytes) {
    constexpr std::uint64_t kib = 1024;
    if (bytes >= kib * kib && bytes % (kib * kib) == 0) return fmt::format("{} MiB", bytes / (kib * kib));
    if (bytes >= kib && bytes % kib == 0) return fmt::format("{} KiB", bytes / kib);
    return fmt::format("{} B", bytes);
}

std::string StridedCell::name() const {
    return fmt::format("{} in {} {} B blocks, {} {}, {} {}", size_name(total), indexed ? "indexed" : "regular", block,
                       indexed ? "about every" : "stride", stride, get ? "from" : "to",
                       target_strided ? "the same" : "contiguous");
}

Layout StridedCell::here() const { return layout_of(*this); }
Layout StridedCell::there() const { return target_strided ? layout_of(*this) : Layout::contiguous(bytes()); }

const StridedTimes::Way& StridedTimes::best() const { return *std::ranges::min_element(forced, {}, &Way::seconds); }

std::optional<double> StridedTimes::of(std::string_view name) const {
    for (const Way& way : forced)
        if (way.name == name) return way.seconds;
    return {};
}

StridedBench::StridedBench(Context& context, Runtime& runtime, Route route, std::uint64_t most_extent)
    : context_{context},
      runtime_{runtime},
      route_{route},
      most_extent_{most_extent},
      repetitions_{context.options().repetitions > 0 ? context.options().repetitions : 5},
      stretch_seconds_{std::min(1e-3, context.options().seconds / 100)},
      shaped_{context.options().network.starts_with("cluster:")},
      window_{runtime, most_extent} {
    if (route.path != Path::direct && context.windows_work()) raw_window_.emplace(context, most_extent);
    if (context.rank() == 0) memory_.assign(most_extent, std::byte{1});
}

StridedBench::~StridedBench() {
    raw_window_.reset();
    window_.close();
}

std::vector<std::vector<double>> StridedBench::times(const std::vector<std::function<void()>>& ways) {
    std::vector<std::vector<double>> times(ways.size());
    std::vector<std::uint64_t> iterations(ways.size(), 1);
    // Once will do for what takes long, and for what is far slower than the first: it is not the best way.
    constexpr double too_slow = 0.3;
    constexpr double far_slower = 10;
    constexpr double least_slow = 1e-3;
    std::vector<bool> only_once(ways.size());
    double first_way = 0;
    const auto run = [&](std::size_t i) {
        // The bucket of a shaped link fills while nothing is sent, and what follows at once finds it empty: all start
        // alike.
        if (shaped_) std::this_thread::sleep_for(std::chrono::milliseconds{5});
        // Few calls would be measured in caches that another way has left, which is good luck for the one whose memory
        // it used.
        else if (iterations[i] < 4) ways[i]();
        const Stopwatch watch;
        for (std::uint64_t n = 0; n < iterations[i]; ++n) ways[i]();
        return watch.seconds() / static_cast<double>(iterations[i]);
    };
    for (std::size_t i = 0; i < ways.size(); ++i) {
        const double first = run(i);
        double once = first > too_slow ? first : run(i); // without what the first call alone has to do
        // A call that was held up would make its way one of single calls, which take longer than those of a stretch.
        for (int more = 0; more < 3 && once < too_slow / 10; ++more) once = std::min(once, run(i));
        if (i == 0) first_way = once;
        only_once[i] = once > too_slow || (once > least_slow && once > far_slower * first_way);
        iterations[i] = shaped_ ? 1 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(stretch_seconds_ / once));
        if (only_once[i]) times[i].push_back(once);
    }
    for (int repetition = 0; repetition < repetitions_; ++repetition)
        for (std::size_t turn = 0; turn < ways.size(); ++turn) {
            const std::size_t i = repetition % 2 == 0 ? turn : ways.size() - 1 - turn;
            if (!only_once[i]) times[i].push_back(run(i));
        }
    return times;
}

std::optional<StridedTimes> StridedBench::measure(const StridedCell& cell, const Beside& beside) {
    if (cell.extent() > most_extent_) {
        ++left_out_;
        return {};
    }
    std::optional<StridedTimes> result;
    runtime_.barrier();
    if (context_.rank() == 0) {
        result.emplace();
        result->repetitions = repetitions_;
        const Layout here = cell.here();
        const Layout there = cell.there();
        const auto plan_with = [&](const PlanOptions& options) {
            return cell.get ? Plan::get(window_, route_.target, Offset{0}, there, here, options)
                            : Plan::put(window_, here, route_.target, Offset{0}, there, options);
        };
        const auto plan_of = [&](Strategy strategy) { return plan_with({.strategy = strategy}); };
        std::vector<Plan> plans;
        std::vector<std::string> labels; // of the last plans, if not their strategies
        plans.push_back(plan_of(Strategy::automatic));
        result->strategy = name(plans.front().strategy());
        result->predicted = plans.front().predicted_seconds();
        // Millions of operations say nothing that ten thousands do not.
        constexpr std::uint64_t most_operations = 65536;
        if (cell.blocks() <= most_operations) plans.push_back(plan_of(Strategy::per_block));
        plans.push_back(plan_of(Strategy::full_pack));
        if (beside.pipelines) {
            plans.push_back(plan_of(Strategy::fixed_pipeline));
            plans.push_back(plan_of(Strategy::superpipeline));
            plans.push_back(plan_of(route_.path == Path::direct ? Strategy::direct_copy : Strategy::owner_packed));
        }
        const std::size_t first_label = plans.size();
        if (beside.paper) {
            constexpr std::uint64_t chunk = 20 * 1024;
            plans.push_back(plan_with(
                {.strategy = Strategy::fixed_pipeline, .first_chunk = chunk, .growth = 1, .largest_chunk = chunk}));
            labels.emplace_back("FP(20 KB)");
            plans.push_back(plan_with({.strategy = Strategy::superpipeline, .first_chunk = chunk, .growth = 1.3}));
            labels.emplace_back("SP(20 KB, 1.3)");
        }
        std::vector<std::function<void()>> ways;
        for (Plan& plan : plans)
            ways.emplace_back([this, &plan, get = cell.get] {
                if (get) return plan.execute(static_cast<void*>(memory_.data()));
                plan.execute(static_cast<const void*>(memory_.data()));
                window_.flush(route_.target);
            });
        const std::uint64_t packed_bytes = beside.parts ? cell.bytes() : 0;
        const detail::support::AlignedMemory buffer =
            detail::support::allocate_zeroed(packed_bytes); // as those of plans
        const std::span packed{buffer.get(), packed_bytes};
        if (beside.parts) {
            ways.emplace_back([&] {
                LayoutCursor cursor{here};
                if (cell.get) detail::datatype::unpack(memory_.data(), cursor, packed.data(), cell.bytes());
                else detail::datatype::pack(packed.data(), memory_.data(), cursor, cell.bytes());
                keep(packed.front());
            });
            ways.emplace_back([&] {
                if (cell.get) return window_.get_bytes(route_.target, Offset{0}, packed);
                window_.put_bytes(route_.target, Offset{0}, packed);
                window_.flush(route_.target);
            });
        }
        const bool raw = beside.raw && raw_window_.has_value() && cell.blocks() <= most_operations;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        if (raw) {
            type = mpi_type_of(cell);
            ways.emplace_back([&] {
                const int count = cell.target_strided ? 1 : static_cast<int>(cell.bytes());
                const MPI_Datatype there_type = cell.target_strided ? type : MPI_BYTE;
                if (cell.get)
                    MPI_Get(memory_.data(), 1, type, route_.target.value, 0, count, there_type, raw_window_->handle());
                else MPI_Put(memory_.data(), 1, type, route_.target.value, 0, count, there_type, raw_window_->handle());
                raw_window_->flush(route_.target.value);
            });
        }
        std::vector<std::vector<double>> all = times(ways);
        // The planned transfer and the strategy that it chose do the same, which has been measured twice.
        std::vector<double> planned = all[0];
        const auto like_planned = [&](std::size_t i) { return same_steps(plans[i], plans.front(), cell.blocks()); };
        for (std::size_t i = 1; i < plans.size(); ++i)
            if (like_planned(i)) planned.insert(planned.end(), all[i].begin(), all[i].end());
        for (std::size_t i = 0; i < plans.size(); ++i)
            if (like_planned(i)) all[i] = planned;
        result->planned = median(all[0]);
        for (std::size_t i = 1; i < plans.size(); ++i)
            result->forced.push_back(
                {i < first_label ? std::string{name(plans[i].strategy())} : labels[i - first_label], median(all[i])});
        if (beside.parts) {
            result->packing = median(all[plans.size()]);
            result->wire = median(all[plans.size() + 1]);
        }
        if (raw) {
            result->raw = median(all.back());
            MPI_Type_free(&type);
        }
    }
    runtime_.barrier();
    return result;
}

} // namespace lapwing::bench
