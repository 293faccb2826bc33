// What the tests of cached arrays with prefetched copies have in common.
#pragma once

#include <lapwing/domain.hpp>
#include <lapwing/path.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test {

/// Whether accesses to elements of `target` look in the page table.
[[nodiscard]] inline bool uses_page_tables(const lapwing::Window& window, lapwing::Rank target) {
    const lapwing::Path path = window.path(target);
    return window.page_tables() != nullptr && path != lapwing::Path::direct && path != lapwing::Path::self;
}

/// One and two columns in turn, with gaps of up to four, from `first` on; the last begins before `last`, and all end
/// before `end`. Too ragged for rectangles.
[[nodiscard]] inline std::vector<lapwing::Domain<2>> ragged_columns(std::int64_t height, std::int64_t first,
                                                                    std::int64_t last, std::int64_t end) {
    std::vector<lapwing::Domain<2>> columns;
    for (std::int64_t j = first; j < last; j += 1 + j % 5)
        columns.push_back(lapwing::Domain<2>{{0, height}, {j, std::min(end, j + 1 + j % 2)}});
    return columns;
}

} // namespace test
