// miniMD of the Mantevo suite: molecular dynamics with the Lennard-Jones potential, atoms in bins that are distributed
// in blocks over three dimensions, as in Chapel's version of it, which Ferguson and Buettner measure their cache with.
#include "minimd/simulation.hpp"

#include <cmath>
#include <utility>

namespace lapwing::bench::applications {
namespace {

using namespace minimd_model;

class MiniMd : public Application {
public:
    MiniMd(Ranks ranks, const Problem& problem)
        : ranks_{ranks},
          problem_{problem},
          box_{problem_},
          near_{box_, ranks.size(), ranks.rank()},
          elements_{ranks, box_, near_, {}},
          cached_{ranks, box_, near_, {.mode = CacheMode::epoch}},
          mapped_{ranks, box_, near_},
          messages_{ranks.world, box_, near_} {
        const NearBins all{box_, 1, 0};
        MessageAtoms alone{MPI_COMM_SELF, box_, all};
        place_initial_atoms(problem_, box_, all, alone.own());
        expected_ = Simulation{problem_, box_, all, alone}.run();
    }

    void prepare(Way way) override {
        found_.clear();
        if (way == Way::elements) elements_.choose(ElementAtoms::Help::none);
        if (way == Way::prefetched) elements_.choose(ElementAtoms::Help::copies);
        if (way == Way::cached) cached_.choose(ElementAtoms::Help::none);
        if (way == Way::hinted) cached_.choose(ElementAtoms::Help::hints);
        on_atoms(way, [this](auto& atoms) { place_initial_atoms(problem_, box_, near_, atoms.own()); });
    }

    void run(Way way) override {
        on_atoms(way, [this](auto& atoms) { found_ = Simulation{problem_, box_, near_, atoms}.run(); });
    }

    std::string fault(Way /*way*/) override {
        if (found_.size() != expected_.size()) return "nothing was computed";
        for (std::size_t k = 0; k < found_.size(); ++k)
            if (std::string fault = fault_of(found_[k], expected_[k]); !fault.empty())
                return (k == 0 ? "at the start " : "at the end ") + fault;
        return "";
    }

    double operations() const override { return static_cast<double>(problem_.atoms()) * problem_.steps; }

private:
    /// Calls `function` with the atoms that the way uses.
    template <class Function>
    void on_atoms(Way way, const Function& function) {
        switch (way) {
        case Way::mpi: return function(messages_);
        case Way::mapped: return function(mapped_);
        case Way::cached:
        case Way::hinted: return function(cached_);
        default: return function(elements_);
        }
    }

    [[nodiscard]] std::string fault_of(const Sums& found, const Sums& expected) const {
        constexpr double tolerance = 1e-9;
        if (found.atoms != problem_.atoms()) return fmt::format("there are {} atoms", found.atoms);
        const Thermo now = thermo(problem_, box_, found);
        const Thermo right = thermo(problem_, box_, expected);
        for (const auto& [what, value, wanted] :
             {std::tuple{"temperature", now.temperature, right.temperature},
              std::tuple{"energy", now.energy, right.energy}, std::tuple{"pressure", now.pressure, right.pressure}})
            if (!(std::abs(value - wanted) <= tolerance * std::abs(wanted)))
                return fmt::format("the {} is {:.15g}, and in a serial run {:.15g}", what, value, wanted);
        const double speeds = std::sqrt(found.speed_squared * problem_.atoms()); // at least the sum of the speeds
        if (!(norm(found.momentum) <= tolerance * speeds))
            return fmt::format("the momentum is {:g}", norm(found.momentum));
        // In a lattice each force is a sum of nothing but rounding errors.
        const double forces = std::sqrt(found.force_squared * problem_.atoms()) + problem_.atoms();
        if (!(norm(found.force) <= tolerance * forces))
            return fmt::format("the sum of all forces is {:g}", norm(found.force));
        return "";
    }
    [[nodiscard]] static double norm(const Vector& vector) { return std::sqrt(dot(vector, vector)); }

    Ranks ranks_;
    Problem problem_;
    Box box_;
    NearBins near_;
    ElementAtoms elements_;
    ElementAtoms cached_;
    MappedAtoms mapped_;
    MessageAtoms messages_;
    std::vector<Sums> expected_; ///< before the first and after the last step of a serial run
    std::vector<Sums> found_;
};

} // namespace

ApplicationKind minimd() {
    const auto input = [](const Problem& problem) {
        return [=](Ranks ranks) { return std::make_unique<MiniMd>(ranks, problem); };
    };
    const std::vector<Way> quick{Way::mapped, Way::prefetched, Way::hinted, Way::cached};
    const std::vector<Way> all{Way::mapped, Way::prefetched, Way::hinted, Way::cached, Way::elements};
    return {.name = "applications/minimd",
            .summary =
                "molecular dynamics of Mantevo's miniMD; fails unless temperature, energy and pressure are those "
                "of a serial run, and momentum is kept",
            .operations = "atom steps",
            .inputs = {{"4000 atoms", quick, input({})},
                       {"4000 atoms, Newton's third law", quick, input({.newton = true})},
                       {"4000 atoms, 2 steps", {Way::cached, Way::elements}, input({.steps = 2})},
                       {"32000 atoms", quick, input({.size = 20}), Size::full},
                       {"256 atoms", all, input({.size = 4, .steps = 12, .rebuild_every = 4}), Size::small},
                       {"256 atoms, Newton's third law", all,
                        input({.size = 4, .steps = 12, .newton = true, .rebuild_every = 4}), Size::small}}};
}

} // namespace lapwing::bench::applications
