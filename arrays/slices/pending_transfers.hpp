#pragma once

#include "src/transport/pending_transfer.hpp"

#include <lapwing/completion.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace lapwing::detail::slices {

/// Transfers that are under way together, as one.
class PendingTransfers final : public transport::PendingTransfer {
public:
    bool test() override {
        for (; next_ < completions_.size(); ++next_)
            if (!completions_[next_].test()) return false;
        finish();
        return true;
    }
    void wait() override {
        for (; next_ < completions_.size(); ++next_) completions_[next_].wait();
        finish();
    }

    /// Called before a transfer starts, since it may wait for all that have.
    void make_room() {
        if (completions_.size() >= limit) wait();
    }
    void add(Completion completion) { completions_.push_back(std::move(completion)); }

private:
    /// Their book-keeping is memory too.
    static constexpr std::size_t limit = 8192;

    void finish() {
        completions_.clear();
        next_ = 0;
    }

    std::vector<Completion> completions_;
    std::size_t next_ = 0;
};

} // namespace lapwing::detail::slices
