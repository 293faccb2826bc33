// Room: team
#pragma once

#include <lapwing/detail/team_functions.hpp>
#include <lapwing/error.hpp>
#include <lapwing/path.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/statistics.hpp>
#include <lapwing/values.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace lapwing {

namespace detail::team {
class TeamState;
} // namespace detail::team

/// Values of all ranks, in the order of the ranks: what Team::all_gather_varying() returns.
template <class T>
struct GatheredFromRanks {
    std::vector<T> values;                ///< of all ranks
    std::vector<std::uint64_t> begins{0}; ///< where each rank's begin, and the end of all: one more than ranks

    /// Those of one rank. Throws std::out_of_range where there is no such rank.
    [[nodiscard]] std::span<const T> of(Rank rank) const {
        const auto at = static_cast<std::size_t>(rank.value);
        return std::span{values}.subspan(begins.at(at), begins.at(at + 1) - begins.at(at));
    }
};

/// The ranks of an intracommunicator, the path from this rank to each of them, and the engine that makes progress on
/// their one-sided operations. Programs make a Runtime, which is a Team; windows and arrays take either.
///
/// "Collective" below means: every rank of the team makes the call, in the same order relative to the team's other
/// collective calls. Calls that are not collective may come from several threads if MPI provides MPI_THREAD_MULTIPLE.
class Team : public detail::team::TeamFunctions<Team> {
public:
    /// Collective over `communicator`, which is duplicated and never changed. MPI must be initialised. Throws
    /// SettingError, MpiError, and MismatchError if the ranks' collective settings differ.
    /// Cost: a few collectives of logarithmic depth; service buffers of about 1.5 MiB (LAPWING_SERVICE_PACKET).
    Team(MPI_Comm communicator, const Settings& settings);

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    /// As close(), but reports no errors. When the stack unwinds from an exception, it leaves without waiting for the
    /// others, whose pending and later collective calls then throw PeerLeftError.
    ~Team();

    /// Collective. Completes all operations and releases what the team holds; its windows must be closed before. Throws
    /// UsageError if windows are still open, if MPI is already finalized, or if another rank is waiting in the close of
    /// another team that both share (then close that one first, and call again).
    void close();
    /// Whether close() has returned.
    [[nodiscard]] bool closed() const noexcept;

    /// The calling rank, in [0, size()).
    [[nodiscard]] Rank rank() const noexcept { return rank_; }
    /// Number of ranks.
    [[nodiscard]] int size() const noexcept { return size_; }

    /// Path to `target`'s part of windows that Lapwing allocates. Throws RangeError.
    [[nodiscard]] Path path(Rank target) const;
    /// Path between nodes: rma or service; `direct` when the team is on one node.
    [[nodiscard]] Path network_path() const noexcept { return network_path_; }
    /// Whether a thread makes progress, or only calls do: the same on all ranks.
    [[nodiscard]] ProgressMode progress_mode() const noexcept { return progress_mode_; }
    /// Ranks on this rank's node, itself included.
    [[nodiscard]] int node_size() const noexcept { return node_size_; }
    /// Number of nodes that the team spans.
    [[nodiscard]] int nodes() const noexcept { return nodes_; }

    /// Collective. Release before, acquire after. Cost: on one node a shared counter, otherwise ceil(log2(nodes))
    /// messages. With an identity: throws MismatchError on every rank if ranks passed different ones (ranks that pass
    /// none match any). Throws PeerLeftError if a rank has left.
    void barrier(std::optional<std::int64_t> identity = {});

    /// Split-phase barrier, as upc_notify and upc_wait. notify() releases: it waits until this rank's puts are complete
    /// at their owners, but not for any other rank's notify. wait() returns when every rank has notified, and acquires.
    /// The identities of the two must match. Throws UsageError for wait without notify, and for notify twice;
    /// MismatchError and PeerLeftError as barrier().
    void notify(std::optional<std::int64_t> identity = {});
    void wait(std::optional<std::int64_t> identity = {});

    /// Local call. On return all puts of this rank to every window are complete at their owners. Throws the first error
    /// of a window, after all of them have been released as far as possible.
    void release();
    /// Local call. Later reads through every window see what was released before.
    void acquire();
    /// Local call. release() and acquire(): a memory fence, not MPI's collective call of that name.
    void fence();

    /// Makes one round of progress: serves other ranks' requests and completes this rank's operations. Only needed in
    /// long computations without a progress thread. Returns whether anything was done. Throws the error that made
    /// progress fail.
    bool progress();
    /// Waits for an MPI request of the program's own, as MPI_Wait does, and serves the other ranks meanwhile. For
    /// programs without a progress thread: a rank that waits in MPI serves nobody, so that another rank's release would
    /// have to wait for it. On return `request` is as MPI leaves it, and `status` is set. Throws PeerLeftError if a
    /// rank has left; `request` is then still the program's. Cost: that of polling it.
    void wait_request(MPI_Request& request, MPI_Status* status = MPI_STATUS_IGNORE);

    /// Collective. Reductions of `values` and a broadcast, in place; other ranks' requests are served meanwhile. As
    /// every call below they compare what the ranks pass, which travels with the values: the call, type, number and
    /// operation, or root. Where these differ all ranks throw MismatchError, with what two of them have passed; values
    /// are as before, and all ranks can go on. Throw PeerLeftError. Cost: as many rounds of messages as the logarithm
    /// of the ranks (recursive doubling), and above 32 KiB MPI's collective after them. No rank returns before all
    /// call.
    void sum(std::span<double> values);
    void sum(std::span<std::int64_t> values);
    void min(std::span<double> values);
    void min(std::span<std::int64_t> values);
    void max(std::span<double> values);
    void max(std::span<std::int64_t> values);
    /// `type`: a name of the elements' type, which ranks compare too; as detail::values::type_name() makes it.
    void broadcast(std::span<std::byte> bytes, Rank root, const char* type = "");

    /// The same for one value on every rank: returns the sum, the smallest, or the largest on all of them. 64-bit
    /// integers wrap around; if a narrower type cannot hold the sum, every rank throws RangeError. For bool, min() is
    /// true if all are, and max() if any is. Any other trivially copyable type with + or <, such as std::complex, is
    /// combined in the order of the ranks, at the cost of reduce().
    template <class T>
        requires(!detail::values::Range<const T&>)
    [[nodiscard]] T sum(T value) {
        constexpr bool is_bool = std::is_same_v<T, bool>;
        static_assert(!is_bool, "lapwing: a sum of bool is not a bool: pass std::int64_t{value} to count, or use max() "
                                "for any and min() for all");
        // A narrow sum is exact in 64 bits for any possible number of ranks.
        if constexpr (is_bool) {
            return value;
        } else if constexpr (Number<T> && std::is_floating_point_v<T>) {
            return static_cast<T>(reduced(static_cast<double>(value), &Team::sum));
        } else if constexpr (Number<T>) {
            const std::int64_t total = reduced(static_cast<std::int64_t>(value), &Team::sum);
            if constexpr (sizeof(T) < 8)
                if (total < std::int64_t{std::numeric_limits<T>::min()} ||
                    total > std::int64_t{std::numeric_limits<T>::max()})
                    throw_sum_too_large(total, 8 * sizeof(T), std::is_signed_v<T>);
            return static_cast<T>(total);
        } else {
            constexpr bool adds = requires { static_cast<T>(value + value); };
            static_assert(adds,
                          "lapwing: sum() needs a type with +; Team::reduce(value, operation) takes any operation");
            if constexpr (adds) return reduce(value, [](const T& a, const T& b) { return static_cast<T>(a + b); });
            else return value;
        }
    }
    template <class T>
        requires(!detail::values::Range<const T&>)
    [[nodiscard]] T min(T value) {
        if constexpr (std::is_floating_point_v<T> && Number<T>)
            return static_cast<T>(reduced(static_cast<double>(value), &Team::min));
        else if constexpr (Number<T> && (sizeof(T) < 8 || std::is_signed_v<T>))
            return static_cast<T>(reduced(static_cast<std::int64_t>(value), &Team::min));
        else if constexpr (Number<T>) {
            all_reduce(&value, 1, MPI_UINT64_T, MPI_MIN);
            return value;
        } else if constexpr (check_ordered<T>())
            return reduce(value, [](const T& a, const T& b) { return b < a ? b : a; });
        else return value;
    }
    template <class T>
        requires(!detail::values::Range<const T&>)
    [[nodiscard]] T max(T value) {
        if constexpr (std::is_floating_point_v<T> && Number<T>)
            return static_cast<T>(reduced(static_cast<double>(value), &Team::max));
        else if constexpr (Number<T> && (sizeof(T) < 8 || std::is_signed_v<T>))
            return static_cast<T>(reduced(static_cast<std::int64_t>(value), &Team::max));
        else if constexpr (Number<T>) {
            all_reduce(&value, 1, MPI_UINT64_T, MPI_MAX);
            return value;
        } else if constexpr (check_ordered<T>())
            return reduce(value, [](const T& a, const T& b) { return a < b ? b : a; });
        else return value;
    }
    /// Collective. Combines one value of every rank, of any trivially copyable type of at most 4 MiB, in the order of
    /// the ranks, by an operation that is associative: `runtime.reduce(z, std::multiplies<>{})`. The result is the same
    /// on every rank. What the operation throws on one rank is thrown there, and a UsageError on the others. Throws
    /// PeerLeftError. Cost: a binomial tree of messages, and a broadcast.
    template <class T, class Operation>
        requires(!detail::values::Range<const T&>)
    [[nodiscard]] T reduce(T value, Operation operation) {
        if constexpr (detail::values::check_value<T>()) {
            const auto combine_values = [](void* context, void* left, const void* right) {
                T& sum = *static_cast<T*>(left);
                T other;
                std::memcpy(&other, right, sizeof other);
                sum = static_cast<T>((*static_cast<Operation*>(context))(sum, other));
            };
            combine(detail::values::bytes_of(value), combine_values, &operation, detail::values::type_name<T>());
        }
        return value;
    }
    /// Collective. Returns, on every rank, the value that rank `root` passes. Throws RangeError if `root` is not a
    /// rank; ranks that pass another one then throw MismatchError.
    template <class T>
        requires(!detail::values::Range<const T&>)
    [[nodiscard]] T broadcast(const T& value, Rank root) {
        T result = value;
        if constexpr (detail::values::check_value<T>())
            broadcast(detail::values::bytes_of(result), root, detail::values::type_name<T>());
        return result;
    }
    /// Collective. Any contiguous range becomes a copy of rank `root`'s, in place; its size must be the same on all
    /// ranks.
    template <detail::values::Range V>
    void broadcast(V&& values, Rank root) {
        if constexpr (detail::values::check_destination<V>())
            broadcast(detail::values::bytes_of(values), root,
                      detail::values::type_name<std::ranges::range_value_t<V>>());
    }
    /// Collective, in general form: MPI_Allreduce in place over `count` values of `type`.
    void all_reduce(void* values, std::uint64_t count, MPI_Datatype type, MPI_Op operation);

    /// Collective. Combines one value of every rank, in the order of the ranks, into `value` on every rank.
    /// `combine(context, left, right)` stores its result in `left`, and must be associative. If it throws on a rank,
    /// `value` is unchanged everywhere, and that rank gets what it has thrown, the others a UsageError. `value` has the
    /// same size on all ranks, at most 4 MiB; `type` as in broadcast(). Cost: a reduction that compares what the ranks
    /// pass, a binomial tree of messages, and a broadcast.
    using CombineValues = void (*)(void* context, void* left, const void* right);
    void combine(std::span<std::byte> value, CombineValues combine, void* context, const char* type = "");
    /// Collective. Combines the values of the ranks before this one, in their order, into `before`; returns false on
    /// rank 0, which has none. `value` and `combine` as above; `before` has the size of `value`. Where `combine`
    /// throws, ranks whose result contains that value get the error. Cost: a reduction that compares what the ranks
    /// pass, and a binomial tree of messages, up and down (Blelloch, "Prefix Sums and Their Applications", 1990).
    [[nodiscard]] bool combine_before(std::span<const std::byte> value, std::span<std::byte> before,
                                      CombineValues combine, void* context);
    /// Collective. Gathers the values of all ranks, of the same size on each, into `all`, in the order of the ranks;
    /// `all` has the size of all values together. Throws RangeError, MismatchError, PeerLeftError. Cost: up to 32 KiB
    /// for all ranks that of a reduction, above that also MPI_Allgather, in pieces of 4 MiB, through a buffer of that
    /// size.
    void all_gather(std::span<const std::byte> value, std::span<std::byte> all);

    /// Collective. The values of all ranks, of which each passes as many as it likes, in the order of the ranks:
    /// `runtime.all_gather_varying(found).of(Rank{2})`. Throws MismatchError if the ranks' types differ, PeerLeftError;
    /// if a rank has no memory for all values, std::bad_alloc there and UsageError elsewhere. Cost: an all_gather() of
    /// the numbers, and one of the values (above 32 KiB for all ranks MPI_Allgatherv, in pieces of 4 MiB).
    template <detail::values::Range V>
    [[nodiscard]] auto all_gather_varying(const V& values) {
        using Value = std::ranges::range_value_t<const V&>;
        GatheredFromRanks<Value> all;
        if constexpr (detail::values::check_argument<const V&>()) {
            std::vector<std::uint64_t> bytes_of(static_cast<std::size_t>(size_));
            const auto room = [&](std::uint64_t bytes) {
                all.values.resize(static_cast<std::size_t>(bytes) / sizeof(Value));
                return std::as_writable_bytes(std::span{all.values});
            };
            all_gather_varying(detail::values::bytes_of(values), bytes_of, room, detail::values::type_name<Value>());
            all.begins.reserve(bytes_of.size() + 1);
            for (const std::uint64_t bytes : bytes_of) all.begins.push_back(all.begins.back() + bytes / sizeof(Value));
        }
        return all;
    }
    /// The general form: `bytes_of` gets the number of bytes of each rank, one for each. Then `room(bytes)` is called,
    /// which returns memory for as many, those of all ranks; if it returns less, that is RangeError. `type` as in
    /// broadcast().
    using GatherRoom = std::function<std::span<std::byte>(std::uint64_t bytes)>;
    void all_gather_varying(std::span<const std::byte> value, std::span<std::uint64_t> bytes_of, const GatherRoom& room,
                            const char* type = "");

    /// Collective. Throws MismatchError on every rank if `value` is not the same on all; `call` and `what` go into the
    /// message, with the values of two ranks. Costs one reduction.
    void require_same(std::span<const std::int64_t> value, const char* call, const char* what);

    /// This rank's counters of the team: messages, and the counters of its closed windows. Open windows have their own.
    [[nodiscard]] StatisticsValues statistics() const;
    /// Collective: the sum over all ranks. After close(), a local call that returns the sum made by the close.
    [[nodiscard]] StatisticsValues total_statistics();

    /// Text that starts an error message: "rank 2 of 4". For code built on the team.
    [[nodiscard]] std::string who() const;

    /// The settings it was made with.
    [[nodiscard]] const Settings& settings() const noexcept;
    /// A description of several lines: MPI library, thread level, path to each group of ranks, settings that differ
    /// from the default.
    [[nodiscard]] std::string report() const;

    /// Internal: for the rooms above.
    [[nodiscard]] detail::team::TeamState& state() const;

private:
    /// True, or a compiler message and false.
    template <class T>
    [[nodiscard]] static consteval bool check_ordered() {
        constexpr bool ordered = requires(const T& a) { static_cast<bool>(a < a); };
        static_assert(
            ordered, "lapwing: min() and max() need a type with <; Team::reduce(value, operation) takes any operation");
        return ordered;
    }
    template <class S>
    [[nodiscard]] S reduced(S value, void (Team::*reduce)(std::span<S>)) {
        (this->*reduce)(std::span<S>{&value, 1});
        return value;
    }
    [[noreturn]] void throw_sum_too_large(std::int64_t sum, std::size_t bits, bool is_signed) const;

    std::unique_ptr<detail::team::TeamState> state_;
    Rank rank_{};
    int size_ = 0;
    int node_size_ = 0;
    int nodes_ = 0;
    Path network_path_ = Path::direct;
    ProgressMode progress_mode_ = ProgressMode::caller;
    int exceptions_at_start_ = 0; ///< to recognise an unwinding stack in the destructor
};

} // namespace lapwing
