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
    return local_domains(Rank{state_.own_rank});
}
template <TriviallyCopyable T, std::size_t N>
auto GlobalArray<T, N>::local_domains(Rank rank) const -> LocalDomains {
    return LocalDomains{*this, rank};
}

// Making and closing.

template <TriviallyCopyable T, std::size_t N>
GlobalArray<T, N>::GlobalArray(Team& team, const Extents<N>& extents, detail::arrays::ArrayMaps<N> maps,
                               GlobalArrayOptions options)
    : ArrayBase{team,
                maps.user_map ? maps.user_map->local_capacity() : maps.block_cyclic.local_capacity(),
                sizeof(T),
                alignof(T),
                detail::arrays::creation_identity(extents.values(),
                                                  maps.user_map ? std::span<const detail::distribution::DimensionMap>{}
                                                                : maps.block_cyclic.dimensions(),
                                                  maps.replicated, maps.identity, detail::values::type_name<T>(),
                                                  sizeof(T)),
                std::move(options)} {
    state_.map = std::move(maps.block_cyclic);
    state_.user_map = std::move(maps.user_map);
    state_.extents = extents;
    state_.distribution = std::move(maps.distribution);
    state_.own = reinterpret_cast<T*>(window_.map().own) + state_.map.origin();
    state_.own_rank = team.rank().value;
    state_.replicated = maps.replicated;
    this->make_geometry(state_.extents.values(),
                        state_.user_map == nullptr
                            ? std::span<const detail::distribution::DimensionMap>{state_.map.dimensions()}
                            : std::span<const detail::distribution::DimensionMap>{},
                        state_.map.origin(), state_.user_map, state_.replicated, sizeof(T));
    if (state_.user_map != nullptr) {
        Index<N> own{};
        if (state_.user_map->copy_local_extents(own_place(), own.data()) && std::ranges::find(own, 0) == own.end()) {
            const Domain<N> domain = state_.user_map->domain(own_place(), 0);
            state_.box = {domain, detail::distribution::BufferShape<N>::row_major(domain).strides};
        }
    } else if (state_.map.one_round() && state_.map.domain_count(own_place()) == 1) {
        state_.box = {state_.map.domain(own_place(), 0), state_.map.strides(own_place())};
    }
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
    if (state_.user_map == nullptr && !state_.replicated) {
        state_.node = {state_.map, this->near_map(), sizeof(T)};
        const auto [box, first] = state_.node.dense(sizeof(T));
        state_.near_box = box;
        state_.near = reinterpret_cast<T*>(first);
        if (const detail::window::PageTables* const tables = window_.page_tables()) {
            state_.page_tables = tables;
            // Elements of the node that cannot be found are not to be looked for among those of others.
            if (state_.node.serves()) state_.all = {state_.map, 0, team_->size(), 0, tables->part_stride(), sizeof(T)};
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
void GlobalArray<T, N>::choose_ways() noexcept {
    state_.has_other_ways = state_.prefetched != nullptr || state_.node.serves();
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::close() {
    close_window();
    state_ = State{};
}

// Where things are.

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::throw_out_of_bounds(const char* call, Index<N> index) const {
    detail::arrays::throw_outside(this->title_, call, index, state_.extents.values(), this->closed());
}

template <TriviallyCopyable T, std::size_t N>
Location GlobalArray<T, N>::locate(const Index<N>& index) const {
    Location location;
    if (state_.user_map == nullptr) {
        location = state_.map.locate(index);
    } else {
        location = state_.user_map->locate(index);
        if constexpr (assertion_level >= 1) {
            if (location.owner.value >= team_->size() || location.contiguous == 0 ||
                (location.owner.value >= 0 &&
                 (location.offset >= capacity_ || location.contiguous > capacity_ - location.offset)))
                detail::arrays::throw_misplaced(this->title_, index, location, team_->size(), capacity_);
        }
    }
    // Everybody has what the map of a replicated array places on rank 0.
    if (state_.replicated && location.owner.value >= 0) location.owner = Rank{state_.own_rank};
    return location;
}

template <TriviallyCopyable T, std::size_t N>
Location GlobalArray<T, N>::checked_location(const char* call, const Index<N>& index) const {
    check_bounds(call, index);
    const Location location = locate(index);
    if (location.owner.value < 0) detail::arrays::throw_not_stored(this->title_, call, index);
    return location;
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
    const Location location = locate(index);
    if (location.owner.value < 0) [[unlikely]]
        detail::arrays::throw_not_stored(this->title_, call, index);
    if (location.owner.value == state_.own_rank) return segment() + location.offset;
    if (!this->reaches_node()) return nullptr;
    auto* const segment = reinterpret_cast<T*>(window_.map().base(location.owner.value));
    return segment == nullptr ? nullptr : segment + location.offset;
}

template <TriviallyCopyable T, std::size_t N>
template <bool Checked>
T& GlobalArray<T, N>::other_own_element(Index<N> index) const {
    if constexpr (Checked) {
        const Location location = checked_location(".local", index);
        if (location.owner.value != state_.own_rank) [[unlikely]]
            detail::arrays::throw_not_own(this->title_, ".local", index, location.owner);
        return segment()[location.offset];
    } else {
        return segment()[locate(index).offset];
    }
}

template <TriviallyCopyable T, std::size_t N>
T GlobalArray<T, N>::get_prefetched(Index<N> index) const {
    if (const T* const copy = state_.prefetched->indices.template find<T>(index)) [[likely]] {
        T value;
        while (!state_.prefetched->state.read(copy, value)) [[unlikely]]
            this->copies_.refresh();
        state_.prefetched->state.count_hit();
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
        const std::uint64_t place = state_.page_tables->place_of(home.owner.value, offset.bytes);
        if (!state_.all.serves()) {
            if (const T* const value = state_.page_tables->mine().template find<T>(place)) return *value;
        } else if (state_.prefetched == nullptr) {
            far_apart = state_.mixed.note(place);
        }
    }
    if (state_.mixed.on())
        if (const T* const near = address_on_node(index)) {
            if (!far_apart || !detail::window::enter_memory(window_, home.owner, offset)) state_.mixed.set(false);
            return *near;
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
        const std::uint64_t place = state_.page_tables->place_of(home.owner.value, offset.bytes);
        if (!state_.all.serves() && state_.page_tables->mine().write(place, value)) return;
    }
    if (state_.mixed.on())
        if (T* const near = address_on_node(index)) {
            state_.mixed.set(false);
            *near = value;
            return;
        }
    const detail::trace::CallScope call{detail::trace::Way::element, __builtin_return_address(0)};
    if (state_.replicated) return this->put_to_all(offset, &value, sizeof(T));
    window_.put(home.owner, offset, value);
}

template <TriviallyCopyable T, std::size_t N>
Location GlobalArray<T, N>::home_of(const Index<N>& index) const {
    // Of an array that has prefetched something nobody has looked at it before.
    if constexpr (assertion_level >= 1) check_bounds("", index);
    const Location location = locate(index);
    if (location.owner.value < 0) [[unlikely]]
        detail::arrays::throw_not_stored(this->title_, "", index);
    return location;
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::prefetch_far(Index<N> index) const {
    const Location home = home_of(index);
    window_.prefetch(home.owner, Offset::of<T>(home.offset), sizeof(T));
}

template <TriviallyCopyable T, std::size_t N>
detail::arrays::Home GlobalArray<T, N>::home(const char* call, const Index<N>& index) const {
    if (state_.replicated) detail::arrays::throw_no_home(this->title_, call, index);
    const Location location = home_of(index);
    return {window_, location.owner, Offset::of<T>(location.offset)};
}

template <TriviallyCopyable T, std::size_t N>
std::uint64_t GlobalArray<T, N>::domain_count(Rank rank) const {
    this->check_rank(".local_domain", rank);
    if (state_.replicated) rank = Rank{0};
    return state_.user_map == nullptr ? state_.map.domain_count(rank) : state_.user_map->domain_count(rank);
}

template <TriviallyCopyable T, std::size_t N>
Domain<N> GlobalArray<T, N>::domain_of(Rank rank, std::uint64_t k) const {
    if (state_.replicated) rank = Rank{0};
    return state_.user_map == nullptr ? state_.map.domain(rank, k) : state_.user_map->domain(rank, k);
}

template <TriviallyCopyable T, std::size_t N>
LocalView<T, N> GlobalArray<T, N>::view(const char* call) const {
    this->require_open(call);
    if (state_.user_map != nullptr) {
        Index<N> own{};
        if (!state_.user_map->copy_local_extents(own_place(), own.data()))
            detail::arrays::throw_no_view(this->title_, call);
        return {state_.own, Extents<N>{own}};
    }
    const std::array<std::uint64_t, N> places = state_.map.strides(own_place());
    Index<N> extents{};
    std::array<std::int64_t, N> strides{};
    for (std::size_t d = 0; d < N; ++d) {
        const detail::distribution::DimensionMap& dimension = state_.map.dimensions()[d];
        extents[d] = static_cast<std::int64_t>(dimension.count(dimension.process_of(own_place().value)));
        strides[d] = static_cast<std::int64_t>(places[d]);
    }
    return {state_.own, Extents<N>{extents}, strides};
}

template <TriviallyCopyable T, std::size_t N>
LocalView<T, N> GlobalArray<T, N>::dense_view(const char* call) const {
    const LocalView<T, N> dense = view(call);
    // On every rank, whether its own segment has gaps or not: else a program fails on the one with the odd segment
    // only.
    if (state_.map.has_gaps()) detail::arrays::throw_gaps(this->title_, call, this->halo_, team_->size());
    return dense;
}

template <TriviallyCopyable T, std::size_t N>
LocalView<T, N> GlobalArray<T, N>::local_view() {
    return dense_view(".local_view");
}
template <TriviallyCopyable T, std::size_t N>
LocalView<const T, N> GlobalArray<T, N>::local_view() const {
    return dense_view(".local_view");
}
template <TriviallyCopyable T, std::size_t N>
LocalView<T, N> GlobalArray<T, N>::padded_local_view() {
    return view(".padded_local_view");
}
template <TriviallyCopyable T, std::size_t N>
LocalView<const T, N> GlobalArray<T, N>::padded_local_view() const {
    return view(".padded_local_view");
}
template <TriviallyCopyable T, std::size_t N>
std::span<T> GlobalArray<T, N>::local_span() {
    return dense_view(".local_span").elements();
}
template <TriviallyCopyable T, std::size_t N>
std::span<const T> GlobalArray<T, N>::local_span() const {
    return dense_view(".local_span").elements();
}

template <TriviallyCopyable T, std::size_t N>
template <class Run>
void GlobalArray<T, N>::for_each_run(Run run) const {
    for (const Domain<N> domain : local_domains()) {
        if (domain.empty()) continue;
        if constexpr (assertion_level >= 1) {
            if (state_.user_map != nullptr && !this->domain().contains(domain))
                detail::arrays::throw_wrong_domain(
                    this->title_, this->domain().contains(domain.first()) ? domain.last() : domain.first(), Rank{-1});
        }
        std::array<Range, N> rows = domain.ranges();
        const Range row = rows[N - 1];
        rows[N - 1] = Range::strided(row.first(), 1, 1);
        for (Index<N> index : Domain<N>{rows}) {
            // In a domain of a block-cyclic map neighbours are neighbours in memory, whatever the distance of their
            // indices; of other maps only what they say is contiguous.
            if (state_.user_map == nullptr) {
                run(index, segment() + state_.map.locate(index).offset, row.size(), row.stride());
                continue;
            }
            for (std::uint64_t k = 0; k < row.size();) {
                index[N - 1] = row[k];
                const Location location = locate(index);
                if constexpr (assertion_level >= 1) {
                    if (location.owner.value != state_.own_rank)
                        detail::arrays::throw_wrong_domain(this->title_, index, location.owner);
                }
                const std::uint64_t count =
                    row.stride() == 1 ? std::min(location.contiguous, row.size() - k) : std::uint64_t{1};
                run(index, segment() + location.offset, count, row.stride());
                k += count;
            }
        }
    }
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

// Bulk patches.

/// The map as code sees it that needs nothing but locate(): what a user-defined distribution says is checked.
template <TriviallyCopyable T, std::size_t N>
struct GlobalArray<T, N>::CheckedMap {
    const GlobalArray& array;

    [[nodiscard]] Location locate(const Index<N>& index) const { return array.locate(index); }
};

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::cut(const Domain<N>& domain, const detail::distribution::BufferShape<N>& buffer,
                            detail::distribution::SectionVisitor& visitor) const {
    if (state_.user_map == nullptr)
        detail::distribution::cut(state_.map.dimensions(), state_.map.origin(), domain.ranges(), buffer.offset,
                                  buffer.strides, visitor);
    else detail::distribution::cut_rows(CheckedMap{*this}, domain, buffer, visitor);
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::check_patch(const char* call, const Domain<N>& domain, std::uint64_t buffer_size) const {
    this->check_bulk(call, domain.ranges(), state_.extents.values(), buffer_size);
    if (state_.user_map == nullptr || domain.empty()) return;
    // Before anything moves: a user-defined distribution may not store all of the domain.
    std::array<Range, N> row_starts = domain.ranges();
    const Range row = row_starts[N - 1];
    row_starts[N - 1] = Range::strided(row.first(), 1, 1);
    for (Index<N> index : Domain<N>{row_starts}) {
        for (std::uint64_t k = 0; k < row.size();) {
            index[N - 1] = row[k];
            const Location location = locate(index);
            if (location.owner.value < 0) detail::arrays::throw_not_stored(this->title_, call, index);
            k += (location.contiguous - 1) / static_cast<std::uint64_t>(row.stride()) + 1;
        }
    }
}

template <TriviallyCopyable T, std::size_t N>
detail::distribution::BufferShape<N> GlobalArray<T, N>::checked_shape(const char* call, const Domain<N>& domain,
                                                                      const LocalView<const T, N>& buffer) const {
    Index<N> sizes{};
    for (std::size_t d = 0; d < N; ++d) sizes[d] = static_cast<std::int64_t>(domain.range(d).size());
    detail::arrays::check_view(this->title_, call, domain.ranges(), sizes, buffer.extents().values(), buffer.strides());
    detail::distribution::BufferShape<N> shape;
    for (std::size_t d = 0; d < N; ++d) shape.strides[d] = static_cast<std::uint64_t>(buffer.stride(d));
    return shape;
}

template <TriviallyCopyable T, std::size_t N>
Completion GlobalArray<T, N>::start_patch(detail::arrays::Direction direction, const Domain<N>& domain,
                                          const detail::distribution::BufferShape<N>& shape, const T* buffer) const {
    // A put only reads the buffer; one type of pointer serves both directions.
    detail::arrays::PatchTransfer patch{window_, direction, reinterpret_cast<std::byte*>(const_cast<T*>(buffer)),
                                        sizeof(T), state_.replicated};
    cut(domain, shape, patch);
    return patch.release();
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::get(const Domain<N>& domain, std::span<T> buffer) const {
    const detail::trace::CallScope call{detail::trace::Way::patch};
    check_patch(".get", domain, buffer.size());
    start_patch(detail::arrays::Direction::get, domain, detail::distribution::BufferShape<N>::row_major(domain),
                buffer.data())
        .wait();
}

template <TriviallyCopyable T, std::size_t N>
Completion GlobalArray<T, N>::start_get(const Domain<N>& domain, std::span<T> buffer) const {
    check_patch(".start_get", domain, buffer.size());
    return start_patch(detail::arrays::Direction::get, domain, detail::distribution::BufferShape<N>::row_major(domain),
                       buffer.data());
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::put(const Domain<N>& domain, std::span<const T> buffer) {
    const detail::trace::CallScope call{detail::trace::Way::patch};
    check_patch(".put", domain, buffer.size());
    start_patch(detail::arrays::Direction::put, domain, detail::distribution::BufferShape<N>::row_major(domain),
                buffer.data())
        .wait();
}

template <TriviallyCopyable T, std::size_t N>
Completion GlobalArray<T, N>::start_put(const Domain<N>& domain, std::span<const T> buffer) {
    check_patch(".start_put", domain, buffer.size());
    return start_patch(detail::arrays::Direction::put, domain, detail::distribution::BufferShape<N>::row_major(domain),
                       buffer.data());
}

template <TriviallyCopyable T, std::size_t N>
template <std::same_as<T> U>
void GlobalArray<T, N>::get(const Domain<N>& domain, const LocalView<U, N>& buffer) const {
    const detail::trace::CallScope call{detail::trace::Way::patch};
    check_patch(".get", domain, buffer.size());
    start_patch(detail::arrays::Direction::get, domain, checked_shape(".get", domain, buffer), buffer.data_handle())
        .wait();
}

template <TriviallyCopyable T, std::size_t N>
template <std::same_as<T> U>
Completion GlobalArray<T, N>::start_get(const Domain<N>& domain, const LocalView<U, N>& buffer) const {
    check_patch(".start_get", domain, buffer.size());
    return start_patch(detail::arrays::Direction::get, domain, checked_shape(".start_get", domain, buffer),
                       buffer.data_handle());
}

template <TriviallyCopyable T, std::size_t N>
template <class U>
    requires std::same_as<std::remove_const_t<U>, T>
void GlobalArray<T, N>::put(const Domain<N>& domain, const LocalView<U, N>& buffer) {
    const detail::trace::CallScope call{detail::trace::Way::patch};
    check_patch(".put", domain, buffer.size());
    start_patch(detail::arrays::Direction::put, domain, checked_shape(".put", domain, buffer), buffer.data_handle())
        .wait();
}

template <TriviallyCopyable T, std::size_t N>
template <class U>
    requires std::same_as<std::remove_const_t<U>, T>
Completion GlobalArray<T, N>::start_put(const Domain<N>& domain, const LocalView<U, N>& buffer) {
    check_patch(".start_put", domain, buffer.size());
    return start_patch(detail::arrays::Direction::put, domain, checked_shape(".start_put", domain, buffer),
                       buffer.data_handle());
}

// Lists.

template <TriviallyCopyable T, std::size_t N>
template <class Indices>
std::vector<detail::arrays::ListedPlace> GlobalArray<T, N>::places_of(const char* call, const Indices& indices,
                                                                      std::initializer_list<std::size_t> others) const {
    this->require_open(call);
    const auto count = static_cast<std::size_t>(std::ranges::size(indices));
    for (const std::size_t other : others)
        if (other != count && other != SIZE_MAX) detail::arrays::throw_list_lengths(this->title_, call, count, other);
    std::vector<detail::arrays::ListedPlace> places;
    places.reserve(count);
    for (const auto& listed : indices) {
        Index<N> index;
        if constexpr (std::convertible_to<decltype(listed), const Index<N>&>) index = listed;
        else index = to_index(listed);
        const Location location = checked_location(call, index);
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
    if (state_.replicated) return this->start_list_to_all(places, sizeof(T), bytes);
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
        if (state_.replicated) detail::arrays::throw_no_home(this->title_, "fetch", {});
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
        if (state_.replicated) detail::arrays::throw_no_home(this->title_, "compare_swap", {});
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
