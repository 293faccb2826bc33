#include <lapwing/plan.hpp>

#include "datatype/block_copy.hpp"
#include "model/calibration.hpp"
#include "model/team_costs.hpp"
#include "pipeline/planned_transfer.hpp"
#include "pipeline/production.hpp"
#include "src/support/device_memory.hpp"
#include "src/support/rank_check.hpp"
#include "window/advised_windows.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/config.hpp>
#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace lapwing::detail::support::settings_in {
void pipeline_plan() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing {
namespace {

constexpr std::array<detail::support::Word<Strategy>, 8> strategy_words{{{"auto", Strategy::automatic},
                                                                         {"per-block", Strategy::per_block},
                                                                         {"full-pack", Strategy::full_pack},
                                                                         {"fixed-pipeline", Strategy::fixed_pipeline},
                                                                         {"superpipeline", Strategy::superpipeline},
                                                                         {"direct-copy", Strategy::direct_copy},
                                                                         {"served", Strategy::served},
                                                                         {"sieved", Strategy::sieved}}};
[[gnu::init_priority(
    detail::support::before_programs)]] const detail::support::ChoiceSetting<Strategy> strategy_setting{
    {.name = "LAPWING_STRATEGY",
     .default_value = "auto",
     .unit = "",
     .help = "how non-contiguous transfers travel where the program leaves it open; auto: as the cost model says"},
    {strategy_words.begin(), strategy_words.end()}};
[[gnu::init_priority(detail::support::before_programs)]] const detail::support::NumberSetting memory_setting{
    {.name = "LAPWING_CHUNK_MEMORY",
     .default_value = "64m",
     .unit = "bytes",
     .help = "most memory for packed chunks of non-contiguous transfers, a runtime",
     .choices = {}},
    4096,
    std::uint64_t{1} << 40};

/// Whether a rank on this path can be reached by it. If not, the setting is ignored, and an option is refused.
bool possible(Strategy strategy, Path path, detail::pipeline::Direction direction) {
    const bool mapped = detail::pipeline::is_mapped(path);
    switch (strategy) {
    case Strategy::direct_copy: return mapped;
    case Strategy::owner_packed: return !mapped;
    case Strategy::sieved: return !mapped && direction == detail::pipeline::Direction::get;
    default: return true;
    }
}

} // namespace

std::string_view name(Strategy strategy) { return detail::support::word_of(strategy_words, strategy); }

namespace detail::pipeline {

Layout layout_in_part(const window::WindowState& window, const char* call, Rank rank, Offset offset,
                      const Layout& layout) {
    // The part's size is below 2^63, so an offset beyond it is outside for any layout.
    const std::uint64_t size = window.map().bytes(rank);
    const bool inside = layout.empty()
                            ? offset.bytes <= size
                            : offset.bytes <= size && layout.lower() >= -static_cast<std::int64_t>(offset.bytes) &&
                                  layout.upper() <= static_cast<std::int64_t>(size - offset.bytes);
    if (!inside)
        throw RangeError{
            fmt::format("{}: the layout touches bytes [{}, {}) from offset {} of rank {}, outside of its part of {} "
                        "bytes; stay within Window::size(rank)",
                        window.who(call), layout.lower(), layout.upper(), support::text_of(offset), rank.value, size)};
    return layout.shift(static_cast<std::int64_t>(offset.bytes));
}

namespace {

const char* call_name(Direction direction) { return direction == Direction::put ? "put" : "get"; }

} // namespace

namespace {

/// By LAPWING_STRATEGY, or else by LAPWING_ADVICE.
[[nodiscard]] Strategy set_strategy(window::WindowState& window) {
    const Settings& settings = window.team_state().settings();
    const Strategy set = strategy_setting.get(settings);
    if (!window::AdvisedWindows::any() || settings.origin(strategy_setting.info().name) != "default") return set;
    const window::AdvisedWindow* const advice =
        window::advice_for(window.team_state(), window.facts().name, window.number());
    if (advice == nullptr || advice->strategy.empty()) return set;
    const auto found = std::ranges::find(strategy_words, advice->strategy, &detail::support::Word<Strategy>::word);
    return found == strategy_words.end() ? set : found->value;
}

} // namespace

bool may_be_owner_packed(window::WindowState& window, Rank rank, Serving serving) {
    const Path path = window.facts().path(rank);
    return path == Path::service ||
           (path == Path::rma &&
            (serving == Serving::in_call || window.team_state().paths().progress == ProgressMode::thread));
}

PlanState::PlanState(window::WindowState& window_, Direction direction_, const Layout& local_, Rank rank_,
                     Offset offset, const Layout& remote_, const PlanOptions& options_, Serving serving)
    : window{window_},
      direction{direction_},
      local{local_},
      remote{layout_in_part(window, call_name(direction_), rank_, offset, remote_)},
      rank{rank_},
      path{window.facts().path(rank_)},
      mapped{is_mapped(path) ? window.map().base(rank) : nullptr},
      options{[&] {
          PlanOptions chosen = options_;
          if (chosen.strategy == Strategy::automatic) {
              const auto set = set_strategy(window);
              if (possible(set, path, direction)) chosen.strategy = set;
          }
          return chosen;
      }()},
      pool{window.team_state().part<ChunkPool>()},
      decisions{window.team_state().part<RememberedDecisions>()},
      costs{model::TeamCosts::of(window.facts().team).model()},
      memory_limit{memory_setting.get(window.team_state().settings())},
      life_{window.facts().life} {
    check();
    shape = {.direction = direction,
             .path = path,
             .bytes = local.bytes(),
             .local = shape_of(local),
             .remote = shape_of(remote),
             .most_memory = memory_limit / 2, // another transfer may be under way
             .table_limit = window.team_state().engine().inline_limit()};
    if (pipeline::may_be_owner_packed(window, rank, serving)) {
        shape.may_be_owner_packed = true;
        shape.table_share = table_share(remote);
    }
    // Where there is something to decide.
    const bool open = options.strategy == Strategy::automatic || options.strategy == Strategy::sieved;
    if (shape.pairs() > 1 && open) model::calibrate(window, rank.value);
    refresh();
}

void PlanState::check() const {
    const char* const call = call_name(direction);
    if (local.bytes() != remote.bytes())
        throw RangeError{
            fmt::format("{}: the local layout has {} bytes and the one at rank {} has {}; they must be equal",
                        window.who(call), local.bytes(), rank.value, remote.bytes())};
    if (!possible(options.strategy, path, direction)) {
        if (options.strategy == Strategy::sieved && direction == Direction::put)
            throw UsageError{fmt::format("{}: the strategy sieved fetches what lies between the blocks, which a put "
                                         "must not write; it is for gets, leave the strategy open",
                                         window.who(call))};
        throw UsageError{fmt::format(
            "{}: the strategy {} needs memory that is {}, and rank {} is reached by the path {}; leave the "
            "strategy open",
            window.who(call), name(options.strategy),
            options.strategy == Strategy::direct_copy ? "mapped here" : "not mapped here", rank.value, name(path))};
    }
    if (window.team_state().synchronisation().checks() >= 2) {
        const Layout& target = direction == Direction::put ? remote : local;
        if (target.overlaps())
            throw UsageError{
                fmt::format("{}: blocks of the target overlap ({}), so that the result depends on which is written "
                            "last; give each byte once",
                            window.who(call), to_string(target))};
    }
}

void PlanState::refresh() {
    window.require_memory(call_name(direction));
    const std::uint64_t now = costs.version();
    if (now == version) return;
    version = now;
    // Where messages pack, what lies between the blocks need not travel.
    const bool may_be_sieved = options.strategy == Strategy::automatic && path == Path::rma &&
                               direction == Direction::get && shape.remote.blocks > 1;
    if (may_be_sieved || options.strategy == Strategy::sieved)
        shape.sieve = sieve_for(remote, costs.transfers(path, direction, shape.bytes));
    decision = decisions.decide(costs, shape, options);
}

void PlanState::notify_written(const std::byte* memory) const {
    window.order().copies().written(rank, remote, local, memory);
}
void PlanState::notify_invalidated() const { window.order().copies().invalidated(rank, remote); }

Decision PlanState::produced() const {
    TransferShape produced = shape;
    produced.produced = true;
    return decisions.decide(costs, produced, options);
}

void PlanState::require_open(const char* call) const {
    if (is_closed())
        throw UsageError{
            fmt::format("Plan::{}: the window of the plan ({} bytes, {} rank {}) is closed; make a plan for "
                        "one that is open, and execute it before the window is closed",
                        call, shape.bytes, direction == Direction::put ? "to" : "from", rank.value)};
    window.require_memory(call);
}

std::string PlanState::explain() const {
    require_open("explain");
    const auto time = [](double seconds) {
        return seconds < 1e-3 ? fmt::format("{:.1f} us", 1e6 * seconds) : fmt::format("{:.2f} ms", 1e3 * seconds);
    };
    std::string text = fmt::format("{} of {} bytes, rank {} by path {}\n  here: {}\n  there: {}\n", name(direction),
                                   shape.bytes, rank.value, name(path), to_string(local), to_string(remote));
    text += fmt::format("strategy: {}{}, {} predicted ({})\n", name(decision.strategy),
                        options.strategy == Strategy::automatic ? "" : " (forced)", time(decision.seconds),
                        name(costs.source(path, direction)));
    if (decision.strategy == Strategy::per_block) {
        text += fmt::format("  about {} operations of {} bytes\n", shape.pairs(),
                            shape.bytes / std::max<std::uint64_t>(shape.pairs(), 1));
    } else if (decision.strategy == Strategy::sieved) {
        text +=
            fmt::format("  about {:.0f} operations, for blocks with at most {} bytes between them; {:.0f} % of what "
                        "they fetch is used\n",
                        shape.sieve.operations, shape.sieve.gap,
                        std::min(100.0, 100 * static_cast<double>(shape.bytes) / shape.sieve.bytes));
    } else if (decision.strategy != Strategy::direct_copy) {
        std::uint64_t count = 0;
        std::uint64_t previous = 0;
        std::string sizes;
        for (std::uint64_t left = shape.bytes; left > 0; left -= previous, ++count) {
            previous = decision.chunks.next(left, previous);
            if (count < 8) sizes += fmt::format(" {}", previous);
            else if (count == 8) sizes += " …";
        }
        text += fmt::format("  {} chunks in {} buffers of {} bytes:{}\n", count, decision.slots,
                            decision.chunks.largest, sizes);
        if (decision.strategy == Strategy::superpipeline)
            text += fmt::format("  each {} times the one {}\n", decision.chunks.growth,
                                decision.chunks.shrinking ? "after it" : "before it");
    }
    if (decision.alternative_count > 1) text += "not taken:\n";
    for (std::size_t i = 0; i < decision.alternative_count; ++i)
        if (decision.alternatives[i].strategy != decision.strategy)
            text += fmt::format("  {}: {} predicted\n", name(decision.alternatives[i].strategy),
                                time(decision.alternatives[i].seconds));
    return text;
}

} // namespace detail::pipeline

using detail::pipeline::Direction;
using detail::pipeline::finish_earlier;
using detail::pipeline::PlannedTransfer;
using detail::pipeline::PlanState;

Plan::Plan(std::shared_ptr<PlanState> state) noexcept : state_{std::move(state)} {}
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

namespace {

[[nodiscard]] std::shared_ptr<PlanState> checked_plan(Window& window, Direction direction, const Layout& local,
                                                      Rank rank, Offset offset, const Layout& remote,
                                                      const PlanOptions& options) {
    (void)window.size(rank); // throws for a closed window, and for a rank that it has not
    return std::make_shared<PlanState>(window.state(), direction, local, rank, offset, remote, options);
}

} // namespace

Plan Plan::put(Window& window, const Layout& source, Rank rank, Offset offset, const Layout& target,
               const PlanOptions& options) {
    return Plan{checked_plan(window, Direction::put, source, rank, offset, target, options)};
}

Plan Plan::get(Window& window, Rank rank, Offset offset, const Layout& source, const Layout& destination,
               const PlanOptions& options) {
    return Plan{checked_plan(window, Direction::get, destination, rank, offset, source, options)};
}

namespace {

/// Memory that is mapped here: done at once.
void copy_directly(PlanState& plan, std::byte* memory) {
    const bool put = plan.direction == Direction::put;
    if (put) detail::datatype::copy(plan.mapped, plan.remote, memory, plan.local);
    else detail::datatype::copy(memory, plan.local, plan.mapped, plan.remote);
    plan.window.statistics().add(put ? Counter::direct_put_bytes : Counter::direct_get_bytes, plan.shape.bytes);
}

void require_target(const PlanState& plan, const char* call) {
    plan.require_open(call);
    if (plan.direction == Direction::get)
        throw UsageError{fmt::format("{}: a get needs memory that it may write; pass memory that is not const",
                                     plan.window.who("get"))};
}

template <class Byte>
void require_within(const PlanState& plan, std::span<Byte> memory) {
    plan.require_open("execute");
    if (plan.local.empty() ||
        (plan.local.lower() >= 0 && static_cast<std::uint64_t>(plan.local.upper()) <= memory.size()))
        return;
    throw RangeError{
        fmt::format("{}: the local layout touches bytes [{}, {}), outside of the {} bytes of memory; pass memory that "
                    "holds them all",
                    plan.window.who(detail::pipeline::call_name(plan.direction)), plan.local.lower(),
                    plan.local.upper(), memory.size())};
}

/// The beginning of every execution. True if that was all, since the memory is copied directly.
bool begin_execution(PlanState& plan, std::byte* memory) {
    plan.refresh();
    finish_earlier(plan);
    if (plan.decision.strategy != Strategy::direct_copy) return false;
    copy_directly(plan, memory);
    return true;
}

void carry_out(const std::shared_ptr<PlanState>& plan, std::byte* memory) {
    if (begin_execution(*plan, memory)) return;
    const auto begin = std::chrono::steady_clock::now();
    const double predicted = plan->decision.seconds;
    PlannedTransfer transfer{plan, memory};
    transfer.wait();
    // A put is not complete at the owner yet, while its prediction includes that: only gets can be compared, and only
    // if the wire takes most of the time. Where blocks were not looked at, nobody knew how much a sieved one fetches.
    const bool sieved = plan->decision.strategy == Strategy::sieved;
    if (plan->mapped == nullptr && plan->direction == Direction::get && transfer.as_planned() &&
        (!sieved || plan->shape.sieve.exact) && 2 * plan->decision.wire_seconds >= predicted)
        plan->costs.observe(plan->decision.strategy == Strategy::owner_packed ? Path::service : plan->path,
                            sieved ? static_cast<std::uint64_t>(plan->shape.sieve.bytes) : plan->shape.bytes, predicted,
                            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

void require_host_memory(const PlanState& plan, const void* memory) {
    detail::support::require_host_memory(
        memory, [&] { return plan.window.who(plan.direction == Direction::get ? "get" : "put"); });
}

void run(const std::shared_ptr<PlanState>& plan, std::byte* memory) {
    plan->require_open("execute");
    if (plan->shape.bytes == 0) return;
    require_host_memory(*plan, memory);
    carry_out(plan, memory);
    if (plan->direction == Direction::put) plan->notify_written(memory);
}

} // namespace

Completion detail::pipeline::start_past_cache(const std::shared_ptr<PlanState>& plan, std::byte* memory) {
    if (plan->shape.bytes == 0 || begin_execution(*plan, memory)) return {};
    auto transfer = std::make_unique<PlannedTransfer>(plan, memory);
    if (transfer->start()) return {};
    return Completion{std::move(transfer)};
}

Completion detail::pipeline::start_plan(const std::shared_ptr<PlanState>& plan, std::byte* memory) {
    if (plan->shape.bytes == 0) return {};
    require_host_memory(*plan, memory);
    // Transfers through a cache are not notified of chunks that come later.
    Completion completion;
    if (plan->window.cache() == nullptr) completion = start_past_cache(plan, memory);
    else carry_out(plan, memory);
    // Also of chunks not started yet: accesses to their bytes follow them from now on.
    if (plan->direction == Direction::put && plan->tells_copies) plan->notify_written(memory);
    return completion;
}

void Plan::execute(const void* memory) {
    require_target(*state_, "execute");
    run(state_, static_cast<std::byte*>(const_cast<void*>(memory))); // a put only reads it
}

void Plan::execute(void* memory) { run(state_, static_cast<std::byte*>(memory)); }

void Plan::execute(std::span<const std::byte> memory) {
    require_within(*state_, memory);
    execute(static_cast<const void*>(memory.data()));
}

void Plan::execute(std::span<std::byte> memory) {
    require_within(*state_, memory);
    execute(static_cast<void*>(memory.data()));
}

void Plan::execute_notify(const void* memory, unsigned counter) {
    state_->require_open("execute_notify");
    detail::window::WindowState& window = state_->window;
    window.notifications().check(counter, "put_notify");
    if (state_->direction == Direction::get)
        throw UsageError{
            fmt::format("{}: the plan is of a get, which tells its target nothing; make one with Plan::put",
                        window.who("put_notify"))};
    execute(memory);
    // Chunks and blocks may arrive in any order, and MPI's operations after any message.
    if (state_->mapped == nullptr) window.order().flush(state_->rank);
    window.notifications().put(state_->rank, 0, {}, counter);
}

Production Plan::produce(const void* memory) {
    state_->require_open("produce");
    require_host_memory(*state_, memory);
    return Production{
        std::make_unique<detail::pipeline::ProductionState>(state_, static_cast<const std::byte*>(memory))};
}

void Plan::execute_filled(std::uint64_t granule, const FillBytes& fill) {
    state_->require_open("execute_filled");
    detail::pipeline::execute_filled(state_, granule, fill);
}

Completion Plan::start(const void* memory) {
    require_target(*state_, "start");
    return start(const_cast<void*>(memory)); // a put only reads it
}

Completion Plan::start(void* memory) {
    state_->require_open("start");
    return detail::pipeline::start_plan(state_, static_cast<std::byte*>(memory));
}

Strategy Plan::strategy() const noexcept { return state_->decision.strategy; }
std::uint64_t Plan::bytes() const noexcept { return state_->shape.bytes; }
double Plan::predicted_seconds() const noexcept { return state_->decision.seconds; }
std::string Plan::explain() const { return state_->explain(); }

} // namespace lapwing
