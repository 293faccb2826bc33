#include "functions/asked.hpp"

#include "functions/caller_side.hpp"

#include <lapwing/error.hpp>
#include <lapwing/functions.hpp>

#include <fmt/format.h>

#include <cstring>
#include <string_view>

namespace lapwing::detail::functions {

Asked::Asked(CallerSide& caller, const Destination& to, std::size_t room)
    : caller_{&caller}, target_{to.target}, call_{to.call}, for_program_{to.where == Where::program}, room_{room} {
    if (answer_bytes() > few_.size()) more_.resize(answer_bytes());
    operation_.destination = more_.empty() ? few_.data() : more_.data();
}

Asked::~Asked() {
    if (caller_ != nullptr) caller_->forget(*this);
}

Answer Asked::answer() const noexcept {
    Answer answer;
    std::memcpy(&answer, operation_.destination, sizeof answer);
    return answer;
}

bool Asked::done() const noexcept {
    if (delivered_.load(std::memory_order_acquire)) return true; // with what deliver() has written
    return operation_.done() && answer().kind == Answer::here;
}

void Asked::progress() {
    if (done() || caller_ == nullptr) return;
    team::TeamState& team = caller_->team();
    team::refuse_in_function(team, "Future::ready");
    team.require_open("Future::ready");
    const team::Waiting waiting{team.epoch().functions()}; // a loop of them is a wait
    team.progress();
    team.epoch().functions().serve_program();
    if (!done()) team.check_reachable(call_, target_);
}

void Asked::wait_until(const std::function<bool()>& enough) {
    if (caller_ == nullptr) return;
    team::TeamState& team = caller_->team();
    team.require_open("Future::wait");
    team.wait_until(
        [&] {
            team.epoch().functions().serve_program();
            return enough();
        },
        call_, target_);
}

void Asked::wait() {
    if (done() || caller_ == nullptr) return;
    // Two ranks whose functions wait for each other's program would wait for ever.
    if (for_program_) team::refuse_collective_in_function(caller_->team(), "Future::wait (Where::program)");
    wait_until([this] { return done(); });
}

std::span<const std::byte> Asked::result() const {
    if (!done())
        throw UsageError{
            fmt::format("{}: its team was closed, or left, before the result was here; take it before", call_)};
    if (!delivered_.load(std::memory_order_acquire)) return {operation_.destination + sizeof(Answer), answer().bytes};
    if (!failed_) return late_;
    throw FunctionError{fmt::format(
        "{}: {}: {}", caller_ == nullptr ? std::string_view{"a closed team"} : std::string_view{caller_->team().who()},
        call_, std::string_view{reinterpret_cast<const char*>(late_.data()), late_.size()})};
}

void Asked::deliver(bool failed, std::span<const std::byte> bytes) {
    failed_ = failed;
    late_.assign(bytes.begin(), bytes.end());
    delivered_.store(true, std::memory_order_release);
}

void throw_no_future(const char* call) {
    throw UsageError{fmt::format("{}: there is no result to wait for: get() has returned it, or the future was moved "
                                 "from",
                                 call)};
}

} // namespace lapwing::detail::functions
