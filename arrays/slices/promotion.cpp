#include "arrays/slices/promotion.hpp"

#include "arrays/slices/exchange.hpp"
#include "datatype/block_copy.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace lapwing::detail::slices {

using transport::Direction;

namespace {

/// Of small boxes.
constexpr std::size_t most_boxes_under_way = 64;
/// Boxes whose plans are kept.
constexpr std::size_t most_kept = 16;

/// Elements of the target that follow each other, so that sources beside them are read without a copy: in shorter runs
/// a call for each would cost more.
constexpr std::uint64_t least_row = 16;

/// Whether both have the same elements of their arrays, in the same order.
[[nodiscard]] bool same_indices(const SliceShape& a, const SliceShape& b, std::size_t array_dimensions) {
    for (std::size_t d = 0; d < array_dimensions; ++d)
        if (a.is_fixed[d] != b.is_fixed[d] || (a.is_fixed[d] && a.fixed[d] != b.fixed[d])) return false;
    return std::ranges::equal(a.used(), b.used(), [](const auto& x, const auto& y) {
        return x.of_array == y.of_array && x.indices == y.indices;
    });
}

/// Whether an element of either is at the same place of the same rank's part.
[[nodiscard]] bool same_places(const ArrayGeometry& a, const ArrayGeometry& b) {
    return a.team == b.team && a.user_map == nullptr && b.user_map == nullptr && a.replicated == b.replicated &&
           a.dimensions == b.dimensions && a.origin == b.origin &&
           std::ranges::equal(std::span{a.maps}.first(a.dimensions), std::span{b.maps}.first(b.dimensions));
}

/// The part of a slice at these positions.
[[nodiscard]] SliceShape part_of(const SliceShape& shape, std::span<const Triplet> positions) {
    SliceShape part = shape;
    for (std::size_t d = 0; d < shape.count; ++d) {
        const Triplet& indices = shape.dimensions[d].indices;
        const Triplet& chosen = positions[d];
        part.dimensions[d].indices = Triplet::strided(indices[static_cast<std::uint64_t>(chosen.first())],
                                                      chosen.size(), indices.stride() * chosen.stride());
    }
    return part;
}

} // namespace

struct Promotion::Piece {
    Layout target;
    Layout values; ///< in elements of the size of the target's
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;        ///< of all values, without the gaps that align them
    ValueMemory::Block memory = {}; ///< while the piece is under way; before the exchanges, which wait when they go
    // By source, and none for those beside the target.
    std::vector<const std::byte*> places = {}; ///< in the memory
    std::vector<std::unique_ptr<Exchange>> exchanges = {};

    [[nodiscard]] std::uint64_t memory_bytes() const {
        std::uint64_t all = 0;
        for_each([&](const Exchange& exchange) { all += bytes_for(exchange); });
        return all;
    }
    void start(ValueMemory& free) {
        stop(free);
        if (const std::uint64_t bytes = memory_bytes(); bytes != 0) memory = free.take(bytes);
        places.assign(exchanges.size(), nullptr);
        std::uint64_t place = 0;
        for (std::size_t k = 0; k < exchanges.size(); ++k) {
            if (exchanges[k] == nullptr) continue;
            places[k] = memory.bytes.get() + place;
            exchanges[k]->move_to(memory.bytes.get() + place);
            place += bytes_for(*exchanges[k]);
        }
        for_each([](Exchange& exchange) { exchange.start(); });
    }
    void wait() const {
        for_each([](Exchange& exchange) { exchange.wait(); });
    }
    void stop(ValueMemory& free) noexcept {
        for_each([](Exchange& exchange) { exchange.stop(); });
        free.give_back(std::exchange(memory, {}));
    }
    [[nodiscard]] std::uint64_t bytes_for(const Exchange& exchange) const {
        return support::rounded_to_alignment(elements * exchange.element_bytes_here());
    }
    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& exchange : exchanges)
            if (exchange != nullptr) visit(*exchange);
    }
};

Promotion::Promotion(SliceOfArray target, std::vector<SliceOfArray> sources, PromotionOptions options)
    : target_{target},
      sources_{std::move(sources)},
      options_{std::move(options)},
      count_{target_.shape.count},
      piece_bytes_{ValueMemory::piece_bytes(target_.array->team->size())} {
    order_dimensions();
    find_sources_beside();
    std::uint64_t element_bytes = 0; // of what is moved
    for (std::size_t k = 0; k < sources_.size(); ++k)
        if (!beside_[k]) element_bytes += sources_[k].array->element_bytes;
    most_elements_ = element_bytes == 0 ? std::numeric_limits<std::uint64_t>::max()
                                        : std::max<std::uint64_t>(1, piece_bytes_ / element_bytes);
    find_boxes();
    const auto is_user_defined = [](const SliceOfArray& slice) { return slice.array->user_map != nullptr; };
    const bool keeps = boxes_.size() <= most_kept;
    // Where a program's own distribution may be wrong, before anything is written.
    if (!keeps && !is_user_defined(target_) && std::ranges::none_of(sources_, is_user_defined)) return;
    for (const Box& box : boxes_) {
        auto piece = make_piece(box, keeps);
        if (keeps) kept_.push_back(std::move(piece));
    }
}

Promotion::~Promotion() = default;

void Promotion::order_dimensions() {
    // Along the memory of the target, in ascending order.
    std::array<std::size_t, max_dimensions> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(std::span{order}.first(count_), {},
                             [&](std::size_t d) { return target_.shape.dimensions[d].of_array; });
    std::array<bool, max_dimensions> is_reversed{};
    for (std::size_t d = 0; d < count_; ++d) is_reversed[d] = target_.shape.dimensions[d].indices.stride() < 0;
    const auto arrange = [&](SliceShape& shape) {
        const SliceShape before = shape;
        for (std::size_t d = 0; d < count_; ++d) {
            shape.dimensions[d] = before.dimensions[order[d]];
            Triplet& indices = shape.dimensions[d].indices;
            if (is_reversed[order[d]]) indices = indices.reversed();
        }
    };
    arrange(target_.shape);
    for (SliceOfArray& source : sources_) arrange(source.shape);
}

void Promotion::find_sources_beside() {
    beside_.assign(sources_.size(), false);
    if (options_.through_copy || count_ == 0 || target_.array->user_map != nullptr) return;
    const SliceShape::Dimension& last = target_.shape.dimensions[count_ - 1];
    if (last.of_array + 1 != target_.array->dimensions || last.indices.stride() != 1) return;
    const auto processes = static_cast<std::uint64_t>(target_.array->maps[last.of_array].processes());
    if (last.indices.size() / processes < least_row) return;
    for (std::size_t k = 0; k < sources_.size(); ++k)
        beside_[k] = same_places(*target_.array, *sources_[k].array) &&
                     same_indices(target_.shape, sources_[k].shape, target_.array->dimensions);
}

void Promotion::deal_dimension(const Side& target, std::size_t d) {
    const distribution::DimensionMap& map = target.map(d);
    const distribution::IndexSequence indices = target.indices(d, false);
    const int process = target.process_of(d, target.own_rank());
    const auto stride = static_cast<std::uint64_t>(indices.stride);
    if (map.range_count(process) <= 1 || map.block() % stride != 0) return;
    const std::uint64_t block = map.block() / stride;
    dealt_[d] = DealtPositions{.block = block,
                               .processes = static_cast<std::uint64_t>(map.processes()),
                               .process = static_cast<std::uint64_t>(process),
                               .first = static_cast<std::uint64_t>(indices.first) / stride};
}

std::vector<Triplet> Promotion::own_positions(const Side& target, std::size_t d) const {
    const Triplet& indices = target_.shape.dimensions[d].indices;
    if (dealt_[d]) return {Triplet::strided(0, indices.size(), 1)};
    const distribution::DimensionMap& map = target.map(d);
    const int process = target.process_of(d, target.own_rank());
    std::vector<Triplet> positions;
    for (std::uint64_t k = 0; k < map.range_count(process); ++k) {
        const Range own = map.range(process, k).intersect(indices.range());
        if (own.empty()) continue;
        const std::int64_t first = (own.first() - indices.first()) / indices.stride();
        positions.push_back(Triplet::strided(first, own.size(), own.stride() / indices.stride()));
    }
    return positions;
}

void Promotion::find_boxes() {
    if (target_.shape.empty()) return;
    const Side target = Side::of(*target_.array, target_.shape);
    if (target.is_user_defined()) {
        for (const Box& box : target.own_boxes()) add_boxes(box);
        return;
    }
    if (!target.has_fixed(target.own_rank())) return;
    // A user-defined source is asked for each position that this rank has.
    const bool may_deal =
        std::ranges::none_of(sources_, [](const SliceOfArray& source) { return source.array->user_map != nullptr; });
    std::array<std::vector<Triplet>, max_dimensions> own;
    for (std::size_t d = 0; d < count_; ++d) {
        if (may_deal) deal_dimension(target, d);
        own[d] = own_positions(target, d);
        if (own[d].empty()) return;
    }
    std::array<std::size_t, max_dimensions> k{};
    for (;;) {
        Box box;
        for (std::size_t d = 0; d < count_; ++d) box[d] = own[d][k[d]];
        add_boxes(box);
        std::size_t d = count_;
        while (d > 0 && ++k[d - 1] == own[d - 1].size()) k[--d] = 0;
        if (d == 0) return;
    }
}

std::array<std::uint64_t, max_dimensions> Promotion::own_counts(const Box& box) const {
    std::array<std::uint64_t, max_dimensions> counts{};
    for (std::size_t d = 0; d < count_; ++d) {
        counts[d] = box[d].size();
        if (!dealt_[d] || counts[d] == 0) continue;
        const auto first = static_cast<std::uint64_t>(box[d].first());
        counts[d] = dealt_[d]->before(first + counts[d]) - dealt_[d]->before(first);
    }
    return counts;
}

void Promotion::add_boxes(const Box& box) {
    const auto counts = own_counts(box);
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < count_; ++d) elements *= counts[d];
    if (elements == 0) return;
    if (elements <= most_elements_) {
        boxes_.push_back(box);
        return;
    }
    std::size_t d = 0;
    while (counts[d] == 1) ++d;
    const std::uint64_t half = box[d].size() / 2;
    const auto at = [&](std::uint64_t first, std::uint64_t size) {
        Box part = box;
        part[d] = Triplet::strided(box[d][first], size, box[d].stride());
        return part;
    };
    add_boxes(at(0, half));
    add_boxes(at(half, box[d].size() - half));
}

Side Promotion::values_of(const Box& box, std::uint64_t element_bytes) const {
    const auto counts = own_counts(box);
    std::array<std::int64_t, max_dimensions> strides{};
    std::int64_t stride = 1;
    for (std::size_t d = count_; d-- > 0;) {
        strides[d] = stride;
        stride *= static_cast<std::int64_t>(counts[d]);
    }
    Side side = Side::buffer(part_of(target_.shape, box), strides, element_bytes, nullptr);
    for (std::size_t d = 0; d < count_; ++d) {
        if (!dealt_[d]) continue;
        DealtPositions positions = *dealt_[d];
        positions.first += static_cast<std::uint64_t>(box[d].first());
        side.deal(d, positions);
    }
    return side;
}

std::shared_ptr<Promotion::Piece> Promotion::make_piece(const Box& box, bool keep) const {
    const ArrayGeometry& array = *target_.array;
    const Pairing pairing{values_of(box, array.element_bytes), Side::of(array, part_of(target_.shape, box))};
    const int own = array.team->rank().value;
    if (pairing.partners().size() != 1 || pairing.partners().front().rank != own)
        throw RangeError{
            fmt::format("{}: {}: the distribution's domain() lists indices for this rank that locate() puts at others; "
                        "correct one of them",
                        array.team->who(), array.name)};
    LayoutPair layouts = pairing.layouts(pairing.partners().front(), true);
    auto piece = std::make_shared<Piece>(Piece{.target = std::move(layouts.there), .values = std::move(layouts.here)});
    piece->elements = piece->target.bytes() / array.element_bytes;
    piece->exchanges.resize(sources_.size());
    for (std::size_t k = 0; k < sources_.size(); ++k) {
        if (beside_[k]) continue;
        const SliceOfArray& source = sources_[k];
        piece->bytes += piece->elements * source.array->element_bytes;
        piece->exchanges[k] = std::make_unique<Exchange>(Direction::get, values_of(box, source.array->element_bytes),
                                                         Side::of(*source.array, part_of(source.shape, box)),
                                                         ExchangeOptions{.keep = keep, .serving = options_.serving});
    }
    return piece;
}

bool Promotion::has_room() const {
    if (options_.through_copy || under_way_.empty()) return true;
    std::uint64_t bytes = piece_bytes_;
    for (const auto& piece : under_way_) bytes += piece->bytes;
    return under_way_.size() < most_boxes_under_way &&
           bytes <= ValueMemory::bytes_under_way(piece_bytes_, options_.serving);
}

void Promotion::start_more() {
    while (next_ < boxes_.size() && has_room()) {
        const std::size_t box = next_++;
        under_way_.push_back(kept_.empty() ? make_piece(boxes_[box], false) : kept_[box]);
        under_way_.back()->start(*options_.memory);
    }
}

void Promotion::start() {
    // What an execution that failed has left.
    under_way_.clear();
    for (const auto& piece : kept_) piece->stop(*options_.memory);
    saved_.clear();
    next_ = 0;
    start_more();
}

void Promotion::wait() {
    if (options_.through_copy) {
        for (const auto& piece : under_way_) piece->wait();
        return;
    }
    while (!under_way_.empty()) {
        Piece& piece = *under_way_.front();
        piece.wait();
        apply(piece);
        piece.stop(*options_.memory);
        under_way_.pop_front();
        start_more();
    }
}

bool Promotion::test() {
    bool all = next_ == boxes_.size();
    for (const auto& piece : under_way_) piece->for_each([&](Exchange& exchange) { all = exchange.test() && all; });
    return all;
}

void Promotion::finish() {
    for (const auto& piece : under_way_) {
        apply(*piece);
        piece->stop(*options_.memory);
    }
    under_way_.clear();
}

void Promotion::apply(const Piece& piece) {
    std::byte* const memory = target_.array->window->map().own;
    const std::uint64_t element_bytes = target_.array->element_bytes;
    if (options_.restorable) {
        Saved& saved = saved_.emplace_back(
            Saved{.target = piece.target, .memory = support::allocate_aligned(piece.target.bytes())});
        LayoutCursor cursor{saved.target};
        datatype::pack(saved.memory.get(), memory, cursor, saved.target.bytes());
    }
    std::vector<const std::byte*> values(sources_.size());
    const auto apply_blocks = [&](std::int64_t offset, const ElementRun& run) {
        const std::uint64_t value = static_cast<std::uint64_t>(offset) / element_bytes;
        const std::uint64_t place = static_cast<std::uint64_t>(run.target - memory) / element_bytes;
        for (std::size_t k = 0; k < sources_.size(); ++k) {
            const ArrayGeometry& source = *sources_[k].array;
            values[k] = beside_[k] ? source.window->map().own + place * source.element_bytes
                                   : piece.places[k] + value * source.element_bytes;
        }
        options_.apply(run, values);
    };
    const bool some_beside = std::ranges::find(beside_, true) != beside_.end();
    LayoutZip zip{piece.values, piece.target};
    while (!zip.done()) {
        const PairRun run = zip.next_run();
        const std::uint64_t block = run.target.block_bytes / element_bytes;
        // Values of several blocks follow each other; those beside the target do as its blocks do.
        const auto dense = static_cast<std::int64_t>(run.target.block_bytes);
        const bool regular = run.target.offsets == nullptr && run.source.offsets == nullptr &&
                             run.source.stride == dense && (!some_beside || run.target.stride == dense);
        if (regular) {
            apply_blocks(run.source.offset,
                         {memory + run.target.offset, run.target.stride, run.target.count, block, nullptr});
            continue;
        }
        for (std::uint64_t k = 0; k < run.target.count; ++k)
            apply_blocks(run.source[k].offset, {memory + run.target[k].offset, 0, 1, block, nullptr});
    }
}

void Promotion::restore() {
    std::byte* const memory = target_.array->window->map().own;
    for (const Saved& saved : saved_) {
        LayoutCursor cursor{saved.target};
        datatype::unpack(memory, cursor, saved.memory.get(), saved.target.bytes());
    }
    saved_.clear();
}

template <class Visit>
void Promotion::for_each_piece(Visit visit) const {
    for (std::size_t k = 0; k < boxes_.size(); ++k)
        visit(kept_.empty() ? *make_piece(boxes_[k], false) : std::as_const(*kept_[k]));
}

std::uint64_t Promotion::transfers() const {
    std::uint64_t transfers = 0;
    for_each_piece([&](const Piece& piece) {
        piece.for_each([&](const Exchange& exchange) { transfers += exchange.transfers(); });
    });
    return transfers;
}

std::uint64_t Promotion::bytes() const {
    std::uint64_t bytes = 0;
    for_each_piece(
        [&](const Piece& piece) { piece.for_each([&](const Exchange& exchange) { bytes += exchange.bytes(); }); });
    return bytes;
}

std::string Promotion::explain() const {
    std::string text;
    for_each_piece([&](const Piece& piece) {
        text += fmt::format("  a function's values for {} elements\n", piece.elements);
        for (std::size_t k = 0; k < sources_.size(); ++k)
            text += fmt::format("  source {}, {}\n{}", k + 1, sources_[k].array->name,
                                beside_[k] ? "  own elements, read where they lie\n" : piece.exchanges[k]->explain());
    });
    return text;
}

} // namespace lapwing::detail::slices
