// Room: functions
#pragma once

#include <lapwing/detail/functions/calls.hpp>
#include <lapwing/detail/functions/entry.hpp>
#include <lapwing/detail/functions/future.hpp>
#include <lapwing/detail/team_functions.hpp>
#include <lapwing/error.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/serialise.hpp>
#include <lapwing/team.hpp>

#include <functional>
#include <type_traits>
#include <utility>

/// Functions at the owner of the data: Team::call() and post(), GlobalArray::apply() and post(), Team::quiesce(). Any
/// function object will do whose type all ranks know, since they run the same program: a lambda that captures nothing
/// or trivially copyable values (never by reference), or `fn<&f>`. See docs/functions.md.
namespace lapwing {

/// A function as an object that can travel: `team.call(1, lapwing::fn<&count_words>, text)`.
template <auto f>
struct FunctionConstant {
    template <class... A>
        requires std::is_invocable_v<decltype(f), A...>
    decltype(auto) operator()(A&&... arguments) const {
        return std::invoke(f, std::forward<A>(arguments)...);
    }
};
template <auto f>
inline constexpr FunctionConstant<f> fn{};

namespace detail::functions {

/// Refuses what would be an address that means nothing elsewhere.
template <class F>
consteval bool check_function() {
    constexpr bool is_pointer = std::is_pointer_v<F> || std::is_member_pointer_v<F>;
    static_assert(!is_pointer, "lapwing: the address of a function means nothing on another rank; pass "
                               "lapwing::fn<&f> instead of f");
    return !is_pointer;
}

template <class F, class... A>
void post(const Destination& to, const F& function, const A&... arguments) {
    if constexpr (check_function<F>()) {
        using S = Signature<F, Passed<A>...>;
        ByteWriter message;
        S::write(message, function, arguments...);
        post(to, entry_of<S, F>, message);
    }
}

template <class F, class... A>
[[nodiscard]] auto call(const Destination& to, const F& function, const A&... arguments) {
    if constexpr (check_function<F>()) {
        using S = Signature<F, Passed<A>...>;
        ByteWriter message;
        S::write(message, function, arguments...);
        return Future<typename FutureValue<typename S::Result>::Type>{
            ask(to, entry_of<S, F>, message, S::result_bytes)};
    }
}

} // namespace detail::functions

/// Internal: Team::call().
template <class F, class... A>
[[nodiscard]] auto call_function(Team& team, Where where, Rank target, const F& function, const A&... arguments) {
    return detail::functions::call({.team = team, .target = target, .call = "Team::call", .where = where}, function,
                                   arguments...);
}
/// Internal: Team::post().
template <class F, class... A>
void post_function(Team& team, Where where, Rank target, const F& function, const A&... arguments) {
    detail::functions::post({.team = team, .target = target, .call = "Team::post", .where = where}, function,
                            arguments...);
}
/// Internal: Team::quiesce().
inline void quiesce_functions(Team& team) { detail::functions::quiesce(team); }

} // namespace lapwing
