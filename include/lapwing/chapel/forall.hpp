// Room: arrays
#pragma once

#include <lapwing/chapel/loop.hpp>
#include <lapwing/chapel/reduce.hpp>
#include <lapwing/detail/array_errors.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/team.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lapwing::chapel {

/// How many threads of each rank share a loop.
struct Threads {
    unsigned count = 1;
};
[[nodiscard]] constexpr Threads threads(unsigned count) noexcept { return {count}; }
/// One: the thread that makes the call.
struct Serial {};
inline constexpr Serial serial{};

namespace detail {

/// `P`: Threads, or Serial, which is a type of its own since a body that other threads may have is slower.
template <class P, class... R>
struct Intents {
    P parallel;
    std::tuple<R&...> reductions;
};

inline std::tuple<Threads> threads_of(Threads threads) noexcept { return {threads}; }
template <class A>
std::tuple<> threads_of(const A& /*argument*/) noexcept {
    return {};
}
inline std::tuple<> reductions_of(Threads /*threads*/) noexcept { return {}; }
inline std::tuple<> reductions_of(Serial /*serial*/) noexcept { return {}; }
template <class T, class Operation>
std::tuple<Reduction<T, Operation>&> reductions_of(Reduction<T, Operation>& reduction) noexcept {
    return {reduction};
}
template <class... R>
Intents<Serial, R...> intents_of(std::tuple<> /*threads*/, std::tuple<R&...> reductions) noexcept {
    return {{}, reductions};
}
template <class... R>
Intents<Threads, R...> intents_of(std::tuple<Threads> threads, std::tuple<R&...> reductions) noexcept {
    return {std::get<0>(threads), reductions};
}

/// The loop over the iterations [from, to) of this rank's, with a thread's own variables.
template <class Loop, class Body, class... Own>
[[gnu::always_inline]] inline void iterate(const Loop& loop, Body& body, std::uint64_t from, std::uint64_t to,
                                           Own&... own) {
    constexpr Form form = Loop::template form<Body, Own...>();
    if constexpr (form == Form::none) {
        static_assert(form != Form::none, "lapwing: the body of this forall takes other arguments: the elements, one "
                                          "of each array (a const reference for const arrays), before them, if it "
                                          "likes, their Index<N> or N integers, and after them a reference for each "
                                          "variable of with()");
    } else if (form == Form::elements && loop.dense()) {
        const typename Loop::Stretch all = loop.whole();
        loop.template each<form>(body, all, from, std::min(to, all.count), own...);
    } else {
        auto stretches = loop.stretches();
        typename Loop::Stretch stretch;
        while (stretches.next(stretch) && stretch.position < to)
            if (stretch.position + stretch.count > from)
                loop.template each<form>(body, stretch, from > stretch.position ? from - stretch.position : 0,
                                         std::min(stretch.count, to - stretch.position), own...);
    }
}

/// All iterations of this rank's by this thread; returns what its variables have become.
template <class Loop, class Body, class... T>
[[gnu::always_inline]] inline std::tuple<T...> share(const Loop& loop, Body& body, Serial /*serial*/,
                                                     std::tuple<T...> own) {
    std::apply([&](T&... values) { iterate(loop, body, 0, UINT64_MAX, values...); }, own);
    return own;
}
/// The same by several threads. `combine(so_far, own)` adds the variables of one to those of the threads before it.
/// Throws what the body has thrown in the first of them, after all have ended.
template <class Loop, class Body, class Variables, class Combine>
[[gnu::noinline]] Variables share(const Loop& loop, const Body& body, Threads parallel, const Variables& identities,
                                  const Combine& combine) {
    const std::uint64_t size = loop.size();
    const std::uint64_t threads = std::clamp<std::uint64_t>(parallel.count, 1, std::max<std::uint64_t>(size, 1));
    std::vector<Variables> results(threads, identities);
    std::vector<std::exception_ptr> failures(threads);
    const auto part = [&](std::uint64_t k) {
        try {
            Body with = body;
            Variables own = identities;
            const std::uint64_t more = size % threads;
            const std::uint64_t from = k * (size / threads) + std::min(k, more);
            const std::uint64_t to = from + size / threads + (k < more ? 1 : 0);
            std::apply([&](auto&... values) { iterate(loop, with, from, to, values...); }, own);
            results[k] = own;
        } catch (...) {
            failures[k] = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> others; // which are waited for here, also if one cannot be started
        others.reserve(threads - 1);
        for (std::uint64_t k = 1; k < threads; ++k) others.emplace_back(part, k);
        part(0);
    }
    for (const std::exception_ptr& failure : failures)
        if (failure != nullptr) std::rethrow_exception(failure);
    Variables all = identities;
    for (const Variables& own : results) combine(all, own);
    return all;
}

/// `make()` returns the loop, and may throw.
template <class Make, class Body, class P, class... R>
[[gnu::always_inline]] inline void execute(Team& team, const Make& make, bool replicated,
                                           const Intents<P, R...>& intents, Body& body) {
    using Variables = std::tuple<typename R::value_type...>;
    const auto for_each = [&](const auto& function) {
        [&]<std::size_t... K>(std::index_sequence<K...>) {
            (function(std::get<K>(intents.reductions), std::integral_constant<std::size_t, K>{}), ...);
        }(std::index_sequence_for<R...>{});
    };
    const auto combine = [&](Variables& all, const Variables& own) {
        for_each([&](auto& reduction, auto k) {
            std::get<k>(all) = reduction.combined(std::get<k>(all), std::get<k>(own));
        });
    };
    const auto run = [&](const Variables& identities) {
        if constexpr (std::same_as<P, Serial>) return share(make(), body, intents.parallel, identities);
        else return share(make(), body, intents.parallel, identities, combine);
    };
    if constexpr (sizeof...(R) == 0) {
        run({});
    } else {
        Variables own =
            std::apply([](const auto&... reduction) { return Variables{reduction.identity()...}; }, intents.reductions);
        std::exception_ptr failure;
        try {
            own = run(own);
        } catch (...) {
            failure = std::current_exception();
        }
        const lapwing::detail::arrays::ArrayTitle title{.who = team.who(), .other = "chapel::forall"};
        lapwing::detail::arrays::end_collective(title, team, "", failure, "there is no result");
        for_each([&](auto& reduction, auto k) {
            reduction.add(replicated ? std::get<k>(own) : reduction.over_ranks(team, std::get<k>(own)));
        });
    }
}

} // namespace detail

/// Options and reduce intents of a forall: `with(total, largest)`, `with(threads(4), total)`. The variables are made by
/// reduce(), and must live until the loop has ended.
template <class... A>
[[nodiscard]] auto with(A&&... arguments) {
    return detail::intents_of(std::tuple_cat(detail::threads_of(arguments)...),
                              std::tuple_cat(detail::reductions_of(arguments)...));
}

/// Chapel's forall, with options (`threads(n)`, `serial`), with reduce intents (`with(…)`), or without: the calling
/// rank executes the iterations whose elements it owns, so that all ranks together execute each once (over a replicated
/// array each rank all of them). `where` is
///
/// - an array, a GlobalArray or DomainArray: `forall(a, [](double& x) { x = 1; })`;
/// - several: `forall(zip(a, b), [](double& x, double y) { x += y; })`, see zip();
/// - an array's indices alone: `forall(domain(a), [&](std::int64_t i, std::int64_t j) { … })`.
///
/// The body may take the index before the elements, as Index<N> or as N integers (with one dimension as an integer, if
/// it can). It is copied for each thread but the first.
///
/// Local call, without a barrier at either end; with reduce intents collective. On return this rank's iterations have
/// been executed, and variables of `with()` have their values on all ranks; a body takes a reference for each of them
/// after the elements: `forall(a, with(total), [](double x, double& sum) { sum += x; })`. What the body throws in a
/// thread is thrown here, once the other threads have ended; with reduce intents the other ranks then throw UsageError
/// with its text, and no variable has changed. Throws UsageError for closed arrays. Cost: that of a loop over plain
/// memory, row by row; if the body takes no index, and no part has gaps between its rows, over all at once. For each
/// thread but the first, one is started. With reduce intents: a barrier, and a reduction for each.
template <detail::Iterable Where, class Body, class P, class... R>
void forall(Where&& where, const detail::Intents<P, R...>& intents, Body body) {
    const auto& arrays = detail::as_zip(where);
    const auto& leader = detail::core_of(detail::leader_of(arrays));
    detail::execute(
        leader.team(), [&] { return detail::loop_of(arrays); }, detail::OwnPart::replicated(leader), intents, body);
}
template <detail::Iterable Where, class Body>
void forall(Where&& where, Body body) {
    forall(where, with(), std::move(body));
}
template <detail::Iterable Where, class Body>
void forall(Where&& where, Threads threads, Body body) {
    forall(where, with(threads), std::move(body));
}
template <detail::Iterable Where, class Body>
void forall(Where&& where, Serial /*serial*/, Body body) {
    forall(where, with(), std::move(body));
}

/// The same over a domain that no array is distributed over, in blocks by rank: each rank executes what it would own
/// of an array of as many indices, `GlobalArray{team, …}`. The body takes the index alone.
template <std::size_t N, class Body, class P, class... R>
void forall(Team& team, const Domain<N>& domain, const detail::Intents<P, R...>& intents, Body body) {
    detail::execute(team, [&] { return detail::loop_over(team, domain); }, false, intents, body);
}
template <std::size_t N, class Body>
void forall(Team& team, const Domain<N>& domain, Body body) {
    forall(team, domain, with(), std::move(body));
}
template <std::size_t N, class Body>
void forall(Team& team, const Domain<N>& domain, Threads threads, Body body) {
    forall(team, domain, with(threads), std::move(body));
}
template <std::size_t N, class Body>
void forall(Team& team, const Domain<N>& domain, Serial /*serial*/, Body body) {
    forall(team, domain, with(), std::move(body));
}

} // namespace lapwing::chapel
