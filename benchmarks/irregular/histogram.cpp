// Counts random numbers in bins that are spread over the ranks (histo of the bale kernels).
#include "exchange.hpp"
#include "parts.hpp"
#include "random_numbers.hpp"

#include <lapwing/aggregator.hpp>

#include <fmt/format.h>

namespace lapwing::bench::irregular {
namespace {

class Histogram : public Kernel {
public:
    Histogram(Ranks ranks, Number bins, Number updates)
        : ranks_{ranks}, parts_{bins, ranks}, shared_{parts_.array<std::uint64_t>(ranks, "bins")} {
        for (Number k = 0; k < updates; ++k) indices_.push_back(index(ranks.rank(), k));
        before_.resize(updates);
        own_.resize(parts_.block());
    }

    void prepare(Way way) override {
        if (way == Way::mpi) std::ranges::fill(own_, 0);
        else shared_.fill(0);
    }

    void run(Way way) override {
        if (way == Way::mpi) {
            const auto each = [this](auto&& to) {
                for (const Number index : indices_) {
                    const auto [owner, local] = parts_.place(index);
                    to(owner, local);
                }
            };
            for (const Number local : exchange_(each)) ++own_[local];
            return;
        }
        if (way == Way::aggregated) {
            Aggregator aggregator{ranks_.runtime};
            for (const Number index : indices_) aggregator.add.copy(shared_, index, 1);
        } else if (way == Way::elements)
            for (const Number index : indices_) shared_(index).atomic().add(1);
        else shared_.fetch(Atomic::add, indices_, 1, before_);
        ranks_.runtime.barrier();
    }

    std::string fault(Way way) override {
        std::vector<std::uint64_t> expected(parts_.block());
        for (Number rank = 0; rank < parts_.ranks(); ++rank)
            for (Number k = 0; k < indices_.size(); ++k)
                if (const Number bin = index(rank, k); parts_.owns(bin)) ++expected[bin - parts_.first()];
        const std::span<const std::uint64_t> counts = way == Way::mpi ? std::span{own_} : shared_.local_span();
        for (Number k = 0; k < expected.size(); ++k)
            if (counts[k] != expected[k])
                return fmt::format("bin {} holds {} instead of {}", parts_.first() + k, counts[k], expected[k]);
        return {};
    }

    double operations() const override { return static_cast<double>(indices_.size()) * parts_.ranks(); }

private:
    [[nodiscard]] Number index(Number rank, Number k) const { return random_below(parts_.count(), rank, k); }

    Ranks ranks_;
    Parts parts_;
    std::vector<Number> indices_;
    std::vector<std::uint64_t> before_;
    std::vector<std::uint64_t> own_; ///< bins of Way::mpi
    GlobalArray<std::uint64_t, 1> shared_;
    Exchange<Number> exchange_{ranks_.world};
};

} // namespace

KernelKind histogram() {
    const auto input = [](Number bins, Number updates) {
        return [=](Ranks ranks) { return std::make_unique<Histogram>(ranks, bins, updates); };
    };
    return {.name = "irregular/histogram",
            .summary =
                "random numbers counted in bins that are spread over the ranks; fails unless all counts are right",
            .operations = "updates",
            .inputs = {{"10^6 bins, 10^6 updates a rank",
                        {Way::aggregated, Way::lists, Way::elements},
                        input(1'000'000, 1'000'000)},
                       {"500 bins, 300 updates a rank",
                        {Way::aggregated, Way::lists, Way::elements},
                        input(500, 300),
                        Size::small}}};
}

} // namespace lapwing::bench::irregular
