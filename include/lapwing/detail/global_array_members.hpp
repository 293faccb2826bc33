// Room: arrays
#pragma once

/// The members of GlobalArray that are not on the path of an element access, and are no collective calls. Included by
/// global_array.hpp.
#include <lapwing/global_array.hpp>

#include <concepts>

namespace lapwing {

/// Domains of one rank, made one by one as they are asked for. Valid as long as the array.
template <TriviallyCopyable T, std::size_t N>
class GlobalArray<T, N>::LocalDomains {
public:
    class iterator {
    public:
        using value_type = Domain<N>;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        Domain<N> operator*() const { return domains_->array_->domain_of(domains_->rank_, k_); }
        iterator& operator++() noexcept {
            ++k_;
            return *this;
        }
        void operator++(int) noexcept { ++k_; }
        friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.k_ == b.k_; }

    private:
        friend LocalDomains;
        iterator(const LocalDomains& domains, std::uint64_t k) noexcept : domains_{&domains}, k_{k} {}

        const LocalDomains* domains_;
        std::uint64_t k_;
    };

    [[nodiscard]] std::uint64_t size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] Domain<N> operator[](std::uint64_t k) const { return array_->domain_of(rank_, k); }
    [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
    [[nodiscard]] iterator end() const noexcept { return {*this, count_}; }

private:
    friend GlobalArray;
    LocalDomains(const GlobalArray& array, Rank rank) : array_{&array}, rank_{rank}, count_{array.domain_count(rank)} {}

    const GlobalArray* array_;
    Rank rank_;
    std::uint64_t count_;
};

template <TriviallyCopyable T, std::size_t N>
auto GlobalArray<T, N>::local_domains() const -> LocalDomains {
    return local_domains(Rank{core_.own_rank});
}
template <TriviallyCopyable T, std::size_t N>
auto GlobalArray<T, N>::local_domains(Rank rank) const -> LocalDomains {
    return LocalDomains{*this, rank};
}

// Making and closing.

template <TriviallyCopyable T, std::size_t N>
GlobalArray<T, N>::GlobalArray(Team& team, const Extents<N>& extents, detail::arrays::ArrayMaps<N> maps,
                               GlobalArrayOptions options)
    : Base{team,
           extents,
           detail::arrays::ArrayMaps<N>{maps},
           {.name = detail::values::type_name<T>(), .bytes = sizeof(T), .alignment = alignof(T)},
           options} {
    state_.distribution = std::move(maps.distribution);
    this->make_geometry(extents.values(), this->dimension_maps(), core_.map.origin(), core_.user_map, core_.replicated,
                        sizeof(T));
    state_.own = segment() + core_.map.origin();
    state_.box = this->own_box().box;
    this->attach(window_, [](NearBinding& array) noexcept { static_cast<GlobalArray&>(array).bind_near(); });
    bind_near();
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::bind_near() noexcept {
    state_.near_box = {};
    state_.mixed = {};
    state_.has_other_ways = true;
    state_.all = {};
    if (detail::trace::on()) { // all elements go the way that records them
        state_.node = {};
        return;
    }
    if (core_.user_map == nullptr && !core_.replicated) {
        state_.node = {core_.map, this->near_map(), sizeof(T)};
        const auto [box, first] = state_.node.dense(sizeof(T));
        state_.near_box = box;
        state_.near = reinterpret_cast<T*>(first);
        if (const detail::window::PageTables* const tables = window_.page_tables()) {
            state_.page_tables = tables;
            state_.all = {core_.map, 0, team_->size(), 0, tables->part_stride(), sizeof(T)};
        }
        if (!box.empty()) state_.node = {};
    }
    if (state_.near_box.empty()) {
        state_.near_box = state_.box;
        state_.near = state_.own;
    }
    state_.mixed = detail::window::MixedReads{state_.near_box.extent(0)};
    choose_ways();
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::close() {
    this->close_core();
    state_ = State{};
}

// Where things are.

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::throw_out_of_bounds(const char* call, Index<N> index) const {
    detail::arrays::throw_outside(title_, call, index, core_.extents.values(), this->closed());
}

template <TriviallyCopyable T, std::size_t N>
Location GlobalArray<T, N>::checked_location(const char* call, const Index<N>& index) const {
    check_bounds(call, index);
    return this->stored_location(call, index);
}

template <TriviallyCopyable T, std::size_t N>
template <bool Checked>
T* GlobalArray<T, N>::other_address(const char* call, Index<N> index) const {
    // Whose the element is, the access itself works out.
    if (state_.node.serves() || state_.all.serves()) {
        if constexpr (Checked) check_bounds(call, index);
        return nullptr;
    }
    if constexpr (Checked) check_bounds(call, index);
    if (detail::trace::on()) [[unlikely]]
        return nullptr;
    return address_of(this->stored_location(call, index));
}

template <TriviallyCopyable T, std::size_t N>
T* GlobalArray<T, N>::address_of(const Location& location) const noexcept {
    if (location.owner.value == core_.own_rank) return segment() + location.offset;
    if (!this->reaches_node()) return nullptr;
    auto* const segment = reinterpret_cast<T*>(window_.map().base(location.owner.value));
    return segment == nullptr ? nullptr : segment + location.offset;
}

template <TriviallyCopyable T, std::size_t N>
template <bool Checked>
T& GlobalArray<T, N>::other_own_element(Index<N> index) const {
    if constexpr (Checked) {
        const Location location = checked_location(".local", index);
        if (location.owner.value != core_.own_rank) [[unlikely]]
            detail::arrays::throw_not_own(title_, ".local", index, location.owner);
        return segment()[location.offset];
    } else {
        return segment()[this->locate(index).offset];
    }
}

template <TriviallyCopyable T, std::size_t N>
T GlobalArray<T, N>::get_prefetched(Index<N> index) const {
    if (const T* const copy = core_.prefetched->indices.template find<T>(index)) [[likely]] {
        T value;
        while (!core_.prefetched->state.read(copy, value)) [[unlikely]]
            copies_.refresh();
        core_.prefetched->state.count_hit();
        return value;
    }
    // No element that the node's are found among has a copy: see prefetch().
    if (const T* const address = state_.node.template find<T>(index)) return *address;
    if (!state_.all.holds(index))
        if (const T* const address = other_address<assertion_level >= 1>("", index)) return *address;
    return get_cached(index);
}

template <TriviallyCopyable T, std::size_t N>
T GlobalArray<T, N>::get_cached(Index<N> index) const {
    const Location home = home_of(index);
    const Offset offset = Offset::of<T>(home.offset);
    bool far_apart = false;
    if constexpr (detail::window::PageTable::serves<T>) {
        const std::uint64_t place = state_.page_tables->place_of(home.owner, offset);
        if (!state_.all.serves()) {
            if (const T* const value = state_.page_tables->mine().template find<T>(place)) return *value;
        } else {
            far_apart = core_.prefetched == nullptr && state_.page_tables->note_miss(place);
            // While reads are mixed, or of a neighbour whose elements have no quick way.
            if (const T* const near = address_of(home)) {
                const bool in_order = state_.mixed.on() && !far_apart;
                if (in_order || !detail::window::enter_memory(window_, home.owner, offset)) state_.mixed.set(false);
                return *near;
            }
        }
    }
    const detail::trace::CallScope call{detail::trace::Way::element, __builtin_return_address(0)};
    const T value = window_.template get<T>(home.owner, offset);
    if (far_apart) state_.mixed.set(true);
    return value;
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::put_cached(Index<N> index, T value) const {
    const Location home = home_of(index);
    const Offset offset = Offset::of<T>(home.offset);
    if constexpr (detail::window::PageTable::serves<T>) {
        const std::uint64_t place = state_.page_tables->place_of(home.owner, offset);
        if (!state_.all.serves()) {
            if (state_.page_tables->mine().write(place, value)) return;
        } else if (T* const near = address_of(home)) {
            state_.mixed.set(false);
            *near = value;
            return;
        }
    }
    const detail::trace::CallScope call{detail::trace::Way::element, __builtin_return_address(0)};
    if (core_.replicated) return this->put_to_all(offset, &value, sizeof(T));
    window_.put(home.owner, offset, value);
}

template <TriviallyCopyable T, std::size_t N>
inline Location GlobalArray<T, N>::home_of(const Index<N>& index) const {
    // Of an array that has prefetched something nobody has looked at it before.
    if constexpr (assertion_level >= 1) check_bounds("", index);
    return this->stored_location("", index);
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::prefetch_far(Index<N> index) const {
    const Location home = home_of(index);
    window_.prefetch(home.owner, Offset::of<T>(home.offset), sizeof(T));
}

template <TriviallyCopyable T, std::size_t N>
inline detail::arrays::Home GlobalArray<T, N>::home(const char* call, Index<N> index) const {
    if (core_.replicated) detail::arrays::throw_no_home(title_, call, index);
    const Location location = home_of(index);
    return {window_, location.owner, Offset::of<T>(location.offset)};
}

template <TriviallyCopyable T, std::size_t N>
LocalView<T, N> GlobalArray<T, N>::view(const char* call) const {
    const typename Base::LocalPart part = this->local_part(call);
    return {state_.own, Extents<N>{part.extents}, part.strides};
}

template <TriviallyCopyable T, std::size_t N>
std::span<T> GlobalArray<T, N>::dense_elements(const char* call) const {
    const LocalView<T, N> own = view(call);
    // On every rank, whether its own segment has gaps or not: else a program fails on the one with the odd segment
    // only.
    if (core_.map.has_gaps()) detail::arrays::throw_gaps(title_, call, halo_, team_->size());
    return own.elements();
}

template <TriviallyCopyable T, std::size_t N>
LocalView<T, N> GlobalArray<T, N>::local_view() {
    return view(".local_view");
}
template <TriviallyCopyable T, std::size_t N>
LocalView<const T, N> GlobalArray<T, N>::local_view() const {
    return view(".local_view");
}
template <TriviallyCopyable T, std::size_t N>
std::span<T> GlobalArray<T, N>::local_span() {
    return dense_elements(".local_span");
}
template <TriviallyCopyable T, std::size_t N>
std::span<const T> GlobalArray<T, N>::local_span() const {
    return dense_elements(".local_span");
}

template <TriviallyCopyable T, std::size_t N>
template <class Function>
void GlobalArray<T, N>::for_each_local(Function function) {
    this->require_open(".for_each_local");
    for_each_run([&](Index<N> index, T* data, std::uint64_t count, std::int64_t index_stride) {
        for (std::uint64_t k = 0; k < count; ++k) {
            function(std::as_const(index), data[k]);
            if (k + 1 < count) index[N - 1] += index_stride;
        }
    });
}

// Lists.

template <TriviallyCopyable T, std::size_t N>
template <class Indices>
std::vector<detail::arrays::ListedPlace> GlobalArray<T, N>::places_of(const char* call, const Indices& indices,
                                                                      std::initializer_list<std::size_t> others) const {
    this->require_open(call);
    const auto count = static_cast<std::size_t>(std::ranges::size(indices));
    for (const std::size_t other : others)
        if (other != count && other != SIZE_MAX) detail::arrays::throw_list_lengths(title_, call, count, other);
    std::vector<detail::arrays::ListedPlace> places;
    places.reserve(count);
    for (const auto& listed : indices) {
        const Location location = checked_location(call, detail::datatype::index_of<N>(listed));
        places.push_back({location.owner.value, location.offset * sizeof(T)});
    }
    return places;
}

template <TriviallyCopyable T, std::size_t N>
template <detail::arrays::IndexList<N> Indices>
Completion GlobalArray<T, N>::start_gather(const Indices& indices, std::span<T> values) const {
    const std::vector<detail::arrays::ListedPlace> places = places_of(".gather", indices, {values.size()});
    return detail::arrays::start_list(window_, detail::arrays::Direction::get, places, sizeof(T),
                                      reinterpret_cast<std::byte*>(values.data()));
}

template <TriviallyCopyable T, std::size_t N>
template <detail::arrays::IndexList<N> Indices>
Completion GlobalArray<T, N>::start_scatter(const Indices& indices, std::span<const T> values) {
    std::vector<detail::arrays::ListedPlace> places = places_of(".scatter", indices, {values.size()});
    // Only read.
    auto* const bytes = reinterpret_cast<std::byte*>(const_cast<T*>(values.data()));
    if (core_.replicated) return this->start_list_to_all(places, sizeof(T), bytes);
    return detail::arrays::start_list(window_, detail::arrays::Direction::put, places, sizeof(T), bytes);
}

template <TriviallyCopyable T, std::size_t N>
template <detail::arrays::IndexList<N> Indices, class Operands>
Completion GlobalArray<T, N>::start_fetch(Atomic operation, const Indices& indices, const Operands& operands,
                                          std::span<T> before) {
    if constexpr (!detail::window::check_results<std::span<T>>()) {
        return {};
    } else {
        const detail::window::Operands<T> values{operands};
        const auto places = places_of(".fetch", indices, {before.size(), values.size()});
        if (core_.replicated) detail::arrays::throw_no_home(title_, "fetch", {});
        std::vector<detail::mpi::ListedAtomic> list(places.size());
        for (std::size_t k = 0; k < list.size(); ++k) {
            list[k].operand = values.at(k);
            list[k].before = &before[k];
        }
        return detail::arrays::start_list_of_atomics(window_, operation, detail::mpi::atomic_type_of<T>(), places, list,
                                                     "fetch");
    }
}

template <TriviallyCopyable T, std::size_t N>
template <detail::arrays::IndexList<N> Indices, class Expected, class Desired>
Completion GlobalArray<T, N>::start_compare_swap(const Indices& indices, const Expected& expected,
                                                 const Desired& desired, std::span<T> before) {
    if constexpr (!detail::window::check_results<std::span<T>>()) {
        return {};
    } else {
        const detail::window::Operands<T> old{expected};
        const detail::window::Operands<T> fresh{desired};
        const auto places = places_of(".compare_swap", indices, {before.size(), old.size(), fresh.size()});
        if (core_.replicated) detail::arrays::throw_no_home(title_, "compare_swap", {});
        std::vector<detail::mpi::ListedAtomic> list(places.size());
        for (std::size_t k = 0; k < list.size(); ++k) {
            list[k].operand = fresh.at(k);
            list[k].expected = old.at(k);
            list[k].before = &before[k];
        }
        return detail::arrays::start_list_of_atomics(window_, Atomic::replace, detail::mpi::atomic_type_of<T>(), places,
                                                     list, "compare_swap");
    }
}

} // namespace lapwing
