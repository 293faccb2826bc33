#include <lapwing/array_base.hpp>

#include "arrays/pending_transfers.hpp"
#include "arrays/slices/exchange.hpp"
#include "src/mpi/agreement.hpp"
#include "src/support/hash.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_state.hpp"
#include "window/window_state.hpp"

#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {

namespace {

/// Small, so that segments follow each other without a gap: see NodeElements.
constexpr unsigned least_alignment = 8;

/// `number`: of the window, 0 before there is one.
std::string array_text(std::string_view name, std::uint64_t number = 0) {
    if (!name.empty()) return fmt::format("GlobalArray(\"{}\")", name);
    return number == 0 ? "GlobalArray" : fmt::format("GlobalArray(#{})", number);
}

std::string text(std::span<const std::int64_t> index) { return datatype::index_text(index.data(), index.size()); }

std::string text(std::span<const Range> domain) { return datatype::domain_text(domain.data(), domain.size()); }

/// Bytes of a rank's segment.
std::uint64_t segment_bytes(const Team& team, std::string_view name, std::uint64_t capacity,
                            std::uint64_t element_bytes) {
    std::uint64_t bytes = 0;
    // Pointers, and MPI's displacements, are signed.
    if (__builtin_mul_overflow(capacity, element_bytes, &bytes) || bytes > (std::uint64_t{1} << 62))
        throw RangeError{
            fmt::format("{}: {} elements of {} bytes for the largest part are above 2^62 bytes; use more ranks "
                        "or smaller extents",
                        constructor_text(team, name), capacity, element_bytes)};
    return (bytes + 3) / 4 * 4; // atomics on elements of 1 and 2 bytes work on the 4 bytes around them
}

} // namespace

int checks(const Team& team) noexcept { return team.state().synchronisation().checks(); }

std::uint64_t identity_of(std::span<const std::int64_t> extents, std::span<const distribution::DimensionMap> dimensions,
                          bool replicated, std::uint64_t user_map) noexcept {
    // FNV-1a, by Fowler, Noll and Vo, over 64-bit words.
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto mix = [&](std::uint64_t word) { hash = (hash ^ word ^ word >> 32) * 0x100000001b3; };
    mix(replicated ? 1 : 0);
    mix(user_map);
    mix(extents.size());
    for (const std::int64_t extent : extents) mix(static_cast<std::uint64_t>(extent));
    for (const distribution::DimensionMap& dimension : dimensions) {
        mix(dimension.block());
        mix(static_cast<std::uint64_t>(dimension.processes()));
        mix(dimension.margin);
    }
    return hash;
}

std::uint64_t identity_of(const distribution::UserPlaces& map, std::span<const std::int64_t> extents, int ranks) {
    constexpr int samples = 8; // each may cost as much as a walk over a rank's part
    std::vector<std::uint64_t> numbers{map.identity(), map.local_capacity()};
    std::array<Range, max_dimensions> ranges;
    std::array<std::int64_t, max_dimensions> index{};
    const bool empty = std::ranges::find(extents, 0) != extents.end();
    for (int k = 0; k < samples; ++k) {
        // From the first one to the last one.
        const auto sample = [k](std::int64_t count) {
            return (count - 1) / (samples - 1) * k + (count - 1) % (samples - 1) * k / (samples - 1);
        };
        const Rank rank{static_cast<int>(sample(ranks))};
        numbers.push_back(map.domains_of(rank));
        if (numbers.back() > 0) {
            map.copy_domain(rank, 0, ranges.data());
            for (std::size_t d = 0; d < extents.size(); ++d) {
                numbers.push_back(ranges[d].size());
                if (!ranges[d].empty()) numbers.push_back(static_cast<std::uint64_t>(ranges[d].first()));
            }
        }
        if (empty) continue;
        std::ranges::transform(extents, index.begin(), sample);
        const Location place = map.locate_at(index.data());
        numbers.push_back(static_cast<std::uint64_t>(place.owner.value));
        numbers.push_back(place.offset);
    }
    return support::hash_of(std::as_bytes(std::span{numbers}));
}

void ArrayBase::begin_collective(std::string_view call) const {
    team_->state().synchronisation().barrier(team::CollectiveCall::on_window, team::identity_on_window(call, number_));
}

void ArrayBase::begin_collective(std::string_view call, const char* what,
                                 std::span<const std::int64_t> arguments) const {
    if (checks(*team_) < 1) return begin_collective(call);
    team_->state().synchronisation().barrier(
        team::CollectiveCall::on_window, team::identity_on_window(call, number_),
        {.number = static_cast<std::int64_t>(support::hash_of(std::as_bytes(arguments))),
         .text = [&] { return fmt::format("{} {}", what, fmt::join(arguments, " x ")); },
         .start = [&] { return start_of_text(fmt::format(".{}", call).c_str()); }});
}

void ArrayBase::end_collective(const char* call, std::exception_ptr failure, const char* outcome) const {
    if (!team_->state().synchronisation().agreed_barrier(team::CollectiveCall::end_on_window, failure))
        throw_failure(call, failure, outcome);
}

void ArrayBase::throw_failure(const char* call, const std::exception_ptr& failure, const char* outcome) const {
    mpi::throw_failure(team_->state().communicator(), failure, fmt::format("{}: {}", start_of_text(call), outcome));
}

void refuse_creation(Team& team) {
    const std::exception_ptr failure = std::current_exception();
    try {
        team.state().synchronisation().agree(team::CollectiveCall::window_create, failure, {});
    } catch (const Error&) { // other ranks are in other calls, or have left: this rank's own error says more
    }
    std::rethrow_exception(failure);
}

ArrayBase::ArrayBase(Team& team, std::uint64_t capacity, std::uint64_t element_bytes, unsigned element_alignment,
                     std::uint64_t identity, GlobalArrayOptions options)
    : window_{team,
              before_creation(team, [&] { return segment_bytes(team, options.name, capacity, element_bytes); }),
              {.name = options.name,
               .alignment = std::max(least_alignment, element_alignment),
               .cache = options.cache,
               .identity = {.value = identity ^ element_bytes * 0x9e3779b97f4a7c15,
                            .what = "the extents, the distribution, the halo or the elements' size"}}},
      team_{&team},
      name_{std::move(options.name)},
      who_{team.who()},
      number_{window_.state().number()},
      capacity_{capacity},
      cache_{options.cache},
      halo_{options.halo} {}

void ArrayBase::make_geometry(std::span<const std::int64_t> extents, std::span<const distribution::DimensionMap> maps,
                              std::uint64_t origin, std::shared_ptr<const distribution::UserPlaces> user_map,
                              bool replicated, std::uint64_t element_bytes) {
    auto geometry = std::make_shared<slices::ArrayGeometry>();
    geometry->team = team_;
    geometry->window = &window_.state();
    geometry->name = array_text(name_, number_);
    geometry->element_bytes = element_bytes;
    geometry->dimensions = extents.size();
    std::ranges::copy(extents, geometry->extents.begin());
    std::ranges::copy(maps, geometry->maps.begin());
    geometry->origin = origin;
    geometry->user_map = std::move(user_map);
    geometry->replicated = replicated;
    geometry_ = std::move(geometry);
}

void ArrayBase::take(const slices::SliceBase& target, const slices::SliceBase& source) {
    const auto target_array = slices::open_array(target, "");
    const auto source_array = slices::open_array(source, "");
    slices::Exchange exchange{Direction::get,
                              slices::Side::of(*target_array, target.shape()),
                              slices::Side::of(*source_array, source.shape()),
                              {.pass_over = true}};
    exchange.start();
    exchange.wait();
}

bool ArrayBase::first_rank_with(bool here, std::span<std::int64_t> index) const {
    std::int64_t first = here ? team_->rank().value : team_->size();
    team_->min(std::span{&first, 1});
    if (first == team_->size()) return false;
    team_->broadcast(std::as_writable_bytes(index), Rank{static_cast<int>(first)});
    return true;
}

void ArrayBase::put_to_all(Offset offset, const void* value, std::uint64_t bytes) const {
    const std::span<const std::byte> source{static_cast<const std::byte*>(value), static_cast<std::size_t>(bytes)};
    const transport::MemoryMap& map = window_.map();
    // Each rank starts with its neighbour, so that they do not all write to the same one at a time.
    for (int step = 1; step <= map.ranks; ++step)
        window_.put_bytes(Rank{(map.own_rank + step) % map.ranks}, offset, source);
}

std::string ArrayBase::start_of_text(const char* call) const {
    return fmt::format("{}: {}{}", who_, array_text(name_, number_), call);
}

void ArrayBase::throw_closed(const char* call) const {
    const std::string remedy = "the array was closed, moved from or never made; make a new one";
    if (who_.empty()) throw UsageError{fmt::format("GlobalArray{}: {}", call, remedy)};
    throw UsageError{fmt::format("{}: {}", start_of_text(call), remedy)};
}

void ArrayBase::throw_outside(const char* call, std::span<const std::int64_t> index,
                              std::span<const std::int64_t> extents) const {
    // A closed array has extents 0, so that every access to one comes here.
    if (closed()) throw_closed((call + text(index)).c_str());
    std::size_t d = 0;
    while (index[d] >= 0 && index[d] < extents[d]) ++d;
    throw RangeError{
        fmt::format("{}{}: index {} of dimension {} is outside [0, {}); the array's extents are {}, its indices "
                    "those of domain()",
                    start_of_text(call), text(index), index[d], d, extents[d], text(extents))};
}

void ArrayBase::throw_not_stored(const char* call, std::span<const std::int64_t> index) const {
    throw RangeError{
        fmt::format("{}: the distribution stores no element at {}; use indices of the ranks' local_domains(), "
                    "or a distribution that stores all",
                    start_of_text(call), text(index))};
}

void ArrayBase::throw_not_own(const char* call, std::span<const std::int64_t> index, Rank owner) const {
    throw RangeError{
        fmt::format("{}{}: the element is owned by rank {}; local access needs an index of local_domains(), "
                    "use a(…) for others",
                    start_of_text(call), text(index), owner.value)};
}

void ArrayBase::throw_misplaced(std::span<const std::int64_t> index, const Location& location) const {
    throw RangeError{
        fmt::format("{}: the distribution puts index {} at rank {}, offset {}, with {} contiguous elements (at "
                    "least 1), but there are {} ranks of {} elements; correct its locate() or local_capacity()",
                    start_of_text(""), text(index), location.owner.value, location.offset, location.contiguous,
                    team_->size(), capacity_)};
}

void ArrayBase::throw_wrong_domain(std::span<const std::int64_t> index, Rank owner) const {
    throw RangeError{fmt::format("{}: the distribution's domain() lists index {} for this rank, which {}; correct its "
                                 "domain() or its locate()",
                                 start_of_text(""), text(index),
                                 owner.value < 0 ? std::string{"is outside of the extents or not stored"}
                                                 : fmt::format("locate() puts at rank {}", owner.value))};
}

void ArrayBase::throw_not_one_domain(std::uint64_t domains) const {
    throw UsageError{fmt::format("{}: the rank owns {} separate domains; go through local_domains()",
                                 start_of_text(".local_domain"), domains)};
}

void ArrayBase::throw_no_view(const char* call) const {
    throw UsageError{fmt::format("{}: parts of a distribution of the program's own need not be rectangular; use "
                                 "for_each_local() or local()",
                                 start_of_text(call))};
}

void ArrayBase::throw_gaps(const char* call) const {
    if (halo_ != 0)
        throw UsageError{fmt::format("{}: the rows of the array have room for a halo of {} elements at their ends; use "
                                     "padded_local_view() and its "
                                     "strides, for_each_local(), or an array without a halo",
                                     start_of_text(call), halo_)};
    throw UsageError{
        fmt::format("{}: the blocks of the distribution do not go round evenly over {} ranks, so that rows of some "
                    "parts have unused elements at their ends; use padded_local_view() and its strides, "
                    "for_each_local(), or extents that the blocks of all processes divide",
                    start_of_text(call), team_->size())};
}

void ArrayBase::throw_no_home(const char* call, std::span<const std::int64_t> index) const {
    throw UsageError{
        fmt::format("{}{}.{}: every rank has a copy of the elements of a replicated array, so that none is "
                    "the place of an atomic; use Block or Cyclic",
                    start_of_text(""), text(index), call)};
}

void ArrayBase::throw_not_replicated() const {
    throw UsageError{fmt::format("{}: every element has one owner; broadcast is for arrays made with Replicated",
                                 start_of_text(".broadcast"))};
}

void ArrayBase::throw_empty(const char* call) const {
    throw UsageError{
        fmt::format("{}: the array has no elements, so neither a smallest nor a largest one; ask for size() first",
                    start_of_text(call))};
}

void ArrayBase::throw_nothing_compares(const char* call) const {
    throw UsageError{
        fmt::format("{}: no element is a number: all are NaN, or the distribution stores none", start_of_text(call))};
}

void ArrayBase::throw_extents_differ(std::span<const std::int64_t> extents,
                                     std::span<const std::int64_t> others) const {
    throw RangeError{
        fmt::format("{}: extents {} cannot take the elements of an array of extents {}; they must be equal",
                    start_of_text(".copy_from"), text(extents), text(others))};
}

bool ArrayBase::same_ranks(const ArrayBase& other) const {
    int comparison = MPI_UNEQUAL;
    const int code = MPI_Comm_compare(team_->state().communicator(), other.team_->state().communicator(), &comparison);
    support::check_mpi(code, "MPI_Comm_compare", who_);
    return comparison != MPI_UNEQUAL;
}

void ArrayBase::throw_ranks_differ(const ArrayBase& other) const {
    throw UsageError{fmt::format(
        "{}: this array's team of {} ranks cannot copy from {} of another team, which has {} ranks, and others; both "
        "need the same ranks, in any order: make both over the larger team, the one of fewer ranks with "
        "OnRanks{{distribution, ranks}}, or copy with get() and put() of slices on ranks that are in both",
        start_of_text(".copy_from"), team_->size(), array_text(other.name_, other.number_), other.team_->size())};
}

void ArrayBase::check_bulk(const char* call, std::span<const Range> domain, std::span<const std::int64_t> extents,
                           std::uint64_t buffer_size) const {
    require_open(call);
    // One range without indices makes the domain empty, wherever the others are.
    for (const Range& range : domain)
        if (range.empty()) return;
    for (std::size_t d = 0; d < domain.size(); ++d)
        if (domain[d].first() < 0 || domain[d].last() >= extents[d])
            throw RangeError{fmt::format("{}({}): {} of dimension {} leaves [0, {}); cut the patch to the array with "
                                         "intersect(a.domain())",
                                         start_of_text(call), text(domain), to_string(domain[d]), d, extents[d])};
    const std::uint64_t size = datatype::checked_size(domain.data(), domain.size());
    if (buffer_size < size)
        throw RangeError{
            fmt::format("{}({}): the buffer has {} elements, the domain {}; it needs domain.size() of them",
                        start_of_text(call), text(domain), buffer_size, size)};
}

void ArrayBase::check_view(const char* call, std::span<const Range> domain, std::span<const std::int64_t> sizes,
                           std::span<const std::int64_t> extents, std::span<const std::int64_t> strides) const {
    std::int64_t inside = 1; // places that one step of a dimension passes over
    for (std::size_t d = sizes.size(); d-- > 0;) {
        if (extents[d] != sizes[d])
            throw RangeError{
                fmt::format("{}({}): the view has extents {} for a domain of {} indices; they must be equal, see "
                            "LocalView::part",
                            start_of_text(call), text(domain), text(extents), text(sizes))};
        if (extents[d] > 1 && strides[d] < inside)
            throw RangeError{
                fmt::format("{}({}): the view's stride {} of dimension {} is below the {} places of what lies inside; "
                            "strides grow from the last dimension, whose is 1, to the first",
                            start_of_text(call), text(domain), strides[d], d, inside)};
        if (extents[d] > 0) inside = (extents[d] - 1) * strides[d] + inside;
    }
}

void ArrayBase::check_halo(std::span<const Range> own, std::int64_t depth, std::span<const Range> whole,
                           std::span<const bool> periodic) const {
    require_open(" (halo)");
    if (depth < 0)
        throw RangeError{
            fmt::format("{}: the depth {} of a halo is below 0; pass how many elements around the local block are read",
                        start_of_text(""), depth)};
    for (std::size_t d = 0; d < whole.size(); ++d)
        if (periodic[d] && std::cmp_greater(depth, whole[d].size()))
            throw RangeError{fmt::format(
                "{}: the depth {} of a halo is larger than the extent {} of dimension {}, which is periodic: it would "
                "go around the array more than once; use a depth of at most {}, or leave that dimension open",
                start_of_text(""), depth, whole[d].size(), d, whole[d].size())};
    for (const Range& range : own)
        if (range.stride() != 1)
            throw UsageError{fmt::format("{}: a halo is around a block of neighbours, and this rank owns {}; use Block",
                                         start_of_text(""), text(own))};
}

Completion ArrayBase::all_of(std::vector<Completion> completions) {
    if (completions.empty()) return {};
    auto pending = std::make_unique<PendingTransfers>();
    for (Completion& completion : completions) pending->add(std::move(completion));
    return Completion{std::move(pending)};
}

void ArrayBase::throw_list_lengths(const char* call, std::size_t indices, std::size_t others) const {
    throw RangeError{
        fmt::format("{}: {} indices with {} values; pass as many of each, and operands one for all or as many",
                    start_of_text(call), indices, others)};
}

Completion ArrayBase::start_list_to_all(std::span<ListedPlace> places, std::uint64_t element_bytes,
                                        std::byte* values) const {
    auto pending = std::make_unique<PendingTransfers>();
    const transport::MemoryMap& map = window_.map();
    for (int step = 1; step <= map.ranks; ++step) { // as put_to_all()
        for (ListedPlace& place : places) place.owner = (map.own_rank + step) % map.ranks;
        pending->add(start_list(window_, Direction::put, places, element_bytes, values));
    }
    return Completion{std::move(pending)};
}

void ArrayBase::check_rank(const char* call, Rank rank) const {
    require_open(call);
    if (rank.value < 0 || rank.value >= team_->size())
        throw RangeError{fmt::format("{}: rank {} is outside [0, {}); ranks are those of the array's team()",
                                     start_of_text(call), rank.value, team_->size())};
}

std::string constructor_text(const Team& team, std::string_view name) {
    return fmt::format("{}: {}", team.who(), array_text(name));
}

void check_extents(const Team& team, std::string_view name, std::span<const std::int64_t> extents) {
    std::uint64_t size = 1;
    bool overflow = false;
    for (std::size_t d = 0; d < extents.size(); ++d)
        if (extents[d] < 0)
            throw RangeError{fmt::format(
                "{}: extent {} of dimension {} in {} is outside [0, 2^63 - 1] (unsigned it is {}); "
                "pass the number of elements in each dimension",
                constructor_text(team, name), extents[d], d, text(extents), static_cast<std::uint64_t>(extents[d]))};
    for (const std::int64_t extent : extents) {
        if (extent == 0) return;
        overflow |= __builtin_mul_overflow(size, static_cast<std::uint64_t>(extent), &size);
    }
    if (overflow)
        throw RangeError{fmt::format("{}: extents {} have more than 2^64 - 1 elements; use smaller ones",
                                     constructor_text(team, name), text(extents))};
}

void require_same_extents(Team& team, std::string_view name, std::span<const std::int64_t> extents) {
    team.require_same(extents, array_text(name).c_str(), "the extents");
}

void require_room_for_halo(Team& team, const GlobalArrayOptions& options, bool one_block) {
    if (options.halo < 0)
        throw RangeError{fmt::format("{}: a halo of {} elements on each side; it must be at least 0",
                                     constructor_text(team, options.name), options.halo)};
    if (!one_block)
        throw UsageError{fmt::format("{}: room for a halo of {} elements is around the one block of a rank, and this "
                                     "distribution deals several, or "
                                     "copies all; use Block, or halo = 0",
                                     constructor_text(team, options.name), options.halo)};
}

void require_same_map(Team& team, std::string_view name, std::span<const distribution::DimensionMap> dimensions,
                      std::uint64_t capacity, bool replicated, std::uint64_t identity) {
    std::vector<std::int64_t> description{static_cast<std::int64_t>(capacity), replicated ? 1 : 0,
                                          static_cast<std::int64_t>(identity)};
    for (const distribution::DimensionMap& dimension : dimensions) {
        description.push_back(static_cast<std::int64_t>(dimension.block()));
        description.push_back(dimension.processes());
    }
    team.require_same(
        description, array_text(name).c_str(),
        "the distribution (elements per rank, replicated, a number for a user-defined one, block size and "
        "processes per dimension)");
}

void throw_no_dimension(const Team& team, std::size_t dimension, std::size_t dimensions) {
    throw RangeError{fmt::format("{}: a reduction along dimension {}: the array has the dimensions [0, {})", team.who(),
                                 dimension, dimensions)};
}

void throw_reduced_extents(const Team& team, std::size_t dimension, std::span<const std::int64_t> extents,
                           std::span<const std::int64_t> target) {
    throw RangeError{fmt::format(
        "{}: a reduction along dimension {} of extents ({}): the target has extents ({}); it needs those of the other "
        "dimensions, in their order",
        team.who(), dimension, fmt::join(extents, ", "), fmt::join(target, ", "))};
}

} // namespace lapwing::detail::arrays
