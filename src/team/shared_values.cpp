#include "src/team/shared_values.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/assert.hpp"
#include "src/support/hash.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

namespace lapwing::detail::team {

void RootsValues::take_all(std::span<const std::byte> all) {
    if (here_ || all.empty()) return; // the ranks of `all` do not have them yet
    LAPWING_ASSERT(all.size() == values_.size());
    std::memcpy(values_.data(), all.data(), all.size());
    here_ = true;
}

void GatheredValues::take(std::span<std::byte> others, bool before) {
    if (others.empty()) return;
    LAPWING_ASSERT(before ? others.size() <= begin_ : others.size() <= all_.size() - end_);
    std::memcpy(all_.data() + (before ? begin_ - others.size() : end_), others.data(), others.size());
    if (before) begin_ -= others.size();
    else end_ += others.size();
}

void GatheredValues::take_all(std::span<const std::byte> all) {
    LAPWING_ASSERT(all.size() == all_.size());
    if (!all.empty()) std::memcpy(all_.data(), all.data(), all.size());
    begin_ = 0;
    end_ = all_.size();
}

Agreement share(TeamState& team, const char* call, std::int64_t arguments, SharedValues& values) {
    refuse_collective_in_function(team, call);
    Agreement agreement{arguments, arguments};
    const auto ranks = static_cast<unsigned>(team.size());
    const auto own = static_cast<unsigned>(team.rank());
    ValueMessages messages{team, call, ValueMessages::Tag::share};
    const auto own_values = [&] { return agreement.holds() ? values.own() : std::span<const std::byte>{}; };
    const auto hear = [&](const ValueMessages::Received& other, auto&& use) {
        agreement.merge(other.agreement);
        if (agreement.holds()) use(other.values);
    };
    const auto take_all = [&](std::span<std::byte> all) { values.take_all(all); };
    // The ranks below twice `pairs` are pairs of which the even one acts for both, so that a power of two is left.
    const unsigned acting = std::bit_floor(ranks);
    const unsigned pairs = ranks - acting;
    const bool paired = own < 2 * pairs;
    if (paired && own % 2 == 1) {
        messages.send(static_cast<int>(own - 1), agreement, own_values());
        hear(messages.receive(static_cast<int>(own - 1)), take_all);
    } else {
        const auto take = [&](bool before) {
            return [&values, before](std::span<std::byte> others) { values.take(others, before); };
        };
        if (paired) hear(messages.receive(static_cast<int>(own + 1)), take(false));
        const unsigned place = paired ? own / 2 : own - pairs;
        for (unsigned distance = 1; distance < acting; distance *= 2) {
            const unsigned other = place ^ distance;
            const unsigned partner = other < pairs ? 2 * other : other + pairs;
            hear(messages.swap(static_cast<int>(partner), agreement, own_values()), take(partner < own));
        }
        if (paired) messages.send(static_cast<int>(own + 1), agreement, own_values());
    }
    team.synchronisation().count(call);
    return agreement;
}

void throw_calls_differ(TeamState& team, const char* call, std::int64_t own, const Agreement& agreement,
                        std::function<std::string()> text) {
    team.synchronisation().throw_arguments_differ(
        fmt::format("{}: {}", team.who(), call),
        {.number = own,
         .text = std::move(text),
         .verb = "calls",
         .remedy = "all ranks must make the same collective calls, with the same arguments"},
        agreement.lowest, agreement.highest);
}

void refuse(TeamState& team, const char* call, const std::exception_ptr& refusal) {
    team.require_open(call);
    const auto own = static_cast<std::int64_t>(support::checksum_of("refused"));
    NoValues none;
    try {
        const Agreement agreement = share(team, call, own, none);
        if (!agreement.holds())
            throw_calls_differ(team, call, own, agreement,
                               [&] { return fmt::format("{} and gets: {}", call, mpi::text_of(refusal)); });
    } catch (const Error&) { // other ranks have passed something else, or have left: this rank's own error says more
    }
    std::rethrow_exception(refusal);
}

} // namespace lapwing::detail::team
