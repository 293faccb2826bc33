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
        with_objects(Lazy{1}, Lazy{2}, [](auto at) { elements::check_lazy(at); });
        with_objects(Money{5}, Money{7}, [](auto at) { elements::check_money(at); });
        with_objects(false, true, [](auto at) { alone([&] { elements::check_bool_assignments(at); }); });
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

namespace {

struct Node {
    int number;
    elements::Complex z;
    upc::Pointer<Node> next;
    int digits[4];
};
template <class Q>
concept SetsNumber = requires(upc::Pointer<Q> p) { (p->*&Node::number) = 1; };
static_assert(SetsNumber<Node> && SetsNumber<upc::strict<Node>>);
static_assert(!SetsNumber<const Node> && !SetsNumber<upc::strict<const Node>>,
              "constant structures have constant members");

} // namespace

TEST_CASE("members, constant objects, and assignments between objects of several kinds") {
    const test::UpcProgram program;
    const upc::SharedArray<Node, 2> nodes{4};
    const upc::SharedArray<int, upc::dynamic_block> numbers{8};
    const upc::SharedArray<int, 1, 2> table{{2, 2}};
    const auto view = upc::view(numbers);
    upc::barrier();
    if (upc::mythread() == 0) {
        for (std::int64_t i = 0; i < 8; ++i) numbers[i] = static_cast<int>(10 * i);
        nodes[1]->*& Node::z = elements::x;
        nodes[3]->*& Node::number = numbers[2]; // an element is a reference, too
        *(numbers + 0) = numbers[3];
        *(numbers + 1) = view[4];
        ((nodes + 2)->*&Node::digits)[1] = *(numbers + 5);
        (nodes[2]->*&Node::digits)[1] += 0.75 * 2;
        table[1][0] = numbers[6];
        table[1][0] %= 7;
        CHECK(abs(nodes[1]->*&Node::z) == std::abs(elements::x));
        CHECK((nodes[1]->*&Node::z) * 2.0 == elements::x * 2.0);
        CHECK((nodes[3]->*&Node::number) == 20);
        CHECK(numbers[0] + numbers[1] == 70);
        CHECK((nodes[2]->*&Node::digits)[1] == 51);
        CHECK(table[1][0] == 4);
        const upc::Pointer<const Node, 2> constant{nodes.begin()};
        CHECK(norm((constant + 1)->*&Node::z) == 5);
    }
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
        CHECK(+*(places[0] + 2) == 6);
        CHECK(places[0] - places[1] == 1);
        CHECK(places[0] - (numbers + 3) == 1);
        CHECK((places[0] == numbers + 4));
        CHECK((numbers + 4 == places[0]));
        CHECK((places[0] > places[1]));
        CHECK((places[0] != nullptr));
        CHECK(upc::threadof(places[0]) == (numbers + 4).threadof());
        CHECK(upc::phaseof(places[0]) == 0);
        CHECK(upc::blocksizeof(places[0]) == 1);
        *places[0] = *places[1];
        CHECK(numbers[4] == 3);
        places[1] = nullptr;
        CHECK(!places[1]);
        CHECK_FALSE((places[1] ? true : false));
        int count = 0;
        for (upc::Pointer<int> p = places[0]; p - places[0] < 3; ++p) ++count;
        CHECK(count == 3);
    }
    upc::barrier();
}
