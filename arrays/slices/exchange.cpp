#include "arrays/slices/exchange.hpp"

#include "datatype/block_copy.hpp"
#include "pipeline/planned_transfer.hpp"
#include "pipeline/round_robin.hpp"
#include "src/team/team_state.hpp"
#include "window/recorded_calls.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace lapwing::detail::slices {

using transport::Direction;

namespace {

/// Each has its plan, of some KB, and its chunks.
constexpr std::size_t most_transfers_under_way = 256;
/// More partners are planned anew each time.
constexpr std::size_t most_kept_plans = 1024;
/// Values that are to be applied arrive in pieces, a few at a time.
constexpr std::uint64_t piece_bytes = ValueMemory::piece_bytes(1);

/// Waits, and reports nothing.
void end_quietly(Completion completion) noexcept { (void)completion; }

/// Calls `visit(here, there, count)` for pieces of `count` elements, each of which has at most `bytes` bytes on either
/// side.
template <class Visit>
void for_pieces(const LayoutPair& pair, std::uint64_t here_bytes, std::uint64_t there_bytes, std::uint64_t bytes,
                Visit visit) {
    const std::uint64_t elements = pair.here.bytes() / here_bytes;
    const std::uint64_t piece = std::max<std::uint64_t>(1, bytes / std::max(here_bytes, there_bytes));
    for (std::uint64_t k = 0; k < elements; k += piece) {
        const std::uint64_t end = std::min(elements, k + piece);
        visit(pair.here.slice(k * here_bytes, end * here_bytes), pair.there.slice(k * there_bytes, end * there_bytes));
    }
}

} // namespace

Exchange::Exchange(Direction direction, Side here, Side there, ExchangeOptions options)
    : direction_{direction},
      here_{std::move(here)},
      there_{std::move(there)},
      options_{std::move(options)},
      pairing_{here_, there_, options_.pass_over} {
    if (options_.keep && pairing_.partners().size() <= most_kept_plans) plans_.resize(pairing_.partners().size());
}

Exchange::~Exchange() = default;

std::byte* Exchange::mapped(int rank) const { return array().window->map().base(rank); }

template <class Visit>
void Exchange::for_each_transfer(Visit visit) const {
    const std::span<const Pairing::Partner> partners = pairing_.partners();
    const int own = there_.own_rank();
    if (there_.is_replicated() && direction_ == Direction::put) { // one partner, which represents every rank
        const int ranks = array().team->size();
        for (const Pairing::Partner& partner : partners)
            for (int step = 1; step <= ranks; ++step) visit((own + step) % ranks, partner);
        return;
    }
    const auto next = static_cast<std::size_t>(std::ranges::upper_bound(partners, own, {}, &Pairing::Partner::rank) -
                                               partners.begin());
    for (std::size_t k = 0; k < partners.size(); ++k) {
        const Pairing::Partner& partner = partners[(next + k) % partners.size()];
        visit(partner.rank, partner);
    }
}

std::shared_ptr<pipeline::PlanState> Exchange::make_plan(int rank, const Layout& here, const Layout& there) const {
    auto plan = std::make_shared<pipeline::PlanState>(*array().window, direction_, here, rank, Offset{0}, there,
                                                      PlanOptions{}, options_.serving);
    plan->tells_copies = !options_.collective;
    return plan;
}

std::shared_ptr<pipeline::PlanState> Exchange::plan(int rank, const Pairing::Partner& partner) {
    const auto index = static_cast<std::size_t>(&partner - pairing_.partners().data());
    const bool keeps = index < plans_.size() && partner.rank == rank;
    if (keeps && plans_[index] != nullptr) return plans_[index];
    const LayoutPair pair = pairing_.layouts(partner, false);
    auto plan = make_plan(rank, pair.here, pair.there);
    if (keeps) plans_[index] = plan;
    return plan;
}

void Exchange::stop() noexcept {
    under_way_.clear();
    drop_staged(staged_.size());
    staged_bytes_ = 0;
}

void Exchange::start() {
    stop(); // what an execution that failed has left
    if (options_.restorable) save_target();
    for_each_transfer([&](int rank, const Pairing::Partner& partner) {
        if (mapped(rank) == nullptr) start_transfer(rank, partner);
    });
    for_each_transfer([&](int rank, const Pairing::Partner& partner) {
        if (mapped(rank) != nullptr) copy(rank, partner);
    });
}

void Exchange::save_target() {
    saved_.clear();
    for_each_transfer([&](int, const Pairing::Partner& partner) {
        Saved saved{.here = pairing_.layouts(partner, true).here};
        saved.memory = support::allocate_aligned(saved.here.bytes());
        LayoutCursor cursor{saved.here};
        datatype::pack(saved.memory.get(), here_.memory(), cursor, saved.here.bytes());
        saved_.push_back(std::move(saved));
    });
}

void Exchange::restore() {
    for (const Saved& saved : saved_) {
        LayoutCursor cursor{saved.here};
        datatype::unpack(here_.memory(), cursor, saved.memory.get(), saved.here.bytes());
    }
    saved_.clear();
}

void Exchange::start_transfer(int rank, const Pairing::Partner& partner) {
    if (options_.apply || options_.through_copy) return start_staged(rank, partner);
    wait_for_room(most_transfers_under_way - 1);
    const auto transfer = plan(rank, partner);
    under_way_.push_back(direction_ == Direction::get ? pipeline::start_past_cache(transfer, here_.memory())
                                                      : pipeline::start_plan(transfer, here_.memory()));
    array().window->statistics().add(Counter::assign_transfers, Counter::assign_bytes, transfer->shape.bytes);
    note(rank, transfer->shape.bytes);
}

void Exchange::note(int rank, std::uint64_t bytes) {
    window::note(array().window->facts(),
                 direction_ == Direction::get ? trace::Operation::read : trace::Operation::write, rank, 0, bytes,
                 bytes / array().element_bytes, trace::Way::slice);
}

void Exchange::start_staged(int rank, const Pairing::Partner& partner) {
    const LayoutPair pair = pairing_.layouts(partner, false);
    const std::uint64_t most_staged = ValueMemory::bytes_under_way(piece_bytes, options_.serving);
    const std::uint64_t most = options_.through_copy ? ~std::uint64_t{0} : piece_bytes;
    for_pieces(pair, here_.element_bytes(), there_.element_bytes(), most, [&](const Layout& here, const Layout& there) {
        if (!options_.through_copy) apply_until(most_staged - piece_bytes);
        Staged& staged = stage(here, there.bytes());
        staged_bytes_ += there.bytes();
        staged.completion =
            pipeline::start_past_cache(make_plan(rank, Layout::contiguous(there.bytes()), there), staged.values);
    });
    array().window->statistics().add(Counter::assign_transfers, Counter::assign_bytes, pair.there.bytes());
    note(rank, pair.there.bytes());
}

void Exchange::copy(int rank, const Pairing::Partner& partner) {
    const LayoutPair pair = pairing_.layouts(partner, direction_ == Direction::get);
    window::WindowState& window = *array().window;
    std::byte* const segment = mapped(rank);
    const bool get = direction_ == Direction::get;
    if (options_.apply || options_.through_copy) copy_staged(rank, pair);
    else if (get) datatype::copy(here_.memory(), pair.here, segment, pair.there);
    else datatype::copy(segment, pair.there, here_.memory(), pair.here);
    window.statistics().add(get ? Counter::direct_get_bytes : Counter::direct_put_bytes, pair.there.bytes());
    if (!get && !options_.collective && window.order().copies().concerns(rank)) [[unlikely]]
        window.order().copies().written(rank, pair.there, pair.here, here_.memory());
}

void Exchange::copy_staged(int rank, const LayoutPair& pair) {
    std::byte* const segment = mapped(rank);
    if (options_.through_copy) {
        const Staged& staged = stage(pair.here, pair.there.bytes());
        LayoutCursor cursor{pair.there};
        datatype::pack(staged.values, segment, cursor, pair.there.bytes());
        return;
    }
    if (apply_in_place(segment, pair)) return;
    // By way of a buffer that stays in the first cache.
    alignas(64) std::array<std::byte, 16384> buffer;
    support::AlignedMemory larger; // for elements that it does not hold
    std::byte* values = buffer.data();
    if (there_.element_bytes() > buffer.size()) {
        larger = support::allocate_aligned(there_.element_bytes());
        values = larger.get();
    }
    for_pieces(pair, here_.element_bytes(), there_.element_bytes(), buffer.size(),
               [&](const Layout& here, const Layout& there) {
                   LayoutCursor cursor{there};
                   datatype::pack(values, segment, cursor, there.bytes());
                   apply(Staged{.here = here, .values = values});
               });
}

bool Exchange::apply_in_place(const std::byte* segment, const LayoutPair& pair) {
    constexpr std::uint64_t least_block = 256; // a call of the function each
    if (here_.element_bytes() != there_.element_bytes()) return false;
    LayoutZip zip{pair.there, pair.here};
    for (bool first = true; !zip.done(); first = false) {
        const PairRun run = zip.next_run();
        const std::uint64_t block = run.target.block_bytes;
        if (first && block < least_block) return false;
        for (std::uint64_t k = 0; k < run.target.count; ++k)
            apply_blocks(run.target[k].offset, 0, 1, block, segment + run.source[k].offset);
    }
    return true;
}

void Exchange::apply_blocks(std::int64_t offset, std::int64_t stride, std::uint64_t blocks, std::uint64_t block_bytes,
                            const std::byte* values) const {
    options_.apply({here_.memory() + offset, stride, blocks, block_bytes / here_.element_bytes(), values});
}

void Exchange::apply(const Staged& staged) const {
    if (!options_.apply) {
        LayoutCursor cursor{staged.here};
        datatype::unpack(here_.memory(), cursor, staged.values, staged.here.bytes());
        return;
    }
    const std::byte* values = staged.values;
    LayoutCursor cursor{staged.here};
    const auto apply_next = [&](std::int64_t offset, std::int64_t stride, std::uint64_t blocks,
                                std::uint64_t block_bytes) {
        apply_blocks(offset, stride, blocks, block_bytes, values);
        values += blocks * block_bytes / here_.element_bytes() * there_.element_bytes();
    };
    while (!cursor.done()) {
        const BlockRun run = cursor.next_run();
        if (run.starts == nullptr && run.offsets == nullptr) {
            apply_next(run.offset, run.stride, run.count, run.block_bytes);
            continue;
        }
        for (std::uint64_t k = 0; k < run.count; ++k) {
            const ByteBlock block = run[k];
            apply_next(block.offset, 0, 1, block.bytes);
        }
    }
}

void Exchange::wait_for_room(std::size_t left) {
    if (under_way_.size() <= left) return;
    const std::size_t done = under_way_.size() - left / 2;
    pipeline::wait_round_robin(array().team->state(), std::span{under_way_}.first(done));
    under_way_.erase(under_way_.begin(), under_way_.begin() + static_cast<std::ptrdiff_t>(done));
}

void Exchange::apply_until(std::uint64_t bytes) {
    std::size_t done = 0;
    for (; staged_bytes_ > bytes; ++done) {
        Staged& staged = staged_[done];
        staged.completion.wait();
        apply(staged);
        staged_bytes_ -= staged.here.bytes() / here_.element_bytes() * there_.element_bytes();
    }
    drop_staged(done);
}

Exchange::Staged& Exchange::stage(const Layout& here, std::uint64_t bytes) {
    Staged& staged = staged_.emplace_back(Staged{.here = here});
    staged.memory = options_.memory->take(bytes);
    staged.values = staged.memory.bytes.get();
    return staged;
}

void Exchange::drop_staged(std::size_t count) noexcept {
    for (std::size_t k = 0; k < count; ++k) {
        end_quietly(std::move(staged_[k].completion));
        options_.memory->give_back(std::move(staged_[k].memory));
    }
    staged_.erase(staged_.begin(), staged_.begin() + static_cast<std::ptrdiff_t>(count));
}

void Exchange::wait() {
    pipeline::wait_round_robin(array().team->state(), under_way_);
    under_way_.clear();
    if (!options_.through_copy) return apply_until(0);
    for (Staged& staged : staged_) staged.completion.wait();
}

bool Exchange::test() {
    std::erase_if(under_way_, [](Completion& transfer) { return transfer.test(); });
    bool all = under_way_.empty();
    for (Staged& staged : staged_) all = staged.completion.test() && all;
    return all;
}

void Exchange::wait_after_close() {
    for (Completion& transfer : under_way_) transfer.wait();
    under_way_.clear();
}

void Exchange::finish() {
    for (const Staged& staged : staged_) apply(staged);
    drop_staged(staged_.size());
    staged_bytes_ = 0;
}

std::uint64_t Exchange::transfers() const {
    std::uint64_t transfers = 0;
    for_each_transfer([&](int rank, const Pairing::Partner&) { transfers += mapped(rank) == nullptr ? 1 : 0; });
    return transfers;
}

std::uint64_t Exchange::bytes() const {
    std::uint64_t bytes = 0;
    for_each_transfer([&](int rank, const Pairing::Partner& partner) {
        if (mapped(rank) == nullptr) bytes += pairing_.layouts(partner, false).there.bytes();
    });
    return bytes;
}

std::string Exchange::explain() const {
    std::string text;
    const char* const word = direction_ == Direction::get ? "get from" : "put to";
    for_each_transfer([&](int rank, const Pairing::Partner& partner) {
        const bool near = mapped(rank) != nullptr;
        const LayoutPair pair = pairing_.layouts(partner, near && direction_ == Direction::get);
        text += fmt::format("  {} rank {}: {} bytes\n    here: {}\n    there: {}\n", near ? "copy with" : word, rank,
                            pair.there.bytes(), to_string(pair.here), to_string(pair.there));
        if (!near && !options_.apply && !options_.through_copy) {
            const auto plan = make_plan(rank, pair.here, pair.there);
            text += fmt::format("    strategy: {}, {:.1f} us predicted\n", name(plan->decision.strategy),
                                1e6 * plan->decision.seconds);
        }
    });
    return text;
}

namespace {

/// Elements [begin, end) of the row-major order of a slice, as boxes: calls `visit(shape, first)` for each, `first`
/// being its first element's number. As few as 2 * dimensions - 1.
template <class Visit>
void for_boxes(const SliceShape& shape, std::uint64_t begin, std::uint64_t end, Visit visit) {
    std::array<std::uint64_t, max_dimensions> inside{}; // elements in one position of a dimension
    std::uint64_t product = 1;
    for (std::size_t d = shape.count; d-- > 0;) {
        inside[d] = product;
        product *= shape.dimensions[d].indices.size();
    }
    while (begin < end) {
        // The outermost dimension of which whole positions fit, from here on.
        std::size_t d = 0;
        while (d + 1 < shape.count && (begin % inside[d] != 0 || end - begin < inside[d])) ++d;
        const std::uint64_t extent = shape.dimensions[d].indices.size();
        const std::uint64_t position = begin / inside[d] % extent;
        const std::uint64_t count = std::min(extent - position, (end - begin) / inside[d]);
        SliceShape box = shape;
        for (std::size_t outer = 0; outer < d; ++outer) {
            const Triplet& indices = shape.dimensions[outer].indices;
            box.dimensions[outer].indices = Triplet::strided(indices[begin / inside[outer] % indices.size()], 1, 1);
        }
        const Triplet& indices = shape.dimensions[d].indices;
        box.dimensions[d].indices = Triplet::strided(indices[position], count, indices.stride());
        visit(box, begin);
        begin += count * inside[d];
    }
}

} // namespace

void move_elements(Direction direction, const ArrayGeometry& array, const SliceShape& shape, std::uint64_t begin,
                   std::uint64_t end, std::byte* buffer, bool collective) {
    std::vector<std::unique_ptr<Exchange>> boxes;
    for_boxes(shape, begin, end, [&](const SliceShape& box, std::uint64_t first) {
        std::byte* const memory = buffer + (first - begin) * array.element_bytes;
        boxes.push_back(std::make_unique<Exchange>(
            direction, Side::buffer(box, box.dense_strides(), array.element_bytes, memory), Side::of(array, box),
            ExchangeOptions{.pass_over = true, .collective = collective}));
        boxes.back()->start();
    });
    for (const auto& box : boxes) box->wait();
}

} // namespace lapwing::detail::slices
