#include <lapwing/assignment.hpp>

#include "arrays/slices/compared.hpp"
#include "arrays/slices/exchange.hpp"
#include "arrays/slices/promotion.hpp"
#include "src/mpi/agreement.hpp"
#include "src/support/hash.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mpi_state.hpp"
#include "src/team/team_state.hpp"
#include "src/transport/pending_transfer.hpp"
#include "window/window_state.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/detail/config.hpp>
#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::detail::slices {

using transport::Direction;

namespace {

struct Source {
    std::weak_ptr<const ArrayGeometry> array;
    SliceShape shape;
};

/// One of the assignments, and what this rank does for it.
struct Item {
    std::weak_ptr<const ArrayGeometry> target_array;
    SliceShape target;
    std::vector<Source> sources;  ///< none for a fill
    ApplyValues apply;            ///< of one source
    ApplySources apply_sources;   ///< of several
    std::vector<std::byte> value; ///< of a fill
    bool to_itself = false;       ///< each element is assigned its own value
    bool through_copy = false;    ///< both slices are of one array, and overlap
    bool may_throw = false;       ///< what is applied
    bool user_defined = false;    ///< a distribution of a program's own takes part
    std::string text;             ///< of both slices
    std::unique_ptr<Movement> movement;
    pipeline::Serving serving = pipeline::Serving::in_call; ///< of the movement
};

[[nodiscard]] bool same_elements(const SliceShape& a, const SliceShape& b, std::size_t dimensions) {
    for (std::size_t d = 0; d < a.count; ++d)
        if (a.dimensions[d].of_array != b.dimensions[d].of_array || a.dimensions[d].indices != b.dimensions[d].indices)
            return false;
    for (std::size_t d = 0; d < dimensions; ++d)
        if (a.is_fixed[d] != b.is_fixed[d] || (a.is_fixed[d] && a.fixed[d] != b.fixed[d])) return false;
    return true;
}

/// How long the blocks of a slice are in the memory of its owners when another distribution goes through it: from the
/// distributions alone, so that all ranks find the same.
[[nodiscard]] std::uint64_t run_there(const Side& there, const Side& here) {
    const std::size_t count = there.dimensions().size();
    std::size_t last = count;
    for (std::size_t d = 0; d < count; ++d)
        if (there.dimensions()[d].of_array + 1 == there.array()->dimensions) last = d;
    if (last == count) return 1; // the dimension of neighbours is left out
    const auto block_positions = [last](const Side& side) -> std::uint64_t {
        const distribution::DimensionMap& map = side.map(last);
        const distribution::IndexSequence indices = side.indices(last, false);
        if (map.processes() == 1) return indices.count;
        const auto size = static_cast<std::uint64_t>(indices.stride < 0 ? -indices.stride : indices.stride);
        return std::min(indices.count, (map.block() - 1) / size + 1);
    };
    const distribution::IndexSequence indices = there.indices(last, false);
    const std::uint64_t met = std::min(block_positions(there), block_positions(here));
    if (indices.stride == 1 || indices.stride == -1) {
        // Single dealt indices are neighbours in their owner's memory where the other side has them all.
        if (there.map(last).block() == 1 && there.map(last).processes() > 1 && block_positions(here) > 1)
            return std::max<std::uint64_t>(1, block_positions(here) /
                                                  static_cast<std::uint64_t>(there.map(last).processes()));
        return met;
    }
    return 1;
}

/// Of a size that the compiler knows, so that it makes wide stores.
template <class Word>
void repeat_word(std::byte* memory, std::uint64_t bytes, const std::byte* value) {
    Word word;
    std::memcpy(&word, value, sizeof word);
    for (std::uint64_t done = 0; done < bytes; done += sizeof word) std::memcpy(memory + done, &word, sizeof word);
}

/// Fills `bytes` bytes, a multiple of the value's.
void repeat(std::byte* memory, std::uint64_t bytes, std::span<const std::byte> value) {
    switch (value.size()) {
    case 1: return repeat_word<std::uint8_t>(memory, bytes, value.data());
    case 2: return repeat_word<std::uint16_t>(memory, bytes, value.data());
    case 4: return repeat_word<std::uint32_t>(memory, bytes, value.data());
    case 8: return repeat_word<std::uint64_t>(memory, bytes, value.data());
    default:
        for (std::uint64_t done = 0; done < bytes; done += value.size())
            std::memcpy(memory + done, value.data(), value.size());
    }
}

} // namespace

class AssignmentState {
public:
    ValueMemory memory; // outlives the items' movements
    std::vector<Item> items;
    /// Of all arrays, in the order in which they were made: the same on all ranks, also where a program mixes up its
    /// assignments, so that these meet in the same barriers and find out.
    std::vector<Team*> teams;
    std::optional<std::int64_t> number; ///< what ranks compare, once it is known
    bool started = false;               ///< by start(), whose result has not been waited for

    /// Takes over an item, or throws and has nothing of it.
    void add(Item item);
    /// Throws UsageError when an array was closed, which it is on all ranks.
    void require_open() const;
    static void require_open(const Item& item);
    /// The arrays of an item. Throws UsageError when one was closed.
    struct Arrays {
        std::shared_ptr<const ArrayGeometry> target;
        std::vector<std::shared_ptr<const ArrayGeometry>> sources;
    };
    [[nodiscard]] static Arrays arrays(const Item& item) {
        require_open(item);
        Arrays arrays{item.target_array.lock(), {}};
        for (const Source& source : item.sources) arrays.sources.push_back(source.array.lock());
        return arrays;
    }

    /// Plans are kept for the next time with the same `serving`.
    void prepare(Item& item, pipeline::Serving serving);
    static void fill(const Item& item);
    /// A number for the arrays and slices, which is the same on all ranks; and the slices in words.
    [[nodiscard]] std::int64_t compared_number();
    [[nodiscard]] std::string text() const;
    /// Collective: the barrier at the start, with what ranks compare if they do. `problem`: what has kept this rank
    /// from planning, which it throws itself where the ranks compare and differ.
    void begin(bool compare, const std::exception_ptr& problem);
    /// Collective, in place of start() where this rank cannot come to it: throws the problem, and on the others
    /// UsageError with its text. Where the arrays are not of the same ranks it is alike on all, who do not wait.
    [[noreturn]] void refuse(const std::exception_ptr& problem) const;
    /// Starts those that may throw, or the others, and ends them; `problem` is what has kept this rank from something,
    /// and what keeps it from more.
    void start(bool may_throw, std::exception_ptr& problem);
    void complete(bool may_throw, std::exception_ptr& problem);
    /// Throws UsageError between start() and wait().
    void require_idle(const char* call) const;
    /// Collective: all ranks are done with what started as `start_number`, or throw what the first could not do.
    void end(std::uint64_t start_number, const char* outcome, std::exception_ptr& problem);
    void restore() noexcept;
    /// Collective where a distribution of a program's own takes part, which may be wrong on some ranks only: throws on
    /// all or on none. Elsewhere a problem is kept until the end, where all ranks throw.
    void agree(const std::exception_ptr& problem) const;

private:
    /// Of the first array that the first team has here.
    [[nodiscard]] std::uint64_t first_window() const;
};

void AssignmentState::add(Item item) {
    std::vector<Team*> all = teams;
    const Arrays arrays = AssignmentState::arrays(item);
    const auto add_team = [&](Team* team) {
        if (std::ranges::find(all, team) == all.end()) all.push_back(team);
    };
    add_team(arrays.target->team);
    item.user_defined = arrays.target->user_map != nullptr;
    for (const auto& source : arrays.sources) {
        add_team(source->team);
        item.user_defined = item.user_defined || source->user_map != nullptr;
    }
    if (all.size() > 1) std::ranges::stable_sort(all, {}, [](const Team* team) { return team->state().number(); });
    items.push_back(std::move(item));
    teams = std::move(all);
    number.reset();
}

void AssignmentState::require_open() const {
    for (const Item& item : items) require_open(item);
}

void AssignmentState::require_open(const Item& item) {
    if (item.target_array.expired() ||
        std::ranges::any_of(item.sources, [](const Source& source) { return source.array.expired(); }))
        throw UsageError{fmt::format(
            "Assignment::execute: an array of {} was closed, or got other extents or another distribution; make "
            "another Assignment",
            item.text)};
}

void AssignmentState::prepare(Item& item, pipeline::Serving serving) {
    const Arrays arrays = AssignmentState::arrays(item);
    if (std::exchange(item.serving, serving) != serving) item.movement.reset();
    if (item.movement != nullptr || item.to_itself || !item.value.empty()) return;
    if (item.apply_sources) {
        std::vector<SliceOfArray> sources;
        for (std::size_t k = 0; k < arrays.sources.size(); ++k)
            sources.push_back({arrays.sources[k].get(), item.sources[k].shape});
        item.movement = std::make_unique<Promotion>(SliceOfArray{arrays.target.get(), item.target}, std::move(sources),
                                                    PromotionOptions{.apply = item.apply_sources,
                                                                     .through_copy = item.through_copy,
                                                                     .restorable = item.may_throw,
                                                                     .serving = serving,
                                                                     .memory = &memory});
        return;
    }
    Side target = Side::of(*arrays.target, item.target);
    Side source = Side::of(*arrays.sources.front(), item.sources.front().shape);
    ExchangeOptions options{.apply = item.apply,
                            .through_copy = item.through_copy,
                            .keep = true,
                            .restorable = item.may_throw,
                            .collective = true,
                            .serving = serving,
                            .memory = &memory};
    // What is not copied as it is becomes the owner's work.
    const bool may_put = !options.apply && !options.through_copy && !target.is_user_defined() &&
                         !source.is_user_defined() && !target.is_replicated() && !source.is_replicated() &&
                         arrays.target->window->cache() == nullptr;
    if (may_put && run_there(target, source) > run_there(source, target))
        item.movement =
            std::make_unique<Exchange>(Direction::put, std::move(source), std::move(target), std::move(options));
    else
        item.movement =
            std::make_unique<Exchange>(Direction::get, std::move(target), std::move(source), std::move(options));
}

void AssignmentState::fill(const Item& item) {
    const Arrays arrays = AssignmentState::arrays(item);
    if (item.target.empty()) return;
    const Side own = Side::of(*arrays.target, item.target);
    const std::array<std::int64_t, max_dimensions> nowhere{};
    const Pairing pairing{own, Side::buffer(item.target, nowhere, item.value.size(), nullptr)};
    for (const Pairing::Partner& partner : pairing.partners()) {
        const Layout layout = pairing.layouts(partner, true).here;
        LayoutCursor cursor{layout};
        while (!cursor.done()) {
            const ByteBlock block = cursor.next();
            repeat(own.memory() + block.offset, block.bytes, item.value);
        }
    }
}

std::int64_t AssignmentState::compared_number() {
    if (number) return *number;
    std::vector<std::int64_t> description;
    for (const Item& item : items) {
        const Arrays arrays = AssignmentState::arrays(item);
        const auto describe = [&](const ArrayGeometry& array, const SliceShape& shape) {
            // Windows of two teams may have one number.
            description.push_back(std::ranges::find(teams, array.team) - teams.begin());
            description.push_back(static_cast<std::int64_t>(array.window->number()));
            add_to_compared(description, shape, array.dimensions);
        };
        describe(*arrays.target, item.target);
        for (std::size_t k = 0; k < item.sources.size(); ++k) describe(*arrays.sources[k], item.sources[k].shape);
        description.push_back(item.apply || item.apply_sources ? 1 : 0);
    }
    number = static_cast<std::int64_t>(support::hash_of(std::as_bytes(std::span{description})));
    return *number;
}

std::string AssignmentState::text() const {
    std::string text;
    for (const Item& item : items) text += (text.empty() ? "" : ", ") + item.text;
    return text;
}

void AssignmentState::agree(const std::exception_ptr& problem) const {
    if (std::ranges::none_of(items, &Item::user_defined)) return;
    Team& team = *teams.front();
    const mpi::Problem first = mpi::first_problem(team.state().communicator(), mpi::text_of(problem));
    if (problem != nullptr) std::rethrow_exception(problem);
    if (!first.text.empty())
        throw RangeError{fmt::format("{}: Assignment::execute: nothing was assigned, since rank {} could not: {}",
                                     team.who(), first.rank, first.text)};
}

std::uint64_t AssignmentState::first_window() const {
    const auto is_of_first = [this](const std::shared_ptr<const ArrayGeometry>& array) {
        return array->team == teams.front();
    };
    for (const Item& item : items) {
        if (const auto array = item.target_array.lock(); is_of_first(array)) return array->window->number();
        for (const Source& source : item.sources)
            if (const auto array = source.array.lock(); is_of_first(array)) return array->window->number();
    }
    return 0;
}

void AssignmentState::begin(bool compare, const std::exception_ptr& problem) {
    Team& first = *teams.front();
    team::Synchronisation& synchronisation = first.state().synchronisation();
    const std::int64_t identity = team::identity_on_window("assign", first_window());
    if (compare && synchronisation.checks() >= 1) {
        const team::CallArguments arguments{
            .number = number.value_or(0), // none: it could not be made, and others then throw what kept this rank
            .text = [&] { return number ? text() : "what it could not plan: " + mpi::text_of(problem); },
            .start =
                [&] {
                    return fmt::format("{}: Assignment::execute: the arrays, or the indices of a slice, differ",
                                       first.who());
                }};
        try {
            synchronisation.barrier(team::CollectiveCall::on_window, identity, arguments);
        } catch (const MismatchError&) {
            if (problem != nullptr) std::rethrow_exception(problem);
            throw;
        }
    } else {
        synchronisation.barrier(team::CollectiveCall::on_window, identity);
    }
    for (std::size_t k = 1; k < teams.size(); ++k) teams[k]->barrier();
}

void AssignmentState::refuse(const std::exception_ptr& problem) const {
    const auto of_same_ranks = [this](Team* team) {
        try {
            require_same_ranks(*teams.front(), *team, {});
            return true;
        } catch (const UsageError&) {
            return false;
        }
    };
    if (teams.empty() || !std::ranges::all_of(teams, of_same_ranks)) std::rethrow_exception(problem);
    agree(problem);
    teams.front()->state().synchronisation().refuse(problem);
}

void AssignmentState::require_idle(const char* call) const {
    if (started)
        throw UsageError{
            fmt::format("Assignment::{}: {} was started before, and is not complete; wait() for what start() "
                        "returned first",
                        call, text())};
}

namespace {

/// A rank that fails goes on with the others, so that they do not wait for it.
template <class Step>
void attempt(std::vector<Item>& items, bool may_throw, std::exception_ptr& problem, Step step) {
    if (problem != nullptr) return;
    try {
        for (Item& item : items)
            if (item.may_throw == may_throw) step(item);
    } catch (...) {
        problem = std::current_exception();
    }
}

} // namespace

void AssignmentState::start(bool may_throw, std::exception_ptr& problem) {
    attempt(items, may_throw, problem, [](Item& item) {
        if (item.movement != nullptr) item.movement->start();
        else if (!item.value.empty()) fill(item);
    });
}

void AssignmentState::complete(bool may_throw, std::exception_ptr& problem) {
    attempt(items, may_throw, problem, [](Item& item) {
        if (item.movement != nullptr) item.movement->wait();
    });
    // From the slices alone, so that a rank without an exchange does the same.
    if (std::ranges::none_of(items, [&](const Item& item) { return item.may_throw == may_throw && item.through_copy; }))
        return;
    for (Team* team : teams) team->barrier();
    attempt(items, may_throw, problem, [](Item& item) {
        if (item.movement != nullptr) item.movement->finish();
    });
}

void AssignmentState::restore() noexcept {
    for (Item& item : items)
        if (item.movement != nullptr) item.movement->restore();
}

void AssignmentState::end(std::uint64_t start_number, const char* outcome, std::exception_ptr& problem) {
    Team& team = *teams.front();
    const team::CallArguments which{
        .number = static_cast<std::int64_t>(start_number),
        .text = [&] { return fmt::format("the start of {} as collective call {}", text(), start_number); },
        .start = [&] { return fmt::format("{}: the end of an assignment that was started", team.who()); },
        .verb = "waits for",
        .remedy = "wait for started assignments in the same order on all ranks"};
    bool well = false;
    try {
        // First, so that ranks that wait for different assignments find out before they wait elsewhere.
        well = team.state().synchronisation().agreed_barrier(team::CollectiveCall::end_on_window, problem, which);
        if (well)
            for (std::size_t k = 1; k < teams.size(); ++k) teams[k]->barrier();
    } catch (...) { // a rank has left, or is elsewhere
        restore();
        throw;
    }
    if (well) return;
    restore();
    for (Team* one : teams) one->barrier();
    mpi::throw_failure(team.state().communicator(), problem,
                       fmt::format("{}: Assignment::execute: {}", team.who(), outcome));
}

namespace {

/// Which processes a team has, as a number that their order does not change.
class Processes final : public team::TeamPart {
public:
    /// None where processes have no numbers in MPI_COMM_WORLD: in sessions, and where some were spawned.
    [[nodiscard]] std::optional<std::uint64_t> number(MPI_Comm communicator) {
        std::call_once(once_, [&] { number_ = number_of(communicator); });
        return number_;
    }

private:
    [[nodiscard]] static std::optional<std::uint64_t> number_of(MPI_Comm communicator) {
        if (!support::mpi_world_open()) return {};
        MPI_Group group = MPI_GROUP_NULL;
        MPI_Group world = MPI_GROUP_NULL;
        support::check_mpi(MPI_Comm_group(communicator, &group), "MPI_Comm_group");
        support::check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
        int size = 0;
        support::check_mpi(MPI_Group_size(group, &size), "MPI_Group_size");
        std::vector<int> ranks(static_cast<std::size_t>(size));
        std::iota(ranks.begin(), ranks.end(), 0);
        std::vector<int> in_world(ranks.size());
        support::check_mpi(MPI_Group_translate_ranks(group, size, ranks.data(), world, in_world.data()),
                           "MPI_Group_translate_ranks");
        MPI_Group_free(&group);
        MPI_Group_free(&world);
        std::uint64_t sum = 0;
        for (const int rank : in_world) {
            if (rank == MPI_UNDEFINED) return {};
            sum += support::hash_of(std::as_bytes(std::span{&rank, 1}));
        }
        return sum;
    }

    std::once_flag once_;
    std::optional<std::uint64_t> number_;
};

} // namespace

void require_same_ranks(Team& target, Team& source, const std::string& text) {
    if (&target == &source) return;
    const auto fail = [&] {
        throw UsageError{fmt::format(
            "{}: {}: the teams have {} and {} ranks, which are not the same ranks; both arrays need the same, in any "
            "order: make both over the larger team, the one of fewer ranks with OnRanks{{distribution, ranks}}, or "
            "copy "
            "with ArraySlice::get() and put() on ranks that are in both",
            target.who(), text, target.size(), source.size())};
    };
    if (target.size() != source.size()) fail();
    const auto processes = [](Team& team) {
        return team.state().part<Processes>().number(team.state().communicator());
    };
    const std::optional<std::uint64_t> of_target = processes(target);
    const std::optional<std::uint64_t> of_source = processes(source);
    if (of_target && of_source) {
        if (*of_target != *of_source) fail();
    } else {
        int comparison = MPI_UNEQUAL;
        support::check_mpi(MPI_Comm_compare(target.state().communicator(), source.state().communicator(), &comparison),
                           "MPI_Comm_compare");
        if (comparison == MPI_UNEQUAL) fail();
    }
}

/// An assignment between the barrier at its start and the one at its end.
class PendingAssignment final : public transport::PendingTransfer {
public:
    /// `problem`: what has kept this rank from more than coming to the collective calls.
    explicit PendingAssignment(std::shared_ptr<AssignmentState> state, std::exception_ptr problem = {})
        : state_{std::move(state)}, problem_{std::move(problem)} {} // NOLINT(bugprone-throw-keyword-missing): a pointer
    ~PendingAssignment() override {
        if (!ended_) abandon();
    }

    /// Collective.
    void start(bool compare, pipeline::Serving serving);
    bool test() override;
    /// Collective.
    void wait() override;

private:
    void carry_out();
    /// Completes this rank's transfers, and no more than that.
    void abandon() noexcept;

    std::shared_ptr<AssignmentState> state_;
    std::uint64_t number_ = 0; ///< of the team's collective calls, the one that began it: the same on all ranks
    bool some_throw_ = false;  ///< what may throw comes first: then nothing else has been assigned
    bool all_throw_ = false;
    bool put_back_ = false; ///< the transfers are complete: what failed on some rank is what it was on all
    bool ended_ = false;
    std::exception_ptr problem_;
    int exceptions_at_start_ = std::uncaught_exceptions();
};

void PendingAssignment::start(bool compare, pipeline::Serving serving) {
    std::vector<Item>& items = state_->items;
    state_->require_open();
    try { // whatever may fail on this rank alone
        if (problem_ == nullptr && compare) (void)state_->compared_number();
        if (problem_ == nullptr)
            for (Item& item : items) state_->prepare(item, serving);
    } catch (...) {
        problem_ = std::current_exception();
    }
    state_->agree(problem_);
    state_->begin(compare, problem_);
    number_ = state_->teams.front()->state().synchronisation().completed_collectives();
    some_throw_ = std::ranges::any_of(items, &Item::may_throw);
    all_throw_ = std::ranges::all_of(items, &Item::may_throw);
    state_->started = true;
    state_->start(some_throw_, problem_);
}

bool PendingAssignment::test() {
    if (problem_ != nullptr) return false;
    try {
        for (Item& item : state_->items)
            if (item.movement != nullptr) (void)item.movement->test();
    } catch (...) { // wait() throws it on all ranks
        problem_ = std::current_exception();
    }
    return false;
}

void PendingAssignment::wait() {
    if (std::uncaught_exceptions() > exceptions_at_start_) return abandon();
    try {
        state_->require_open();
        carry_out();
    } catch (...) {
        // What failed on one rank was put back on all, and the assignment may be executed again with its plans and
        // functions. An array that was closed and a rank that has left end it.
        if (!put_back_) abandon();
        ended_ = true;
        state_->started = false;
        throw;
    }
    ended_ = true;
    state_->started = false;
    for (Item& item : state_->items)
        if (item.movement != nullptr) item.movement->forget();
}

void PendingAssignment::carry_out() {
    const trace::CallScope call{trace::Way::slice};
    const auto end = [&](const char* outcome) {
        put_back_ = true;
        state_->end(number_, outcome, problem_);
        put_back_ = false;
    };
    if (some_throw_) {
        state_->complete(true, problem_);
        end("all elements are what they were");
        if (!all_throw_) state_->start(false, problem_);
    }
    if (!all_throw_) {
        state_->complete(false, problem_);
        end("some elements may have been assigned");
    }
}

void PendingAssignment::abandon() noexcept {
    if (std::exchange(ended_, true)) return;
    state_->started = false;
    for (Item& item : state_->items) item.movement.reset();
}

} // namespace lapwing::detail::slices

namespace lapwing {

using detail::slices::ArrayGeometry;
using detail::slices::Item;

Assignment::Assignment() : state_{std::make_shared<detail::slices::AssignmentState>()} {}
Assignment::Assignment(Assignment&&) noexcept = default;
Assignment& Assignment::operator=(Assignment&&) noexcept = default;
Assignment::~Assignment() = default;

namespace {

/// An assignment of slices that belong together, which are `sources` in the texts of errors. Throws UsageError and
/// RangeError.
[[nodiscard]] Item checked_item(const detail::slices::SliceBase& target,
                                std::span<const detail::slices::SliceBase* const> sources) {
    const auto target_array = detail::slices::open_array(target, " = …");
    std::vector<std::shared_ptr<const ArrayGeometry>> arrays;
    for (const detail::slices::SliceBase* source : sources)
        arrays.push_back(detail::slices::open_array(*source, " on the right of an assignment"));
    // Arrays of two teams may have one number.
    const bool one_team = std::ranges::all_of(
        arrays, [&](const std::shared_ptr<const ArrayGeometry>& array) { return array->team == target_array->team; });
    const auto text_of = [&](const ArrayGeometry& array, const detail::slices::SliceBase& slice) {
        const std::string text = detail::slices::text_of(array, slice.shape());
        return one_team ? text : fmt::format("{} of the team of {} ranks", text, array.team->size());
    };
    Item item;
    item.target_array = target_array;
    item.target = target.shape();
    for (std::size_t k = 0; k < sources.size(); ++k) {
        item.sources.push_back({arrays[k], sources[k]->shape()});
        item.text += (k == 0 ? "" : ", ") + text_of(*arrays[k], *sources[k]);
    }
    if (sources.size() > 1) item.text = fmt::format("f({})", item.text);
    item.text = fmt::format("{} = {}", text_of(*target_array, target), item.text);
    for (std::size_t k = 0; k < sources.size(); ++k) {
        detail::slices::require_same_extents(*target_array, target.shape(), *arrays[k], sources[k]->shape());
        detail::slices::require_same_ranks(*target_array->team, *arrays[k]->team, item.text);
        const bool own = arrays[k] == target_array &&
                         detail::slices::same_elements(item.target, sources[k]->shape(), target_array->dimensions);
        item.to_itself = own && sources.size() == 1;
        item.through_copy = item.through_copy || (arrays[k] == target_array && !own &&
                                                  item.target.overlaps(sources[k]->shape(), target_array->dimensions));
    }
    return item;
}

} // namespace

void Assignment::add_slices(const detail::slices::SliceBase& target, const detail::slices::SliceBase& source,
                            detail::slices::ApplyValues apply, bool may_throw) {
    state_->require_idle("add");
    const detail::slices::SliceBase* const sources[] = {&source};
    Item item = checked_item(target, sources);
    item.to_itself = item.to_itself && !apply;
    item.apply = std::move(apply);
    item.may_throw = may_throw;
    state_->add(std::move(item));
}

void Assignment::add_sources(const detail::slices::SliceBase& target,
                             std::span<const detail::slices::SliceBase* const> sources,
                             detail::slices::ApplySources apply, bool may_throw) {
    state_->require_idle("add");
    Item item = checked_item(target, sources);
    item.to_itself = false;
    item.apply_sources = std::move(apply);
    item.may_throw = may_throw;
    state_->add(std::move(item));
}

void Assignment::add_value(const detail::slices::SliceBase& target, const void* value) {
    state_->require_idle("add_fill");
    const auto target_array = detail::slices::open_array(target, ".fill");
    Item item;
    item.target_array = target_array;
    item.target = target.shape();
    const auto* const bytes = static_cast<const std::byte*>(value);
    item.value.assign(bytes, bytes + target_array->element_bytes);
    item.text = detail::slices::text_of(*target_array, target.shape());
    state_->add(std::move(item));
}

void Assignment::refuse(std::span<const detail::slices::SliceBase* const> slices, const std::exception_ptr& problem) {
    // In place of what could not be made: the arrays, whose teams' barriers the other ranks come to.
    Item item;
    bool any = false;
    for (const detail::slices::SliceBase* slice : slices) {
        if (slice == nullptr || slice->array().expired()) continue;
        if (!std::exchange(any, true)) item.target_array = slice->array();
        else item.sources.push_back({slice->array(), slice->shape()});
    }
    detail::slices::AssignmentState refused;
    if (any) refused.add(std::move(item));
    refused.refuse(problem);
}

void Assignment::refuse(const std::exception_ptr& problem) const { state_->refuse(problem); }

void Assignment::execute(bool compare) {
    state_->require_idle("execute");
    if (state_->items.empty()) return;
    const detail::trace::CallScope call{detail::trace::Way::slice};
    detail::slices::PendingAssignment pending{state_};
    pending.start(compare, detail::pipeline::Serving::in_call);
    pending.wait();
}

Completion Assignment::start(bool compare) {
    state_->require_idle("start");
    if (state_->items.empty()) return {};
    const detail::trace::CallScope call{detail::trace::Way::slice};
    std::unique_ptr<detail::slices::PendingAssignment> pending;
    try {
        pending = std::make_unique<detail::slices::PendingAssignment>(state_);
    } catch (...) { // on this rank, and no memory: it throws as do the others in wait()
        detail::slices::PendingAssignment refused{state_, std::current_exception()};
        refused.start(compare, detail::pipeline::Serving::by_thread);
        refused.wait();
    }
    // Until they wait, the ranks do what they like.
    pending->start(compare, detail::pipeline::Serving::by_thread);
    return Completion{std::move(pending)};
}

std::uint64_t Assignment::transfers() const {
    std::uint64_t transfers = 0;
    for (Item& item : state_->items) {
        state_->prepare(item, item.serving);
        if (item.movement != nullptr) transfers += item.movement->transfers();
    }
    return transfers;
}

std::uint64_t Assignment::bytes() const {
    std::uint64_t bytes = 0;
    for (Item& item : state_->items) {
        state_->prepare(item, item.serving);
        if (item.movement != nullptr) bytes += item.movement->bytes();
    }
    return bytes;
}

std::string Assignment::explain() const {
    std::string text;
    for (Item& item : state_->items) {
        state_->prepare(item, item.serving);
        text += item.text + "\n";
        if (item.movement != nullptr) text += item.movement->explain();
    }
    return text;
}

} // namespace lapwing
