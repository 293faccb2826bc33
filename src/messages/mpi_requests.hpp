#pragma once

#include "src/support/first_problem.hpp"
#include "src/support/thread_sanitizer.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::messages {

/// What an MPI request of the engine's is for.
struct Purpose {
    enum Kind : std::uint8_t {
        request_in,
        reply_in,
        request_out,
        reply_out,
        own_get,
        own_put,
        served_get,
        served_put,
        discarded, ///< nobody waits for it any more
        scrap      ///< what came for a receive that was taken back
    };
    Kind kind{};
    std::uint32_t index = 0; ///< which packet, operation, window, ... it is about, as the kind says
    friend bool operator==(const Purpose&, const Purpose&) = default;
};

/// MPI requests (MPI_Request) under way, each with its purpose. All are tested in one MPI call: every test drives MPI's
/// own progress, which costs a system call on TCP.
class MpiRequests {
public:
    MpiRequests() { reserve(256); }

    /// The next add() needs no memory then. To be called before MPI has the request, which would be lost.
    void make_room() {
        if (requests_.size() == requests_.capacity()) reserve(2 * requests_.capacity());
    }
    void add(MPI_Request request, Purpose purpose) {
        make_room();
        requests_.push_back(request);
        purposes_.push_back(purpose);
    }
    [[nodiscard]] std::size_t size() const { return requests_.size(); }

    /// Tests all requests once, calls `on_complete(purpose, status)` for those that are complete and forgets them. The
    /// callback may add requests. Returns whether any was complete. When MPI fails it calls `on_failure(code)`, after
    /// the callbacks of what is complete all the same. Throws the first exception of a callback, after the others were
    /// called.
    template <class Callback, class Failure>
    bool poll(Callback&& on_complete, Failure&& on_failure) {
        if (requests_.empty()) return false;
        indices_.resize(requests_.size());
        statuses_.resize(requests_.size());
        int completed = 0;
        const int code = [&] {
            const support::UnseenAccesses unseen;
            return MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &completed, indices_.data(),
                                statuses_.data());
        }();
        if (code == MPI_SUCCESS && (completed == MPI_UNDEFINED || completed == 0)) return false;
        // The callbacks may add requests (and poll nothing), so take what completed out of the set first.
        done_.clear();
        for (int i = 0; i < completed; ++i) {
            const auto at = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
            const MPI_Status& status = statuses_[static_cast<std::size_t>(i)];
            if (code == MPI_SUCCESS || arrived(code, at, status)) done_.push_back({purposes_[at], status});
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i] == MPI_REQUEST_NULL) continue;
            requests_[kept] = requests_[i];
            purposes_[kept] = purposes_[i];
            ++kept;
        }
        requests_.resize(kept);
        purposes_.erase(purposes_.begin() + static_cast<std::ptrdiff_t>(kept), purposes_.end());
        support::FirstProblem problem;
        for (const Done& done : done_) problem.attempt([&] { on_complete(done.purpose, done.status); });
        if (code != MPI_SUCCESS) problem.attempt([&] { on_failure(code); });
        problem.rethrow();
        return true;
    }

    /// Takes back the receives with this purpose, or waits until their data is here, if it has begun to arrive: nothing
    /// writes to their memory afterwards. Local: MPI_Wait returns by itself after MPI_Cancel (MPI 3.1, section 3.8.4).
    /// Returns how many were taken back whose data is still to come.
    std::size_t take_back_receives(const Purpose& purpose) noexcept {
        std::size_t taken_back = 0;
        for (std::size_t i = 0; i < requests_.size();) {
            if (purposes_[i] != purpose) {
                ++i;
                continue;
            }
            MPI_Cancel(&requests_[i]);
            MPI_Status status;
            int cancelled = 0;
            PMPI_Wait(&requests_[i], &status); // the program's own MPI_Wait may serve teams (lapwing::transparent)
            MPI_Test_cancelled(&status, &cancelled);
            taken_back += cancelled != 0 ? 1 : 0;
            requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(i));
            purposes_.erase(purposes_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return taken_back;
    }

    /// Gives up every request: for receives that nothing will match any more, and for leaving.
    void cancel_all() noexcept {
        for (MPI_Request& request : requests_) {
            MPI_Cancel(&request);
            MPI_Request_free(&request);
        }
        requests_.clear();
        purposes_.clear();
    }

    /// Requests with purpose `from` go on with purpose `to`. Returns how many there are.
    std::size_t reassign(const Purpose& from, const Purpose& to) noexcept {
        const auto count = static_cast<std::size_t>(std::ranges::count(purposes_, from));
        std::ranges::replace(purposes_, from, to);
        return count;
    }
    [[nodiscard]] bool contains(const Purpose& purpose) const noexcept {
        return std::ranges::find(purposes_, purpose) != purposes_.end();
    }

private:
    /// Here, so that poll() needs no memory for what has completed by then.
    void reserve(std::size_t count) {
        indices_.reserve(count);
        statuses_.reserve(count);
        done_.reserve(count);
        purposes_.reserve(count);
        requests_.reserve(count); // last: add() looks at its capacity
    }
    /// Whether a test that failed has completed this request. MPI_ERR_IN_STATUS leaves each one's own error in its
    /// status (MPI 3.1, section 3.7.5); with any other error only a request that is gone can be complete.
    [[nodiscard]] bool arrived(int code, std::size_t at, const MPI_Status& status) const noexcept {
        if (at >= requests_.size() || requests_[at] != MPI_REQUEST_NULL) return false;
        int error_class = MPI_ERR_UNKNOWN;
        MPI_Error_class(code, &error_class);
        return error_class != MPI_ERR_IN_STATUS || status.MPI_ERROR == MPI_SUCCESS;
    }

    struct Done {
        Purpose purpose;
        MPI_Status status;
    };
    std::vector<MPI_Request> requests_;
    std::vector<Purpose> purposes_;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
    std::vector<Done> done_;
};

} // namespace lapwing::detail::messages
