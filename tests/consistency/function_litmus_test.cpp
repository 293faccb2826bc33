// Litmus tests of the rows of the consistency table about functions at the owner: see litmus_test.cpp.
#include "consistency/litmus.hpp"
#include "support/catch.hpp"
#include "team/team_test.hpp"

#include <lapwing/aggregator.hpp>
#include <lapwing/functions.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace {

using lapwing::Aggregator;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Where;
using lapwing::Window;
using test::copies_read;
using test::CopiesRead;
using test::judge;
using test::omits;
using test::Shown;
using test::synchronise;

constexpr int slots = 24; ///< elements of each rank that are written, one after the other
constexpr int rounds = 3;
constexpr Offset flag{0};

/// Elements that functions write, around the ring of ranks, and flags that say so, which are in another window.
class Board {
public:
    Runtime runtime{};
    lapwing::GlobalArray<std::int64_t, 1> data{runtime, {slots * runtime.size()}, lapwing::Block{}};
    Window flags{runtime, 64, {.name = "flags"}};
    Rank from = test::previous(runtime);
    Rank to = test::next(runtime);

    Board() {
        if (copies_read() != CopiesRead::none)
            data.prefetch(lapwing::AllToAll{}, {.consistent = copies_read() == CopiesRead::automatic});
        own() = data.local_span().data();
        runtime.barrier();
    }
    ~Board() { own() = nullptr; }
    Board(const Board&) = delete;
    Board& operator=(const Board&) = delete;

    /// For functions about no element.
    [[nodiscard]] static std::int64_t*& own() {
        static std::int64_t* elements = nullptr;
        return elements;
    }
    static void write_own(std::int64_t slot, std::int64_t value) { write(own()[slot], value); }
    /// Another rank of the node may read the element meanwhile, where synchronisation is left out.
    static void write(std::int64_t& element, std::int64_t value) {
        std::atomic_ref{element}.store(value, std::memory_order_relaxed);
    }

    [[nodiscard]] std::int64_t index(Rank rank, int number) const { return slots * rank.value + number % slots; }
    /// Of the copy, if there are copies.
    [[nodiscard]] std::int64_t read(std::int64_t index) { return data(index); }
    /// What a program that has manual copies does after its synchronisation.
    void update() {
        if (copies_read() == CopiesRead::manual) data.update();
    }
    void raise(int number) { flags.atomic<std::int64_t>(runtime.rank(), flag).store(number); }
    /// Runs functions for the program meanwhile.
    void await(Rank rank, int number) {
        while (flags.atomic<std::int64_t>(rank, flag).load() < number) (void)runtime.progress();
    }
};

const auto write_element = [](std::int64_t& element, std::int64_t value) { Board::write(element, value); };

/// `post` has the next rank's element written; `publish` and `subscribe` as in litmus_test.cpp. Each rank reads what
/// the one before has posted to it, and what that one's predecessor has posted there.
void message_passing(const std::function<void(Board&, int)>& post, const std::function<void(Board&, int)>& publish,
                     const std::function<void(Board&, int)>& subscribe) {
    Board board;
    std::int64_t missed = 0;
    for (int number = 1; number <= slots * rounds; ++number) {
        post(board, number);
        publish(board, number);
        subscribe(board, number);
        synchronise([&] { board.update(); });
        if (board.read(board.index(board.runtime.rank(), number)) != number) ++missed;
        if (number % slots == 0) board.runtime.barrier();
    }
    board.runtime.barrier();
    judge(board.runtime, missed, Shown::by_chance);
}

void for_each_kind_of_post(const std::function<void(const std::function<void(Board&, int)>&)>& check) {
    SECTION("an element") {
        check([](Board& board, int number) { board.data.post(board.index(board.to, number), write_element, number); });
    }
    SECTION("a list") {
        check([](Board& board, int number) {
            board.data.post(std::vector<std::int64_t>{board.index(board.to, number)}, write_element,
                            std::int64_t{number});
        });
    }
    SECTION("a rank") {
        check([](Board& board, int number) {
            board.runtime.post(board.to, lapwing::fn<&Board::write_own>, std::int64_t{number % slots},
                               std::int64_t{number});
        });
    }
    SECTION("for the program") {
        check([](Board& board, int number) {
            board.runtime.post(Where::program, board.to, lapwing::fn<&Board::write_own>, std::int64_t{number % slots},
                               std::int64_t{number});
        });
    }
}

} // namespace

TEST_CASE("post, release, then a flag: what the function has written is read") {
    for_each_kind_of_post([](const auto& post) {
        message_passing(
            post,
            [](Board& board, int number) {
                synchronise([&] { board.runtime.release(); });
                board.raise(number);
            },
            [](Board& board, int number) {
                board.await(board.from, number);
                synchronise([&] { board.runtime.acquire(); });
            });
    });
}

TEST_CASE("post, then a barrier: what functions have written is read by every rank") {
    for_each_kind_of_post([](const auto& post) {
        Board board;
        std::int64_t missed = 0;
        for (int number = 1; number <= slots * rounds; ++number) {
            post(board, number);
            synchronise([&] { board.runtime.barrier(); });
            synchronise([&] { board.update(); });
            for (Rank rank{0}; rank < board.runtime.size(); ++rank.value)
                if (board.read(board.index(rank, number)) != number) ++missed;
            synchronise([&] { board.runtime.barrier(); }); // before they are written again
        }
        board.runtime.barrier();
        judge(board.runtime, missed);
    });
}

TEST_CASE("an aggregator's puts and posts are read after a release and an acquire") {
    Board board;
    std::int64_t missed = 0;
    {
        Aggregator aggregator{board.runtime};
        for (int number = 1; number <= slots * rounds; ++number) {
            if (number % 2 == 0) aggregator.put.copy(board.data(board.index(board.to, number)), number);
            else
                aggregator.post(board.to, lapwing::fn<&Board::write_own>, std::int64_t{number % slots},
                                std::int64_t{number});
            synchronise([&] { board.runtime.release(); });
            board.raise(number);
            board.await(board.from, number);
            synchronise([&] { board.runtime.acquire(); });
            synchronise([&] { board.update(); });
            if (board.read(board.index(board.runtime.rank(), number)) != number) ++missed;
            if (number % slots == 0) board.runtime.barrier();
        }
        // And what is gathered is there after a flush.
        std::vector<std::int64_t> values(slots);
        for (int k = 0; k < slots; ++k)
            aggregator.get.copy(values[static_cast<std::size_t>(k)], board.data(board.index(board.to, k)));
        aggregator.flush();
        for (int k = 0; k < slots; ++k) {
            const int last = slots * (rounds - 1) + (k == 0 ? slots : k);
            if (values[static_cast<std::size_t>(k)] != last) ++missed;
        }
        board.runtime.barrier();
    }
    judge(board.runtime, missed);
}

TEST_CASE("call, then a get: what the function has done is there when its result is") {
    if (omits()) return;
    Board board;
    std::int64_t wrong = 0;
    for (int number = 1; number <= slots * rounds; ++number) {
        const std::int64_t index = board.index(board.to, number);
        board.data.apply(index, write_element, std::int64_t{number}).get();
        board.update();
        if (board.read(index) != number) ++wrong;
        // About no element: other reads see it after an acquire.
        board.runtime.call(board.to, lapwing::fn<&Board::write_own>, std::int64_t{number % slots}, -number).get();
        board.runtime.acquire();
        board.update();
        if (board.read(index) != -number) ++wrong;
        std::vector<std::int64_t> results(1);
        board.data.apply(
            std::vector<std::int64_t>{index},
            [](std::int64_t& element, std::int64_t value) {
                Board::write(element, value);
                return value;
            },
            std::int64_t{2 * number}, results);
        board.update();
        if (board.read(index) != 2 * number) ++wrong;
    }
    board.runtime.barrier();
    judge(board.runtime, wrong);
}

TEST_CASE("a function sees this rank's earlier put to its element") {
    if (omits()) return;
    Board board;
    std::int64_t wrong = 0;
    const auto value_of = [](std::int64_t& element) { return element; };
    for (int number = 1; number <= slots * rounds; ++number) {
        const std::int64_t index = board.index(board.to, number);
        board.data(index) = number;
        if (board.data.apply(index, value_of).get() != number) ++wrong;
        board.data(index) = -number;
        std::vector<std::int64_t> seen(1);
        board.data.apply(
            std::vector<std::int64_t>{index}, [](std::int64_t& element, std::int64_t more) { return element + more; },
            std::int64_t{1}, seen);
        if (seen[0] != 1 - number) ++wrong;
    }
    board.runtime.barrier();
    judge(board.runtime, wrong);
}

TEST_CASE("calls of one rank to one other run in the order in which they are made") {
    if (omits()) return;
    Board board;
    static std::int64_t last = 0;
    static std::int64_t out_of_order = 0;
    last = out_of_order = 0;
    board.runtime.barrier();
    static constexpr auto run = [](std::int64_t number) {
        if (number != last + 1) ++out_of_order;
        last = number;
    };
    const std::vector<std::int64_t> some{board.index(board.to, 0)};
    const auto on_element = [](std::int64_t&, std::int64_t number) { run(number); };
    Aggregator aggregator{board.runtime};
    for (std::int64_t number = 1; number <= 2000;) {
        board.runtime.post(board.to, run, number++);
        board.data.post(some[0], on_element, number++);
        board.data.post(some, on_element, number++);
        for (int k = 0; k < 5; ++k) aggregator.post(board.to, run, number++);
        aggregator.flush();
        if (number % 3 == 0) board.runtime.call(board.to, run, number++).get();
    }
    board.runtime.barrier();
    judge(board.runtime, out_of_order);
    board.runtime.barrier();
}

TEST_CASE("quiesce: what functions that functions have posted have written is read by every rank") {
    Board board;
    static Board* here = nullptr;
    here = &board;
    board.runtime.barrier();
    /// Writes, and goes on to the next rank.
    struct Hop {
        void operator()(std::int64_t slot, std::int64_t value, int left) const {
            Board::write_own(slot, value);
            if (left > 0)
                here->runtime.post(value % 2 == 0 ? Where::progress : Where::program, here->to, Hop{}, slot, value,
                                   left - 1);
        }
    };
    std::int64_t missed = 0;
    for (int number = 1; number <= slots * rounds; ++number) {
        if (board.runtime.rank() == Rank{0})
            board.runtime.post(0, Hop{}, std::int64_t{number % slots}, std::int64_t{number}, board.runtime.size() - 1);
        synchronise([&] { board.runtime.quiesce(); });
        synchronise([&] { board.update(); });
        for (Rank rank{0}; rank < board.runtime.size(); ++rank.value)
            if (board.read(board.index(rank, number)) != number) ++missed;
        synchronise([&] { board.runtime.barrier(); });
    }
    board.runtime.quiesce();
    here = nullptr;
    judge(board.runtime, missed);
    board.runtime.barrier();
}
