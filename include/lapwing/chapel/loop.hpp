// Room: arrays
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/detail/own_part.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/domain_array.hpp>
#include <lapwing/error.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/team.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// What a forall goes through: own elements of arrays, and indices.
namespace lapwing::chapel {

namespace detail {

using lapwing::detail::arrays::OwnPart;

template <class A>
inline constexpr bool is_global = false;
template <class T, std::size_t N>
inline constexpr bool is_global<GlobalArray<T, N>> = true;
template <class A>
inline constexpr bool is_domain_array = false;
template <class T, std::size_t N>
inline constexpr bool is_domain_array<DomainArray<T, N>> = true;

/// A GlobalArray or DomainArray, const or not.
template <class A>
concept Array = is_global<std::remove_cvref_t<A>> || is_domain_array<std::remove_cvref_t<A>>;

/// The GlobalArray of either.
template <Array A>
[[nodiscard]] auto& core_of(A& array) {
    if constexpr (is_global<std::remove_cv_t<A>>) return array;
    else return array.array();
}
template <Array A>
using CoreOf = std::remove_reference_t<decltype(core_of(std::declval<A&>()))>;
/// Elements of a const array are const.
template <Array A>
using ElementOf = std::conditional_t<std::is_const_v<A>, const typename A::value_type, typename A::value_type>;

} // namespace detail

/// Several arrays, and the indices of one, for forall.
template <detail::Array... A>
    requires(sizeof...(A) > 0)
struct Zip {
    std::tuple<A&...> arrays;
};
template <detail::Array A>
struct ArrayDomain {
    A& array;
};

/// Chapel's zip: the iterations are those of the first array, of which each rank executes its own; of the others the
/// body gets the elements at the same position. Of one that is distributed as the first it is given the elements
/// themselves. What another has on other ranks, or not as one run of memory for each of the first one's, is read
/// before the loop, into a copy that ends with it: that array must be const, `zip(a, std::as_const(b))`. All have
/// equal extents.
///
/// Errors of the loop: RangeError if the extents differ; UsageError for an array that must be const and is not, on each
/// rank that finds elements elsewhere. Cost of a copy: memory, and a get() for each of the rank's local domains, all
/// under way at once: a transfer for each owner, under BlockCyclic for each block and owner. As for a get(), what other
/// ranks have written must have been released before (a barrier is enough).
template <detail::Array... A>
    requires(sizeof...(A) > 0)
[[nodiscard]] Zip<A...> zip(A&... arrays) noexcept {
    return {std::tuple<A&...>{arrays...}};
}
/// The indices of an array, distributed as it is: `forall(domain(a), [&](std::int64_t i, std::int64_t j) { … })`.
template <detail::Array A>
[[nodiscard]] ArrayDomain<A> domain(A& array) noexcept {
    return {array};
}

namespace detail {

/// What a body takes before the variables of reduce intents.
enum class Form : std::uint8_t { none, elements, index, indices };

/// What a loop over the own elements of an array, its leader, finds of another one, or of that itself.
template <class T, std::size_t N>
class Operand {
    using Value = std::remove_const_t<T>;
    using Stretch = lapwing::detail::arrays::OwnStretch<N>;

public:
    template <class L>
    Operand(const GlobalArray<L, N>& leader, const GlobalArray<Value, N>& array)
        : array_{&array}, memory_{OwnPart::memory(array, " in chapel::forall")} {
        if (static_cast<const void*>(&leader) == &array) return;
        if (leader.extents() != array.extents())
            throw RangeError{OwnPart::title(array).start(" in chapel::zip") + ": extents " +
                             to_string(array.extents().values()) + " beside a first array of extents " +
                             to_string(leader.extents().values()) + "; they must be equal"};
        if (OwnPart::same_places(leader, array)) return;
        found_ = Found::by_index;
        if (has_all_of(leader)) return;
        if constexpr (std::is_const_v<T>) copy(leader);
        else
            throw UsageError{OwnPart::title(array).start(" in chapel::zip") +
                             ": some elements are not where the first array has its own, so that they can only be "
                             "read: pass std::as_const(array), or make both with the same distribution"};
    }

    [[nodiscard]] bool same_places() const noexcept { return found_ == Found::same_place; }
    [[nodiscard]] T* at(const Stretch& stretch) const {
        if (found_ == Found::same_place) return memory_ + stretch.offset;
        if (found_ == Found::copied) return copies_.get() + stretch.position;
        std::uint64_t offset = 0;
        static_cast<void>(OwnPart::has(*array_, stretch.index, stretch.stride, stretch.count, offset));
        return memory_ + offset;
    }

private:
    enum class Found : std::uint8_t { same_place, by_index, copied };

    template <class L>
    [[nodiscard]] bool has_all_of(const GlobalArray<L, N>& leader) const {
        using Source = lapwing::detail::arrays::OwnSource<L, N>;
        lapwing::detail::arrays::OwnStretches<N, Source> stretches{Source{&leader}};
        std::uint64_t offset = 0;
        for (Stretch stretch; stretches.next(stretch);)
            if (!OwnPart::has(*array_, stretch.index, stretch.stride, stretch.count, offset)) return false;
        return true;
    }
    /// In the order of the loop.
    template <class L>
    void copy(const GlobalArray<L, N>& leader) {
        found_ = Found::copied;
        const std::uint64_t domains = OwnPart::domains(leader);
        std::uint64_t size = 0;
        for (std::uint64_t k = 0; k < domains; ++k) size += OwnPart::domain(leader, k).size();
        copies_ = std::make_unique_for_overwrite<Value[]>(size);
        std::vector<Completion> gets;
        std::uint64_t position = 0;
        for (std::uint64_t k = 0; k < domains; ++k) {
            const Domain<N> own = OwnPart::domain(leader, k);
            const std::uint64_t count = own.size();
            if (count != 0) gets.push_back((*array_)(own).start_get(std::span<Value>{copies_.get() + position, count}));
            position += count;
        }
        for (Completion& get : gets) get.wait();
    }

    const GlobalArray<Value, N>* array_;
    Value* memory_;
    Found found_ = Found::same_place;
    std::unique_ptr<Value[]> copies_;
};

/// A rank's part of a forall: stretches of indices from a source, numbered as in the domain that the program sees, and
/// the elements of operands there.
template <std::size_t N, class Source, class... T>
class Loop {
public:
    using Stretch = lapwing::detail::arrays::OwnStretch<N>;

    Loop(Source source, const std::array<Range, N>& numbers, bool dense, std::uint64_t origin,
         Operand<T, N>... operands)
        : source_{std::move(source)}, operands_{std::move(operands)...}, origin_{origin}, dense_{dense} {
        for (std::size_t d = 0; d < N; ++d) {
            first_[d] = numbers[d].empty() ? 0 : numbers[d].first();
            step_[d] = numbers[d].stride();
        }
    }

    template <class Body, class... Own>
    [[nodiscard]] static consteval Form form() {
        return takes<Body, Own...>(std::make_index_sequence<N>{});
    }
    /// Whether the part is one stretch of memory, which every operand has.
    [[nodiscard]] bool dense() const noexcept { return dense_; }
    [[nodiscard]] Stretch whole() const { return {.count = size(), .offset = origin_}; }
    [[nodiscard]] auto stretches() const { return lapwing::detail::arrays::OwnStretches<N, Source>{source_}; }
    /// Iterations.
    [[nodiscard]] std::uint64_t size() const {
        std::uint64_t sum = 0;
        for (std::uint64_t k = 0; k < source_.domains(); ++k) sum += source_.domain(k).size();
        return sum;
    }

    /// Iterations [from, to) of a stretch.
    template <Form form, class Body, class... Own>
    [[gnu::always_inline]] void each(Body& body, const Stretch& stretch, std::uint64_t from, std::uint64_t to,
                                     Own&... variables) const {
        std::apply(
            [&](const auto&... operands) {
                if constexpr (sizeof...(Own) == 0)
                    run<form>(body, stretch, from, to, std::tuple<>{}, operands.at(stretch)...);
                else run_apart<form>(body, stretch, from, to, std::tie(variables...), operands.at(stretch)...);
            },
            operands_);
    }

private:
    /// A function of its own, with copies of small variables: these are in registers. Inlined, GCC 12 keeps them in
    /// memory, since there are calls before and after the loop.
    template <Form form, class Body, class... Own>
    [[gnu::noinline]] void run_apart(Body& body, const Stretch& stretch, std::uint64_t from, std::uint64_t to,
                                     const std::tuple<Own&...>& variables, T*... data) const {
        auto copies = std::apply(
            [](Own&... own) { return std::tuple<std::conditional_t<(sizeof(Own) <= 64), Own, Own&>...>{own...}; },
            variables);
        std::apply([&](Own&... own) { run<form>(body, stretch, from, to, std::tie(own...), data...); }, copies);
        std::apply([&](Own&... own) { std::tie(own...) = copies; }, variables);
    }
    template <Form form, class Body, class... Own>
    [[gnu::always_inline]] void run(Body& body, const Stretch& stretch, std::uint64_t from, std::uint64_t to,
                                    [[maybe_unused]] const std::tuple<Own&...>& variables, T*... data) const {
        Index<N> index;
        for (std::size_t d = 0; d < N; ++d) index[d] = first_[d] + stretch.index[d] * step_[d];
        const std::int64_t begin = index[N - 1];
        const std::int64_t stride = stretch.stride * step_[N - 1];
        for (std::uint64_t k = from; k < to; ++k) {
            index[N - 1] = begin + static_cast<std::int64_t>(k) * stride;
            [&]<std::size_t... D, std::size_t... V>(std::index_sequence<D...>, std::index_sequence<V...>) {
                if constexpr (form == Form::elements) body(data[k]..., std::get<V>(variables)...);
                else if constexpr (form == Form::index)
                    body(std::as_const(index), data[k]..., std::get<V>(variables)...);
                else body(std::int64_t{index[D]}..., data[k]..., std::get<V>(variables)...);
            }(std::make_index_sequence<N>{}, std::index_sequence_for<Own...>{});
        }
    }
    template <class Body, class... Own, std::size_t... D>
    [[nodiscard]] static consteval Form takes(std::index_sequence<D...> /*dimensions*/) {
        if constexpr (sizeof...(T) > 0 && std::invocable<Body&, T&..., Own&...>) return Form::elements;
        else if constexpr (std::invocable<Body&, decltype(static_cast<void>(D), std::int64_t{})..., T&..., Own&...>)
            return Form::indices;
        else if constexpr (std::invocable<Body&, const Index<N>&, T&..., Own&...>) return Form::index;
        else return Form::none;
    }

    Source source_;
    std::tuple<Operand<T, N>...> operands_;
    Index<N> first_{};
    Index<N> step_{};
    std::uint64_t origin_;
    bool dense_;
};

/// Of a leader's own part.
template <Array L, Array... A>
[[nodiscard]] auto loop_over(L& leader, A&... arrays) {
    constexpr std::size_t N = CoreOf<L>::dimensions();
    using Source = lapwing::detail::arrays::OwnSource<typename L::value_type, N>;
    const auto& core = core_of(leader);
    static_cast<void>(OwnPart::memory(core, " in chapel::forall")); // it is open
    const auto make = [&](Operand<ElementOf<A>, N>... operands) {
        const bool dense = OwnPart::dense(core) && (operands.same_places() && ...);
        return Loop<N, Source, ElementOf<A>...>{Source{&core}, leader.domain().ranges(), dense, OwnPart::origin(core),
                                                std::move(operands)...};
    };
    return make(Operand<ElementOf<A>, N>{core, core_of(arrays)}...);
}
template <std::size_t N>
[[nodiscard]] auto loop_over(const Team& team, const Domain<N>& domain) {
    using Source = lapwing::detail::arrays::DomainSource<N>;
    Index<N> extents;
    for (std::size_t d = 0; d < N; ++d) extents[d] = static_cast<std::int64_t>(domain.range(d).size());
    const auto map = Block{}.map(Extents<N>{extents}, team.size());
    const Domain<N> own = map.domain_count(team.rank()) == 0 ? Domain<N>{} : map.domain(team.rank(), 0);
    return Loop<N, Source>{Source{own}, domain.ranges(), false, 0};
}

// What forall takes first.

template <Array A>
[[nodiscard]] Zip<A> as_zip(A& array) noexcept {
    return {std::tuple<A&>{array}};
}
template <class... A>
[[nodiscard]] const Zip<A...>& as_zip(const Zip<A...>& arrays) noexcept {
    return arrays;
}
template <class A>
[[nodiscard]] const ArrayDomain<A>& as_zip(const ArrayDomain<A>& domain) noexcept {
    return domain;
}
template <class W>
concept Iterable = requires(W& where) { as_zip(where); };

template <class... A>
[[nodiscard]] auto& leader_of(const Zip<A...>& arrays) noexcept {
    return std::get<0>(arrays.arrays);
}
template <class A>
[[nodiscard]] A& leader_of(const ArrayDomain<A>& domain) noexcept {
    return domain.array;
}
template <class... A>
[[nodiscard]] auto loop_of(const Zip<A...>& where) {
    return std::apply([](auto& leader, auto&... others) { return loop_over(leader, leader, others...); }, where.arrays);
}
template <class A>
[[nodiscard]] auto loop_of(const ArrayDomain<A>& where) {
    return loop_over(where.array);
}

} // namespace detail
} // namespace lapwing::chapel
