// How adds without a result are gathered, without MPI: what a message holds when there are many ranks.
#include "window/gathered_adds.hpp"

#include <lapwing/error.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <vector>

namespace {

using lapwing::detail::messages::AddPayload;
using lapwing::detail::mpi::AtomicOperation;
using lapwing::detail::mpi::AtomicType;
using lapwing::detail::transport::AddKind;
using lapwing::detail::window::AddSender;
using lapwing::detail::window::GatheredAdds;

constexpr AddKind int64{AtomicOperation::add, AtomicType::int64};
constexpr AddKind int32{AtomicOperation::add, AtomicType::int32};

/// Ranks that carry adds out at once.
class Ranks final : public AddSender {
public:
    explicit Ranks(Limits limits) : limits_{limits} {}
    [[nodiscard]] Limits add_limits() const override { return limits_; }
    void send_adds(lapwing::Rank target, AddKind kind, std::uint64_t begin, std::uint64_t end,
                   std::span<const AddPayload> adds) override {
        outside += adds.empty() || adds.size() > limits_.message ? 1 : 0;
        if (target == failing) throw lapwing::MpiError{"no way", 1};
        if (target == left) throw lapwing::PeerLeftError{"gone"};
        ++messages;
        sent += adds.size();
        last_operation = kind.operation;
        for (const AddPayload& add : adds) {
            outside += begin > add.offset || add.offset + (kind.type == AtomicType::int32 ? 4 : 8) > end ? 1 : 0;
            std::int64_t value = 0;
            std::memcpy(&value, &add.operand, kind.type == AtomicType::int32 ? 4 : 8);
            values[target.value][add.offset] += value;
        }
    }

    [[nodiscard]] bool has_left(lapwing::Rank target) override { return target == left; }

    int left = -1;
    int failing = -1;
    AtomicOperation last_operation{};
    std::size_t messages = 0;
    std::size_t sent = 0;
    std::size_t outside = 0; ///< of what was told
    std::map<int, std::map<std::uint64_t, std::int64_t>> values;

private:
    Limits limits_;
};

} // namespace

TEST_CASE("adds to many ranks in random order travel in messages that shorten in proportion, in bounded memory") {
    constexpr std::size_t memory = 256 * 1024;
    constexpr std::size_t times = 200'000;
    for (const std::size_t count : {4U, 32U, 33U, 40U, 100U, 400U, 1500U}) {
        Ranks ranks{{.message = 256, .bytes = memory, .ranks = count}};
        GatheredAdds adds{ranks};
        std::minstd_rand random{7};
        std::uniform_int_distribution<int> any{0, static_cast<int>(count) - 1};
        std::size_t most_waiting = 0;
        for (std::size_t i = 0; i < times; ++i) {
            const std::int64_t one = 1;
            adds.add(any(random), i % 50 * 8, int64, &one);
            most_waiting = std::max(most_waiting, i + 1 - ranks.sent);
        }
        adds.send();
        CHECK(adds.empty());
        CHECK(ranks.sent == times);
        CHECK(ranks.outside == 0);
        INFO(count << " ranks: " << static_cast<double>(times) / static_cast<double>(ranks.messages)
                   << " adds a message, " << most_waiting << " at a time");
        CHECK(most_waiting * 16 <= memory);
        CHECK(most_waiting * 80 >= std::min(memory, count * 256 * 16)); // the memory is used
        // With room for about 3800 adds there are about 2 * 3800 / ranks in a message, and at most 256.
        const double expected = std::min(200.0, 2 * 3500.0 / static_cast<double>(count));
        CHECK(static_cast<double>(times) / static_cast<double>(ranks.messages) >= expected);
        std::int64_t all = 0;
        for (const auto& [rank, places] : ranks.values)
            for (const auto& [offset, value] : places) all += value;
        CHECK(all == static_cast<std::int64_t>(times));
    }
}

TEST_CASE("adds leave before another access to their bytes, before adds of another type, and with their rank") {
    Ranks ranks{{.message = 100, .bytes = 65536, .ranks = 8}};
    GatheredAdds adds{ranks};
    const std::int64_t three = 3;
    const std::int32_t four = 4;
    adds.add(2, 64, int64, &three);
    adds.add(2, 128, int64, &three);
    adds.add(5, 64, int64, &three);
    adds.before(2, 0, 64);
    adds.before(2, 136, 64);
    adds.before(3, 64, 8);
    CHECK(ranks.messages == 0);
    adds.before(2, 71, 1);
    CHECK(ranks.messages == 1);
    CHECK(ranks.values[2] == std::map<std::uint64_t, std::int64_t>{{64, 3}, {128, 3}});
    adds.before(2, 64, 8); // they are gone
    CHECK(ranks.messages == 1);
    adds.add(5, 80, int32, &four);
    CHECK(ranks.messages == 2);
    CHECK(ranks.values[5] == std::map<std::uint64_t, std::int64_t>{{64, 3}});
    adds.add(2, 8, int64, &three);
    adds.send(5);
    CHECK(ranks.messages == 3);
    CHECK(ranks.values[5] == std::map<std::uint64_t, std::int64_t>{{64, 3}, {80, 4}});
    CHECK_FALSE(adds.empty());
    adds.send();
    CHECK(adds.empty());
    CHECK(ranks.values[2] == std::map<std::uint64_t, std::int64_t>{{8, 3}, {64, 3}, {128, 3}});
    CHECK(ranks.outside == 0);
}

TEST_CASE("adds that cannot be sent keep no others back: lost and reported if their rank has left, else they wait") {
    Ranks ranks{{.message = 100, .bytes = 65536, .ranks = 8}};
    GatheredAdds adds{ranks};
    const std::int64_t one = 1;
    const auto add_to_three = [&] {
        for (const int rank : {1, 2, 2, 3}) adds.add(rank, 8, int64, &one);
    };
    add_to_three();
    ranks.failing = 2;
    CHECK_THROWS_AS(adds.send(), lapwing::MpiError);
    CHECK(ranks.sent == 2);
    CHECK_FALSE(adds.empty());
    CHECK_FALSE(adds.any_lost());
    ranks.failing = -1;
    adds.send();
    CHECK(ranks.values[2][8] == 2);
    CHECK(adds.empty());

    ranks.left = 2;
    add_to_three();
    adds.send();
    CHECK(adds.empty());
    CHECK(ranks.values[1][8] == 2);
    CHECK(ranks.values[3][8] == 2);
    CHECK(adds.any_lost());
    // Also those that leave to make room, and for other reasons.
    adds.add(2, 8, int64, &one);
    adds.before(2, 8, 8);
    ranks.left = 5;
    adds.add(5, 8, int64, &one);
    adds.send(5);
    CHECK(adds.take_lost() == "3 adds to rank 2, 1 add to rank 5");
    CHECK_FALSE(adds.any_lost());
}

TEST_CASE("the least memory is enough, and a message of one add is a message") {
    for (const std::size_t message : {std::size_t{1}, std::size_t{1000}}) {
        Ranks ranks{{.message = message, .bytes = 1024, .ranks = 1000}};
        GatheredAdds adds{ranks};
        const std::int64_t one = 1;
        for (int i = 0; i < 5000; ++i) adds.add(i % 3 == 0 ? 1 : i % 1000, 8, int64, &one);
        adds.send();
        CHECK(ranks.sent == 5000);
        CHECK(ranks.values[1][8] == 1667 + 4);
    }
}

TEST_CASE("operations of another kind stay behind those that wait for their rank, and keep no other rank's back") {
    Ranks ranks{{.message = 100, .bytes = 65536, .ranks = 8}};
    GatheredAdds adds{ranks};
    const std::int64_t three = 3;
    adds.add(2, 64, int64, &three);
    adds.add(5, 64, int64, &three);
    adds.add(2, 64, {AtomicOperation::max, AtomicType::int64}, &three);
    CHECK(ranks.messages == 1);
    CHECK(ranks.last_operation == AtomicOperation::add);
    adds.add(2, 72, {AtomicOperation::max, AtomicType::int64}, &three);
    CHECK(ranks.messages == 1);
    adds.add(2, 80, int64, &three);
    CHECK(ranks.messages == 2);
    CHECK(ranks.sent == 3);
    CHECK(ranks.last_operation == AtomicOperation::max);
    adds.send();
    CHECK(ranks.sent == 5);
}
