// Team's reductions, gathers and broadcasts. They serve other ranks while they wait, and work on memory of their own:
// when a wait is given up, because a rank left, MPI may still write there. What the ranks pass is compared by what
// travels with their values.
#include "src/mpi/agreement.hpp"
#include "src/support/hash.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/rank_check.hpp"
#include "src/support/type_text.hpp"
#include "src/team/reduction_kinds.hpp"
#include "src/team/shared_values.hpp"
#include "src/team/team_state.hpp"
#include "src/team/value_messages.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace lapwing {
namespace {

using detail::support::check_mpi;
using detail::support::hash_of;
using detail::team::Agreement;
using detail::team::GatheredValues;
using detail::team::largest_shared;
using detail::team::NoValues;
using detail::team::ReductionKind;
using detail::team::RootsValues;
using detail::team::TeamState;
using detail::team::ValueMessages;

/// Bytes that one MPI call works on.
constexpr std::uint64_t piece_bytes = std::uint64_t{4} << 20;

using Memory = TeamState::Memory;

/// The first of the numbers that ranks compare, so that different calls differ.
enum class Call : std::uint64_t { all_reduce, broadcast, combine, combine_before, all_gather, varying, require_same };

template <class... Numbers>
[[nodiscard]] std::int64_t number_of(Call call, Numbers... numbers) {
    return static_cast<std::int64_t>(
        hash_of({static_cast<std::uint64_t>(call), static_cast<std::uint64_t>(numbers)...}));
}
[[nodiscard]] std::uint64_t number_of(const char* type) { return detail::support::checksum_of(type); }

/// All ranks come here where one does: throws MismatchError unless they have passed the same. `text` makes this rank's
/// call in words.
template <class Text>
void check(TeamState& team, const char* call, std::int64_t own, const Agreement& agreement, const Text& text) {
    if (!agreement.holds()) throw_calls_differ(team, call, own, agreement, text);
}

/// "8 bytes", or "24 bytes of int64".
[[nodiscard]] std::string text_of_values(std::uint64_t bytes, const char* type) {
    if (*type == '\0') return fmt::format("{} bytes", bytes);
    return fmt::format("{} bytes of {}", bytes, detail::support::type_text(type));
}

/// A value on its way through a tree of ranks that combine it by a function of the program's, followed by the rank on
/// which that function has thrown: the others go on as if it had not, so that nobody hangs. It begins at a multiple of
/// 64 bytes, an alignment that is enough for any type of value.
class CombinedValue {
public:
    explicit CombinedValue(std::span<const std::byte> value)
        : bytes_{value.size()}, lines_((value.size() + sizeof nobody + sizeof(Line) - 1) / sizeof(Line)) {
        std::ranges::copy(value, all().begin()); // which may be empty
        set_failed(nobody);
    }

    /// What travels: the value, and the rank after it.
    [[nodiscard]] std::span<std::byte> all() noexcept { return {lines_.front().bytes.data(), bytes_ + sizeof nobody}; }
    [[nodiscard]] std::span<const std::byte> all() const noexcept {
        return {lines_.front().bytes.data(), bytes_ + sizeof nobody};
    }
    /// What was thrown on this rank.
    [[nodiscard]] const std::exception_ptr& failure() const noexcept { return failure_; }

    /// Calls `combine(values)` unless it has failed already; `other` is what it combines them with.
    template <class Combine>
    void take(int own_rank, const std::byte* other, Combine&& combine) {
        if (failed() == nobody) set_failed(failed_in(other));
        if (failed() != nobody) return;
        try {
            combine(all().data());
        } catch (...) {
            failure_ = std::current_exception();
            set_failed(own_rank);
        }
    }
    /// Throws `failure`, or else UsageError if the function has thrown elsewhere, on a rank whose value is part of this
    /// one.
    void rethrow(const std::exception_ptr& failure, const detail::team::TeamState& team, const char* call) const {
        if (failure != nullptr) std::rethrow_exception(failure);
        if (failed() != nobody)
            throw UsageError{
                fmt::format("{}: Team::{}: there is no result, since the function that combines two values "
                            "has thrown on rank {}; see that rank's error",
                            team.who(), call, failed())};
    }

private:
    struct alignas(64) Line {
        std::array<std::byte, 64> bytes;
    };
    static constexpr std::int32_t nobody = -1;

    [[nodiscard]] std::int32_t failed_in(const std::byte* values) const noexcept {
        std::int32_t rank = nobody;
        std::memcpy(&rank, values + bytes_, sizeof rank);
        return rank;
    }
    [[nodiscard]] std::int32_t failed() const noexcept { return failed_in(all().data()); }
    void set_failed(std::int32_t rank) noexcept { std::memcpy(all().data() + bytes_, &rank, sizeof rank); }

    std::size_t bytes_;
    std::vector<Line> lines_;
    std::exception_ptr failure_;
};

/// A broadcast of any size, compared as `own` with the other ranks' calls.
[[nodiscard]] Agreement broadcast_from(TeamState& team, const char* call, std::int64_t own, std::span<std::byte> bytes,
                                       int root) {
    const bool here = team.rank() == root;
    if (bytes.size() <= largest_shared) {
        // In memory of the call's own: the program's stays as it is when the call fails.
        std::vector<std::byte> memory(bytes.begin(), bytes.end());
        RootsValues values{memory, here};
        const Agreement agreement = share(team, call, own, values);
        if (agreement.holds() && !here) std::ranges::copy(memory, bytes.begin());
        return agreement;
    }
    NoValues none;
    const Agreement agreement = share(team, call, own, none);
    if (!agreement.holds()) return agreement;
    Memory memory = std::make_unique_for_overwrite<std::byte[]>(std::min<std::uint64_t>(piece_bytes, bytes.size()));
    for (std::uint64_t at = 0; at < bytes.size(); at += piece_bytes) {
        const std::uint64_t now = std::min<std::uint64_t>(piece_bytes, bytes.size() - at);
        if (here) std::memcpy(memory.get(), bytes.data() + at, now);
        team.complete(memory, call, [&](std::byte* place) {
            MPI_Request request = MPI_REQUEST_NULL;
            check_mpi(MPI_Ibcast(place, static_cast<int>(now), MPI_BYTE, root, team.communicator(), &request),
                      "MPI_Ibcast", team.who());
            return request;
        });
        team.synchronisation().count(call);
        if (!here) std::memcpy(bytes.data() + at, memory.get(), now);
    }
    return agreement;
}

/// The values of ranks that combine them on the way, in memory of the call's own.
class ReducedValues final : public detail::team::SharedValues {
public:
    ReducedValues(const TeamState& team, std::span<std::byte> values, int count, MPI_Datatype type, MPI_Op operation)
        : team_{team}, values_{values}, count_{count}, type_{type}, operation_{operation} {}
    [[nodiscard]] std::span<const std::byte> own() const override { return values_; }
    // In the order of the ranks everywhere, so that all get the same value: that of a NaN depends on it.
    void take(std::span<std::byte> others, bool before) override {
        combine(before ? others : values_, before ? values_ : others);
        if (!before) take_all(others);
    }
    void take_all(std::span<const std::byte> all) override { std::memcpy(values_.data(), all.data(), all.size()); }

private:
    void combine(std::span<const std::byte> left, std::span<std::byte> right_and_result) const {
        check_mpi(MPI_Reduce_local(left.data(), right_and_result.data(), count_, type_, operation_), "MPI_Reduce_local",
                  team_.who());
    }

    const TeamState& team_;
    std::span<std::byte> values_;
    int count_;
    MPI_Datatype type_;
    MPI_Op operation_;
};

/// MPI_MIN and MPI_MAX compare unsigned integers as if signed (MPICH 4.0.2 all of them, Open MPI 4.1.4 unsigned long):
/// they are compared as signed ones, with the highest bit of each flipped.
class UnsignedOrder {
public:
    UnsignedOrder(const ReductionKind& kind, std::uint64_t element) noexcept
        : element_{element}, flips_{kind.orders_naturals} {}
    /// What MPI is to combine values as.
    [[nodiscard]] MPI_Datatype type(MPI_Datatype type) const {
        if (!flips_) return type;
        return element_ == 1 ? MPI_INT8_T : element_ == 2 ? MPI_INT16_T : element_ == 4 ? MPI_INT32_T : MPI_INT64_T;
    }
    /// Before MPI combines them, and afterwards.
    void flip(std::span<std::byte> values) const noexcept {
        if (!flips_) return;
        const std::uint64_t highest = std::endian::native == std::endian::little ? element_ - 1 : 0;
        for (std::uint64_t at = highest; at < values.size(); at += element_) values[at] ^= std::byte{0x80};
    }

private:
    std::uint64_t element_;
    bool flips_;
};

/// A reduction by MPI, in pieces, for ranks that have agreed on it.
void reduce_by_mpi(TeamState& team, std::byte* values, std::uint64_t count, std::uint64_t element, MPI_Datatype type,
                   MPI_Op operation, const UnsignedOrder& order) {
    const std::uint64_t most = std::max<std::uint64_t>(1, piece_bytes / element);
    Memory memory = std::make_unique_for_overwrite<std::byte[]>(std::min(most, count) * element);
    for (std::uint64_t at = 0; at < count; at += most) {
        const std::uint64_t now = std::min(most, count - at);
        std::byte* const piece = values + at * element;
        std::memcpy(memory.get(), piece, now * element);
        order.flip({memory.get(), now * element});
        team.complete(memory, "Team::all_reduce", [&](std::byte* place) {
            MPI_Request request = MPI_REQUEST_NULL;
            check_mpi(MPI_Iallreduce(MPI_IN_PLACE, place, static_cast<int>(now), order.type(type), operation,
                                     team.communicator(), &request),
                      "MPI_Iallreduce", team.who());
            return request;
        });
        team.synchronisation().count("Team::all_reduce");
        order.flip({memory.get(), now * element});
        std::memcpy(piece, memory.get(), now * element);
    }
}

/// Collective: values of the same size on all ranks, compared as `own` with the other ranks' calls.
[[nodiscard]] Agreement gather_alike(TeamState& team, const char* call, std::int64_t own,
                                     std::span<const std::byte> value, std::span<std::byte> all) {
    const auto ranks = static_cast<std::uint64_t>(team.size());
    if (all.size() <= largest_shared) {
        // In memory of the call's own: the program's stays as it is when the call fails.
        std::vector<std::byte> memory(all.size());
        const std::size_t at = static_cast<std::size_t>(team.rank()) * value.size();
        std::ranges::copy(value, memory.begin() + static_cast<std::ptrdiff_t>(at));
        GatheredValues shared{memory, at, at + value.size()};
        const Agreement agreement = share(team, call, own, shared);
        if (agreement.holds()) std::ranges::copy(memory, all.begin());
        return agreement;
    }
    NoValues none;
    const Agreement agreement = share(team, call, own, none);
    if (!agreement.holds()) return agreement;
    // A piece is as many bytes of each value as all ranks' have room for.
    const std::uint64_t most = std::clamp<std::uint64_t>(piece_bytes / ranks, 1, value.size());
    Memory memory = std::make_unique_for_overwrite<std::byte[]>(most * (ranks + 1));
    for (std::uint64_t at = 0; at < value.size(); at += most) {
        const std::uint64_t now = std::min(most, value.size() - at);
        std::memcpy(memory.get(), value.data() + at, now);
        team.complete(memory, call, [&](std::byte* place) {
            MPI_Request request = MPI_REQUEST_NULL;
            const auto bytes = static_cast<int>(now);
            check_mpi(
                MPI_Iallgather(place, bytes, MPI_BYTE, place + now, bytes, MPI_BYTE, team.communicator(), &request),
                "MPI_Iallgather", team.who());
            return request;
        });
        team.synchronisation().count(call);
        for (std::uint64_t rank = 0; rank < ranks; ++rank)
            std::memcpy(all.data() + rank * value.size() + at, memory.get() + now + rank * now, now);
    }
    return agreement;
}

/// Collective: values of any sizes, `total` together, compared as `own` with the other ranks' calls. `all` is empty on
/// a rank that has no room, and that passes another `own` than ranks which have.
[[nodiscard]] Agreement gather_all(TeamState& team, const char* call, std::int64_t own,
                                   std::span<const std::byte> value, std::span<const std::uint64_t> bytes_of,
                                   std::span<std::byte> all, bool has_room) {
    const std::uint64_t total = all.size();
    const auto mine = static_cast<std::size_t>(team.rank());
    const std::uint64_t begin = std::accumulate(bytes_of.begin(), bytes_of.begin() + team.rank(), std::uint64_t{0});
    if (has_room && total <= largest_shared) {
        std::vector<std::byte> memory(total); // as in gather_alike()
        std::ranges::copy(value, memory.begin() + static_cast<std::ptrdiff_t>(begin));
        GatheredValues shared{memory, begin, begin + bytes_of[mine]};
        const Agreement agreement = share(team, call, own, shared);
        if (agreement.holds()) std::ranges::copy(memory, all.begin());
        return agreement;
    }
    NoValues none;
    const Agreement agreement = share(team, call, own, none);
    if (!agreement.holds() || !has_room) return agreement;
    // A piece is a part of the whole, to which some of the ranks contribute.
    Memory memory = std::make_unique_for_overwrite<std::byte[]>(2 * std::min(piece_bytes, total));
    const auto ranks = bytes_of.size();
    std::vector<int> counts(ranks);
    std::vector<int> places(ranks);
    for (std::uint64_t at = 0; at < total; at += piece_bytes) {
        const std::uint64_t end = std::min(at + piece_bytes, total);
        std::uint64_t first = 0;
        for (std::size_t rank = 0; rank < ranks; first += bytes_of[rank++]) {
            const std::uint64_t from = std::clamp(first, at, end);
            const std::uint64_t to = std::clamp(first + bytes_of[rank], at, end);
            counts[rank] = static_cast<int>(to - from);
            places[rank] = static_cast<int>(from - at);
        }
        if (counts[mine] != 0)
            std::memcpy(memory.get(), value.data() + (at + static_cast<std::uint64_t>(places[mine]) - begin),
                        static_cast<std::size_t>(counts[mine]));
        team.complete(memory, call, [&](std::byte* place) {
            MPI_Request request = MPI_REQUEST_NULL;
            check_mpi(MPI_Iallgatherv(place, counts[mine], MPI_BYTE, place + (end - at), counts.data(), places.data(),
                                      MPI_BYTE, team.communicator(), &request),
                      "MPI_Iallgatherv", team.who());
            return request;
        });
        team.synchronisation().count(call);
        std::memcpy(all.data() + at, memory.get() + (end - at), end - at);
    }
    return agreement;
}

} // namespace

void Team::all_reduce(void* values, std::uint64_t count, MPI_Datatype type, MPI_Op operation) {
    constexpr const char* call = "Team::all_reduce";
    state_->require_open(call);
    MPI_Aint lower = 0;
    MPI_Aint true_extent = 0;
    check_mpi(MPI_Type_get_true_extent(type, &lower, &true_extent), "MPI_Type_get_true_extent", state_->who());
    MPI_Aint zero = 0;
    MPI_Aint extent = 0;
    check_mpi(MPI_Type_get_extent(type, &zero, &extent), "MPI_Type_get_extent", state_->who());
    const auto element = static_cast<std::uint64_t>(extent);
    check_or_refuse(*state_, call, [&] {
        if (count != 0 && (lower < 0 || true_extent + lower > extent || extent <= 0))
            throw UsageError{fmt::format(
                "{}: Team::all_reduce: the elements of the datatype overlap or lie before their start (extent {}, "
                "true extent {} from {}); use one whose elements follow each other",
                state_->who(), extent, true_extent, lower)};
        if (std::uint64_t bytes = 0; __builtin_mul_overflow(count, element, &bytes) || bytes >> 56 != 0)
            throw RangeError{fmt::format(
                "{}: Team::all_reduce: {} elements of {} bytes, and no memory has 2^56 bytes; pass how many there are",
                state_->who(), count, element)};
    });
    const ReductionKind kind = ReductionKind::of(type, operation, extent);
    const UnsignedOrder order{kind, element};
    const std::int64_t own = number_of(Call::all_reduce, kind.type, kind.operation, count);
    const auto compare = [&](detail::team::SharedValues& shared) {
        check(*state_, call, own, share(*state_, call, own, shared), [&] {
            return fmt::format("{} of {} of {} with {}", call, count, detail::team::text_of_type(type),
                               detail::team::text_of_operation(operation));
        });
    };
    if (kind.combines_locally && count > 0 && count <= largest_shared / element) {
        alignas(std::max_align_t) std::array<std::byte, 64> few;
        const std::uint64_t bytes = count * element;
        const Memory many = bytes > few.size() ? std::make_unique_for_overwrite<std::byte[]>(bytes) : nullptr;
        const std::span<std::byte> result{many != nullptr ? many.get() : few.data(), bytes};
        std::memcpy(result.data(), values, bytes);
        order.flip(result);
        ReducedValues shared{*state_, result, static_cast<int>(count), order.type(type), operation};
        compare(shared);
        order.flip(result);
        std::memcpy(values, result.data(), bytes);
        return;
    }
    NoValues none;
    compare(none);
    if (count == 0) return;
    reduce_by_mpi(*state_, static_cast<std::byte*>(values), count, element, type, operation, order);
}

void Team::sum(std::span<double> values) { all_reduce(values.data(), values.size(), MPI_DOUBLE, MPI_SUM); }
void Team::sum(std::span<std::int64_t> values) { all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_SUM); }
void Team::min(std::span<double> values) { all_reduce(values.data(), values.size(), MPI_DOUBLE, MPI_MIN); }
void Team::min(std::span<std::int64_t> values) { all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_MIN); }
void Team::max(std::span<double> values) { all_reduce(values.data(), values.size(), MPI_DOUBLE, MPI_MAX); }
void Team::max(std::span<std::int64_t> values) { all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_MAX); }

void Team::broadcast(std::span<std::byte> bytes, Rank root, const char* type) {
    constexpr const char* call = "Team::broadcast";
    state_->require_open(call);
    // With a root that is none of the ranks the call is compared all the same: others may have passed the right one.
    const bool is_rank = root.value >= 0 && root.value < size_;
    const std::int64_t own = number_of(Call::broadcast, bytes.size(), number_of(type), root.value);
    NoValues none;
    check(*state_, call, own,
          is_rank ? broadcast_from(*state_, call, own, bytes, root.value) : share(*state_, call, own, none),
          [&] { return fmt::format("{} of {} from rank {}", call, text_of_values(bytes.size(), type), root.value); });
    detail::support::require_rank(root, size_, [this] { return who() + ": Team::broadcast"; }, "root");
}

void Team::combine(std::span<std::byte> value, CombineValues combine, void* context, const char* type) {
    constexpr const char* call = "Team::combine";
    state_->require_open(call);
    check_or_refuse(*state_, call, [&] {
        if (value.size() > piece_bytes)
            throw RangeError{
                fmt::format("{}: Team::combine: a value of {} bytes is above the limit of {} bytes; combine its parts",
                            who(), value.size(), piece_bytes)};
    });
    const std::int64_t passed = number_of(Call::combine, value.size(), number_of(type));
    const auto agreed = [&](const Agreement& agreement) {
        check(*state_, call, passed, agreement,
              [&] { return fmt::format("{} of {}", call, text_of_values(value.size(), type)); });
    };
    // First, so that nothing is under way where a rank has made another call.
    NoValues none;
    agreed(share(*state_, call, passed, none));
    CombinedValue sum{value};
    ValueMessages messages{*state_, call, ValueMessages::Tag::combine};
    // A binomial tree: in the round of `distance`, ranks that are multiples of twice the distance combine their value
    // with that of the rank `distance` after them, which represents as many ranks.
    const int own = rank_.value;
    for (std::int64_t distance = 1; distance < size_; distance *= 2) {
        if (own % (2 * distance) != 0) {
            messages.send(static_cast<int>(own - distance), {passed, passed}, sum.all());
            break;
        }
        if (own + distance >= size_) continue;
        const std::span<std::byte> other = messages.receive(static_cast<int>(own + distance)).values;
        sum.take(own, other.data(), [&](std::byte* values) { combine(context, values, other.data()); });
    }
    state_->synchronisation().count(
        call); // on every rank, whatever its part in the tree: the broadcast is another call
    agreed(broadcast_from(*state_, call, passed, sum.all(), 0));
    sum.rethrow(sum.failure(), *state_, "combine");
    std::ranges::copy(sum.all().first(value.size()), value.begin());
}

bool Team::combine_before(std::span<const std::byte> value, std::span<std::byte> before, CombineValues combine,
                          void* context) {
    constexpr const char* call = "Team::combine_before";
    state_->require_open(call);
    check_or_refuse(*state_, call, [&] {
        if (value.size() > piece_bytes || before.size() != value.size())
            throw RangeError{fmt::format("{}: Team::combine_before: a value of {} bytes, and {} for the result; both "
                                         "are the same, and at most {}",
                                         who(), value.size(), before.size(), piece_bytes)};
    });
    const int own = rank_.value;
    const std::int64_t passed = number_of(Call::combine_before, value.size());
    NoValues none;
    check(*state_, call, passed, share(*state_, call, passed, none),
          [&] { return fmt::format("{} of {} bytes", call, value.size()); });
    CombinedValue sum{value};
    ValueMessages messages{*state_, call, ValueMessages::Tag::combine};
    const auto send = [&](std::int64_t target, const CombinedValue& what) {
        messages.send(static_cast<int>(target), {passed, passed}, what.all());
    };
    const auto receive = [&](std::int64_t source) { return messages.receive(static_cast<int>(source)).values; };
    // Up: in the round of `distance` a rank that is a multiple of twice the distance adds the sum of the rank
    // `distance` after it, and keeps its own sum from before: that of the ranks [own, own + distance).
    std::vector<CombinedValue> stood_for;
    CombinedValue from_before{value};
    std::int64_t distance = 1;
    for (; distance < size_ && own % (2 * distance) == 0; distance *= 2) {
        stood_for.push_back(sum);
        if (own + distance >= size_) continue;
        const std::span<std::byte> other = receive(own + distance);
        sum.take(own, other.data(), [&](std::byte* values) { combine(context, values, other.data()); });
    }
    const bool any = distance < size_;
    if (any) {
        send(own - distance, sum);
        // Down: the sum before the rank that it was sent to, and before the ranks which that one represented.
        const std::span<std::byte> other = receive(own - distance);
        std::memcpy(from_before.all().data(), other.data(), from_before.all().size());
    }
    std::exception_ptr failure = sum.failure();
    while (distance > 1) {
        distance /= 2;
        const CombinedValue& left = stood_for.back();
        if (own + distance < size_) {
            sum = left;
            if (any) {
                sum = from_before;
                sum.take(own, left.all().data(),
                         [&](std::byte* values) { combine(context, values, left.all().data()); });
            }
            if (failure == nullptr) failure = sum.failure();
            send(own + distance, sum);
        }
        stood_for.pop_back();
    }
    state_->synchronisation().count(call);
    from_before.rethrow(failure, *state_, "combine_before");
    if (any) std::ranges::copy(from_before.all().first(before.size()), before.begin());
    return any;
}

void Team::all_gather(std::span<const std::byte> value, std::span<std::byte> all) {
    constexpr const char* call = "Team::all_gather";
    state_->require_open(call);
    const auto ranks = static_cast<std::uint64_t>(size_);
    check_or_refuse(*state_, call, [&] {
        if (all.size() / ranks != value.size() || all.size() % ranks != 0)
            throw RangeError{fmt::format(
                "{}: Team::all_gather: values of {} bytes of {} ranks into {} bytes; pass room for {} bytes", who(),
                value.size(), size_, all.size(), value.size() * ranks)};
    });
    const std::int64_t own = number_of(Call::all_gather, value.size());
    check(*state_, call, own, gather_alike(*state_, call, own, value, all), [&] {
        return fmt::format("{} of {} bytes of each rank (all_gather_varying takes different numbers)", call,
                           value.size());
    });
}

void Team::all_gather_varying(std::span<const std::byte> value, std::span<std::uint64_t> bytes_of,
                              const GatherRoom& room, const char* type) {
    constexpr const char* call = "Team::all_gather_varying";
    state_->require_open(call);
    check_or_refuse(*state_, call, [&] {
        if (bytes_of.size() != static_cast<std::size_t>(size_))
            throw RangeError{fmt::format("{}: {}: room for {} lengths; pass room for one of each of {} ranks", who(),
                                         call, bytes_of.size(), size_)};
    });
    const std::int64_t own = number_of(Call::varying, number_of(type));
    const std::uint64_t length = value.size();
    check(*state_, call, own,
          gather_alike(*state_, call, own, std::as_bytes(std::span{&length, 1}), std::as_writable_bytes(bytes_of)),
          [&] { return fmt::format("{} of {}", call, text_of_values(length, type)); });
    std::exception_ptr failure;
    std::span<std::byte> all;
    std::uint64_t total = 0;
    try {
        for (const std::uint64_t bytes : bytes_of)
            if (__builtin_add_overflow(total, bytes, &total))
                throw RangeError{fmt::format("{}: {}: the ranks' values are more than 2^64 bytes", who(), call)};
        all = room(total);
        if (all.size() < total)
            throw RangeError{fmt::format("{}: {}: room for {} bytes, and the ranks' values are {} bytes; pass as much",
                                         who(), call, all.size(), total)};
        all = all.first(total);
    } catch (...) {
        failure = std::current_exception();
    }
    // A rank without room differs from the others, which it would keep waiting.
    const std::int64_t well = number_of(Call::varying, total, failure != nullptr);
    if (!gather_all(*state_, call, well, value, bytes_of, all, failure == nullptr).holds() || failure != nullptr)
        detail::mpi::throw_failure(state_->communicator(), failure,
                                   fmt::format("{}: {}: nothing was gathered", who(), call));
}

void Team::require_same(std::span<const std::int64_t> value, const char* call, const char* what) {
    state_->require_open("Team::require_same");
    const std::int64_t own = number_of(Call::require_same, hash_of(std::as_bytes(value)), value.size());
    NoValues none;
    const Agreement agreement = share(*state_, call, own, none);
    if (agreement.holds()) return;
    state_->synchronisation().throw_arguments_differ(
        fmt::format("{}: {}", who(), call),
        {.number = own, .text = [&] { return fmt::format("{} {}", what, fmt::join(value, " x ")); }}, agreement.lowest,
        agreement.highest);
}

} // namespace lapwing
