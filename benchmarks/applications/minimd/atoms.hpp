#pragma once

#include "application.hpp"
#include "minimd/model.hpp"

#include <lapwing/aggregator.hpp>
#include <lapwing/cache.hpp>
#include <lapwing/cache_options.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/mapped_array.hpp>
#include <lapwing/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

/// Where atoms are, and how a rank reads those of others: a class for each way. Bins are named by their places in
/// NearBins, and atoms by their slots in a bin.
namespace lapwing::bench::applications::minimd_model {

/// The atoms of a rank's own bins as memory: slot s of bin k is element `k * bin_capacity + s`.
struct OwnAtoms {
    std::span<Vector> positions;
    std::span<Vector> velocities;
    std::span<std::int32_t> counts; ///< of atoms in each bin
};

/// Atoms in global arrays over the bins.
class AtomArrays {
public:
    AtomArrays(Ranks ranks, const Box& box, const NearBins& near, const CacheOptions& cache)
        : ranks_{ranks},
          near_{near},
          position_{ranks.runtime, extents(box), Block{grid(near, 1)}, {.name = "position", .cache = cache}},
          velocity_{ranks.runtime, extents(box), Block{grid(near, 1)}, {.name = "velocity", .cache = cache}},
          count_{ranks.runtime,
                 {box.bins(), box.bins(), box.bins()},
                 Block{grid(near, 0)},
                 {.name = "count", .cache = cache}},
          reaction_{ranks.runtime,
                    {box.bins(), box.bins(), box.bins(), std::int64_t{bin_capacity}, 3},
                    Block{grid(near, 2)},
                    {.name = "reaction", .cache = cache}},
          sums_{ranks.runtime, {box.bins(), box.bins(), box.bins()}, Block{grid(near, 0)}, {.name = "sums"}},
          pattern_{.depth = box.depth(), .periodic = {true, true, true}} {}

    [[nodiscard]] OwnAtoms own() { return {position_.local_span(), velocity_.local_span(), count_.local_span()}; }

    /// Collective: on return of all the sums of all bins, in ascending order.
    [[nodiscard]] std::vector<Sums> collected(std::span<const Sums> own) {
        std::ranges::copy(own, sums_.local_span().begin());
        ranks_.runtime.barrier();
        std::vector<Sums> all(sums_.size());
        sums_(sums_.domain()).get(all);
        ranks_.runtime.barrier();
        return all;
    }

    /// Leaves the arrays without copies of what other ranks have.
    void evict() {
        for (auto* array : {&position_, &velocity_}) array->evict();
        count_.evict();
    }

protected:
    [[nodiscard]] Ranks ranks() const { return ranks_; }
    [[nodiscard]] const NearBins& near() const { return near_; }
    [[nodiscard]] GlobalArray<Vector, 4>& position() { return position_; }
    [[nodiscard]] const GlobalArray<Vector, 4>& position() const { return position_; }
    [[nodiscard]] GlobalArray<Vector, 4>& velocity() { return velocity_; }
    [[nodiscard]] const GlobalArray<Vector, 4>& velocity() const { return velocity_; }
    [[nodiscard]] GlobalArray<std::int32_t, 3>& count() { return count_; }
    [[nodiscard]] const GlobalArray<std::int32_t, 3>& count() const { return count_; }
    [[nodiscard]] GlobalArray<double, 5>& reaction() { return reaction_; }
    /// What a rank reads: the bins around its own ones.
    [[nodiscard]] const Stencil& pattern() const { return pattern_; }

    /// Calls `add(index, value)` for each number of the forces on ghosts, and on return of all adds what others have
    /// added for own atoms. `add` adds to an element of reaction().
    template <class Add>
    void exchange_reactions(std::span<Vector> forces, std::span<const std::int32_t> counts, const Add& add) {
        for (std::size_t bin = near_.own(); bin < near_.count(); ++bin) {
            const auto& [x, y, z] = near_[bin];
            for (std::int64_t slot = 0; slot < counts[bin]; ++slot) {
                const Vector& force = forces[bin * bin_capacity + static_cast<std::size_t>(slot)];
                if (dot(force, force) == 0) continue; // of a bin whose pairs are computed elsewhere
                add(Index<5>{x, y, z, slot, 0}, force.x);
                add(Index<5>{x, y, z, slot, 1}, force.y);
                add(Index<5>{x, y, z, slot, 2}, force.z);
            }
        }
        ranks_.runtime.barrier();
        const std::span<double> own = reaction_.local_span();
        for (std::size_t k = 0; k < near_.own() * bin_capacity; ++k)
            forces[k] += Vector{own[3 * k], own[3 * k + 1], own[3 * k + 2]};
        std::ranges::fill(own, 0.0);
    }

private:
    [[nodiscard]] static Extents<4> extents(const Box& box) {
        return {box.bins(), box.bins(), box.bins(), std::int64_t{bin_capacity}};
    }
    /// The processes of the bins, for an array with so many dimensions more, which stay whole.
    [[nodiscard]] static std::vector<int> grid(const NearBins& near, std::size_t more) {
        std::vector<int> grid = near.grid();
        grid.resize(grid.size() + more, 1);
        return grid;
    }

    Ranks ranks_;
    const NearBins& near_;
    GlobalArray<Vector, 4> position_;
    GlobalArray<Vector, 4> velocity_;
    GlobalArray<std::int32_t, 3> count_;
    GlobalArray<double, 5> reaction_; ///< forces on atoms, by those of other ranks
    GlobalArray<Sums, 3> sums_;
    Stencil pattern_;
};

/// Reads element by element: from copies if there are some, else through the cache if there is one.
class ElementAtoms : public AtomArrays {
public:
    enum class Help : std::uint8_t { none, hints, copies };

    ElementAtoms(Ranks ranks, const Box& box, const NearBins& near, const CacheOptions& cache)
        : AtomArrays{ranks, box, near, cache} {
        // Ghosts by the own bin that reads them first.
        std::vector<char> seen(near.count());
        first_reads_.resize(near.own());
        for (std::size_t bin = 0; bin < near.own(); ++bin)
            for (const Index<3>& offset : box.offsets()) {
                const Index<3>& from = near[bin];
                const auto ghost = near.place({from[0] + offset[0], from[1] + offset[1], from[2] + offset[2]});
                if (ghost >= near.own() && std::exchange(seen[ghost], 1) == 0) first_reads_[bin].push_back(ghost);
            }
    }

    /// Collective. What helps the loops, which stay the same.
    void choose(Help help) {
        hints_ = help == Help::hints;
        evict();
        if (help != Help::copies) return;
        position().prefetch(pattern());
        velocity().prefetch(pattern());
        count().prefetch(pattern());
    }

    // Collective: what ranks have written in their own bins is seen by all, and all have read what they read.
    void publish_positions() { ranks().runtime.barrier(); }
    void publish_atoms() { ranks().runtime.barrier(); }
    void finish_reading() { ranks().runtime.barrier(); }

    [[nodiscard]] std::int32_t count_of(std::size_t bin) const { return count()(near()[bin]); }
    [[nodiscard]] Vector position_of(std::size_t bin, std::size_t slot) const {
        const auto& [x, y, z] = near()[bin];
        return position()(x, y, z, slot);
    }
    [[nodiscard]] Vector velocity_of(std::size_t bin, std::size_t slot) const {
        const auto& [x, y, z] = near()[bin];
        return velocity()(x, y, z, slot);
    }
    /// Before the forces on the atoms of an own bin: hints what bins after it will read.
    void read_ahead(std::size_t bin, std::span<const std::int32_t> counts) {
        if (!hints_) return;
        distance_.ahead(static_cast<std::int64_t>(bin), static_cast<std::int64_t>(near().own()), [&](std::int64_t k) {
            for (const std::size_t ghost : first_reads_[static_cast<std::size_t>(k)]) {
                const auto& [x, y, z] = near()[ghost];
                for (std::int32_t slot = 0; slot < counts[ghost]; ++slot) position().prefetch(x, y, z, slot);
            }
        });
    }
    /// Collective. Forces on ghosts go to the owners, and those that others have computed are added to own ones.
    void exchange_forces(std::span<Vector> forces, std::span<const std::int32_t> counts) {
        exchange_reactions(forces, counts,
                           [this](const Index<5>& index, double value) { reaction()(index).atomic().add(value); });
    }

private:
    bool hints_ = false;
    std::vector<std::vector<std::uint32_t>> first_reads_; ///< ghosts that each own bin is the first to need
    PrefetchDistance distance_{16};
};

/// Reads by pointers into mapped arrays, which are refreshed in bulk.
class MappedAtoms : public AtomArrays {
public:
    MappedAtoms(Ranks ranks, const Box& box, const NearBins& near)
        : AtomArrays{ranks, box, near, {}},
          positions_{position().mapped(pattern())},
          velocities_{velocity().mapped(pattern())},
          counts_{count().mapped(pattern())} {
        for (const Index<3>& bin : near.bins()) bins_.push_back(box.number(bin));
    }

    void publish_positions() {
        ranks().runtime.barrier();
        positions_.refresh();
    }
    void publish_atoms() {
        publish_positions();
        velocities_.refresh();
        counts_.refresh();
    }
    void finish_reading() { ranks().runtime.barrier(); }

    [[nodiscard]] std::int32_t count_of(std::size_t bin) const { return counts_.data()[bins_[bin]]; }
    [[nodiscard]] const Vector& position_of(std::size_t bin, std::size_t slot) const {
        return positions_.data()[bins_[bin] * bin_capacity + slot];
    }
    [[nodiscard]] const Vector& velocity_of(std::size_t bin, std::size_t slot) const {
        return velocities_.data()[bins_[bin] * bin_capacity + slot];
    }
    void read_ahead(std::size_t /*bin*/, std::span<const std::int32_t> /*counts*/) {}
    void exchange_forces(std::span<Vector> forces, std::span<const std::int32_t> counts) {
        Aggregator aggregator{ranks().runtime};
        exchange_reactions(forces, counts,
                           [&](const Index<5>& index, double value) { aggregator.add.copy(reaction(), index, value); });
    }

private:
    MappedArray<Vector, 4> positions_;
    MappedArray<Vector, 4> velocities_;
    MappedArray<std::int32_t, 3> counts_;
    std::vector<std::size_t> bins_; ///< their numbers in the box
};

/// Plain MPI: copies of the ghosts behind own bins, exchanged in messages.
class MessageAtoms {
public:
    MessageAtoms(MPI_Comm world, const Box& box, const NearBins& near)
        : world_{world},
          near_{near},
          positions_(near.count() * bin_capacity),
          velocities_(near.count() * bin_capacity),
          counts_(near.count()),
          all_bins_{box.all_bins()} {
        for (const Index<3>& bin : near.bins().first(near.own())) numbers_.push_back(box.number(bin));
        int rank = 0;
        int size = 0;
        MPI_Comm_rank(world, &rank);
        MPI_Comm_size(world, &size);
        given_.resize(static_cast<std::size_t>(size));
        wanted_.resize(given_.size());
        for (std::size_t k = near.own(); k < near.count(); ++k)
            wanted_[static_cast<std::size_t>(near.map().locate(near[k]).owner.value)].push_back(k);
        for (int other = 0; other < size; ++other) {
            if (other == rank) continue;
            const NearBins of_other{box, size, other};
            for (const Index<3>& bin : of_other.bins().subspan(of_other.own()))
                if (near.map().locate(bin).owner.value == rank)
                    given_[static_cast<std::size_t>(other)].push_back(near.place(bin));
        }
    }

    [[nodiscard]] OwnAtoms own() {
        const std::size_t atoms = near_.own() * bin_capacity;
        return {std::span{positions_}.first(atoms), std::span{velocities_}.first(atoms),
                std::span{counts_}.first(near_.own())};
    }
    void publish_positions() { exchange(given_, wanted_, std::span{positions_}, bin_capacity, replace); }
    void publish_atoms() {
        exchange(given_, wanted_, std::span{counts_}, 1, replace);
        publish_positions();
        exchange(given_, wanted_, std::span{velocities_}, bin_capacity, replace);
    }
    void finish_reading() {}
    [[nodiscard]] std::int32_t count_of(std::size_t bin) const { return counts_[bin]; }
    [[nodiscard]] const Vector& position_of(std::size_t bin, std::size_t slot) const {
        return positions_[bin * bin_capacity + slot];
    }
    [[nodiscard]] const Vector& velocity_of(std::size_t bin, std::size_t slot) const {
        return velocities_[bin * bin_capacity + slot];
    }
    void read_ahead(std::size_t /*bin*/, std::span<const std::int32_t> /*counts*/) {}
    void exchange_forces(std::span<Vector> forces, std::span<const std::int32_t> /*counts*/) {
        exchange(wanted_, given_, forces, bin_capacity, [](Vector& force, const Vector& more) { force += more; });
    }
    [[nodiscard]] std::vector<Sums> collected(std::span<const Sums> own) const {
        std::vector<Sums> all(all_bins_);
        for (std::size_t k = 0; k < own.size(); ++k) all[numbers_[k]] = own[k];
        // Nothing but zeros is added to them.
        MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size() * sizeof(Sums) / sizeof(double)),
                      MPI_DOUBLE, MPI_SUM, world_);
        return all;
    }

private:
    /// For each rank places of bins.
    using BinLists = std::vector<std::vector<std::size_t>>;
    static constexpr auto replace = [](auto& old, const auto& now) { old = now; };

    /// Values of the bins `from` go to the ranks that they are listed for, which take them into the bins `to`. There is
    /// room for `room` values in each bin; only those of atoms travel.
    template <class T, class Take>
    void exchange(const BinLists& from, const BinLists& to, std::span<T> values, std::size_t room, const Take& take) {
        const auto length = [&](std::size_t bin) { return room == 1 ? 1 : static_cast<std::size_t>(counts_[bin]); };
        std::vector<std::vector<T>> sent(from.size());
        std::vector<std::vector<T>> received(from.size());
        std::vector<MPI_Request> requests;
        for (std::size_t rank = 0; rank < from.size(); ++rank) {
            std::size_t total = 0;
            for (const std::size_t bin : to[rank]) total += length(bin);
            received[rank].resize(total);
            if (total > 0)
                MPI_Irecv(received[rank].data(), static_cast<int>(total * sizeof(T)), MPI_BYTE, static_cast<int>(rank),
                          0, world_, &requests.emplace_back());
        }
        for (std::size_t rank = 0; rank < from.size(); ++rank) {
            for (const std::size_t bin : from[rank]) {
                const std::span<const T> atoms = values.subspan(bin * room, length(bin));
                sent[rank].insert(sent[rank].end(), atoms.begin(), atoms.end());
            }
            if (!sent[rank].empty())
                MPI_Isend(sent[rank].data(), static_cast<int>(sent[rank].size() * sizeof(T)), MPI_BYTE,
                          static_cast<int>(rank), 0, world_, &requests.emplace_back());
        }
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        for (std::size_t rank = 0; rank < from.size(); ++rank) {
            auto next = received[rank].begin();
            for (const std::size_t bin : to[rank])
                for (T& value : values.subspan(bin * room, length(bin))) take(value, *next++);
        }
    }

    MPI_Comm world_;
    const NearBins& near_;
    std::vector<Vector> positions_;
    std::vector<Vector> velocities_;
    std::vector<std::int32_t> counts_;
    std::size_t all_bins_;
    std::vector<std::size_t> numbers_; ///< of own bins in the box
    BinLists given_;                   ///< own bins that are ghosts of each rank
    BinLists wanted_;                  ///< ghosts that each rank owns
};

} // namespace lapwing::bench::applications::minimd_model
