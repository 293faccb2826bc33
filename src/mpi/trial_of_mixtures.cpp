#include "src/mpi/trial_of_mixtures.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/trial_of_atomics.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace lapwing::detail::mpi {

/// Operations of this rank on its own values, one after another without a flush, as an owner carries out lists of them.
class WindowTrial::InOrder {
public:
    InOrder(WindowTrial& trial, TrustedAtomics trusted) : trial_{trial}, trusted_{trusted} {}

    /// Whether all were carried out in the order of their calls.
    template <class T>
    [[nodiscard]] bool run(std::size_t which, T start, T operand) {
        constexpr AtomicType type = atomic_type_of<T>();
        constexpr std::size_t bytes = sizeof(T);
        const std::size_t place = offsetof(Memory, in_order) + which * sizeof(std::int64_t);
        std::byte* const value = reinterpret_cast<std::byte*>(&trial_.memory_) + place;
        std::memcpy(value, &start, bytes);
        MPI_Win_sync(trial_.window_);
        AtomicValueBytes now{};
        std::memcpy(now.data(), &start, bytes);
        std::array<AtomicValueBytes, most> expected{};
        std::size_t count = 0;
        bool works = true;
        for (unsigned k = 0; k < TrustedAtomics::operation_count && works; ++k) {
            const auto operation = AtomicOperation{static_cast<std::uint8_t>(k)};
            if (!trusted_.fetches(operation, type)) continue;
            const AtomicValueBytes before = now;
            now = value_after(operation, type, now.data(), &operand);
            expected[count] = before;
            works = fetch(operation, type, operand, place, count++);
            if (operation == AtomicOperation::read || !works) continue;
            now = value_after(operation, type, now.data(), &operand);
            works = accumulate(operation, type, operand, place);
        }
        works = works && swap(type, now, operand, place, expected, count);
        works = trial_.flush(trial_.rank_) && works;
        for (std::size_t i = 0; i < count; ++i)
            works = works && std::memcmp(expected[i].data(), trial_.buffers_->chain[i].data(), bytes) == 0;
        MPI_Win_sync(trial_.window_);
        return works && std::memcmp(value, &operand, bytes) == 0;
    }

private:
    static constexpr std::size_t most = TrustedAtomics::operation_count + 1;

    template <class T>
    bool fetch(AtomicOperation operation, AtomicType type, const T& operand, std::size_t place, std::size_t i) {
        return trial_.calls("MPI_Fetch_and_op", [&] {
            return MPI_Fetch_and_op(&operand, trial_.buffers_->chain[i].data(), mpi_type(type), trial_.rank_,
                                    trial_.at(place), mpi_operation(operation), trial_.window_);
        });
    }
    template <class T>
    bool accumulate(AtomicOperation operation, AtomicType type, const T& operand, std::size_t place) {
        return trial_.calls("MPI_Accumulate", [&] {
            return MPI_Accumulate(&operand, 1, mpi_type(type), trial_.rank_, trial_.at(place), 1, mpi_type(type),
                                  mpi_operation(operation), trial_.window_);
        });
    }
    /// Swaps the value that is there by then for the operand.
    template <class T>
    bool swap(AtomicType type, const AtomicValueBytes& now, const T& operand, std::size_t place,
              std::array<AtomicValueBytes, most>& expected, std::size_t& count) {
        trial_.buffers_->expected[0] = now; // until the flush
        expected[count] = now;
        AtomicValueBytes& before = trial_.buffers_->chain[count++];
        return trial_.calls("MPI_Compare_and_swap", [&] {
            return MPI_Compare_and_swap(&operand, trial_.buffers_->expected[0].data(), before.data(), mpi_type(type),
                                        trial_.rank_, trial_.at(place), trial_.window_);
        });
    }

    WindowTrial& trial_;
    TrustedAtomics trusted_;
};

bool WindowTrial::keeps_order(TrustedAtomics trusted) {
    AtomicValueBytes nothing;
    nothing.fill(untouched);
    buffers_->chain.fill(nothing);
    InOrder chain{*this, trusted};
    // For 4 bytes as well as 8: where not even compare-and-swap is trusted, nothing is used.
    const bool works = in_time() && chain.run<std::int32_t>(0, 5, 0x07654321) &&
                       chain.run<std::uint32_t>(1, 0x9abcdef0, 0x07654321) && chain.run<std::int64_t>(2, -5, 9) &&
                       chain.run<std::uint64_t>(3, 0x123456789abcdef0, 0x0fedcba987654321);
    if (!works) note("MPI's atomics of one rank on one value did not come one after another");
    return works;
}

bool WindowTrial::keeps_all_changes(Partners partners, TrustedAtomics trusted) {
    memory_.contended.fill(0);
    meet();
    const auto place = [](std::size_t i) { return offsetof(Memory, contended) + i * sizeof(std::int64_t); };
    Contention<std::int32_t> of_four{*this, trusted, place(0)};
    Contention<std::int64_t> of_eight{*this, trusted, place(1)};
    Contention<double> floating{*this, trusted, place(2)};
    of_four.run(partners.to);
    of_eight.run(partners.to);
    floating.run(partners.to);
    const auto told_here = [&](auto& one) { return tell(partners, one.there(), 0) + one.here(); };
    const std::array<std::int64_t, 3> accounts{told_here(of_four), told_here(of_eight), told_here(floating)};
    meet();
    std::int32_t four = 0;
    double eight = 0;
    std::memcpy(&four, &memory_.contended[0], sizeof four);
    std::memcpy(&eight, &memory_.contended[2], sizeof eight);
    const bool works = of_four.works() && of_eight.works() && floating.works();
    const bool right =
        accounts[0] == four && accounts[1] == memory_.contended[1] && accounts[2] == static_cast<std::int64_t>(eight);
    if (!works) note("MPI's atomics of several ranks on one value failed");
    else if (!right) note("MPI's atomics of several ranks on one value lost each other's changes");
    return works && right;
}

TrustedAtomics WindowTrial::try_atomics(bool swaps) {
    problem_.clear();
    Atomics atomics{*this, swaps, TrustedAtomics::all()};
    atomics.try_at(partners_.between_nodes, true);
    if (partners_.both_ways) atomics.try_at(partners_.between_nodes.reversed(), false);
    const bool in_nodes = topology_.largest_node() > 1;
    if (in_nodes) atomics.try_at(partners_.in_node, false);
    const TrustedAtomics trusted = atomics.agreed();
    if (!trusted.suffice()) return trusted;
    // What is wrong with all of them together is reported before what is wrong with one.
    std::string of_one = std::exchange(problem_, {});
    leave_time_for_atomics();
    bool right = keeps_order(trusted);
    if (wrong_beside_data_ && trusted.fetches(AtomicOperation::add, AtomicType::int64)) {
        note("MPI_Fetch_and_op of another thread was wrong while this one put and got");
        right = false;
    }
    if (topology_.nodes() > 1) right = keeps_all_changes(partners_.between_nodes, trusted) && right;
    if (in_nodes) right = keeps_all_changes(partners_.in_node, trusted) && right;
    if (!all_agree(communicator_, right)) return {};
    problem_ = std::move(of_one);
    return trusted;
}

} // namespace lapwing::detail::mpi
