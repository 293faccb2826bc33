// Room: arrays
#pragma once

#include <lapwing/detail/array_errors.hpp>
#include <lapwing/detail/functions/batches.hpp>
#include <lapwing/detail/index_list.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/functions.hpp>
#include <lapwing/location.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace lapwing::detail::arrays {

/// The calls of a GlobalArray that run functions at the owners of elements. docs/functions.md explains them.
///
/// A function gets the element as `T&`, in the owner's memory, and then the arguments. It runs after this rank's
/// earlier accesses to the element. This rank's later ones find what it has done once its result is here, or a release
/// has returned; of a cached or prefetched element after an acquire as well. Functions for one owner that run on its
/// progress side never run at the same time, so that they may change their elements without atomics; stores, processor
/// atomics of ranks on the owner's node, and functions for Where::program are not kept apart from them. Replicated
/// arrays throw UsageError.
template <class Array, class T, std::size_t N>
class ArrayFunctions {
public:
    /// Local call. Runs `function(element, arguments...)` at the owner and returns a Future of what it returns: see
    /// Team::call(). Throws RangeError.
    template <class F, class... A>
    [[nodiscard]] auto apply(const Index<N>& index, F function, const A&... arguments) {
        return functions::call(destination(".apply", Where::progress, index), function, element(".apply", index),
                               arguments...);
    }
    template <IndexValue I, class F, class... A>
        requires(N == 1)
    [[nodiscard]] auto apply(I index, F function, const A&... arguments) {
        return apply(Index<N>{static_cast<std::int64_t>(index)}, std::move(function), arguments...);
    }

    /// Local call. The same without a result: see Team::post().
    template <class F, class... A>
    void post(const Index<N>& index, F function, const A&... arguments) {
        functions::post(destination(".post", Where::progress, index), function, element(".post", index), arguments...);
    }
    template <IndexValue I, class F, class... A>
        requires(N == 1)
    void post(I index, F function, const A&... arguments) {
        post(Index<N>{static_cast<std::int64_t>(index)}, std::move(function), arguments...);
    }

    /// Local call. For a list of elements, in any order: results[k] becomes `function(element k, arguments[k])`.
    /// `arguments` is a range of trivially copyable values, or one value for all. Those at one owner run in the order
    /// of the list. On return all results are there. Throws RangeError for an index outside of the extents and for
    /// lists that differ in length, FunctionError where one has thrown: the others have run all the same. Cost: for
    /// each owner a message for some thousand elements, and its answer; 1 MiB of memory, whatever the length.
    template <IndexList<N> Indices, class F, class Arguments, class R>
        requires(!std::convertible_to<const Indices&, const Index<N>&>)
    void apply(const Indices& indices, F function, const Arguments& arguments, std::span<R> results) {
        using S = functions::Signature<F, functions::ElementAt<T>, ArgumentOf<Arguments>>;
        static_assert(std::is_same_v<typename S::Result, R> && functions::Plain<R>,
                      "lapwing: the results must be a span of the type that the function returns, which is trivially "
                      "copyable");
        if (results.size() != std::ranges::size(indices))
            throw_list_lengths(self().title_, ".apply", std::ranges::size(indices), results.size());
        list<S, F>(
            ".apply", indices, function, arguments, [&](std::size_t k) -> void* { return results.data() + k; },
            sizeof(R));
    }
    template <IndexList<N> Indices, class F, class Arguments, class Results>
        requires(!std::convertible_to<const Indices&, const Index<N>&> && std::ranges::contiguous_range<Results>)
    void apply(const Indices& indices, F function, const Arguments& arguments, Results& results) {
        apply(indices, std::move(function), arguments, std::span{results});
    }
    /// The same without results: complete at a release, as post().
    template <IndexList<N> Indices, class F, class Arguments>
        requires(!std::convertible_to<const Indices&, const Index<N>&>)
    void post(const Indices& indices, F function, const Arguments& arguments) {
        using S = functions::Signature<F, functions::ElementAt<T>, ArgumentOf<Arguments>>;
        list<S, F>(".post", indices, function, arguments, [](std::size_t) -> void* { return nullptr; }, 0);
    }

protected:
    ArrayFunctions() = default;
    ~ArrayFunctions() = default;
    ArrayFunctions(const ArrayFunctions&) = default;
    ArrayFunctions& operator=(const ArrayFunctions&) = default;

private:
    template <class Arguments>
    struct Argument {
        using Type = Arguments;
    };
    template <std::ranges::range Arguments>
    struct Argument<Arguments> {
        using Type = std::ranges::range_value_t<const Arguments&>;
    };
    template <class Arguments>
    using ArgumentOf = typename Argument<Arguments>::Type;

    [[nodiscard]] Array& self() { return static_cast<Array&>(*this); }
    [[nodiscard]] Location location(const char* call, const Index<N>& index) {
        self().require_open(call);
        if (self().core_.replicated) throw_no_home(self().title_, call, index);
        return self().checked_location(call, index);
    }
    [[nodiscard]] functions::ElementAt<T> element(const char* call, const Index<N>& index) {
        return {location(call, index).offset};
    }
    [[nodiscard]] functions::Destination destination(const char* call, Where where, const Index<N>& index) {
        const Location at = location(call, index);
        return {.team = *self().team_,
                .target = at.owner,
                .call = call,
                .window = &self().window_,
                .offset = Offset::of<T>(at.offset),
                .bytes = sizeof(T),
                .where = where};
    }

    template <class S, class F, class Indices, class Arguments, class Result>
    void list(const char* call, const Indices& indices, const F& function, const Arguments& arguments, Result result,
              std::size_t result_bytes) {
        using Value = ArgumentOf<Arguments>;
        static_assert(functions::Plain<Value>, "lapwing: the arguments of a list must be trivially copyable");
        static_assert(std::is_empty_v<F>, "lapwing: the function of a list cannot capture anything; pass what it needs "
                                          "in the arguments");
        const std::size_t count = std::ranges::size(indices);
        if constexpr (std::ranges::range<Arguments>)
            if (std::ranges::size(arguments) != count)
                throw_list_lengths(self().title_, call, count, std::ranges::size(arguments));
        static_cast<void>(function); // has no members
        self().require_open(call);
        for (const auto& listed : indices) {
            if (self().core_.user_map == nullptr && !self().core_.replicated)
                self().check_bounds(call, datatype::index_of<N>(listed));
            else (void)location(call, datatype::index_of<N>(listed));
        }
        using Results = functions::Batches::Results;
        functions::Batches batches{*self().team_, call, result_bytes == 0 ? Results::none : Results::asked};
        constexpr bool repeats = !std::ranges::range<Arguments>; // one argument for all
        functions::begin_list(self().window_);
        std::size_t k = 0;
        for (const auto& listed : indices) {
            const Location at = self().locate(datatype::index_of<N>(listed));
            const auto add = [&](const Value& argument) {
                batches.add(at.owner, functions::entry_of<S, F>, self().window_, at.offset, result(k),
                            static_cast<std::uint32_t>(result_bytes), repeats, argument);
            };
            if constexpr (repeats) add(arguments);
            else add(arguments[k]);
            ++k;
        }
        batches.finish();
        functions::end_list(self().window_);
    }
};

} // namespace lapwing::detail::arrays
