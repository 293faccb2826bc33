#include "shared_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lapwing::bench::irregular {

SharedRows::SharedRows(Ranks ranks, const Rows& model)
    : lengths{model.parts().array<Number>(ranks, "lengths")},
      begins{model.parts().array<Number>(ranks, "begins")},
      runtime_{ranks.runtime},
      parts_{model.parts()} {
    const auto room = std::max<std::int64_t>(1, runtime_.max(static_cast<std::int64_t>(model.columns().size())));
    nonzeros = {runtime_, {room * runtime_.size()}, Block{}, {.name = "nonzeros"}};
}

void SharedRows::clear() {
    lengths.fill(0);
    nonzeros.fill(0);
}

void SharedRows::set_begins() {
    runtime_.barrier();
    auto place = static_cast<Number>(nonzeros.local_domain().range(0).first());
    for (Number local = 0; local < parts_.own(); ++local) {
        begins.local_span()[local] = place;
        place += lengths.local_span()[local];
    }
    runtime_.barrier();
}

void SharedRows::copy(const Rows& rows) {
    for (Number local = 0; local < parts_.own(); ++local) lengths.local_span()[local] = rows.degree(local);
    std::ranges::copy(rows.columns(), nonzeros.local_span().begin());
    set_begins();
}

MadeMatrix::MadeMatrix(Ranks ranks, const Edges& expected)
    : MadeMatrix{ranks, Rows{ranks.world, Parts{expected.vertices, ranks}, expected}} {}

void MadeMatrix::prepare(Way way) {
    if (sends_items(way)) own = {parts().own(), {}};
    else shared.clear();
}

std::string MadeMatrix::fault(Way way) const {
    for (Number local = 0; local < parts().own(); ++local) {
        std::vector<Number> row;
        if (sends_items(way)) {
            const auto place = [this](std::size_t k) { return own.columns.begin() + static_cast<std::ptrdiff_t>(k); };
            row.assign(place(own.begin[local]), place(own.begin[local + 1]));
        } else {
            // Of an array that has not been filled there is no begin.
            const Number length = shared.lengths.local_span()[local];
            const std::int64_t first = shared.nonzeros.local_domain().range(0).first();
            const std::int64_t place = length == 0 ? 0 : shared.begins.local_span()[local] - first;
            const auto own_nonzeros = shared.nonzeros.local_span();
            if (place < 0 || static_cast<std::size_t>(place) + length > own_nonzeros.size())
                return fmt::format("row {} has {} nonzeros from {}", parts().first() + local, length, place);
            const auto part = own_nonzeros.subspan(static_cast<std::size_t>(place), length);
            row.assign(part.begin(), part.end());
        }
        std::ranges::sort(row);
        if (!std::ranges::equal(row, expected_.row(local)))
            return fmt::format("row {} has {} nonzeros instead of {}, or other ones", parts().first() + local,
                               row.size(), expected_.degree(local));
    }
    return {};
}

} // namespace lapwing::bench::irregular
