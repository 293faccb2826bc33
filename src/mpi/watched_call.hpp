#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <thread>

namespace lapwing::detail::mpi {

/// Runs `work` in a thread of its own and waits for its end. False: it has not ended within `longest`, and stays where
/// it is, with all that it holds, for the rest of the process. An exception that it throws in time is thrown here. If
/// no thread can be started, it runs here unwatched. MPI must permit calls of several threads at a time.
[[nodiscard]] bool ends_within(std::chrono::milliseconds longest, std::function<void()> work);

/// Threads of ends_within() that had not ended in time, and have not since: they are in MPI.
[[nodiscard]] int abandoned_calls() noexcept;

/// A thread that runs `work` with signals blocked; none if no more can be started.
[[nodiscard]] std::optional<std::thread> started_thread(std::function<void()> work);

} // namespace lapwing::detail::mpi
