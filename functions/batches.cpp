#include <lapwing/detail/functions/batches.hpp>

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

namespace lapwing::detail::functions {
namespace {

/// Messages of one object that are being filled, or wait for their results.
constexpr std::size_t most_batches = 40;

/// With its memory.
struct OwnedBatch : Batch {
    Rank target{};
    Batches::Kind kind;
    std::uint32_t calls = 0; ///< of the runs before the last
    std::vector<std::uint64_t> memory;
    std::vector<void*> destinations; ///< of results
    std::unique_ptr<Asked> asked;    ///< sent, and its results are not here yet

    [[nodiscard]] std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(memory.data()); }
    [[nodiscard]] std::span<const std::byte> filled() noexcept { return {begin(), at}; }
};

[[nodiscard]] std::uint64_t number_of(const Window* window) {
    return window == nullptr ? no_window : window->state().number();
}

} // namespace

class Batches::State {
public:
    State(Team& team, const char* call)
        : team_{team},
          call_{call},
          functions_{Functions::of(team.state())},
          bytes_{team.state().engine().inline_limit() / sizeof(std::uint64_t) * sizeof(std::uint64_t)} {}

    /// A batch for more calls of that kind, in place of `full`, which may be null.
    Batch* next(std::vector<Batch*>& open, Rank target, const Kind& kind, Batch* full);
    void send(std::vector<Batch*>& open, OwnedBatch& batch);
    void send_all(std::vector<Batch*>& open) {
        for (const auto& batch : batches_)
            if (batch->function != nullptr && batch->asked == nullptr) send(open, *batch);
    }
    /// Takes over the results of the message that was sent first.
    void take_first();
    void take_all() {
        while (!sent_.empty()) take_first();
    }
    [[nodiscard]] CallerSide& caller() noexcept { return functions_.caller(); }
    void rethrow() {
        const support::FirstProblem problem = std::exchange(problem_, {});
        problem.rethrow();
    }

private:
    [[nodiscard]] OwnedBatch& take_free(std::vector<Batch*>& open);
    /// Throws RangeError where not even one call fits into a message.
    void require_room(const Kind& kind) const;
    /// Begins a run, for which there is room.
    void begin_run(OwnedBatch& batch, const Kind& kind) const;
    /// Writes the head of the last run.
    static void end_run(OwnedBatch& batch);
    [[nodiscard]] Destination destination_of(const OwnedBatch& batch) const {
        return {.team = team_, .target = batch.target, .call = call_};
    }

    Team& team_;
    const char* call_;
    Functions& functions_;
    std::size_t bytes_; ///< of a message
    std::deque<std::unique_ptr<OwnedBatch>> batches_;
    std::vector<OwnedBatch*> free_;
    std::deque<OwnedBatch*> sent_; ///< whose results are to come, in the order in which they were sent
    std::size_t turn_ = 0;         ///< which is sent next where there is no free one
    support::FirstProblem problem_;
};

OwnedBatch& Batches::State::take_free(std::vector<Batch*>& open) {
    if (free_.empty() && batches_.size() < most_batches) {
        OwnedBatch& batch = *batches_.emplace_back(std::make_unique<OwnedBatch>());
        batch.number = batches_.size() - 1;
        batch.memory.resize(bytes_ / sizeof(std::uint64_t));
        free_.reserve(batches_.size());
        free_.push_back(&batch);
    }
    if (free_.empty() && !sent_.empty()) take_first();
    while (free_.empty()) {
        OwnedBatch& oldest = *batches_[turn_++ % batches_.size()];
        if (oldest.asked == nullptr) send(open, oldest);
        if (free_.empty() && !sent_.empty()) take_first();
    }
    OwnedBatch& batch = *free_.back();
    free_.pop_back();
    return batch;
}

void Batches::State::begin_run(OwnedBatch& batch, const Kind& kind) const {
    batch.function = kind.function;
    batch.window = kind.window;
    batch.kind = kind;
    batch.count = 0;
    batch.head = batch.at;
    batch.at += kind.result_bytes == 0 ? sizeof(RunHead) : sizeof(AskHead);
    if (kind.result_bytes == 0) return;
    const std::size_t most =
        std::min((bytes_ - sizeof(AskHead)) / kind.argument_bytes, (bytes_ - sizeof(Answer)) / kind.result_bytes);
    batch.end = batch.at + most * kind.argument_bytes;
    batch.destinations.resize(most);
    batch.destination = batch.destinations.data();
}

void Batches::State::end_run(OwnedBatch& batch) {
    const RunHead head{.function = batch.function->number(),
                       .window = number_of(batch.window),
                       .count = batch.count,
                       .bytes = static_cast<std::uint32_t>(batch.at - batch.head - sizeof(RunHead))};
    std::memcpy(batch.head, &head, sizeof head);
    const std::size_t gap = messages::padded(head.bytes) - head.bytes;
    std::memset(batch.at, 0, gap); // there is room: the end is at a multiple of 8
    batch.at += gap;
    batch.calls += batch.count;
    batch.count = 0;
}

void Batches::State::require_room(const Kind& kind) const {
    const std::size_t room = bytes_ - std::max(sizeof(AskHead), sizeof(RunHead));
    if (kind.argument_bytes <= room && kind.result_bytes <= room) return;
    throw RangeError{fmt::format("{}: {}: arguments of {} bytes and a result of {}, of which {} fit into a packet; "
                                 "raise LAPWING_SERVICE_PACKET, or use puts and gets",
                                 team_.who(), call_, kind.argument_bytes, kind.result_bytes, room)};
}

Batch* Batches::State::next(std::vector<Batch*>& open, Rank target, const Kind& kind, Batch* full) {
    require_room(kind);
    Batch*& place = open[static_cast<std::size_t>(target.value)];
    if (full != nullptr) {
        auto& batch = *batches_[full->number];
        if (kind.result_bytes == 0 && batch.kind.result_bytes == 0 &&
            (batch.function != kind.function || batch.window != kind.window)) {
            end_run(batch);
            if (static_cast<std::size_t>(batch.end - batch.at) >= sizeof(RunHead) + kind.argument_bytes) {
                begin_run(batch, kind);
                return full;
            }
        }
        send(open, batch);
    }
    OwnedBatch& batch = take_free(open);
    batch.target = target;
    batch.calls = 0;
    batch.at = batch.begin();
    batch.end = batch.begin() + bytes_;
    begin_run(batch, kind);
    place = &batch;
    return place;
}

void Batches::State::send(std::vector<Batch*>& open, OwnedBatch& batch) {
    open[static_cast<std::size_t>(batch.target.value)] = nullptr;
    const Kind kind = batch.kind;
    const Destination to = destination_of(batch);
    CallerSide& caller = functions_.caller();
    if (kind.result_bytes == 0) {
        if (batch.count != 0) end_run(batch);
        batch.function = nullptr;
        free_.push_back(&batch);
        if (batch.calls != 0) caller.post(to, batch.filled(), batch.calls);
        return;
    }
    const AskHead head{.function = kind.function->number(), .window = number_of(kind.window), .count = batch.count};
    batch.destinations.resize(batch.count);
    // As an answer to no more than what there is room for.
    try {
        batch.asked = caller.ask(to, head, batch.filled().subspan(sizeof(AskHead)),
                                 messages::padded(std::uint64_t{batch.count} * kind.result_bytes));
    } catch (...) {
        batch.function = nullptr;
        free_.push_back(&batch);
        throw;
    }
    sent_.push_back(&batch);
}

void Batches::State::take_first() {
    OwnedBatch& batch = *sent_.front();
    batch.asked->wait();
    sent_.pop_front();
    problem_.attempt([&] {
        const std::span<const std::byte> results = batch.asked->result();
        const std::size_t bytes = batch.kind.result_bytes;
        for (std::size_t k = 0; k < batch.destinations.size(); ++k)
            std::memcpy(batch.destinations[k], results.data() + k * bytes, bytes);
    });
    batch.asked.reset();
    batch.function = nullptr;
    free_.push_back(&batch);
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

Batches::Batches(Team& team, const char* call, bool released)
    : open_(static_cast<std::size_t>(team.size())), state_{std::make_unique<State>(team, call)} {
    if (released) state_->caller().add(*this);
}

Batches::~Batches() { state_->caller().remove(*this); }

Batch* Batches::next(Rank target, const Kind& kind) {
    return state_->next(open_, target, kind, open_[static_cast<std::size_t>(target.value)]);
}

void Batches::send() { state_->send_all(open_); }

void Batches::finish() {
    state_->send_all(open_);
    state_->take_all();
    state_->rethrow();
}

} // namespace lapwing::detail::functions
