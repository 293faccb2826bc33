#include "src/mpi/agreement.hpp"
#include "src/mpi/trial_memory.hpp"
#include "src/mpi/watched_call.hpp"
#include "src/mpi/window_trial.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <thread>

namespace lapwing::detail::mpi {
namespace {

constexpr std::byte overwritten{0x5A};

/// What a rank puts, and what must be read from it.
std::byte pattern(int rank, std::size_t place) {
    return static_cast<std::byte>(((static_cast<std::size_t>(rank) * 31 + place) * 2654435761U) >> 11);
}
std::uint64_t large_pattern(int rank, std::size_t word) {
    return (static_cast<std::uint64_t>(rank) * 31 + word + 1) * 0x9e3779b97f4a7c15U;
}
/// As a word that was put; it differs from what the memory holds before.
std::int64_t signature(int rank) { return 1000 + rank; }

template <class Each>
void for_each_piece(int unit, Each&& each) {
    const auto multiple = static_cast<std::size_t>(unit);
    std::size_t at = 0;
    for (const std::size_t size : piece_sizes) {
        at = (at + piece_gap + multiple - 1) / multiple * multiple;
        each(at, size);
        at += size;
    }
}

/// An area that contains pieces of `rank`, and nothing between them.
bool has_pieces_only(std::span<const std::byte> area, int rank, int unit) {
    std::size_t end = 0;
    bool right = true;
    const auto is_untouched = [](std::byte one) { return one == untouched; };
    for_each_piece(unit, [&](std::size_t at, std::size_t size) {
        right = right && std::ranges::all_of(area.subspan(end, at - end), is_untouched);
        for (std::size_t i = at; i < at + size; ++i) right = right && area[i] == pattern(rank, i);
        end = at + size;
    });
    return right && std::ranges::all_of(area.subspan(end), is_untouched);
}

bool has_large_pattern(std::span<const std::uint64_t> words, int rank) {
    for (std::size_t i = 0; i < words.size(); ++i)
        if (words[i] != large_pattern(rank, i)) return false;
    return true;
}

} // namespace

/// Puts and gets of one rank at another.
class WindowTrial::Data {
public:
    Data(WindowTrial& trial, Partners partners, bool with_large)
        : trial_{trial},
          partners_{partners},
          with_large_{with_large && partners.to != MPI_PROC_NULL && trial.topology_.node_rank() == 0} {}

    [[nodiscard]] bool run() {
        constexpr std::int64_t large = 1;
        large_expected_ = trial_.tell(partners_, with_large_ ? large : 0, 0) == large;
        fill();
        trial_.meet();
        works_ = partners_.to == MPI_PROC_NULL || (trial_.in_time() && moves());
        // The other rank looks as soon as it is notified: a barrier would give puts that a flush has not completed more
        // time.
        constexpr std::int64_t failed = 0;
        constexpr std::int64_t moved = 1;
        constexpr std::int64_t moved_large = 2;
        const std::int64_t own = !works_ ? failed : with_large_ ? moved_large : moved;
        const std::int64_t told = trial_.tell(partners_, own, failed);
        // If a rank's calls have failed, others see nothing; it has reported that itself.
        if (told != failed) look(told == moved_large);
        const std::int64_t to_other = partners_.to == MPI_PROC_NULL ? failed : own; // nothing has been put there either
        if (other_flushes_used && trial_.tell(partners_.reversed(), to_other, failed) != failed)
            check(trial_.memory_.after_flush_all_of_other == signature(partners_.to) &&
                      has_pieces_only(trial_.memory_.put_before_flush_all_of_other, partners_.to, trial_.terms_.unit),
                  "MPI_Win_flush_all returned before the operations were complete");
        return all_agree(trial_.communicator_, works_);
    }

private:
    void fill();
    void check(bool right, const char* problem) {
        if (right) return;
        if (works_) trial_.note(problem);
        works_ = false;
    }
    bool puts_word(std::size_t which, int target, std::size_t place) {
        std::int64_t& word = trial_.buffers_->reused[which];
        word = signature(trial_.rank_);
        return trial_.put(&word, sizeof word, target, place);
    }
    bool waits(std::span<MPI_Request> requests) {
        return trial_.calls("MPI_Waitall", [&] {
            return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        });
    }
    bool moves() {
        // The other flushes come last: a call of MPI_Win_flush after them would complete what they have not.
        return reuses_sources() && moves_pieces() && (!with_large_ || moves_large()) &&
               (!other_flushes_used || (gets_before_local_flushes() && reuses_sources_of_other_flushes()));
    }
    bool reuses_sources();
    bool flush_local() {
        return trial_.calls("MPI_Win_flush_local", [&] { return MPI_Win_flush_local(partners_.to, trial_.window_); });
    }
    bool gets_before_local_flushes();
    bool puts_before_local_flushes();
    bool puts_before_flush_all(int target, std::size_t area);
    bool reuses_sources_of_other_flushes();
    bool starts_pieces(std::span<MPI_Request> requests);
    bool moves_pieces();
    bool moves_large();
    void look(bool large);

    WindowTrial& trial_;
    Partners partners_;
    bool large_expected_ = false; ///< if the other is the first of its node
    bool with_large_;
    bool works_ = true;
};

void WindowTrial::Data::fill() {
    Buffers& own = *trial_.buffers_;
    Memory& memory = trial_.memory_;
    for (Area* const area :
         {&own.source, &own.source_of_requests, &own.source_of_others, &own.got, &own.got_with_request, &own.read_back,
          &memory.read, &memory.put, &memory.put_with_request, &memory.put_before_local_flush,
          &memory.put_before_flush_all, &memory.put_before_flush_all_of_other})
        area->fill(untouched);
    for (std::int64_t* const word : {&memory.after_flush, &memory.after_local_flush, &memory.after_flush_all,
                                     &memory.after_flush_all_of_other, &memory.after_wait})
        *word = 0;
    for_each_piece(trial_.terms_.unit, [&](std::size_t at, std::size_t size) {
        for (std::size_t i = at; i < at + size; ++i)
            own.source[i] = own.source_of_requests[i] = own.source_of_others[i] = memory.read[i] =
                pattern(trial_.rank_, i);
    });
    if (large_expected_) std::fill_n(trial_.large_, large_words, 0);
    if (!with_large_) return;
    for (std::size_t i = 0; i < large_words; ++i) own.large_source[i] = large_pattern(trial_.rank_, i);
}

/// Puts from memory that is written again as soon as a flush or wait permits.
bool WindowTrial::Data::reuses_sources() {
    auto& words = trial_.buffers_->reused;
    MPI_Request request = MPI_REQUEST_NULL;
    words[1] = signature(trial_.rank_);
    bool works = puts_word(0, partners_.to, offsetof(Memory, after_flush)) && trial_.flush(partners_.to);
    words[0] = -1;
    works = works && trial_.calls("MPI_Rput", [&] {
        return MPI_Rput(&words[1], sizeof words[1], MPI_BYTE, partners_.to, trial_.at(offsetof(Memory, after_wait)),
                        sizeof words[1], MPI_BYTE, trial_.window_, &request);
    });
    works = works && waits({&request, 1});
    words[1] = -1;
    return works && trial_.flush(partners_.to);
}

/// One after another, as RmaTransport gets without progress threads.
bool WindowTrial::Data::gets_before_local_flushes() {
    Area& got = trial_.buffers_->got;
    got.fill(untouched);
    bool works = true;
    for_each_piece(trial_.terms_.unit, [&](std::size_t at, std::size_t size) {
        works = works && trial_.in_time() && trial_.get(&got[at], size, partners_.to, offsetof(Memory, read) + at) &&
                flush_local();
        // What comes last is looked at first.
        for (std::size_t i = at + size; works && i-- > at;)
            check(got[i] == pattern(partners_.to, i), "MPI_Win_flush_local returned before MPI_Get had read all bytes");
        works = works && works_;
    });
    return works;
}

/// The same of puts, whose sources may be written again then.
bool WindowTrial::Data::puts_before_local_flushes() {
    Area& source = trial_.buffers_->source;
    bool works = true;
    for_each_piece(trial_.terms_.unit, [&](std::size_t at, std::size_t size) {
        for (std::size_t i = at; i < at + size; ++i) source[i] = pattern(trial_.rank_, i);
        works = works && trial_.in_time() &&
                trial_.put(&source[at], size, partners_.to, offsetof(Memory, put_before_local_flush) + at) &&
                flush_local();
        std::fill_n(&source[at], size, overwritten);
    });
    return works;
}

bool WindowTrial::Data::puts_before_flush_all(int target, std::size_t area) {
    bool works = true;
    for_each_piece(trial_.terms_.unit, [&](std::size_t at, std::size_t size) {
        works = works && trial_.put(&trial_.buffers_->source_of_others[at], size, target, area + at);
    });
    return works;
}

bool WindowTrial::Data::reuses_sources_of_other_flushes() {
    auto& words = trial_.buffers_->reused;
    bool works = puts_word(2, partners_.to, offsetof(Memory, after_local_flush)) && flush_local();
    words[2] = -1;
    works = works && puts_before_local_flushes() && puts_word(3, partners_.to, offsetof(Memory, after_flush_all)) &&
            puts_before_flush_all(partners_.to, offsetof(Memory, put_before_flush_all));
    if (partners_.from != MPI_PROC_NULL)
        works = works && puts_word(4, partners_.from, offsetof(Memory, after_flush_all_of_other)) &&
                puts_before_flush_all(partners_.from, offsetof(Memory, put_before_flush_all_of_other));
    works = works && trial_.calls("MPI_Win_flush_all", [&] { return MPI_Win_flush_all(trial_.window_); });
    words[3] = words[4] = -1;
    trial_.buffers_->source_of_others.fill(overwritten);
    return works;
}

/// Two requests for each piece.
bool WindowTrial::Data::starts_pieces(std::span<MPI_Request> requests) {
    Buffers& own = *trial_.buffers_;
    bool works = true;
    std::size_t requested = 0;
    for_each_piece(trial_.terms_.unit, [&](std::size_t at, std::size_t bytes) {
        const int size = static_cast<int>(bytes);
        const MPI_Aint from = trial_.at(offsetof(Memory, read) + at);
        const MPI_Aint to = trial_.at(offsetof(Memory, put_with_request) + at);
        works = works && trial_.in_time() &&
                trial_.get(&own.got[at], bytes, partners_.to, offsetof(Memory, read) + at) &&
                trial_.put(&own.source[at], bytes, partners_.to, offsetof(Memory, put) + at);
        works = works && trial_.calls("MPI_Rget", [&] {
            return MPI_Rget(&own.got_with_request[at], size, MPI_BYTE, partners_.to, from, size, MPI_BYTE,
                            trial_.window_, &requests[requested++]);
        });
        works = works && trial_.calls("MPI_Rput", [&] {
            return MPI_Rput(&own.source_of_requests[at], size, MPI_BYTE, partners_.to, to, size, MPI_BYTE,
                            trial_.window_, &requests[requested++]);
        });
    });
    return works;
}

bool WindowTrial::Data::moves_pieces() {
    Buffers& own = *trial_.buffers_;
    const int unit = trial_.terms_.unit;
    std::array<MPI_Request, 2 * piece_sizes.size()> requests{};
    requests.fill(MPI_REQUEST_NULL);
    const bool started = starts_pieces(requests);
    if (!waits(requests) || !started) return false;
    check(has_pieces_only(own.got_with_request, partners_.to, unit), "MPI_Rget read wrong bytes");
    own.source_of_requests.fill(overwritten);
    if (!trial_.flush(partners_.to)) return false;
    check(has_pieces_only(own.got, partners_.to, unit),
          "MPI_Get read wrong bytes, or not before MPI_Win_flush returned");
    own.source.fill(overwritten);
    // What a flush has completed is read by the next get.
    if (!trial_.get(own.read_back.data(), own.read_back.size(), partners_.to, offsetof(Memory, put)) ||
        !trial_.flush(partners_.to))
        return false;
    check(has_pieces_only(own.read_back, trial_.rank_, unit),
          "MPI_Put wrote wrong bytes, or not before MPI_Win_flush returned");
    return works_;
}

bool WindowTrial::Data::moves_large() {
    Buffers& own = *trial_.buffers_;
    constexpr std::size_t bytes = sizeof own.large_source;
    if (!trial_.in_time() || !trial_.put(own.large_source.data(), bytes, partners_.to, large_place) ||
        !trial_.flush(partners_.to))
        return false;
    own.large_source.fill(0);
    own.large_back.fill(0);
    if (!trial_.get(own.large_back.data(), bytes, partners_.to, large_place) || !trial_.flush(partners_.to))
        return false;
    check(has_large_pattern(own.large_back, trial_.rank_), "MPI_Put or MPI_Get of 1 MiB moved wrong bytes");
    return works_;
}

/// Checks what the other rank has left here.
void WindowTrial::Data::look(bool large) {
    const Memory& memory = trial_.memory_;
    const int previous = partners_.from;
    check(has_pieces_only(memory.put, previous, trial_.terms_.unit),
          "MPI_Put wrote wrong bytes, or not before MPI_Win_flush returned");
    check(has_pieces_only(memory.put_with_request, previous, trial_.terms_.unit),
          "MPI_Rput wrote wrong bytes, or MPI_Waitall returned before the source could be used again");
    check(memory.after_flush == signature(previous), "MPI_Win_flush returned before the operations were complete");
    check(memory.after_wait == signature(previous),
          "MPI_Rput and MPI_Waitall: the wait returned before the source could be used again");
    if (large) check(has_large_pattern({trial_.large_, large_words}, previous), "MPI_Put of 1 MiB wrote wrong bytes");
    if (!other_flushes_used) return;
    check(memory.after_local_flush == signature(previous) &&
              has_pieces_only(memory.put_before_local_flush, previous, trial_.terms_.unit),
          "MPI_Win_flush_local returned before the source could be used again");
    check(memory.after_flush_all == signature(previous) &&
              has_pieces_only(memory.put_before_flush_all, previous, trial_.terms_.unit),
          "MPI_Win_flush_all returned before the operations were complete");
}

/// Another thread's atomics on this rank's part, as a progress thread carries them out for others.
class WindowTrial::AtomicsMeanwhile {
public:
    explicit AtomicsMeanwhile(WindowTrial& trial) : trial_{trial} {
        trial.memory_.of_other_thread = 0;
        MPI_Win_sync(trial.window_);
        if (trial.terms_.threads) thread_ = started_thread([this] { run(); });
    }
    ~AtomicsMeanwhile() {
        if (!thread_) return;
        stop_.store(true);
        call_under_way() = "MPI_Fetch_and_op of another thread";
        thread_->join();
        call_under_way() = "MPI_Barrier";
        trial_.wrong_beside_data_ = !works_ || trial_.memory_.of_other_thread != done_;
    }
    AtomicsMeanwhile(const AtomicsMeanwhile&) = delete;
    AtomicsMeanwhile& operator=(const AtomicsMeanwhile&) = delete;

private:
    void run() {
        constexpr std::int64_t most = 100;
        constexpr std::int64_t one = 1;
        const MPI_Aint place = trial_.at(offsetof(Memory, of_other_thread));
        while (works_ && !stop_.load() && done_ < most) {
            std::int64_t before = -1;
            works_ = MPI_Fetch_and_op(&one, &before, MPI_INT64_T, trial_.rank_, place, MPI_SUM, trial_.window_) ==
                         MPI_SUCCESS &&
                     MPI_Win_flush(trial_.rank_, trial_.window_) == MPI_SUCCESS && before == done_;
            ++done_;
            std::this_thread::yield();
        }
    }

    WindowTrial& trial_;
    std::atomic<bool> stop_{false};
    std::int64_t done_ = 0;
    bool works_ = true;
    std::optional<std::thread> thread_;
};

bool WindowTrial::moves_data() {
    problem_.clear();
    const auto tries = [&](Partners partners, bool large) { return Data{*this, partners, large}.run(); };
    const AtomicsMeanwhile meanwhile{*this};
    bool works = true;
    if (topology_.nodes() > 1) works = tries(partners_.between_nodes, true);
    if (works && partners_.both_ways) works = tries(partners_.between_nodes.reversed(), false);
    // In Lapwing's own windows the data of ranks on the same node is loaded and stored.
    if (works && terms_.use == TrialTerms::Use::adopted && topology_.largest_node() > 1)
        works = tries(partners_.in_node, topology_.nodes() == 1);
    return works;
}

} // namespace lapwing::detail::mpi
