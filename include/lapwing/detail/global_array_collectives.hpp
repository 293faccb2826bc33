// Room: arrays
#pragma once

/// The collective calls of GlobalArray: fill, copies, broadcast, reductions. Included by global_array.hpp.
#include <lapwing/global_array.hpp>

#include <array>
#include <concepts>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>

namespace lapwing {

template <TriviallyCopyable T, std::size_t N>
bool GlobalArray<T, N>::same_segment(const GlobalArray& other) const {
    // Margins hold copies, which stay what they are.
    return core_.map.origin() == 0 && core_.user_map == nullptr && other.core_.user_map == nullptr &&
           core_.replicated == other.core_.replicated && (core_.replicated || core_.own_rank == other.core_.own_rank) &&
           core_.map == other.core_.map;
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::fill(T value) {
    this->require_open(".fill");
    this->begin_collective("fill");
    const auto fill_run = [&](const Index<N>&, T* data, std::uint64_t count, std::int64_t) {
        std::fill_n(data, count, value);
    };
    this->end_collective(".fill", [&] { for_each_run(fill_run); }, "some elements may have been set");
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::require_all_stored(const GlobalArray& wanted) const {
    bool found = false;
    Index<N> missing{};
    const auto look = [&](Index<N> index, const T*, std::uint64_t count, std::int64_t index_stride) {
        for (std::uint64_t k = 0; !found && k < count;) {
            const Location location = this->locate(index);
            if (location.owner.value < 0) {
                missing = index;
                found = true;
            }
            const std::uint64_t steps = (location.contiguous - 1) / static_cast<std::uint64_t>(index_stride) + 1;
            k += steps;
            if (k < count) index[N - 1] += static_cast<std::int64_t>(steps) * index_stride;
        }
    };
    this->end_collective(".copy_from", [&] { wanted.for_each_run(look); }, "nothing was copied");
    // All ranks throw, and the same, since the others would wait for the one that does.
    if (this->first_rank_with(found, missing)) detail::arrays::throw_not_stored(title_, ".copy_from", missing);
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::copy_from(const GlobalArray& other) {
    this->require_open(".copy_from");
    other.require_open(".copy_from");
    this->template check_same_ranks<(assertion_level >= 2)>(other);
    // Of one team, to which array is an argument.
    if (&other.team() != team_) {
        other.begin_collective("copy_from");
        this->begin_collective("copy_from");
    } else {
        const std::array<std::int64_t, 1> target{static_cast<std::int64_t>(title_.number)};
        other.begin_collective("copy_from", "a copy to the array made as number", target);
    }
    // All ranks have passed the same arrays: what is wrong here is wrong everywhere.
    if (core_.extents != other.core_.extents)
        detail::arrays::throw_extents_differ(title_, core_.extents.values(), other.core_.extents.values());
    if (this != &other && other.core_.user_map != nullptr) other.require_all_stored(*this);
    const auto copy = [&] {
        if (this == &other) return;
        if (!same_segment(other)) return take_elements(other);
        if (capacity_ != 0) std::memcpy(this->own_bytes().data(), other.own_bytes().data(), this->own_bytes().size());
    };
    // Before the barrier of the other team, which ranks wait in that know of no failure.
    std::exception_ptr failure;
    try {
        copy();
    } catch (...) {
        failure = std::current_exception();
    }
    if (&other.team() != team_) other.barrier();
    detail::arrays::end_collective(title_, *team_, ".copy_from", failure, "some elements may have been copied");
}

template <TriviallyCopyable T, std::size_t N>
template <Distribution<N> D>
GlobalArray<T, N> GlobalArray<T, N>::load(Team& team, const std::string& path, const D& distribution,
                                          GlobalArrayOptions options) {
    Index<N> extents{};
    detail::slices::read_extents(team, path, detail::slices::element_kind<T>(), sizeof(T), N, extents.data());
    GlobalArray array{team, Extents<N>{extents}, distribution, std::move(options)};
    try {
        array.load(path);
    } catch (...) { // on every rank
        array.close();
        throw;
    }
    return array;
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::broadcast(Rank root) {
    this->require_open(".broadcast");
    if (!core_.replicated) detail::arrays::throw_not_replicated(title_);
    const std::array<std::int64_t, 1> from{root.value};
    this->begin_collective("broadcast", "the root", from);
    this->check_rank(".broadcast", root); // after the comparison, so that it is wrong on all ranks
    this->team().broadcast(this->own_bytes(), root);
    // Without it, a rank that is done could write to a copy that the broadcast has yet to reach.
    this->barrier();
}

template <TriviallyCopyable T, std::size_t N>
template <class Value, class Chains, class OverRanks>
Value GlobalArray<T, N>::reduced(const char* call, Chains chains, OverRanks over_ranks) const {
    const auto add = [&] {
        for_each_run(
            [&](const Index<N>&, const T* data, std::uint64_t count, std::int64_t) { chains.add(data, count); });
    };
    // A distribution of the program's may throw, on one rank only.
    if (core_.user_map != nullptr) this->end_collective(call, add, "there is no result");
    else add();
    const auto own = static_cast<Value>(chains.result());
    // What needs a value of every rank ends after every rank has read its segment.
    if (!core_.replicated) return over_ranks(own);
    this->barrier();
    return own;
}

template <TriviallyCopyable T, std::size_t N>
auto GlobalArray<T, N>::sum() const {
    if constexpr (detail::arrays::Summable<T>) {
        using Sum = detail::arrays::SumOf<T>;
        // Integers are added as unsigned ones, which may wrap around.
        using Adder = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
        this->require_open(".sum");
        this->begin_collective("sum");
        return reduced<Sum>(".sum", detail::arrays::Chains{Adder{}, std::plus<Adder>{}},
                            [&](Sum own) { return detail::arrays::sum_over_ranks(*team_, own); });
    } else if constexpr (detail::arrays::check_addable<T>()) {
        return reduce(T{}, [](const T& a, const T& b) { return static_cast<T>(a + b); });
    } else {
        return T{};
    }
}

template <TriviallyCopyable T, std::size_t N>
template <class Better>
T GlobalArray<T, N>::best(const char* call, Better better) const {
    using Candidate = detail::arrays::Candidate<T>;
    this->require_open(call);
    if (size() == 0) detail::arrays::throw_empty(title_, call);
    const auto combine = [better](const Candidate& a, const Candidate& b) {
        return b.any && (!a.any || better(b.value, a.value)) ? b : a;
    };
    return transform_reduce(Candidate{}, combine, [](const T& element) { return Candidate{element, true}; }).value;
}

template <TriviallyCopyable T, std::size_t N>
T GlobalArray<T, N>::min() const {
    if constexpr (detail::arrays::Summable<T>) {
        this->require_open(".min");
        if (size() == 0) detail::arrays::throw_empty(title_, ".min");
        this->begin_collective("min");
        // A comparison with a NaN is false, so that the value so far stays.
        detail::arrays::Chains smallest{detail::arrays::largest_value<T>(),
                                        [](T so_far, T value) { return value < so_far ? value : so_far; }};
        return reduced<T>(".min", smallest, [&](T own) {
            return static_cast<T>(detail::arrays::min_over_ranks(*team_, static_cast<detail::arrays::SumOf<T>>(own)));
        });
    } else if constexpr (detail::arrays::check_ordered<T>()) {
        return best(".min", [](const T& a, const T& b) { return a < b; });
    } else {
        return T{};
    }
}

template <TriviallyCopyable T, std::size_t N>
T GlobalArray<T, N>::max() const {
    if constexpr (detail::arrays::Summable<T>) {
        this->require_open(".max");
        if (size() == 0) detail::arrays::throw_empty(title_, ".max");
        this->begin_collective("max");
        detail::arrays::Chains largest{detail::arrays::smallest_value<T>(),
                                       [](T so_far, T value) { return so_far < value ? value : so_far; }};
        return reduced<T>(".max", largest, [&](T own) {
            return static_cast<T>(detail::arrays::max_over_ranks(*team_, static_cast<detail::arrays::SumOf<T>>(own)));
        });
    } else if constexpr (detail::arrays::check_ordered<T>()) {
        return best(".max", [](const T& a, const T& b) { return b < a; });
    } else {
        return T{};
    }
}

template <TriviallyCopyable T, std::size_t N>
template <detail::arrays::Reducible R, class Combine, detail::arrays::TransformOf<T, N> Transform>
R GlobalArray<T, N>::transform_reduce(R identity, Combine combine, Transform transform) const {
    this->require_open(".reduce");
    this->begin_collective("reduce");
    R value = identity;
    // What a function throws on one rank goes with the values to all.
    std::exception_ptr failure;
    try {
        for_each_run([&](Index<N> index, const T* data, std::uint64_t count, std::int64_t index_stride) {
            for (std::uint64_t k = 0; k < count; ++k) {
                if constexpr (std::invocable<Transform&, const T&>) {
                    value = static_cast<R>(combine(value, transform(data[k])));
                } else {
                    value = static_cast<R>(combine(value, transform(std::as_const(index), data[k])));
                    if (k + 1 < count) index[N - 1] += index_stride;
                }
            }
        });
    } catch (...) {
        failure = std::current_exception();
    }
    constexpr const char* outcome = "there is no result";
    if (core_.replicated) {
        detail::arrays::end_collective(title_, *team_, ".reduce", failure, outcome);
        return value;
    }
    struct Partial {
        R value;
        bool failed;
    };
    struct Context {
        Combine& combine;
        std::exception_ptr& failure;
    };
    const auto combine_values = [](void* context, void* left, const void* right) {
        Partial right_one;
        std::memcpy(&right_one, right, sizeof(Partial));
        Partial& left_one = *static_cast<Partial*>(left);
        left_one.failed = left_one.failed || right_one.failed;
        if (left_one.failed) return;
        Context& with = *static_cast<Context*>(context);
        try {
            left_one.value = static_cast<R>(with.combine(left_one.value, right_one.value));
        } catch (...) {
            with.failure = std::current_exception();
            left_one.failed = true;
        }
    };
    Partial own{value, failure != nullptr};
    Context context{combine, failure};
    team_->combine(std::as_writable_bytes(std::span{&own, 1}), combine_values, &context,
                   detail::values::type_name<R>());
    if (own.failed) this->throw_failure(".reduce", failure, outcome);
    return own.value;
}

template <TriviallyCopyable T, std::size_t N>
template <class Better>
LocatedValue<T, N> GlobalArray<T, N>::first_best(const char* call, T worst, Better better) const {
    this->require_open(call);
    if (size() == 0) detail::arrays::throw_empty(title_, call);
    LocatedValue<T, N> none{worst, {}};
    none.index.fill(std::numeric_limits<std::int64_t>::max()); // after every element
    const auto first = [&](const LocatedValue<T, N>& a, const LocatedValue<T, N>& b) {
        if constexpr (detail::arrays::Summable<T>) {
            return better(b.value, a.value) || (b.value == a.value && b.index < a.index) ? b : a;
        } else { // there is no worst value to start from
            if (a.index == none.index || b.index == none.index) return a.index == none.index ? b : a;
            return better(b.value, a.value) || (!better(a.value, b.value) && b.index < a.index) ? b : a;
        }
    };
    const auto locate_value = [](const Index<N>& index, const T& value) { return LocatedValue<T, N>{value, index}; };
    const LocatedValue<T, N> found = transform_reduce(none, first, locate_value);
    if (found.index == none.index) detail::arrays::throw_nothing_compares(title_, call);
    return found;
}

template <TriviallyCopyable T, std::size_t N>
LocatedValue<T, N> GlobalArray<T, N>::min_location() const {
    if constexpr (detail::arrays::Summable<T>)
        return first_best(".min_location", detail::arrays::largest_value<T>(), std::less<T>{});
    else if constexpr (detail::arrays::check_ordered<T>())
        return first_best(".min_location", T{}, [](const T& a, const T& b) { return a < b; });
    else return {};
}

template <TriviallyCopyable T, std::size_t N>
LocatedValue<T, N> GlobalArray<T, N>::max_location() const {
    if constexpr (detail::arrays::Summable<T>)
        return first_best(".max_location", detail::arrays::smallest_value<T>(), std::greater<T>{});
    else if constexpr (detail::arrays::check_ordered<T>())
        return first_best(".max_location", T{}, [](const T& a, const T& b) { return b < a; });
    else return {};
}

} // namespace lapwing
