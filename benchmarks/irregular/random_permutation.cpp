// A random permutation by throwing darts (randperm of the bale kernels): each number tries random slots of a table with
// twice as many, until one is free; the table without its free slots is the permutation.
#include "exchange.hpp"
#include "parts.hpp"
#include "random_numbers.hpp"

#include <lapwing/aggregator.hpp>

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace lapwing::bench::irregular {
namespace {

constexpr Number none = 0xFFFF'FFFF;

class RandomPermutation : public Kernel {
public:
    RandomPermutation(Ranks ranks, Number numbers)
        : ranks_{ranks},
          parts_{numbers, ranks},
          slot_parts_{2 * numbers, ranks},
          shared_slots_{slot_parts_.array<Number>(ranks, "slots")},
          shared_{parts_.array<Number>(ranks, "permutation")},
          counter_{ranks.runtime, {1}},
          slots_(slot_parts_.block()),
          own_(parts_.block()) {}

    void prepare(Way way) override {
        if (way == Way::mpi) {
            std::ranges::fill(slots_, none);
            std::ranges::fill(own_, none);
        } else {
            shared_slots_.fill(none);
            shared_.fill(none);
            counter_.fill(0);
        }
    }

    void run(Way way) override {
        std::vector<Number> pending(parts_.own());
        std::iota(pending.begin(), pending.end(), parts_.first());
        for (std::uint64_t round = 0; sum(way, pending.size()) != 0; ++round) {
            aims_.clear();
            for (const Number number : pending) aims_.push_back(random_below(slot_parts_.count(), round, number));
            found_.resize(pending.size());
            throw_darts(way, pending);
            std::size_t k = 0;
            std::erase_if(pending, [&](Number) { return found_[k++] == none; });
        }
        if (way != Way::mpi) ranks_.runtime.barrier();
        const std::span<const Number> slots = way == Way::mpi ? std::span{slots_} : shared_slots_.local_span();
        std::vector<Number> taken;
        std::ranges::copy_if(slots, std::back_inserter(taken), [](Number number) { return number != none; });
        place(way, taken);
    }

    std::string fault(Way way) override {
        const std::span<const Number> own = way == Way::mpi ? std::span{own_} : shared_.local_span();
        const std::vector<Number> all = collected(ranks_.world, own);
        std::vector<bool> seen(parts_.count());
        Number unmoved = 0;
        for (Number k = 0; k < parts_.count(); ++k) {
            if (all[k] >= parts_.count() || seen[all[k]])
                return fmt::format("{} at place {} is not a number, or one that was before", all[k], k);
            seen[all[k]] = true;
            unmoved += all[k] == k ? 1 : 0;
        }
        // One is expected; more than 50 have a probability of 10^-65.
        return unmoved <= 50 ? std::string{} : fmt::format("{} numbers are in their places", unmoved);
    }

    double operations() const override { return parts_.count(); }

private:
    [[nodiscard]] std::int64_t sum(Way way, std::size_t value) {
        const auto own = static_cast<std::int64_t>(value);
        return way == Way::mpi ? irregular::sum(ranks_.world, own) : ranks_.runtime.sum(own);
    }

    /// Of each aim what was there before, or any number but none for it.
    void throw_darts(Way way, const std::vector<Number>& numbers) {
        if (way == Way::lists) {
            shared_slots_.compare_swap(aims_, none, numbers, found_);
        } else if (way == Way::aggregated) {
            const auto take = [](Number& slot, Number number) {
                return slot == none ? std::exchange(slot, number) : slot;
            };
            shared_slots_.apply(aims_, take, numbers, found_);
        } else if (way == Way::elements) {
            for (std::size_t k = 0; k < numbers.size(); ++k)
                found_[k] = shared_slots_(aims_[k]).atomic().compare_swap(none, numbers[k]);
        } else {
            const auto darts = exchange_([&](auto&& to) {
                for (std::size_t k = 0; k < numbers.size(); ++k) {
                    const auto [owner, local] = slot_parts_.place(aims_[k]);
                    to(owner, pair_of(local, numbers[k]));
                }
            });
            exchange_.answer(
                darts,
                [this](std::uint64_t dart) {
                    Number& slot = slots_[number_of(dart)];
                    return slot == none ? std::exchange(slot, value_of(dart)) : slot;
                },
                [this](auto&& next) {
                    for (std::size_t k = 0; k < aims_.size(); ++k) found_[k] = next(slot_parts_.owner(aims_[k]));
                });
        }
    }

    /// Puts what this rank's slots hold behind that of others.
    void place(Way way, const std::vector<Number>& taken) {
        const auto count = static_cast<std::int64_t>(taken.size());
        if (way == Way::mpi) {
            std::int64_t begin = 0;
            MPI_Exscan(&count, &begin, 1, MPI_INT64_T, MPI_SUM, ranks_.world);
            if (ranks_.rank() == 0) begin = 0; // undefined there
            const auto placed = exchange_([&](auto&& to) {
                Number position = static_cast<Number>(begin);
                for (const Number number : taken) {
                    const auto [owner, local] = parts_.place(position++);
                    to(owner, pair_of(local, number));
                }
            });
            for (const std::uint64_t pair : placed) own_[number_of(pair)] = value_of(pair);
            return;
        }
        std::vector<std::int64_t> positions(taken.size());
        std::iota(positions.begin(), positions.end(), counter_(0).atomic().fetch_add(count));
        if (way == Way::lists) shared_.scatter(positions, taken);
        else if (way == Way::aggregated) {
            Aggregator aggregator{ranks_.runtime};
            for (std::size_t k = 0; k < taken.size(); ++k) aggregator.put.copy(shared_, positions[k], taken[k]);
        } else
            for (std::size_t k = 0; k < taken.size(); ++k) shared_(positions[k]) = taken[k];
        ranks_.runtime.barrier();
    }

    Ranks ranks_;
    Parts parts_;
    Parts slot_parts_;
    GlobalArray<Number, 1> shared_slots_;
    GlobalArray<Number, 1> shared_;
    GlobalArray<std::int64_t, 1> counter_;
    std::vector<Number> slots_; ///< of Way::mpi
    std::vector<Number> own_;   ///< this rank's part of the permutation of Way::mpi
    std::vector<Number> aims_;  ///< slots of this round
    std::vector<Number> found_; ///< what was there
    Exchange<std::uint64_t, Number> exchange_{ranks_.world};
};

} // namespace

KernelKind random_permutation() {
    const auto input = [](Number numbers) {
        return [=](Ranks ranks) { return std::make_unique<RandomPermutation>(ranks, numbers); };
    };
    return {.name = "irregular/random-permutation",
            .summary = "numbers thrown at free slots of a table; fails unless each number is in the result once",
            .operations = "numbers",
            .inputs = {{"10^6 numbers", {Way::aggregated, Way::lists}, input(1'000'000)},
                       {"300 numbers", {Way::aggregated, Way::lists, Way::elements}, input(300), Size::small}}};
}

} // namespace lapwing::bench::irregular
