// Reads random elements of a table that is spread over the ranks (ig of the bale kernels).
#include "exchange.hpp"
#include "parts.hpp"
#include "random_numbers.hpp"

#include <lapwing/aggregator.hpp>

#include <fmt/format.h>

namespace lapwing::bench::irregular {
namespace {

class IndexGather : public Kernel {
public:
    IndexGather(Ranks ranks, Number elements, Number reads)
        : runtime_{ranks.runtime},
          parts_{elements, ranks},
          shared_{parts_.array<std::uint64_t>(ranks, "table")},
          exchange_{ranks.world} {
        for (Number k = 0; k < reads; ++k) indices_.push_back(random_below(elements, ranks.rank(), k));
        found_.resize(reads);
        for (Number k = 0; k < parts_.block(); ++k) own_.push_back(element(parts_.first() + k));
        std::ranges::copy(own_, shared_.local_span().begin());
        ranks.runtime.barrier();
    }

    void prepare(Way) override { std::ranges::fill(found_, 0); }

    void run(Way way) override {
        if (way == Way::mpi) by_messages();
        else if (way == Way::lists) shared_.gather(indices_, found_);
        else if (way == Way::aggregated) {
            Aggregator aggregator{runtime_};
            for (std::size_t k = 0; k < indices_.size(); ++k) aggregator.get.copy(found_[k], shared_, indices_[k]);
        } else
            for (std::size_t k = 0; k < indices_.size(); ++k) found_[k] = shared_(indices_[k]);
    }

    std::string fault(Way) override {
        for (std::size_t k = 0; k < indices_.size(); ++k)
            if (found_[k] != element(indices_[k]))
                return fmt::format("element {} is {} instead of {}", indices_[k], found_[k], element(indices_[k]));
        return {};
    }

    double operations() const override { return static_cast<double>(indices_.size()) * parts_.ranks(); }

private:
    [[nodiscard]] static std::uint64_t element(Number index) { return scattered(index); }

    void by_messages() {
        const auto asked = exchange_([this](auto&& to) {
            for (const Number index : indices_) {
                const auto [owner, local] = parts_.place(index);
                to(owner, local);
            }
        });
        exchange_.answer(
            asked, [this](Number local) { return own_[local]; },
            [this](auto&& next) {
                for (std::size_t k = 0; k < indices_.size(); ++k) found_[k] = next(parts_.owner(indices_[k]));
            });
    }

    Runtime& runtime_;
    Parts parts_;
    std::vector<Number> indices_;
    std::vector<std::uint64_t> found_;
    std::vector<std::uint64_t> own_; ///< the table of Way::mpi
    GlobalArray<std::uint64_t, 1> shared_;
    Exchange<Number, std::uint64_t> exchange_;
};

} // namespace

KernelKind index_gather() {
    const auto input = [](Number elements, Number reads) {
        return [=](Ranks ranks) { return std::make_unique<IndexGather>(ranks, elements, reads); };
    };
    return {.name = "irregular/index-gather",
            .summary = "random reads of a table that is spread over the ranks; fails unless all are right",
            .operations = "reads",
            .inputs = {{"10^6 elements, 10^6 reads a rank", {Way::aggregated, Way::lists}, input(1'000'000, 1'000'000)},
                       {"500 elements, 300 reads a rank",
                        {Way::aggregated, Way::lists, Way::elements},
                        input(500, 300),
                        Size::small}}};
}

} // namespace lapwing::bench::irregular
