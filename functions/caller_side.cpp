#include "functions/caller_side.hpp"

#include "src/support/first_problem.hpp"
#include "src/support/rank_check.hpp"
#include "src/support/type_text.hpp"

#include <lapwing/error.hpp>
#include <lapwing/functions.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace lapwing::detail::functions {
namespace {

/// Fences under way at a time, and posts for programs.
constexpr std::size_t most_fences = 64;
constexpr std::size_t most_kept = 1024;
/// Messages that functions have sent, which cannot wait, and for which there was no room.
constexpr std::size_t most_outbox_bytes = std::size_t{64} << 20;

/// A token: a slot, its generation, and in the highest bit whether the call is for the program.
constexpr std::uint64_t program_bit = std::uint64_t{1} << 63;
constexpr unsigned generation_shift = 32;
constexpr std::uint32_t last_generation = 0x7fffffff;

/// The message of an AskHead.
[[nodiscard]] std::vector<std::byte> message_of(const AskHead& head, std::span<const std::byte> arguments) {
    std::vector<std::byte> message(sizeof head + arguments.size());
    std::memcpy(message.data(), &head, sizeof head);
    if (!arguments.empty()) std::memcpy(message.data() + sizeof head, arguments.data(), arguments.size());
    return message;
}

/// Objects of the calling thread's that releases finish, of all teams; more if another thread has destroyed some.
thread_local int made_here = 0;

struct Fence {
    Rank target{};
    std::uint64_t posted = 0; ///< before it
    messages::Operation operation;
    FailedPosts answer;
};

} // namespace

CallerSide::~CallerSide() {
    for (const Named& named : named_)
        if (named.asked != nullptr) named.asked->caller_ = nullptr;
    for (const auto& asked : kept_) asked->caller_ = nullptr;
}

void CallerSide::require_rank(const Destination& to) const {
    support::require_rank(to.target, team_.size(), [&] { return fmt::format("{}: {}", team_.who(), to.call); });
}

void CallerSide::require_room(const Destination& to, const char* type, std::size_t bytes, bool for_program) const {
    const messages::Engine& engine = team_.engine();
    const std::uint64_t limit = for_program ? engine.inline_limit() : engine.largest_staged();
    if (bytes > limit)
        throw RangeError{fmt::format(
            "{}: {}: the arguments of {} for rank {} take {} bytes, of which {} fit into {}; pass where they are, in "
            "an array, instead of them{}",
            team_.who(), to.call, support::type_text(type), to.target.value, bytes, limit,
            for_program ? "a packet" : "a message", for_program ? ", or raise LAPWING_SERVICE_PACKET" : "")};
}

void CallerSide::require_room_to_keep(const char* call, std::size_t kept, std::size_t bytes) const {
    if (kept + bytes <= most_outbox_bytes) return;
    throw RangeError{
        fmt::format("{}: {}: {} bytes of calls that functions have made here wait to be sent, of at most {}; have the "
                    "function make fewer calls, or call it with Where::program, where it may wait",
                    team_.who(), call, kept, most_outbox_bytes)};
}

// ---- names ----------------------------------------------------------------------------------------------------------

void CallerSide::name(Asked& asked) {
    const std::uint32_t slot = named_.take();
    Named& named = named_[slot];
    named.asked = &asked;
    named.generation = named.generation == last_generation ? 1 : named.generation + 1; // a token is never 0
    asked.token_ = slot | std::uint64_t{named.generation} << generation_shift | (asked.for_program_ ? program_bit : 0);
    if (asked.for_program_) ++for_program_;
}

void CallerSide::deliver(std::uint64_t token, bool failed, std::span<const std::byte> bytes) {
    if ((token & program_bit) != 0 && for_program_ > 0) --for_program_;
    const std::uint32_t slot = static_cast<std::uint32_t>(token);
    if (slot >= named_.size()) return;
    Named& named = named_[slot];
    if (named.asked != nullptr && named.asked->token_ == token) named.asked->deliver(failed, bytes);
    update_under_way();
}

void CallerSide::forget(Asked& asked) noexcept {
    const std::lock_guard guard{team_.engine().mutex()};
    if (!asked.operation_.done()) team_.engine().locked().abandon(asked.operation_);
    if (asked.token_ == 0) return;
    const auto slot = static_cast<std::uint32_t>(asked.token_);
    named_[slot].asked = nullptr;
    named_.give_back(slot);
    asked.token_ = 0;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

void CallerSide::update_under_way() noexcept {
    under_way_.store(!posted_.empty() || !kept_.empty() || !kept_problem_.empty() || !batches_.empty() ||
                         for_program_ != 0 || relay_.under_way(),
                     std::memory_order_release);
}

void CallerSide::note_posted(Rank target) {
    ++posted_[target.value];
    under_way_.store(true, std::memory_order_release);
}

void CallerSide::post(const Destination& to, std::span<const std::byte> message, std::uint64_t calls,
                      messages::Operation* operation) {
    complete_relayed(to.call); // calls of one rank at another run in their order
    messages::Engine& engine = team_.engine();
    const bool here = to.target == team_.rank();
    const bool in_function = team::running_function.where == team::RunningFunction::Where::progress;
    if (in_function) require_room_to_keep(to.call, outbox_.kept_bytes(), message.size());
    begun_.fetch_add(calls, std::memory_order_acq_rel);
    std::shared_ptr<Outgoing> copy;
    if (in_function || (!here && operation == nullptr && message.size() > engine.inline_limit()))
        copy = std::make_shared<Outgoing>(std::vector<std::byte>(message.begin(), message.end()));
    if (in_function) {
        note_posted(to.target);
        return outbox_.keep(to.target, message.size(), [this, target = to.target, here, copy] {
            if (!here) return outbox_.try_call(target, post_handler, copy);
            owner_.run_posts(target, copy->message);
            return true;
        });
    }
    if (here) {
        const std::lock_guard guard{engine.mutex()};
        note_posted(to.target);
        return owner_.run_posts(to.target, message);
    }
    const auto try_post = [&] {
        if (copy != nullptr) return outbox_.try_call(to.target, post_handler, copy);
        if (operation == nullptr) return engine.locked().try_call(to.target, post_handler, message);
        return engine.locked().try_call(*operation, to.target, post_handler, message);
    };
    team_.wait_until(
        [&] {
            const std::lock_guard guard{engine.mutex()};
            if (outbox_.holds(to.target) || !try_post()) return false;
            note_posted(to.target);
            return true;
        },
        to.call, to.target);
}

void CallerSide::wait(const Destination& to, const messages::Operation& operation) {
    if (!operation.done()) team_.wait_until([&] { return operation.done(); }, to.call, to.target);
}

void CallerSide::keep_until_left(const std::shared_ptr<Outgoing>& outgoing) {
    if (outgoing->operation.done()) return;
    const std::lock_guard guard{team_.engine().mutex()};
    outbox_.keep_until_left(outgoing);
}

std::shared_ptr<Transit> CallerSide::relay(const char* call, CallList& calls, std::uint32_t result_bytes) {
    std::unique_lock guard{team_.engine().mutex(), std::defer_lock};
    if (!owner_.runs_here()) { // else it cannot wait, and whoever runs the function has the mutex
        complete_direct(call);
        team_.wait_until(
            [&] {
                const std::lock_guard looks{team_.engine().mutex()};
                return !relay_.full();
            },
            call);
        guard.lock();
    } else {
        require_room_to_keep(call, relay_.own_bytes(), 0);
    }
    begun_.fetch_add(calls.count(), std::memory_order_acq_rel);
    return relay_.begin(calls, result_bytes);
}

bool CallerSide::has_posted(Rank target) {
    const std::lock_guard guard{team_.engine().mutex()};
    return posted_.contains(target.value);
}

void CallerSide::run_here(Asked& asked, const AskHead& head, std::span<const std::byte> arguments) {
    ByteWriter results;
    const Outcome outcome = owner_.run(head, arguments, results);
    if (outcome.failed != 0) asked.deliver(true, std::as_bytes(std::span{outcome.text}));
    else asked.deliver(false, results.bytes());
}

std::unique_ptr<Asked> CallerSide::ask(const Destination& to, AskHead head, std::span<const std::byte> arguments,
                                       std::size_t room) {
    team::refuse_in_function(team_, to.call);
    complete_relayed(to.call); // calls of one rank at another run in their order
    begun_.fetch_add(head.count, std::memory_order_acq_rel);
    auto asked = std::make_unique<Asked>(*this, to, room);
    messages::Engine& engine = team_.engine();
    if (to.target == team_.rank()) {
        const std::lock_guard guard{engine.mutex()};
        name(*asked); // it may outlive this
        if (!asked->for_program_) {
            run_here(*asked, head, arguments);
            return asked;
        }
        head.token = asked->token_;
        owner_.keep_all(to.target, head, arguments);
        update_under_way();
        return asked;
    }
    // More than a packet goes before it, beside the packets.
    std::shared_ptr<Outgoing> deposit;
    if (sizeof head + arguments.size() > engine.inline_limit()) {
        deposit = std::make_shared<Outgoing>(std::vector<std::byte>(sizeof head.token + arguments.size()));
        std::ranges::copy(arguments, deposit->message.begin() + sizeof head.token);
        arguments = {};
        head.deposited = 1;
    }
    std::vector<std::byte> message = message_of(head, arguments);
    team_.wait_until(
        [&] {
            const std::lock_guard guard{engine.mutex()};
            if (asked->token_ == 0) {
                name(*asked);
                head.token = asked->token_;
                std::memcpy(message.data(), &head, sizeof head);
                if (deposit != nullptr) std::memcpy(deposit->message.data(), &head.token, sizeof head.token);
            }
            if (outbox_.holds(to.target)) return false;
            if (deposit != nullptr) {
                if (!outbox_.try_call(to.target, deposit_handler, deposit)) return false;
                deposit = nullptr;
            }
            if (!engine.locked().try_ask(asked->operation_, to.target, ask_handler, message, asked->answer_bytes()))
                return false;
            note_posted(to.target);
            return true;
        },
        to.call, to.target);
    team_.statistics().add(Counter::answered_calls);
    return asked;
}

void CallerSide::keep(std::unique_ptr<Asked> asked) {
    Kept ended;
    team_.wait_until(
        [&] {
            team_.epoch().functions().serve_program();
            const std::lock_guard guard{team_.engine().mutex()};
            if (kept_.size() >= most_kept) ended.splice(ended.end(), take_ended());
            if (kept_.size() >= most_kept) return false;
            kept_.push_back(std::move(asked));
            update_under_way();
            return true;
        },
        "Team::post (Where::program)");
    note_failures(ended);
}

CallerSide::Kept CallerSide::take_ended() {
    Kept ended;
    for (auto at = kept_.begin(); at != kept_.end();) {
        const auto next = std::next(at);
        if ((*at)->done()) ended.splice(ended.end(), kept_, at);
        at = next;
    }
    return ended;
}

void CallerSide::note_failures(const Kept& ended) {
    for (const auto& asked : ended) {
        try {
            (void)asked->result();
        } catch (const FunctionError& error) {
            note_failure(error.what());
        }
    }
}

void CallerSide::note_failure(const char* text) noexcept {
    std::unique_lock guard{team_.engine().mutex(), std::defer_lock};
    if (!owner_.runs_here()) guard.lock(); // else the function that has called this runs with it
    if (kept_problem_.empty()) kept_problem_ = text;
    update_under_way();
}

void CallerSide::ask_later(const Destination& to, AskHead head, std::span<const std::byte> arguments) {
    const bool here = to.target == team_.rank();
    require_room_to_keep(to.call, here ? owner_.waiting_bytes() : outbox_.kept_bytes(), sizeof head + arguments.size());
    begun_.fetch_add(head.count, std::memory_order_acq_rel);
    kept_.push_back(std::make_unique<Asked>(*this, to, 0));
    Asked* const asked = kept_.back().get();
    name(*asked);
    head.token = asked->token_;
    note_posted(to.target);
    if (here) return owner_.keep_all(to.target, head, arguments);
    std::vector<std::byte> message = message_of(head, arguments);
    const std::size_t bytes = message.size();
    outbox_.keep(to.target, bytes, [this, asked, target = to.target, message = std::move(message)] {
        return team_.engine().locked().try_ask(asked->operation_, target, ask_handler, message, asked->answer_bytes());
    });
}

// ---- releases -------------------------------------------------------------------------------------------------------

std::string CallerSide::text_of(Rank target, const FailedPosts& failed) const {
    return fmt::format("{}: Team::release: {} of the functions that this rank has posted to rank {} failed: {}",
                       team_.who(), failed.count, target.value, text_of_failure(failed.text.data(), failed.unknown));
}

void CallerSide::fence(const char* call, std::span<const Posted::value_type> targets) {
    messages::Engine& engine = team_.engine();
    std::vector<std::unique_ptr<Fence>> fences;
    const auto abandon = [&] {
        for (const auto& one : fences)
            if (!one->operation.done()) engine.abandon(one->operation);
    };
    try {
        for (const auto& [target, posted] : targets) {
            auto& one = *fences.emplace_back(std::make_unique<Fence>());
            one.target = target;
            one.posted = posted;
            one.operation.destination = reinterpret_cast<std::byte*>(&one.answer);
            team_.wait_until(
                [&] {
                    const std::lock_guard guard{engine.mutex()};
                    return !outbox_.holds(one.target) &&
                           engine.locked().try_ask(one.operation, one.target, fence_handler, {}, sizeof one.answer);
                },
                call, one.target);
        }
        for (const auto& one : fences) team_.wait_until([&] { return one->operation.done(); }, call, one->target);
    } catch (...) {
        abandon();
        throw;
    }
    const std::lock_guard guard{engine.mutex()};
    for (const auto& one : fences) {
        if (one->answer.count != 0 && kept_problem_.empty()) kept_problem_ = text_of(one->target, one->answer);
        const auto found = posted_.find(one->target.value);
        if (found != posted_.end() && found->second == one->posted) posted_.erase(found);
    }
}

void CallerSide::add(Batches& batches) {
    const std::lock_guard guard{team_.engine().mutex()};
    batches_.emplace_back(std::this_thread::get_id(), &batches);
    gathering_.store(true, std::memory_order_relaxed);
    ++made_here;
    update_under_way();
}

void CallerSide::remove(Batches& batches) noexcept {
    const std::lock_guard guard{team_.engine().mutex()};
    std::erase_if(batches_, [&](const auto& one) {
        if (one.second != &batches) return false;
        if (one.first == std::this_thread::get_id()) --made_here;
        return true;
    });
    gathering_.store(!batches_.empty(), std::memory_order_relaxed);
    update_under_way();
}

std::vector<Batches*> CallerSide::batches_of_thread() {
    std::vector<Batches*> found;
    const std::lock_guard guard{team_.engine().mutex()};
    for (const auto& [thread, batches] : batches_)
        if (thread == std::this_thread::get_id()) found.push_back(batches);
    return found;
}

void CallerSide::send_gathered(bool idle) {
    if (made_here == 0 || team::running_function.where == team::RunningFunction::Where::progress) return;
    for (Batches* const batches : batches_of_thread())
        if (!batches->busy() && (!idle || batches->is_idle())) batches->send();
}

void CallerSide::complete() {
    support::FirstProblem problem;
    for (Batches* const batches : batches_of_thread()) problem.attempt([&] { batches->finish(); });
    problem.attempt([&] { complete_sent(); });
    problem.rethrow();
}

void CallerSide::complete_relayed(const char* call, Relayed which) {
    if (relay_.route().hops() == 1 || owner_.runs_here()) return;
    std::uint64_t last = 0;
    {
        const std::lock_guard guard{team_.engine().mutex()};
        last = which == Relayed::all ? relay_.last_own() : relay_.last_post();
    }
    team_.wait_until(
        [&] {
            const std::lock_guard guard{team_.engine().mutex()};
            return !relay_.has_own(last);
        },
        call);
}

void CallerSide::complete_direct(const char* call) {
    messages::Engine& engine = team_.engine();
    const Rank own{team_.rank()};
    Posted targets;
    team_.wait_until(
        [&] {
            const std::lock_guard guard{engine.mutex()};
            if (outbox_.holds(own)) return false;
            posted_.erase(own.value);
            if (const FailedPosts failed = owner_.take_failed(own); failed.count != 0 && kept_problem_.empty())
                kept_problem_ = text_of(own, failed);
            targets.assign(posted_.begin(), posted_.end());
            return true;
        },
        call, own);
    for (std::size_t at = 0; at < targets.size(); at += most_fences)
        fence(call, std::span{targets}.subspan(at, std::min(most_fences, targets.size() - at)));
}

void CallerSide::complete_sent() {
    messages::Engine& engine = team_.engine();
    std::uint64_t for_program = 0;
    {
        const std::lock_guard guard{engine.mutex()};
        for_program = for_program_;
    }
    if (for_program != 0) team::refuse_collective_in_function(team_, "Team::release (of posts with Where::program)");
    complete_direct("Team::release");
    complete_relayed("Team::release");
    if (for_program != 0)
        team_.wait_until(
            [&] {
                team_.epoch().functions().serve_program();
                const std::lock_guard guard{engine.mutex()};
                return for_program_ == 0;
            },
            "Team::release");
    Kept ended;
    {
        const std::lock_guard guard{engine.mutex()};
        ended = take_ended();
    }
    note_failures(ended);
    std::string problem;
    {
        const std::lock_guard guard{engine.mutex()};
        problem = std::exchange(kept_problem_, {});
        if (const std::string relayed = relay_.take_problem(); problem.empty()) problem = relayed;
        update_under_way();
    }
    if (!problem.empty()) throw FunctionError{problem};
}

} // namespace lapwing::detail::functions
