#include "cache/window_backend.hpp"

#include "src/messages/put_runs.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>

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
