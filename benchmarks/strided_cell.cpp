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

/// Millions of operations say nothing that ten thousands do not.
constexpr std::uint64_t most_operations = 65536;

/// Each block somewhere in its stride: in order, without overlap.
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

/// Whether two plans of a transfer of `blocks` blocks do the same. Plans that pack do if they have the same chunks, and
/// then their predictions are equal to the last digit. A single block of one chunk is one put, packed or not.
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
    // A way that takes long, or is far slower than the first, is measured once: it is not the best.
    constexpr double too_slow = 0.3;
    constexpr double far_slower = 10;
    constexpr double least_slow = 1e-3;
    std::vector<bool> only_once(ways.size());
    double first_way = 0;
    const auto run = [&](std::size_t i) {
        // The token bucket of a shaped link fills while nothing is sent. The pause lets each way start with a full one.
        if (shaped_) std::this_thread::sleep_for(std::chrono::milliseconds{5});
        // A few calls alone would be measured with the processor's caches as another way has left them.
        else if (iterations[i] < 4) ways[i]();
        const Stopwatch watch;
        for (std::uint64_t n = 0; n < iterations[i]; ++n) ways[i]();
        return watch.seconds() / static_cast<double>(iterations[i]);
    };
    for (std::size_t i = 0; i < ways.size(); ++i) {
        const double first = run(i);
        double once = first > too_slow ? first : run(i); // the first call has extra work
        // A single call that was held up would make the stretches too short.
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

std::vector<StridedBench::NamedPlan> StridedBench::plans_of(const StridedCell& cell, const Beside& beside) {
    const Layout here = cell.here();
    const Layout there = cell.there();
    std::vector<NamedPlan> plans;
    const auto add = [&](std::string_view label, const PlanOptions& options) {
        Plan plan = cell.get ? Plan::get(window_, route_.target, Offset{0}, there, here, options)
                             : Plan::put(window_, here, route_.target, Offset{0}, there, options);
        std::string called{label.empty() ? name(plan.strategy()) : label};
        plans.push_back({.name = std::move(called), .plan = std::move(plan)});
    };
    const auto add_strategy = [&](Strategy strategy) { add("", {.strategy = strategy}); };
    add_strategy(Strategy::automatic);
    if (cell.blocks() <= most_operations) add_strategy(Strategy::per_block);
    add_strategy(Strategy::full_pack);
    if (beside.pipelines) {
        add_strategy(Strategy::fixed_pipeline);
        add_strategy(Strategy::superpipeline);
        add_strategy(route_.path == Path::direct ? Strategy::direct_copy : Strategy::owner_packed);
        if (cell.get && route_.path == Path::rma) add_strategy(Strategy::sieved);
    }
    if (beside.paper) {
        constexpr std::uint64_t chunk = 20 * 1024;
        add("FP(20 KB)",
            {.strategy = Strategy::fixed_pipeline, .first_chunk = chunk, .growth = 1, .largest_chunk = chunk});
        add("SP(20 KB, 1.3)", {.strategy = Strategy::superpipeline, .first_chunk = chunk, .growth = 1.3});
    }
    return plans;
}

void StridedBench::execute(Plan& plan, bool get) {
    if (get) return plan.execute(static_cast<void*>(memory_.data()));
    plan.execute(static_cast<const void*>(memory_.data()));
    window_.flush(route_.target);
}

void StridedBench::pack_or_unpack(const StridedCell& cell, const Layout& here, std::span<std::byte> packed) {
    LayoutCursor cursor{here};
    if (cell.get) detail::datatype::unpack(memory_.data(), cursor, packed.data(), packed.size());
    else detail::datatype::pack(packed.data(), memory_.data(), cursor, packed.size());
    keep(packed.front());
}

void StridedBench::transfer_contiguous(const StridedCell& cell, std::span<std::byte> packed) {
    if (cell.get) return window_.get(route_.target, Offset{0}, packed);
    window_.put(route_.target, Offset{0}, packed);
    window_.flush(route_.target);
}

void StridedBench::transfer_raw(const StridedCell& cell, MPI_Datatype type) {
    const int count = cell.target_strided ? 1 : static_cast<int>(cell.bytes());
    const MPI_Datatype there_type = cell.target_strided ? type : MPI_BYTE;
    if (cell.get) MPI_Get(memory_.data(), 1, type, route_.target.value, 0, count, there_type, raw_window_->handle());
    else MPI_Put(memory_.data(), 1, type, route_.target.value, 0, count, there_type, raw_window_->handle());
    raw_window_->flush(route_.target.value);
}

StridedTimes StridedBench::measure_all(const StridedCell& cell, const Beside& beside) {
    std::vector<NamedPlan> plans = plans_of(cell, beside);
    StridedTimes result;
    result.repetitions = repetitions_;
    result.strategy = plans.front().name;
    result.predicted = plans.front().plan.predicted_seconds();
    std::vector<std::function<void()>> ways;
    ways.reserve(plans.size() + 2);
    for (NamedPlan& named : plans)
        ways.emplace_back([this, &plan = named.plan, get = cell.get] { execute(plan, get); });
    const std::uint64_t packed_bytes = beside.parts ? cell.bytes() : 0;
    const detail::support::AlignedMemory buffer = detail::support::allocate_zeroed(packed_bytes); // as those of plans
    const std::span packed{buffer.get(), packed_bytes};
    const Layout here = cell.here();
    if (beside.parts) {
        ways.emplace_back([&] { pack_or_unpack(cell, here, packed); });
        ways.emplace_back([&] { transfer_contiguous(cell, packed); });
    }
    const bool raw = beside.raw && raw_window_.has_value() && cell.blocks() <= most_operations;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (raw) {
        type = mpi_type_of(cell);
        ways.emplace_back([&] { transfer_raw(cell, type); });
    }
    std::vector<std::vector<double>> all = times(ways);
    // The planned transfer and a strategy with the same steps have been measured twice: all their times count for both.
    std::vector<double> planned;
    const auto like_planned = [&](std::size_t i) {
        return i == 0 || same_steps(plans[i].plan, plans.front().plan, cell.blocks());
    };
    for (std::size_t i = 0; i < plans.size(); ++i)
        if (like_planned(i)) planned.insert(planned.end(), all[i].begin(), all[i].end());
    for (std::size_t i = 0; i < plans.size(); ++i)
        if (like_planned(i)) all[i] = planned;
    result.planned = median(all[0]);
    for (std::size_t i = 1; i < plans.size(); ++i) result.forced.push_back({plans[i].name, median(all[i])});
    if (beside.parts) {
        result.packing = median(all[plans.size()]);
        result.wire = median(all[plans.size() + 1]);
    }
    if (raw) {
        result.raw = median(all.back());
        MPI_Type_free(&type);
    }
    return result;
}

std::optional<StridedTimes> StridedBench::measure(const StridedCell& cell, const Beside& beside) {
    if (cell.extent() > most_extent_) {
        ++left_out_;
        return {};
    }
    std::optional<StridedTimes> result;
    runtime_.barrier();
    if (context_.rank() == 0) result = measure_all(cell, beside);
    runtime_.barrier();
    return result;
}

} // namespace lapwing::bench
