// Elements in expressions, in place of their values.
#include "tests/arrays/array_test.hpp"
#include "tests/support/element_expressions.hpp"

#include <complex>
#include <cstdint>

using namespace lapwing;
namespace elements = test::elements;

namespace {

/// test(k ↦ element k, array) of an array whose elements 0 and 1 have two values of this kind, and stay with one rank
/// and the other.
template <class T, class Test>
void with_elements(Runtime& runtime, const T& first, const T& second, Test test) {
    GlobalArray<T, 1> array{runtime, {2}, Cyclic{}};
    for (std::int64_t k = 0; k < 2; ++k)
        if (array.is_local(k)) array.local(k) = k == 0 ? first : second;
    array.barrier();
    test([&](std::int64_t k) { return array(k); });
    array.barrier();
    array.close();
}

} // namespace

TEST_CASE("elements act in expressions as their values") {
    Runtime runtime;
    const auto alone = [&](auto check) {
        runtime.barrier();
        if (runtime.rank() == Rank{0}) check();
    };
    GlobalArray<double, 1> fours{runtime, {2}, Block{}};
    fours.fill(4);
    SECTION("complex numbers") {
        with_elements(runtime, elements::x, elements::y, [&](auto at) {
            elements::check_complex(at, fours(0));
            alone([&] { elements::check_complex_assignments(at); });
        });
    }
    SECTION("numbers, given to mathematical functions, and beside class types") {
        with_elements(runtime, 2.25, -3.0, [](auto at) { elements::check_doubles(at); });
        with_elements(runtime, 6, -3, [&](auto at) {
            elements::check_integers(at);
            alone([&] { elements::check_integer_assignments(at); });
        });
    }
    SECTION("class types whose operators are templates, and enumerations") {
        using namespace numbers;
        with_elements(runtime, Big<double>{2}, Big<double>{8}, [](auto at) { elements::check_templates(at); });
        with_elements(runtime, Vector{{1, 2, 3}}, Vector{{4, 5, 6}}, [](auto at) { elements::check_vectors(at); });
        with_elements(runtime, Lazy{1}, Lazy{2}, [](auto at) { elements::check_lazy(at); });
        with_elements(runtime, Money{5}, Money{7}, [](auto at) { elements::check_money(at); });
        with_elements(runtime, false, true, [&](auto at) { alone([&] { elements::check_bool_assignments(at); }); });
        with_elements(runtime, Flags::one, Flags::two, [](auto at) { elements::check_flags(at); });
    }
    fours.close();
    runtime.close();
}
