#include "src/mpi/agreement.hpp"
#include "src/mpi/trial_memory.hpp"
#include "src/mpi/window_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace lapwing::detail::mpi {

/// Batches of operations at one target.
class WindowTrial::Speed {
public:
    Speed(WindowTrial& trial, int target) : trial_{trial}, target_{target} {}

    enum class Found : std::uint8_t {
        fast,
        slow,   ///< or not to be measured
        unsure, ///< slow in few rounds: a process that waits for a processor looks the same
    };
    [[nodiscard]] Found measure() {
        for (const Batch batch :
             {Batch::gets, Batch::puts, Batch::gets_with_requests, Batch::puts_with_requests, Batch::other_flushes})
            if (const Found found = measure(batch); found != Found::fast) return found;
        return Found::fast;
    }

private:
    enum class Batch : std::uint8_t { gets, puts, gets_with_requests, puts_with_requests, other_flushes };
    static constexpr int bytes = sizeof(std::int64_t);

    [[nodiscard]] Found measure(Batch batch) {
        constexpr int rounds = 8;
        constexpr int enough_rounds = 3;
        constexpr int hopeless = 4; // after those: so many times too slow is given up
        constexpr std::chrono::milliseconds longest{10};
        // The first establishes the connection, which may take longer than all others.
        if (!runs(batch)) return Found::slow;
        Clock::duration best = Clock::duration::max();
        const Clock::time_point end = std::min(Clock::now() + longest, trial_.end_);
        int round = 0;
        while (round < rounds && best > longest_batch_ && (round == 0 || Clock::now() < end)) {
            const Clock::time_point begin = Clock::now();
            if (!runs(batch) || Clock::now() >= trial_.end_) return Found::slow;
            best = std::min(best, Clock::now() - begin);
            if (++round >= enough_rounds && best > hopeless * longest_batch_) break;
        }
        if (best <= longest_batch_) return Found::fast;
        return round < enough_rounds ? Found::unsure : Found::slow;
    }

    /// False: a call failed, or a get read something else.
    [[nodiscard]] bool runs(Batch batch) {
        if (batch == Batch::other_flushes) return runs_other_flushes();
        auto& words = trial_.buffers_->words;
        const bool reads = batch == Batch::gets || batch == Batch::gets_with_requests;
        std::ranges::fill(words, reads ? -1 : trial_.rank_);
        requests_.fill(MPI_REQUEST_NULL);
        bool works = true;
        for (std::size_t i = 0; i < words.size() && works && Clock::now() < trial_.end_; ++i)
            works = starts(batch, words[i], requests_[i]);
        if (batch == Batch::gets_with_requests || batch == Batch::puts_with_requests)
            works = trial_.calls("MPI_Waitall", [&] {
                return MPI_Waitall(Buffers::many, requests_.data(), MPI_STATUSES_IGNORE);
            }) && works;
        works = trial_.flush(target_) && works;
        if (!works || !reads || Clock::now() >= trial_.end_) return works;
        if (std::ranges::count(words, target_) == std::ssize(words)) return true;
        trial_.note(fmt::format("{} of 8 bytes had read wrong ones when MPI_Win_flush returned",
                                batch == Batch::gets ? "MPI_Get" : "MPI_Rget"));
        return false;
    }

    [[nodiscard]] bool starts_get(std::int64_t& word) {
        return trial_.get(&word, bytes, target_, offsetof(Memory, rank));
    }
    [[nodiscard]] bool starts_put(std::int64_t& word) {
        return trial_.put(&word, bytes, target_, offsetof(Memory, written));
    }
    [[nodiscard]] bool starts(Batch batch, std::int64_t& word, MPI_Request& request) {
        if (batch == Batch::gets) return starts_get(word);
        if (batch == Batch::puts) return starts_put(word);
        if (batch == Batch::gets_with_requests)
            return trial_.calls("MPI_Rget", [&] {
                return MPI_Rget(&word, bytes, MPI_BYTE, target_, trial_.at(offsetof(Memory, rank)), bytes, MPI_BYTE,
                                trial_.window_, &request);
            });
        return trial_.calls("MPI_Rput", [&] {
            return MPI_Rput(&word, bytes, MPI_BYTE, target_, trial_.at(offsetof(Memory, written)), bytes, MPI_BYTE,
                            trial_.window_, &request);
        });
    }

    [[nodiscard]] bool runs_other_flushes() {
        if (!other_flushes_used) return true;
        std::int64_t& word = trial_.buffers_->words[0];
        word = -1;
        if (!starts_get(word) ||
            !trial_.calls("MPI_Win_flush_local", [&] { return MPI_Win_flush_local(target_, trial_.window_); }))
            return false;
        if (word != target_) {
            trial_.note("MPI_Get of 8 bytes had read a wrong one when MPI_Win_flush_local returned");
            return false;
        }
        return starts_put(word) && trial_.calls("MPI_Win_flush_all", [&] { return MPI_Win_flush_all(trial_.window_); });
    }

    WindowTrial& trial_;
    int target_;
    Clock::duration longest_batch_ = Buffers::many * longest_operation().load();
    std::array<MPI_Request, Buffers::many> requests_;
};

bool WindowTrial::operations_are_fast() {
    const bool measures = partners_.between_nodes.to != MPI_PROC_NULL && topology_.node_rank() == 0;
    using Found = Speed::Found;
    const auto measure = [&] { return Speed{*this, partners_.between_nodes.to}.measure(); };
    Found found = measures ? measure() : Found::fast;
    if (all_agree(communicator_, found == Found::fast)) return true;
    // Of many nodes one may have been interrupted. That must not decide for all.
    if (!all_agree(communicator_, found != Found::slow)) return false;
    if (found == Found::unsure) found = measure();
    return all_agree(communicator_, found == Found::fast);
}

} // namespace lapwing::detail::mpi
