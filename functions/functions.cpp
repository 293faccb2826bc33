#include "functions/functions.hpp"

#include "src/support/first_problem.hpp"
#include "src/support/type_text.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/functions/calls.hpp>
#include <lapwing/error.hpp>
#include <lapwing/team.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace lapwing::detail::functions {

Functions::Functions(team::TeamState& team) : team_{team} {
    messages::Engine& engine = team_.engine();
    engine.register_handler(post_handler,
                            [this](int origin, std::span<const std::byte> bytes) { owner_.run_posts(origin, bytes); });
    engine.register_handler(ask_handler, [this](int origin, std::span<const std::byte> bytes,
                                                std::span<std::byte> answer) { return on_ask(origin, bytes, answer); });
    engine.register_handler(deposit_handler,
                            [this](int origin, std::span<const std::byte> bytes) { on_deposit(Rank{origin}, bytes); });
    engine.register_handler(result_handler, [this](int, std::span<const std::byte> bytes) { on_result(bytes); });
    engine.register_handler(fence_handler, [this](int origin, std::span<const std::byte>, std::span<std::byte> answer) {
        const FailedPosts failed = owner_.take_failed(origin);
        if (answer.size() == sizeof failed) std::memcpy(answer.data(), &failed, sizeof failed);
        return true;
    });
    engine.register_handler(relay_handler, [this](int origin, std::span<const std::byte> bytes) {
        relay_.on_message(Rank{origin}, bytes);
    });
    engine.register_handler(relayed_handler, [this](int origin, std::span<const std::byte> bytes) {
        relay_.on_answer(Rank{origin}, bytes);
    });
}

void Functions::on_progress() {
    relay_.on_progress();
    outbox_.send_on();
}

bool Functions::on_ask(Rank origin, std::span<const std::byte> bytes, std::span<std::byte> answer) {
    AskHead head;
    Answer status;
    if (bytes.size() < sizeof head || answer.size() < sizeof status)
        throw Error{
            fmt::format("{} bytes are no call of a function with an answer of {}", bytes.size(), answer.size())};
    std::memcpy(&head, bytes.data(), sizeof head);
    std::vector<std::byte> deposited;
    std::span<const std::byte> arguments = bytes.subspan(sizeof head);
    if (head.deposited != 0) {
        const auto found = deposited_.find({origin.value, head.token});
        if (found == deposited_.end() || head.for_program != 0)
            throw Error{fmt::format("the arguments of a call of rank {} have not come before it", origin.value)};
        deposited = std::move(found->second);
        deposited_.erase(found);
        arguments = deposited;
    }
    status.kind = Answer::late;
    if (head.for_program != 0) {
        // With several hops an origin whose requests wait would hold up other ranks' calls.
        if (relay_.route().hops() > 1) owner_.keep_all(origin, head, arguments);
        else if (!owner_.keep(origin, head, arguments)) return false;
    } else {
        results_.clear();
        const Outcome outcome = owner_.run(head, arguments, results_);
        const std::span<const std::byte> result = results_.bytes();
        if (outcome.failed == 0 && result.size() <= answer.size() - sizeof status) {
            status = {.kind = Answer::here, .bytes = static_cast<std::uint32_t>(result.size())};
            std::ranges::copy(result, answer.begin() + sizeof status);
        } else {
            send_outcome(origin, head.token, outcome, results_);
        }
    }
    std::memcpy(answer.data(), &status, sizeof status);
    return true;
}

void Functions::on_deposit(Rank origin, std::span<const std::byte> bytes) {
    const auto token = ByteReader{bytes}.read<std::uint64_t>();
    deposited_[{origin.value, token}].assign(bytes.begin() + sizeof token, bytes.end());
}

void Functions::on_result(std::span<const std::byte> bytes) {
    ResultHead head;
    if (bytes.size() < sizeof head) throw Error{fmt::format("{} bytes are no result of a function", bytes.size())};
    std::memcpy(&head, bytes.data(), sizeof head);
    const std::span<const std::byte> result = bytes.subspan(sizeof head);
    if (head.unknown == 0) return caller_.deliver(head.token, head.failed != 0, result);
    const std::string text =
        text_of_failure({reinterpret_cast<const char*>(result.data()), result.size()}, head.unknown);
    caller_.deliver(head.token, true, std::as_bytes(std::span{text}));
}

void Functions::send_outcome(Rank origin, std::uint64_t token, const Outcome& outcome, const ByteWriter& results) {
    if (outcome.failed == 0) return send_result(origin, {.token = token}, results.bytes());
    const std::uint64_t limit = team_.engine().inline_limit() - sizeof(ResultHead);
    const auto text = std::as_bytes(std::span{outcome.text});
    send_result(origin, {.token = token, .failed = 1, .unknown = outcome.unknown},
                text.first(std::min<std::size_t>(text.size(), limit)));
}

void Functions::send_result(Rank origin, const ResultHead& head, std::span<const std::byte> bytes) {
    if (origin == team_.rank()) return caller_.deliver(head.token, head.failed != 0, bytes);
    std::vector<std::byte> message(sizeof head + bytes.size());
    std::memcpy(message.data(), &head, sizeof head);
    std::ranges::copy(bytes, message.begin() + sizeof head);
    outbox_.send(origin, [this, origin, outgoing = std::make_shared<Outgoing>(std::move(message))] {
        return outbox_.try_call(origin, result_handler, outgoing);
    });
}

void Functions::run_for_program() {
    // One at a time: neither beside another thread's, nor in a wait of one of them.
    if (running_for_program_.exchange(true, std::memory_order_acquire)) return;
    struct End {
        std::atomic<bool>& running;
        ~End() { running.store(false, std::memory_order_release); }
    } const end{running_for_program_};
    messages::Engine& engine = team_.engine();
    for (;;) {
        std::optional<OwnerSide::Waiting> call;
        {
            const std::lock_guard guard{engine.mutex()};
            call = owner_.next();
        }
        if (!call) break;
        ByteWriter results;
        const Outcome outcome = owner_.run(*call, results);
        owner_.count_finished(call->head.count);
        const std::lock_guard guard{engine.mutex()};
        send_outcome(call->origin, call->head.token, outcome, results);
    }
}

// ---- what programs call ---------------------------------------------------------------------------------------------

namespace {

[[nodiscard]] bool in_progress() noexcept {
    return team::running_function.where == team::RunningFunction::Where::progress;
}

/// Before a call: checks it, and has it come after what it conflicts with.
[[nodiscard]] Functions& begin(const Destination& to, const char* type, std::size_t bytes) {
    team::TeamState& team = to.team.state();
    Functions& functions = Functions::of(team);
    functions.caller().require_rank(to);
    functions.caller().require_room(to, type, bytes, to.where == Where::program);
    if (functions.owner().runs_here()) return functions; // it cannot wait for what conflicts
    team::refuse_in_function(team, to.call);             // of another team
    team.require_open(to.call);
    team.check_reachable(to.call, to.target);
    if (to.window != nullptr && to.window->state().map().base(to.target) == nullptr)
        (void)to.window->state().order().begin(
            {to.target, to.offset, to.bytes, transport::Access::Kind::update, to.call});
    return functions;
}

/// Copies of what a function may have changed are read again.
void invalidate(const Destination& to) {
    if (to.window != nullptr) to.window->state().order().copies().invalidated(to.target, to.offset, to.bytes);
}

[[nodiscard]] std::uint64_t number_of(const Destination& to) {
    return to.window == nullptr ? no_window : to.window->state().number();
}

} // namespace

void post(const Destination& to, const FunctionEntry& function, const ByteWriter& arguments) {
    const std::span<const std::byte> bytes = arguments.bytes();
    const bool for_program = to.where == Where::program;
    CallerSide& caller = begin(to, function.type(), sizeof(AskHead) + bytes.size()).caller();
    const std::uint64_t window = number_of(to);
    if (for_program) {
        const AskHead head{.function = function.number(), .window = window, .count = 1, .for_program = 1};
        if (in_progress()) caller.ask_later(to, head, bytes);
        else caller.keep(caller.ask(to, head, bytes, 0));
        return;
    }
    const RunHead head{
        .function = function.number(), .window = window, .count = 1, .bytes = static_cast<std::uint32_t>(bytes.size())};
    ByteWriter message;
    std::memcpy(message.grow(sizeof head), &head, sizeof head);
    std::ranges::copy(bytes, message.grow(bytes.size()));
    caller.post(to, message.bytes(), 1);
    if (!in_progress()) invalidate(to);
}

std::unique_ptr<PendingCall> ask(const Destination& to, const FunctionEntry& function, const ByteWriter& arguments,
                                 std::size_t result_bytes) {
    const std::span<const std::byte> bytes = arguments.bytes();
    team::refuse_in_function(to.team.state(), to.call);
    CallerSide& caller = begin(to, function.type(), sizeof(AskHead) + bytes.size()).caller();
    const AskHead head{.function = function.number(),
                       .window = number_of(to),
                       .count = 1,
                       .for_program = to.where == Where::program ? 1U : 0U};
    auto asked = caller.ask(to, head, bytes, messages::padded(result_bytes));
    invalidate(to);
    return asked;
}

void require_rank(Team& team, Rank target, const char* call) {
    Functions::of(team.state()).caller().require_rank({.team = team, .target = target, .call = call});
}

void quiesce(Team& team) {
    team::TeamState& state = team.state();
    Functions& functions = Functions::of(state);
    state.require_open("Team::quiesce");
    team::refuse_collective_in_function(state, "Team::quiesce");
    std::int64_t finished_before = -1;
    for (;;) {
        state.epoch().functions().send_gathered();
        state.progress(); // a rank alone makes none in the sum
        state.epoch().functions().serve_program();
        // What has finished first: whatever it called has been counted as begun before.
        std::array<std::int64_t, 2> sums{};
        sums[0] = static_cast<std::int64_t>(functions.owner().finished());
        sums[1] = static_cast<std::int64_t>(functions.caller().begun());
        team.sum(std::span<std::int64_t>{sums});
        if (sums[1] == finished_before) break;
        finished_before = sums[0];
    }
    support::attempt_all([&] { state.epoch().release(); }, [&] { state.epoch().acquire(); });
}

} // namespace lapwing::detail::functions
