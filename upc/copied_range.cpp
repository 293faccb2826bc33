#include "upc/copied_range.hpp"

#include "prefetch/entry_buffer.hpp"
#include "upc/program.hpp"

#include <lapwing/layout.hpp>
#include <lapwing/upc/program.hpp>

#include <algorithm>
#include <utility>

namespace lapwing::upc {
namespace {

using lapwing::detail::prefetching::EntryBuffer;
using lapwing::detail::prefetching::Slice;

struct Bytes {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

[[nodiscard]] std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return (a >= 0 ? a : a - b + 1) / b; }

/// What a thread has of the range, in whole blocks: addresses in its part.
[[nodiscard]] Bytes part_of(const ProgramState& program, const ElementList& object, std::ptrdiff_t begin,
                            std::ptrdiff_t end, int thread) {
    const auto bytes = static_cast<std::int64_t>(object.element_bytes);
    const auto first_thread = static_cast<std::int64_t>(object.base.thread);
    const auto address = static_cast<std::int64_t>(object.base.address);
    Bytes part;
    if (object.block_size == 0) {
        if (thread != first_thread) return {};
        part = {static_cast<std::uint64_t>(address + begin * bytes), static_cast<std::uint64_t>(address + end * bytes)};
    } else {
        const auto block = static_cast<std::int64_t>(object.block_size);
        const std::int64_t threads = program.threads().threads();
        const std::int64_t phase = object.phase();
        // Blocks are counted from that of the base; this thread's are those whose number leaves `own`.
        const std::int64_t own = (thread - first_thread + threads) % threads;
        std::int64_t first = floor_quotient(phase + begin, block), last = floor_quotient(phase + end - 1, block);
        first += (own - first % threads + 2 * threads) % threads;
        last -= (last % threads - own + 2 * threads) % threads;
        if (first > last) return {};
        const auto address_of = [&](std::int64_t number) {
            const std::int64_t round = floor_quotient(first_thread + number, threads);
            return static_cast<std::uint64_t>(address + (round * block - phase) * bytes);
        };
        part = {address_of(first), address_of(last) + static_cast<std::uint64_t>(block * bytes)};
    }
    const auto& heap = program.regions();
    part.begin = std::max(part.begin, heap.blocks.begin);
    part.end = std::min(part.end, heap.local.end);
    return part.begin < part.end ? part : Bytes{};
}

} // namespace

CopiedRange::CopiedRange(ProgramState& program, std::ptrdiff_t begin, std::ptrdiff_t end)
    : begin_{begin},
      size_{static_cast<std::uint64_t>(end - begin)},
      places_(static_cast<std::size_t>(program.threads().threads())),
      copies_{std::make_shared<EntryBuffer>(program.heap(), PrefetchOptions{}, EntryBuffer::Eviction::any_time)} {}

CopiedRange::~CopiedRange() { copies_->detach(); }

std::unique_ptr<CopiedRange> CopiedRange::make(ProgramState& program, const ElementList& object, std::ptrdiff_t begin,
                                               std::ptrdiff_t end) {
    const int threads = program.threads().threads();
    if (threads > most_threads || static_cast<std::uint64_t>(end - begin) > most_bytes / object.element_bytes)
        return nullptr;
    auto range = std::make_unique<CopiedRange>(program, begin, end);
    const lapwing::detail::transport::MemoryMap& map = program.heap().map();
    std::uint64_t all = 0;
    for (int t = 0; t < threads; ++t) {
        const std::byte*& place = range->places_[static_cast<std::size_t>(t)];
        if (const std::byte* const near = map.base(Rank{t})) {
            place = near;
            continue;
        }
        const Bytes part = part_of(program, object, begin, end, t);
        const std::uint64_t bytes = part.end - part.begin;
        if (bytes == 0) continue;
        all += bytes;
        if (all > most_bytes) return nullptr;
        std::vector<Slice> slices;
        slices.push_back(
            {Rank{t}, Layout::contiguous(bytes, static_cast<std::int64_t>(part.begin)), Layout::contiguous(bytes)});
        place = range->copies_->add(bytes, std::move(slices), 0) - part.begin;
    }
    return all == 0 ? nullptr : std::move(range);
}

bool CopiedRange::is_fresh() const noexcept { return copies_->state().is_fresh(); }

void CopiedRange::expire() noexcept { copies_->state().expire(); }

void CopiedRange::fill() {
    while (!copies_->state().is_fresh()) copies_->refresh();
}

} // namespace lapwing::upc
