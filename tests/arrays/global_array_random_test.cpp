// Random programs on global arrays against arrays of one process. Every rank draws the same program from the same seed
// and keeps a std::vector per array up to date; between two barriers no element is written by two ranks, nor written
// and read.
//
// TEST_SEED=n runs the one program of that seed, TEST_PROGRAMS=n as many of each kind, and says how many values a rank
// has compared. With TEST_COPIES=1 the arrays have random prefetch patterns, whose
// copies are automatic; with TEST_COPIES=2 manual ones, which are updated after each step; with TEST_COPIES=3 they are
// mapped, each rank what it chooses, and refreshed after each step; with TEST_COPIES=4 mapped on demand.
#include "tests/arrays/array_test.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

using namespace lapwing;

namespace {

constexpr int steps = 25;

template <std::size_t N>
class RandomProgram {
public:
    using Value = std::int64_t;

    RandomProgram(Team& team, std::uint64_t seed)
        : team_{team},
          seed_{seed},
          random_{static_cast<unsigned>(seed)},
          own_random_{static_cast<unsigned>(seed * 1000 + static_cast<std::uint64_t>(team.rank().value))} {
        const Extents<N> extents = test::random_extents<N>(random_);
        for (auto& [array, replicated, oracle, mapped, named] : tracked_) {
            const std::vector<int> grid = test::random_grid<N>(random_, team.size());
            switch (random_.number(0, 4)) {
            case 0: array = {team, extents, Block{grid}, {.halo = patterns_.number(0, 3)}}; break;
            case 1: array = {team, extents, Cyclic{grid}}; break;
            case 2: array = {team, extents, BlockCyclic{test::random_blocks<N>(random_), grid}}; break;
            case 3: array = {team, extents, test::Reversed{test::random_blocks<N>(random_), grid}}; break;
            default: array = {team, extents, Replicated{}}; replicated = true;
            }
            oracle.assign(array.size(), 0);
            prefetch(array);
        }
    }

    void run() {
        for (step_ = 0; step_ < steps; ++step_) {
            const auto operation = random_.number(0, 10);
            Tracked& target = tracked_[static_cast<std::size_t>(random_.number(0, 1))];
            INFO("TEST_SEED=" << seed_ << ", step " << step_ << ", operation " << operation << ", extents "
                              << to_string(target.array.extents().values()));
            switch (operation) {
            case 0: write_elements(target); break;
            case 1:
            case 2: put_patches(target); break;
            case 3: add_atomically(target); break;
            case 4: write_locally(target); break;
            case 5: fill(target); break;
            case 6: copy(); break;
            case 7: std::swap(tracked_[0], tracked_[1]); break;
            case 8: reduce(target); break;
            case 9: broadcast(target); break;
            default: update_elements(target);
            }
            team_.barrier();
            for (Tracked& tracked : tracked_) {
                update_copies(tracked);
                compare(tracked);
            }
            team_.barrier();
        }
    }
    /// Values of elements.
    [[nodiscard]] std::uint64_t compared() const noexcept { return compared_; }

private:
    struct Tracked {
        GlobalArray<Value, N> array;
        bool replicated = false;
        std::vector<Value> oracle;
        MappedArray<Value, N> mapped = {};
        Domain<N> named = {}; ///< of that
    };

    /// Up to three patterns, one upon the other. Draws from numbers of its own, so that programs are the same without.
    void prefetch(GlobalArray<Value, N>& array) {
        if (copies_ == 0 || copies_ >= 3) return;
        const PrefetchOptions options{.consistent = copies_ == 1,
                                      .static_domain = patterns_.number(0, 1) == 1,
                                      .storage = patterns_.number(0, 1) == 0 ? PrefetchStorage::by_index
                                                 : array.halo() > 0          ? PrefetchStorage::halo
                                                                             : PrefetchStorage::by_owner};
        for (std::int64_t count = patterns_.number(1, 3); count > 0; --count) {
            switch (patterns_.number(0, 6)) {
            case 0: array.prefetch(RowWise{}, options); break;
            case 1: array.prefetch(ColumnWise{}, options); break;
            case 2: array.prefetch(Transpose{}, options); break;
            case 3: array.prefetch(AllToAll{}, options); break;
            case 4: {
                const Domain<N> domain = test::random_domain<N>(patterns_, array.extents());
                array.prefetch([&](const Domain<N>&) { return domain; }, options);
                break;
            }
            default: {
                Stencil stencil{.depth = patterns_.number(0, 4), .corners = patterns_.number(0, 1) == 1};
                for (bool& periodic : stencil.periodic) periodic = patterns_.number(0, 1) == 1;
                array.prefetch(stencil, options);
            }
            }
        }
    }
    void update_copies(Tracked& tracked) {
        if (copies_ == 0) return;
        if (copies_ >= 3) return map(tracked);
        if (patterns_.number(0, 9) == 0) {
            tracked.array.evict();
            prefetch(tracked.array);
        }
        if (copies_ == 2) tracked.array.update();
    }

    void map(Tracked& tracked) {
        const bool keep = tracked.mapped.data() != nullptr && own_random_.number(0, 2) != 0;
        if (keep) tracked.mapped.refresh();
        if (copies_ == 4 && !test::has_own_distribution(tracked.array)) {
            if (!keep) tracked.mapped = tracked.array.mapped(OnDemand{});
            if (own_random_.number(0, 3) == 0)
                tracked.mapped.pin(test::random_domain<N>(own_random_, tracked.array.extents()));
            tracked.named = test::random_domain<N>(own_random_, tracked.array.extents());
            return;
        }
        if (keep) return;
        tracked.named = tracked.array.domain();
        if (own_random_.number(0, 2) == 0) {
            tracked.mapped = tracked.array.mapped();
        } else {
            tracked.named = test::random_domain<N>(own_random_, tracked.array.extents());
            tracked.mapped = tracked.array.mapped(tracked.named);
        }
    }

    /// A value that nothing else has, by what it is written for.
    [[nodiscard]] Value value_at(std::uint64_t position) const {
        return test::value_of<Value>(position + (static_cast<std::uint64_t>(step_) + 100 * seed_) * 1'000'000) >> 8;
    }
    [[nodiscard]] bool mine(std::uint64_t chosen) const {
        return static_cast<int>(chosen % static_cast<std::uint64_t>(team_.size())) == team_.rank().value;
    }

    void write_elements(Tracked& target) {
        test::Mismatches read_back;
        const Domain<N> domain = test::random_domain<N>(random_, target.array.extents());
        const auto turn = static_cast<std::uint64_t>(random_.number(0, 100));
        for (const Index<N>& index : domain) {
            const std::uint64_t position = test::position_of(target.array.extents(), index);
            target.oracle[position] = value_at(position);
            if (!mine(position / 3 + turn)) continue;
            target.array(index) = value_at(position);
            read_back.check(target.array(index) == value_at(position), index);
        }
        CHECK(read_back.text() == "none");
    }
    void update_elements(Tracked& target) {
        test::Mismatches read_back;
        const Domain<N> domain = test::random_domain<N>(random_, target.array.extents());
        const auto turn = static_cast<std::uint64_t>(random_.number(0, 100));
        for (const Index<N>& index : domain) {
            const std::uint64_t position = test::position_of(target.array.extents(), index);
            target.oracle[position] += 5;
            if (!mine(position + turn)) continue;
            target.array(index) += 5;
            read_back.check(target.array(index) == target.oracle[position], index);
        }
        CHECK(read_back.text() == "none");
    }
    /// Disjoint slabs of one domain, by different ranks; those of a rank all at a time, or one by one.
    void put_patches(Tracked& target) {
        const bool at_once = random_.number(0, 1) == 1;
        std::vector<std::pair<std::vector<Value>, Completion>> under_way;
        const Domain<N> domain = test::random_domain<N>(random_, target.array.extents());
        const auto turn = static_cast<std::uint64_t>(random_.number(0, 100));
        for (std::uint64_t k = 0; k < domain.range(0).size(); ++k) {
            std::array<Range, N> ranges = domain.ranges();
            ranges[0] = Range::strided(domain.range(0)[k], 1, 1);
            std::vector<Value> buffer;
            for (const Index<N>& index : Domain<N>{ranges}) {
                const std::uint64_t position = test::position_of(target.array.extents(), index);
                buffer.push_back(value_at(position));
                target.oracle[position] = value_at(position);
            }
            if (!mine(k + turn)) continue;
            if (at_once) {
                under_way.emplace_back(std::move(buffer), Completion{});
                under_way.back().second = target.array(Domain<N>{ranges}).start_put(under_way.back().first);
            } else {
                target.array(Domain<N>{ranges}).put(buffer);
            }
        }
        for (auto& [buffer, completion] : under_way) completion.wait();
    }
    void add_atomically(Tracked& target) {
        if (target.replicated) return;
        const Domain<N> domain = test::random_domain<N>(random_, target.array.extents());
        const Value ranks = team_.size();
        for (const Index<N>& index : domain) {
            target.array(index).atomic().fetch_add(team_.rank().value + 1);
            target.oracle[test::position_of(target.array.extents(), index)] += ranks * (ranks + 1) / 2;
        }
    }
    void write_locally(Tracked& target) {
        target.array.for_each_local([&](const Index<N>& index, Value& element) {
            element = value_at(test::position_of(target.array.extents(), index));
        });
        for (std::uint64_t k = 0; k < target.oracle.size(); ++k) target.oracle[k] = value_at(k);
    }
    void fill(Tracked& target) {
        target.array.fill(value_at(1));
        std::fill(target.oracle.begin(), target.oracle.end(), value_at(1));
    }
    void copy() {
        tracked_[0].array.copy_from(tracked_[1].array);
        tracked_[0].oracle = tracked_[1].oracle;
    }
    /// Copies that differ, and then are all the last rank's.
    void broadcast(Tracked& target) {
        if (!target.replicated) return;
        const int root = team_.size() - 1;
        target.array.for_each_local([&](const Index<N>& index, Value& element) {
            element = value_at(test::position_of(target.array.extents(), index)) + root - team_.rank().value;
        });
        target.array.broadcast(Rank{root});
        for (std::uint64_t k = 0; k < target.oracle.size(); ++k) target.oracle[k] = value_at(k);
    }
    void reduce(Tracked& target) {
        CHECK(target.array.sum() == std::accumulate(target.oracle.begin(), target.oracle.end(), Value{0}));
        if (target.oracle.empty()) return;
        CHECK(target.array.min() == *std::min_element(target.oracle.begin(), target.oracle.end()));
        CHECK(target.array.max() == *std::max_element(target.oracle.begin(), target.oracle.end()));
    }

    /// Some elements, and a patch, that each rank chooses for itself.
    void compare(const Tracked& tracked) {
        const Extents<N>& extents = tracked.array.extents();
        const Domain<N> domain = test::random_domain<N>(own_random_, extents);
        std::vector<Value> buffer(domain.size());
        if (own_random_.number(0, 1) == 1) tracked.array(domain).get(buffer);
        else tracked.array(domain).start_get(buffer).wait();
        test::Mismatches mismatches;
        std::size_t k = 0;
        for (const Index<N>& index : domain) {
            const Value expected = tracked.oracle[test::position_of(extents, index)];
            mismatches.check(buffer[k++] == expected, index);
            if (k % 4 == 0 || copies_ != 0) mismatches.check(tracked.array(index) == expected, index);
        }
        if (copies_ >= 3)
            for (const Index<N>& index : tracked.named)
                mismatches.check(tracked.mapped(index) == tracked.oracle[test::position_of(extents, index)], index);
        compared_ += domain.size() + (copies_ >= 3 ? tracked.named.size() : 0);
        INFO("rank " << team_.rank().value << " reads " << to_string(domain));
        CHECK(mismatches.text() == "none");
    }

    Team& team_;
    std::uint64_t compared_ = 0;
    std::uint64_t seed_;
    test::Random random_;     ///< the same on all ranks
    test::Random own_random_; ///< this rank's own
    std::uint64_t copies_ = test::number_from_environment("TEST_COPIES", 0);
    test::Random patterns_{static_cast<unsigned>(seed_ + 7)}; ///< the same on all ranks
    int step_ = 0;
    std::array<Tracked, 2> tracked_;
};

template <std::size_t N>
void run_programs(std::uint64_t first_seed) {
    const std::uint64_t given = test::number_from_environment("TEST_SEED", 0);
    const std::uint64_t more = test::number_from_environment("TEST_PROGRAMS", 0);
    const std::uint64_t programs = more != 0 ? more : 6;
    std::uint64_t compared = 0;
    Runtime runtime;
    for (std::uint64_t seed = first_seed; seed < first_seed + programs; ++seed) {
        if (given != 0 && seed != given) continue;
        RandomProgram<N> program{runtime, seed};
        program.run();
        compared += program.compared();
    }
    if (more != 0)
        std::printf("rank %d: %llu values of %zu dimensions\n", runtime.rank().value,
                    static_cast<unsigned long long>(compared), N);
}

} // namespace

TEST_CASE("random programs on vectors") { run_programs<1>(100); }
TEST_CASE("random programs on matrices") { run_programs<2>(200); }
TEST_CASE("random programs on arrays of three dimensions") { run_programs<3>(300); }
TEST_CASE("random programs on arrays of four dimensions") { run_programs<4>(400); }
