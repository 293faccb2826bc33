#include "functions/relay.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace lapwing::detail::functions {
namespace {

/// Of the messages that all neighbours of a rank may have it pass on at a time.
constexpr std::size_t passed_bytes = std::size_t{128} << 10;
constexpr std::size_t smallest_message = 512;
/// Of the texts of an answer's failures, and of one.
constexpr std::size_t most_texts = 2048;
constexpr std::size_t most_text = 512;

/// As much as goes to a neighbour as one packet.
[[nodiscard]] std::size_t message_bytes(const Route& route, std::size_t packet) {
    const auto sources = static_cast<std::size_t>(route.neighbours()) * static_cast<std::size_t>(route.hops() - 1);
    const std::size_t fair = std::max(passed_bytes / std::max<std::size_t>(sources, 1), smallest_message);
    return std::min(fair, packet) - std::max(sizeof(RelayHead), sizeof(RelayedHead));
}

/// Calls `act(run, calls)` for each run of a message.
template <class Act>
void for_each_run(std::span<const std::byte> runs, Act&& act) {
    ByteReader reader{runs};
    while (reader.left() != 0) {
        const auto run = reader.read<RelayRun>();
        const std::size_t bytes = std::size_t{run.count} * (sizeof(Rank::value) + run.argument_bytes);
        act(run, reader.take(bytes));
    }
}

} // namespace

std::string Transit::failure_text() const {
    // Of some the texts did not fit into an answer.
    const auto found = std::ranges::find_if(failed, [](const FailedCall& one) { return !one.text.empty(); });
    if (found == failed.end()) return "the texts of too many failures did not fit into a message";
    return text_of_failure(found->text, found->unknown);
}

Relay::Relay(team::TeamState& team, OwnerSide& owner, Outbox& outbox, std::atomic<bool>& under_way)
    : team_{team},
      owner_{owner},
      outbox_{outbox},
      team_under_way_{under_way},
      route_{team.size(), team.paths().direct_ranks},
      message_bytes_{message_bytes(route_, team.engine().inline_limit())} {}

// ---- this rank's own calls ------------------------------------------------------------------------------------------

std::shared_ptr<Transit> Relay::begin(CallList& calls, std::uint32_t result_bytes) {
    auto transit = std::make_shared<Transit>();
    transit->origin = team_.rank();
    transit->head = {.count = calls.count(), .result_bytes = result_bytes};
    transit->left = calls.count();
    transit->results.resize(std::size_t{calls.count()} * result_bytes);
    std::vector<std::byte> message = calls.take(transit->head);
    transit->bytes = sizeof(Transit) + message.size() + transit->results.size();
    transit->number = ++own_number_;
    if (result_bytes == 0) last_post_ = own_number_;
    own_bytes_ += transit->bytes;
    own_.push_back(transit);
    team_under_way_.store(true, std::memory_order_release);
    const std::uint32_t number = enter(transit);
    if (owner_.runs_here()) later_.emplace_back(number, std::move(message));
    else distribute(number, std::span{message}.subspan(sizeof(RelayHead)));
    return transit;
}

void Relay::end_own(Transit& transit) {
    own_bytes_ -= transit.bytes;
    if (transit.head.result_bytes == 0 && !transit.failed.empty()) {
        if (failed_ == 0) problem_ = transit.failure_text();
        failed_ += transit.failed.size();
    }
    transit.done.store(true, std::memory_order_release);
    while (!own_.empty() && own_.front()->done.load(std::memory_order_relaxed)) own_.pop_front();
}

std::string Relay::take_problem() {
    if (failed_ == 0) return {};
    return fmt::format("{}: Team::release: {} of the functions that this rank has posted failed: {}", team_.who(),
                       std::exchange(failed_, 0), std::exchange(problem_, {}));
}

void Relay::on_progress() {
    if (later_.empty()) return;
    for (const auto& [transit, message] : std::exchange(later_, {}))
        distribute(transit, std::span{message}.subspan(sizeof(RelayHead)));
}

// ---- on the way out -------------------------------------------------------------------------------------------------

void Relay::require_calls(const RelayHead& head, std::span<const std::byte> runs) const {
    std::uint64_t count = 0;
    for_each_run(runs, [&](const RelayRun& run, const std::byte* calls) {
        count += run.count;
        for (std::uint32_t k = 0; k < run.count; ++k, calls += sizeof(Rank::value) + run.argument_bytes) {
            const int target = value_at<int>(calls);
            if (target < 0 || target >= team_.size())
                throw Error{fmt::format("rank {} of a call that is to be passed on is outside of [0, {})", target,
                                        team_.size())};
        }
    });
    const std::uint64_t results = count * head.result_bytes;
    if (count == 0 || count != head.count || head.step > static_cast<std::uint32_t>(route_.hops()) ||
        results > team_.engine().largest_staged())
        throw Error{fmt::format("{} calls of {}, at step {}, with results of {} bytes, are none to be passed on", count,
                                head.count, head.step, results)};
}

void Relay::on_message(Rank from, std::span<const std::byte> message) {
    ByteReader reader{message};
    auto transit = std::make_shared<Transit>();
    transit->head = reader.read<RelayHead>();
    const std::span<const std::byte> runs = message.subspan(sizeof(RelayHead));
    require_calls(transit->head, runs);
    transit->origin = from;
    transit->left = transit->head.count;
    transit->results.resize(std::size_t{transit->head.count} * transit->head.result_bytes);
    distribute(enter(transit), runs);
}

std::uint32_t Relay::enter(const std::shared_ptr<Transit>& transit) {
    const std::uint32_t number = transits_.take();
    transits_[number] = transit;
    return number;
}

void Relay::distribute(std::uint32_t transit, std::span<const std::byte> runs) {
    const std::shared_ptr<Transit> kept = transits_[transit]; // it may end before its last run is looked at
    const RelayHead& head = kept->head;
    std::vector<Key> changed;
    std::uint32_t index = 0;
    struct Own {
        RelayRun run;
        std::vector<std::uint32_t> indices;
        std::vector<std::byte> arguments;
    };
    std::vector<Own> own; // runs at the end: it may take its time
    for_each_run(runs, [&](const RelayRun& run, const std::byte* call) {
        bool own_run = false;
        for (std::uint32_t k = 0; k < run.count; ++k, ++index) {
            const Rank target{value_at<int>(call)};
            const std::byte* const arguments = call + sizeof target.value;
            call = arguments + run.argument_bytes;
            if (target == team_.rank()) {
                if (!std::exchange(own_run, true)) own.push_back({.run = run, .indices = {}, .arguments = {}});
                own.back().indices.push_back(index);
                own.back().arguments.insert(own.back().arguments.end(), arguments, call);
                continue;
            }
            const Key key =
                std::uint64_t{head.step} << 32 | static_cast<std::uint32_t>(route_.next(team_.rank(), target).value);
            Queue& queue = queues_[key];
            add(queue, head.result_bytes, run, target, {.transit = transit, .index = index}, arguments);
            if (queue.sent.empty() && !std::exchange(queue.changed, true)) changed.push_back(key);
        }
    });
    for (const Key key : changed) {
        Queue& queue = queues_[key];
        queue.changed = false;
        send(key, queue);
    }
    for (const Own& one : own) run_here(transit, one.run, one.indices, one.arguments);
}

void Relay::add(Queue& queue, std::uint32_t result_bytes, const RelayRun& run, Rank target, CallOf where,
                const std::byte* arguments) {
    const auto fits = [&](const Outbound& outbound) {
        return outbound.result_bytes == result_bytes && outbound.message.bytes_with(run) <= message_bytes_ &&
               (outbound.message.count() + std::size_t{1}) * result_bytes <= message_bytes_;
    };
    if (queue.waiting.empty() || !fits(queue.waiting.back()))
        queue.waiting.emplace_back(Outbound{.result_bytes = result_bytes});
    Outbound& outbound = queue.waiting.back();
    std::byte* const place = outbound.message.add(run, target);
    if (run.argument_bytes != 0) std::memcpy(place, arguments, run.argument_bytes);
    outbound.calls.push_back(where);
}

void Relay::send(Key key, Queue& queue) {
    if (!queue.sent.empty() || queue.waiting.empty()) return;
    Outbound outbound = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    queue.sent = std::move(outbound.calls);
    const Rank next{static_cast<int>(static_cast<std::uint32_t>(key))};
    auto message = outbound.message.take(
        {.token = key, .result_bytes = outbound.result_bytes, .step = static_cast<std::uint32_t>(key >> 32) + 1});
    outbox_.send(next, [this, next, outgoing = std::make_shared<Outgoing>(std::move(message))] {
        return outbox_.try_call(next, relay_handler, outgoing);
    });
}

void Relay::run_here(std::uint32_t transit, const RelayRun& run, std::span<const std::uint32_t> indices,
                     std::span<const std::byte> arguments) {
    Transit& all = *transits_[transit];
    const std::size_t bytes = all.head.result_bytes;
    ByteWriter results;
    RelayRun here = run;
    here.count = static_cast<std::uint32_t>(indices.size());
    std::vector<FailedCall> failed = owner_.run(here, arguments, bytes == 0 ? nullptr : &results);
    // Of those after a call whose arguments could not be read there are none.
    const std::size_t there = bytes == 0 ? 0 : std::min(indices.size(), results.bytes().size() / bytes);
    for (std::size_t k = 0; k < there; ++k)
        std::memcpy(all.results.data() + indices[k] * bytes, results.bytes().data() + k * bytes, bytes);
    for (FailedCall& one : failed) {
        one.index = indices[one.index];
        all.failed.push_back(std::move(one));
    }
    end(transit, indices.size());
}

// ---- on the way back ------------------------------------------------------------------------------------------------

void Relay::end(std::uint32_t transit, std::size_t count) {
    transits_[transit]->left -= static_cast<std::uint32_t>(count);
    if (transits_[transit]->left != 0) return;
    const std::shared_ptr<Transit> ended = std::move(transits_[transit]);
    transits_.give_back(transit);
    if (ended->origin == team_.rank()) end_own(*ended);
    else answer(*ended);
}

void Relay::answer(const Transit& transit) {
    ByteWriter message;
    message.write(
        RelayedHead{.token = transit.head.token, .failed = static_cast<std::uint32_t>(transit.failed.size())});
    std::ranges::copy(transit.results, message.grow(transit.results.size()));
    std::size_t room = most_texts;
    for (const FailedCall& one : transit.failed) {
        const std::size_t length = std::min({one.text.size(), most_text, room});
        room -= length;
        message.write(RelayedFailure{
            .unknown = one.unknown, .index = one.index, .text_bytes = static_cast<std::uint32_t>(length)});
        std::memcpy(message.grow(length), one.text.data(), length);
    }
    const std::span<const std::byte> bytes = message.bytes();
    auto outgoing = std::make_shared<Outgoing>(std::vector<std::byte>{bytes.begin(), bytes.end()});
    outbox_.send(transit.origin, [this, origin = transit.origin, outgoing = std::move(outgoing)] {
        return outbox_.try_call(origin, relayed_handler, outgoing);
    });
}

void Relay::on_answer(Rank from, std::span<const std::byte> answer) {
    ByteReader reader{answer};
    const auto head = reader.read<RelayedHead>();
    const auto found = queues_.find(head.token);
    if (found == queues_.end() || found->second.sent.empty() ||
        static_cast<int>(static_cast<std::uint32_t>(head.token)) != from.value)
        throw Error{fmt::format("an answer of rank {} is about calls that were not passed on to it", from.value)};
    const std::vector<CallOf> calls = std::exchange(found->second.sent, {});
    const std::size_t bytes = transits_[calls.front().transit]->head.result_bytes;
    const std::byte* const results = reader.take(calls.size() * bytes);
    for (std::uint32_t k = 0; k < head.failed; ++k) {
        const auto failure = reader.read<RelayedFailure>();
        const std::byte* const text = reader.take(failure.text_bytes);
        const CallOf& call = calls.at(failure.index);
        transits_[call.transit]->failed.push_back({.index = call.index,
                                                   .text = {reinterpret_cast<const char*>(text), failure.text_bytes},
                                                   .unknown = failure.unknown});
    }
    send(found->first, found->second);
    if (found->second.sent.empty()) queues_.erase(found);
    for (std::size_t k = 0; k < calls.size(); ++k) {
        const CallOf& call = calls[k];
        if (bytes != 0)
            std::memcpy(transits_[call.transit]->results.data() + call.index * bytes, results + k * bytes, bytes);
        end(call.transit, 1);
    }
}

} // namespace lapwing::detail::functions
