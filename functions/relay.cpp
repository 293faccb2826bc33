#include "functions/relay.hpp"

#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

namespace lapwing::detail::support::settings_in {
void functions_relay() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::functions {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::NumberSetting direct_setting{
    {.name = "LAPWING_DIRECT_RANKS",
     .default_value = "128",
     .unit = "ranks",
     .help =
         "in a team of so many, calls that are gathered go to each rank directly; in a larger one over other ranks, "
         "so that each rank sends to fewer than so many",
     .choices = {}},
    2,
    std::numeric_limits<int>::max()};

/// Of the messages that all neighbours of a rank may have it pass on at a time, and of one of them.
constexpr std::size_t passed_bytes = std::size_t{128} << 10;
constexpr std::size_t smallest_message = 512;
/// As much as goes to a neighbour as one packet.
[[nodiscard]] std::size_t message_bytes(int neighbours, std::size_t packet) {
    const std::size_t fair = std::max(passed_bytes / static_cast<std::size_t>(neighbours), smallest_message);
    return std::min(fair, packet) - std::max(sizeof(RelayHead), sizeof(RelayedHead));
}

/// Of a failure's text.
constexpr std::size_t most_text = 512;

using Target = std::int32_t;

} // namespace

Relay::Relay(team::TeamState& team, OwnerSide& owner, Outbox& outbox, std::atomic<bool>& under_way)
    : team_{team},
      owner_{owner},
      outbox_{outbox},
      team_under_way_{under_way},
      route_{team.size(), static_cast<int>(direct_setting.get(team.settings()))},
      message_bytes_{message_bytes(route_.neighbours(), team.engine().inline_limit())} {}

// ---- this rank's own calls ------------------------------------------------------------------------------------------

std::shared_ptr<Transit> Relay::begin(const RelayHead& head, std::span<const std::byte> calls) {
    auto transit = std::make_shared<Transit>();
    transit->origin = team_.rank();
    transit->head = head;
    transit->left = head.count;
    transit->results.resize(std::size_t{head.count} * head.result_bytes);
    transit->bytes = calls.size() + transit->results.size();
    const bool in_function = owner_.runs_here();
    std::unique_lock guard{team_.engine().mutex(), std::defer_lock};
    if (!in_function) guard.lock(); // else whoever runs the function has it
    transit->number = ++own_number_;
    own_bytes_ += transit->bytes;
    const std::uint32_t number = enter(transit);
    if (head.result_bytes == 0) {
        posts_.push_back(transit);
        team_under_way_.store(true, std::memory_order_release);
    }
    if (in_function) later_.emplace_back(number, std::vector<std::byte>{calls.begin(), calls.end()});
    else distribute(number, calls);
    return transit;
}

void Relay::end_own(Transit& transit) {
    own_bytes_ -= transit.bytes;
    if (transit.head.result_bytes == 0 && !transit.failed.empty() && problem_.empty())
        problem_ = fmt::format("{}: Team::release: {} of the functions that this rank has posted failed: {}",
                               team_.who(), transit.failed.size(), text_of_failure(transit.text, transit.unknown));
    transit.done.store(true, std::memory_order_release);
    while (!posts_.empty() && posts_.front()->done.load(std::memory_order_relaxed)) posts_.pop_front();
}

void Relay::on_progress() {
    if (later_.empty()) return;
    for (const auto& [transit, calls] : std::exchange(later_, {})) distribute(transit, calls);
}

// ---- on the way out -------------------------------------------------------------------------------------------------

void Relay::on_message(Rank origin, std::span<const std::byte> message) {
    auto transit = std::make_shared<Transit>();
    RelayHead& head = transit->head;
    if (message.size() >= sizeof head) std::memcpy(&head, message.data(), sizeof head);
    const std::span<const std::byte> calls = message.subspan(std::min(sizeof head, message.size()));
    const std::uint64_t results = std::uint64_t{head.count} * head.result_bytes;
    if (head.count == 0 || calls.size() % head.count != 0 || calls.size() / head.count < sizeof(Target) ||
        head.hop > static_cast<std::uint32_t>(route_.hops()) || results > team_.engine().largest_staged())
        throw Error{fmt::format("{} bytes of {} calls, hop {}, with results of {}, are no calls to be passed on",
                                message.size(), head.count, head.hop, results)};
    transit->origin = origin;
    transit->left = head.count;
    transit->results.resize(static_cast<std::size_t>(results));
    distribute(enter(transit), calls);
}

std::uint32_t Relay::enter(const std::shared_ptr<Transit>& transit) {
    if (free_.empty()) {
        transits_.emplace_back();
        free_.reserve(transits_.size());
        free_.push_back(static_cast<std::uint32_t>(transits_.size() - 1));
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    transits_[number] = transit;
    return number;
}

void Relay::distribute(std::uint32_t number, std::span<const std::byte> calls) {
    const RelayHead head = transits_[number]->head;
    const std::size_t stride = calls.size() / head.count;
    // What is for this rank itself runs at the end: it may be long.
    std::vector<std::uint32_t> own;
    std::vector<std::byte> own_arguments;
    std::vector<Key> changed;
    for (std::uint32_t k = 0; k < head.count; ++k) {
        const std::span<const std::byte> call = calls.subspan(k * stride, stride);
        const Rank target{value_at<Target>(call.data())};
        if (target == team_.rank()) {
            own.push_back(k);
            own_arguments.insert(own_arguments.end(), call.begin() + sizeof(Target), call.end());
            continue;
        }
        if (target.value < 0 || target.value >= team_.size())
            throw Error{fmt::format("rank {}, of a call that is to be passed on, is outside of [0, {})", target.value,
                                    team_.size())};
        const auto next = static_cast<std::uint32_t>(route_.next(team_.rank(), target).value);
        const Key key = std::uint64_t{head.hop} << 32 | next;
        add(hops_[key], head, {.transit = number, .index = k}, call);
        changed.push_back(key);
    }
    std::ranges::sort(changed);
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (const Key key : changed) send(key, hops_[key]);
    if (!own.empty()) run_here(number, own, own_arguments);
}

void Relay::add(Hop& hop, const RelayHead& head, CallOf where, std::span<const std::byte> call) {
    const std::size_t call_bytes = std::max<std::size_t>(call.size(), head.result_bytes);
    if (hop.waiting.empty() || !hop.waiting.back().head.is_like(head) ||
        (hop.waiting.back().calls.size() + 1) * call_bytes > message_bytes_) {
        Outbound& fresh = hop.waiting.emplace_back();
        fresh.head = head;
        const std::size_t most = std::max<std::size_t>(message_bytes_ / call_bytes, 1);
        fresh.message.reserve(sizeof head + most * call.size());
        fresh.message.resize(sizeof head);
        fresh.calls.reserve(most);
    }
    Outbound& outbound = hop.waiting.back();
    outbound.message.insert(outbound.message.end(), call.begin(), call.end());
    outbound.calls.push_back(where);
}

void Relay::send(Key key, Hop& hop) {
    if (!hop.sent.empty() || hop.waiting.empty()) return;
    Outbound outbound = std::move(hop.waiting.front());
    hop.waiting.pop_front();
    RelayHead head = outbound.head;
    head.token = key;
    head.hop = static_cast<std::uint32_t>(key >> 32) + 1;
    head.count = static_cast<std::uint32_t>(outbound.calls.size());
    std::memcpy(outbound.message.data(), &head, sizeof head);
    hop.sent = std::move(outbound.calls);
    const Rank next{static_cast<int>(static_cast<std::uint32_t>(key))};
    outbox_.send(next, [this, next, outgoing = std::make_shared<Outgoing>(std::move(outbound.message))] {
        return outbox_.try_call(next, relay_handler, outgoing);
    });
}

void Relay::run_here(std::uint32_t number, std::span<const std::uint32_t> which, std::span<const std::byte> arguments) {
    Transit& transit = *transits_[number];
    ByteWriter results;
    std::vector<std::uint32_t> failed;
    const AskHead head{.function = transit.head.function,
                       .window = transit.head.window,
                       .count = static_cast<std::uint32_t>(which.size()),
                       .form = transit.head.form};
    const std::size_t bytes = transit.head.result_bytes;
    const Outcome outcome = owner_.run(head, arguments, bytes == 0 ? nullptr : &results, &failed);
    for (std::size_t k = 0; k < which.size() && (k + 1) * bytes <= results.bytes().size(); ++k)
        std::memcpy(transit.results.data() + which[k] * bytes, results.bytes().data() + k * bytes, bytes);
    for (const std::uint32_t k : failed) transit.failed.push_back(which[k]);
    if (!failed.empty() && transit.text.empty()) {
        transit.text = outcome.text.substr(0, most_text);
        transit.unknown = outcome.unknown;
    }
    end(number, which.size());
}

// ---- on the way back ------------------------------------------------------------------------------------------------

void Relay::end(std::uint32_t number, std::size_t count) {
    Transit& transit = *transits_[number];
    transit.left -= static_cast<std::uint32_t>(count);
    if (transit.left != 0) return;
    const std::shared_ptr<Transit> ended = std::move(transits_[number]);
    free_.push_back(number);
    if (ended->origin == team_.rank()) end_own(*ended);
    else answer(*ended);
}

void Relay::answer(const Transit& transit) {
    const RelayedHead head{.token = transit.head.token,
                           .unknown = transit.unknown,
                           .failed = static_cast<std::uint32_t>(transit.failed.size()),
                           .text_bytes = static_cast<std::uint32_t>(transit.text.size())};
    ByteWriter message;
    message.write(head);
    const std::array<std::span<const std::byte>, 3> parts{
        std::span{transit.results}, std::as_bytes(std::span{transit.failed}), std::as_bytes(std::span{transit.text})};
    for (const std::span<const std::byte> part : parts) std::ranges::copy(part, message.grow(part.size()));
    const std::span<const std::byte> bytes = message.bytes();
    outbox_.send(transit.origin,
                 [this, origin = transit.origin,
                  outgoing = std::make_shared<Outgoing>(std::vector<std::byte>{bytes.begin(), bytes.end()})] {
                     return outbox_.try_call(origin, relayed_handler, outgoing);
                 });
}

void Relay::on_answer(Rank hop, std::span<const std::byte> answer) {
    ByteReader reader{answer};
    const auto head = reader.read<RelayedHead>();
    const auto found = hops_.find(head.token);
    if (found == hops_.end() || found->second.sent.empty() ||
        static_cast<std::uint32_t>(head.token) != static_cast<std::uint32_t>(hop.value))
        throw Error{fmt::format("an answer of rank {} is about calls that were not passed on to it", hop.value)};
    const std::vector<CallOf> calls = std::exchange(found->second.sent, {});
    const std::size_t bytes = transits_[calls.front().transit]->head.result_bytes;
    const std::byte* const results = reader.take(calls.size() * bytes);
    const std::byte* const failed = reader.take(head.failed * sizeof(std::uint32_t));
    const std::byte* const text = reader.take(head.text_bytes);
    for (std::size_t k = 0; k < head.failed; ++k) {
        const CallOf& call = calls.at(value_at<std::uint32_t>(failed + k * sizeof(std::uint32_t)));
        Transit& transit = *transits_[call.transit];
        transit.failed.push_back(call.index);
        if (!transit.text.empty()) continue;
        transit.text.assign(reinterpret_cast<const char*>(text), head.text_bytes);
        transit.unknown = head.unknown;
    }
    send(found->first, found->second);
    if (found->second.sent.empty()) hops_.erase(found);
    for (std::size_t k = 0; k < calls.size(); ++k) {
        const CallOf& call = calls[k];
        if (bytes != 0)
            std::memcpy(transits_[call.transit]->results.data() + call.index * bytes, results + k * bytes, bytes);
        end(call.transit, 1);
    }
}

} // namespace lapwing::detail::functions
