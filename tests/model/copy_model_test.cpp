// Times of packing: what the model says of shapes, and that what it measures is plausible.
#include "datatype/block_copy.hpp"
#include "model/copy_model.hpp"
#include "pipeline/planner.hpp"
#include "src/kernels/copy_choices.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <vector>

using namespace lapwing::detail::model;
using namespace lapwing::detail::pipeline;

namespace {

CopyModel plain() {
    CopyModel model;
    model.call = 0;
    for (std::size_t i = 0; i < CopyModel::lengths.size(); ++i)
        model.block[i] = 1e-9 * (1 + static_cast<double>(CopyModel::lengths[i]) / 16);
    model.offset = 0.5e-9;
    model.list = 1e-9;
    model.line_near = 2e-9;
    model.line_far = 50e-9;
    model.cache_bytes = 1 << 20;
    return model;
}

BlockShape strided(std::uint64_t blocks, std::uint64_t length, std::uint64_t stride) {
    return {.blocks = blocks, .bytes = blocks * length, .extent_bytes = (blocks - 1) * stride + length};
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

TEST_CASE("listed places cost more") {
    const CopyModel model = plain();
    BlockShape shape = strided(1000, 8, 17);
    shape.places = Places::indexed;
    CHECK(model.time(shape) == Approx(1000 * 2e-9));
    shape.places = Places::listed;
    CHECK(model.time(shape) == Approx(1000 * 3e-9));
    // And their lists come from memory with the blocks.
    BlockShape cold = strided(1 << 20, 8, 17);
    cold.places = Places::indexed;
    CHECK(model.time(cold) > 1.2 * model.time(strided(1 << 20, 8, 17)));
}

TEST_CASE("outside the cache a block takes little more than the longer of its copy and its lines") {
    const CopyModel model = plain();
    constexpr std::uint64_t blocks = 1 << 20;
    constexpr std::uint64_t part = 1 << 14; // such chunks stay in the cache
    constexpr std::uint64_t blocks_of_part = part / 8;
    const auto of_block = [&](std::uint64_t stride) {
        return model.time(strided(blocks, 8, stride), part) / blocks_of_part;
    };
    const auto both = [](double a, double b) { return std::cbrt(a * a * a + b * b * b); };
    CHECK(of_block(17) == Approx(both(1.5e-9, 17.0 / 64 * 2e-9)).epsilon(0.01));
    CHECK(of_block(129) ==
          Approx(both(1.5e-9, 1.5 * (1 + 7.0 / 64) * 2e-9)).epsilon(0.01)); // with what is fetched ahead
    CHECK(of_block(8200) == Approx(100e-9).epsilon(0.01));                  // so many page tables leave the cache too
    // The packed bytes of one large chunk leave it: 1/8 line a block.
    CHECK(model.time(strided(blocks, 8, 17)) ==
          Approx(blocks * both(1.5e-9, (17.0 / 64 + 8.0 / 64) * 2e-9)).epsilon(0.01));
}

TEST_CASE("strides of many factors of two leave the cache early") {
    const CopyModel model = plain();
    CHECK(model.time(strided(1000, 8, 4160)) == Approx(1000 * 1.5e-9));
    CHECK(model.time(strided(1000, 8, 4096)) > 5 * model.time(strided(1000, 8, 4160)));
    BlockShape apart = strided(1000, 8, 4096);
    apart.places = Places::indexed; // only about so far apart
    CHECK(model.time(apart) == Approx(1000 * 2e-9));
}

TEST_CASE("the shape of a layout says how its places are given") {
    using lapwing::Layout;
    CHECK(shape_of(Layout::strided(10, 4, 8)).places == Places::regular);
    CHECK(shape_of(Layout::indexed({0, 10, 13}, 2)).places == Places::indexed);
    const BlockShape cut =
        shape_of(Layout::indexed({0, 2, 13, 20, 30, 41, 50, 60}, 2)); // given by the offsets of its units
    CHECK((cut.places == Places::indexed && cut.blocks == 7 && cut.units == 8));
    const std::vector<lapwing::ByteBlock> blocks{{0, 5}, {10, 1}, {20, 2}};
    CHECK(shape_of(Layout::list(blocks)).places == Places::listed);
    CHECK(shape_of(Layout{}) == BlockShape{});
}

TEST_CASE("a part takes its share") {
    const CopyModel model = plain();
    const BlockShape shape = strided(1 << 20, 8, 4096);
    CHECK(model.time(shape, shape.bytes / 4) == Approx(model.time(shape) / 4));
}

TEST_CASE("what is measured are the copy kernels in use") {
    using namespace lapwing::detail::datatype;
    using namespace lapwing::detail::kernels;
    const CopyModel fast = measure_copies(0.02);
    const CopyChoices before = copy_choices();
    CopyChoices slow = before;
    for (const lapwing::detail::kernels::CopyChoice& choice : before.entries()) slow.set(choice.where, Method::library);
    use_copy_choices(slow);
    const CopyModel loop = measure_copies(0.02);
    use_copy_choices(before);
    CHECK(loop.block_time(4) > 2 * fast.block_time(4)); // a call of memcpy for each block
}

TEST_CASE("measured copies are times") {
    const CopyModel model = measure_copies(0.02);
    CHECK(model.cache_bytes >= 4096);
    CHECK(model.block_time(65536) > model.block_time(8)); // a longer block takes longer
    for (const double seconds :
         {model.call, model.offset, model.list, model.line_near, model.line_far, model.block.front()}) {
        CHECK(seconds >= 0);
        CHECK(seconds < 1e-3);
    }
    CHECK(model.line_far >= model.line_near);
}

TEST_CASE("copies larger than the last cache move the same bytes") {
    using lapwing::Layout;
    using namespace lapwing::detail::datatype;
    using namespace lapwing::detail::kernels;
    const CopyChoices before = copy_choices();
    CopyChoices choices = before;
    choices.set_limits({.tiny = 64, .level1 = 128, .level2 = 256, .last_level = 1024}); // of a very small machine
    use_copy_choices(choices);
    for (const std::uint64_t length : {4U, 12U, 64U, 100U, 1024U, 4096U})
        for (const bool indexed : {false, true}) {
            constexpr std::uint64_t count = 50;
            Layout::Offsets offsets;
            for (std::uint64_t i = 0; i < count; ++i)
                offsets.push_back(static_cast<std::int64_t>((2 * i + (indexed && i % 7 == 0 ? 1 : 0)) * length));
            const Layout source = Layout::indexed(offsets, length);
            std::vector<std::byte> from(2 * (count + 1) * length);
            for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
            constexpr std::uint64_t shift = 3; // any alignment
            std::vector<std::byte> to(source.bytes() + 2 * shift, std::byte{0xEE});
            copy(to.data(), Layout::contiguous(source.bytes(), shift), from.data(), source);
            bool right = true;
            for (std::size_t k = 0; k < source.bytes(); ++k)
                right = right && to[shift + k] == from[static_cast<std::size_t>(offsets[k / length]) + k % length];
            for (std::size_t k = 0; k < shift; ++k)
                right = right && to[k] == std::byte{0xEE} && to[shift + source.bytes() + k] == std::byte{0xEE};
            INFO(length << " bytes, " << (indexed ? "indexed" : "regular"));
            CHECK(right);
        }
    use_copy_choices(before);
}
