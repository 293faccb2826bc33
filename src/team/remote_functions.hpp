#pragma once

#include <atomic>
#include <memory>

namespace lapwing::detail::team {

class TeamState;

/// The functions that a team's ranks run at one another, as the team sees them: the room functions/ implements it.
class RemoteFunctions {
public:
    virtual ~RemoteFunctions() = default;

    /// Whether a release has to wait for calls of this rank.
    [[nodiscard]] bool under_way() const noexcept { return under_way_.load(std::memory_order_acquire); }
    /// Waits until all calls that this rank has made before have run. Throws what the first of them that failed threw,
    /// if it has no other way to its caller.
    virtual void complete() = 0;

    /// At the end of every round of progress, with the engine's mutex held: sends what found no room before.
    virtual void on_progress() = 0;

    /// Runs the functions of other ranks that wait for a thread of the program on the calling thread, unless it or
    /// another one is doing so already.
    void serve_program() {
        if (wait_for_program_.load(std::memory_order_relaxed)) [[unlikely]]
            run_for_program();
    }

    /// Functions that wait for something in this team, on threads of the program. Meanwhile no calls of other ranks
    /// may be held up, since what is waited for would be, too.
    [[nodiscard]] std::atomic<int>& waiting_functions() noexcept { return waiting_functions_; }

    /// Before the calling thread waits for what programs of other ranks do: sends the calls that it has gathered.
    void send_gathered() {
        if (gathering_.load(std::memory_order_relaxed)) [[unlikely]]
            send_gathered_here(false);
    }
    /// In a call that such a loop makes again and again: sends them if there have been no more since the last one.
    void send_gathered_if_idle() {
        if (gathering_.load(std::memory_order_relaxed)) [[unlikely]]
            send_gathered_here(true);
    }

protected:
    virtual void run_for_program() = 0;
    virtual void send_gathered_here(bool idle) = 0;

    std::atomic<bool> under_way_{false};
    std::atomic<bool> wait_for_program_{false};
    std::atomic<int> waiting_functions_{0};
    std::atomic<bool> gathering_{false};

private:
    friend class Epoch;
    std::atomic<int> pins_{0}; ///< releases that use it at the moment
};

/// Before the team makes any progress. Defined where all rooms are known: runtime/composition.cpp.
[[nodiscard]] std::unique_ptr<RemoteFunctions> make_remote_functions(TeamState& team);

/// What a thread runs at the moment for another rank.
struct RunningFunction {
    enum class Where : unsigned char {
        nowhere,
        progress, ///< in a round of progress, with the engine's mutex held: whoever waits there waits for itself
        program   ///< in a wait of the program's
    };
    Where where = Where::nowhere;
    const char* type = ""; ///< of the function, as values::type_name() has it
};
inline constinit thread_local RunningFunction running_function;

[[noreturn]] void throw_in_function(const TeamState& team, const char* call);
/// Throws UsageError in a function of another rank's that runs in a round of progress, which must not wait; and, for a
/// collective call, in any.
inline void refuse_in_function(const TeamState& team, const char* call) {
    if (running_function.where == RunningFunction::Where::progress) [[unlikely]]
        throw_in_function(team, call);
}
inline void refuse_collective_in_function(const TeamState& team, const char* call) {
    if (running_function.where != RunningFunction::Where::nowhere) [[unlikely]]
        throw_in_function(team, call);
}

/// For the scope in which the calling thread waits in a team, or looks whether something has arrived.
class Waiting {
public:
    explicit Waiting(RemoteFunctions& functions) noexcept
        : count_{running_function.where == RunningFunction::Where::program ? &functions.waiting_functions() : nullptr} {
        if (count_ != nullptr) [[unlikely]]
            count_->fetch_add(1, std::memory_order_relaxed);
    }
    ~Waiting() {
        if (count_ != nullptr) [[unlikely]]
            count_->fetch_sub(1, std::memory_order_relaxed);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

private:
    std::atomic<int>* count_; ///< null outside of functions
};

/// For the scope in which it runs.
class Running {
public:
    Running(RunningFunction::Where where, const char* type) noexcept : before_{running_function} {
        running_function = {where, type};
    }
    ~Running() { running_function = before_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

private:
    RunningFunction before_;
};

} // namespace lapwing::detail::team
