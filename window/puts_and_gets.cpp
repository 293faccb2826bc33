#include "window/puts_and_gets.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>

namespace lapwing::detail::window {
namespace {

/// From so many small puts to one rank on, messages are cheaper than MPI's one-sided operations, although they need a
/// flush of their own.
constexpr std::size_t least_runs_by_messages = 16;

/// Runs with smaller gaps between them are one entry in the ledger, like the runs of a cached page: so later accesses
/// to the bytes in the gaps wait for the put, too.
constexpr std::uint64_t largest_gap_in_place = 1024;

/// The runs of one message, as places to the ledger.
using Places = boost::container::static_vector<transport::Touched, 256>;

/// Whether `place` takes a run in.
[[nodiscard]] bool join(transport::Touched& place, const DirtyRun& run) noexcept {
    const std::uint64_t end = place.offset + place.bytes;
    if (run.offset < end || run.offset - end > largest_gap_in_place) return false;
    place.bytes = run.offset + run.bytes - place.offset;
    return true;
}

} // namespace

void PutsAndGets::get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    if (destination.empty()) return;
    if (RemoteCache* const cache = order_.cache()) return cache->get(target, offset, destination);
    get_uncached(target, offset, destination);
}

void PutsAndGets::put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    if (source.empty()) return;
    if (RemoteCache* const cache = order_.cache()) cache->put(target, offset, source);
    else put_uncached(target, offset, source);
    order_.copies().written(target, offset, source);
}

void PutsAndGets::get_uncached(int target, std::uint64_t offset, std::span<std::byte> destination,
                               transport::Access::Starter starter) {
    const transport::BegunAccess access = order_.begin({.target = target,
                                                        .offset = offset,
                                                        .bytes = destination.size(),
                                                        .call = "Window::get",
                                                        .starter = starter,
                                                        .past_cache = true});
    if (rma_.carries(target, offset, destination.size())) [[likely]]
        rma_.get(access, destination);
    else messages_.get(access, destination);
}

void PutsAndGets::put_uncached(int target, std::uint64_t offset, std::span<const std::byte> source,
                               transport::Access::Starter starter) {
    const transport::BegunAccess access = order_.begin({.target = target,
                                                        .offset = offset,
                                                        .bytes = source.size(),
                                                        .kind = transport::Access::Kind::write,
                                                        .call = "Window::put",
                                                        .starter = starter,
                                                        .past_cache = true});
    if (rma_.carries(target, offset, source.size())) [[likely]]
        rma_.put(access, source);
    else messages_.put(access, source, 0);
}

void PutsAndGets::put_runs_uncached(int target, std::span<const DirtyRun> runs) {
    // MPI's puts of more than fits the stage are waited for one by one.
    const bool staged = facts_.network == Path::rma && std::ranges::all_of(runs, [](const DirtyRun& run) {
                            return run.bytes <= transport::RmaTransport::largest_staged_bytes;
                        });
    const auto put_alone = [&](const DirtyRun& run) {
        put_uncached(target, run.offset, {run.source, run.bytes}, transport::Access::Starter::cache);
    };
    if (runs.size() == 1 || (staged && runs.size() < least_runs_by_messages)) {
        std::ranges::for_each(runs, put_alone);
        return;
    }
    const auto begin = [&](const transport::Touched& place, bool continues) {
        return order_.begin({.target = target,
                             .offset = place.offset,
                             .bytes = place.bytes,
                             .kind = transport::Access::Kind::update,
                             .call = "Window::put",
                             .starter = transport::Access::Starter::cache,
                             .continues = continues});
    };
    // Many of them fit one message to the owner's progress thread, while MPI sends each put by itself: in MPICH over
    // TCP a put costs 5 us. Conflicts are looked for before the first of the runs is under way; the runs do not overlap
    // each other.
    transport::Touched place{runs[0].offset, runs[0].bytes};
    for (const DirtyRun& run : runs.subspan(1)) {
        if (join(place, run)) continue;
        (void)begin(place, false);
        place = {run.offset, run.bytes};
    }
    (void)begin(place, false);

    messages::RunsMessage message{messages_.inline_limit()};
    Places places;
    const auto send = [&] {
        if (message.empty()) return;
        order_.make_room();
        messages_.put_runs(begin(places[0], true), {places.data(), places.size()}, message);
        message.clear();
        places.clear();
    };
    for (const DirtyRun& run : runs) {
        if (run.bytes > message.largest_run()) {
            put_alone(run);
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

Completion PutsAndGets::start_get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    if (destination.empty()) return {};
    return Completion{begin_get(target, offset, destination, transport::Access::Starter::program)};
}

Completion PutsAndGets::start_put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    if (source.empty()) return {};
    Completion completion{begin_put(target, offset, source, transport::Access::Starter::program)};
    order_.copies().written(target, offset, source);
    return completion;
}

std::unique_ptr<transport::PendingTransfer> PutsAndGets::begin_get(int target, std::uint64_t offset,
                                                                   std::span<std::byte> destination,
                                                                   transport::Access::Starter starter) {
    const transport::BegunAccess access = order_.begin({.target = target,
                                                        .offset = offset,
                                                        .bytes = destination.size(),
                                                        .call = "Window::start_get",
                                                        .starter = starter});
    if (rma_.carries(target, offset, destination.size())) return rma_.start_get(access, destination);
    return messages_.start_get(access, offset, destination);
}

std::unique_ptr<transport::PendingTransfer> PutsAndGets::begin_put(int target, std::uint64_t offset,
                                                                   std::span<const std::byte> source,
                                                                   transport::Access::Starter starter) {
    const transport::BegunAccess access = order_.begin({.target = target,
                                                        .offset = offset,
                                                        .bytes = source.size(),
                                                        .kind = transport::Access::Kind::write,
                                                        .call = "Window::start_put",
                                                        .starter = starter});
    if (rma_.carries(target, offset, source.size())) {
        if (source.size() > transport::RmaTransport::largest_staged_bytes) return rma_.start_put(access, source);
        rma_.put(access, source); // copied: complete at once
        return {};
    }
    if (source.size() > messages_.inline_limit()) return messages_.start_put(access, offset, source);
    messages_.put(access, source, 0);
    return {};
}

transport::BegunAccess PutsAndGets::begin_part(int target, const transport::Touched& touched,
                                               transport::Access::Kind kind, const char* call) {
    return order_.begin({.target = target,
                         .offset = touched.offset,
                         .bytes = touched.bytes,
                         .kind = kind,
                         .call = call,
                         .continues = !touched.first});
}

Completion PutsAndGets::start_put_by_messages(int target, const transport::Touched& touched, std::uint64_t offset,
                                              std::span<const std::byte> source) {
    return Completion{messages_.start_put(begin_part(target, touched, transport::Access::Kind::update, "Window::put"),
                                          offset, source)};
}

Completion PutsAndGets::start_get_by_messages(int target, const transport::Touched& touched, std::uint64_t offset,
                                              std::span<std::byte> destination) {
    return Completion{messages_.start_get(begin_part(target, touched, transport::Access::Kind::read, "Window::get"),
                                          offset, destination)};
}

Completion PutsAndGets::start_scatter(int target, const transport::Touched& touched, std::span<const std::byte> message,
                                      std::uint64_t table_bytes) {
    return Completion{messages_.start_scatter(
        begin_part(target, touched, transport::Access::Kind::update, "Window::put"), message, table_bytes)};
}

Completion PutsAndGets::start_gather(int target, const transport::Touched& touched, std::span<const std::byte> table,
                                     std::span<std::byte> destination) {
    return Completion{messages_.start_gather(begin_part(target, touched, transport::Access::Kind::read, "Window::get"),
                                             table, destination)};
}

} // namespace lapwing::detail::window
