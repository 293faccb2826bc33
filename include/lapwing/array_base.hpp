// Room: arrays
#pragma once

#include <lapwing/cache_options.hpp>
#include <lapwing/completion.hpp>
#include <lapwing/detail/array_copies.hpp>
#include <lapwing/detail/array_errors.hpp>
#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/detail/index_list.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/location.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/range.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/relabelling.hpp>
#include <lapwing/statistics.hpp>
#include <lapwing/team.hpp>
#include <lapwing/window.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing {

namespace detail::distribution {
class UserPlaces;
} // namespace detail::distribution

namespace detail::slices {
class SliceBase;
struct ArrayGeometry;
} // namespace detail::slices

/// Options of a GlobalArray besides its extents and distribution.
struct GlobalArrayOptions {
    std::string name = {};   ///< for messages and statistics
    CacheOptions cache = {}; ///< for elements on other nodes; the same on all ranks
    /// Depth, in elements, of the space for copies around the local block, in each direction in which there are other
    /// ranks; the same on all ranks. PrefetchStorage::halo puts the copies of a stencil there. Block only.
    std::int64_t halo = 0;
};

namespace detail::arrays {

/// The largest alignment of elements.
inline constexpr std::size_t max_alignment = 64;

/// The level of the library's own checks (LAPWING_CHECKS), the same on all ranks.
[[nodiscard]] int checks(const Team& team) noexcept;

/// Collective, in a handler of an exception: other ranks make a collective call that begins with a barrier, the
/// creation of an array among them, and this one cannot. Throws the exception here, and there a UsageError with its
/// text.
[[noreturn]] void refuse_collective(Team& team);

/// Collective, the end of a call: throws on every rank if `failure` is not null on one. That rank throws `failure`, the
/// others UsageError with the text of the first, after the call on the array and `outcome`.
void end_collective(const ArrayTitle& array, Team& team, const char* call, std::exception_ptr failure,
                    const char* outcome);

/// What each rank checks, or computes for itself, before such a call. An error on one is an error on all.
template <class Compute>
auto before_collective(Team& team, Compute&& compute) {
    try {
        return std::forward<Compute>(compute)();
    } catch (...) {
        refuse_collective(team);
    }
}

/// What global arrays of all types and dimensions have in common.
class ArrayBase {
public:
    /// As given in the options; empty for an array without a name.
    [[nodiscard]] std::string_view name() const noexcept { return title_.name; }
    /// Whether close() was called or the array was moved from. Most other calls then throw UsageError.
    [[nodiscard]] bool closed() const noexcept { return window_.closed(); }
    /// The depth of the halo around the local block, as given in the options.
    [[nodiscard]] std::int64_t halo() const noexcept { return halo_; }
    /// The team and the memory of the array. Throw UsageError after close().
    [[nodiscard]] Team& team() const {
        require_open(".team");
        return *team_;
    }
    [[nodiscard]] Window& window() { return open_window(".window"); }

    /// As those of Window, for this array only (see the consistency table). Local calls.
    void flush() { open_window(".flush").flush(); }
    void flush(Rank target) { open_window(".flush").flush(target); }
    void acquire() { open_window(".acquire").acquire(); }
    void release() { open_window(".release").release(); }
    void fence() { open_window(".fence").fence(); }
    void invalidate_cache() { open_window(".invalidate_cache").invalidate_cache(); }
    /// Collective: Team::barrier().
    void barrier() const {
        require_open(".barrier");
        team_->barrier();
    }

    /// This rank's counters of the array, and, collective, the sum over all ranks.
    [[nodiscard]] StatisticsValues statistics() const {
        const Window& window = open_window(".statistics");
        copies_.count_hits();
        return window.statistics();
    }
    [[nodiscard]] StatisticsValues total_statistics() {
        Window& window = open_window(".total_statistics");
        copies_.count_hits();
        return window.total_statistics();
    }

    /// Local call; one rank may make it alone. Fills the copies of all prefetched elements (see GlobalArray::prefetch)
    /// with their owners' values; complete on return. As for a get, what other ranks have written must have been
    /// released before this rank's last acquire (a barrier in between is enough), and must not be written at the same
    /// time. Throws UsageError if nothing is prefetched. Cost: for each owner a planned transfer; all are under way at
    /// once.
    void update();
    /// Starts a fill. Until it completes, this rank must neither read nor write prefetched elements; if the copies are
    /// automatic, a read waits for it.
    Completion update_async();

    /// Internal, for halos. Throws UsageError if the ranges of a local domain have strides, RangeError for a negative
    /// depth and for one with which the block needs more than 2^62 bytes.
    void check_halo(std::span<const Range> own, std::int64_t depth) const;
    /// A completion that is complete when all of these are.
    [[nodiscard]] static Completion all_of(std::vector<Completion> completions);
    /// Internal. Collective: `step()`, and the barrier that collective calls end with if it may fail on some ranks
    /// only. What it throws on one rank is thrown there, and UsageError with its text on the others. `outcome`: the
    /// state after the call, in words.
    template <std::invocable Step>
    void end_collective(const char* call, Step&& step, const char* outcome) const {
        std::exception_ptr failure;
        try {
            std::forward<Step>(step)();
        } catch (...) {
            failure = std::current_exception();
        }
        arrays::end_collective(title_, *team_, call, failure, outcome);
    }

protected:
    ArrayBase() noexcept = default;
    /// Collective. `capacity` elements at every rank. `identity` is a hash of everything else that all ranks must pass
    /// alike. Throws RangeError, MpiError, MismatchError.
    ArrayBase(Team& team, std::uint64_t capacity, std::uint64_t element_bytes, unsigned element_alignment,
              WindowOptions::Identity identity, GlobalArrayOptions options);

    void close_window() {
        geometry_.reset();
        copies_.drop();
        window_.close();
        own_team_.keep(nullptr);
    }

    // Changes of the extents or the distribution.

    /// Collective. Throws on every rank if `failure` is not null on one: on that rank as throw_from_rebuild(), on the
    /// others UsageError with the text of the first. `call`: for example ".resize".
    void agree_to_rebuild(const char* call, const std::exception_ptr& failure) const;
    /// The same for prefetch(); the failing rank throws `failure` itself. `outcome`: the state after the call, in
    /// words.
    void agree_to_prefetch(const std::exception_ptr& failure, const char* outcome) const;

    /// Collective. The order of the ranks for the elements of `all`, which is this array, under another distribution:
    /// arguments as for make_geometry().
    [[nodiscard]] Relabelling relabelling_to(const slices::SliceBase& all,
                                             std::span<const distribution::DimensionMap> maps,
                                             std::shared_ptr<const distribution::UserPlaces> user_map,
                                             bool replicated) const;
    /// Throws UsageError unless `team` has the ranks of this array's team.
    void require_same_ranks(const char* call, Team& team) const;

    /// For an array whose other members are made: makes what slices refer to. `maps` are empty if there is a
    /// user-defined map.
    void make_geometry(std::span<const std::int64_t> extents, std::span<const distribution::DimensionMap> maps,
                       std::uint64_t origin, std::shared_ptr<const distribution::UserPlaces> user_map, bool replicated,
                       std::uint64_t element_bytes);
    /// Local call. The local elements of `target` become those of `source`, which has the same number, except for those
    /// that it does not store.
    static void take(const slices::SliceBase& target, const slices::SliceBase& source);

    /// The barrier that collective calls begin with. Throws MismatchError on every rank unless all make this call on
    /// this array.
    void begin_collective(std::string_view call) const;
    /// The same with arguments, which ranks compare in that barrier at level 1 of the library's checks: throws
    /// MismatchError with `what` and the numbers that two ranks have passed.
    void begin_collective(std::string_view call, const char* what, std::span<const std::int64_t> arguments) const;

    /// Collective, for when all ranks already know that one has failed.
    [[noreturn]] void throw_failure(const char* call, const std::exception_ptr& failure, const char* outcome) const;

    void require_open(const char* call) const {
        if (window_.map().ranks == 0) [[unlikely]] // closed, or MPI is finalized
            throw_not_open(title_, window_.closed(), call);
    }
    /// The window, if the array is open; error messages then name the program's call on the array.
    [[nodiscard]] Window& open_window(const char* call) const {
        require_open(call);
        return window_;
    }

    /// The same of what slices refer to.
    [[nodiscard]] const std::shared_ptr<const slices::ArrayGeometry>& geometry(const char* call) const {
        require_open(call);
        return geometry_;
    }

    /// Collective. Whether `here` is true on any rank; `index` becomes that of the first such rank.
    [[nodiscard]] bool first_rank_with(bool here, std::span<std::int64_t> index) const;

    /// Writes `bytes` bytes to `offset` of every rank's part: for a replicated element.
    void put_to_all(Offset offset, const void* value, std::uint64_t bytes) const;

    /// Writes a list of replicated elements.
    [[nodiscard]] Completion start_list_to_all(std::span<ListedPlace> places, std::uint64_t element_bytes,
                                               std::byte* values) const;
    void check_rank(const char* call, Rank rank) const;
    /// Throws UsageError if the teams of the two arrays do not have the same ranks, in any order. For teams of equal
    /// sizes this is only checked if `Costly`.
    template <bool Costly>
    void check_same_ranks(const ArrayBase& other) const {
        if (team_ != other.team_ && (team_->size() != other.team_->size() ||
                                     ((Costly || checks(*team_) >= 2) && !same_ranks(other)))) [[unlikely]]
            throw_ranks_differ(title_, team_->size(), other.title_, other.team_->size());
    }

    /// A team owned by the array, its last user: released after the window, also when another array is moved here.
    class OwnTeam {
    public:
        OwnTeam() noexcept = default;
        OwnTeam(OwnTeam&&) noexcept = default;
        OwnTeam& operator=(OwnTeam&& other) noexcept {
            team_.swap(other.team_);
            return *this;
        }
        ~OwnTeam() = default;

        void keep(std::shared_ptr<Team> team) noexcept { team_ = std::move(team); }
        [[nodiscard]] const std::shared_ptr<Team>& get() const noexcept { return team_; }

    private:
        std::shared_ptr<Team> team_; ///< null: the team is the program's
    };

    OwnTeam own_team_;      ///< before the window, so that it is destroyed after it
    mutable Window window_; ///< mutable, because reading remote elements counts and completes operations
    Team* team_ = nullptr;
    ArrayTitle title_;
    std::uint64_t capacity_ = 0; ///< elements in every rank's part
    CacheOptions cache_;
    std::int64_t halo_ = 0;                                 ///< as in the options
    std::shared_ptr<const slices::ArrayGeometry> geometry_; ///< null if closed
    ArrayCopies copies_;

private:
    [[nodiscard]] bool same_ranks(const ArrayBase& other) const;
};

/// Times around the array until `depth` indices beyond its edge are reached. The array is not empty.
[[nodiscard]] constexpr std::int64_t turns(std::int64_t depth, const Range& whole) noexcept {
    return depth == 0 ? 0 : (depth - 1) / static_cast<std::int64_t>(whole.size()) + 1;
}

/// Of a constructor, before there is an array; `name` is the array's. Throws RangeError when an extent is negative or
/// the number of elements above 2^64 - 1.
void check_extents(const Team& team, std::string_view name, std::span<const std::int64_t> extents);
/// A hash of extents and distribution; equal inputs give equal hashes, collisions are rare. `dimensions` are empty for
/// a user-defined distribution, which `user_map` identifies.
[[nodiscard]] std::uint64_t identity_of(std::span<const std::int64_t> extents,
                                        std::span<const distribution::DimensionMap> dimensions, bool replicated,
                                        std::uint64_t user_map) noexcept;
/// What ranks compare when they make an array: that, and the elements' type, as detail::values::type_name() has it.
[[nodiscard]] WindowOptions::Identity creation_identity(std::span<const std::int64_t> extents,
                                                        std::span<const distribution::DimensionMap> dimensions,
                                                        bool replicated, std::uint64_t user_map, const char* type,
                                                        std::uint64_t element_bytes);
/// A hash of a user-defined distribution: its own identity, and where it places some elements and what it gives to some
/// ranks. Distributions that differ only elsewhere have the same hash.
[[nodiscard]] std::uint64_t identity_of(const distribution::UserPlaces& map, std::span<const std::int64_t> extents,
                                        int ranks);
/// Collective, for assertion level 3. Throw MismatchError on every rank.
void require_same_extents(Team& team, std::string_view name, std::span<const std::int64_t> extents);
/// `dimensions` are empty for a user-defined distribution, which has an `identity`, and for one that this rank could
/// not make: it takes part nevertheless, so that the others do not wait for it.
void require_same_map(Team& team, std::string_view name, std::span<const distribution::DimensionMap> dimensions,
                      std::uint64_t capacity, bool replicated, std::uint64_t identity = 0);

} // namespace detail::arrays
} // namespace lapwing
