// The memory of messages that have left: used again by size, and bounded.
#include "functions/spare_messages.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace {

using lapwing::detail::functions::Outgoing;
using lapwing::detail::functions::SpareMessages;

} // namespace

TEST_CASE("memory of the same size is used again, and no other") {
    SpareMessages spare;
    auto message = spare.take(1000);
    REQUIRE(message->message.size() == 1000);
    const Outgoing* const first = message.get();
    spare.give_back(std::move(message));
    CHECK(spare.bytes() == 1000);
    const auto larger = spare.take(1001);
    CHECK(larger->message.size() == 1001);
    CHECK(larger.get() != first);
    CHECK(spare.take(1000).get() == first);
    CHECK(spare.bytes() == 0);
}

TEST_CASE("what came first goes where there is no more room, and what is too large does not stay") {
    SpareMessages spare;
    constexpr std::size_t third = SpareMessages::most_bytes / 3;
    std::vector<std::weak_ptr<Outgoing>> given;
    for (int k = 0; k < 5; ++k) {
        auto message = std::make_shared<Outgoing>(std::vector<std::byte>(third));
        given.push_back(message);
        spare.give_back(std::move(message));
        CHECK(spare.bytes() <= SpareMessages::most_bytes);
    }
    for (std::size_t k = 0; k < given.size(); ++k) CHECK(given[k].expired() == (k < 2));
    spare.give_back(std::make_shared<Outgoing>(std::vector<std::byte>(SpareMessages::most_bytes + 1)));
    CHECK(spare.bytes() == 3 * third);
}
