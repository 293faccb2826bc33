#include "src/mpi/window_trial.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/trial_memory.hpp"
#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace lapwing::detail::mpi {

using support::check_mpi;

namespace {

constexpr std::chrono::milliseconds longest_in_a_direction{50};
/// Less than a trial is watched for (probe.cpp).
constexpr std::chrono::seconds longest_if_wanted{8};

} // namespace

const std::size_t WindowTrial::memory_bytes = large_place + large_words * sizeof(std::uint64_t);

WindowTrial::WindowTrial(MPI_Comm communicator, const Topology& topology, MPI_Win window, std::byte* memory,
                         TrialTerms terms)
    : communicator_{communicator},
      topology_{topology},
      window_{window},
      terms_{terms},
      memory_{*new(memory) Memory},
      large_{reinterpret_cast<std::uint64_t*>(memory + large_place)},
      buffers_{std::make_unique_for_overwrite<Buffers>()},
      partners_{find_trial_partners(communicator, topology)} {
    check_mpi(MPI_Comm_rank(communicator, &rank_), "MPI_Comm_rank");
    memory_.rank = rank_;
    meet();
    const int directions = 1 + (partners_.both_ways ? 1 : 0) + (topology.largest_node() > 1 ? 1 : 0);
    end_ =
        Clock::now() + (terms.use == TrialTerms::Use::if_faster ? Clock::duration{directions * longest_in_a_direction}
                                                                : Clock::duration{longest_if_wanted});
}

WindowTrial::~WindowTrial() = default;

bool WindowTrial::get(void* to, std::size_t bytes, int target, std::size_t from) {
    const int count = static_cast<int>(bytes);
    return calls("MPI_Get", [&] { return MPI_Get(to, count, MPI_BYTE, target, at(from), count, MPI_BYTE, window_); });
}

bool WindowTrial::put(const void* from, std::size_t bytes, int target, std::size_t to) {
    const int count = static_cast<int>(bytes);
    return calls("MPI_Put", [&] { return MPI_Put(from, count, MPI_BYTE, target, at(to), count, MPI_BYTE, window_); });
}

bool WindowTrial::flush(int target) {
    return calls("MPI_Win_flush", [&] { return MPI_Win_flush(target, window_); });
}

void WindowTrial::note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
}

void WindowTrial::note_failure(const char* name, int code) {
    note(fmt::format("{} failed: {}", name, support::mpi_error_text(code)));
}

bool WindowTrial::in_time() {
    if (Clock::now() < end_) return true;
    note("MPI's windows took too long to be tried");
    return false;
}

void WindowTrial::leave_time_for_atomics() {
    constexpr std::chrono::milliseconds time{25};
    if (terms_.use == TrialTerms::Use::if_faster) end_ = std::max(end_, Clock::now() + time);
}

/// Memory that other ranks have written is loaded after it, and what was stored before it is there for them.
void WindowTrial::meet() const {
    MPI_Win_sync(window_);
    check_mpi(MPI_Barrier(communicator_), "MPI_Barrier", "trial of MPI's windows");
    MPI_Win_sync(window_);
}

std::int64_t WindowTrial::tell(Partners partners, std::int64_t what, std::int64_t none) const {
    constexpr int tag = 1;
    std::int64_t told = none;
    check_mpi(MPI_Sendrecv(&what, 1, MPI_INT64_T, partners.to, tag, &told, 1, MPI_INT64_T, partners.from, tag,
                           communicator_, MPI_STATUS_IGNORE),
              "MPI_Sendrecv", "trial of MPI's windows");
    MPI_Win_sync(window_);
    return told;
}

std::string WindowTrial::first_problem() const { return mpi::first_problem(communicator_, problem_).text; }

} // namespace lapwing::detail::mpi
