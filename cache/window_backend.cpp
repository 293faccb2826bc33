#include "cache/window_backend.hpp"

#include "datatype/run_table.hpp"
#include "src/messages/put_runs.hpp"
#include "src/support/first_problem.hpp"
#include "src/support/recycled.hpp"

#include <lapwing/layout.hpp>

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace lapwing::detail::cache {
namespace {

using transport::Access;
using transport::BegunAccess;
using transport::Place;

/// From so many small puts to one rank on, messages are cheaper than MPI's one-sided operations, although they need a
/// flush of their own.
constexpr std::size_t least_runs_by_messages = 16;

/// Runs with smaller gaps between them are one entry in the ledger, like the runs of a cached page: so later accesses
/// to the bytes in the gaps wait for the put, too.
constexpr std::uint64_t largest_gap_in_place = 1024;

/// The runs of one message, as places to the ledger.
using Places = boost::container::static_vector<Place, 256>;

/// Whether `place` takes a run in.
[[nodiscard]] bool join(Place& place, const DirtyRun& run) noexcept {
    const std::uint64_t begin = run.offset.bytes;
    const std::uint64_t end = place.offset.bytes + place.bytes;
    if (begin < end || begin - end > largest_gap_in_place) return false;
    place.bytes = begin + run.bytes - place.offset.bytes;
    return true;
}

/// A get of many runs: one transfer for each, or messages whose bytes go from a stage to their places when all are
/// here.
class RunsTransfer final : public transport::PendingTransfer, public support::Recycled<RunsTransfer> {
public:
    explicit RunsTransfer(WindowBackend::Stage* stage) noexcept : stage_{stage} {}
    RunsTransfer(const RunsTransfer&) = delete;
    RunsTransfer& operator=(const RunsTransfer&) = delete;
    ~RunsTransfer() override {
        parts_.clear(); // nothing arrives in the stage any more
        if (stage_ != nullptr) stage_->in_use = false;
    }

    void reserve(std::size_t parts) { parts_.reserve(parts); }
    void add(std::unique_ptr<transport::PendingTransfer> part) {
        if (part != nullptr) parts_.push_back(std::move(part));
    }
    bool test() override {
        for (; !parts_.empty(); parts_.pop_back())
            if (!parts_.back()->test()) return false;
        unpack();
        return true;
    }
    void wait() override {
        support::FirstProblem problem;
        for (const auto& part : parts_) problem.attempt([&] { part->wait(); });
        parts_.clear();
        problem.rethrow();
        unpack();
    }

private:
    void unpack() noexcept {
        if (stage_ == nullptr) return;
        const std::byte* from = stage_->memory.get();
        for (const WantedRun& run : stage_->runs) {
            std::memcpy(run.destination, from, run.bytes);
            from += run.bytes;
        }
    }

    WindowBackend::Stage* stage_;
    std::vector<std::unique_ptr<transport::PendingTransfer>> parts_;
};

/// Most of them are lines, of one size.
[[nodiscard]] Layout layout_of(std::span<const WantedRun> runs) {
    const auto offset_of = [](const WantedRun& run) { return static_cast<std::int64_t>(run.offset.bytes); };
    const std::uint64_t bytes = runs.front().bytes;
    if (std::ranges::all_of(runs, [bytes](const WantedRun& run) { return run.bytes == bytes; })) {
        Layout::Offsets offsets(runs.size());
        std::ranges::transform(runs, offsets.begin(), offset_of);
        return Layout::indexed(std::move(offsets), bytes);
    }
    std::vector<ByteBlock> blocks(runs.size());
    std::ranges::transform(runs, blocks.begin(),
                           [&](const WantedRun& run) { return ByteBlock{offset_of(run), run.bytes}; });
    return Layout::list(blocks);
}

} // namespace

void WindowBackend::get(Rank rank, Offset offset, std::span<std::byte> destination) {
    const BegunAccess access = begin({rank, offset, destination.size(), Access::Kind::read, "Window::get"});
    window_.transports().route(access).get(access, destination);
}

void WindowBackend::put(Rank rank, Offset offset, std::span<const std::byte> source) {
    const BegunAccess access = begin({rank, offset, source.size(), Access::Kind::write, "Window::put"});
    window_.transports().route(access).put(access, source);
}

Backend::Token WindowBackend::start_get(Rank rank, Offset offset, std::span<std::byte> destination) {
    const BegunAccess access = begin({rank, offset, destination.size(), Access::Kind::read, "Window::start_get"});
    return keep(window_.transports().route(access).start_get(access, destination));
}

WindowBackend::Stage* WindowBackend::free_stage() {
    // MPI's windows get each run without the owner's help.
    if (window_.facts().network == Path::rma) return nullptr;
    const auto found = std::ranges::find_if(stages_, [](const Stage& stage) { return !stage.in_use; });
    if (found == stages_.end()) return nullptr;
    if (found->memory == nullptr) found->memory = support::allocate_aligned(most_bytes_of_runs);
    return &*found;
}

Backend::Token WindowBackend::start_get_runs(Rank rank, std::span<const WantedRun> runs) {
    const auto begin_run = [&](const WantedRun& run) {
        return begin({rank, run.offset, run.bytes, Access::Kind::read, "Window::start_get"});
    };
    Stage* const stage = free_stage();
    auto transfer = std::make_unique<RunsTransfer>(stage);
    if (stage == nullptr) {
        transfer->reserve(runs.size());
        for (const WantedRun& run : runs) {
            const BegunAccess access = begin_run(run);
            transfer->add(window_.transports().route(access).start_get(access, {run.destination, run.bytes}));
        }
        return keep(std::move(transfer));
    }
    stage->in_use = true; // until the transfer ends
    stage->runs.assign(runs.begin(), runs.end());
    // What conflicts with any of them is complete before the first message.
    for (const WantedRun& run : runs.subspan(1)) (void)begin_run(run);
    const BegunAccess access = begin_run(runs.front());
    transport::MessageTransport& messages = window_.transports().messages;
    const Layout layout = layout_of(runs);
    LayoutCursor cursor{layout};
    std::array<std::byte, 4096> table;
    for (std::byte* at = stage->memory.get(); !cursor.done();) {
        const datatype::RunTable named = datatype::encode_runs(
            cursor, cursor.remaining(), table.data(), std::min<std::uint64_t>(table.size(), messages.inline_limit()));
        transfer->add(messages.start_gather(access, {table.data(), named.table_bytes}, {at, named.data_bytes}));
        at += named.data_bytes;
    }
    return keep(std::move(transfer));
}

Backend::Token WindowBackend::start_put(Rank rank, Offset offset, std::span<const std::byte> source) {
    const BegunAccess access = begin({rank, offset, source.size(), Access::Kind::write, "Window::start_put"});
    return keep(window_.transports().route(access).start_put(access, source));
}

BegunAccess WindowBackend::begin_place(Rank rank, const Place& place, bool continues) {
    return begin({rank, place.offset, place.bytes, Access::Kind::update, "Window::put", continues});
}

void WindowBackend::begin_places(Rank rank, std::span<const DirtyRun> runs) {
    Place place{runs[0].offset, runs[0].bytes};
    for (const DirtyRun& run : runs.subspan(1)) {
        if (join(place, run)) continue;
        (void)begin_place(rank, place, false);
        place = {run.offset, run.bytes};
    }
    (void)begin_place(rank, place, false);
}

void WindowBackend::put_runs(Rank rank, std::span<const DirtyRun> runs) {
    // MPI's puts of more than fits the stage are waited for one by one.
    const bool staged = window_.facts().network == Path::rma && std::ranges::all_of(runs, [](const DirtyRun& run) {
                            return run.bytes <= transport::RmaTransport::largest_staged_bytes;
                        });
    if (runs.size() == 1 || (staged && runs.size() < least_runs_by_messages)) {
        for (const DirtyRun& run : runs) put(rank, run.offset, {run.source, run.bytes});
        return;
    }
    // Many of them fit one message to the owner's progress thread, while MPI sends each put by itself: in MPICH over
    // TCP a put costs 5 us. Conflicts are looked for before the first of the runs is under way; the runs do not overlap
    // each other.
    begin_places(rank, runs);

    transport::MessageTransport& messages = window_.transports().messages;
    messages::RunsMessage message{messages.inline_limit()};
    Places places;
    const auto send = [&] {
        if (message.empty()) return;
        window_.order().make_room();
        messages.put_runs(begin_place(rank, places[0], true), {places.data(), places.size()}, message);
        message.clear();
        places.clear();
    };
    for (const DirtyRun& run : runs) {
        if (run.bytes > message.largest_run()) {
            put(rank, run.offset, {run.source, run.bytes});
            continue;
        }
        const bool new_place = places.empty() || !join(places.back(), run);
        if ((new_place && places.size() == places.capacity()) || !message.add(run.offset, run.source, run.bytes)) {
            send();
            (void)message.add(run.offset, run.source, run.bytes);
        }
        if (new_place || places.empty()) places.push_back({run.offset, run.bytes});
    }
    send();
}

} // namespace lapwing::detail::cache
