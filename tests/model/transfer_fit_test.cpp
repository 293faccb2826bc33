// Fits of transfer models: the lines from which samples were generated are recovered.
#include "model/measure_transfers.hpp"
#include "model/transfer_model.hpp"
#include "src/messages/packet.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

using namespace lapwing::detail::model;

namespace {

constexpr std::uint64_t largest_bytes = 16 << 20;

/// What a network of these lines would show, with every time off by up to `noise` and one in `outlier_every` ten times
/// as long.
std::vector<TransferSample> samples_of(const TransferModel& model, double noise = 0, unsigned outlier_every = 0) {
    std::mt19937 random{7};
    std::uniform_real_distribution<double> error{1 - noise, 1 + noise};
    std::vector<TransferSample> samples;
    unsigned n = 0;
    for (const TransferCell& cell : transfer_grid(largest_bytes)) {
        TransferSample sample{cell.bytes, cell.operations, model.time(cell.bytes, cell.operations) * error(random), 0};
        sample.issue_seconds = static_cast<double>(cell.operations) * model.issue(cell.bytes) * error(random);
        if (outlier_every != 0 && ++n % outlier_every == 0) sample.seconds *= 10;
        samples.push_back(sample);
    }
    return samples;
}

const TransferModel one_line{std::vector<TransferLine>{{0, 20e-6, 28e-6, 2e-6, 0.4e-9, 1e-6, 0.05e-9}}};
const TransferModel eager_and_rendezvous{std::vector<TransferLine>{{0, 3e-6, 3e-6, 0.3e-6, 0.9e-9, 0.2e-6, 0.1e-9},
                                                                   {65537, 40e-6, 30e-6, 9e-6, 0.12e-9, 3e-6, 0}}};

void require_near(TransferModel fitted, const TransferModel& truth, double tolerance) {
    refine_changes(fitted, 2, [&](std::uint64_t bytes) { return truth.time(bytes); });
    for (std::uint64_t bytes = 8; bytes <= largest_bytes; bytes = bytes * 3 / 2)
        for (const std::uint64_t operations : {1U, 3U, 16U}) {
            INFO(operations << " times " << bytes << " bytes");
            CHECK(fitted.time(bytes, operations) == Approx(truth.time(bytes, operations)).epsilon(tolerance));
        }
}

} // namespace

TEST_CASE("a line is found again, with its latency, overhead and gap apart") {
    const TransferModel fitted = fit_transfers(samples_of(one_line));
    REQUIRE(fitted.lines().size() == 1);
    const TransferLine& line = fitted.lines().front();
    CHECK(line.latency == Approx(20e-6).epsilon(1e-3));
    CHECK(line.batch_latency == Approx(28e-6).epsilon(1e-3));
    CHECK(line.overhead == Approx(2e-6).epsilon(1e-3));
    CHECK(line.per_byte == Approx(0.4e-9).epsilon(1e-3));
    CHECK(line.issue == Approx(1e-6).epsilon(1e-3));
    CHECK(line.issue_per_byte == Approx(0.05e-9).epsilon(1e-3));
}

TEST_CASE("a change of protocol gives a second line") {
    const TransferModel fitted = fit_transfers(samples_of(eager_and_rendezvous));
    REQUIRE(fitted.lines().size() == 2);
    CHECK(fitted.lines()[1].begin_bytes > 65536);
    CHECK(fitted.lines()[1].begin_bytes <= 131072);
    require_near(fitted, eager_and_rendezvous, 0.01);
}

TEST_CASE("where a protocol changes is found by asking") {
    TransferModel fitted = fit_transfers(samples_of(eager_and_rendezvous));
    int questions = 0;
    refine_changes(fitted, 2, [&](std::uint64_t bytes) {
        ++questions;
        return eager_and_rendezvous.time(bytes);
    });
    REQUIRE(fitted.lines().size() == 2);
    CHECK(fitted.lines()[1].begin_bytes > 65536);
    CHECK(fitted.lines()[1].begin_bytes < 65536 + 2048);
    CHECK(questions == 6);
}

TEST_CASE("noise does not add lines, and outliers do not bend them") {
    const std::vector<TransferSample> noisy = samples_of(one_line, 0.03);
    CHECK(fit_transfers(noisy).lines().size() == 1);
    require_near(fit_transfers(noisy), one_line, 0.05);
    require_near(fit_transfers(samples_of(one_line, 0.03, 11)), one_line, 0.05);
    require_near(fit_transfers(samples_of(eager_and_rendezvous, 0.03, 11)), eager_and_rendezvous, 0.1);
}

TEST_CASE("what a larger transfer takes is the most that a smaller one takes") {
    std::vector<TransferSample> samples{{8, 1, 400e-6, 300e-6}, {32, 1, 5e-6, 1e-6}, {4096, 1, 9e-6, 2e-6},
                                        {8, 2, 12e-6, 2e-6},    {32, 2, 700e-6, 0},  {4096, 2, 14e-6, 4e-6}};
    remove_disturbances(samples);
    const std::vector<double> seconds{5e-6, 5e-6, 9e-6, 12e-6, 14e-6, 14e-6};
    for (std::size_t i = 0; i < samples.size(); ++i) {
        INFO(i);
        CHECK(samples[i].seconds == seconds[i]);
        CHECK(samples[i].issue_seconds <= samples[i].seconds);
    }
    CHECK(fit_transfers(samples).time(1 << 20) > fit_transfers(samples).time(8));
}

TEST_CASE("the quality of a fit is judged by squares and by shares") {
    const std::vector<TransferSample> samples = samples_of(one_line);
    const FitQuality perfect = judge(one_line, samples);
    CHECK(perfect.r_squared == Approx(1));
    CHECK(perfect.within_15 == 1);
    CHECK(perfect.worst_ratio == Approx(1));
    TransferModel slow = one_line;
    slow.scale(1.5);
    const FitQuality bad = judge(slow, samples);
    CHECK(bad.within_15 == 0);
    CHECK(bad.r_squared < 0.9);
    CHECK(bad.worst_ratio == Approx(1.5));
}

TEST_CASE("samples that are no times are left out") {
    std::vector<TransferSample> samples = samples_of(one_line);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double seconds : {nan, -1.0, 0.0, std::numeric_limits<double>::infinity()})
        samples.push_back({100, 1, seconds, 0});
    require_near(fit_transfers(samples), one_line, 0.01);
    CHECK(fit_transfers(std::vector<TransferSample>{}).empty());
    CHECK(fit_transfers(std::vector<TransferSample>{{8, 1, 1e-6, 0}, {8, 4, 2e-6, 0}}).empty());
}

TEST_CASE("few samples give one line that is never negative") {
    const std::vector<TransferSample> samples{{8, 1, 10e-6, 0}, {4096, 1, 9e-6, 0}}; // noise: larger and faster
    const TransferModel fitted = fit_transfers(samples);
    REQUIRE(fitted.lines().size() == 1);
    CHECK(fitted.lines().front().per_byte >= 0);
    CHECK(fitted.time(8) == Approx(9.5e-6).epsilon(0.1));
    CHECK(fitted.gap(1 << 20) >= 0);
}

TEST_CASE("the call that starts a transfer takes no longer than the transfer") {
    const TransferModel model{std::vector<TransferLine>{{0, 0, 0, 1e-6, 0, 5e-6, 0}}};
    CHECK(model.issue(8) == model.gap(8));
}

TEST_CASE("sizes that all take equally long still cost something each, so that a profile can keep the model") {
    std::vector<TransferSample> samples;
    for (std::uint64_t bytes = 8; bytes <= 1 << 20; bytes *= 2)
        for (const std::uint64_t operations : {1U, 4U}) samples.push_back({bytes, operations, 20e-6, 1e-6});
    const TransferModel model = fit_transfers(samples);
    REQUIRE_FALSE(model.empty());
    for (const TransferLine& line : model.lines()) {
        CHECK(line.overhead > 0);
        CHECK(line.per_byte > 0);
    }
}

TEST_CASE("operations that travel together take time by the message") {
    const Aggregation aggregation{.largest = 4000, .room = 8000, .head = 50};
    CHECK(aggregation.operations_per_message(8) == 8000 / 58);
    CHECK(aggregation.operations_per_message(3000) == 2);
    CHECK(aggregation.operations_per_message(3999) == 1);
    CHECK(aggregation.operations_per_message(4000) == 1);
    CHECK(aggregation.operations_per_message(4001) == 0);
    CHECK(Aggregation{}.operations_per_message(0) == 0);
    const TransferModel truth{std::vector<TransferLine>{{0, 12e-6, 25e-6, 0.1e-6, 0.5e-9, 0, 0, 0, 9e-6},
                                                        {4001, 30e-6, 60e-6, 30e-6, 0.2e-9, 0, 0, 0.3e-9}},
                              aggregation};
    CHECK(truth.time(3000, 2) == Approx(25e-6 + 0.2e-6 + 6000 * 0.5e-9));
    CHECK(truth.time(3000, 3) == Approx(25e-6 + 0.3e-6 + 9000 * 0.5e-9 + 9e-6));
    CHECK(truth.time(3000, 5) == Approx(25e-6 + 0.5e-6 + 15000 * 0.5e-9 + 18e-6));
    CHECK(truth.gap(3000) == Approx(0.1e-6 + 3000 * 0.5e-9 + 4.5e-6));
    CHECK(truth.latency(3000, 5) + 5 * truth.gap(3000) == Approx(truth.time(3000, 5)));
    TransferModel slow = truth;
    slow.scale(2);
    CHECK(slow.time(3000, 5) == Approx(2 * truth.time(3000, 5)));
    CHECK(slow.time(10000, 5) == Approx(2 * truth.time(10000, 5)));
    CHECK(truth.time(10000, 2) == Approx(60e-6 + 0.3e-9 * 10000 + 2 * (30e-6 + 10000 * 0.2e-9)));

    const TransferModel fitted = fit_transfers(samples_of(truth), aggregation);
    REQUIRE(fitted.lines().size() == 2);
    CHECK(fitted.lines()[1].begin_bytes == 4001); // known, not asked for
    CHECK(fitted.lines()[0].message == Approx(9e-6).epsilon(0.01));
    CHECK(fitted.lines()[1].latency_per_byte == Approx(0.3e-9).epsilon(0.01));
    int questions = 0;
    TransferModel refined = fitted;
    refine_changes(refined, 2, [&](std::uint64_t bytes) {
        ++questions;
        return truth.time(bytes);
    });
    CHECK(questions == 0);
    require_near(fitted, truth, 0.01);
    require_near(fit_transfers(samples_of(truth, 0.03, 11), aggregation), truth, 0.1);
}

TEST_CASE("a packet holds as many operations as the model says") {
    for (const std::uint64_t packet_bytes : {512U, 8000U, 8001U, 65536U}) {
        std::vector<std::byte> memory(packet_bytes);
        const std::uint64_t room = packet_bytes - sizeof(lapwing::detail::messages::PacketHeader);
        const std::uint64_t largest =
            (room - sizeof(lapwing::detail::messages::Request)) / 8 * 8; // as Engine::inline_limit()
        const Aggregation aggregation{
            .largest = largest, .room = room, .head = sizeof(lapwing::detail::messages::Request)};
        for (std::uint64_t bytes = 1; bytes <= largest; bytes += bytes < 600 ? 1 : 97) {
            lapwing::detail::messages::Packet packet{memory.data(), packet_bytes};
            std::uint64_t count = 0;
            for (; packet.fits(sizeof(lapwing::detail::messages::Request), bytes); ++count)
                packet.append(lapwing::detail::messages::Request{}, bytes);
            REQUIRE(aggregation.operations_per_message(bytes) == count);
        }
        CHECK(aggregation.operations_per_message(largest) == 1);
    }
}

TEST_CASE("where aggregation ends a line begins, if there are two sizes on either side") {
    const Aggregation aggregation{.largest = 100, .room = 1000, .head = 50};
    const std::vector<TransferSample> samples{
        {8, 1, 10e-6, 0}, {64, 1, 11e-6, 0}, {512, 1, 50e-6, 0}, {4096, 1, 80e-6, 0}};
    const TransferModel fitted = fit_transfers(samples, aggregation);
    REQUIRE(fitted.lines().size() == 2);
    CHECK(fitted.lines()[1].begin_bytes == 101);
    CHECK(fitted.time(100) < 20e-6);
    CHECK(fitted.time(101) > 40e-6);
    // All on one side.
    CHECK(fit_transfers(samples, {.largest = 1 << 20, .room = 2 << 20, .head = 50}).lines().size() == 1);
    CHECK(fit_transfers(samples, {.largest = 4, .room = 2000, .head = 50}).lines().size() == 1);
    // One size on one side says nothing of how times grow there.
    for (const std::uint64_t largest : {std::uint64_t{8}, std::uint64_t{512}}) {
        const TransferModel one = fit_transfers(samples, {.largest = largest, .room = 2000, .head = 50});
        REQUIRE(one.lines().size() == 1);
        CHECK(one.time(1 << 20) > 1e-3);
    }
}

TEST_CASE("two models are joined where one ends") {
    const Aggregation aggregation{.largest = 4000, .room = 8000, .head = 50};
    const TransferModel below{std::vector<TransferLine>{{0, 1e-6}, {512, 2e-6}, {4001, 3e-6}}, aggregation};
    TransferModel above{std::vector<TransferLine>{{0, 4e-6}, {2000, 5e-6}, {65536, 6e-6}}};
    above.set_overlap(0.5);
    const TransferModel model = joined(below, above, aggregation);
    REQUIRE(model.lines().size() == 4);
    CHECK(model.line_of(0).latency == 1e-6);
    CHECK(model.line_of(4000).latency == 2e-6);
    CHECK(model.line_of(4001).latency == 5e-6);
    CHECK(model.line_of(65536).latency == 6e-6);
    CHECK(model.aggregation() == aggregation);
    CHECK(model.overlap() == 0.5);
    // More lines than there may be: the shortest sizes' are left out.
    const TransferModel many{std::vector<TransferLine>{{0, 1e-6}, {100, 2e-6}, {200, 3e-6}, {300, 4e-6}}};
    const TransferModel both = joined(many, above, {.largest = 399, .room = 1000, .head = 50});
    CHECK(both.lines().size() == TransferModel::most_lines);
    CHECK(both.line_of(0).latency == 3e-6);
    CHECK(both.line_of(399).latency == 4e-6);
    CHECK(both.line_of(65536).latency == 6e-6);
}
