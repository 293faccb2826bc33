// Team's reductions and broadcasts. They serve other ranks while they wait, and work on memory of their own: when a
// wait is given up, because a rank left, MPI may still write there.
#include "src/support/mpi_error.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

namespace lapwing {
namespace {

using detail::support::check_mpi;

/// Bytes that one MPI call works on.
constexpr std::uint64_t piece_bytes = std::uint64_t{4} << 20;
/// Of messages on the team's communicator that carry values to be combined.
constexpr int combine_tag = 0;

using Memory = detail::team::TeamState::Memory;

/// A value on its way through a tree of ranks that combine it by a function of the program's, followed by the rank on
/// which that function has thrown: the others go on as if it had not, so that nobody hangs. It begins at a multiple of
/// 64 bytes, an alignment that is enough for any type of value.
class CombinedValue {
public:
    explicit CombinedValue(std::span<const std::byte> value)
        : bytes_{value.size()}, lines_((value.size() + sizeof nobody + sizeof(Line) - 1) / sizeof(Line)) {
        std::memcpy(all().data(), value.data(), bytes_);
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

/// The messages of such a tree, one at a time.
class CombineMessages {
public:
    CombineMessages(detail::team::TeamState& team, const char* call, std::size_t bytes)
        : team_{team}, call_{call}, bytes_{bytes}, memory_{std::make_unique_for_overwrite<std::byte[]>(bytes)} {}

    void send(std::int64_t target, const CombinedValue& value) {
        std::memcpy(memory_.get(), value.all().data(), bytes_);
        complete([&](std::byte* place, MPI_Request* request) {
            check_mpi(MPI_Isend(place, static_cast<int>(bytes_), MPI_BYTE, static_cast<int>(target), combine_tag,
                                team_.communicator(), request),
                      "MPI_Isend", team_.who());
        });
    }
    /// Valid until the next call.
    [[nodiscard]] const std::byte* receive(std::int64_t source) {
        complete([&](std::byte* place, MPI_Request* request) {
            check_mpi(MPI_Irecv(place, static_cast<int>(bytes_), MPI_BYTE, static_cast<int>(source), combine_tag,
                                team_.communicator(), request),
                      "MPI_Irecv", team_.who());
        });
        return memory_.get();
    }

private:
    template <class Start>
    void complete(Start&& start) {
        team_.complete(memory_, call_, [&](std::byte* place) {
            MPI_Request request = MPI_REQUEST_NULL;
            start(place, &request);
            return request;
        });
    }

    detail::team::TeamState& team_;
    const char* call_;
    std::size_t bytes_;
    Memory memory_;
};

} // namespace

void Team::all_reduce(void* values, std::uint64_t count, MPI_Datatype type, MPI_Op operation) {
    state_->require_open("Team::all_reduce");
    MPI_Aint lower = 0;
    MPI_Aint true_extent = 0;
    check_mpi(MPI_Type_get_true_extent(type, &lower, &true_extent), "MPI_Type_get_true_extent", state_->who());
    MPI_Aint zero = 0;
    MPI_Aint extent = 0;
    check_mpi(MPI_Type_get_extent(type, &zero, &extent), "MPI_Type_get_extent", state_->who());
    if (count == 0) return;
    if (lower < 0 || true_extent + lower > extent || extent <= 0)
        throw UsageError{fmt::format(
            "{}: Team::all_reduce: the elements of the datatype overlap or lie before their start (extent {}, "
            "true extent {} from {}); use one whose elements follow each other",
            state_->who(), extent, true_extent, lower)};
    const auto element = static_cast<std::uint64_t>(extent);
    const std::uint64_t most = std::max<std::uint64_t>(1, piece_bytes / element);
    Memory memory = std::make_unique_for_overwrite<std::byte[]>(std::min(most, count) * element);
    for (std::uint64_t at = 0; at < count; at += most) {
        const std::uint64_t now = std::min(most, count - at);
        std::byte* const piece = static_cast<std::byte*>(values) + at * element;
        std::memcpy(memory.get(), piece, now * element);
        state_->complete(memory, "Team::all_reduce", [&](std::byte* place) {
            MPI_Request request = MPI_REQUEST_NULL;
            check_mpi(MPI_Iallreduce(MPI_IN_PLACE, place, static_cast<int>(now), type, operation,
                                     state_->communicator(), &request),
                      "MPI_Iallreduce", state_->who());
            return request;
        });
        state_->synchronisation().count("Team::all_reduce");
        std::memcpy(piece, memory.get(), now * element);
    }
}

void Team::sum(std::span<double> values) { all_reduce(values.data(), values.size(), MPI_DOUBLE, MPI_SUM); }
void Team::sum(std::span<std::int64_t> values) { all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_SUM); }
void Team::min(std::span<double> values) { all_reduce(values.data(), values.size(), MPI_DOUBLE, MPI_MIN); }
void Team::min(std::span<std::int64_t> values) { all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_MIN); }
void Team::max(std::span<double> values) { all_reduce(values.data(), values.size(), MPI_DOUBLE, MPI_MAX); }
void Team::max(std::span<std::int64_t> values) { all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_MAX); }

void Team::broadcast(std::span<std::byte> bytes, Rank root) {
    state_->require_open("Team::broadcast");
    if (root.value < 0 || root.value >= size_)
        throw RangeError{fmt::format("{}: Team::broadcast: root {} is outside [0, {}); pass a rank of the team", who(),
                                     root.value, size_)};
    if (state_->synchronisation().checks() >= 3)
        require_same(std::array<std::int64_t, 2>{static_cast<std::int64_t>(bytes.size()), root.value},
                     "Team::broadcast", "the number of bytes, and the root,");
    Memory memory = std::make_unique_for_overwrite<std::byte[]>(std::min<std::uint64_t>(piece_bytes, bytes.size()));
    for (std::uint64_t at = 0; at < bytes.size(); at += piece_bytes) {
        const std::uint64_t now = std::min<std::uint64_t>(piece_bytes, bytes.size() - at);
        if (root == rank_) std::memcpy(memory.get(), bytes.data() + at, now);
        state_->complete(memory, "Team::broadcast", [&](std::byte* place) {
            MPI_Request request = MPI_REQUEST_NULL;
            // On a communicator of their own, so that a broadcast cannot match a reduction of a rank that is in another
            // call.
            check_mpi(MPI_Ibcast(place, static_cast<int>(now), MPI_BYTE, root.value,
                                 state_->communicators().broadcasts(), &request),
                      "MPI_Ibcast", state_->who());
            return request;
        });
        state_->synchronisation().count("Team::broadcast");
        if (root != rank_) std::memcpy(bytes.data() + at, memory.get(), now);
    }
}

void Team::combine(std::span<std::byte> value, CombineValues combine, void* context) {
    state_->require_open("Team::combine");
    if (value.size() > piece_bytes)
        throw RangeError{
            fmt::format("{}: Team::combine: a value of {} bytes is above the limit of {} bytes; combine its parts",
                        who(), value.size(), piece_bytes)};
    CombinedValue sum{value};
    CombineMessages messages{*state_, "Team::combine", sum.all().size()};
    // A binomial tree: in the round of `distance`, ranks that are multiples of twice the distance combine their value
    // with that of the rank `distance` after them, which represents as many ranks.
    const int own = rank_.value;
    for (std::int64_t distance = 1; distance < size_; distance *= 2) {
        if (own % (2 * distance) != 0) {
            messages.send(own - distance, sum);
            break;
        }
        if (own + distance >= size_) continue;
        const std::byte* const other = messages.receive(own + distance);
        sum.take(own, other, [&](std::byte* values) { combine(context, values, other); });
    }
    state_->synchronisation().count(
        "Team::combine"); // on every rank, whatever its part in the tree: the broadcast is another call
    broadcast(sum.all(), Rank{0});
    sum.rethrow(sum.failure(), *state_, "combine");
    std::memcpy(value.data(), sum.all().data(), value.size());
}

bool Team::combine_before(std::span<const std::byte> value, std::span<std::byte> before, CombineValues combine,
                          void* context) {
    state_->require_open("Team::combine_before");
    if (value.size() > piece_bytes || before.size() != value.size())
        throw RangeError{fmt::format(
            "{}: Team::combine_before: a value of {} bytes, and {} for the result; both are the same, and at most {}",
            who(), value.size(), before.size(), piece_bytes)};
    const int own = rank_.value;
    CombinedValue sum{value};
    CombineMessages messages{*state_, "Team::combine_before", sum.all().size()};
    // Up: in the round of `distance` a rank that is a multiple of twice the distance adds the sum of the rank
    // `distance` after it, and keeps its own sum from before: that of the ranks [own, own + distance).
    std::vector<CombinedValue> stood_for;
    CombinedValue from_before{value};
    std::int64_t distance = 1;
    for (; distance < size_ && own % (2 * distance) == 0; distance *= 2) {
        stood_for.push_back(sum);
        if (own + distance >= size_) continue;
        const std::byte* const other = messages.receive(own + distance);
        sum.take(own, other, [&](std::byte* values) { combine(context, values, other); });
    }
    const bool any = distance < size_;
    if (any) {
        messages.send(own - distance, sum);
        // Down: the sum before the rank that it was sent to, and before the ranks which that one represented.
        std::memcpy(from_before.all().data(), messages.receive(own - distance), from_before.all().size());
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
            messages.send(own + distance, sum);
        }
        stood_for.pop_back();
    }
    state_->synchronisation().count("Team::combine_before");
    from_before.rethrow(failure, *state_, "combine_before");
    if (any) std::memcpy(before.data(), from_before.all().data(), before.size());
    return any;
}

void Team::all_gather(std::span<const std::byte> value, std::span<std::byte> all) {
    state_->require_open("Team::all_gather");
    const auto ranks = static_cast<std::uint64_t>(size_);
    if (all.size() / ranks != value.size() || all.size() % ranks != 0)
        throw RangeError{
            fmt::format("{}: Team::all_gather: values of {} bytes of {} ranks into {} bytes; pass room for {} bytes",
                        who(), value.size(), size_, all.size(), value.size() * ranks)};
    if (state_->synchronisation().checks() >= 3)
        require_same(std::array<std::int64_t, 1>{static_cast<std::int64_t>(value.size())}, "Team::all_gather",
                     "the number of bytes");
    if (value.empty()) return;
    // A piece is as many bytes of each value as all ranks' have room for.
    const std::uint64_t most = std::clamp<std::uint64_t>(piece_bytes / ranks, 1, value.size());
    Memory memory = std::make_unique_for_overwrite<std::byte[]>(most * (ranks + 1));
    for (std::uint64_t at = 0; at < value.size(); at += most) {
        const std::uint64_t now = std::min(most, value.size() - at);
        std::memcpy(memory.get(), value.data() + at, now);
        state_->complete(memory, "Team::all_gather", [&](std::byte* place) {
            MPI_Request request = MPI_REQUEST_NULL;
            const auto bytes = static_cast<int>(now);
            check_mpi(
                MPI_Iallgather(place, bytes, MPI_BYTE, place + now, bytes, MPI_BYTE, state_->communicator(), &request),
                "MPI_Iallgather", state_->who());
            return request;
        });
        state_->synchronisation().count("Team::all_gather");
        for (std::uint64_t rank = 0; rank < ranks; ++rank)
            std::memcpy(all.data() + rank * value.size() + at, memory.get() + now + rank * now, now);
    }
}

} // namespace lapwing
