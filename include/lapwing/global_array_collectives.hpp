// Room: array
#pragma once

/// The collective calls of GlobalArray: fill, copies, broadcast, reductions. Included by global_array.hpp.
#include <lapwing/global_array.hpp>

#include <cstring>

namespace lapwing {

template <TriviallyCopyable T, std::size_t N>
std::span<std::byte> GlobalArray<T, N>::own_bytes() const {
    return {reinterpret_cast<std::byte*>(own_), static_cast<std::size_t>(capacity_ * sizeof(T))};
}

template <TriviallyCopyable T, std::size_t N>
bool GlobalArray<T, N>::same_map(const GlobalArray& other) const {
    return foreign_ == nullptr && other.foreign_ == nullptr && replicated_ == other.replicated_ &&
           map_ == other.map_;
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::fill(const T& value) {
    this->require_open(".fill");
    const T copy = value; // the caller's may be an element of this array
    barrier();
    for_each_run([&](const Index<N>&, T* data, std::uint64_t count, std::int64_t) { std::fill_n(data, count, copy); });
    barrier();
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::require_stored(const GlobalArray& wanted) const {
    bool found = false;
    Index<N> missing{};
    wanted.for_each_run([&](Index<N> index, const T*, std::uint64_t count, std::int64_t index_stride) {
        for (std::uint64_t k = 0; !found && k < count;) {
            const Location location = foreign_->locate(index);
            if (location.owner.value < 0) {
                missing = index;
                found = true;
            }
            const std::uint64_t steps = (location.contiguous - 1) / static_cast<std::uint64_t>(index_stride) + 1;
            k += steps;
            if (k < count) index[N - 1] += static_cast<std::int64_t>(steps) * index_stride;
        }
    });
    // All ranks throw, and the same, since the others would wait for the one that does.
    if (this->first_rank_with(found, missing)) this->throw_not_stored(".copy_from", missing);
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::copy_from(const GlobalArray& other) {
    this->require_open(".copy_from");
    other.require_open(".copy_from");
    if (extents_ != other.extents_) this->throw_extents_differ(extents_.values(), other.extents_.values());
    if (this != &other && other.foreign_ != nullptr) other.require_stored(*this);
    other.barrier();
    if (&other.team() != team_) barrier();
    if (this != &other) {
        if (same_map(other)) {
            if (capacity_ != 0) std::memcpy(own_bytes().data(), other.own_bytes().data(), own_bytes().size());
        } else {
            // The own part is the buffer; what other ranks own is fetched with as many transfers under way as there are.
            array::PatchTransfer patch{other.window_, array::Direction::get, own_bytes().data(), sizeof(T),
                                       other.replicated_};
            for_each_run([&](const Index<N>& index, T* data, std::uint64_t count, std::int64_t index_stride) {
                std::array<Range, N> run;
                for (std::size_t d = 0; d < N; ++d) run[d] = Range::strided(index[d], 1, 1);
                run[N - 1] = Range::strided(index[N - 1], count, index_stride);
                array::BufferShape<N> shape;
                shape.offset = static_cast<std::uint64_t>(data - own_);
                shape.strides[N - 1] = 1;
                other.cut(Domain<N>{run}, shape, patch);
            });
            patch.wait();
        }
    }
    barrier();
    if (&other.team() != team_) other.barrier();
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::broadcast(Rank root) {
    this->require_open(".broadcast");
    if (!replicated_) this->throw_not_replicated();
    this->check_rank(".broadcast", root);
    barrier();
    team().broadcast(own_bytes(), root);
    // Without it, a rank that is done could write to a copy that the broadcast has yet to reach.
    barrier();
}

template <TriviallyCopyable T, std::size_t N>
auto GlobalArray<T, N>::sum() const
    requires array::Summable<T>
{
    using Sum = array::SumOf<T>;
    // Integers are added as unsigned ones, which may wrap around.
    using Adder = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
    this->require_open(".sum");
    barrier();
    Adder sum{};
    for_each_run([&](const Index<N>&, const T* data, std::uint64_t count, std::int64_t) {
        for (std::uint64_t k = 0; k < count; ++k) sum += static_cast<Adder>(data[k]);
    });
    const auto own = static_cast<Sum>(sum);
    return replicated_ ? own : array::sum_over_ranks(*team_, own);
}

template <TriviallyCopyable T, std::size_t N>
T GlobalArray<T, N>::min() const
    requires array::Summable<T>
{
    this->require_open(".min");
    if (size() == 0) this->throw_empty(".min");
    barrier();
    T smallest = array::largest_value<T>();
    for_each_run([&](const Index<N>&, const T* data, std::uint64_t count, std::int64_t) {
        for (std::uint64_t k = 0; k < count; ++k) smallest = data[k] < smallest ? data[k] : smallest;
    });
    if (replicated_) return smallest;
    return static_cast<T>(array::min_over_ranks(*team_, static_cast<array::SumOf<T>>(smallest)));
}

template <TriviallyCopyable T, std::size_t N>
T GlobalArray<T, N>::max() const
    requires array::Summable<T>
{
    this->require_open(".max");
    if (size() == 0) this->throw_empty(".max");
    barrier();
    T largest = array::smallest_value<T>();
    for_each_run([&](const Index<N>&, const T* data, std::uint64_t count, std::int64_t) {
        for (std::uint64_t k = 0; k < count; ++k) largest = largest < data[k] ? data[k] : largest;
    });
    if (replicated_) return largest;
    return static_cast<T>(array::max_over_ranks(*team_, static_cast<array::SumOf<T>>(largest)));
}

template <TriviallyCopyable T, std::size_t N>
template <TriviallyCopyable R, class Combine, class Transform>
R GlobalArray<T, N>::transform_reduce(R identity, Combine combine, Transform transform) const {
    this->require_open(".reduce");
    barrier();
    R value = identity;
    for_each_run([&](const Index<N>&, const T* data, std::uint64_t count, std::int64_t) {
        for (std::uint64_t k = 0; k < count; ++k) value = static_cast<R>(combine(value, transform(data[k])));
    });
    if (replicated_) return value;
    const auto combine_values = [](void* context, void* left, const void* right) {
        R right_value;
        std::memcpy(&right_value, right, sizeof(R));
        R& left_value = *static_cast<R*>(left);
        left_value = static_cast<R>((*static_cast<Combine*>(context))(left_value, right_value));
    };
    team_->combine(std::as_writable_bytes(std::span{&value, 1}), combine_values, &combine);
    return value;
}

} // namespace lapwing
