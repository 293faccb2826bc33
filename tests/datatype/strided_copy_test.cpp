#include "datatype/strided_copy.hpp"

#include "tests/distribution/random_maps.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

using lapwing::detail::datatype::CopyLevel;

TEST_CASE("strided copies agree with element-wise ones, and touch nothing else") {
    test::Random random{21};
    for (int round = 0; round < 3000; ++round) {
        const auto bytes = static_cast<std::uint64_t>(random.number(1, 20));
        std::vector<CopyLevel> levels(static_cast<std::size_t>(random.number(1, 4)));
        // From the inside out, each level leaves a gap after the one inside it, or none.
        std::uint64_t to_extent = 1;
        std::uint64_t from_extent = 1;
        for (std::size_t d = levels.size(); d-- > 0;) {
            levels[d].count = static_cast<std::uint64_t>(
                random.number(random.number(0, 20) == 0 ? 0 : 1, d + 2 == levels.size() && round % 7 == 0 ? 700 : 4));
            levels[d].to_stride = to_extent + static_cast<std::uint64_t>(random.number(0, 1) * random.number(0, 2));
            levels[d].from_stride = from_extent + static_cast<std::uint64_t>(random.number(0, 1) * random.number(0, 2));
            to_extent = levels[d].to_stride * (levels[d].count + 1);
            from_extent = levels[d].from_stride * (levels[d].count + 1);
        }
        std::vector<std::byte> from(from_extent * bytes);
        for (auto& byte : from) byte = static_cast<std::byte>(random.number(1, 255));
        std::vector<std::byte> expected(to_extent * bytes);
        std::vector<std::byte> to = expected;

        std::vector<std::uint64_t> k(levels.size());
        bool empty = false;
        for (const CopyLevel& level : levels) empty |= level.count == 0;
        while (!empty) {
            std::uint64_t out = 0;
            std::uint64_t in = 0;
            for (std::size_t d = 0; d < k.size(); ++d) {
                out += k[d] * levels[d].to_stride;
                in += k[d] * levels[d].from_stride;
            }
            for (std::uint64_t b = 0; b < bytes; ++b) expected[out * bytes + b] = from[in * bytes + b];
            std::size_t d = k.size();
            while (d > 0 && ++k[d - 1] == levels[d - 1].count) k[--d] = 0;
            if (d == 0) break;
        }
        lapwing::detail::datatype::strided_copy(to.data(), from.data(), bytes, levels);
        REQUIRE(to == expected);
    }
}
