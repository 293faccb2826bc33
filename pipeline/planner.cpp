#include "pipeline/planner.hpp"

#include "datatype/run_table.hpp"
#include "src/support/aligned_memory.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace lapwing::detail::pipeline {
namespace {

constexpr std::uint64_t most_slots = 4;
constexpr std::uint64_t smallest_chunk = 4096;
/// The most chunks of a candidate: to consider more would cost more than they can gain.
constexpr std::uint64_t most_chunks = 512;

/// Wire time of a part of a transfer that is sent as one operation for each block of the remote side.
struct Wire {
    const TransferShape& shape;
    const model::TransferModel& transfers;
    const model::CopyModel* owner =
        nullptr; ///< the owner's copies, where it packs or unpacks: one message for each part
    bool sieved = false;

    [[nodiscard]] double operations(std::uint64_t part) const {
        if (shape.remote.blocks <= 1 || owner != nullptr) return 1;
        const double share = static_cast<double>(part) / static_cast<double>(shape.bytes);
        return std::max(1.0, share * (sieved ? shape.sieve.operations : static_cast<double>(shape.remote.blocks)));
    }
    /// Bytes on the wire, a byte of data.
    [[nodiscard]] double expansion() const {
        if (sieved) return shape.sieve.bytes / static_cast<double>(shape.bytes);
        return owner != nullptr ? 1 + shape.table_share : 1;
    }
    [[nodiscard]] std::uint64_t block(std::uint64_t part) const {
        return static_cast<std::uint64_t>(static_cast<double>(part) * expansion() / operations(part));
    }
    [[nodiscard]] double gap(std::uint64_t part) const {
        // The thread that receives at the owner is the one that copies there.
        const double copying = owner != nullptr && shape.remote.blocks > 1 ? owner->time(shape.remote, part) : 0;
        return operations(part) * transfers.gap(block(part)) + copying;
    }
    [[nodiscard]] double issue(std::uint64_t part) const { return operations(part) * transfers.issue(block(part)); }
};

/// How much later a wire with `remaining` seconds of work finishes because the processor copies for `copying` seconds,
/// during which the wire advances only at the rate `overlap`.
double stall(double remaining, double copying, double overlap) {
    if (remaining <= 0) return 0;
    if (remaining > overlap * copying) return copying * (1 - overlap);
    return remaining / overlap - remaining;
}

/// Passes every chunk of a packed transfer through a small simulation of one processor and one wire.
double simulate(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots, const Wire& wire,
                const model::CopyModel& copies) {
    // Bytes that the owner unpacks follow their table, even from memory that is one block.
    const bool copied =
        shape.packs() || (wire.owner != nullptr && shape.remote.blocks > 1 && shape.direction == Direction::put);
    const auto copy = [&](std::uint64_t part) {
        return (copied ? copies.time(shape.local, part) : 0.0) + (wire.sieved ? copies.time(shape.remote, part) : 0.0);
    };
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
        if (shape.direction == Direction::put) {
            processor = std::max(processor, slot);
            const double copying = copy(last);
            wire_free += stall(wire_free - processor, copying, overlap);
            processor += copying;
            const double begin = std::max(wire_free, processor);
            processor += issue;
            wire_free = begin + gap;
        } else {
            // A slot becomes free when its chunk has arrived and is unpacked.
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
    const double latency =
        wire.transfers.latency(wire.block(last), static_cast<std::uint64_t>(std::llround(operations)));
    double end = std::max(wire_free + latency, processor);
    if (shape.direction == Direction::get) {
        // The chunks still in their slots; all but the last have been unpacked while it was on its way, if there was
        // time.
        double rest = 0;
        if (count > 1 && count <= slots) rest = copy(shape.bytes - last);
        else if (count > slots) rest = copy(last) * static_cast<double>(slots - 1);
        const double hidden = std::min(rest * overlap, std::max(wire_free + latency - processor, 0.0));
        end += copy(last) + rest - hidden;
    }
    return end;
}

using Sizes = boost::container::static_vector<std::uint64_t, model::TransferModel::most_lines>;

/// The largest transfers before MPI switches protocols: at a rendezvous threshold, for example, a power of two is often
/// just too long. Powers of two are tried anyway.
Sizes ends_below_changes(const model::TransferModel& transfers) {
    Sizes ends;
    for (const model::TransferLine& line : transfers.lines()) {
        if (line.begin_bytes <= smallest_chunk) continue;
        const std::uint64_t end = (line.begin_bytes - 1) / support::buffer_alignment * support::buffer_alignment;
        if (!std::has_single_bit(end)) ends.push_back(end);
    }
    return ends;
}

} // namespace

model::BlockShape shape_of(const Layout& layout) {
    const BlockRun run = LayoutCursor{layout}.peek_run();
    return {.blocks = layout.block_count(),
            .bytes = layout.bytes(),
            .extent_bytes = layout.span(),
            .places = run.starts != nullptr    ? model::Places::listed
                      : run.offsets != nullptr ? model::Places::indexed
                                               : model::Places::regular,
            .units = run.offsets != nullptr && run.starts == nullptr ? layout.bytes() / run.block_bytes : 0};
}

double predict_packed(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots,
                      const model::TransferModel& transfers, const model::CopyModel& copies) {
    return simulate(shape, chunks, std::clamp<std::uint64_t>(slots, 1, most_slots), {shape, transfers}, copies);
}

double predict_owner_packed(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots,
                            const model::TransferModel& messages, const model::CopyModel& copies) {
    return simulate(shape, chunks, std::clamp<std::uint64_t>(slots, 1, most_slots), {shape, messages, &copies}, copies);
}

double predict_sieved(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots,
                      const model::TransferModel& transfers, const model::CopyModel& copies) {
    constexpr double a_block = 5e-9; // to find out which range it is in
    return static_cast<double>(shape.remote.blocks) * a_block +
           simulate(shape, chunks, std::clamp<std::uint64_t>(slots, 1, most_slots), {shape, transfers, nullptr, true},
                    copies);
}

Sieve sieve_for(const Layout& layout, const model::TransferModel& transfers) {
    constexpr std::uint64_t many = 65536;
    constexpr std::uint64_t looked_at = 512;
    constexpr double largest_gap = 16384;
    if (layout.empty()) return {};
    const double byte = transfers.gap(many) / static_cast<double>(many);
    Sieve sieve;
    sieve.gap = static_cast<std::uint64_t>(std::clamp(byte > 0 ? transfers.gap(8) / byte / 2 : 0.0, 0.0, largest_gap));
    LayoutCursor cursor{layout};
    const BlockRun run = cursor.peek_run();
    if (run.offsets == nullptr && run.starts == nullptr && run.bytes() == layout.bytes()) {
        const std::int64_t between = run.stride - static_cast<std::int64_t>(run.block_bytes);
        const bool one = run.count <= 1 || (between >= 0 && between <= static_cast<std::int64_t>(sieve.gap));
        sieve.operations = one ? 1 : static_cast<double>(run.count);
        sieve.bytes = static_cast<double>(one ? layout.span() : layout.bytes());
        sieve.exact = true;
        return sieve;
    }
    const auto add = [&sieve](const SievedRange& range) {
        sieve.operations += 1;
        sieve.bytes += static_cast<double>(range.bytes());
    };
    SievedRange range{cursor.next()};
    for (std::uint64_t blocks = 1; blocks < looked_at && !cursor.done(); ++blocks) {
        const ByteBlock block = cursor.next();
        if (range.extend(block, sieve.gap)) continue;
        add(range);
        range = SievedRange{block};
    }
    add(range);
    sieve.exact = cursor.done();
    const double share = static_cast<double>(layout.bytes()) / static_cast<double>(cursor.position());
    sieve.operations *= share;
    sieve.bytes *= share;
    return sieve;
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
    // Block by block on both sides: the finer side gives the blocks, and both add their cache lines.
    const bool local_finer = shape.local.blocks >= shape.remote.blocks;
    const model::BlockShape& finer = local_finer ? shape.local : shape.remote;
    const model::BlockShape& other = local_finer ? shape.remote : shape.local;
    const double lines = copies.time(other) - copies.call -
                         static_cast<double>(other.blocks) *
                             copies.block_time(static_cast<double>(other.bytes) /
                                               static_cast<double>(std::max<std::uint64_t>(other.blocks, 1)));
    return copies.time(finer) + std::max(lines, 0.0);
}

namespace {

/// What a decision depends on.
struct Inputs {
    const TransferShape& shape;
    const model::TransferModel& transfers;
    const model::TransferModel& messages; ///< of the service path
    const model::CopyModel& copies;
    const PlanOptions& options;

    [[nodiscard]] bool forces(Strategy strategy) const noexcept { return options.strategy == strategy; }
    /// Bytes of the chunk buffers. Slots begin aligned.
    [[nodiscard]] std::uint64_t memory() const noexcept {
        return std::max<std::uint64_t>(shape.most_memory, smallest_chunk) / support::buffer_alignment *
               support::buffer_alignment;
    }
    /// Bytes of the largest chunk that may be tried, of at most `most`.
    [[nodiscard]] std::uint64_t largest_chunk(std::uint64_t most) const noexcept {
        if (options.largest_chunk != 0) return std::min(most, options.largest_chunk);
        return shape.produced ? std::min(most, shape.produced_chunk()) : most;
    }
    [[nodiscard]] bool is_get() const noexcept { return shape.direction == Direction::get; }
    /// Whether all may be sent at once: at the end of a computation nothing is left to overlap with.
    [[nodiscard]] bool may_leave_whole() const noexcept {
        return !shape.produced || options.strategy != Strategy::automatic || shape.bytes <= smallest_chunk;
    }
};

/// A strategy with the parameters that were found best for it, and its predicted time.
struct Candidate {
    Strategy strategy{};
    Chunks chunks = {};
    std::uint64_t slots = 1;
    double seconds = std::numeric_limits<double>::infinity();
    std::uint64_t room = 0; ///< see Decision

    /// Takes these parameters if they are faster.
    void improve(const Chunks& other_chunks, std::uint64_t other_slots, double other_seconds,
                 std::uint64_t other_room = 0) noexcept {
        if (other_seconds < seconds) *this = {strategy, other_chunks, other_slots, other_seconds, other_room};
    }
};

// A function for each strategy: its candidate, or nothing if it does not apply.

std::optional<Candidate> direct_copy(const Inputs& in) {
    if (!is_mapped(in.shape.path)) return {};
    return Candidate{.strategy = Strategy::direct_copy, .seconds = predict_direct(in.shape, in.copies)};
}

std::optional<Candidate> per_block(const Inputs& in) {
    if (!in.may_leave_whole()) return {};
    const double block =
        static_cast<double>(in.shape.bytes) / static_cast<double>(std::max<std::uint64_t>(in.shape.pairs(), 1));
    constexpr double of_chunk = static_cast<double>(blocks_under_way) / 2;
    const std::uint64_t chunk = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(block * of_chunk));
    return Candidate{.strategy = Strategy::per_block,
                     .chunks = {.first = chunk, .growth = 1, .largest = chunk},
                     .slots = 2,
                     .seconds = predict_per_block(in.shape, in.transfers)};
}

/// A transfer larger than the buffers is packed in as few parts as they allow.
std::optional<Candidate> full_pack(const Inputs& in) {
    if (!in.may_leave_whole()) return {};
    const std::uint64_t chunk = std::min(in.shape.bytes, in.memory());
    const Chunks chunks{.first = chunk, .growth = 1, .largest = chunk};
    return Candidate{.strategy = Strategy::full_pack,
                     .chunks = chunks,
                     .seconds = predict_packed(in.shape, chunks, 1, in.transfers, in.copies)};
}

/// What both pipelines search for: the sizes of chunks with which one finishes first.
class PipelineSearch {
public:
    PipelineSearch(const Inputs& in, Strategy strategy) : in_{in}, best_{.strategy = strategy} {
        if (in.shape.remote.blocks <= 1) ends_ = ends_below_changes(in.transfers);
    }

    [[nodiscard]] bool applies() const noexcept {
        return in_.shape.bytes > smallest_chunk || in_.forces(best_.strategy);
    }
    /// Bytes of the largest chunk.
    [[nodiscard]] std::uint64_t most() const noexcept { return most_; }
    [[nodiscard]] const Sizes& ends() const noexcept { return ends_; }

    void consider(std::uint64_t first, double growth, std::uint64_t largest) {
        const std::uint64_t memory = in_.memory();
        Chunks chunks{
            .first = first, .growth = growth, .largest = std::min(largest, memory), .shrinking = in_.is_get()};
        chunks.first = std::min(chunks.first, chunks.largest);
        // Unless it is all that the options and the memory leave.
        if (best_.seconds < std::numeric_limits<double>::infinity() && in_.options.first_chunk == 0 &&
            in_.shape.bytes / chunks.largest > most_chunks)
            return;
        const std::uint64_t slots =
            std::min<std::uint64_t>(most_slots, memory / support::rounded_to_alignment(chunks.largest));
        best_.improve(chunks, slots, predict_packed(in_.shape, chunks, slots, in_.transfers, in_.copies));
    }

    /// Chunks overlap copies with the wire, and do not make the wire itself faster: where a model says that they do,
    /// its sizes were measured at different times.
    [[nodiscard]] Candidate best() const {
        Candidate best = best_;
        if (in_.shape.remote.blocks <= 1 && best.chunks.first < in_.shape.bytes) {
            const double copying = in_.shape.packs() ? in_.copies.time(in_.shape.local) : 0;
            best.seconds =
                std::max(best.seconds, in_.transfers.time(in_.shape.bytes) + (1 - in_.transfers.overlap()) * copying);
        }
        return best;
    }

private:
    const Inputs& in_;
    Candidate best_;
    Sizes ends_;
    std::uint64_t most_ = in_.largest_chunk(std::max(std::min(in_.shape.bytes, in_.memory()), smallest_chunk));
};

std::optional<Candidate> fixed_pipeline(const Inputs& in) {
    PipelineSearch search{in, Strategy::fixed_pipeline};
    if (!search.applies()) return {};
    const auto consider = [&](std::uint64_t size) { search.consider(size, 1, size); };
    if (in.options.first_chunk != 0) {
        consider(in.options.first_chunk);
        return search.best();
    }
    consider(search.most()); // one at least that the memory allows
    for (std::uint64_t size = smallest_chunk; size < search.most(); size *= 2) consider(size);
    for (const std::uint64_t size : search.ends())
        if (size < search.most()) consider(size);
    return search.best();
}

/// The largest chunk is searched like the others. The paper takes the size from which on the copy is slower than the
/// put, but what follows from that depends on the layout and on the real overlap.
std::optional<Candidate> superpipeline(const Inputs& in) {
    PipelineSearch search{in, Strategy::superpipeline};
    if (!search.applies()) return {};
    const std::uint64_t most = search.most();
    const auto consider_growths = [&](std::uint64_t first, std::uint64_t largest) {
        if (in.options.growth > 0) return search.consider(first, in.options.growth, largest);
        for (const double growth : {1.3, 2.0, 4.0}) search.consider(first, growth, largest);
    };
    const auto consider_largest = [&](std::uint64_t first) {
        consider_growths(first, most);
        for (std::uint64_t largest = 2 * first; largest < most; largest *= 4) consider_growths(first, largest);
        for (const std::uint64_t largest : search.ends())
            if (first < largest && largest < most) consider_growths(first, largest);
    };
    if (in.options.first_chunk != 0) consider_largest(in.options.first_chunk);
    else
        for (std::uint64_t first = std::min(smallest_chunk, most); first <= most; first *= 2) consider_largest(first);
    return search.best();
}

/// Bytes of the largest chunk that the owner may pack or unpack.
std::uint64_t most_owner_packed(const Inputs& in) {
    const TransferShape& shape = in.shape;
    const std::uint64_t most =
        in.largest_chunk(std::min(in.memory() / 2, shape.remote.blocks > 1 ? largest_owner_packed_chunk : in.memory()));
    if (!in.is_get() || !(shape.table_share > 0)) return most;
    // A get sends the whole description ahead, in a packet.
    const double described = static_cast<double>(shape.table_limit) / shape.table_share;
    return std::min(most, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(described)));
}

/// Chunks of at most `most` bytes that the owner packs or unpacks, each with room for its table.
void consider_owner_packed(const Inputs& in, Candidate& best, std::uint64_t most, std::uint64_t first, double growth,
                           std::uint64_t largest) {
    const Chunks chunks{.first = std::min(first, most),
                        .growth = growth,
                        .largest = std::min(std::max(first, largest), most),
                        .shrinking = in.is_get() && growth > 1};
    const std::uint64_t table = in.shape.remote.blocks <= 1 ? 0
                                : in.is_get()               ? in.shape.table_limit
                                                            : chunk_table_room(chunks.largest);
    const std::uint64_t slot = support::rounded_to_alignment(chunks.largest) + support::rounded_to_alignment(table);
    const std::uint64_t slots = std::clamp<std::uint64_t>(in.memory() / slot, 1, most_slots);
    best.improve(chunks, slots, predict_owner_packed(in.shape, chunks, slots, in.messages, in.copies));
}

std::optional<Candidate> owner_packed(const Inputs& in) {
    const TransferShape& shape = in.shape;
    // On the service path itself a contiguous target gives the owner no work that it does not do for every pipeline.
    const bool worth_it = shape.may_be_owner_packed && (shape.remote.blocks > 1 || shape.path != Path::service);
    if (!worth_it && !in.forces(Strategy::owner_packed)) return {};
    Candidate best{.strategy = Strategy::owner_packed};
    const std::uint64_t most = most_owner_packed(in);
    const auto consider = [&](std::uint64_t first, double growth, std::uint64_t largest) {
        consider_owner_packed(in, best, most, first, growth, largest);
    };
    if (in.options.first_chunk != 0) {
        consider(in.options.first_chunk, std::max(in.options.growth, 1.0),
                 std::max(in.options.largest_chunk, in.options.first_chunk));
        return best;
    }
    const std::uint64_t end = std::max(std::min(shape.bytes, most), smallest_chunk);
    for (const std::uint64_t size : ends_below_changes(in.messages)) {
        const auto data = static_cast<std::uint64_t>(static_cast<double>(size) / (1 + shape.table_share));
        if (smallest_chunk < data && data < end && shape.bytes / data <= most_chunks) consider(data, 1, data);
    }
    for (std::uint64_t first = smallest_chunk; first < end; first *= 2) {
        if (shape.bytes / first <= most_chunks) consider(first, 1, first);
        for (std::uint64_t largest = 4 * first; largest < 4 * end; largest *= 4)
            consider(first, 2, std::min(largest, end));
    }
    consider(end, 1, end);
    return best;
}

std::optional<Candidate> sieved(const Inputs& in) {
    const TransferShape& shape = in.shape;
    if (!(shape.sieve.operations > 0)) return {};
    Candidate best{.strategy = Strategy::sieved};
    const double expansion = std::max(1.0, shape.sieve.bytes / static_cast<double>(shape.bytes));
    const std::uint64_t memory = in.memory();
    // Ranges of a chunk begin aligned, and not all of it is as dense as what was looked at.
    const auto consider = [&](std::uint64_t data) {
        const double ranges = shape.sieve.operations * static_cast<double>(data) / static_cast<double>(shape.bytes) + 1;
        const double bytes =
            1.25 * static_cast<double>(data) * expansion + static_cast<double>(FetchedRange::alignment) * ranges;
        const std::uint64_t room = std::min(memory, support::rounded_to_alignment(static_cast<std::uint64_t>(bytes)));
        const Chunks chunks{.first = data, .growth = 1, .largest = data};
        const std::uint64_t slots = std::clamp<std::uint64_t>(memory / room, 1, most_slots);
        best.improve(chunks, slots, predict_sieved(shape, chunks, slots, in.transfers, in.copies), room);
    };
    const auto most_data = static_cast<std::uint64_t>(static_cast<double>(memory) / expansion);
    const std::uint64_t most = std::min(shape.bytes, in.largest_chunk(std::max<std::uint64_t>(1, most_data)));
    consider(in.options.first_chunk != 0 ? std::min(in.options.first_chunk, most) : most);
    if (in.options.first_chunk != 0) return best;
    for (std::uint64_t size = smallest_chunk; size < most; size *= 2)
        if (shape.bytes / size <= most_chunks) consider(size);
    return best;
}

using Candidates = boost::container::static_vector<Candidate, strategies>;

/// All strategies that apply: at least one.
Candidates candidates_of(const Inputs& in) {
    Candidates candidates;
    for (const auto candidate_of :
         {direct_copy, per_block, full_pack, fixed_pipeline, superpipeline, owner_packed, sieved})
        if (const std::optional<Candidate> candidate = candidate_of(in)) candidates.push_back(*candidate);
    return candidates;
}

/// The strategy that the program forces, or that needs no comparison.
Strategy wanted(const Inputs& in) {
    if (!in.forces(Strategy::automatic)) return in.options.strategy;
    // Nothing beats one pass over memory that is mapped here.
    if (is_mapped(in.shape.path)) return Strategy::direct_copy;
    // Nothing to copy, and one operation: it needs no buffer.
    return in.shape.pairs() <= 1 && in.may_leave_whole() ? Strategy::per_block : Strategy::automatic;
}

/// What is compared if the strategy is open. Several operations, and work of the owner, must pay: the model is not
/// exact, and cannot tell small gains from none.
double weighted(const Inputs& in, const Candidate& candidate) {
    // So much more than the data that it would be in the way of others.
    constexpr double bulky = 8;
    switch (candidate.strategy) {
    case Strategy::per_block: return 1.15 * candidate.seconds; // it has the most
    case Strategy::fixed_pipeline:
    case Strategy::superpipeline: return 1.1 * candidate.seconds;
    case Strategy::owner_packed: return 1.05 * candidate.seconds;
    case Strategy::sieved:
        return (in.shape.sieve.bytes > bulky * static_cast<double>(in.shape.bytes) ? 2 : 1.05) * candidate.seconds;
    default: return candidate.seconds;
    }
}

const Candidate& cheapest(const Inputs& in, const Candidates& candidates, Strategy wanted) {
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates) {
        if (wanted != Strategy::automatic && candidate.strategy != wanted) continue;
        if (best == nullptr || weighted(in, candidate) < weighted(in, *best)) best = &candidate;
    }
    // Not there: what the plan refuses, a direct copy where nothing is mapped; or a sieve of nothing.
    return best != nullptr ? *best : candidates.front();
}

/// Seconds that a candidate would take if nothing had to be copied.
double wire_seconds(const Inputs& in, const Candidate& candidate) {
    if (candidate.strategy == Strategy::per_block || candidate.strategy == Strategy::direct_copy)
        return candidate.seconds;
    const Wire wire{in.shape, candidate.strategy == Strategy::owner_packed ? in.messages : in.transfers, nullptr,
                    candidate.strategy == Strategy::sieved};
    const std::uint64_t chunk = std::min(in.shape.bytes, candidate.chunks.largest);
    return wire.gap(in.shape.bytes) + std::max(0.0, wire.transfers.latency(wire.block(chunk), 1));
}

} // namespace

Decision decide(const TransferShape& shape, const model::TransferModel& transfers, const model::TransferModel& messages,
                const model::CopyModel& copies, const PlanOptions& options) {
    const Inputs in{shape, transfers, messages, copies, options};
    const Candidates candidates = candidates_of(in);
    const Candidate& best = cheapest(in, candidates, wanted(in));
    Decision decision{.strategy = best.strategy,
                      .chunks = best.chunks,
                      .slots = best.slots,
                      .room = best.room,
                      .seconds = best.seconds,
                      .wire_seconds = wire_seconds(in, best)};
    for (const Candidate& candidate : candidates)
        if (std::isfinite(candidate.seconds))
            decision.alternatives[decision.alternative_count++] = {candidate.strategy, candidate.seconds};
    return decision;
}

} // namespace lapwing::detail::pipeline
