#include <lapwing/array_base.hpp>

#include "arrays/index_texts.hpp"
#include "arrays/slices/exchange.hpp"
#include "arrays/slices/pending_transfers.hpp"
#include "prefetch/entry_buffer.hpp"
#include "src/mpi/agreement.hpp"
#include "src/support/hash.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/rank_check.hpp"
#include "src/support/type_text.hpp"
#include "src/team/team_state.hpp"
#include "window/window_state.hpp"

#include <lapwing/dimension_reduction.hpp>
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

/// Small, so that segments follow each other without a gap: see LinearElements.
constexpr unsigned least_alignment = 8;

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
    team_->state().synchronisation().barrier(team::CollectiveCall::on_window,
                                             team::identity_on_window(call, title_.number));
}

void ArrayBase::begin_collective(std::string_view call, const char* what,
                                 std::span<const std::int64_t> arguments) const {
    if (checks(*team_) < 1) return begin_collective(call);
    team_->state().synchronisation().barrier(
        team::CollectiveCall::on_window, team::identity_on_window(call, title_.number),
        {.number = static_cast<std::int64_t>(support::hash_of(std::as_bytes(arguments))),
         .text = [&] { return fmt::format("{} {}", what, fmt::join(arguments, " x ")); },
         .start = [&] { return title_.start(fmt::format(".{}", call)); }});
}

namespace {

[[noreturn]] void throw_failure_of(const ArrayTitle& array, Team& team, const char* call,
                                   const std::exception_ptr& failure, const char* outcome) {
    mpi::throw_failure(team.state().communicator(), failure, fmt::format("{}: {}", array.start(call), outcome));
}

} // namespace

void end_collective(const ArrayTitle& array, Team& team, const char* call, std::exception_ptr failure,
                    const char* outcome) {
    if (!team.state().synchronisation().agreed_barrier(team::CollectiveCall::end_on_window, failure))
        throw_failure_of(array, team, call, failure, outcome);
}

void ArrayBase::throw_failure(const char* call, const std::exception_ptr& failure, const char* outcome) const {
    throw_failure_of(title_, *team_, call, failure, outcome);
}

void refuse_collective(Team& team) { team.state().synchronisation().refuse(std::current_exception()); }

WindowOptions::Identity creation_identity(std::span<const std::int64_t> extents,
                                          std::span<const distribution::DimensionMap> dimensions, bool replicated,
                                          std::uint64_t user_map, const char* type, std::uint64_t element_bytes) {
    std::string dealt =
        replicated ? "replicated" : fmt::format("with a distribution of the program's, {:#x}", user_map);
    if (!replicated && !dimensions.empty()) {
        std::vector<std::uint64_t> blocks;
        std::vector<int> processes;
        std::uint64_t halo = 0;
        for (const distribution::DimensionMap& dimension : dimensions) {
            blocks.push_back(dimension.block());
            processes.push_back(dimension.processes());
            halo = std::max<std::uint64_t>(halo, dimension.margin);
        }
        dealt = fmt::format("in blocks of {} on {} processes, halo {}", fmt::join(blocks, " x "),
                            fmt::join(processes, " x "), halo);
    }
    return {.value = support::hash_of(
                {identity_of(extents, dimensions, replicated, user_map), element_bytes, support::checksum_of(type)}),
            .text = fmt::format("extents {}, elements of {} ({} bytes each), {}", fmt::join(extents, " x "),
                                support::type_text(type), element_bytes, dealt)};
}

ArrayBase::ArrayBase(Team& team, std::uint64_t capacity, std::uint64_t element_bytes, unsigned element_alignment,
                     WindowOptions::Identity identity, GlobalArrayOptions options)
    : window_{team,
              before_collective(team, [&] { return segment_bytes(team, options.name, capacity, element_bytes); }),
              {.name = options.name,
               .alignment = std::max(least_alignment, element_alignment),
               .cache = options.cache,
               .identity = std::move(identity)}},
      team_{&team},
      title_{std::move(options.name), team.who(), window_.state().number()},
      capacity_{capacity},
      cache_{options.cache},
      halo_{options.halo} {}

void ArrayBase::make_geometry(std::span<const std::int64_t> extents, std::span<const distribution::DimensionMap> maps,
                              std::uint64_t origin, std::shared_ptr<const distribution::UserPlaces> user_map,
                              bool replicated, std::uint64_t element_bytes) {
    auto geometry = std::make_shared<slices::ArrayGeometry>();
    geometry->team = team_;
    geometry->window = &window_.state();
    geometry->name = title_.text();
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
    require_open("");
    // Each rank starts with its neighbour, so that they do not all write to the same one at a time.
    for (int step = 1; step <= map.ranks; ++step) window_.put(Rank{(map.own_rank + step) % map.ranks}, offset, source);
}

bool ArrayBase::same_ranks(const ArrayBase& other) const {
    int comparison = MPI_UNEQUAL;
    const int code = MPI_Comm_compare(team_->state().communicator(), other.team_->state().communicator(), &comparison);
    support::check_mpi(code, "MPI_Comm_compare", title_.who);
    return comparison != MPI_UNEQUAL;
}

void ArrayBase::check_halo(std::span<const Range> own, std::int64_t depth) const {
    require_open(" (halo)");
    if (depth < 0)
        throw RangeError{
            fmt::format("{}: the depth {} of a halo is below 0; pass how many elements around the local block are read",
                        title_.start(""), depth)};
    if (std::ranges::any_of(own, &Range::empty)) return;
    constexpr std::uint64_t most = std::uint64_t{1} << 62; // within which no index leaves 64 bits, either
    std::uint64_t bytes = geometry_->element_bytes;
    for (const Range& range : own) {
        std::uint64_t side = 0;
        if (__builtin_add_overflow(range.size(), 2 * static_cast<std::uint64_t>(depth), &side) ||
            __builtin_mul_overflow(bytes, side, &bytes) || bytes > most)
            throw RangeError{fmt::format("{}: the local block with a halo of depth {} needs more than 2^62 bytes; "
                                         "ask for a smaller depth",
                                         title_.start(""), depth)};
    }
    for (const Range& range : own)
        if (range.stride() != 1)
            throw UsageError{fmt::format("{}: a halo is around a block of neighbours, and this rank owns {}; use Block",
                                         title_.start(""), text(own))};
}

void ArrayBase::update() {
    const trace::CallScope call{trace::Way::prefetch};
    require_open(".update");
    copies_.buffer(title_, ".update").fill();
}

Completion ArrayBase::update_async() {
    require_open(".update_async");
    return copies_.buffer(title_, ".update_async").start_fill();
}

Completion ArrayBase::all_of(std::vector<Completion> completions) {
    if (completions.empty()) return {};
    auto pending = std::make_unique<slices::PendingTransfers>();
    for (Completion& completion : completions) pending->add(std::move(completion));
    return Completion{std::move(pending)};
}

Completion ArrayBase::start_list_to_all(std::span<ListedPlace> places, std::uint64_t element_bytes,
                                        std::byte* values) const {
    auto pending = std::make_unique<slices::PendingTransfers>();
    const transport::MemoryMap& map = window_.map();
    for (int step = 1; step <= map.ranks; ++step) { // as put_to_all()
        for (ListedPlace& place : places) place.owner = (map.own_rank + step) % map.ranks;
        pending->add(start_list(window_, Direction::put, places, element_bytes, values));
    }
    return Completion{std::move(pending)};
}

void ArrayBase::check_rank(const char* call, Rank rank) const {
    require_open(call);
    support::require_rank(rank, team_->size(), [&] { return title_.start(call); });
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

PartialResults partial_results(const Team& team, std::span<const std::int64_t> extents,
                               std::span<const distribution::DimensionMap> maps, bool replicated,
                               std::size_t dimension) {
    PartialResults made;
    made.extents.assign(extents.begin(), extents.end());
    made.extents[dimension] = 1;
    if (replicated) return made;
    // Whether each rank has a place of its own in the grid of the array's map.
    int processes = maps.empty() ? 0 : 1;
    for (const distribution::DimensionMap& one : maps) processes *= one.processes();
    const bool grid = processes == team.size();
    for (std::size_t d = 0; d < extents.size(); ++d) {
        const bool along = d == dimension;
        const std::int64_t block = grid ? static_cast<std::int64_t>(maps[d].block()) : extents[d];
        made.grid.push_back(grid ? maps[d].processes() : along ? team.size() : 1);
        made.blocks.push_back(along ? 1 : std::max<std::int64_t>(1, block));
    }
    made.all_indices = !grid;
    made.extents[dimension] = made.grid[dimension];
    const int rank = team.rank().value;
    made.process = grid ? maps[dimension].process_of(rank) : rank;
    return made;
}

void throw_reduced_extents(const Team& team, std::size_t dimension, std::span<const std::int64_t> extents,
                           std::span<const std::int64_t> target) {
    throw RangeError{fmt::format(
        "{}: a reduction along dimension {} of extents ({}): the target has extents ({}); it needs those of the other "
        "dimensions, in their order",
        team.who(), dimension, fmt::join(extents, ", "), fmt::join(target, ", "))};
}

} // namespace lapwing::detail::arrays
