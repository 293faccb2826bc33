// IS: ranks of integer keys, by counting. The keys go to threads by their value, in buckets, so that each thread counts
// a range of values of its own.
#include "nas.hpp"

#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace lapwing::nas {
namespace {

using Key = std::int32_t;

/// Which ranks NPB checks: of the key at a place in the sequence, a number to which `sign` times the iteration plus
/// `offset` is added.
struct Check {
    std::int64_t place;
    std::int64_t rank;
    int sign;
    int offset;
};
struct Problem {
    int log2_keys;
    int log2_values;
    int log2_buckets;
    std::array<Check, 5> checks;

    [[nodiscard]] std::int64_t keys() const { return std::int64_t{1} << log2_keys; }
    [[nodiscard]] std::int64_t values() const { return std::int64_t{1} << log2_values; }
    [[nodiscard]] std::int64_t buckets() const { return std::int64_t{1} << log2_buckets; }
    [[nodiscard]] int bucket_shift() const { return log2_values - log2_buckets; }
};
[[nodiscard]] Problem problem_of(Class size) {
    switch (size) {
    case Class::S:
        return {
            16,
            11,
            9,
            {{{48427, 0, 1, 0}, {17148, 18, 1, 0}, {23627, 346, 1, 0}, {62548, 64917, -1, 0}, {4431, 65463, -1, 0}}}};
    case Class::W:
        return {.log2_keys = 20,
                .log2_values = 16,
                .log2_buckets = 10,
                .checks = {{{357773, 1249, 1, -2},
                            {934767, 11698, 1, -2},
                            {875723, 1039987, -1, 0},
                            {898999, 1043896, -1, 0},
                            {404505, 1048018, -1, 0}}}};
    case Class::A:
        return {.log2_keys = 23,
                .log2_values = 19,
                .log2_buckets = 10,
                .checks = {{{2112377, 104, 1, -1},
                            {662041, 17523, 1, -1},
                            {5336171, 123928, 1, -1},
                            {3642833, 8288932, -1, 1},
                            {4250760, 8388264, -1, 1}}}};
    case Class::B:
        return {.log2_keys = 25,
                .log2_values = 21,
                .log2_buckets = 10,
                .checks = {{{41869, 33422937, -1, 0},
                            {812306, 10244, 1, 0},
                            {5102857, 59149, 1, 0},
                            {18232239, 33135281, -1, 0},
                            {26860214, 99, 1, 0}}}};
    case Class::T:
        return {
            .log2_keys = 13,
            .log2_values = 10,
            .log2_buckets = 7,
            .checks = {{{49, 12, 1, 0}, {8058, 13, 1, 0}, {194, 61, 1, 0}, {31, 7824, -1, 0}, {8183, 8077, -1, 0}}}};
    }
    return {};
}
constexpr int iterations = 10;

/// The keys of a share of the sequence: sums of four random numbers, so that values in the middle are frequent.
void make_keys(const Problem& problem, const Share& share, Key* keys) {
    Random random{314159265};
    random.skip(static_cast<std::uint64_t>(4 * share.first));
    const auto quarter = static_cast<double>(problem.values()) / 4;
    for (std::int64_t i = 0; i < share.size(); ++i) {
        const double a = random.next();
        const double b = random.next();
        const double c = random.next();
        const double d = random.next();
        keys[i] = static_cast<Key>(quarter * (a + b + c + d));
    }
}

/// In each iteration two keys at the start of the sequence get other values, so that no iteration can be left out:
/// calls set(place, value).
template <class Set>
void change_keys(const Problem& problem, int iteration, Set set) {
    set(iteration, static_cast<Key>(iteration));
    set(iteration + iterations, static_cast<Key>(problem.values() - iteration));
}

/// Which buckets each thread has: as many as hold the thread's part of all keys, or slightly more. bounds[t] is the
/// first of thread t.
[[nodiscard]] std::vector<std::int64_t> deal_buckets(std::span<const std::int64_t> totals, std::int64_t keys,
                                                     int threads) {
    std::vector<std::int64_t> bounds(static_cast<std::size_t>(threads) + 1, static_cast<std::int64_t>(totals.size()));
    bounds[0] = 0;
    std::int64_t sum = 0;
    std::size_t thread = 1;
    for (std::size_t bucket = 0; bucket < totals.size() && thread < static_cast<std::size_t>(threads); ++bucket) {
        sum += totals[bucket];
        while (thread < static_cast<std::size_t>(threads) && sum >= keys * static_cast<std::int64_t>(thread) / threads)
            bounds[thread++] = static_cast<std::int64_t>(bucket) + 1;
    }
    return bounds;
}

/// Ranks of the keys of a range of values: how many keys are smaller or equal.
class Counts {
public:
    /// Of the values [first, last), where `smaller` keys are below; all zero.
    void start(std::int64_t first, std::int64_t last, std::int64_t smaller) {
        first_ = first;
        smaller_ = smaller;
        counts_.assign(static_cast<std::size_t>(last - first), 0);
    }
    void add(std::span<const Key> keys) {
        std::int32_t* const counts = counts_.data();
        const auto first = static_cast<Key>(first_);
        for (const Key key : keys) ++counts[key - first];
    }
    void add(Key key) { ++counts_[static_cast<std::size_t>(key - first_)]; }
    void finish() {
        std::int32_t sum = 0;
        for (std::int32_t& count : counts_) count = sum += count;
    }
    [[nodiscard]] bool has(std::int64_t value) const {
        return value >= first_ && value - first_ < static_cast<std::int64_t>(counts_.size());
    }
    /// Keys smaller than `value`, which is one of the range.
    [[nodiscard]] std::int64_t rank(std::int64_t value) const {
        return smaller_ + (value == first_ ? 0 : counts_[static_cast<std::size_t>(value - first_ - 1)]);
    }
    /// The keys in order, of which there are `size`, by putting each of `keys` where its rank says, from the last one
    /// of its value down.
    template <class ForEach>
    [[nodiscard]] std::vector<Key> sorted(std::size_t size, ForEach for_each_key) const {
        std::vector<std::int32_t> next = counts_;
        std::vector<Key> keys(size, -1);
        for_each_key(
            [&](Key key) { keys.at(static_cast<std::size_t>(--next[static_cast<std::size_t>(key - first_)])) = key; });
        return keys;
    }

private:
    std::int64_t first_ = 0;
    std::int64_t smaller_ = 0;
    std::vector<std::int32_t> counts_;
};

/// What a thread has found wrong, as numbers that are added up over the threads.
struct Findings {
    std::int64_t right_ranks = 0; ///< of NPB's 5 in each of 10 iterations
    std::int64_t unsorted = 0;    ///< places where a key is greater than the next one, or missing
    std::int64_t keys = 0;        ///< that were sorted
};
[[nodiscard]] std::int64_t right_ranks(const Problem& problem, int iteration, const std::array<Key, 5>& keys,
                                       const Counts& counts) {
    std::int64_t right = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const Check& check = problem.checks[i];
        if (counts.has(keys[i]) && counts.rank(keys[i]) == check.rank + check.sign * iteration + check.offset) ++right;
    }
    return right;
}
[[nodiscard]] std::int64_t unsorted_places(const std::vector<Key>& keys) {
    std::int64_t unsorted = std::ranges::count(keys, -1);
    for (std::size_t i = 1; i < keys.size(); ++i)
        if (keys[i - 1] > keys[i]) ++unsorted;
    return unsorted;
}

// ---- The optimised variant and MPI's: each thread sorts its keys by buckets, then gets those of its own buckets from
// all others.

/// A thread's keys, and the same by buckets.
struct Buckets {
    std::vector<std::int32_t> sizes;  ///< of each bucket
    std::vector<std::int32_t> starts; ///< one more
    std::vector<std::int32_t> next;

    explicit Buckets(const Problem& problem)
        : sizes(static_cast<std::size_t>(problem.buckets())), starts(sizes.size() + 1), next(sizes.size()) {}

    void sort(const Problem& problem, std::span<const Key> keys, Key* sorted) {
        const int shift = problem.bucket_shift();
        std::ranges::fill(sizes, 0);
        for (const Key key : keys) ++sizes[static_cast<std::size_t>(key >> shift)];
        std::partial_sum(sizes.begin(), sizes.end(), starts.begin() + 1);
        std::copy(starts.begin(), starts.end() - 1, next.begin());
        std::int32_t* const places = next.data();
        for (const Key key : keys) sorted[places[key >> shift]++] = key;
    }
};

/// What both variants do on their own keys, and with the sizes of all buckets.
class Sorter {
public:
    Sorter(const Problem& problem, int thread, int threads)
        : problem_{problem},
          thread_{thread},
          threads_{threads},
          share_{share_of(problem.keys(), thread, threads)},
          keys_(static_cast<std::size_t>(share_.size())),
          buckets_{problem} {
        make_keys(problem_, share_, keys_.data());
    }

protected:
    void change(int iteration) {
        change_keys(problem_, iteration, [&](std::int64_t place, Key value) {
            if (place >= share_.first && place < share_.last)
                keys_[static_cast<std::size_t>(place - share_.first)] = value;
        });
    }
    /// Of the five places, the keys that this thread has; 0 for others, so that their sum over the threads is all of
    /// them.
    [[nodiscard]] std::array<Key, 5> checked_keys() const {
        std::array<Key, 5> found{};
        for (std::size_t i = 0; i < found.size(); ++i) {
            const std::int64_t place = problem_.checks[i].place;
            if (place >= share_.first && place < share_.last)
                found[i] = keys_[static_cast<std::size_t>(place - share_.first)];
        }
        return found;
    }
    /// From the sizes of all buckets: which ones the thread has, and how many keys are below.
    void start_counts(std::span<const std::int64_t> totals) {
        bounds_ = deal_buckets(totals, problem_.keys(), threads_);
        const std::int64_t first = bounds_[static_cast<std::size_t>(thread_)];
        const std::int64_t last = bounds_[static_cast<std::size_t>(thread_) + 1];
        counts_.start(first << problem_.bucket_shift(), last << problem_.bucket_shift(),
                      std::accumulate(totals.begin(), totals.begin() + first, std::int64_t{0}));
    }

    Problem problem_;
    int thread_;
    int threads_;
    Share share_;
    std::vector<Key> keys_;
    Buckets buckets_;
    std::vector<std::int64_t> bounds_;
    Counts counts_;
    Findings findings_;
};

class MpiSorter : public Sorter {
public:
    MpiSorter(const Problem& problem, int rank, int ranks)
        : Sorter{problem, rank, ranks}, sorted_(keys_.size()), received_(keys_.size() * 5 / 4 + 1024) {
        const auto counts = static_cast<std::size_t>(ranks);
        for (auto* const each : {&send_counts_, &send_places_, &receive_counts_, &receive_places_})
            each->resize(counts);
    }

    /// Ranks all keys. Collective.
    void rank_keys(int iteration) {
        change(iteration);
        buckets_.sort(problem_, keys_, sorted_.data());
        // Sizes of the buckets, and the keys that are checked, in one sum.
        std::vector<std::int64_t> totals(buckets_.sizes.begin(), buckets_.sizes.end());
        for (const Key key : checked_keys()) totals.push_back(key);
        MPI_Allreduce(MPI_IN_PLACE, totals.data(), static_cast<int>(totals.size()), MPI_INT64_T, MPI_SUM,
                      MPI_COMM_WORLD);
        std::array<Key, 5> checked{};
        for (std::size_t i = 0; i < checked.size(); ++i)
            checked[i] = static_cast<Key>(totals[buckets_.sizes.size() + i]);
        totals.resize(buckets_.sizes.size());
        start_counts(totals);

        for (std::size_t r = 0; r < send_counts_.size(); ++r) {
            send_places_[r] = buckets_.starts[static_cast<std::size_t>(bounds_[r])];
            send_counts_[r] = buckets_.starts[static_cast<std::size_t>(bounds_[r + 1])] - send_places_[r];
        }
        MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, MPI_COMM_WORLD);
        std::exclusive_scan(receive_counts_.begin(), receive_counts_.end(), receive_places_.begin(), 0);
        const auto total =
            static_cast<std::size_t>(receive_places_.back()) + static_cast<std::size_t>(receive_counts_.back());
        if (received_.size() < total) received_.resize(total);
        MPI_Alltoallv(sorted_.data(), send_counts_.data(), send_places_.data(), MPI_INT32_T, received_.data(),
                      receive_counts_.data(), receive_places_.data(), MPI_INT32_T, MPI_COMM_WORLD);
        received_size_ = total;
        counts_.add({received_.data(), total});
        counts_.finish();
        findings_.right_ranks += right_ranks(problem_, iteration, checked, counts_);
    }
    void forget_findings() { findings_ = {}; }

    [[nodiscard]] Findings verify() {
        const std::vector<Key> keys = counts_.sorted(
            received_size_, [&](auto each) { std::for_each_n(received_.begin(), received_size_, each); });
        findings_.unsorted = unsorted_places(keys);
        findings_.keys = static_cast<std::int64_t>(keys.size());
        // The smallest and the greatest key of each rank, which must not overlap.
        std::array<Key, 2> ends{keys.empty() ? -1 : keys.front(), keys.empty() ? -1 : keys.back()};
        std::vector<std::array<Key, 2>> all(send_counts_.size());
        MPI_Allgather(ends.data(), 2, MPI_INT32_T, all.data(), 2, MPI_INT32_T, MPI_COMM_WORLD);
        Key before = 0;
        for (int r = 0; r < thread_; ++r) before = std::max(before, all[static_cast<std::size_t>(r)][1]);
        if (!keys.empty() && keys.front() < before) ++findings_.unsorted;
        std::array<std::int64_t, 3> sums{findings_.right_ranks, findings_.unsorted, findings_.keys};
        MPI_Allreduce(MPI_IN_PLACE, sums.data(), 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        return {sums[0], sums[1], sums[2]};
    }

private:
    std::vector<Key> sorted_, received_;
    std::size_t received_size_ = 0;
    std::vector<int> send_counts_, send_places_, receive_counts_, receive_places_;
};

/// Sums of findings over all threads.
[[nodiscard]] Findings add_up(const Findings& mine) {
    const upc::SharedArray<Findings> all{static_cast<std::size_t>(upc::threads())};
    all[upc::mythread()] = mine;
    upc::barrier();
    Findings sum;
    for (int t = 0; t < upc::threads(); ++t) {
        const Findings each = all[t];
        sum.right_ranks += each.right_ranks;
        sum.unsorted += each.unsorted;
        sum.keys += each.keys;
    }
    return sum;
}
/// Whether the thread's first key is smaller than one of the threads before. Collective.
[[nodiscard]] bool overlaps_threads_before(const std::vector<Key>& keys) {
    const upc::SharedArray<Key> greatest{static_cast<std::size_t>(upc::threads())};
    greatest[upc::mythread()] = keys.empty() ? -1 : keys.back();
    upc::barrier();
    bool overlaps = false;
    for (int t = 0; t < upc::mythread(); ++t) overlaps = overlaps || (!keys.empty() && keys.front() < greatest[t]);
    return overlaps;
}

/// Keys by buckets are in shared memory, together with what the others must know of them. There are two sets in turn,
/// so that one barrier an iteration is enough: a set is written again after the next barrier, which a thread enters
/// when it has read the others'.
class UpcSorter : public Sorter {
public:
    explicit UpcSorter(const Problem& problem)
        : Sorter{problem, upc::mythread(), upc::threads()},
          most_keys_{most_keys(problem, upc::threads())},
          book_size_{book_size(problem)},
          sorted_{static_cast<std::size_t>(2 * most_keys_ * upc::threads()), static_cast<std::size_t>(2 * most_keys_)},
          books_{static_cast<std::size_t>(2 * book_size_ * upc::threads()), static_cast<std::size_t>(2 * book_size_)},
          all_books_(static_cast<std::size_t>(book_size_ * upc::threads())) {}

    [[nodiscard]] static std::uint64_t heap_bytes(const Problem& problem, int threads) {
        return static_cast<std::uint64_t>(2 * most_keys(problem, threads)) * sizeof(Key) +
               static_cast<std::uint64_t>(2 * book_size(problem)) * sizeof(std::int32_t);
    }

    void rank_keys(int iteration) {
        change(iteration);
        turn_ ^= 1;
        buckets_.sort(problem_, keys_, sorted_.local() + turn_ * most_keys_);
        std::int32_t* const book = books_.local() + turn_ * book_size_;
        std::ranges::copy(checked_keys(), std::ranges::copy(buckets_.starts, book).out);
        upc::barrier();

        for (int t = 0; t < threads_; ++t)
            upc::memget_nbi(all_books_.data() + t * book_size_, books_ + (2 * t + turn_) * book_size_,
                            static_cast<std::size_t>(book_size_) * sizeof(std::int32_t));
        upc::synci();
        std::vector<std::int64_t> totals(buckets_.sizes.size());
        std::array<Key, 5> checked{};
        for (int t = 0; t < threads_; ++t) {
            const std::int32_t* const starts = book_of(t);
            for (std::size_t bucket = 0; bucket < totals.size(); ++bucket)
                totals[bucket] += starts[bucket + 1] - starts[bucket];
            for (std::size_t i = 0; i < checked.size(); ++i) checked[i] += starts[totals.size() + 1 + i];
        }
        start_counts(totals);
        collect();
        counts_.finish();
        findings_.right_ranks += right_ranks(problem_, iteration, checked, counts_);
    }
    void forget_findings() { findings_ = {}; }

    [[nodiscard]] Findings verify() {
        std::size_t size = 0;
        for (int t = 0; t < threads_; ++t) size += part_of(t).size;
        const std::vector<Key> keys = counts_.sorted(size, [&](auto each) {
            for (int t = 0; t < threads_; ++t) {
                const Part part = part_of(t);
                std::vector<Key> copy(part.size);
                upc::memget(copy.data(), part.keys, part.size * sizeof(Key));
                std::ranges::for_each(copy, each);
            }
        });
        findings_.unsorted = unsorted_places(keys) + (overlaps_threads_before(keys) ? 1 : 0);
        findings_.keys = static_cast<std::int64_t>(keys.size());
        return add_up(findings_);
    }

private:
    /// Keys of the local buckets that another thread has.
    struct Part {
        upc::Pointer<Key, upc::dynamic_block> keys;
        std::size_t size;
    };
    [[nodiscard]] static std::int64_t most_keys(const Problem& problem, int threads) {
        return share_of(problem.keys(), 0, threads).size();
    }
    /// Where each bucket starts, the end, and the keys that are checked.
    [[nodiscard]] static std::int64_t book_size(const Problem& problem) {
        return problem.buckets() + 1 + static_cast<std::int64_t>(problem.checks.size());
    }
    [[nodiscard]] const std::int32_t* book_of(int thread) const { return all_books_.data() + thread * book_size_; }
    [[nodiscard]] Part part_of(int thread) const {
        const std::int32_t* const starts = book_of(thread);
        const std::int64_t first = starts[bounds_[static_cast<std::size_t>(thread_)]];
        const std::int64_t last = starts[bounds_[static_cast<std::size_t>(thread_) + 1]];
        return {sorted_ + ((2 * thread + turn_) * most_keys_ + first), static_cast<std::size_t>(last - first)};
    }
    /// Counts keys where they are, if they can be loaded. The others come in pieces, of which the next ones are on
    /// their way while one is counted.
    void collect() {
        std::vector<Part> far;
        for (int k = 0; k < threads_; ++k) {
            Part part = part_of((thread_ + k) % threads_); // not all from the same one at a time
            if (part.size == 0 || part.keys.cast() != nullptr) continue;
            while (part.size > 0) {
                const std::size_t piece = std::min(part.size, piece_keys);
                far.push_back({part.keys, piece});
                part.keys += static_cast<std::int64_t>(piece);
                part.size -= piece;
            }
        }
        pieces_.resize(std::min<std::size_t>(far.size(), pieces_under_way) * piece_keys);
        std::vector<upc::Handle> handles(far.size());
        const auto place = [&](std::size_t piece) { return pieces_.data() + piece % pieces_under_way * piece_keys; };
        const auto start = [&](std::size_t piece) {
            if (piece < far.size())
                handles[piece] = upc::memget_nb(place(piece), far[piece].keys, far[piece].size * sizeof(Key));
        };
        for (std::size_t piece = 0; piece < pieces_under_way; ++piece) start(piece);
        for (int k = 0; k < threads_; ++k) {
            const Part part = part_of((thread_ + k) % threads_);
            if (part.size == 0) continue;
            if (const Key* const here = part.keys.cast()) counts_.add({here, part.size});
        }
        for (std::size_t piece = 0; piece < far.size(); ++piece) {
            handles[piece].wait();
            counts_.add({place(piece), far[piece].size});
            start(piece + pieces_under_way);
        }
    }

    static constexpr std::size_t piece_keys = std::size_t{1} << 18; // 1 MiB
    static constexpr std::size_t pieces_under_way = 4;

    std::int64_t most_keys_;
    std::int64_t book_size_;
    int turn_ = 0;
    upc::SharedArray<Key, upc::dynamic_block> sorted_;         // two sets of most_keys_ of each thread
    upc::SharedArray<std::int32_t, upc::dynamic_block> books_; // two sets of book_size_ of each thread
    std::vector<std::int32_t> all_books_;
    std::vector<Key> pieces_;
};

// ---- As one writes it first: keys, the same by buckets, and the sizes of the buckets in shared arrays, elements
// wherever they are.

class NaiveSorter {
public:
    /// `rows`: a thread's keys of a bucket's range, which lie one after another there, are read by upc_memget.
    explicit NaiveSorter(const Problem& problem, bool rows = false)
        : problem_{problem},
          rows_{rows},
          keys_{static_cast<std::size_t>(problem.keys())},
          sorted_{static_cast<std::size_t>(problem.keys())},
          starts_{static_cast<std::size_t>((problem.buckets() + 1) * upc::threads())} {
        std::vector<Key> sequence(static_cast<std::size_t>(problem.keys()));
        make_keys(problem, {0, problem.keys()}, sequence.data());
        upc::forall(0, problem.keys(), keys_, [&](auto i) { keys_[i] = sequence[static_cast<std::size_t>(i)]; });
    }
    [[nodiscard]] static std::uint64_t heap_bytes(const Problem& problem, int threads) {
        const auto keys = static_cast<std::uint64_t>(problem.keys() / threads + 1);
        return 2 * keys * sizeof(Key) + static_cast<std::uint64_t>(problem.buckets() + 1) * sizeof(std::int32_t);
    }

    void rank_keys(int iteration) {
        const int me = upc::mythread();
        const int threads = upc::threads();
        const int shift = problem_.bucket_shift();
        const std::int64_t keys = problem_.keys();
        const std::int64_t buckets = problem_.buckets();
        if (me == 0) change_keys(problem_, iteration, [&](std::int64_t place, Key value) { keys_[place] = value; });
        upc::barrier();

        // The own keys by buckets. Thread t's place k is sorted_[k * THREADS + t], and starts_ has the buckets' places
        // likewise.
        for (std::int64_t bucket = 0; bucket <= buckets; ++bucket) starts_[bucket * threads + me] = 0;
        upc::forall(0, keys, keys_, [&](auto i) { starts_[((keys_[i] >> shift) + 1) * threads + me] += 1; });
        for (std::int64_t bucket = 0; bucket < buckets; ++bucket)
            starts_[(bucket + 1) * threads + me] += starts_[bucket * threads + me];
        std::vector<std::int32_t> next(static_cast<std::size_t>(buckets));
        for (std::int64_t bucket = 0; bucket < buckets; ++bucket)
            next[static_cast<std::size_t>(bucket)] = starts_[bucket * threads + me];
        upc::forall(0, keys, keys_, [&](auto i) {
            const Key key = keys_[i];
            sorted_[std::int64_t{next[static_cast<std::size_t>(key >> shift)]++} * threads + me] = key;
        });
        upc::barrier();

        std::vector<std::int64_t> totals(static_cast<std::size_t>(buckets));
        for (std::int64_t bucket = 0; bucket < buckets; ++bucket)
            for (int t = 0; t < threads; ++t)
                totals[static_cast<std::size_t>(bucket)] +=
                    starts_[(bucket + 1) * threads + t] - starts_[bucket * threads + t];
        bounds_ = deal_buckets(totals, keys, threads);
        const std::int64_t first = bounds_[static_cast<std::size_t>(me)];
        const std::int64_t last = bounds_[static_cast<std::size_t>(me) + 1];
        counts_.start(first << shift, last << shift,
                      std::accumulate(totals.begin(), totals.begin() + first, std::int64_t{0}));
        for_each_own_key([&](Key key) { counts_.add(key); });
        counts_.finish();
        std::array<Key, 5> checked{};
        for (std::size_t i = 0; i < checked.size(); ++i) checked[i] = keys_[problem_.checks[i].place];
        findings_.right_ranks += right_ranks(problem_, iteration, checked, counts_);
        upc::barrier();
    }
    void forget_findings() { findings_ = {}; }

    [[nodiscard]] Findings verify() {
        std::size_t size = 0;
        for_each_own_key([&](Key) { ++size; });
        const std::vector<Key> keys = counts_.sorted(size, [&](auto each) { for_each_own_key(each); });
        findings_.unsorted = unsorted_places(keys) + (overlaps_threads_before(keys) ? 1 : 0);
        findings_.keys = static_cast<std::int64_t>(keys.size());
        return add_up(findings_);
    }

private:
    /// The keys of the local buckets, whoever has them.
    template <class Each>
    void for_each_own_key(Each each) {
        const int threads = upc::threads();
        const std::int64_t first = bounds_[static_cast<std::size_t>(upc::mythread())];
        const std::int64_t last = bounds_[static_cast<std::size_t>(upc::mythread()) + 1];
        for (int t = 0; t < threads; ++t) {
            const std::int64_t end = starts_[last * threads + t];
            const std::int64_t begin = starts_[first * threads + t];
            if (!rows_) {
                for (std::int64_t k = begin; k < end; ++k) each(sorted_[k * threads + t]);
            } else if (begin < end) {
                std::vector<Key> keys(static_cast<std::size_t>(end - begin));
                upc::memget(keys.data(), sorted_ + (begin * threads + t), keys.size() * sizeof(Key));
                std::ranges::for_each(keys, each);
            }
        }
    }

    Problem problem_;
    bool rows_;
    upc::SharedArray<Key> keys_;
    upc::SharedArray<Key> sorted_;
    upc::SharedArray<std::int32_t> starts_;
    std::vector<std::int64_t> bounds_;
    Counts counts_;
    Findings findings_;
};

template <class Ranker>
[[nodiscard]] Findings measure(Ranker ranker, Variant variant, double& seconds) {
    ranker.rank_keys(1); // as NPB does, so that everything has been touched
    ranker.forget_findings();
    seconds = seconds_of(variant, [&] {
        for (int iteration = 1; iteration <= iterations; ++iteration) ranker.rank_keys(iteration);
    });
    return ranker.verify();
}

} // namespace

HeapNeeds integer_sort_heap(Class size, int ranks) {
    const Problem problem = problem_of(size);
    return {.blocks = std::max(UpcSorter::heap_bytes(problem, ranks), NaiveSorter::heap_bytes(problem, ranks)) +
                      (std::uint64_t{1} << 16),
            .local = std::uint64_t{1} << 16};
}

Result integer_sort(Class size, Variant variant) {
    const Problem problem = problem_of(size);
    Result result;
    Findings findings;
    switch (variant) {
    case Variant::mpi_overlapped:
    case Variant::mpi: {
        int rank = 0;
        int ranks = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        MpiSorter sorter{problem, rank, ranks};
        findings = measure<MpiSorter&>(sorter, variant, result.seconds);
        break;
    }
    case Variant::optimised: {
        UpcSorter sorter{problem};
        findings = measure<UpcSorter&>(sorter, variant, result.seconds);
        break;
    }
    case Variant::naive_rows:
    case Variant::naive_mapped:
    case Variant::naive: {
        NaiveSorter sorter{problem, variant == Variant::naive_rows};
        findings = measure<NaiveSorter&>(sorter, variant, result.seconds);
        break;
    }
    }
    constexpr std::int64_t checks = iterations * 5;
    result.million_operations = static_cast<double>(iterations * problem.keys()) * 1e-6;
    result.verified = findings.right_ranks == checks && findings.unsorted == 0 && findings.keys == problem.keys();
    result.detail = fmt::format("{} of {} ranks right; {} keys sorted, expected {}; {} out of order, expected 0",
                                findings.right_ranks, checks, findings.keys, problem.keys(), findings.unsorted);
    return result;
}

} // namespace lapwing::nas
