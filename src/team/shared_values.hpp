#pragma once

#include "src/team/value_messages.hpp"

#include <lapwing/error.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>

namespace lapwing::detail::team {

/// What a rank has of the values of a collective call, while ranks tell each other theirs. If the ranks have passed
/// different arguments, nobody's values go to those that have passed other ones.
class SharedValues {
public:
    virtual ~SharedValues() = default;
    /// Of this rank, and of those whose it has taken.
    [[nodiscard]] virtual std::span<const std::byte> own() const = 0;
    /// Takes what the ranks directly before (`before`) or directly after those of own() have. It may be changed.
    virtual void take(std::span<std::byte> others, bool before) = 0;
    /// Takes over what a rank has that knows of all.
    virtual void take_all(std::span<const std::byte> all) = 0;
};

/// Of a call that has only arguments, and of one whose values are so many that they follow by MPI's collective.
class NoValues final : public SharedValues {
public:
    [[nodiscard]] std::span<const std::byte> own() const override { return {}; }
    void take(std::span<std::byte>, bool) override {}
    void take_all(std::span<const std::byte>) override {}
};

/// One rank's, for all.
class RootsValues final : public SharedValues {
public:
    RootsValues(std::span<std::byte> values, bool here) noexcept : values_{values}, here_{here} {}
    [[nodiscard]] std::span<const std::byte> own() const override {
        return here_ ? std::span<const std::byte>{values_} : std::span<const std::byte>{};
    }
    void take(std::span<std::byte> others, bool) override { take_all(others); }
    void take_all(std::span<const std::byte> all) override;

private:
    std::span<std::byte> values_;
    bool here_;
};

/// Those of all ranks, one after another, in their order.
class GatheredValues final : public SharedValues {
public:
    /// This rank's are in place already, from `begin` to `end`.
    GatheredValues(std::span<std::byte> all, std::size_t begin, std::size_t end) noexcept
        : all_{all}, begin_{begin}, end_{end} {}
    [[nodiscard]] std::span<const std::byte> own() const override { return all_.subspan(begin_, end_ - begin_); }
    void take(std::span<std::byte> others, bool before) override;
    void take_all(std::span<const std::byte> all) override;

private:
    std::span<std::byte> all_;
    std::size_t begin_;
    std::size_t end_;
};

/// Up to this many bytes, which a rank has at the end, travel with the arguments; more follow by MPI's collectives.
inline constexpr std::size_t largest_shared = std::size_t{32} << 10;

/// Collective: ranks share their values and compare what they have passed, of which `arguments` is a number. Returns
/// what all ranks have passed, the same on all of them; unless it holds, the values are undefined. Serves other ranks
/// meanwhile. Not part of the synchronisation of memory. Throws PeerLeftError, MpiError. Cost: recursive doubling
/// (Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005): as many
/// rounds as the logarithm of the ranks, and two more where their number is no power of two.
[[nodiscard]] Agreement share(TeamState& team, const char* call, std::int64_t arguments, SharedValues& values);

/// Collective, where the ranks have passed different arguments to share(), this one `own`: throws MismatchError with
/// the calls of two ranks in words. `text` makes this rank's.
[[noreturn]] void throw_calls_differ(TeamState& team, const char* call, std::int64_t own, const Agreement& agreement,
                                     std::function<std::string()> text);
/// Collective, in place of share() on a rank that was passed what its call cannot do: that rank throws `refusal`, and
/// those that were not throw MismatchError with its text, so that nobody waits.
[[noreturn]] void refuse(TeamState& team, const char* call, const std::exception_ptr& refusal);
/// The checks of a call that begins with share(), before it: what they throw is refused.
template <class Check>
void check_or_refuse(TeamState& team, const char* call, Check&& check) {
    try {
        check();
    } catch (const Error&) {
        refuse(team, call, std::current_exception());
    }
}

} // namespace lapwing::detail::team
