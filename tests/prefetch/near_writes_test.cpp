// Writes of elements, which arrays store to the node's memory without a call of the window, and the copies that class
// Prefetch keeps of that memory. Each rank writes what the rank after it owns.
#include "tests/arrays/array_test.hpp"
#include "tests/window/copy_counter.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/prefetch.hpp>

#include <optional>
#include <utility>

using namespace lapwing;
using test::message_of;
using test::says;

namespace {

constexpr PrefetchOptions manual{.consistent = false};

/// The elements of one owner in an array of one or two dimensions, and their copies.
template <std::size_t N>
class Copied {
public:
    template <class D>
    Copied(GlobalArray<std::int64_t, N>& array, const D& distribution, const PrefetchOptions& options)
        : owner_{test::next(array.team())}, options_{options} {
        const auto map = distribution.map(array.extents(), array.team().size());
        for (const Index<N> index : array.domain()) {
            const Location location = map.locate(index);
            if (location.owner != owner_) continue;
            elements_.push_back(index);
            places_.push_back(location.offset);
        }
        make(array.window());
    }

    /// Copies of that owner's part.
    void make(Window& window) {
        ahead_.emplace(window, options_);
        whole_ = ahead_->request(owner_);
        if (!options_.consistent) ahead_->update();
    }
    [[nodiscard]] Prefetch& ahead() { return *ahead_; }
    void end() { ahead_.reset(); }
    [[nodiscard]] std::size_t size() const { return elements_.size(); }
    /// Element k of the owner, in the array and in the copies.
    [[nodiscard]] const Index<N>& index(std::size_t k) const { return elements_[k % size()]; }
    [[nodiscard]] std::int64_t copy(std::size_t k) { return ahead_->read<std::int64_t>(*whole_, places_[k % size()]); }

private:
    Rank owner_;
    PrefetchOptions options_;
    std::vector<Index<N>> elements_;
    std::vector<std::uint64_t> places_;
    std::optional<Prefetch> ahead_;
    std::optional<PrefetchedSlice> whole_;
};

/// Whether writes of elements of the rank after this one are stores that no copies are notified of.
[[nodiscard]] bool stores_itself(GlobalArray<std::int64_t, 1>& array) {
    Window& window = array.window();
    const test::CopyCounter counter{window};
    array(array.local_domain(test::next(array.team())).first()) = 1;
    return counter.written() == 0;
}
[[nodiscard]] bool is_near(GlobalArray<std::int64_t, 1>& array) {
    return array.window().path(test::next(array.team())) == Path::direct;
}

/// Writes elements in every way.
template <std::size_t N>
void write_all(GlobalArray<std::int64_t, N>& array, Copied<N>& copied) {
    std::int64_t value = 1000 * (array.team().rank().value + 1);
    std::size_t k = 0;
    const auto check = [&](const char* what) {
        INFO(what << ", element " << k % copied.size());
        REQUIRE(array(copied.index(k)).get() == value);
        REQUIRE(copied.copy(k) == value);
        ++k;
        ++value;
    };
    const auto next = [&] { return array(copied.index(k)); };
    next() = value, check("=");
    next() = 1, next() += value - 1, check("+=");
    next() = value - 1, ++next(), check("++");
    next() = array(copied.index(k - 1)), next() = next() + 1, check("= of another element");
    const auto element = next();
    element.set(value), check("set");
    const std::array<Index<N>, 1> list{copied.index(k)};
    array.scatter(list, std::span<const std::int64_t>{&value, 1}), check("scatter");
    std::array<Range, N> ranges;
    for (std::size_t d = 0; d < N; ++d) ranges[d] = {copied.index(k)[d], copied.index(k)[d] + 1};
    array(Domain<N>{ranges}).put(std::span<const std::int64_t>{&value, 1}), check("put of a patch");
    next() = 1, next().atomic().add(value - 1), check("add");
    (void)next().atomic().exchange(value), check("exchange");
    (void)next().atomic().store(value), check("store");
}

template <std::size_t N, class D>
void write_under(Team& team, const Extents<N>& extents, const D& distribution) {
    for (const bool consistent : {true, false}) {
        INFO("consistent " << consistent);
        GlobalArray<std::int64_t, N> array{team, extents, distribution, {.name = "near"}};
        Copied<N> copied{array, distribution, {.consistent = consistent}};
        if (copied.size() != 0) {
            write_all(array, copied);
            copied.ahead().evict();
            array(copied.index(0)) = -1;
            copied.make(array.window()); // and again
            CHECK(copied.copy(0) == -1);
            write_all(array, copied);
        }
        team.barrier();
        copied.end();
        array.close();
    }
}

} // namespace

TEST_CASE("writes of elements go to the copies, whatever the distribution") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    write_under<1>(runtime, {100}, Block{});
    write_under<1>(runtime, {97}, Cyclic{});
    write_under<1>(runtime, {100}, BlockCyclic{.block = {7}});
    write_under<1>(runtime, {100}, test::Reversed{.block = {50}});
    write_under<2>(runtime, {12, 14}, Block{});
    write_under<2>(runtime, {12, 14}, Block{.grid = {0, 1}});
    write_under<2>(runtime, {12, 14}, BlockCyclic{.block = {2, 3}});
    write_under<2>(runtime, {12, 14}, test::Reversed{.block = {3, 4}});
}

TEST_CASE("elements are stored directly again when the copies are gone") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    GlobalArray<std::int64_t, 1> array{runtime, {100}};
    GlobalArray<std::int64_t, 1> other{runtime, {100}};
    const bool near = is_near(array);
    CHECK(stores_itself(array) == near);
    for (const bool consistent : {true, false}) {
        Copied<1> copied{array, Block{}, {.consistent = consistent}};
        CHECK(!stores_itself(array));
        CHECK(stores_itself(other) == near);
        copied.ahead().evict();
        CHECK(stores_itself(array) == near);
        copied.make(array.window());
        CHECK(!stores_itself(array));
    }
    CHECK(stores_itself(array) == near); // its end is as good as evict()
    // Copies of other nodes' parts change nothing for this one's.
    const Prefetch none{array.window()};
    CHECK(stores_itself(array) == near);
    runtime.barrier();
}

TEST_CASE("the last of several copies decides, the array's own ones included") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    GlobalArray<std::int64_t, 1> array{runtime, {100}};
    const bool near = is_near(array);
    array.prefetch(Stencil{}, manual); // with the node's elements
    CHECK(!stores_itself(array));
    {
        Copied<1> first{array, Block{}, {}};
        Copied<1> second{array, Block{}, manual};
        array.evict();
        CHECK(!stores_itself(array));
        first.end();
        write_all(array, second);
        CHECK(!stores_itself(array));
    }
    CHECK(stores_itself(array) == near);
    Copied<1> third{array, Block{}, manual};
    array.prefetch(Stencil{}, manual);
    third.end();
    CHECK(!stores_itself(array));
    array.evict();
    CHECK(stores_itself(array) == near);
    runtime.barrier();
}

TEST_CASE("copies go with an array that is moved or swapped") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    GlobalArray<std::int64_t, 1> a{runtime, {100}};
    GlobalArray<std::int64_t, 1> b{runtime, {100}};
    const bool near = is_near(a);
    Copied<1> copied{a, Block{}, manual};
    std::swap(a, b);
    CHECK(stores_itself(a) == near);
    write_all(b, copied);
    GlobalArray<std::int64_t, 1> c{std::move(b)};
    write_all(c, copied);
    a = std::move(c); // closes what a was
    write_all(a, copied);
    copied.ahead().evict();
    CHECK(stores_itself(a) == near);
    // Copies that are made after a move are found as well.
    copied.make(a.window());
    write_all(a, copied);
    runtime.barrier();
}

TEST_CASE("copies end with the window: at a change of the extents, and at the close") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    GlobalArray<std::int64_t, 1> array{runtime, {100}};
    const bool near = is_near(array);
    Copied<1> copied{array, Block{}, {}};
    array.resize({100}); // under the same distribution, in a new window
    CHECK_THAT(message_of<UsageError>([&] { (void)copied.copy(0); }), says({"window was closed"}));
    CHECK(stores_itself(array) == near);
    copied.make(array.window());
    write_all(array, copied);
    array.redistribute(Block{});
    CHECK(stores_itself(array) == near);
    copied.make(array.window());
    write_all(array, copied);
    array.close();
    CHECK(copied.ahead().memory() == 0);
}

TEST_CASE("elements of replicated arrays are written to the copies, too") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    GlobalArray<std::int64_t, 1> array{runtime, {10}, Replicated{}};
    Prefetch ahead{array.window(), manual};
    const PrefetchedSlice slice = ahead.request(test::next(runtime));
    ahead.update();
    runtime.barrier();
    const auto rank = static_cast<std::int64_t>(runtime.rank().value);
    if (rank < 10) {
        array(rank) = 7 + rank;
        CHECK(ahead.read<std::int64_t>(slice, static_cast<std::uint64_t>(rank)) == 7 + rank);
    }
    runtime.barrier();
}
