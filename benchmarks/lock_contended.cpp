// lock/contended: all ranks take one lock in a loop. A lost update in the critical section ends the run.
#include "harness.hpp"
#include "raw_window.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

namespace lapwing::bench {
namespace {

constexpr int home = 0;

void check(std::int64_t counter, std::int64_t expected, const char* who) {
    if (counter == expected) return;
    throw std::runtime_error{fmt::format("lock/contended: {}: the counter that the lock protects is {} instead of {}",
                                         who, counter, expected)};
}

void contended(Context& context) {
    Runtime runtime;
    (void)context.measure_against(runtime);
    Window window{runtime, sizeof(std::int64_t)};
    Lock lock{runtime, Rank{home}};
    MPI_Comm world = context.world();
    std::optional<raw::Window> raw_window;
    if (context.windows_work()) {
        raw_window.emplace(context, sizeof(std::int64_t), raw::Window::Epoch::closed);
    }
    const auto ranks = static_cast<std::int64_t>(context.size());
    std::int64_t expected = 0;
    std::int64_t raw_expected = 0;

    const Subject empty{.name = "lapwing", .run = [&](std::uint64_t iterations) {
                            return together(runtime, [&] {
                                for (std::uint64_t i = 0; i < iterations; ++i) {
                                    lock.lock();
                                    lock.unlock();
                                }
                            });
                        }};
    const Subject increment{.name = "lapwing", .run = [&](std::uint64_t iterations) {
                                const double seconds = together(runtime, [&] {
                                    for (std::uint64_t i = 0; i < iterations; ++i) {
                                        lock.lock();
                                        const auto value = window.get<std::int64_t>(Rank{home}, Offset{0});
                                        window.put(Rank{home}, Offset{0}, value + 1);
                                        lock.unlock();
                                    }
                                });
                                expected += static_cast<std::int64_t>(iterations) * ranks;
                                check(window.get<std::int64_t>(Rank{home}, Offset{0}), expected, "lapwing");
                                runtime.barrier(); // nobody increments again before everybody has read
                                return seconds;
                            }};
    std::vector<Subject> raw_empty, raw_increment;
    if (raw_window) {
        const MPI_Win handle = raw_window->handle();
        raw_empty.push_back({.name = "MPI_Win_lock, exclusive", .run = [&, handle](std::uint64_t iterations) {
                                 return together(world, [&] {
                                     for (std::uint64_t i = 0; i < iterations; ++i) {
                                         MPI_Win_lock(MPI_LOCK_EXCLUSIVE, home, 0, handle);
                                         MPI_Win_unlock(home, handle);
                                     }
                                 });
                             }});
        raw_increment.push_back({.name = "MPI_Win_lock, exclusive", .run = [&, handle](std::uint64_t iterations) {
                                     const auto read = [&] {
                                         std::int64_t value = 0;
                                         raw_window->start_get(&value, sizeof value, home);
                                         raw_window->flush(home);
                                         return value;
                                     };
                                     const double seconds = together(world, [&] {
                                         for (std::uint64_t i = 0; i < iterations; ++i) {
                                             MPI_Win_lock(MPI_LOCK_EXCLUSIVE, home, 0, handle);
                                             const std::int64_t value = read() + 1;
                                             raw_window->start_put(&value, sizeof value, home);
                                             MPI_Win_unlock(home, handle);
                                         }
                                     });
                                     MPI_Win_lock(MPI_LOCK_SHARED, home, 0, handle);
                                     const std::int64_t value = read();
                                     MPI_Win_unlock(home, handle);
                                     raw_expected += static_cast<std::int64_t>(iterations) * ranks;
                                     check(value, raw_expected, "MPI_Win_lock");
                                     MPI_Barrier(world);
                                     return seconds;
                                 }});
    } else {
        context.skip("baseline", "no windows on this stack, and messages have no lock");
    }
    Quantity per_passage = microseconds();
    per_passage.scale /= static_cast<double>(ranks);
    context.compare("empty section", per_passage, empty, std::move(raw_empty));
    context.compare("get, add, put", per_passage, increment, std::move(raw_increment));
    raw_window.reset();
    lock.close();
    window.close();
    runtime.close();
}

const Registration registration{{.name = "lock/contended",
                                 .summary = "all ranks pass through one lock; fails when an update is lost",
                                 .run = contended}};

} // namespace
} // namespace lapwing::bench
