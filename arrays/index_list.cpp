#include <lapwing/detail/index_list.hpp>

#include "arrays/slices/pending_transfers.hpp"
#include "src/support/device_memory.hpp"
#include "window/recorded_calls.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/functions/batches.hpp>
#include <lapwing/detail/functions/element_functions.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/plan.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {
namespace {

/// An element that is reached by messages, and its place in the list.
struct Listed {
    ListedPlace place;
    std::size_t k = 0;
};

void copy_element(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (bytes == 8) std::memcpy(to, from, 8); // the most common size without a call
    else std::memcpy(to, from, bytes);
}

/// Calls `visit(owner, run)` for each run of elements of one owner.
template <class T, class Owner, class Visit>
void for_each_owner(std::span<T> elements, Owner owner, Visit visit) {
    for (auto begin = elements.begin(); begin != elements.end();) {
        const auto end =
            std::find_if(begin, elements.end(), [&](const T& element) { return owner(element) != owner(*begin); });
        visit(owner(*begin), std::span<T>{begin, end});
        begin = end;
    }
}

/// Of the elements of a list that are reached by load and store.
void notify_stores(Window& window, std::span<const ListedPlace> places, std::uint64_t element_bytes,
                   const std::byte* values) {
    window::CopyRegistry& copies = window.state().order().copies();
    for (std::size_t k = 0; k < places.size(); ++k)
        if (window.map().base(places[k].owner) != nullptr)
            copies.written(places[k].owner, places[k].offset, {values + k * element_bytes, element_bytes});
}

/// Records the list, where accesses are.
void note(const Window& window, Direction direction, std::span<const ListedPlace> places, std::uint64_t bytes) {
    if (!trace::on()) return;
    const trace::NotTimed own;
    const trace::Operation operation = direction == Direction::get ? trace::Operation::read : trace::Operation::write;
    for (const ListedPlace& place : places)
        window::note(window.state().facts(), operation, place.owner, place.offset, bytes);
}

/// In ascending order the description of elements is short, and the owner reads its memory forwards. Of those that are
/// written several times the last one stays.
void sort_by_place(std::vector<Listed>& elements, Direction direction) {
    const auto key = [](const Listed& element) {
        return std::tuple{element.place.owner, element.place.offset, element.k};
    };
    std::ranges::sort(elements, {}, key);
    if (direction != Direction::put) return;
    const auto same = [](const Listed& a, const Listed& b) {
        return a.place.owner == b.place.owner && a.place.offset == b.place.offset;
    };
    // Backwards, so that it is the last one of each that stays.
    elements.erase(elements.begin(), std::unique(elements.rbegin(), elements.rend(), same).base());
}

/// The places of a list by their owners, in the order of the list where they have the same.
std::vector<std::size_t> by_owner(std::span<const ListedPlace> places, int ranks) {
    std::vector<std::size_t> order(places.size());
    const auto count = static_cast<std::size_t>(ranks);
    if (count > 4 * places.size()) { // nothing of the size of the team for a few elements
        for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
        std::ranges::stable_sort(order, {}, [&](std::size_t k) { return places[k].owner; });
        return order;
    }
    std::vector<std::size_t> ends(count + 1);
    for (const ListedPlace& place : places) ++ends[static_cast<std::size_t>(place.owner) + 1];
    for (std::size_t rank = 0; rank < count; ++rank) ends[rank + 1] += ends[rank];
    for (std::size_t k = 0; k < places.size(); ++k) order[ends[static_cast<std::size_t>(places[k].owner)]++] = k;
    return order;
}

/// Whether others' elements are moved by their owners, whatever this rank does.
[[nodiscard]] bool owners_answer(Window& window) {
    const team::PathChoice& paths = window.state().team_state().paths();
    return paths.progress == ProgressMode::thread || paths.network == Path::service;
}

/// Runs at the owner: reads elements of any size, which is the argument.
void read_elements(functions::Invocation& call) {
    const bool common = call.form == functions::Form::common;
    std::uint64_t bytes = common ? call.arguments.read<std::uint32_t>() : 0;
    for (call.at = 0; call.at < call.count; ++call.at) {
        const std::uint64_t place = call.form == functions::Form::wide ? call.arguments.read<std::uint64_t>()
                                                                       : call.arguments.read<std::uint32_t>();
        if (!common) bytes = call.arguments.read<std::uint32_t>();
        if (place >= call.part.size() / bytes) call.throw_outside(place, bytes);
        copy_element(call.results->grow(bytes), call.part.data() + place * bytes, bytes);
    }
}
[[gnu::init_priority(support::before_programs)]] const functions::FunctionEntry of_any_size{
    "lapwing::read_elements", "reading a list", &read_elements};

/// The same of elements that have as many bytes as a number.
template <class Bits>
const functions::FunctionEntry& of_bits =
    functions::entry_of<functions::Signature<functions::ReadElement<Bits>, functions::ElementAt<Bits>>,
                        functions::ReadElement<Bits>>;

} // namespace

Completion start_list(Window& window, Direction direction, std::span<const ListedPlace> places,
                      std::uint64_t element_bytes, std::byte* values) {
    support::require_host_memory(
        values, [&] { return window.state().who(direction == Direction::get ? "gather" : "scatter"); });
    const trace::CallScope call{trace::Way::list};
    note(window, direction, places, element_bytes);
    const transport::MemoryMap& map = window.map();
    std::vector<Listed> far;
    for (std::size_t k = 0; k < places.size(); ++k) {
        const ListedPlace& place = places[k];
        std::byte* const segment = map.base(place.owner);
        if (segment == nullptr) far.push_back({place, k});
        else if (direction == Direction::get)
            copy_element(values + k * element_bytes, segment + place.offset, element_bytes);
        else copy_element(segment + place.offset, values + k * element_bytes, element_bytes);
    }
    if (direction == Direction::put && !window.state().order().copies().empty()) [[unlikely]]
        notify_stores(window, places, element_bytes, values);
    if (far.empty()) return {};
    sort_by_place(far, direction);
    // Where the owner's progress thread packs and unpacks, a message holds as many elements as fit; without one the
    // cost model chooses among what asks nothing of the owner.
    PlanOptions options;
    if (owners_answer(window)) options.strategy = Strategy::owner_packed;
    auto pending = std::make_unique<slices::PendingTransfers>();
    for_each_owner(
        std::span<Listed>{far}, [](const Listed& element) { return element.place.owner; },
        [&](int owner, std::span<Listed> run) {
            Layout::Offsets there;
            Layout::Offsets here;
            there.reserve(run.size());
            here.reserve(run.size());
            for (const Listed& element : run) {
                there.push_back(static_cast<std::int64_t>(element.place.offset));
                here.push_back(static_cast<std::int64_t>(element.k * element_bytes));
            }
            const Layout remote = Layout::indexed(std::move(there), element_bytes);
            const Layout local = Layout::indexed(std::move(here), element_bytes);
            pending->make_room();
            if (direction == Direction::get)
                pending->add(Plan::get(window, Rank{owner}, Offset{0}, remote, local, options).start(values));
            else
                pending->add(Plan::put(window, local, Rank{owner}, Offset{0}, remote, options)
                                 .start(static_cast<const void*>(values)));
        });
    return Completion{std::move(pending)};
}

void add_read(functions::Batches& batches, Window& window, const ListedPlace& place, std::uint32_t element_bytes,
              std::byte* value) {
    const auto add = [&](const functions::FunctionEntry& entry, std::uint32_t bytes, const auto&... argument) {
        batches.add(Rank{place.owner}, entry, window, place.offset / bytes, value, bytes, true, argument...);
    };
    if (element_bytes == sizeof(std::uint64_t)) add(of_bits<std::uint64_t>, sizeof(std::uint64_t));
    else if (element_bytes == sizeof(std::uint32_t)) add(of_bits<std::uint32_t>, sizeof(std::uint32_t));
    else add(of_any_size, element_bytes, element_bytes);
}

/// Of elements that are read by functions at their owners.
constexpr std::uint64_t most_bytes_of_element = 1024;

void gather_list(Window& window, std::span<const ListedPlace> places, std::uint64_t element_bytes, std::byte* values) {
    // What is under way, copies that others' writes do not reach, few elements among many ranks, and large ones are
    // start_list()'s.
    const window::AccessOrder& order = window.state().order();
    if (!owners_answer(window) || order.holds_back() || order.under_way() || order.has_copies() ||
        team::running_function.where == team::RunningFunction::Where::progress ||
        places.size() < static_cast<std::size_t>(window.map().ranks) || element_bytes > most_bytes_of_element)
        return start_list(window, Direction::get, places, element_bytes, values).wait();
    support::require_host_memory(values, [&] { return window.state().who("gather"); });
    const trace::CallScope call{trace::Way::list};
    note(window, Direction::get, places, element_bytes);
    functions::Batches batches{window.team(), "gather", functions::Batches::Results::read};
    for (const ListedPlace& place : places) {
        add_read(batches, window, place, static_cast<std::uint32_t>(element_bytes), values);
        values += element_bytes;
    }
    batches.finish();
}

Completion start_list_of_atomics(Window& window, Atomic operation, mpi::AtomicType type,
                                 std::span<const ListedPlace> places, std::span<mpi::ListedAtomic> list,
                                 const char* call) {
    const trace::CallScope scope{trace::Way::list};
    for (std::size_t k = 0; k < places.size(); ++k) list[k].offset = places[k].offset;
    std::vector<std::size_t> order = by_owner(places, window.map().ranks); // those on one element stay in their order
    auto pending = std::make_unique<slices::PendingTransfers>();
    std::vector<mpi::ListedAtomic> of_owner;
    for_each_owner(
        std::span<std::size_t>{order}, [&](std::size_t k) { return places[k].owner; },
        [&](int owner, std::span<std::size_t> run) {
            of_owner.clear();
            for (const std::size_t k : run) of_owner.push_back(list[k]);
            pending->make_room();
            pending->add(window.start_atomics(operation, type, Rank{owner}, of_owner, call));
        });
    return Completion{std::move(pending)};
}

} // namespace lapwing::detail::arrays
