// The cost model of a process: where its numbers come from, and how it adapts to measured transfers.
#include "model/cost_model.hpp"

#include "support/catch.hpp"

#include <limits>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::model;

namespace {

const TransferModel line{std::vector<TransferLine>{{0, 10e-6, 10e-6, 1e-6, 1e-9, 0, 0}}};

} // namespace

TEST_CASE("a path that was not measured has built-in times") {
    const CostModel model;
    for (const Path path : {Path::direct, Path::rma, Path::service}) {
        CHECK(model.source(path, Direction::put) == Source::built_in);
        CHECK(model.transfers(path, Direction::put, 1 << 20).time(1 << 20) > 0);
    }
    CHECK(model.transfers(Path::direct, Direction::get, 8).time(8) <
          model.transfers(Path::rma, Direction::get, 8).time(8));
}

TEST_CASE("what is set is used, for its path and direction alone") {
    CostModel model;
    const auto before = model.version();
    CostTables tables;
    tables.transfers(Path::rma, Direction::get) = line;
    model.set(tables, Source::profile);
    CHECK(model.version() != before);
    CHECK(model.transfers(Path::rma, Direction::get, 1000).time(1000) == Approx(12e-6));
    CHECK(model.source(Path::rma, Direction::get) == Source::profile);
    CHECK(model.source(Path::rma, Direction::put) == Source::built_in);
    CHECK(model.source(Path::service, Direction::get) == Source::built_in);
}

TEST_CASE("a network that has become slower is recognised after some transfers, then predicted") {
    CostModel model;
    model.set_transfers(Path::rma, Direction::put, line, Source::profile);
    const auto before = model.version();
    const auto predicted = [&] { return model.transfers(Path::rma, Direction::put, 1000).time(1000); };
    const double observed = 2 * predicted();
    int transfers = 0;
    for (; model.rescales() == 0 && transfers < 100; ++transfers) model.observe(Path::rma, 1000, predicted(), observed);
    CHECK(transfers >= 8);
    CHECK(transfers <= 20);
    CHECK(model.version() != before);
    CHECK(predicted() == Approx(observed).epsilon(0.1));
    for (int i = 0; i < 100; ++i) model.observe(Path::rma, 1000, predicted(), observed);
    CHECK(model.rescales() == 1);
    // Other sizes are judged by transfers of theirs.
    CHECK(model.transfers(Path::rma, Direction::put, 1 << 20).time(1 << 20) == Approx(line.time(1 << 20)));
    // The same network carries the other direction; others are others.
    CHECK(model.transfers(Path::rma, Direction::get, 1000).time(1000) ==
          Approx(2 * built_in_model(Path::rma).time(1000)).epsilon(0.1));
    CHECK(model.transfers(Path::service, Direction::put, 1000).time(1000) ==
          Approx(built_in_model(Path::service).time(1000)));
}

TEST_CASE("observations that no model can meet move it only so far") {
    for (const double factor : {1000.0, 0.001}) {
        CostModel model;
        model.set_transfers(Path::rma, Direction::get, line, Source::profile);
        const double measured = line.time(1000);
        // What is predicted does not come from this model: the error stays.
        for (int i = 0; i < 1000; ++i) model.observe(Path::rma, 1000, measured, factor * measured);
        const double moved = model.transfers(Path::rma, Direction::get, 1000).time(1000) / measured;
        CHECK(moved == Approx(factor > 1 ? 16 : 1.0 / 16));
        const auto version = model.version();
        for (int i = 0; i < 1000; ++i) model.observe(Path::rma, 1000, measured, factor * measured);
        CHECK(model.version() == version);
    }
}

TEST_CASE("good predictions with some stalls among them change nothing") {
    CostModel model;
    model.set_transfers(Path::service, Direction::get, line, Source::profile);
    for (int i = 0; i < 1000; ++i) {
        const double factor = i % 50 == 17 ? 1000 : i % 2 == 0 ? 0.9 : 1.1;
        model.observe(Path::service, 1000, 1e-5, factor * 1e-5);
    }
    CHECK(model.rescales() == 0);
}

TEST_CASE("observations that are no times are not listened to") {
    CostModel model;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 100; ++i)
        for (const double bad : {nan, infinity, 0.0, -1.0}) {
            model.observe(Path::rma, 1000, bad, 1e-6);
            model.observe(Path::rma, 1000, 1e-6, bad);
        }
    CHECK(model.rescales() == 0);
}
