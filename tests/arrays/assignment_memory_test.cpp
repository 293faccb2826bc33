// Memory that one rank lacks, at any point of an assignment, is an error of all ranks: none waits for it.
#include "src/team/epoch_member.hpp"
#include "src/team/team_state.hpp"
#include "support/allocations.hpp"
#include "tests/arrays/array_test.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/completion.hpp>
#include <lapwing/dimension_reduction.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>

using namespace lapwing;

namespace {
/// Allocations of this thread until one fails; below 0 none does.
thread_local std::int64_t until_failure = -1;
thread_local bool has_failed = false;

} // namespace

void test::on_allocation(std::size_t) {
    if (until_failure < 0 || until_failure-- > 0) return;
    has_failed = true;
    throw std::bad_alloc{};
}

namespace {

/// Calls what `make` makes, which sets all of `target` to `expected`: with the first allocation of one rank failing,
/// then the second one, until there is none to fail.
template <std::size_t N>
void fail_everywhere(Runtime& runtime, GlobalArray<double, N>& target, double expected,
                     const std::function<std::function<void()>()>& make) {
    const Rank bad{runtime.size() - 1};
    std::int64_t errors = 0;
    for (std::int64_t k = 0;; ++k) {
        target.fill(1);
        const std::function<void()> carry_out = make();
        runtime.barrier();
        has_failed = false;
        bool threw = false;
        bool right_error = true;
        if (runtime.rank() == bad) until_failure = k;
        try {
            carry_out();
        } catch (const std::bad_alloc&) {
            until_failure = -1;
            threw = true;
            right_error = runtime.rank() == bad;
        } catch (const Error& error) {
            until_failure = -1;
            threw = true;
            right_error = runtime.rank() != bad && std::string{error.what()}.find("bad_alloc") != std::string::npos;
        }
        until_failure = -1;
        INFO("allocation " << k);
        const std::int64_t ranks = runtime.sum(std::int64_t{threw});
        REQUIRE((ranks == 0 || ranks == runtime.size()));
        REQUIRE(right_error);
        const bool failed = runtime.max(has_failed);
        if (threw) {
            REQUIRE(failed);
            ++errors;
            continue;
        }
        REQUIRE((target.min() == expected && target.max() == expected)); // also where it did without the memory
        if (!failed) break;
    }
    CHECK(errors > 3);
}

/// Has a write under way whose completion lacks memory, once it is armed; as a window that waits for many ranks.
class Memoryless final : public detail::team::EpochMember {
public:
    explicit Memoryless(Team& team) : team_{team.state()} { team_.epoch().add(*this); }
    ~Memoryless() override { team_.epoch().remove(*this); }
    Memoryless(const Memoryless&) = delete;
    Memoryless& operator=(const Memoryless&) = delete;

    void arm() noexcept { armed_ = true; }
    [[nodiscard]] bool armed() const noexcept { return armed_; }

    [[nodiscard]] detail::team::TeamState& team_state() const noexcept override { return team_; }
    [[nodiscard]] std::uint64_t number() const noexcept override { return 0; }
    [[nodiscard]] std::string label() const override { return "a window without memory"; }
    [[nodiscard]] bool holds_back() const noexcept override { return false; }
    void start_release() override {}
    [[nodiscard]] bool under_way() const noexcept override { return armed_; }
    void finish_release() override {
        if (std::exchange(armed_, false)) throw std::bad_alloc{};
    }
    void order_memory() override { std::atomic_thread_fence(std::memory_order_seq_cst); }
    void on_finalize() noexcept override {}
    [[nodiscard]] bool has_copies() const noexcept override { return false; }
    void drop_copies() override {}
    void free_left() override {}

private:
    detail::team::TeamState& team_;
    bool armed_ = false;
};

} // namespace

TEST_CASE("a write that cannot be completed for lack of memory fails an assignment on all") {
    Runtime runtime;
    if (runtime.size() == 1) return runtime.close();
    const Rank bad{runtime.size() - 1};
    GlobalArray<double, 1> target{runtime, {90}, Block{}, {.name = "target"}};
    GlobalArray<double, 1> source{runtime, {90}, Cyclic{}, {.name = "source"}};
    source.fill(3);
    {
        Memoryless window{runtime};
        Assignment one;
        one.add(target.slice(), source.slice());
        Completion end = one.start();
        if (runtime.rank() == bad) window.arm();
        if (runtime.rank() == bad) CHECK_THROWS_AS(end.wait(), std::bad_alloc);
        else
            CHECK_THROWS_WITH(end.wait(),
                              Catch::Contains("some elements may have been assigned") && Catch::Contains("bad_alloc"));
        CHECK_FALSE(window.armed());
        one.execute();
        CHECK((target.min() == 3 && target.max() == 3));
    }
    runtime.barrier();
    target.close();
    source.close();
    runtime.close();
}

TEST_CASE("an allocation that fails on one rank fails an assignment on all") {
    if (!test::sees_allocations) return;
    Runtime runtime;
    if (runtime.size() == 1) return runtime.close();
    constexpr std::int64_t n = 90;
    GlobalArray<double, 2> target{runtime, {n, n}, Block{}, {.name = "target"}};
    GlobalArray<double, 2> source{runtime, {n, n}, BlockCyclic{{7, 3}}, {.name = "source"}};
    GlobalArray<float, 2> other{runtime, {n, n}, Cyclic{}, {.name = "other"}};
    source.fill(3);
    other.fill(0.5F);
    for (const bool compare : {true, false})
        for (const bool in_halves : {false, true}) {
            INFO("compared: " << compare << ", in halves: " << in_halves);
            const auto fail = [&](double expected, const std::function<void(Assignment&)>& add) {
                fail_everywhere(runtime, target, expected, [&]() -> std::function<void()> {
                    auto one = std::make_shared<Assignment>();
                    add(*one);
                    return [one, compare, in_halves] {
                        if (in_halves) one->start(compare).wait();
                        else one->execute(compare);
                    };
                });
            };
            fail(3, [&](Assignment& one) { one.add(target.slice(), source.slice().transposed()); });
            fail(0.5, [&](Assignment& one) { one.add(target.slice(), other.slice()); });
            fail(3.5, [&](Assignment& one) {
                one.add(target.slice(), [](double x, float y) { return x + y; }, source.slice(), other.slice());
            });
        }
    runtime.barrier();
    target.close();
    source.close();
    other.close();
    runtime.close();
}

TEST_CASE("an allocation that fails on one rank fails a reduction along a dimension on all") {
    if (!test::sees_allocations) return;
    Runtime runtime;
    if (runtime.size() == 1) return runtime.close();
    GlobalArray<double, 2> array{runtime, {90, 40}, Block{.grid = {0, 1}}, {.name = "array"}};
    GlobalArray<double, 1> totals{runtime, {40}, Cyclic{}, {.name = "totals"}};
    array.fill(3);
    const auto plus = [](double a, double b) noexcept { return a + b; };
    DimensionReduction reduction{array, 0, totals.slice(), 0.0, plus};
    fail_everywhere(runtime, totals, 270, [&]() -> std::function<void()> { return [&] { reduction.execute(); }; });
    reduction.close();
    array.close();
    totals.close();
    runtime.close();
}
