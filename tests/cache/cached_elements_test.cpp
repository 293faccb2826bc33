// Random loops over the elements of cached arrays, against a plain array; also with copies of some elements beside the
// cache.
#include "team/team_test.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/runtime.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

namespace {

using lapwing::CacheMode;
using lapwing::CacheOptions;
using lapwing::CachePolicy;
using lapwing::Domain;
using lapwing::Extents;
using lapwing::GlobalArray;
using lapwing::Index;
using lapwing::Range;
using lapwing::Runtime;

/// Elements of one row: `count` of them from `first` on, `step` apart.
template <std::size_t N>
struct Row {
    Index<N> first{};
    std::int64_t step = 1;
    std::int64_t count = 0;
};

enum class Copies { none, automatic, manual };

/// A program in rounds of writes, then reads by all ranks. In each round an element belongs to one rank, which may
/// write and read it; all ranks know what all write.
template <class T, std::size_t N>
class RandomLoops {
public:
    template <class D>
    RandomLoops(Runtime& runtime, const Extents<N>& extents, const D& distribution, const CacheOptions& cache,
                unsigned seed, Copies copies = Copies::none)
        : runtime_{runtime},
          copies_{copies},
          array_{runtime, extents, distribution, {.name = "loops", .cache = cache}},
          extents_{extents} {
        std::size_t size = 1;
        for (std::size_t d = 0; d < N; ++d) size *= static_cast<std::size_t>(extents[d]);
        expected_.assign(size, T{});
        generator_.seed(seed);
        array_.fill(T{});
        make_copies();
    }

    /// How many elements were not what they must be.
    std::int64_t run(int rounds) {
        for (int round = 0; round < rounds; ++round) {
            const std::int64_t share = 1 + draw(40); // elements that follow each other belong to one rank
            std::vector<T> next = expected_;
            for (int rank = 0; rank < runtime_.size(); ++rank) {
                const bool mine = rank == runtime_.rank().value;
                for (int loop = 0; loop < 12; ++loop) write_or_read(rank, share, mine, next);
            }
            runtime_.barrier();
            expected_ = next;
            if (copies_ == Copies::manual) array_.update();
            for (int loop = 0; loop < 12; ++loop) read_anything();
            runtime_.barrier();
            if (draw(3) == 0) {
                array_.evict();
                make_copies();
            }
        }
        return wrong_;
    }

private:
    /// One or two patterns, which begin and end somewhere in rows, or everything.
    void make_copies() {
        if (copies_ == Copies::none) return;
        const lapwing::PrefetchOptions options{.consistent = copies_ == Copies::automatic};
        for (std::int64_t patterns = 1 + draw(2); patterns > 0; --patterns) {
            std::array<Range, N> ranges;
            for (std::size_t d = 0; d < N; ++d) {
                const std::int64_t first = draw(extents_[d]);
                ranges[d] = Range{first, first + 1 + draw(extents_[d] - first)};
            }
            const Domain<N> some{ranges};
            if (draw(4) == 0) array_.prefetch(lapwing::AllToAll{}, options);
            else array_.prefetch([some](const Domain<N>&) { return some; }, options);
        }
    }
    std::int64_t draw(std::int64_t below) {
        return static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(below));
    }
    [[nodiscard]] std::size_t place(const Index<N>& index) const {
        std::int64_t at = 0;
        for (std::size_t d = 0; d < N; ++d) at = at * extents_[d] + index[d];
        return static_cast<std::size_t>(at);
    }
    [[nodiscard]] Row<N> row() {
        Row<N> row;
        for (std::size_t d = 0; d < N; ++d) row.first[d] = draw(extents_[d]);
        constexpr std::array<std::int64_t, 6> steps{1, 1, -1, 2, -3, 40};
        row.step = steps[static_cast<std::size_t>(draw(6))];
        const std::int64_t last = row.first[N - 1];
        const std::int64_t room = row.step > 0 ? (extents_[N - 1] - 1 - last) / row.step : last / -row.step;
        row.count = 1 + draw(room + 1);
        return row;
    }
    template <class Use>
    static void each(const Row<N>& row, Use use) {
        Index<N> index = row.first;
        for (std::int64_t k = 0; k < row.count; ++k, index[N - 1] += row.step) use(index);
    }
    [[nodiscard]] auto element(const Index<N>& index) {
        return std::apply([this](auto... i) { return array_(i...); }, index);
    }
    void check(const Index<N>& index, T value, const std::vector<T>& values) {
        wrong_ += value != values[place(index)];
    }

    void write_or_read(int rank, std::int64_t share, bool mine, std::vector<T>& next) {
        const Row<N> places = row();
        const std::int64_t kind = draw(10);
        const auto base = static_cast<T>(draw(100));
        if (kind == 9) return put_patch(rank, share, mine, places.first, base, next);
        const std::int64_t fence_before = draw(3 * places.count);
        const std::int64_t prefetch_before = draw(2 * places.count);
        std::array<Index<N>, 8> others;
        for (Index<N>& other : others) other = row().first;
        std::int64_t k = 0;
        each(places, [&](const Index<N>& index) {
            if (k == fence_before && mine) array_.fence();
            if (k++ == prefetch_before && mine)
                for (const Index<N>& other : others) prefetch(element(other)); // which evicts what is there
            const auto at = static_cast<std::int64_t>(place(index));
            if (at / share % runtime_.size() != rank) return;
            const auto value = static_cast<T>(static_cast<std::int64_t>(base) + at % 7);
            if (kind < 4) { // writes
                if (mine) element(index) = value;
                next[place(index)] = value;
            } else if (kind < 7) { // reads and writes, past the cache or through it
                if (mine) {
                    if constexpr (lapwing::AtomicValue<T>) {
                        if (kind == 6) element(index).atomic().fetch_add(value);
                        else element(index) += value;
                    } else {
                        element(index) += value;
                    }
                }
                next[place(index)] = static_cast<T>(next[place(index)] + value);
            } else if (mine) {
                check(index, element(index), next);
            }
        });
    }
    /// The rest of a rank's elements that `first` is one of, at once.
    void put_patch(int rank, std::int64_t share, bool mine, const Index<N>& first, T base, std::vector<T>& next) {
        const auto at = static_cast<std::int64_t>(place(first));
        if (at / share % runtime_.size() != rank) return;
        const std::int64_t count = std::min(share - at % share, extents_[N - 1] - first[N - 1]);
        const std::vector<T> values(static_cast<std::size_t>(count), base);
        std::ranges::copy(values, next.begin() + at);
        if (!mine) return;
        std::array<Range, N> ranges;
        for (std::size_t d = 0; d < N; ++d) ranges[d] = Range{first[d], first[d] + (d == N - 1 ? count : 1)};
        array_(Domain<N>{ranges}).put(values);
    }
    void read_anything() {
        const Row<N> places = row();
        if (draw(6) == 0) { // a patch
            const Domain<N> box = box_around(places.first);
            std::vector<T> values(box.size());
            array_(box).get(std::span{values});
            std::size_t k = 0;
            for (const Index<N>& index : box) check(index, values[k++], expected_);
            return;
        }
        if (draw(3) == 0) return read_in_turns(places, {row(), row()});
        each(places, [&](const Index<N>& index) { check(index, element(index), expected_); });
    }
    /// As a stencil's loops do; some elements again and again.
    void read_in_turns(const Row<N>& first, const std::array<Row<N>, 2>& others) {
        for (std::int64_t k = 0; k < 2 * first.count; ++k)
            for (const Row<N>* const places : {&first, &others[0], &others[1], &first}) {
                Index<N> index = places->first;
                index[N - 1] += k % places->count * places->step;
                check(index, element(index), expected_);
            }
    }
    [[nodiscard]] Domain<N> box_around(const Index<N>& index) const {
        std::array<Range, N> ranges;
        for (std::size_t d = 0; d < N; ++d)
            ranges[d] = Range{std::max<std::int64_t>(index[d] - 20, 0), std::min(index[d] + 20, extents_[d])};
        return Domain<N>{ranges};
    }

    Runtime& runtime_;
    Copies copies_;
    GlobalArray<T, N> array_;
    Extents<N> extents_;
    std::vector<T> expected_;
    std::mt19937_64 generator_; // the same on all ranks
    std::int64_t wrong_ = 0;
};

} // namespace

TEST_CASE("random loops over the elements of cached arrays read and leave what they do in a plain array") {
    Runtime runtime;
    unsigned seed = 1;
    for (const CachePolicy policy : {CachePolicy::two_queues, CachePolicy::direct_mapped})
        for (const std::uint64_t page : {64U, 256U, 1024U}) {
            constexpr std::uint64_t pages = 6;
            const CacheOptions cache{.mode = CacheMode::epoch,
                                     .policy = policy,
                                     .bytes = page * pages,
                                     .page_bytes = page,
                                     .dirty_pages = 1 + seed % 3};
            INFO("page of " << page << " bytes, seed " << seed);
            const int size = runtime.size();
            CHECK(RandomLoops<double, 1>{runtime, {300}, lapwing::Block{}, cache, ++seed}.run(2) == 0);
            CHECK(RandomLoops<std::int32_t, 1>{runtime, {301}, lapwing::Cyclic{}, cache, ++seed}.run(1) == 0);
            CHECK(RandomLoops<std::uint8_t, 2>{runtime, {7, 333}, lapwing::Block{.grid = {1, size}}, cache, ++seed}.run(
                      2) == 0);
            CHECK(RandomLoops<double, 2>{runtime, {12, 90}, lapwing::Block{.grid = {0, 1}}, cache, ++seed}.run(2) == 0);
            CHECK(RandomLoops<std::int16_t, 3>{runtime, {3, 5, 64}, lapwing::Cyclic{.grid = {0, 1, 1}}, cache, ++seed}
                      .run(2) == 0);
        }
    // Room for all of it: only other ranks' writes make pages leave.
    const CacheOptions large{
        .mode = CacheMode::epoch, .bytes = std::uint64_t{64} * 256, .page_bytes = 256, .dirty_pages = 20};
    CHECK(RandomLoops<double, 2>{runtime, {12, 90}, lapwing::Block{.grid = {0, 1}}, large, ++seed}.run(6) == 0);
    CHECK(RandomLoops<float, 1>{runtime, {900}, lapwing::Block{}, large, ++seed}.run(6) == 0);
}

TEST_CASE("random loops over cached elements of which some have copies read and leave what they do in a plain array") {
    Runtime runtime;
    unsigned seed = 100;
    for (const Copies copies : {Copies::automatic, Copies::manual})
        for (const std::uint64_t page : {64U, 256U, 1024U}) {
            const CacheOptions cache{
                .mode = CacheMode::epoch, .bytes = page * 6, .page_bytes = page, .dirty_pages = 1 + seed % 3};
            INFO("page of " << page << " bytes, seed " << seed << ", manual " << (copies == Copies::manual));
            const int size = runtime.size();
            CHECK(RandomLoops<double, 1>{runtime, {300}, lapwing::Block{}, cache, ++seed, copies}.run(3) == 0);
            CHECK(RandomLoops<std::int32_t, 1>{runtime, {301}, lapwing::Cyclic{}, cache, ++seed, copies}.run(1) == 0);
            CHECK(RandomLoops<std::uint8_t, 2>{
                      runtime, {7, 333}, lapwing::Block{.grid = {1, size}}, cache, ++seed, copies}
                      .run(3) == 0);
            CHECK(RandomLoops<double, 2>{runtime, {12, 90}, lapwing::Block{.grid = {0, 1}}, cache, ++seed, copies}.run(
                      3) == 0);
            CHECK(RandomLoops<std::int16_t, 3>{
                      runtime, {3, 5, 64}, lapwing::Block{.grid = {0, 1, 1}}, cache, ++seed, copies}
                      .run(2) == 0);
        }
    const CacheOptions large{
        .mode = CacheMode::epoch, .bytes = std::uint64_t{64} * 256, .page_bytes = 256, .dirty_pages = 20};
    for (const Copies copies : {Copies::automatic, Copies::manual})
        CHECK(RandomLoops<float, 1>{runtime, {900}, lapwing::Block{}, large, ++seed, copies}.run(6) == 0);
}

namespace {

/// Reads at random of an array that holds its indices, and what they cost: see MixedReads.
template <class T>
void read_at_random(Runtime& runtime, const auto& distribution, std::int64_t each) {
    const std::int64_t n = each * runtime.size();
    GlobalArray<T, 1> a{runtime, {n}, distribution, {.name = "mixed", .cache = {.mode = CacheMode::epoch}}};
    const auto value_of = [](std::int64_t i, std::int64_t round) {
        return static_cast<T>(static_cast<int>((i * 7 + round) % 101));
    };
    const bool cached = a.window().page_tables() != nullptr && runtime.nodes() == runtime.size();
    std::mt19937_64 generator{static_cast<unsigned>(runtime.rank().value)};
    for (std::int64_t round = 0; round < 3; ++round) {
        INFO("elements of " << sizeof(T) << " bytes, round " << round);
        for (const auto [i] : a.local_domain()) a(i) = value_of(i, round);
        runtime.barrier();
        std::int64_t wrong = 0;
        const auto read = [&](std::int64_t i) { wrong += T{a(i)} != value_of(i, round); };
        const auto hits = [&] { return a.statistics()[lapwing::Counter::cache_hits]; };
        for (std::int64_t k = 0; k < 2 * n; ++k)
            read(static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(n)));
        const std::uint64_t before = hits();
        for (std::int64_t k = 0; k < n; ++k)
            read(static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(n)));
        // All of them, own ones as well.
        if (cached && runtime.size() > 1) CHECK(hits() - before > static_cast<std::uint64_t>(n) * 9 / 10);
        // After a write of an own element those are found in the quick way again.
        const std::int64_t own = a.local_domain().first()[0];
        a(own) = value_of(own, round); // ranks of the node may be reading it
        CHECK(T{a(own)} == value_of(own, round));
        const std::uint64_t between = hits();
        for (const auto [i] : a.local_domain()) read(i);
        CHECK(hits() == between);
        // So it is after reads in order.
        for (std::int64_t k = 0; k < n; ++k)
            read(static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(n)));
        a.acquire();
        for (const auto [i] : a.local_domain()) read(i);
        const std::uint64_t after = hits();
        for (const auto [i] : a.local_domain()) read(i);
        CHECK(hits() == after);
        CHECK(wrong == 0);
        runtime.barrier();
    }
}

} // namespace

TEST_CASE("own elements and those of others are found in the same way where they are read at random") {
    Runtime runtime;
    read_at_random<double>(runtime, lapwing::Block{}, 16384);
    read_at_random<std::uint8_t>(runtime, lapwing::Block{}, 65536);
    read_at_random<std::complex<double>>(runtime, lapwing::Block{}, 8192);
    read_at_random<float>(runtime, lapwing::Cyclic{}, 32768);
}
