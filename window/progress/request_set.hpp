#pragma once

#include "src/support/mpi_error.hpp"
#include "src/support/thread_sanitizer.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace lapwing::window {

/// MPI requests that are under way, each with what to do when it completes, tested all in one MPI call: every MPI test
/// call drives MPI's own progress, which costs a system call on TCP.
///
/// `Handler` is a small value type; poll() hands it out with the request's status.
template <class Handler>
class RequestSet {
public:
    void add(MPI_Request request, Handler handler) {
        requests_.push_back(request);
        handlers_.push_back(handler);
    }
    [[nodiscard]] std::size_t size() const { return requests_.size(); }

    /// Tests all requests once, calls `on_complete(handler, status)` for those that are complete and forgets them. The
    /// callback may add requests. Returns whether any was complete. `who` begins the message of an error.
    template <class Callback>
    bool poll(std::string_view who, Callback&& on_complete) {
        if (requests_.empty()) return false;
        indices_.resize(requests_.size());
        statuses_.resize(requests_.size());
        int completed = 0;
        const int code = [&] {
            const support::UnseenAccesses unseen;
            return MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &completed, indices_.data(), statuses_.data());
        }();
        support::check_mpi(code, "MPI_Testsome", who);
        if (completed == MPI_UNDEFINED || completed == 0) return false;
        // The callbacks may add requests (and poll nothing), so take what completed out of the set first.
        done_.clear();
        for (int i = 0; i < completed; ++i) {
            const auto at = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
            done_.push_back({handlers_[at], statuses_[static_cast<std::size_t>(i)]});
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i] == MPI_REQUEST_NULL) continue;
            requests_[kept] = requests_[i];
            handlers_[kept] = handlers_[i];
            ++kept;
        }
        requests_.resize(kept);
        handlers_.erase(handlers_.begin() + static_cast<std::ptrdiff_t>(kept), handlers_.end());
        for (const Done& done : done_) on_complete(done.handler, done.status);
        return true;
    }

    /// Takes back the receives with this handler, or waits until their data is here, if it has begun to arrive: nothing
    /// writes to their memory afterwards. Local: MPI_Wait returns by itself behind MPI_Cancel (MPI 3.1, section 3.8.4).
    void take_back_receives(const Handler& handler) noexcept {
        for (std::size_t i = 0; i < requests_.size();) {
            if (handlers_[i] != handler) {
                ++i;
                continue;
            }
            MPI_Cancel(&requests_[i]);
            MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
            requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(i));
            handlers_.erase(handlers_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    /// Gives up every request: for receives that nothing will match any more, and for leaving.
    void cancel_all() noexcept {
        for (MPI_Request& request : requests_) {
            MPI_Cancel(&request);
            MPI_Request_free(&request);
        }
        requests_.clear();
        handlers_.clear();
    }

    /// Requests with handler `from` go on with handler `to`. Returns how many there are.
    std::size_t reassign(const Handler& from, const Handler& to) noexcept {
        const auto count = static_cast<std::size_t>(std::ranges::count(handlers_, from));
        std::ranges::replace(handlers_, from, to);
        return count;
    }
    [[nodiscard]] bool contains(const Handler& handler) const noexcept {
        return std::ranges::find(handlers_, handler) != handlers_.end();
    }

private:
    struct Done {
        Handler handler;
        MPI_Status status;
    };
    std::vector<MPI_Request> requests_;
    std::vector<Handler> handlers_;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
    std::vector<Done> done_;
};

} // namespace lapwing::window
