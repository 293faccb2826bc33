#include "src/team/epoch.hpp"

#include "src/support/backoff.hpp"
#include "src/support/first_problem.hpp"
#include "src/support/log.hpp"
#include "src/team/team_state.hpp"
#include "src/trace/interval_times.hpp"
#include "src/trace/recorder.hpp"

#include <boost/container/small_vector.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <utility>

namespace lapwing::detail::support::settings_in {
void team_epoch() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::team {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::NumberSetting age_setting{
    {.name = "LAPWING_HELD_WRITES",
     .default_value = "1000",
     .unit = "us",
     .help = "how long cached writes and gathered adds wait for a release once a program adds no more to them; then "
             "they are sent (with a progress thread); 0: they wait for the release",
     .choices = {}},
    0,
    1'000'000'000};

} // namespace

/// Members that are used without the mutex, and must not go meanwhile.
class Epoch::Pinned {
public:
    Pinned() = default;
    ~Pinned() {
        // Release: a thread that closes a member sees what was done with it.
        for (EpochMember* const member : members_) member->pins_.fetch_sub(1, std::memory_order_release);
        for (RemoteFunctions* const functions : functions_) functions->pins_.fetch_sub(1, std::memory_order_release);
    }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

    /// With the epoch's mutex held.
    void add(EpochMember& member) {
        members_.push_back(&member);
        member.pins_.fetch_add(1, std::memory_order_relaxed);
    }
    void add(RemoteFunctions& functions) {
        functions_.push_back(&functions);
        functions.pins_.fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] bool empty() const noexcept { return members_.empty() && functions_.empty(); }
    [[nodiscard]] std::span<RemoteFunctions* const> functions() const noexcept {
        return {functions_.data(), functions_.size()};
    }
    [[nodiscard]] std::span<EpochMember* const> members() const noexcept { return {members_.data(), members_.size()}; }

private:
    boost::container::small_vector<EpochMember*, 8> members_;
    boost::container::small_vector<RemoteFunctions*, 1> functions_;
};

void Epoch::order_memory() {
    // To order one member is to order all, of whichever team: a fence of the processor and MPI's synchronisation of its
    // copies, which are the same in each.
    if (shared_->members.empty()) std::atomic_thread_fence(std::memory_order_seq_cst);
    else shared_->members.front()->order_memory();
}

void Epoch::release() {
    team_.check_usable("Team::release");
    team_.progress_driver().serve_now_and_then();
    Pinned pinned;
    {
        const support::BiasedMutex::Guard guard{shared_->mutex};
        for (EpochMember* const member : shared_->members)
            if (member->holds_back() || member->under_way()) pinned.add(*member);
        for (RemoteFunctions* const functions : shared_->functions)
            if (functions->under_way()) pinned.add(*functions);
        if (pinned.empty()) return order_memory();
    }
    support::FirstProblem problem;
    for (EpochMember* const member : pinned.members())
        if (member->holds_back()) problem.attempt([&] { member->start_release(); });
    for (RemoteFunctions* const functions : pinned.functions()) problem.attempt([&] { functions->complete(); });
    for (EpochMember* const member : pinned.members()) problem.attempt([&] { member->finish_release(); });
    if (!pinned.members().empty()) {
        pinned.members().front()->order_memory();
    } else {
        const support::BiasedMutex::Guard guard{shared_->mutex};
        order_memory();
    }
    problem.rethrow();
}

void Epoch::acquire() {
    team_.check_usable("Team::acquire");
    if (trace::has_intervals()) [[unlikely]]
        trace::sequence_point();
    team_.progress_driver().serve_looks();
    Pinned pinned;
    {
        const support::BiasedMutex::Guard guard{shared_->mutex};
        order_memory();
        if (shared_->members_with_copies.empty()) return;
        for (EpochMember* const member : shared_->members_with_copies) pinned.add(*member);
    }
    for (EpochMember* const member : pinned.members()) member->drop_copies();
}

bool Epoch::only_memory() {
    const support::BiasedMutex::Guard guard{shared_->mutex};
    return shared_->members_with_copies.empty() &&
           std::ranges::none_of(shared_->functions,
                                [](const RemoteFunctions* functions) { return functions->under_way(); }) &&
           std::ranges::none_of(shared_->members,
                                [](const EpochMember* member) { return member->holds_back() || member->under_way(); });
}

void Epoch::add(EpochMember& member) {
    const support::BiasedMutex::Guard guard{shared_->mutex};
    shared_->members.push_back(&member);
    if (member.has_copies()) shared_->members_with_copies.push_back(&member);
}

std::shared_ptr<Flusher> Epoch::flusher() {
    const std::chrono::microseconds age{age_setting.get(team_.settings())};
    if (age.count() == 0 || !team_.progress_driver().has_thread()) return nullptr;
    const std::lock_guard guard{shared_->flusher_mutex};
    if (shared_->flusher != nullptr || shared_->flusher_stopped) return shared_->flusher;
    try {
        shared_->flusher = std::make_shared<Flusher>(age, team_.topology().processors().for_progress());
    } catch (const std::exception& error) {
        support::log_line(fmt::format("{}: no thread could be started to send writes that no release follows ({}); "
                                      "they wait for the next release",
                                      team_.who(), error.what()));
        shared_->flusher_stopped = true;
    }
    return shared_->flusher;
}

void Epoch::stop_flusher() noexcept {
    std::shared_ptr<Flusher> flusher;
    {
        const std::lock_guard guard{shared_->flusher_mutex};
        shared_->flusher_stopped = shared_->flusher_stopped || founder_;
        flusher = founder_ ? std::exchange(shared_->flusher, nullptr) : shared_->flusher;
    }
    if (flusher == nullptr) return;
    flusher->abandon(team_);
    if (founder_) flusher->stop();
}

void Epoch::copies_changed(EpochMember& member) {
    const support::BiasedMutex::Guard guard{shared_->mutex};
    std::erase(shared_->members_with_copies, &member);
    if (member.has_copies() && std::ranges::find(shared_->members, &member) != shared_->members.end())
        shared_->members_with_copies.push_back(&member);
}

void Epoch::remove(EpochMember& member) noexcept {
    {
        const support::BiasedMutex::Guard guard{shared_->mutex};
        std::erase(shared_->members, &member);
        std::erase(shared_->members_with_copies, &member);
    }
    await(member.pins_);
}

void Epoch::await(const std::atomic<int>& pins) noexcept {
    support::Backoff backoff{support::ProcessorShare::crowded};
    while (pins.load(std::memory_order_acquire) != 0)
        if (!team_.progress()) backoff.pause();
}

void Epoch::own(std::unique_ptr<RemoteFunctions> functions) {
    functions_ = std::move(functions);
    const support::BiasedMutex::Guard guard{shared_->mutex};
    shared_->functions.push_back(functions_.get());
}

void Epoch::leave_functions() noexcept {
    {
        const support::BiasedMutex::Guard guard{shared_->mutex};
        std::erase(shared_->functions, functions_.get());
    }
    await(functions_->pins_);
}

void Epoch::on_finalize() noexcept {
    const support::BiasedMutex::Guard guard{shared_->mutex};
    for (EpochMember* const member : shared_->members) member->on_finalize();
}

std::string Epoch::still_open() {
    const support::BiasedMutex::Guard guard{shared_->mutex};
    const auto counts = [this](const EpochMember* member) { return founder_ || &member->team_state() == &team_; };
    const auto count = std::ranges::count_if(shared_->members, counts);
    if (count == 0) return {};
    return fmt::format("{} of its windows are open, the first is {}", count,
                       (*std::ranges::find_if(shared_->members, counts))->label());
}

} // namespace lapwing::detail::team
