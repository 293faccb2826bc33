#include <lapwing/detail/functions/batches.hpp>

#include "functions/call_list.hpp"
#include "functions/functions.hpp"
#include "src/support/first_problem.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>

namespace lapwing::detail::functions {
namespace {

/// Memory of the messages of one object that are being filled, or are on their way, with their results.
constexpr std::size_t memory_bytes = std::size_t{512} << 10;
constexpr std::size_t least_bytes = 512;
/// Of a message without results: both MPIs send it at once over TCP, without asking the receiver.
constexpr std::size_t largest_message = std::size_t{60} << 10;
/// Of a message with results, which are twice as many bytes: values of 8 bytes at places of 4.
constexpr std::size_t largest_question = std::size_t{32} << 10;
/// Of elements of one rank that are read without a message, where there are several hops.
constexpr std::size_t near_bytes = std::size_t{2} << 10;

/// Of messages to the ranks of a team, so that each rank may have two of them while there is memory for that.
[[nodiscard]] std::size_t message_bytes(const Team& team, std::size_t packet, bool answered) {
    const auto ranks = static_cast<std::size_t>(team.size());
    const std::size_t fair = memory_bytes / (answered ? 3 : 1) / std::max<std::size_t>(2 * ranks, 8);
    std::size_t bytes = std::min(answered ? largest_question : largest_message, fair);
    // A question that is longer than a packet takes two messages, which only a network is worth.
    if (answered && (bytes < 2 * packet || team.node_size() == team.size())) bytes = std::min(bytes, packet);
    return std::max(bytes, least_bytes) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
}

/// With its memory.
struct OwnedBatch : Batch {
    Rank target{};
    Batches::Kind kind;
    std::uint32_t calls = 0;            ///< of the runs before the last
    std::vector<void*> destinations;    ///< of results
    std::unique_ptr<Asked> asked;       ///< sent, and its results are not here yet
    std::shared_ptr<Outgoing> outgoing; ///< the message; without results its operation is not done while it leaves

    explicit OwnedBatch(std::shared_ptr<Outgoing> memory) noexcept : outgoing{std::move(memory)} {}
    /// Empty, for calls at that rank. Its memory is not in use.
    void begin_message(Rank rank, std::size_t needed) {
        if (outgoing->message.size() < needed) outgoing->message.resize(needed);
        target = rank;
        calls = 0;
        at = begin();
    }
    [[nodiscard]] std::byte* begin() noexcept { return outgoing->message.data(); }
    [[nodiscard]] std::size_t room() noexcept {
        return outgoing->message.size() - static_cast<std::size_t>(at - begin());
    }
    [[nodiscard]] std::span<const std::byte> filled() noexcept { return {begin(), at}; }
    /// Takes one more call of that kind. `arguments`: of Form::common.
    [[nodiscard]] bool is_for(Rank rank, const Batches::Kind& of, const void* arguments) const {
        if (function != of.function || window != of.window || target != rank || form != of.form ||
            argument_bytes != of.argument_bytes || at > last)
            return false;
        const std::size_t bytes = form == Form::common ? argument_bytes - sizeof(std::uint32_t) : 0;
        return std::equal(common, common + bytes, static_cast<const std::byte*>(arguments));
    }
};

[[nodiscard]] std::uint64_t number_of(const Window* window) {
    return window == nullptr ? no_window : window->state().number();
}

} // namespace

class Batches::State {
public:
    State(Batches& owner, Team& team, const char* call, Results results, bool released)
        : owner_{owner},
          team_{team},
          call_{call},
          functions_{Functions::of(team.state())},
          hops_{functions_.relay().route().hops()},
          bytes_{hops_ > 1 ? team.state().engine().inline_limit()
                           : message_bytes(team, team.state().engine().inline_limit(), results != Results::none)},
          most_{std::max<std::size_t>(memory_bytes / (results == Results::none ? bytes_ : 3 * bytes_), 4)},
          reads_{results == Results::read},
          released_{released && team::running_function.where != team::RunningFunction::Where::progress} {
        if (released_) caller().add(owner_);
    }
    ~State() {
        if (released_) caller().remove(owner_);
        for (const auto& batch : batches_) drop(batch->outgoing);
        for (const auto& [target, batch] : near_) drop(batch->outgoing);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    /// A batch for more calls of that kind, in place of `full`, which may be null.
    Batch* next(std::vector<Batch*>& open, Rank target, const Kind& kind, const void* common, Batch* full);
    void send(std::vector<Batch*>& open, OwnedBatch& batch);
    void send_all(std::vector<Batch*>& open) {
        if (hops_ > 1) {
            for (const auto& [target, batch] : near_) read_near(*batch);
            send_large(open);
            return send_relayed();
        }
        send_batches(open);
    }
    [[nodiscard]] int hops() const noexcept { return hops_; }
    /// next() with several hops, for one call.
    Batch* next_relayed(std::vector<Batch*>& open, Rank target, const Kind& kind);
    /// Reads the elements that a batch asks for, which can be loaded here.
    void read_here(OwnedBatch& batch);
    [[nodiscard]] bool is_idle();
    static void take_results(std::span<void* const> destinations, std::size_t bytes, const std::byte* results);
    /// Waits for the message that was sent first, and takes over its results.
    void take_first();
    void take_all() {
        while (!sent_.empty()) take_first();
        while (!relayed_.empty()) take_first_relayed();
    }
    [[nodiscard]] CallerSide& caller() noexcept { return functions_.caller(); }
    void rethrow() {
        const support::FirstProblem problem = std::exchange(problem_, {});
        problem.rethrow();
    }

    /// In a call, which may run functions of the program's that release: those do not finish this object.
    bool busy = false;

private:
    [[nodiscard]] std::unique_ptr<OwnedBatch> make_batch(std::size_t bytes) {
        return std::make_unique<OwnedBatch>(caller().spare_messages().take(bytes));
    }
    void drop(const std::shared_ptr<Outgoing>& outgoing) {
        if (outgoing->operation.done()) caller().spare_messages().give_back(outgoing);
        else caller().keep_until_left(outgoing);
    }
    [[nodiscard]] OwnedBatch& take_free(std::vector<Batch*>& open);
    [[nodiscard]] OwnedBatch& begin_batch(std::vector<Batch*>& open, Rank target, const Kind& kind, const void* common);
    /// Whether the elements that it reads can be loaded here.
    [[nodiscard]] bool is_near(Rank target, const Kind& kind) const {
        return reads_ && kind.window->state().map().base(target) != nullptr;
    }
    /// All that are being filled.
    void send_batches(std::vector<Batch*>& open);
    void send_large(std::vector<Batch*>& open);
    /// Hands what has been gathered to the relay.
    void send_relayed();
    struct Relayed {
        std::shared_ptr<Transit> transit;
        std::vector<void*> destinations;
    };
    /// Takes over the results, which are there.
    void take_relayed(const Relayed& one);
    /// Waits for those that were sent first.
    void take_first_relayed();
    /// Calls that read elements of a rank whose part can be loaded here: they need no message.
    Batch* next_near(Rank target, const Kind& kind);
    void read_near(OwnedBatch& batch);
    /// Throws RangeError where not even one call fits into a message.
    void require_room(const Kind& kind, std::size_t call_bytes) const;
    /// Begins a run, for which there is room.
    void begin_run(OwnedBatch& batch, const Kind& kind, const void* common) const;
    /// Writes the head of the last run.
    static void end_run(OwnedBatch& batch);
    [[nodiscard]] Destination destination_of(const OwnedBatch& batch) const {
        return {.team = team_, .target = batch.target, .call = call_};
    }

    Batches& owner_;
    Team& team_;
    const char* call_;
    Functions& functions_;
    int hops_;
    std::size_t bytes_; ///< of a message
    std::size_t most_;  ///< of them
    bool reads_;        ///< see Results::read
    bool released_;     ///< releases finish it; not in a function that must not wait
    ByteWriter read_;   ///< what has been read without a message
    std::deque<std::unique_ptr<OwnedBatch>> batches_;
    std::vector<OwnedBatch*> free_;
    std::deque<OwnedBatch*> sent_; ///< that are on their way, or wait for results, in the order in which they were sent
    // With several hops:
    CallList calls_; ///< that are being gathered, with results of so many bytes each
    std::uint32_t result_bytes_ = 0;
    std::vector<void*> destinations_;                           ///< of these
    Batch relay_batch_;                                         ///< where the next one is written
    OwnedBatch* large_ = nullptr;                               ///< a call whose result goes past other ranks
    std::unordered_map<int, std::unique_ptr<OwnedBatch>> near_; ///< of ranks whose parts can be loaded here
    std::deque<Relayed> relayed_;                               ///< that wait for results
    std::uint64_t gathered_before_ = 0;                         ///< see is_idle()
    support::FirstProblem problem_;
};

OwnedBatch& Batches::State::take_free(std::vector<Batch*>& open) {
    if (free_.empty() && batches_.size() < most_) {
        OwnedBatch& batch = *batches_.emplace_back(make_batch(bytes_));
        batch.number = batches_.size() - 1;
        free_.reserve(batches_.size());
        free_.push_back(&batch);
    }
    if (free_.empty() && sent_.empty()) send_batches(open); // all, so that they are on their way together
    while (free_.empty()) take_first();
    OwnedBatch& batch = *free_.back();
    free_.pop_back();
    return batch;
}

void Batches::State::send_batches(std::vector<Batch*>& open) {
    for (const auto& batch : batches_)
        if (batch->function != nullptr) send(open, *batch);
}

OwnedBatch& Batches::State::begin_batch(std::vector<Batch*>& open, Rank target, const Kind& kind, const void* common) {
    OwnedBatch& batch = take_free(open);
    batch.begin_message(target, messages::padded(std::max(sizeof(AskHead), sizeof(RunHead)) + kind.argument_bytes));
    begin_run(batch, kind, common);
    return batch;
}

void Batches::State::begin_run(OwnedBatch& batch, const Kind& kind, const void* common) const {
    batch.function = kind.function;
    batch.window = kind.window;
    batch.form = kind.form;
    batch.argument_bytes = kind.argument_bytes;
    batch.kind = kind;
    batch.count = 0;
    batch.head = batch.at;
    batch.at += kind.result_bytes == 0 ? sizeof(RunHead) : sizeof(AskHead);
    std::size_t call_bytes = kind.argument_bytes;
    if (kind.form == Form::common) {
        const std::size_t bytes = kind.argument_bytes - sizeof(std::uint32_t);
        batch.common = batch.at;
        if (bytes != 0) std::memcpy(batch.at, common, bytes);
        batch.at += bytes;
        call_bytes = sizeof(std::uint32_t);
    }
    std::size_t most = batch.room() / call_bytes;
    if (kind.result_bytes != 0) {
        most = std::min(most, std::max<std::size_t>(2 * bytes_ / kind.result_bytes, 1));
        batch.destinations.resize(most);
        batch.destination = batch.destinations.data();
    }
    batch.last = batch.at + (most - 1) * call_bytes;
}

void Batches::State::end_run(OwnedBatch& batch) {
    const RunHead head{.function = batch.function->number(),
                       .window = number_of(batch.window),
                       .count = batch.count,
                       .bytes = static_cast<std::uint32_t>(batch.at - batch.head - sizeof(RunHead)),
                       .form = batch.form};
    std::memcpy(batch.head, &head, sizeof head);
    const std::size_t gap = messages::padded(head.bytes) - head.bytes;
    std::memset(batch.at, 0, gap); // there is room: the end is at a multiple of 8
    batch.at += gap;
    batch.calls += batch.count;
    batch.count = 0;
}

void Batches::State::require_room(const Kind& kind, std::size_t call_bytes) const {
    const messages::Engine& engine = team_.state().engine();
    const std::size_t room = std::max(bytes_, engine.inline_limit()) - std::max(sizeof(AskHead), sizeof(RunHead));
    const std::size_t largest_result = engine.largest_staged() - sizeof(Answer);
    if (call_bytes <= room && kind.result_bytes <= largest_result) return;
    throw RangeError{fmt::format("{}: {}: arguments of {} bytes, of which {} fit into a message, and a result of {}, "
                                 "of which {} do; raise LAPWING_SERVICE_PACKET, or use puts and gets",
                                 team_.who(), call_, call_bytes, room, kind.result_bytes, largest_result)};
}

Batch* Batches::State::next(std::vector<Batch*>& open, Rank target, const Kind& kind, const void* common, Batch* full) {
    if (!is_near(target, kind)) require_room(kind, kind.argument_bytes);
    Batch*& place = open[static_cast<std::size_t>(target.value)];
    if (full != nullptr) {
        auto& batch = *batches_[full->number];
        const bool has_room = batch.at <= batch.last;
        if (kind.result_bytes == 0 && batch.kind.result_bytes == 0 && has_room) { // the run ends, not it
            end_run(batch);
            if (batch.room() >= sizeof(RunHead) + kind.argument_bytes) {
                begin_run(batch, kind, common);
                return full;
            }
        }
        if (!reads_ || !has_room) send(open, batch);
    }
    if (reads_) // in no order, so that those of several kinds fill a message each
        for (const auto& batch : batches_)
            if (batch->is_for(target, kind, common)) return place = batch.get();
    return place = &begin_batch(open, target, kind, common);
}

void Batches::State::send(std::vector<Batch*>& open, OwnedBatch& batch) {
    Batch*& place = open[owner_.place_of(batch.target)];
    if (place == &batch) place = nullptr;
    gathered_before_ = 0;
    const Kind kind = batch.kind;
    const Destination to = destination_of(batch);
    CallerSide& caller = functions_.caller();
    if (kind.result_bytes == 0 && batch.count != 0) end_run(batch);
    batch.function = nullptr;
    if (kind.result_bytes == 0) {
        free_.push_back(&batch);
        if (batch.calls == 0) return;
        caller.post(to, batch.filled(), batch.calls, &batch.outgoing->operation);
        if (batch.outgoing->operation.done()) return;
        free_.pop_back();
        return sent_.push_back(&batch);
    }
    batch.destinations.resize(batch.count);
    const AskHead head{.function = kind.function->number(),
                       .window = number_of(kind.window),
                       .count = batch.count,
                       .form = batch.form};
    // As an answer to no more than what there is room for.
    try {
        // Not before what this rank has posted there.
        if (is_near(batch.target, kind) && (batch.target == team_.rank() || !caller.has_posted(batch.target))) {
            read_here(batch);
            return free_.push_back(&batch);
        }
        batch.asked = caller.ask(to, head, batch.filled().subspan(sizeof(AskHead)),
                                 messages::padded(std::uint64_t{batch.count} * kind.result_bytes));
    } catch (...) {
        free_.push_back(&batch);
        throw;
    }
    sent_.push_back(&batch);
}

void Batches::State::read_here(OwnedBatch& batch) {
    std::byte* const part = batch.kind.window->state().map().base(batch.target);
    Invocation call{.arguments = ByteReader{batch.filled().subspan(sizeof(AskHead))},
                    .count = batch.count,
                    .form = batch.form,
                    .part = {part, batch.kind.window->size(batch.target)},
                    .results = &read_};
    read_.clear();
    batch.kind.function->run(call);
    take_results(batch.destinations, batch.kind.result_bytes, read_.bytes().data());
}

void Batches::State::take_results(std::span<void* const> destinations, std::size_t bytes, const std::byte* result) {
    for (void* const destination : destinations) {
        if (bytes == sizeof(std::uint64_t)) std::memcpy(destination, result, sizeof(std::uint64_t)); // most of them
        else std::memcpy(destination, result, bytes);
        result += bytes;
    }
}

void Batches::State::take_first() {
    OwnedBatch& batch = *sent_.front();
    if (batch.asked == nullptr) caller().wait(destination_of(batch), batch.outgoing->operation);
    else batch.asked->wait();
    sent_.pop_front();
    if (batch.asked != nullptr)
        problem_.attempt(
            [&] { take_results(batch.destinations, batch.kind.result_bytes, batch.asked->result().data()); });
    batch.asked.reset();
    free_.push_back(&batch);
}

// ---- several hops ---------------------------------------------------------------------------------------------------

Batch* Batches::State::next_relayed(std::vector<Batch*>& open, Rank target, const Kind& listed) {
    send_large(open);
    Kind kind = listed;
    if (kind.form == Form::common) kind.form = Form::narrow; // each has its argument
    if (kind.result_bytes != 0) {
        team::refuse_in_function(team_.state(), call_);
        if (is_near(target, kind)) return next_near(target, kind);
        if (kind.result_bytes > bytes_) {
            require_room(kind, kind.argument_bytes);
            return large_ = &begin_batch(open, target, kind, nullptr);
        }
    }
    require_room(kind, sizeof(RelayRun) + sizeof target.value + kind.argument_bytes);
    const RelayRun run{.function = kind.function->number(),
                       .window = number_of(kind.window),
                       .argument_bytes = kind.argument_bytes,
                       .form = kind.form};
    if (calls_.count() != 0 && (kind.result_bytes != result_bytes_ || calls_.bytes_with(run) > bytes_ ||
                                (calls_.count() + std::size_t{1}) * kind.result_bytes > bytes_))
        send_relayed();
    result_bytes_ = kind.result_bytes;
    relay_batch_.form = kind.form;
    relay_batch_.at = calls_.add(run, target);
    if (kind.result_bytes != 0) relay_batch_.destination = &destinations_.emplace_back(nullptr);
    return &relay_batch_;
}

void Batches::State::send_large(std::vector<Batch*>& open) {
    if (OwnedBatch* const batch = std::exchange(large_, nullptr)) send(open, *batch);
}

void Batches::State::send_relayed() {
    if (calls_.count() == 0) return;
    // Results of any that have ended: their memory is the relay's bound no longer.
    std::erase_if(relayed_, [&](const Relayed& one) {
        const bool done = one.transit->done.load(std::memory_order_acquire);
        if (done) take_relayed(one);
        return done;
    });
    gathered_before_ = 0;
    auto transit = caller().relay(call_, calls_, result_bytes_);
    if (result_bytes_ != 0)
        relayed_.push_back({.transit = std::move(transit), .destinations = std::exchange(destinations_, {})});
}

void Batches::State::take_relayed(const Relayed& one) {
    const Transit& transit = *one.transit;
    take_results(one.destinations, transit.head.result_bytes, transit.results.data());
    if (transit.failed.empty()) return;
    problem_.attempt(
        [&] { throw FunctionError{fmt::format("{}: {}: {}", team_.who(), call_, transit.failure_text())}; });
}

void Batches::State::take_first_relayed() {
    const Relayed first = std::move(relayed_.front());
    relayed_.pop_front();
    team_.state().wait_until([&] { return first.transit->done.load(std::memory_order_acquire); }, call_);
    take_relayed(first);
}

Batch* Batches::State::next_near(Rank target, const Kind& kind) {
    std::unique_ptr<OwnedBatch>& near = near_[target.value];
    if (near == nullptr) near = make_batch(near_bytes);
    OwnedBatch& batch = *near;
    if (!batch.is_for(target, kind, nullptr)) {
        read_near(batch);
        batch.begin_message(target, 0);
        begin_run(batch, kind, nullptr);
    }
    return &batch;
}

void Batches::State::read_near(OwnedBatch& batch) {
    if (batch.function == nullptr) return;
    // Not before what this rank has posted there.
    caller().complete_relayed(call_, CallerSide::Relayed::posts);
    if (batch.target != team_.rank() && caller().has_posted(batch.target)) caller().complete_direct(call_);
    batch.function = nullptr;
    batch.destinations.resize(batch.count);
    read_here(batch);
    gathered_before_ = 0;
}

bool Batches::State::is_idle() {
    std::uint64_t gathered = calls_.count();
    for (const auto& batch : batches_)
        if (batch->function != nullptr) gathered += batch->calls + batch->count;
    return gathered != 0 && gathered == std::exchange(gathered_before_, gathered);
}

void begin_list(Window& window) {
    window::AccessOrder& order = window.state().order();
    if (order.holds_back() || order.under_way()) order.release();
    end_list(window);
}

void end_list(Window& window) {
    window::AccessOrder& order = window.state().order();
    if (order.has_copies()) order.acquire(); // what the functions change is read again
}

namespace {

class Busy {
public:
    explicit Busy(bool& busy) noexcept : busy_{busy}, before_{std::exchange(busy, true)} {}
    ~Busy() { busy_ = before_; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

private:
    bool& busy_;
    bool before_;
};

} // namespace

Batches::Batches(Team& team, const char* call, Results results, bool released)
    : rank_mask_{0}, state_{std::make_unique<State>(*this, team, call, results, released)} {
    if (state_->hops() == 1) rank_mask_ = ~std::size_t{0};
    open_.resize(rank_mask_ == 0 ? 1 : static_cast<std::size_t>(team.size()));
}

Batches::~Batches() = default;

Batch* Batches::next(Rank target, const Kind& kind, const void* common) {
    const Busy busy{state_->busy};
    if (rank_mask_ == 0) return state_->next_relayed(open_, target, kind);
    return state_->next(open_, target, kind, common, open_[static_cast<std::size_t>(target.value)]);
}

void Batches::send() {
    const Busy busy{state_->busy};
    state_->send_all(open_);
}

bool Batches::busy() const noexcept { return state_->busy; }

bool Batches::is_idle() noexcept { return state_->is_idle(); }

void Batches::leave_to_release(const char* problem) noexcept { state_->caller().note_failure(problem); }

void Batches::finish() {
    if (state_->busy) return;
    const Busy busy{state_->busy};
    state_->send_all(open_);
    state_->take_all();
    state_->rethrow();
}

} // namespace lapwing::detail::functions
