// UPC's collectives, compared with a look at every element.
#include "src/team/team_state.hpp"
#include "tests/distribution/random_maps.hpp"
#include "tests/upc/upc_test.hpp"
#include "upc/program.hpp"

#include <lapwing/detail/config.hpp>
#include <lapwing/team.hpp>
#include <lapwing/upc.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace upc = lapwing::upc;

namespace {

constexpr std::array<int, 3> in_flags{LAPWING_UPC_IN_ALLSYNC, LAPWING_UPC_IN_MYSYNC, LAPWING_UPC_IN_NOSYNC};
constexpr std::array<int, 3> out_flags{LAPWING_UPC_OUT_ALLSYNC, LAPWING_UPC_OUT_MYSYNC, LAPWING_UPC_OUT_NOSYNC};

/// Byte k of what thread t has in round r.
unsigned char byte_of(int round, int thread, std::size_t k) {
    return static_cast<unsigned char>(31 * round + 7 * thread + static_cast<int>(k % 251));
}

/// Memory of all threads, the same number of bytes at each.
struct Blocks {
    explicit Blocks(std::size_t bytes)
        : pointer{upc::all_alloc<unsigned char, 1>(static_cast<std::size_t>(upc::threads()), bytes)}, size{bytes} {}
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;
    ~Blocks() { upc::all_free(pointer); }
    [[nodiscard]] unsigned char* own() const {
        return static_cast<unsigned char*>(
            lapwing_upc_cast({pointer.addrfield(), static_cast<std::uint32_t>(upc::mythread()), 0}));
    }
    [[nodiscard]] upc::Pointer<unsigned char> at(int thread) const {
        return upc::Pointer<unsigned char>{
            lapwing_upc_pointer{pointer.addrfield(), static_cast<std::uint32_t>(thread), 0}};
    }
    void fill(int round) const {
        for (std::size_t k = 0; k < size; ++k) own()[k] = byte_of(round, upc::mythread(), k);
    }
    upc::Pointer<unsigned char> pointer;
    std::size_t size;
};

/// Runs a step with each pair of flags. Data is synchronised by barriers where the flags do not do it. In each round
/// one thread comes late, so that a collective that reads its data too early finds that of the round before.
template <class Step>
void with_flags(Step step) {
    int round = 0;
    for (const int in : in_flags)
        for (const int out : out_flags) {
            ++round;
            step(round, in | out, [&](const Blocks& source, auto&& collective, auto&& check) {
                if (round % upc::threads() == upc::mythread())
                    for (const std::uint64_t begin = lapwing_upc_ticks_now();
                         lapwing_upc_ticks_to_ns(lapwing_upc_ticks_now() - begin) < 500'000;) {
                    }
                source.fill(round);
                if (in == LAPWING_UPC_IN_NOSYNC) upc::barrier();
                collective();
                if (out == LAPWING_UPC_OUT_NOSYNC) upc::barrier();
                std::memset(source.own(), 0xee, source.size); // what the others still want is gone
                check();                                      // of own memory, which MYSYNC promises
                upc::barrier();
            });
        }
}

/// A matrix of two rows: products are associative, not commutative.
struct Matrix {
    std::uint32_t a, b, c, d;
    friend bool operator==(const Matrix&, const Matrix&) = default;
};
Matrix product(const Matrix& x, const Matrix& y) {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}

template <class T>
bool close(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(a - b) <= std::fabs(a) * static_cast<T>(1e-4);
    else return a == b;
}

/// Values of a type for an operation: any ones of integers, where the result is exact; few ones where 0 matters, or
/// rounding.
template <class T>
T value_for(test::Random& random, lapwing_upc_op op) {
    constexpr std::int64_t lowest = std::is_signed_v<T> ? -3 : 0;
    if (op == LAPWING_UPC_MULT && std::is_floating_point_v<T>) return static_cast<T>(random.number(1, 4));
    if (op == LAPWING_UPC_LOGAND) return static_cast<T>(random.number(0, 19) == 0 ? 0 : random.number(1, 3));
    if (op == LAPWING_UPC_LOGOR) return static_cast<T>(random.number(0, 19) == 0 ? 2 : 0);
    if constexpr (std::is_integral_v<T>)
        if (op != LAPWING_UPC_MULT || random.number(0, 1) == 0)
            return static_cast<T>(
                random.number(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()) |
                (op == LAPWING_UPC_MULT)); // products of odd numbers do not become 0
    return static_cast<T>(random.number(lowest, 4));
}

/// A pointer to element `first` of an array in blocks of `block`, of objects that begin with thread 0.
lapwing_upc_pointer to(const lapwing_upc_pointer& begin, std::size_t bytes, std::size_t block, std::int64_t first) {
    return lapwing_upc_add(begin, bytes, block, first);
}

/// Both reductions of T's elements from a random element on, by one operation, with random flags. `reduce` and `prefix`
/// are the calls, `combine` what they must do.
template <class T, class Reduce, class Prefix, class Combine>
void check_reductions(test::Random& random, lapwing_upc_op op, Reduce reduce, Prefix prefix, Combine combine) {
    const auto block = static_cast<std::size_t>(random.number(0, 7));
    const std::int64_t room = 60;
    const std::size_t blocks = block == 0 ? 1 : (static_cast<std::size_t>(room) - 1) / block + 1;
    const std::size_t block_bytes = (block == 0 ? static_cast<std::size_t>(room) : block) * sizeof(T);
    const lapwing_upc_pointer source = lapwing_upc_all_alloc(blocks, block_bytes);
    const lapwing_upc_pointer target = lapwing_upc_all_alloc(blocks, block_bytes);
    const lapwing_upc_pointer single = lapwing_upc_all_alloc(static_cast<std::size_t>(upc::threads()), 64);
    const std::int64_t first = random.number(0, room - 1);
    const std::int64_t count = random.number(0, room - first);
    const bool aligned = random.number(0, 1) == 0;
    const std::int64_t first_target = aligned ? first : random.number(0, room - count);
    std::vector<T> elements;
    for (std::int64_t i = 0; i < room; ++i) {
        T value;
        if constexpr (std::is_same_v<T, Matrix>) {
            const auto digit = [&] { return static_cast<std::uint32_t>(random.number(0, 9)); };
            value = {digit(), digit(), digit(), digit()};
        } else {
            value = value_for<T>(random, op);
        }
        elements.push_back(value);
        if (upc::mythread() == 0) lapwing_upc_put(to(source, sizeof(T), block, i), &value, sizeof(T));
    }
    const lapwing_upc_pointer result{single.address, static_cast<std::uint32_t>(random.number(0, upc::threads() - 1)),
                                     0};
    const lapwing_upc_pointer from = to(source, sizeof(T), block, first);
    // One after the other, without a barrier between them where the flags say so: they write to different memory.
    const auto flags = [&] {
        return in_flags[static_cast<std::size_t>(random.number(0, 2))] |
               out_flags[static_cast<std::size_t>(random.number(0, 2))];
    };
    const int flags_of_reduce = flags();
    const int flags_of_prefix = flags();
    if ((flags_of_reduce & LAPWING_UPC_IN_ALLSYNC) == 0 || (flags_of_prefix & LAPWING_UPC_IN_ALLSYNC) == 0)
        upc::barrier(); // thread 0 has put all
    reduce(result, from, static_cast<std::size_t>(count), block, flags_of_reduce);
    prefix(to(target, sizeof(T), block, first_target), from, static_cast<std::size_t>(count), block, flags_of_prefix);
    if ((flags_of_prefix & LAPWING_UPC_OUT_ALLSYNC) == 0) upc::barrier();
    if (count > 0) {
        T sum = elements[static_cast<std::size_t>(first)];
        for (std::int64_t i = 0;; ++i) {
            T found;
            lapwing_upc_get(&found, to(target, sizeof(T), block, first_target + i), sizeof(T));
            REQUIRE(close(found, sum));
            if (i + 1 == count) break;
            sum = combine(sum, elements[static_cast<std::size_t>(first + i + 1)]);
        }
        T found;
        lapwing_upc_get(&found, result, sizeof(T));
        REQUIRE(close(found, sum));
    }
    upc::barrier();
    lapwing_upc_all_free(source);
    lapwing_upc_all_free(target);
    lapwing_upc_all_free(single);
}
bool close(const Matrix& a, const Matrix& b) { return a == b; }

template <class T>
using Reduce = void (*)(lapwing_upc_pointer, lapwing_upc_pointer, lapwing_upc_op, std::size_t, std::size_t, T (*)(T, T),
                        int);

template <class T>
void check_type(test::Random& random, Reduce<T> reduce, Reduce<T> prefix) {
    const auto check = [&](lapwing_upc_op op, T (*func)(T, T), auto combine) {
        check_reductions<T>(
            random, op,
            [&](auto dst, auto src, auto n, auto block, int flags) { reduce(dst, src, op, n, block, func, flags); },
            [&](auto dst, auto src, auto n, auto block, int flags) { prefix(dst, src, op, n, block, func, flags); },
            combine);
    };
    check(LAPWING_UPC_ADD, nullptr, [](T a, T b) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
        else return a + b;
    });
    check(LAPWING_UPC_MULT, nullptr, [](T a, T b) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
        else return a * b;
    });
    check(LAPWING_UPC_MIN, nullptr, [](T a, T b) { return std::min(a, b); });
    check(LAPWING_UPC_MAX, nullptr, [](T a, T b) { return std::max(a, b); });
    check(LAPWING_UPC_LOGAND, nullptr, [](T a, T b) { return static_cast<T>(a != T{} && b != T{}); });
    check(LAPWING_UPC_LOGOR, nullptr, [](T a, T b) { return static_cast<T>(a != T{} || b != T{}); });
    check(LAPWING_UPC_FUNC, [](T a, T b) { return a < b ? b : a; }, [](T a, T b) { return std::max(a, b); });
    check(LAPWING_UPC_NONCOMM_FUNC, [](T, T b) { return b; }, [](T, T b) { return b; }); // the last one
    if constexpr (std::is_integral_v<T>) {
        check(LAPWING_UPC_AND, nullptr, [](T a, T b) { return static_cast<T>(a & b); });
        check(LAPWING_UPC_OR, nullptr, [](T a, T b) { return static_cast<T>(a | b); });
        check(LAPWING_UPC_XOR, nullptr, [](T a, T b) { return static_cast<T>(a ^ b); });
    }
}

} // namespace

TEST_CASE("blocks are broadcast, scattered and gathered, with all flags") {
    const test::UpcProgram program;
    const int threads = upc::threads();
    const int me = upc::mythread();
    const auto each = static_cast<std::size_t>(threads);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
        const Blocks one{bytes}, other{bytes}, all{bytes * each};
        with_flags([&](int round, int flags, auto&& run) {
            const int root = round % threads;
            run(
                one, [&] { upc::all_broadcast(other.pointer, one.at(root), bytes, flags); },
                [&] {
                    for (std::size_t k = 0; k < bytes; k += 1 + bytes / 50)
                        REQUIRE(other.own()[k] == byte_of(round, root, k));
                });
            run(
                all, [&] { upc::all_scatter(one.pointer, all.at(root), bytes, flags); },
                [&] {
                    for (std::size_t k = 0; k < bytes; k += 1 + bytes / 50)
                        REQUIRE(one.own()[k] == byte_of(round, root, static_cast<std::size_t>(me) * bytes + k));
                });
            run(
                one, [&] { upc::all_gather(all.at(root), one.pointer, bytes, flags); },
                [&] {
                    if (me == root)
                        for (std::size_t t = 0; t < each; ++t)
                            for (std::size_t k = 0; k < bytes; k += 1 + bytes / 50)
                                REQUIRE(all.own()[t * bytes + k] == byte_of(round, static_cast<int>(t), k));
                });
        });
    }
}

TEST_CASE("blocks go from all to all, and are permuted, with all flags") {
    const test::UpcProgram program;
    const int threads = upc::threads();
    const int me = upc::mythread();
    const auto each = static_cast<std::size_t>(threads);
    const upc::SharedArray<int> perm{each};
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{700}, (std::size_t{4} << 20) / each + 1}) {
        const Blocks one{bytes}, other{bytes}, all{bytes * each}, all_others{bytes * each};
        with_flags([&](int round, int flags, auto&& run) {
            if (bytes > 100'000 && round % 4 != 0) return; // beyond the limit of gather_all's messages
            run(
                one, [&] { upc::all_gather_all(all.pointer, one.pointer, bytes, flags); },
                [&] {
                    for (std::size_t t = 0; t < each; ++t)
                        for (std::size_t k = 0; k < bytes; k += 1 + bytes / 50)
                            REQUIRE(all.own()[t * bytes + k] == byte_of(round, static_cast<int>(t), k));
                });
            run(
                all, [&] { upc::all_exchange(all_others.pointer, all.pointer, bytes, flags); },
                [&] {
                    for (std::size_t t = 0; t < each; ++t)
                        for (std::size_t k = 0; k < bytes; k += 1 + bytes / 50)
                            REQUIRE(all_others.own()[t * bytes + k] ==
                                    byte_of(round, static_cast<int>(t), static_cast<std::size_t>(me) * bytes + k));
                });
            perm[me] = (me + round) % threads;
            run(
                one, [&] { upc::all_permute(other.pointer, one.pointer, perm.begin(), bytes, flags); },
                [&] {
                    const int from = (me + threads * round - round) % threads;
                    for (std::size_t k = 0; k < bytes; k += 1 + bytes / 50)
                        REQUIRE(other.own()[k] == byte_of(round, from, k));
                });
        });
    }
}

TEST_CASE("small blocks between nodes make no transfer of their own, and large ones do") {
    const test::UpcProgram started;
    upc::ProgramState& program = upc::program("test");
    const auto threads = static_cast<std::size_t>(upc::threads());
    const bool one_node = program.heap().map().node_count == upc::threads();
    using lapwing::Counter;
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 16}) {
        const Blocks all{bytes * threads};
        const Blocks one{bytes};
        const Blocks all_others{bytes * threads};
        all.fill(1);
        one.fill(2);
        upc::barrier();
        const lapwing::StatisticsValues before = program.heap().statistics();
        upc::all_scatter(one.pointer, all.at(0), bytes);
        upc::all_gather(all_others.at(0), one.pointer, bytes);
        upc::all_exchange(all_others.pointer, all.pointer, bytes);
        const lapwing::StatisticsValues behind = program.heap().statistics();
        std::uint64_t transfers = 0;
        for (const Counter counter :
             {Counter::service_gets, Counter::rma_gets, Counter::service_puts, Counter::rma_puts})
            transfers += behind[counter] - before[counter];
        CHECK((transfers > 0) == (bytes > 8 && !one_node));
        for (std::size_t t = 0; t < threads; ++t)
            CHECK(all_others.own()[t * bytes] ==
                  byte_of(1, static_cast<int>(t), static_cast<std::size_t>(upc::mythread()) * bytes));
        upc::barrier();
    }
}

TEST_CASE("reductions and prefix reductions of every type and operation, from any element on") {
    const test::UpcProgram program;
    test::Random random{19}; // the same on all threads
    check_type<signed char>(random, lapwing_upc_all_reduceC, lapwing_upc_all_prefix_reduceC);
    check_type<unsigned char>(random, lapwing_upc_all_reduceUC, lapwing_upc_all_prefix_reduceUC);
    check_type<short>(random, lapwing_upc_all_reduceS, lapwing_upc_all_prefix_reduceS);
    check_type<unsigned short>(random, lapwing_upc_all_reduceUS, lapwing_upc_all_prefix_reduceUS);
    check_type<int>(random, lapwing_upc_all_reduceI, lapwing_upc_all_prefix_reduceI);
    check_type<unsigned int>(random, lapwing_upc_all_reduceUI, lapwing_upc_all_prefix_reduceUI);
    check_type<long>(random, lapwing_upc_all_reduceL, lapwing_upc_all_prefix_reduceL);
    check_type<unsigned long>(random, lapwing_upc_all_reduceUL, lapwing_upc_all_prefix_reduceUL);
    check_type<float>(random, lapwing_upc_all_reduceF, lapwing_upc_all_prefix_reduceF);
    check_type<double>(random, lapwing_upc_all_reduceD, lapwing_upc_all_prefix_reduceD);
    check_type<long double>(random, lapwing_upc_all_reduceLD, lapwing_upc_all_prefix_reduceLD);
}

TEST_CASE("reductions by functions that do not commute keep the order of the elements") {
    const test::UpcProgram program;
    test::Random random{23};
    const upc::NonCommutative by_product{[](const Matrix& a, const Matrix& b) { return product(a, b); }};
    for (int round = 0; round < 20; ++round) {
        check_reductions<Matrix>(
            random, LAPWING_UPC_NONCOMM_FUNC,
            [&](auto dst, auto src, auto n, auto block, int flags) {
                upc::all_reduce(upc::Pointer<Matrix>{dst}, upc::Pointer<Matrix, upc::dynamic_block>{src, block},
                                by_product, n, flags);
            },
            [&](auto dst, auto src, auto n, auto block, int flags) {
                using P = upc::Pointer<Matrix, upc::dynamic_block>;
                upc::all_prefix_reduce(P{dst, block}, P{src, block}, by_product, n, flags);
            },
            product);
    }
    // In place, more rounds than one message carries.
    constexpr std::size_t n = 100'000;
    const upc::SharedArray<std::int64_t> a{n};
    upc::forall(0, static_cast<std::int64_t>(n), a, [&](auto i) { a[i] = i % 3; });
    upc::all_prefix_reduce(a.begin(), a.begin(), upc::Op::add, n);
    for (std::int64_t i = upc::mythread(); i < static_cast<std::int64_t>(n); i += 997)
        REQUIRE(+a[i] == i / 3 * 3 + (i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 3));
    upc::barrier();
}

TEST_CASE("reductions in order over many rounds of small blocks") {
    const test::UpcProgram program;
    test::Random random{29};
    for (int round = 0; round < 12; ++round) {
        // The last element of those that are there, which does not commute, and sums; blocks that begin anywhere,
        // targets that lie as the source or not.
        const auto block = static_cast<std::size_t>(random.number(1, 40));
        const std::int64_t room = 5000 * (1 + static_cast<std::int64_t>(block) / 8);
        const std::int64_t first = random.number(0, 300);
        const std::int64_t count = room - 300 - random.number(0, 100);
        const std::int64_t first_target = random.number(0, 1) == 0 ? first : random.number(0, 300);
        using P = upc::Pointer<std::int32_t, upc::dynamic_block>;
        const upc::SharedArray<std::int32_t, upc::dynamic_block> a{static_cast<std::size_t>(room), block},
            b{static_cast<std::size_t>(room), block};
        const upc::Shared<std::int32_t> last;
        upc::forall(0, room, a, [&](std::int64_t i) { a[i] = static_cast<std::int32_t>(i % 11 - 5); });
        const bool in_place = first == first_target && round % 3 == 0;
        const P from = a + first;
        const P to = in_place ? from : b + first_target;
        upc::all_reduce(last.pointer(), from, upc::NonCommutative{[](std::int32_t, std::int32_t y) { return y; }},
                        static_cast<std::size_t>(count));
        CHECK(last == (first + count - 1) % 11 - 5);
        upc::all_prefix_reduce(to, from, upc::Op::add, static_cast<std::size_t>(count));
        std::int32_t sum = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            sum += static_cast<std::int32_t>((first + i) % 11 - 5);
            if (i % 97 == upc::mythread()) REQUIRE(+to[i] == sum);
        }
        upc::barrier();
    }
}

TEST_CASE("collectives on private values") {
    const test::UpcProgram program;
    const std::int64_t me = upc::mythread();
    const std::int64_t threads = upc::threads();
    CHECK(upc::allv_reduce(me + 1) == threads * (threads + 1) / 2);
    CHECK(upc::allv_reduce((std::int64_t{1} << 60) + me, upc::Op::max) == (std::int64_t{1} << 60) + threads - 1);
    CHECK(upc::allv_reduce(2.0, upc::Op::multiply) == std::ldexp(1.0, upc::threads()));
    const upc::NonCommutative by_product{[](const Matrix& a, const Matrix& b) { return product(a, b); }};
    const Matrix product_of_all = upc::allv_reduce(Matrix{1, static_cast<std::uint32_t>(me), 0, 2}, by_product);
    Matrix expected{1, 0, 0, 1};
    for (std::uint32_t t = 0; t < static_cast<std::uint32_t>(threads); ++t) expected = product(expected, {1, t, 0, 2});
    CHECK(product_of_all == expected);
    CHECK(upc::allv_reduce(std::uint8_t{1}, upc::Op::bit_xor) == threads % 2);
    CHECK(upc::allv_broadcast(100 + me, upc::threads() - 1) == 100 + threads - 1);
}

TEST_CASE("wrong collective calls say so on all threads") {
    const test::UpcProgram program;
    const Blocks a{64}, b{64};
    const auto error = [&](auto call) { return test::upc_error_of(call); };
    constexpr int two_of_in = LAPWING_UPC_IN_ALLSYNC | LAPWING_UPC_IN_NOSYNC;
    CHECK_THAT(error([&] { upc::all_broadcast(a.pointer, b.pointer, 64, two_of_in); }),
               test::says({"upc_all_broadcast", "flags"}));
    CHECK_THAT(error([&] { upc::all_gather(a.pointer, b.pointer, 64, 4096); }),
               test::says({"upc_all_gather", "flags"}));
    CHECK_THAT(error([&] { upc::all_scatter(upc::Pointer<char>{}, b.pointer, 64); }),
               test::says({"upc_all_scatter", "null pointer"}));
    CHECK_THAT(error([&] { upc::all_exchange(a.pointer, b.pointer, std::size_t{1} << 60); }),
               test::says({"upc_all_exchange"}));
    const auto reduce = [&](auto call, lapwing_upc_pointer src, lapwing_upc_op op, std::size_t nelems,
                            std::size_t blk_size) {
        return error([&] { call(a.pointer.raw(), src, op, nelems, blk_size, nullptr, 0); });
    };
    const lapwing_upc_pointer src = b.pointer.raw();
    CHECK_THAT(reduce(lapwing_upc_all_reduceD, src, LAPWING_UPC_XOR, 4, 1),
               test::says({"upc_all_reduceD", "operation 0x10", "floating point"}));
    CHECK_THAT(reduce(lapwing_upc_all_reduceI, src, LAPWING_UPC_GET, 4, 1),
               test::says({"upc_all_reduceI", "operation 0x800", "integers"}));
    CHECK_THAT(reduce(lapwing_upc_all_prefix_reduceI, src, LAPWING_UPC_FUNC, 4, 1),
               test::says({"upc_all_prefix_reduceI", "FUNC without a function"}));
    CHECK_THAT(reduce(lapwing_upc_all_reduceI, src, LAPWING_UPC_ADD, SIZE_MAX, 1),
               test::says({"upc_all_reduceI", "2^63"}));
    CHECK_THAT(reduce(lapwing_upc_all_reduceI, src, LAPWING_UPC_ADD, 4, SIZE_MAX),
               test::says({"upc_all_reduceI", "blocks of 18446744073709551615"}));
    const lapwing_upc_pointer phased{b.pointer.addrfield(), 0, 5};
    CHECK_THAT(reduce(lapwing_upc_all_reduceI, phased, LAPWING_UPC_ADD, 4, 2), test::says({"phase 5", "blocks of 2"}));
    const lapwing_upc_pointer before_the_part{b.pointer.addrfield(), 0, 1'000'000'000};
    CHECK_THAT(reduce(lapwing_upc_all_reduceI, before_the_part, LAPWING_UPC_ADD, 4, 2'000'000'000),
               test::says({"phase 1000000000", "before the thread's part"}));
    CHECK_THAT(error([&] { (void)upc::allv_reduce(1.0, upc::Op::bit_or); }),
               test::says({"allv_reduce", "floating point"}));
    CHECK_THAT(error([&] { (void)upc::allv_broadcast(1, 99); }), test::says({"allv_broadcast", "99"}));
    upc::barrier();
    const upc::SharedArray<int> perm{static_cast<std::size_t>(upc::threads())};
    perm[upc::mythread()] = upc::mythread() == 0 ? -3 : 0;
    const std::string text = error([&] { upc::all_permute(a.pointer, b.pointer, perm.begin(), 8); });
    if (upc::mythread() == 0) CHECK_THAT(text, test::says({"upc_all_permute", "perm[0] is -3"}));
    else CHECK(text == "no error");
    upc::barrier();
}

TEST_CASE("collectives refuse arrays that begin with another thread, and elements that leave a part, on all threads") {
    const test::UpcProgram program;
    const Blocks a{64}, b{64};
    const upc::SharedArray<int> perm{static_cast<std::size_t>(upc::threads())};
    if (upc::threads() > 1) {
        const auto refused = [&](const char* name, auto call) {
            CHECK_THAT(test::upc_error_of(call), test::says({name, "thread 1", "first block"}));
        };
        refused("dst", [&] { upc::all_broadcast(a.at(1), b.pointer, 8); });
        refused("dst", [&] { upc::all_scatter(a.at(1), b.pointer, 8); });
        refused("src", [&] { upc::all_gather(a.pointer, b.at(1), 8); });
        refused("dst", [&] { upc::all_gather_all(a.at(1), b.pointer, 8); });
        refused("src", [&] { upc::all_gather_all(a.pointer, b.at(1), 8); });
        refused("dst", [&] { upc::all_exchange(a.at(1), b.pointer, 8); });
        refused("src", [&] { upc::all_exchange(a.pointer, b.at(1), 8); });
        refused("dst", [&] { upc::all_permute(a.at(1), b.pointer, perm.begin(), 8); });
        refused("perm", [&] { upc::all_permute(a.pointer, b.pointer, perm.begin() + 1, 8); });
    }
    // Of blocks of four one leaves its thread's part, and the last element, after it, does not.
    const std::uint64_t end = upc::program("the test").regions().local.end;
    const auto last_but_one = static_cast<std::uint32_t>(std::max(0, upc::threads() - 2));
    const lapwing_upc_pointer first_block{end - 8, 0, 0}; // of thread 0, that of thread 1 being the last
    const lapwing_upc_pointer block_behind{end - 24, last_but_one,
                                           0}; // of thread 0, after one of each of the last two threads
    const auto both = [&](const lapwing_upc_pointer& at, std::size_t nelems) {
        return std::array{test::upc_error_of([&] {
                              lapwing_upc_all_reduceI(a.pointer.raw(), at, LAPWING_UPC_MAX, nelems, 4, nullptr, 0);
                          }),
                          test::upc_error_of(
                              [&] { lapwing_upc_all_prefix_reduceI(at, at, LAPWING_UPC_MAX, nelems, 4, nullptr, 0); })};
    };
    for (const std::string& text : both(first_block, 5)) CHECK_THAT(text, test::says({"reduceI", "leave"}));
    if constexpr (lapwing::assertion_level < 2) { // above, an error says first that nothing is allocated there
        for (const std::string& text : both(block_behind, 13)) CHECK_THAT(text, test::says({"reduceI", "leave"}));
        CHECK(both(first_block, 2)[0] == "no error");
        if (upc::threads() > 1) CHECK(both(block_behind, 10)[0] == "no error");
    }
    upc::barrier();
}

TEST_CASE("collective calls with different arguments are refused on all threads") {
    const test::UpcProgram program;
    if (upc::threads() == 1) return;
    const Blocks a{64}, b{64};
    const bool odd = upc::mythread() % 2 == 1;
    const bool all_levels = upc::program("the test").team().state().synchronisation().checks() >= 3;
    const auto refused = [&](auto call) {
        CHECK_THAT(test::upc_error_of(call),
                   test::says({"upc_all_", "thread 0 passes ", ", and thread 1 ", "the same on all threads"}));
    };
    refused([&] { upc::all_broadcast(a.pointer, b.pointer, odd ? 8 : 16); });
    refused([&] { upc::all_scatter(a.pointer, odd ? b.pointer : upc::Pointer<unsigned char>{}, 8); });
    refused([&] { upc::all_exchange(odd ? a.pointer : b.pointer, b.pointer, 8); });
    refused([&] {
        lapwing_upc_all_reduceD(a.pointer.raw(), b.pointer.raw(), odd ? LAPWING_UPC_ADD : LAPWING_UPC_MAX, 4, 1,
                                nullptr, 0);
    });
    refused([&] {
        lapwing_upc_all_prefix_reduceD(a.pointer.raw(), b.pointer.raw(), LAPWING_UPC_ADD, 4, odd ? 1 : 2, nullptr, 0);
    });
    // Where they wait first when all is done.
    constexpr int at_the_end = LAPWING_UPC_IN_NOSYNC;
    refused([&] { upc::all_gather(a.pointer, odd ? b.pointer : a.pointer, 8, at_the_end); });
    refused([&] {
        lapwing_upc_all_reduceD(a.pointer.raw(), b.pointer.raw(), odd ? LAPWING_UPC_ADD : LAPWING_UPC_MAX, 4, 1,
                                nullptr, at_the_end);
    });
    // Where they wait nowhere: by a message more, or in the next barrier.
    const auto gather = [&](const upc::Pointer<unsigned char>& from) {
        upc::all_gather(a.pointer, from, 8, LAPWING_UPC_IN_NOSYNC | LAPWING_UPC_OUT_NOSYNC);
    };
    const auto gather_differently = [&] { gather(odd ? b.pointer : a.pointer); };
    if (all_levels) {
        refused(gather_differently);
    } else {
        gather_differently();
        refused([] { upc::barrier(); });
        upc::barrier(); // only once
        gather(b.pointer);
        upc::barrier();
        gather_differently();
        upc::notify(3);
        refused([] { upc::wait(3); });
        gather_differently();
        refused([&] { upc::all_broadcast(a.pointer, b.pointer, 8); });
        // The first of many, and other calls.
        gather_differently();
        for (int k = 0; k < 5; ++k) gather(b.pointer);
        const std::string text = test::upc_error_of([] { upc::barrier(); });
        CHECK_THAT(text, test::says({"upc_barrier: thread 0 passes the arguments of 2 earlier calls, then flags",
                                     "to upc_all_gather, then"}));
        upc::barrier();
    }
    CHECK_THAT(test::upc_error_of([&] {
                   if (odd) upc::all_broadcast(a.pointer, b.pointer, 8);
                   else upc::all_scatter(a.pointer, b.pointer, 8);
               }),
               test::says({odd ? "calls upc_all_broadcast" : "calls upc_all_scatter", "all threads must make"}));
    CHECK_THAT(test::upc_error_of([&] {
                   if (odd) upc::all_broadcast(a.pointer, b.pointer, 8);
                   else upc::barrier();
               }),
               test::says({"upc_barrier", "a collective call of UPC"}));
    upc::all_broadcast(a.pointer, b.pointer, 8);
}
