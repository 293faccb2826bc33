// Times of packing: what the model says of shapes, and that what it measures is plausible.
#include "pipeline/copy_model.hpp"

#include <catch2/catch.hpp>

using namespace lapwing::pipeline;

namespace {

CopyModel plain() {
    CopyModel model;
    model.call = 0;
    for (std::size_t i = 0; i < CopyModel::lengths.size(); ++i)
        model.block[i] = 1e-9 * (1 + static_cast<double>(CopyModel::lengths[i]) / 16);
    model.line_near = 2e-9;
    model.line_far = 50e-9;
    model.cache_bytes = 1 << 20;
    return model;
}

BlockShape strided(std::uint64_t blocks, std::uint64_t length, std::uint64_t stride) {
    return {.blocks = blocks, .bytes = blocks * length, .extent_bytes = blocks * stride};
}

} // namespace

TEST_CASE("times of block lengths between those measured are interpolated, longer ones extrapolated") {
    const CopyModel model = plain();
    CHECK(model.block_time(8) == Approx(1.5e-9));
    CHECK(model.block_time(10) == Approx((1.5e-9 + 1.75e-9) / 2));
    CHECK(model.block_time(0.5) == model.block.front());
    CHECK(model.block_time(131072) == Approx(2 * model.block.back()));
}

TEST_CASE("blocks in the cache cost the same whatever their distance") {
    const CopyModel model = plain();
    CHECK(model.time(strided(1000, 8, 16)) == Approx(1000 * 1.5e-9));
    CHECK(model.time(strided(1000, 8, 48)) == Approx(1000 * 1.5e-9));
    CHECK(model.time(BlockShape{}) == 0);
}

TEST_CASE("outside the cache distance decides") {
    const CopyModel model = plain();
    constexpr std::uint64_t blocks = 1 << 20;
    const double hot = blocks * 1.5e-9;
    CHECK(model.time(strided(blocks, 8, 16)) == Approx(hot + blocks * (0.25 * 2e-9)).epsilon(0.02));
    CHECK(model.time(strided(blocks, 8, 128)) == Approx(hot + blocks * 2e-9).epsilon(0.02));
    CHECK(model.time(strided(blocks, 8, 8192)) == Approx(hot + blocks * 50e-9).epsilon(0.02));
}

TEST_CASE("a part takes its share") {
    const CopyModel model = plain();
    const BlockShape shape = strided(1 << 20, 8, 4096);
    CHECK(model.time(shape, shape.bytes / 4) == Approx(model.time(shape) / 4));
}

TEST_CASE("measured copies are times") {
    const CopyModel model = measure_copies(0.02);
    CHECK(model.cache_bytes >= 4096);
    CHECK(model.block_time(65536) > model.block_time(8)); // a longer block takes longer
    for (const double seconds : {model.call, model.line_near, model.line_far, model.block.front()}) {
        CHECK(seconds >= 0);
        CHECK(seconds < 1e-3);
    }
    CHECK(model.line_far >= model.line_near);
}
