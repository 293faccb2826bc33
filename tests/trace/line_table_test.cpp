// Tables of call sites: what is kept, and what is counted together, when ranks join theirs.
#include "runtime/line_report.hpp"
#include "src/trace/line_table.hpp"

#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace lapwing::detail::trace;
using lapwing::detail::runtime::line_report;

namespace {

SiteCounts site(std::uint64_t place, double seconds, std::uint64_t bytes, int rank = 0) {
    SiteCounts counts{.has_object = true, .seconds = seconds, .slowest_seconds = seconds, .slowest_rank = rank};
    counts.places[0] = {7, place};
    counts.calls[2] = 1;
    counts.bytes[2] = bytes;
    return counts;
}

} // namespace

TEST_CASE("the tables of ranks add up, and keep who took longest") {
    LineTable first{LineOrder::time};
    first.add(std::vector{site(1, 2.0, 10), site(2, 1.0, 30)});
    LineTable second{LineOrder::time};
    second.add(std::vector{site(2, 5.0, 10, 1), site(3, 0.5, 10, 1)});
    first.add(second);
    REQUIRE(first.sites().size() == 3);
    const SiteCounts& most = first.sites()[0];
    CHECK(most.places[0].offset == 2);
    CHECK(most.seconds == 6.0);
    CHECK(most.slowest_seconds == 5.0);
    CHECK(most.slowest_rank == 1);
    CHECK(most.all_calls() == 2);
    CHECK(most.all_bytes() == 40);
    CHECK(first.sites()[2].places[0].offset == 3);
    CHECK(first.others().all_calls() == 0);
}

TEST_CASE("a table has room for so many call sites, and loses no call of others") {
    for (const LineOrder order : {LineOrder::time, LineOrder::bytes}) {
        LineTable all{order};
        std::uint64_t calls = 0;
        for (int rank = 0; rank < 5; ++rank) {
            std::vector<SiteCounts> own;
            // One that every rank has, and that has most; the others are each rank's.
            own.push_back(site(1, 100, 100000, rank));
            for (std::uint64_t k = 0; k < 100; ++k)
                own.push_back(
                    site(static_cast<std::uint64_t>(rank) * 1000 + 10 + k, static_cast<double>(k), 100 - k, rank));
            calls += own.size();
            const auto table = std::make_unique<LineTable>(order);
            table->add(own);
            all.add(*table);
        }
        CHECK(all.sites().size() == LineTable::most_sites);
        std::uint64_t counted = all.others().all_calls();
        for (const SiteCounts& counts : all.sites()) counted += counts.all_calls();
        CHECK(counted == calls);
        CHECK(all.sites()[0].places[0].offset == 1);
        CHECK(all.sites()[0].all_calls() == 5);
        // Of the rest those with most are kept: the latest of a rank, or its first.
        const double last = all.sites().back().seconds;
        CHECK((order == LineOrder::time ? last >= 60 : last <= 40));
    }
}

TEST_CASE("the recording's own work is not in a call's time") {
    REQUIRE(start());
    using Clock = std::chrono::steady_clock;
    Clock::duration own{};
    const auto begin = Clock::now();
    {
        const CallScope call{Way::list};
        {
            const NotTimed not_timed;
            const auto since = Clock::now();
            while (Clock::now() - since < std::chrono::milliseconds{2}) {
            }
            own = Clock::now() - since;
        }
        note({.operation = Operation::read, .affinity = Affinity::far, .owner = 1, .bytes = 8});
    }
    const std::chrono::duration<double> all = Clock::now() - begin - own;
    stop();
    const LineTable table = take_lines(0, LineOrder::time);
    REQUIRE(table.sites().size() == 1);
    CHECK(table.sites()[0].timed);
    CHECK(table.sites()[0].seconds <= all.count());
}

TEST_CASE("what LAPWING_STATS=lines allows") {
    CHECK(line_report("lines")->order == LineOrder::time);
    CHECK(line_report("lines")->most == 20);
    CHECK(line_report("lines:bytes")->order == LineOrder::bytes);
    CHECK(line_report("lines:time:3")->most == 3);
    CHECK(line_report("lines:7")->most == 7);
    CHECK(line_report("lines:bytes:7")->order == LineOrder::bytes);
    for (const std::string wrong : {"", "line", "linesx", "lines:", "lines:0", "lines:-1", "lines:x",
                                    "lines:bytes:", "lines:bytesx", "lines:7:bytes", "lines:99999999999"})
        CHECK_FALSE(line_report(wrong).has_value());
}
