// A program that is compiled at assertion level 2, whatever the library's: invalid accesses.
#define LAPWING_ASSERTION_LEVEL 2
#include "tests/upc/upc_test.hpp"

#include <lapwing/upc.hpp>

#include <cstdint>

namespace upc = lapwing::upc;

namespace {

struct Node {
    std::int64_t key;
    std::int64_t many[4];
};

} // namespace

TEST_CASE("accesses to freed memory are found, also to memory that the thread can load and store") {
    const test::UpcProgram program;
    const upc::Pointer<Node, upc::indefinite> freed = upc::alloc<Node>(4);
    const upc::Pointer<Node, upc::indefinite> there = upc::alloc<Node>(4);
    *freed = Node{1, {}};
    CHECK(+(freed->*&Node::key) == 1);
    upc::free(freed);
    const auto says = test::says({"thread " + std::to_string(program.me), "nothing is allocated", "freed"});
    CHECK_THAT(test::upc_error_of([&] { *freed = Node{}; }), says);
    CHECK_THAT(test::upc_error_of([&] { static_cast<void>(+*freed); }), says);
    CHECK_THAT(test::upc_error_of([&] { freed->*& Node::key = 5; }), says);
    CHECK_THAT(test::upc_error_of([&] { (freed->*&Node::many)[1] = 5; }), says);
    CHECK_THAT(test::upc_error_of([&] { (freed->*&Node::key).put_relaxed(5); }), says);
    CHECK_THAT(test::upc_error_of([&] { static_cast<void>(+(there + 4)[0]); }), test::says({"leave the object"}));
    CHECK_THAT(test::upc_error_of([&] { (there->*&Node::many)[4] = 1; }), test::says({"element 4 of an array of 4"}));
    there[3] = Node{9, {}};
    CHECK(+(there[3]->*&Node::key) == 9);
    upc::free(there);
    upc::barrier();
}

TEST_CASE("elements of arrays go through the runtime, and pointers have the phases of their block size") {
    const test::UpcProgram program;
    {
        const upc::SharedArray<std::int64_t, 3> a{30};
        upc::forall(0, 30, a, [&](auto i) { a[i] = i; });
        upc::barrier();
        for (std::int64_t i = 0; i < 30; ++i) REQUIRE(+a[i] == i);
        CHECK_THAT(test::upc_error_of([&] { static_cast<void>(+a[30]); }),
                   test::says({"element 30 of an array of 30"}));
        lapwing_upc_pointer wrong = a.begin().raw();
        wrong.phase = 7;
        const upc::Pointer<std::int64_t, 3> p{wrong};
        CHECK_THAT(test::upc_error_of([&] { static_cast<void>(p + 1); }), test::says({"phase 7", "blocks of 3"}));
        upc::barrier();
    }
}
