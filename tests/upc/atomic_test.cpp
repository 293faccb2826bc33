// UPC's atomics.
#include "tests/upc/upc_test.hpp"

#include <lapwing/upc.hpp>

#include <cstdint>
#include <limits>

namespace upc = lapwing::upc;

namespace {

template <class T>
void check_numbers() {
    const upc::SharedArray<T> a{static_cast<std::size_t>(upc::threads())};
    upc::AtomicDomain<T> domain;
    const auto target = a[upc::threads() - 1];
    constexpr int rounds = 20;
    const int additions = rounds * upc::threads();
    const T all = static_cast<T>(additions);
    for (int k = 0; k < rounds; ++k) domain.add(target, T{3});
    for (int k = 0; k < rounds; ++k) domain.apply(LAPWING_UPC_SUB, target, T{2});
    upc::barrier();
    CHECK(domain.get(target) == all);
    upc::barrier();
    for (int k = 0; k < rounds; ++k) domain.decrement(target);
    upc::barrier();
    CHECK(domain.get(target) == T{0});
    upc::barrier();
    domain.increment(target);
    domain.apply(LAPWING_UPC_MAX, target, static_cast<T>(100 + upc::mythread()));
    upc::barrier();
    CHECK(domain.get(target) >= static_cast<T>(100 + upc::threads() - 1));
    upc::barrier();
    domain.apply(LAPWING_UPC_MIN, target, static_cast<T>(2 + upc::mythread()));
    upc::barrier();
    CHECK(domain.get(target, upc::Consistency::strict) == T{2});
    upc::barrier();
    if (upc::mythread() == 0) domain.set(target, T{1});
    upc::barrier();
    domain.apply(LAPWING_UPC_MULT, target, T{2});
    upc::barrier();
    const int power = 1 << upc::threads();
    CHECK(domain.get(target) == static_cast<T>(power));
    upc::barrier();
    // One thread wins.
    const T before = domain.compare_swap(target, static_cast<T>(power), static_cast<T>(5 + upc::mythread()));
    upc::Shared<std::int64_t> winners;
    upc::AtomicDomain<std::int64_t> counts;
    if (before == static_cast<T>(power)) counts.increment(*winners);
    upc::barrier();
    CHECK(winners == 1);
    CHECK(domain.get(target) < static_cast<T>(5 + upc::threads()));
    upc::barrier();
}

} // namespace

TEST_CASE("atomics on numbers of every type") {
    const test::UpcProgram program;
    check_numbers<std::int32_t>();
    check_numbers<std::uint32_t>();
    check_numbers<std::int64_t>();
    check_numbers<std::uint64_t>();
    check_numbers<float>();
    check_numbers<double>();
}

TEST_CASE("atomics on bits, with and without results") {
    const test::UpcProgram program;
    upc::Shared<std::uint64_t> bits;
    upc::AtomicDomain<std::uint64_t> domain;
    const std::uint64_t mine = std::uint64_t{1} << upc::mythread();
    const std::uint64_t all = (std::uint64_t{1} << upc::threads()) - 1;
    domain.apply(LAPWING_UPC_OR, *bits, mine);
    upc::barrier();
    CHECK(bits == all);
    upc::barrier();
    CHECK((domain.fetch_apply(LAPWING_UPC_XOR, *bits, mine) & mine) == mine);
    upc::barrier();
    CHECK(bits == 0);
    upc::barrier();
    if (upc::mythread() == 0) domain.set(*bits, all);
    upc::barrier();
    CHECK((domain.fetch_apply(LAPWING_UPC_AND, *bits, ~mine) & mine) == mine);
    upc::barrier();
    CHECK(domain.swap(*bits, 7) <= 7);
    upc::barrier();
    CHECK(bits == 7);
    upc::barrier();
}

TEST_CASE("every ticket is drawn once") {
    const test::UpcProgram program;
    upc::Shared<std::int64_t> tickets;
    upc::AtomicDomain<std::int64_t> domain;
    constexpr std::int64_t each = 50;
    const upc::SharedArray<std::int64_t, 4> drawn{static_cast<std::size_t>(each * upc::threads())};
    for (std::int64_t k = 0; k < each; ++k) {
        const std::int64_t ticket = domain.fetch_add(*tickets, 1);
        drawn[ticket] += 1;
    }
    upc::barrier();
    for (std::int64_t k = 0; k < each * upc::threads(); ++k) REQUIRE(+drawn[k] == 1);
    upc::barrier();
}

TEST_CASE("atomics on pointers-to-shared: a list that all threads push to") {
    const test::UpcProgram program;
    using Node = upc::Pointer<std::int64_t, upc::indefinite>; // word 0: the value; words 1 and 2: the next one
    static_assert(sizeof(Node) == 16);
    const upc::Shared<Node> head;
    upc::AtomicDomain<Node> domain;
    for (std::int64_t k = 0; k < 20; ++k) {
        const Node node = upc::alloc<std::int64_t>(4);
        *node = 1000 * upc::mythread() + k;
        Node first = domain.get(*head);
        for (;;) {
            upc::memput(node + 2, &first, sizeof(first));
            upc::fence();
            const Node found = domain.compare_swap(*head, first, node);
            if (found == first) break;
            first = found;
        }
    }
    upc::barrier();
    std::int64_t sum = 0;
    std::int64_t nodes = 0;
    for (Node node = *head; node; ++nodes) {
        sum += *node;
        Node next;
        upc::memget(&next, node + 2, sizeof(next));
        node = next;
    }
    CHECK(nodes == 20 * upc::threads());
    CHECK(sum == 20 * 1000 * upc::threads() * (upc::threads() - 1) / 2 + 190 * upc::threads());
    upc::barrier();
}

TEST_CASE("wrong types, operations and operands of atomics say so") {
    const test::UpcProgram program;
    CHECK_THAT(
        test::upc_error_of([] { (void)lapwing_upc_all_atomicdomain_alloc(LAPWING_UPC_SHORT, LAPWING_UPC_ADD, 0); }),
        test::says({"upc_all_atomicdomain_alloc", "INT32"}));
    CHECK_THAT(
        test::upc_error_of([] { (void)lapwing_upc_all_atomicdomain_alloc(LAPWING_UPC_DOUBLE, LAPWING_UPC_XOR, 0); }),
        test::says({"operations"}));
    lapwing_upc_atomicdomain* const domain =
        lapwing_upc_all_atomicdomain_alloc(LAPWING_UPC_INT64, LAPWING_UPC_ADD | LAPWING_UPC_GET, 0);
    const lapwing_upc_pointer p = lapwing_upc_all_alloc(1, 16);
    const std::int64_t one = 1;
    std::int64_t value = 0;
    CHECK_THAT(
        test::upc_error_of([&] { lapwing_upc_atomic_relaxed(domain, nullptr, LAPWING_UPC_XOR, p, &one, nullptr); }),
        test::says({"upc_atomic_relaxed", "domain"}));
    CHECK_THAT(
        test::upc_error_of([&] { lapwing_upc_atomic_relaxed(domain, &value, LAPWING_UPC_GET, p, &one, nullptr); }),
        test::says({"0 operands"}));
    CHECK_THAT(
        test::upc_error_of([&] { lapwing_upc_atomic_strict(domain, nullptr, LAPWING_UPC_GET, p, nullptr, nullptr); }),
        test::says({"upc_atomic_strict", "fetch_ptr"}));
    CHECK_THAT(
        test::upc_error_of([&] { lapwing_upc_atomic_relaxed(domain, &value, LAPWING_UPC_ADD, {}, &one, nullptr); }),
        test::says({"null pointer"}));
    CHECK_THAT(test::upc_error_of([&] {
                   lapwing_upc_atomic_relaxed(domain, &value, LAPWING_UPC_ADD, {p.address + 4, p.thread, 0}, &one,
                                              nullptr);
               }),
               test::says({"multiple of 8"}));
    CHECK_THAT(
        test::upc_error_of([&] { lapwing_upc_atomic_relaxed(nullptr, &value, LAPWING_UPC_ADD, p, &one, nullptr); }),
        test::says({"domain is null"}));
    CHECK(lapwing_upc_atomic_isfast(LAPWING_UPC_INT64, LAPWING_UPC_ADD, p) == 1);
    CHECK(lapwing_upc_atomic_isfast(LAPWING_UPC_PTS, LAPWING_UPC_GET, p) == 0);
    lapwing_upc_all_free(p);
    lapwing_upc_all_atomicdomain_free(domain);
}
