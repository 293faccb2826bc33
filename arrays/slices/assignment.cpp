#include <lapwing/assignment.hpp>

#include "arrays/slices/compared.hpp"
#include "arrays/slices/exchange.hpp"
#include "arrays/slices/promotion.hpp"
#include "src/mpi/agreement.hpp"
#include "src/support/hash.hpp"
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

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
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
    std::string text;             ///< of both slices
    std::unique_ptr<Movement> movement;
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

} // namespace

class AssignmentState {
public:
    std::vector<Item> items;
    std::optional<std::int64_t> number; ///< what ranks compare, once it is known
    bool started = false;               ///< by start(), whose result has not been waited for

    /// The arrays of an item. Throws UsageError when one was closed.
    struct Arrays {
        std::shared_ptr<const ArrayGeometry> target;
        std::vector<std::shared_ptr<const ArrayGeometry>> sources;
    };
    [[nodiscard]] static Arrays arrays(const Item& item) {
        Arrays arrays{item.target_array.lock(), {}};
        bool open = arrays.target != nullptr;
        for (const Source& source : item.sources) {
            arrays.sources.push_back(source.array.lock());
            open = open && arrays.sources.back() != nullptr;
        }
        if (!open)
            throw UsageError{fmt::format(
                "Assignment::execute: an array of {} was closed, or got other extents or another distribution; make "
                "another Assignment",
                item.text)};
        return arrays;
    }

    static void prepare(Item& item);
    static void fill(const Item& item);
    /// A number for the arrays and slices, which is the same on all ranks; and the slices in words.
    [[nodiscard]] std::int64_t compared_number();
    [[nodiscard]] std::string text() const;
    /// Collective: the barrier at the start, with what ranks compare if they do.
    void begin(const std::vector<Team*>& teams, bool compare);
    /// Starts those that may throw, or the others, and ends them; `problem` is what has kept this rank from something,
    /// and what keeps it from more.
    void start(bool may_throw, std::exception_ptr& problem);
    void complete(const std::vector<Team*>& teams, bool may_throw, std::exception_ptr& problem);
    /// Throws UsageError between start() and wait().
    void require_idle(const char* call) const;
    /// Collective: all ranks are done with what started as `number`, or throw what the first could not do.
    void end(const std::vector<Team*>& teams, std::uint64_t number, const char* outcome,
             const std::exception_ptr& problem);
    void restore() noexcept;
    /// The teams of all arrays, that of the first target before the others.
    [[nodiscard]] std::vector<Team*> teams() const;
    /// Collective where a distribution of a program's own takes part, which may be wrong on some ranks only: throws on
    /// all or on none. Elsewhere a problem is kept until the end, where all ranks throw.
    void agree(Team& team, const std::exception_ptr& problem) const;
};

void AssignmentState::prepare(Item& item) {
    const Arrays arrays = AssignmentState::arrays(item);
    if (item.movement != nullptr || item.to_itself || !item.value.empty()) return;
    if (item.apply_sources) {
        std::vector<SliceOfArray> sources;
        for (std::size_t k = 0; k < arrays.sources.size(); ++k)
            sources.push_back({arrays.sources[k].get(), item.sources[k].shape});
        item.movement = std::make_unique<Promotion>(SliceOfArray{arrays.target.get(), item.target}, std::move(sources),
                                                    PromotionOptions{.apply = item.apply_sources,
                                                                     .through_copy = item.through_copy,
                                                                     .restorable = item.may_throw});
        return;
    }
    Side target = Side::of(*arrays.target, item.target);
    Side source = Side::of(*arrays.sources.front(), item.sources.front().shape);
    ExchangeOptions options{.apply = item.apply,
                            .through_copy = item.through_copy,
                            .keep = true,
                            .restorable = item.may_throw,
                            .collective = true};
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
            std::byte* const memory = own.memory() + block.offset;
            for (std::uint64_t done = 0; done < block.bytes; done += item.value.size())
                std::memcpy(memory + done, item.value.data(), item.value.size());
        }
    }
}

std::int64_t AssignmentState::compared_number() {
    if (number) return *number;
    std::vector<std::int64_t> description;
    for (const Item& item : items) {
        const Arrays arrays = AssignmentState::arrays(item);
        const auto describe = [&](const ArrayGeometry& array, const SliceShape& shape) {
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

std::vector<Team*> AssignmentState::teams() const {
    std::vector<Team*> teams;
    const auto add = [&](Team* team) {
        if (std::ranges::find(teams, team) == teams.end()) teams.push_back(team);
    };
    for (const Item& item : items) {
        const Arrays arrays = AssignmentState::arrays(item);
        add(arrays.target->team);
        for (const auto& source : arrays.sources) add(source->team);
    }
    return teams;
}

void AssignmentState::agree(Team& team, const std::exception_ptr& problem) const {
    const bool user_defined = std::ranges::any_of(items, [](const Item& item) {
        const Arrays arrays = AssignmentState::arrays(item);
        return arrays.target->user_map != nullptr ||
               std::ranges::any_of(arrays.sources, [](const auto& source) { return source->user_map != nullptr; });
    });
    if (!user_defined) return;
    const mpi::Problem first = mpi::first_problem(team.state().communicator(), mpi::text_of(problem));
    if (problem != nullptr) std::rethrow_exception(problem);
    if (!first.text.empty())
        throw RangeError{fmt::format("{}: Assignment::execute: nothing was assigned, since rank {} could not: {}",
                                     team.who(), first.rank, first.text)};
}

void AssignmentState::begin(const std::vector<Team*>& teams, bool compare) {
    team::Synchronisation& synchronisation = teams.front()->state().synchronisation();
    const std::int64_t identity = team::identity_on_window("assign", arrays(items.front()).target->window->number());
    if (compare && synchronisation.checks() >= 1)
        synchronisation.barrier(team::CollectiveCall::on_window, identity,
                                {.number = compared_number(),
                                 .text = [this] { return text(); },
                                 .start =
                                     [&] {
                                         return fmt::format(
                                             "{}: Assignment::execute: the arrays, or the indices of a slice, differ",
                                             teams.front()->who());
                                     }});
    else synchronisation.barrier(team::CollectiveCall::on_window, identity);
    for (std::size_t k = 1; k < teams.size(); ++k) teams[k]->barrier();
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

void AssignmentState::complete(const std::vector<Team*>& teams, bool may_throw, std::exception_ptr& problem) {
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

void AssignmentState::end(const std::vector<Team*>& teams, std::uint64_t number, const char* outcome,
                          const std::exception_ptr& problem) {
    Team& team = *teams.front();
    const team::CallArguments which{
        .number = static_cast<std::int64_t>(number),
        .text = [&] { return fmt::format("the start of {} as collective call {}", text(), number); },
        .start = [&] { return fmt::format("{}: the end of an assignment that was started", team.who()); },
        .verb = "waits for",
        .remedy = "wait for started assignments in the same order on all ranks"};
    bool well = false;
    try {
        for (std::size_t k = 1; k < teams.size(); ++k) teams[k]->barrier();
        well = team.state().synchronisation().agreed_barrier(team::CollectiveCall::end_on_window, problem == nullptr,
                                                             which);
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
    if (target.state().synchronisation().checks() >= 2) {
        int comparison = MPI_UNEQUAL;
        support::check_mpi(MPI_Comm_compare(target.state().communicator(), source.state().communicator(), &comparison),
                           "MPI_Comm_compare");
        if (comparison == MPI_UNEQUAL) fail();
    }
}

/// An assignment between the barrier at its start and the one at its end.
class PendingAssignment final : public transport::PendingTransfer {
public:
    explicit PendingAssignment(std::shared_ptr<AssignmentState> state) : state_{std::move(state)} {}
    ~PendingAssignment() override {
        if (!ended_) abandon();
    }

    /// Collective.
    void start(bool compare);
    bool test() override;
    /// Collective.
    void wait() override;

private:
    void carry_out();
    /// Completes this rank's transfers, and no more than that.
    void abandon() noexcept;

    std::shared_ptr<AssignmentState> state_;
    std::vector<Team*> teams_;
    std::uint64_t number_ = 0; ///< of the team's collective calls, the one that began it: the same on all ranks
    bool some_throw_ = false;  ///< what may throw comes first: then nothing else has been assigned
    bool all_throw_ = false;
    bool put_back_ = false; ///< the transfers are complete: what failed on some rank is what it was on all
    bool ended_ = false;
    std::exception_ptr problem_;
    int exceptions_at_start_ = std::uncaught_exceptions();
};

void PendingAssignment::start(bool compare) {
    std::vector<Item>& items = state_->items;
    teams_ = state_->teams();
    try {
        for (Item& item : items) AssignmentState::prepare(item);
    } catch (...) {
        problem_ = std::current_exception();
    }
    state_->agree(*teams_.front(), problem_);
    state_->begin(teams_, compare);
    number_ = teams_.front()->state().synchronisation().completed_collectives();
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
        for (const Item& item : state_->items) (void)AssignmentState::arrays(item);
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
        state_->end(teams_, number_, outcome, problem_);
        put_back_ = false;
    };
    if (some_throw_) {
        state_->complete(teams_, true, problem_);
        end("all elements are what they were");
        if (!all_throw_) state_->start(false, problem_);
    }
    if (!all_throw_) {
        state_->complete(teams_, false, problem_);
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
    state_->items.push_back(std::move(item));
    state_->number.reset();
}

void Assignment::add_sources(const detail::slices::SliceBase& target,
                             std::span<const detail::slices::SliceBase* const> sources,
                             detail::slices::ApplySources apply, bool may_throw) {
    state_->require_idle("add");
    Item item = checked_item(target, sources);
    item.to_itself = false;
    item.apply_sources = std::move(apply);
    item.may_throw = may_throw;
    state_->items.push_back(std::move(item));
    state_->number.reset();
}

void Assignment::add_value(const detail::slices::SliceBase& target, const void* value) {
    state_->require_idle("add_fill");
    const auto target_array = detail::slices::open_array(target, ".fill");
    Item& item = state_->items.emplace_back();
    item.target_array = target_array;
    item.target = target.shape();
    const auto* const bytes = static_cast<const std::byte*>(value);
    item.value.assign(bytes, bytes + target_array->element_bytes);
    item.text = detail::slices::text_of(*target_array, target.shape());
    state_->number.reset();
}

void Assignment::execute(bool compare) {
    state_->require_idle("execute");
    if (state_->items.empty()) return;
    const detail::trace::CallScope call{detail::trace::Way::slice};
    detail::slices::PendingAssignment pending{state_};
    pending.start(compare);
    pending.wait();
}

Completion Assignment::start(bool compare) {
    state_->require_idle("start");
    if (state_->items.empty()) return {};
    const detail::trace::CallScope call{detail::trace::Way::slice};
    auto pending = std::make_unique<detail::slices::PendingAssignment>(state_);
    pending->start(compare);
    return Completion{std::move(pending)};
}

std::uint64_t Assignment::transfers() const {
    std::uint64_t transfers = 0;
    for (Item& item : state_->items) {
        state_->prepare(item);
        if (item.movement != nullptr) transfers += item.movement->transfers();
    }
    return transfers;
}

std::uint64_t Assignment::bytes() const {
    std::uint64_t bytes = 0;
    for (Item& item : state_->items) {
        state_->prepare(item);
        if (item.movement != nullptr) bytes += item.movement->bytes();
    }
    return bytes;
}

std::string Assignment::explain() const {
    std::string text;
    for (Item& item : state_->items) {
        state_->prepare(item);
        text += item.text + "\n";
        if (item.movement != nullptr) text += item.movement->explain();
    }
    return text;
}

} // namespace lapwing
