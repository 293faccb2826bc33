// Room: arrays
#pragma once

#include <lapwing/array_base.hpp>
#include <lapwing/chapel/locales.hpp>
#include <lapwing/detail/array_errors.hpp>
#include <lapwing/functions.hpp>

#include <exception>
#include <future>
#include <utility>
#include <vector>

namespace lapwing::chapel {

/// Local call: runs `function(arguments…)` at a locale, waits, and returns its result. This is `team.call(rank,
/// function, arguments…).get()`, with its rules: captures and arguments are values, the function runs on the thread
/// that makes progress there, and does not wait for other ranks itself. Throws FunctionError. Cost: a message and its
/// answer.
template <class F, class... A>
auto on(const Locale& locale, F function, const A&... arguments) {
    return locale.team->call(locale.id, std::move(function), arguments...).get();
}

/// Collective. `coforall loc in Locales do on loc`: every rank runs `body(here)`, and then waits for all others. On
/// return all ranks see what any has written. If a body throws, its rank throws that, and all others UsageError with
/// its text. Cost: a barrier.
template <class Body>
void coforall(const Locales& locales, Body&& body) {
    std::exception_ptr failure;
    try {
        std::forward<Body>(body)(locales.here());
    } catch (...) {
        failure = std::current_exception();
    }
    const lapwing::detail::arrays::ArrayTitle title{.who = locales.team().who(), .other = "chapel::coforall"};
    lapwing::detail::arrays::end_collective(title, locales.team(), "", failure, "the other bodies have run");
}

/// Tasks of one sync scope: threads of the rank. Only the thread that has the scope begins tasks; a task that begins
/// further ones has a scope of its own. Tasks that call Lapwing need an MPI with MPI_THREAD_MULTIPLE.
class Tasks {
public:
    Tasks() = default;
    Tasks(const Tasks&) = delete;
    Tasks& operator=(const Tasks&) = delete;
    /// Waits for them.
    ~Tasks() = default;

    /// `begin`: starts `task()` in a thread of its own. Throws std::system_error if there is none.
    template <class Task>
    void begin(Task task) {
        running_.push_back(std::async(std::launch::async, std::move(task)));
    }
    /// Returns when all have ended. Throws what the first of them, in the order of their begin, has thrown.
    void wait() {
        std::vector<std::future<void>> ended = std::exchange(running_, {});
        for (const std::future<void>& task : ended) task.wait();
        for (std::future<void>& task : ended) task.get();
    }

private:
    std::vector<std::future<void>> running_; ///< of std::async: each waits when it is destroyed
};

/// `sync { … }`: runs `body(tasks)`, and returns when the tasks that it has begun have ended. Local call. Throws what
/// the body has thrown, else what the first task has.
template <class Body>
void sync(Body&& body) {
    Tasks tasks;
    std::forward<Body>(body)(tasks);
    tasks.wait();
}
/// `cobegin { … }`: runs each of these at the same time, and returns when all have ended. Local call. Errors: as
/// sync().
template <class... Task>
void cobegin(Task&&... task) {
    sync([&](Tasks& tasks) { (tasks.begin([&task] { task(); }), ...); });
}

} // namespace lapwing::chapel
