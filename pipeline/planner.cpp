#include "pipeline/planner.hpp"

#include "datatype/run_table.hpp"
#include "src/support/aligned_memory.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace lapwing::pipeline {
namespace {

constexpr std::uint64_t most_slots = 4;
constexpr std::uint64_t smallest_chunk = 4096;
/// Chunks of a candidate: more would cost more to think about than they can gain.
constexpr std::uint64_t most_chunks = 512;

/// Wire time of a part of a transfer that leaves as one operation for each block of the remote side.
struct Wire {
    const TransferShape& shape;
    const model::TransferModel& transfers;
    const model::CopyModel* served = nullptr; ///< the owner's copies, where it packs or unpacks: one message for each part

    [[nodiscard]] double operations(std::uint64_t part) const {
        if (shape.remote.blocks <= 1 || served != nullptr) return 1;
        const double share = static_cast<double>(part) / static_cast<double>(shape.bytes);
        return std::max(1.0, share * static_cast<double>(shape.remote.blocks));
    }
    [[nodiscard]] std::uint64_t block(std::uint64_t part) const {
        const double bytes = static_cast<double>(part) * (served != nullptr ? 1 + shape.table_share : 1);
        return static_cast<std::uint64_t>(bytes / operations(part));
    }
    [[nodiscard]] double gap(std::uint64_t part) const {
        // The thread that receives at the owner is the one that copies there.
        const double copying = served != nullptr && shape.remote.blocks > 1 ? served->time(shape.remote, part) : 0;
        return operations(part) * transfers.gap(block(part)) + copying;
    }
    [[nodiscard]] double issue(std::uint64_t part) const { return operations(part) * transfers.issue(block(part)); }
};

/// How much later a wire with `remaining` seconds of work is done because the processor copies for `copying` seconds, in which
/// the wire moves on at the share `overlap` only.
double stall(double remaining, double copying, double overlap) {
    if (remaining <= 0) return 0;
    if (remaining > overlap * copying) return copying * (1 - overlap);
    return remaining / overlap - remaining;
}

/// Every chunk of a packed transfer through a small simulation of one processor and one wire.
double simulate(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots, const Wire& wire, const model::CopyModel& copies) {
    // What the owner unpacks is put behind its table, even from memory that is one block.
    const bool copied = shape.packs() || (wire.served != nullptr && shape.remote.blocks > 1 && shape.direction == model::Direction::put);
    const auto copy = [&](std::uint64_t part) { return copied ? copies.time(shape.local, part) : 0.0; };
    const double overlap = wire.transfers.overlap();
    std::array<double, most_slots> free_at{}; // when the wire is done with the chunk in each slot
    double processor = 0;
    double wire_free = 0;
    std::uint64_t previous = 0;
    std::uint64_t count = 0;
    std::uint64_t last = 0;
    double operations = 0;
    for (std::uint64_t left = shape.bytes; left > 0; left -= last, ++count) {
        last = chunks.next(left, previous);
        previous = last;
        operations += wire.operations(last);
        double& slot = free_at[count % slots];
        const double gap = wire.gap(last);
        const double issue = wire.issue(last);
        if (shape.direction == model::Direction::put) {
            processor = std::max(processor, slot);
            const double copying = copy(last);
            wire_free += stall(wire_free - processor, copying, overlap);
            processor += copying;
            const double begin = std::max(wire_free, processor);
            processor += issue;
            wire_free = begin + gap;
        } else {
            // A slot comes free when its chunk has arrived and is unpacked.
            if (count >= slots) {
                const double copying = copy(last);
                processor = std::max(processor, slot);
                wire_free += stall(wire_free - processor, copying, overlap);
                processor += copying;
            }
            processor += issue;
            wire_free = std::max(wire_free, processor - issue) + gap;
        }
        slot = wire_free;
    }
    const double latency = wire.transfers.latency(wire.block(last), static_cast<std::uint64_t>(std::llround(operations)));
    double end = std::max(wire_free + latency, processor);
    if (shape.direction == model::Direction::get) {
        // The chunks still in their slots; all but the last have been unpacked while it was on its way, if there was time.
        double rest = 0;
        if (count > 1 && count <= slots) rest = copy(shape.bytes - last);
        else if (count > slots) rest = copy(last) * static_cast<double>(slots - 1);
        const double hidden = std::min(rest * overlap, std::max(wire_free + latency - processor, 0.0));
        end += copy(last) + rest - hidden;
    }
    return end;
}

struct Candidate {
    Strategy strategy{};
    Chunks chunks = {};
    std::uint64_t slots = 1;
    double seconds = std::numeric_limits<double>::infinity();
};

using Sizes = boost::container::static_vector<std::uint64_t, model::TransferModel::most_pieces>;

/// The largest transfers before MPI goes another way: where it asks the receiver first, say, a power of two is often just too
/// long. Those that are powers of two are tried anyway.
Sizes ends_below_changes(const model::TransferModel& transfers) {
    Sizes ends;
    for (const model::TransferPiece& piece : transfers.pieces()) {
        if (piece.begin_bytes <= smallest_chunk) continue;
        const std::uint64_t end = (piece.begin_bytes - 1) / support::buffer_alignment * support::buffer_alignment;
        if (!std::has_single_bit(end)) ends.push_back(end);
    }
    return ends;
}

/// What is compared where the strategy is open. Several operations must be worth it, and the work of the owner: the model is not
/// exact, and tells no smaller gains from none.
double weighted(const Candidate& candidate) {
    switch (candidate.strategy) {
    case Strategy::per_block: return 1.15 * candidate.seconds; // it has the most
    case Strategy::fixed_pipeline:
    case Strategy::superpipeline: return 1.1 * candidate.seconds;
    case Strategy::served: return 1.05 * candidate.seconds;
    default: return candidate.seconds;
    }
}

} // namespace

model::BlockShape shape_of(const Layout& layout) {
    const BlockRun run = LayoutCursor{layout}.peek_run();
    return {.blocks = layout.block_count(),
            .bytes = layout.bytes(),
            .extent_bytes = layout.span(),
            .places = run.starts != nullptr ? model::Places::listed : run.offsets != nullptr ? model::Places::indexed : model::Places::regular,
            .pieces = run.offsets != nullptr && run.starts == nullptr ? layout.bytes() / run.block_bytes : 0};
}

double predict_packed(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots, const model::TransferModel& transfers,
                      const model::CopyModel& copies) {
    return simulate(shape, chunks, std::clamp<std::uint64_t>(slots, 1, most_slots), {shape, transfers}, copies);
}

double predict_served(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots, const model::TransferModel& messages,
                      const model::CopyModel& copies) {
    return simulate(shape, chunks, std::clamp<std::uint64_t>(slots, 1, most_slots), {shape, messages, &copies}, copies);
}

double table_share(const Layout& layout) {
    if (layout.block_count() <= 1) return 0;
    constexpr std::uint64_t looked_at = 4096;
    std::array<std::byte, looked_at> table;
    LayoutCursor cursor{layout};
    const datatype::RunTable runs = datatype::encode_runs(cursor, 4 * looked_at, table.data(), table.size());
    return static_cast<double>(runs.table_bytes) / static_cast<double>(runs.data_bytes);
}

double predict_per_block(const TransferShape& shape, const model::TransferModel& transfers) {
    const std::uint64_t pairs = std::max<std::uint64_t>(shape.pairs(), 1);
    return transfers.time(shape.bytes / pairs, pairs);
}

double predict_direct(const TransferShape& shape, const model::CopyModel& copies) {
    // Block by block on both sides: the finer one gives the blocks, both bring their lines.
    const bool local_finer = shape.local.blocks >= shape.remote.blocks;
    const model::BlockShape& finer = local_finer ? shape.local : shape.remote;
    const model::BlockShape& other = local_finer ? shape.remote : shape.local;
    const double lines = copies.time(other) - copies.call - static_cast<double>(other.blocks) *
                         copies.block_time(static_cast<double>(other.bytes) / static_cast<double>(std::max<std::uint64_t>(other.blocks, 1)));
    return copies.time(finer) + std::max(lines, 0.0);
}

Decision decide(const TransferShape& shape, const model::TransferModel& transfers, const model::TransferModel& messages,
                const model::CopyModel& copies, const PlanOptions& options) {
    Decision decision;
    const bool mapped = shape.path == Path::self || shape.path == Path::direct;
    // Slots begin aligned.
    const std::uint64_t memory =
        std::max<std::uint64_t>(shape.most_memory, smallest_chunk) / support::buffer_alignment * support::buffer_alignment;

    Candidate per_block{.strategy = Strategy::per_block, .slots = 2, .seconds = predict_per_block(shape, transfers)};
    const std::uint64_t pairs = std::max<std::uint64_t>(shape.pairs(), 1);
    const double block = static_cast<double>(shape.bytes) / static_cast<double>(pairs);
    per_block.chunks.first = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(block * (blocks_under_way / 2)));
    per_block.chunks.largest = per_block.chunks.first;

    // More than the buffers hold is packed in as few parts as they allow.
    Candidate full{.strategy = Strategy::full_pack};
    full.chunks = {.first = std::min(shape.bytes, memory), .growth = 1, .largest = std::min(shape.bytes, memory)};
    full.seconds = predict_packed(shape, full.chunks, 1, transfers, copies);

    Candidate fixed{.strategy = Strategy::fixed_pipeline};
    Candidate super{.strategy = Strategy::superpipeline};
    const bool shrinking = shape.direction == model::Direction::get;
    const auto consider = [&](Candidate& best, Chunks chunks) {
        chunks.shrinking = shrinking;
        chunks.largest = std::min(chunks.largest, memory);
        chunks.first = std::min(chunks.first, chunks.largest);
        // Unless it is all that the options and the memory leave.
        if (best.seconds < std::numeric_limits<double>::infinity() && options.first_chunk == 0 &&
            shape.bytes / chunks.largest > most_chunks)
            return;
        const std::uint64_t slots = std::min<std::uint64_t>(most_slots, memory / support::rounded_to_alignment(chunks.largest));
        const double seconds = predict_packed(shape, chunks, slots, transfers, copies);
        if (seconds < best.seconds) best = {best.strategy, chunks, slots, seconds};
    };
    const Sizes ends = shape.remote.blocks <= 1 ? ends_below_changes(transfers) : Sizes{};
    std::uint64_t most = std::max(std::min(shape.bytes, memory), smallest_chunk);
    if (options.largest_chunk != 0) most = std::min(most, options.largest_chunk);
    else if (shape.produced) most = std::min(most, shape.produced_chunk());
    if (options.first_chunk != 0) {
        consider(fixed, {.first = options.first_chunk, .growth = 1, .largest = options.first_chunk});
    } else {
        consider(fixed, {.first = most, .growth = 1, .largest = most}); // one at least that the memory allows
        for (std::uint64_t size = smallest_chunk; size < most; size *= 2)
            consider(fixed, {.first = size, .growth = 1, .largest = size});
        for (const std::uint64_t size : ends)
            if (size < most) consider(fixed, {.first = size, .growth = 1, .largest = size});
    }
    // The largest is tried as the others are: the paper takes the size from which on the copy is slower than the put, but
    // what follows from that depends on the layout and on how much really overlaps.
    const auto consider_growths = [&](std::uint64_t first, std::uint64_t largest) {
        if (options.growth > 0) return consider(super, {.first = first, .growth = options.growth, .largest = largest});
        for (const double growth : {1.3, 2.0, 4.0}) consider(super, {.first = first, .growth = growth, .largest = largest});
    };
    const auto consider_largest = [&](std::uint64_t first) {
        consider_growths(first, most);
        for (std::uint64_t largest = 2 * first; largest < most; largest *= 4) consider_growths(first, largest);
        for (const std::uint64_t largest : ends)
            if (first < largest && largest < most) consider_growths(first, largest);
    };
    if (options.first_chunk != 0) consider_largest(options.first_chunk);
    else
        for (std::uint64_t first = std::min(smallest_chunk, most); first <= most; first *= 2) consider_largest(first);

    // Chunks hide copies behind the wire, and make the wire itself no faster: where a model says so, its sizes were measured at
    // different times.
    if (shape.remote.blocks <= 1) {
        const double copying = shape.packs() ? copies.time(shape.local) : 0;
        const double least = transfers.time(shape.bytes) + (1 - transfers.overlap()) * copying;
        for (Candidate* const candidate : {&fixed, &super})
            if (candidate->chunks.first < shape.bytes) candidate->seconds = std::max(candidate->seconds, least);
    }

    // On the service path itself a contiguous target leaves the owner nothing to do that it does not do for every pipeline.
    const bool serve = shape.may_be_served && (shape.remote.blocks > 1 || shape.path != Path::service);
    Candidate served{.strategy = Strategy::served};
    if (serve || options.strategy == Strategy::served) {
        std::uint64_t cap = std::min(memory / 2, shape.remote.blocks > 1 ? largest_served_chunk : memory);
        if (options.largest_chunk != 0) cap = std::min(cap, options.largest_chunk);
        else if (shape.produced) cap = std::min(cap, shape.produced_chunk());
        // A get sends the whole description ahead, in a packet.
        if (shape.direction == model::Direction::get && shape.table_share > 0)
            cap = std::min(cap, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(shape.table_limit) / shape.table_share)));
        const auto consider_served = [&](std::uint64_t first, double growth, std::uint64_t largest) {
            Chunks chunks{.first = std::min(first, cap), .growth = growth, .largest = std::min(std::max(first, largest), cap)};
            chunks.shrinking = shrinking && growth > 1;
            const std::uint64_t table = shape.remote.blocks <= 1 ? 0
                                        : shrinking              ? shape.table_limit
                                                                 : chunk_table_room(chunks.largest);
            const std::uint64_t slot = support::rounded_to_alignment(chunks.largest) + support::rounded_to_alignment(table);
            const std::uint64_t slots = std::clamp<std::uint64_t>(memory / slot, 1, most_slots);
            const double seconds = predict_served(shape, chunks, slots, messages, copies);
            if (seconds < served.seconds) served = {served.strategy, chunks, slots, seconds};
        };
        const std::uint64_t end = std::max(std::min(shape.bytes, cap), smallest_chunk);
        if (options.first_chunk != 0) {
            consider_served(options.first_chunk, std::max(options.growth, 1.0), std::max(options.largest_chunk, options.first_chunk));
        } else {
            for (const std::uint64_t size : ends_below_changes(messages)) {
                const auto data = static_cast<std::uint64_t>(static_cast<double>(size) / (1 + shape.table_share));
                if (smallest_chunk < data && data < end && shape.bytes / data <= most_chunks) consider_served(data, 1, data);
            }
            for (std::uint64_t first = smallest_chunk; first < end; first *= 2) {
                if (shape.bytes / first <= most_chunks) consider_served(first, 1, first);
                for (std::uint64_t largest = 4 * first; largest < 4 * end; largest *= 4) consider_served(first, 2, std::min(largest, end));
            }
            consider_served(end, 1, end);
        }
    }

    Candidate direct{.strategy = Strategy::direct_copy};
    if (mapped) direct.seconds = predict_direct(shape, copies);

    boost::container::static_vector<Candidate, strategies> candidates;
    if (mapped) candidates.push_back(direct);
    // What leaves at the end leaves nothing to hide behind the computation.
    const bool whole = !shape.produced || options.strategy != Strategy::automatic || shape.bytes <= smallest_chunk;
    if (whole) candidates.push_back(per_block);
    if (whole) candidates.push_back(full);
    if (shape.bytes > smallest_chunk || options.strategy == Strategy::fixed_pipeline) candidates.push_back(fixed);
    if (shape.bytes > smallest_chunk || options.strategy == Strategy::superpipeline) candidates.push_back(super);
    if (serve || options.strategy == Strategy::served) candidates.push_back(served);
    // Nothing beats one pass over memory that is mapped here.
    Strategy wanted = options.strategy;
    if (wanted == Strategy::automatic && mapped) wanted = Strategy::direct_copy;
    // Nothing to copy, and one operation: it needs no buffer.
    if (wanted == Strategy::automatic && pairs == 1 && whole) wanted = Strategy::per_block;
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates) {
        if (wanted != Strategy::automatic && candidate.strategy != wanted) continue;
        if (best == nullptr || weighted(candidate) < weighted(*best)) best = &candidate;
    }
    if (best == nullptr) best = &candidates.front(); // forced to copy directly where nothing is mapped; the plan refuses it
    decision.strategy = best->strategy;
    decision.chunks = best->chunks;
    decision.slots = best->slots;
    decision.seconds = best->seconds;
    decision.wire_seconds = best->seconds;
    if (best->strategy != Strategy::per_block && best->strategy != Strategy::direct_copy) {
        const Wire wire{shape, best->strategy == Strategy::served ? messages : transfers};
        const std::uint64_t chunk = std::min(shape.bytes, best->chunks.largest);
        decision.wire_seconds = wire.gap(shape.bytes) + std::max(0.0, wire.transfers.latency(wire.block(chunk), 1));
    }
    for (const Candidate& candidate : candidates)
        if (std::isfinite(candidate.seconds))
            decision.alternatives[decision.alternative_count++] = {candidate.strategy, candidate.seconds};
    return decision;
}

} // namespace lapwing::pipeline
