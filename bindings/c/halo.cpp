// Halos of arrays.
#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/completion.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/c/halo.h>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing::detail::bindings {
namespace {

/// Which part of the array goes where: the same domain, or across edges of periodic dimensions a shifted one.
struct HaloSection {
    PaddedDomain source; ///< of the array
    PaddedDomain place;  ///< of the halo's domain
};

} // namespace
} // namespace lapwing::detail::bindings

struct lapwing_halo : lapwing::detail::bindings::Object<lapwing_halo> {
    static constexpr const char* object_name = "halo";

    lapwing_halo(lapwing_array* of, std::int64_t depth, const int* periodic);

    [[nodiscard]] lapwing::detail::distribution::BufferShape<lapwing::detail::bindings::padded>
    shape_of(const lapwing::detail::bindings::PaddedDomain& place) const;
    /// Throws UsageError once the array has been freed, resized or redistributed.
    void require_array(const char* call) const;
    [[nodiscard]] lapwing::Completion start_fetch();
    void store();

    lapwing_array* array;
    std::weak_ptr<const lapwing::detail::slices::ArrayGeometry> geometry; ///< of the array as it was
    lapwing::detail::bindings::PaddedDomain own;
    lapwing::detail::bindings::PaddedDomain domain; ///< of the memory
    std::vector<lapwing_range> ranges;              ///< the same, as the array's indices were
    std::vector<lapwing::detail::bindings::HaloSection> sections;
    lapwing::detail::support::AlignedMemory memory;
};

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

lapwing_halo::lapwing_halo(lapwing_array* of, std::int64_t depth, const int* periodic)
    : array{of}, geometry{array_of(of).slice().array()} {
    const AnyArray& one = array_of(array);
    const std::size_t front = padded - one.dimensions();
    const lapwing::Rank rank = one.team().rank();
    const std::uint64_t count = one.domain_count(rank);
    if (count > 1)
        throw lapwing::UsageError{
            fmt::format("{}: {}: the rank owns {} separate domains, and a halo is around one; use LAPWING_BLOCK",
                        one.team().who(), text_of(one), count)};
    if (count == 1) own = one.domain_of(rank, 0);
    std::array<lapwing::Range, padded> whole;
    std::array<bool, padded> goes_on{};
    whole.fill(lapwing::Range::strided(0, 1, 1));
    for (std::size_t d = 0; d < one.dimensions(); ++d) {
        whole[front + d] = lapwing::Range{std::int64_t{0}, one.extents()[d]};
        goes_on[front + d] = periodic != nullptr && periodic[d] != 0;
    }
    one.check_halo(std::span{own.ranges()}.subspan(front), depth);
    if (!own.empty()) {
        std::array<lapwing::Range, padded> wide = own.ranges();
        for (std::size_t d = front; d < padded; ++d) wide[d] = wide[d].expand(depth);
        domain = PaddedDomain{wide};
    }
    for (std::size_t d = 0; d < one.dimensions(); ++d)
        ranges.push_back(inside_of(of).indices(d, domain.range(front + d)));
    if (own.empty()) return;
    // First: what fits into memory has not too many sections.
    memory = lapwing::detail::support::allocate_zeroed(domain.size() * one.element_bytes());
    PaddedIndex most{}; // turns around the array, for each dimension
    PaddedIndex turns{};
    for (std::size_t d = 0; d < padded; ++d) {
        if (goes_on[d]) most[d] = lapwing::detail::arrays::turns(depth, whole[d]);
        turns[d] = -most[d];
    }
    for (bool more = true; more;) {
        PaddedIndex there{};
        PaddedIndex back{};
        for (std::size_t d = 0; d < padded; ++d) {
            there[d] = turns[d] * static_cast<std::int64_t>(whole[d].size());
            back[d] = -there[d];
        }
        if (const PaddedDomain place = domain.intersect(PaddedDomain{whole}.shift(there)); !place.empty())
            sections.push_back({place.shift(back), place});
        more = false;
        for (std::size_t d = padded; d-- > 0 && !more;) {
            more = ++turns[d] <= most[d];
            if (!more) turns[d] = -most[d];
        }
    }
}

lapwing::detail::distribution::BufferShape<padded> lapwing_halo::shape_of(const PaddedDomain& place) const {
    auto shape = lapwing::detail::distribution::BufferShape<padded>::row_major(domain);
    for (std::size_t d = 0; d < padded; ++d)
        shape.offset += static_cast<std::uint64_t>(place.range(d).first() - domain.range(d).first()) * shape.strides[d];
    return shape;
}

void lapwing_halo::require_array(const char* call) const {
    if (geometry.expired()) lapwing::detail::arrays::throw_old_halo(call);
}

lapwing::Completion lapwing_halo::start_fetch() {
    require_array("fetch");
    const AnyArray& one = array_of(array);
    std::vector<lapwing::Completion> gets;
    for (const HaloSection& section : sections)
        gets.push_back(one.start_patch(".start_get", lapwing::detail::arrays::Direction::get, section.source,
                                       shape_of(section.place), memory.get()));
    return AnyArray::all_of(std::move(gets));
}

void lapwing_halo::store() {
    require_array("store");
    const AnyArray& one = array_of(array);
    if (!own.empty())
        one.start_patch(".put", lapwing::detail::arrays::Direction::put, own, shape_of(own), memory.get()).wait();
}

extern "C" {

int lapwing_halo_create(lapwing_array* array, int64_t depth, const int* periodic, lapwing_halo** halo) {
    return guarded("lapwing_halo_create", [&] {
        require_pointer(halo, "halo");
        *halo = Handles<lapwing_halo>::make(array, depth, periodic);
    });
}

int lapwing_halo_free(lapwing_halo** halo) {
    return guarded("lapwing_halo_free", [&] {
        require_pointer(halo, "halo");
        if (*halo == nullptr) return;
        (void)use(*halo);
        end_handle(halo);
    });
}

int lapwing_halo_exchange(lapwing_halo* halo) {
    return guarded("lapwing_halo_exchange", [&] {
        lapwing_halo& one = use(halo);
        one.require_array("exchange");
        const AnyArray& array = array_of(one.array);
        array.barrier();
        array.end_collective(".exchange", [&] { one.start_fetch().wait(); }, "some halos may be what they were");
    });
}

int lapwing_halo_fetch(lapwing_halo* halo) {
    return guarded("lapwing_halo_fetch", [&] { use(halo).start_fetch().wait(); });
}

int lapwing_halo_start_fetch(lapwing_halo* halo, lapwing_completion** completion) {
    return guarded("lapwing_halo_start_fetch", [&] {
        lapwing_halo& one = use(halo);
        require_pointer(completion, "completion");
        give(one.start_fetch(), completion);
    });
}

int lapwing_halo_store(lapwing_halo* halo) {
    return guarded("lapwing_halo_store", [&] { use(halo).store(); });
}

int lapwing_halo_memory(const lapwing_halo* halo, void** memory, int64_t* strides, lapwing_range* ranges) {
    return guarded("lapwing_halo_memory", [&] {
        const lapwing_halo& one = use(halo);
        const std::size_t front = padded - one.ranges.size();
        const auto shape = lapwing::detail::distribution::BufferShape<padded>::row_major(one.domain);
        if (memory != nullptr) *memory = one.memory.get();
        for (std::size_t d = 0; d < one.ranges.size(); ++d) {
            if (strides != nullptr) strides[d] = static_cast<std::int64_t>(shape.strides[front + d]);
            if (ranges != nullptr) ranges[d] = one.ranges[d];
        }
    });
}

} // extern "C"
