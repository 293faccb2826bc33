// Functions at the owner: results, posts, exceptions, arguments of all sorts, and what a function must not do.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/detail/functions/batches.hpp>
#include <lapwing/functions.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using lapwing::FunctionError;
using lapwing::Future;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Where;

namespace {

std::atomic<std::int64_t> counter{0}; ///< of this rank
std::vector<int> order;               ///< in which functions have run here
Runtime* here = nullptr;

constexpr std::size_t long_text = 400;

int next_of(const Runtime& runtime) { return (runtime.rank().value + 1) % runtime.size(); }
int previous_of(const Runtime& runtime) { return (runtime.rank().value + runtime.size() - 1) % runtime.size(); }

std::int64_t add(std::int64_t a, std::int64_t b) { return a + b; }

struct Polygon {
    std::string name;
    std::vector<double> sides;
};

/// For the scope: functions that run here find the runtime.
class Here {
public:
    explicit Here(Runtime& runtime) {
        here = &runtime;
        counter = 0;
        order.clear();
        runtime.barrier();
    }
    ~Here() { here = nullptr; }
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;
};

/// Whether a text has all of these parts.
void mentions(const std::string& text, std::initializer_list<std::string> parts) {
    INFO(text);
    for (const std::string& part : parts) CHECK(text.find(part) != std::string::npos);
}

template <class Call>
std::string text_of(Call&& call) {
    try {
        call();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "nothing was thrown";
}

} // namespace

template <>
struct lapwing::Serialise<Polygon> {
    static void write(ByteWriter& out, const Polygon& polygon) {
        out.write(polygon.name);
        out.write(polygon.sides);
    }
    static Polygon read(ByteReader& in) {
        auto name = in.read<std::string>();
        return {std::move(name), in.read<std::vector<double>>()};
    }
};

TEST_CASE("a function's result comes back from every rank") {
    Runtime runtime;
    for (int rank = 0; rank < runtime.size(); ++rank) {
        CHECK(runtime.call(rank, lapwing::fn<&add>, 40, std::int64_t{rank}).get() == 40 + rank);
        const auto twice = [](double x) { return 2 * x; };
        CHECK(runtime.call(Rank{rank}, twice, 1.5).get() == 3);
        // What a lambda has captured travels with it.
        const std::int64_t captured = 7;
        CHECK(runtime.call(rank, [captured](int x) { return captured * x; }, 6).get() == 42);
    }
    std::vector<Future<std::int64_t>> many;
    for (std::int64_t k = 0; k < 500; ++k) many.push_back(runtime.call(next_of(runtime), lapwing::fn<&add>, k, k));
    for (std::int64_t k = 0; k < 500; ++k) CHECK(many[static_cast<std::size_t>(k)].get() == 2 * k);
    runtime.barrier();
}

TEST_CASE("a function runs at the rank that it was sent to") {
    Runtime runtime;
    const Here scope{runtime};
    for (int rank = 0; rank < runtime.size(); ++rank)
        CHECK(runtime.call(rank, [] { return here->rank().value; }).get() == rank);
    Future<void> nothing = runtime.call(next_of(runtime), [] { ++counter; });
    nothing.get();
    CHECK_FALSE(nothing.valid());
    CHECK_THROWS_AS(nothing.get(), lapwing::UsageError);
    runtime.barrier();
    CHECK(counter == 1);
    runtime.barrier();
}

TEST_CASE("spans, vectors, strings and serialised types travel both ways") {
    Runtime runtime;
    const int to = next_of(runtime);
    const std::vector<std::int32_t> numbers{3, 1, 2};
    CHECK(runtime
              .call(
                  to, [](std::span<const std::int32_t> all) { return std::accumulate(all.begin(), all.end(), 0); },
                  numbers)
              .get() == 6);
    const auto sorted = [](std::string_view, std::vector<std::int32_t> all) {
        std::sort(all.begin(), all.end());
        return all;
    };
    CHECK(runtime.call(to, sorted, "odd", std::span{numbers}).get() == std::vector<std::int32_t>{1, 2, 3});
    CHECK(runtime
              .call(
                  to, [](std::string_view a, const std::string& b) { return std::string{a} + b; }, "ab",
                  std::string{"cd"})
              .get() == "abcd");
    CHECK(runtime.call(to, [](std::span<const double> none) { return none.size(); }, std::vector<double>{}).get() == 0);
    const Polygon square{"square", std::vector<double>(4, 2.5)};
    const Polygon larger = runtime
                               .call(
                                   to,
                                   [](Polygon polygon, double factor) {
                                       for (double& side : polygon.sides) side *= factor;
                                       polygon.name += " scaled";
                                       return polygon;
                                   },
                                   square, 2.0)
                               .get();
    CHECK(larger.name == "square scaled");
    CHECK(larger.sides == std::vector<double>(4, 5.0));
    // Longer than an answer holds.
    const std::string text(3000, 'x');
    CHECK(runtime.call(to, [](std::string_view all) { return std::string{all} + "!"; }, text).get() == text + "!");
    runtime.barrier();
}

TEST_CASE("exceptions travel back with their text") {
    Runtime runtime;
    const int to = next_of(runtime);
    const auto fails = [](int x) -> int {
        if (x > 1) throw std::runtime_error{"no more than one, please"};
        return x;
    };
    CHECK(runtime.call(to, fails, 1).get() == 1);
    const std::string text = text_of([&] { (void)runtime.call(to, fails, 2).get(); });
    mentions(text, {"no more than one, please", "Team::call", "rank " + std::to_string(to)});
    CHECK_THROWS_AS(runtime.call(to, [] { throw 7; }).get(), FunctionError);
    CHECK(runtime.call(to, fails, 0).get() == 0);
    runtime.barrier();
}

TEST_CASE("posts have run when a release returns, in their order") {
    Runtime runtime;
    const Here scope{runtime};
    constexpr int posts = 5000;
    for (int k = 0; k < posts; ++k) runtime.post(next_of(runtime), [](int one) { order.push_back(one); }, k);
    runtime.release();
    CHECK(runtime.call(next_of(runtime), [] { return order.size(); }).get() == posts);
    runtime.barrier();
    std::vector<int> expected(posts);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(order == expected);
    runtime.barrier();
}

TEST_CASE("a post that fails is thrown by the next release, once") {
    Runtime runtime;
    const Here scope{runtime};
    const int to = next_of(runtime);
    for (int k = 0; k < 10; ++k)
        runtime.post(
            to,
            [](int one) {
                if (one % 2 == 1) throw std::logic_error{"odd: " + std::to_string(one)};
                ++counter;
            },
            k);
    const std::string text = text_of([&] { runtime.release(); });
    mentions(text, {"odd: 1", "5 of the functions", "rank " + std::to_string(to)});
    CHECK_NOTHROW(runtime.release());
    runtime.barrier();
    CHECK(counter == 5);
    runtime.barrier();
}

TEST_CASE("what a function must not do is refused by name") {
    Runtime runtime;
    lapwing::Window window{runtime, 64};
    const Here scope{runtime};
    const int to = next_of(runtime);
    mentions(text_of([&] { runtime.call(to, [] { here->barrier(); }).get(); }), {"barrier", "round of progress"});
    mentions(text_of([&] { runtime.call(to, [] { (void)here->sum(1); }).get(); }), {"round of progress"});
    mentions(text_of([&] { runtime.call(to, [] { here->release(); }).get(); }), {"Team::release"});
    mentions(text_of([&] { (void)runtime.call(to, [] { return here->call(0, [] { return 1; }).get(); }).get(); }),
             {"Team::call", "round of progress"});
    mentions(text_of([&] { runtime.call(Where::program, to, [] { here->barrier(); }).get(); }),
             {"barrier", "collective"});
    runtime.barrier();
    CHECK(runtime.sum(1) == runtime.size()); // nothing was begun that others would wait for
}

TEST_CASE("arguments of calls may be larger than a packet") {
    Runtime runtime;
    const std::vector<double> some(20'000, 0.5);
    CHECK(runtime
              .call(
                  next_of(runtime),
                  [](std::span<const double> all) { return std::accumulate(all.begin(), all.end(), 0.0); }, some)
              .get() == 10'000);
    CHECK(runtime.call(next_of(runtime), [](std::vector<double> all) { return all; }, some).get() == some);
    CHECK_THROWS_WITH(
        runtime.call(
                   next_of(runtime), [](std::span<const double>) { throw std::runtime_error{"too long"}; }, some)
            .get(),
        Catch::Contains("too long"));
    // Long calls, short ones and posts of one rank run in their order.
    static std::vector<int> came;
    came.clear();
    runtime.barrier();
    std::vector<lapwing::Future<void>> futures;
    for (int k = 0; k < 30; k += 3) {
        futures.push_back(
            runtime.call(next_of(runtime), [](int one, std::span<const double>) { came.push_back(one); }, k, some));
        futures.push_back(runtime.call(next_of(runtime), [](int one) { came.push_back(one); }, k + 1));
        runtime.post(next_of(runtime), [](int one) { came.push_back(one); }, k + 2);
    }
    futures.clear(); // nobody waits for them
    runtime.quiesce();
    std::vector<int> expected(30);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(came == expected);
    runtime.barrier();
}

TEST_CASE("bad arguments name the rank and the limit") {
    Runtime runtime;
    mentions(text_of([&] { runtime.post(runtime.size(), [] {}); }), {"Team::post", "is outside [0,"});
    mentions(text_of([&] { (void)runtime.call(-1, [] {}); }), {"Team::call", "is outside [0,"});
    const std::vector<double> many(200'000);
    mentions(text_of([&] { runtime.post(0, [](std::span<const double>) {}, many); }),
             {"1600", "fit into a message", "in an array"});
    mentions(text_of([&] { (void)runtime.call(0, [](std::span<const double>) {}, many); }),
             {"1600", "fit into a message"});
    mentions(text_of([&] { (void)runtime.call(lapwing::Where::program, 0, [](std::span<const double>) {}, many); }),
             {"1600", "fit into a packet", "LAPWING_SERVICE_PACKET"});
    mentions(text_of([&] { (void)runtime.call(0, [] { return std::string(2'000'000, 'x'); }).get(); }),
             {"2000", "fit into a message", "an array"});
    CHECK(runtime.call(next_of(runtime), [] { return std::string(500'000, 'x'); }).get() == std::string(500'000, 'x'));
    runtime.barrier();
}

TEST_CASE("posts of any size run in their order") {
    Runtime runtime;
    const Here scope{runtime};
    const auto note = [](std::span<const int> values) {
        const auto right = std::ranges::count(values, values.front());
        order.push_back(right == std::ssize(values) ? values.front() : -1);
    };
    std::vector<int> expected;
    for (int k = 0; k < 60; ++k) { // from one value to nearly 1 MiB
        const std::vector<int> values(k % 3 == 0 ? 1 : std::size_t{250'000} >> k % 8, k);
        runtime.post(next_of(runtime), note, values);
        expected.push_back(k);
    }
    // From a function, which cannot wait.
    runtime
        .call(next_of(runtime),
              [] {
                  const std::vector<int> values(100'000, 7);
                  for (int k = 0; k < 3; ++k)
                      here->post(
                          next_of(*here),
                          [](std::span<const int> sent) { counter += std::reduce(sent.begin(), sent.end()); }, values);
              })
        .get();
    runtime.quiesce();
    CHECK(order == expected);
    CHECK(counter == 3 * 700'000);
    runtime.barrier();
}

TEST_CASE("a function that the target does not know is an error that says which") {
    namespace functions = lapwing::detail::functions;
    Runtime runtime;
    lapwing::Window window{runtime, 64};
    if (runtime.rank() == Rank{0} && runtime.size() > 1) {
        // As of a library that this rank alone has loaded.
        static const functions::FunctionEntry entry{"of a library", "\"loaded here\"", [](functions::Invocation&) {}};
        const auto unknown = {std::string{"rank 1 of"}, std::string{"has no function of number"},
                              std::string{"the same program, with the same libraries"},
                              std::string{"here it is \"loaded here\""}};
        for (const Where where : {Where::progress, Where::program}) {
            const functions::Destination to{.team = runtime, .target = Rank{1}, .call = "Team::call", .where = where};
            lapwing::ByteWriter nothing;
            mentions(text_of([&] { Future<void>{functions::ask(to, entry, nothing, 0)}.get(); }), unknown);
            functions::post(to, entry, nothing);
            functions::post(to, entry, nothing);
            mentions(text_of([&] { runtime.release(); }), unknown);
            CHECK_NOTHROW(runtime.release());
        }
        functions::Batches batches{runtime, "a list", functions::Batches::Results::asked};
        std::int64_t result = 0;
        std::int64_t argument = 1;
        std::memcpy(batches.add(Rank{1}, {.function = &entry, .argument_bytes = 8, .result_bytes = 8}, &result),
                    &argument, sizeof argument);
        mentions(text_of([&] { batches.finish(); }), unknown);
    }
    runtime.barrier();
    CHECK(runtime.call(next_of(runtime), lapwing::fn<&add>, 1, 2).get() == 3);
    runtime.barrier();
}

TEST_CASE("functions post further ones") {
    Runtime runtime;
    const Here scope{runtime};
    // Each rank sends a number round all ranks.
    struct Hop {
        void operator()(int left) const {
            ++counter;
            if (left > 0) here->post(next_of(*here), Hop{}, left - 1);
        }
    };
    const int rounds = 20;
    runtime.post(next_of(runtime), Hop{}, rounds * runtime.size() - 1);
    runtime.quiesce();
    CHECK(counter == rounds * runtime.size());
    runtime.barrier();
}

TEST_CASE("a function that posts more than can wait here fails, and the others go on") {
    Runtime runtime;
    const Here scope{runtime};
    const auto floods = [] {
        const std::vector<std::byte> bytes(std::size_t{1} << 19);
        for (int k = 0; k < 200; ++k) here->post(here->rank(), [](std::span<const std::byte>) { ++counter; }, bytes);
    };
    runtime.barrier();
    mentions(text_of([&] { runtime.call(next_of(runtime), floods).get(); }),
             {"bytes of calls that functions have made here wait to be sent, of at most 67108864", "fewer calls"});
    runtime.quiesce();
    CHECK(counter > 100);
    CHECK(counter < 200);
    CHECK(runtime.call(next_of(runtime), lapwing::fn<&add>, 1, 2).get() == 3);
    runtime.barrier();
}

TEST_CASE("functions for the program run in its waits, and may wait") {
    Runtime runtime;
    lapwing::Window window{runtime, 64};
    window.local_as<std::int64_t>()[0] = 100 + runtime.rank().value;
    static lapwing::Window* shared = nullptr;
    static std::thread::id own_thread;
    shared = &window;
    own_thread = std::this_thread::get_id();
    const Here scope{runtime};
    const auto reads = [](int from) {
        if (std::this_thread::get_id() != own_thread) throw std::logic_error{"another thread"};
        return shared->get<std::int64_t>(from, 0);
    };
    for (int rank = 0; rank < runtime.size(); ++rank)
        CHECK(runtime.call(Where::program, next_of(runtime), reads, rank).get() == 100 + rank);
    for (int k = 0; k < 100; ++k)
        runtime.post(Where::program, next_of(runtime), [](int one) { order.push_back(one); }, k);
    mentions(text_of([&] {
                 runtime.post(Where::program, next_of(runtime), [] { throw std::logic_error{"a late text"}; });
                 runtime.release();
             }),
             {"a late text"});
    runtime.barrier();
    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(order == expected);
    runtime.barrier();
}

TEST_CASE("a function for the program gets its results where its owner is full of calls") {
    Runtime runtime;
    static std::atomic<int> ran{0};
    static int from = 0;
    ran = 0;
    from = next_of(runtime);
    const Here scope{runtime};
    const auto asks = [](bool polls) {
        // More of that rank's calls arrive than are kept, so that it has to wait with all that it sends. (Over several
        // hops all are kept.)
        const auto parked = [] { return here->statistics()[lapwing::Counter::packets_parked]; };
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{500};
        for (const auto before = parked(); from != here->rank().value && parked() == before;) {
            here->progress();
            if (std::chrono::steady_clock::now() > end) break;
        }
        Future<int> result = here->call(from, []() -> int { throw std::runtime_error{"in the middle"}; });
        while (polls && !result.ready()) {
        }
        (void)result.get();
    };
    runtime.barrier();
    const int to = previous_of(runtime);
    const std::vector<std::byte> bytes(6000);
    constexpr int calls = 900;
    int expected = 0;
    for (const bool polls : {false, true}) {
        auto asked = runtime.call(Where::program, to, asks, polls);
        for (int k = 0; k < calls; ++k)
            runtime.post(Where::program, to, [](std::span<const std::byte>) { ++ran; }, bytes);
        mentions(text_of([&] { asked.get(); }), {"in the middle"});
        runtime.barrier();
        CHECK(ran == (expected += calls));
        runtime.barrier();
    }
}

TEST_CASE("futures: then, when_all, wait_any") {
    Runtime runtime;
    const int to = next_of(runtime);
    CHECK(runtime.call(to, lapwing::fn<&add>, 1, 2).then([](std::int64_t sum) { return std::to_string(sum); }).get() ==
          "3");
    int ran = 0;
    Future<void> after = runtime.call(to, [] {}).then([&] { ++ran; });
    while (!after.ready()) {
    }
    after.wait();
    after.get();
    CHECK(ran == 1);
    CHECK_THROWS_AS(
        runtime.call(to, []() -> int { throw std::runtime_error{"before"}; }).then([](int x) { return x; }).get(),
        FunctionError);
    CHECK_THROWS_AS(runtime.call(to, [] { return 1; }).then([](int) -> int { throw std::logic_error{"g"}; }).get(),
                    std::logic_error);

    const auto [sum, nothing, text] =
        lapwing::when_all(runtime.call(to, lapwing::fn<&add>, 3, 4), runtime.call(to, [] {}),
                          runtime.call(previous_of(runtime), [] { return std::string{"t"}; }))
            .get();
    CHECK(sum == 7);
    CHECK(text == "t");
    (void)nothing;

    std::vector<Future<int>> some;
    for (int k = 0; k < 10; ++k) some.push_back(runtime.call(to, [](int one) { return one; }, k));
    std::vector<bool> seen(10);
    for (int k = 0; k < 10; ++k) {
        const std::size_t which = lapwing::wait_any(some);
        CHECK_FALSE(seen[which]);
        seen[which] = true;
        CHECK(some[which].get() == static_cast<int>(which));
    }
    CHECK_THROWS_AS(lapwing::wait_any(some), lapwing::UsageError);
    std::vector<Future<int>> all;
    for (int k = 0; k < 10; ++k) all.push_back(runtime.call(to, [](int one) { return one * one; }, k));
    CHECK(lapwing::when_all(std::move(all)).get()[9] == 81);
    runtime.barrier();
}

TEST_CASE("a future that is dropped does no harm, whether its result is here or not") {
    Runtime runtime;
    const Here scope{runtime};
    for (int k = 0; k < 200; ++k) {
        Future<std::string> dropped = runtime.call(next_of(runtime), [] {
            ++counter;
            return std::string(long_text, 'x');
        });
        if (k % 3 == 0) dropped.wait();
    }
    runtime.barrier();
    CHECK(counter == 200);
    runtime.barrier();
}

TEST_CASE("a future whose result is here may outlive its runtime") {
    std::vector<Future<int>> results;
    {
        Runtime runtime;
        for (const int rank : {runtime.rank().value, next_of(runtime)}) {
            results.push_back(runtime.call(Rank{rank}, [] { return 4711; }));
            results.back().wait();
        }
        runtime.barrier();
    }
    for (Future<int>& result : results) CHECK(result.get() == 4711);
}

TEST_CASE("quiesce waits for trees of calls") {
    Runtime runtime;
    const Here scope{runtime};
    struct Tree {
        void operator()(std::uint32_t seed, int depth) const {
            ++counter;
            if (depth == 0) return;
            for (std::uint32_t child = 0; child < 1 + seed % 3; ++child) {
                const std::uint32_t next = (seed + child) * 1'664'525U + 1'013'904'223U;
                const Rank to{static_cast<int>(next >> 8) % here->size()};
                here->post(next % 5 == 0 ? Where::program : Where::progress, to, Tree{}, next, depth - 1);
            }
        }
        static std::int64_t size(std::uint32_t seed, int depth) {
            std::int64_t all = 1;
            for (std::uint32_t child = 0; depth > 0 && child < 1 + seed % 3; ++child)
                all += size((seed + child) * 1'664'525U + 1'013'904'223U, depth - 1);
            return all;
        }
    };
    std::int64_t expected = 0;
    for (std::uint32_t round = 0; round < 20; ++round) {
        for (int rank = 0; rank < runtime.size(); ++rank) {
            const std::uint32_t seed = round * 97 + static_cast<std::uint32_t>(rank) * 31;
            expected += Tree::size(seed, 5);
            if (rank == runtime.rank()) runtime.post(rank, Tree{}, seed, 5);
        }
        runtime.quiesce();
        CHECK(runtime.sum(counter.load()) == expected);
    }
    runtime.barrier();
}
