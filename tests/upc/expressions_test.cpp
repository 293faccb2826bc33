// Shared objects in expressions, in place of their values: elements of arrays and of views, targets of pointers.
#include "tests/support/element_expressions.hpp"
#include "tests/upc/upc_test.hpp"

#include <lapwing/upc.hpp>

#include <complex>
#include <cstdint>

namespace upc = lapwing::upc;
namespace elements = test::elements;

namespace {

/// test(k ↦ object k) of objects of all kinds that have two values, one with thread 0 and one with the next one.
template <class T, class Test>
void with_objects(const T& first, const T& second, Test test) {
    const upc::SharedArray<T> array{2};
    const upc::SharedArray<upc::strict<T>> strict_array{2};
    const auto view = upc::view(array);
    const auto set = [&] {
        upc::barrier();
        if (upc::mythread() == 0)
            for (std::int64_t k = 0; k < 2; ++k) {
                array[k] = k == 0 ? first : second;
                strict_array[k] = k == 0 ? first : second;
            }
        upc::barrier();
    };
    set();
    test([&](std::int64_t k) { return array[k]; });
    set();
    test([&](std::int64_t k) { return view[k]; });
    set();
    test([&](std::int64_t k) { return *(array + k); });
    set();
    test([&](std::int64_t k) { return strict_array[k]; });
    upc::barrier();
}

template <class Check>
void alone(Check check) {
    upc::barrier();
    if (upc::mythread() == 0) check();
}

} // namespace

TEST_CASE("shared objects act in expressions as their values") {
    const test::UpcProgram program;
    const upc::Shared<double> four;
    upc::barrier();
    if (upc::mythread() == 0) four = 4;
    upc::barrier();
    SECTION("complex numbers") {
        with_objects(elements::x, elements::y, [&](auto at) {
            elements::check_complex(at, four.get());
            elements::check_complex(at, *(four.pointer()));
            alone([&] { elements::check_complex_assignments(at); });
        });
    }
    SECTION("numbers, given to mathematical functions, and beside class types") {
        with_objects(2.25, -3.0, [](auto at) { elements::check_doubles(at); });
        with_objects(6, -3, [](auto at) {
            elements::check_integers(at);
            alone([&] { elements::check_integer_assignments(at); });
        });
    }
    SECTION("class types whose operators are templates, and enumerations") {
        using namespace numbers;
        with_objects(Big<double>{2}, Big<double>{8}, [](auto at) { elements::check_templates(at); });
        with_objects(Vector{{1, 2, 3}}, Vector{{4, 5, 6}}, [](auto at) { elements::check_vectors(at); });
        with_objects(Flags::one, Flags::two, [](auto at) { elements::check_flags(at); });
    }
}

TEST_CASE("one shared object acts in expressions as its value") {
    const test::UpcProgram program;
    const upc::Shared<elements::Complex> z;
    const upc::Shared<int> n;
    upc::barrier();
    if (upc::mythread() == 0) {
        z = elements::x;
        z *= elements::y;
        n = 5;
        n += 1.9;
        ++n;
    }
    upc::barrier();
    CHECK((z == elements::x * elements::y));
    CHECK(2.0 * z == 2.0 * (elements::x * elements::y));
    CHECK(abs(z) == std::abs(elements::x * elements::y));
    CHECK(n == 7);
    CHECK(n % 4 == 3);
    upc::barrier();
}

TEST_CASE("pointers to shared objects that are shared themselves") {
    const test::UpcProgram program;
    const upc::SharedArray<int> numbers{8};
    const upc::SharedArray<upc::Pointer<int>> places{2};
    upc::barrier();
    if (upc::mythread() == 0) {
        for (std::int64_t i = 0; i < 8; ++i) numbers[i] = static_cast<int>(i);
        places[0] = numbers + 1;
        places[1] = numbers + 3;
        places[0] += 2;
        CHECK(+*places[0] == 3);
        CHECK((places[0].get() == places[1]));
        ++places[0];
        CHECK(+places[0][1] == 5);
    }
    upc::barrier();
}
