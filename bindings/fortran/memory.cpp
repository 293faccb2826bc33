#include "bindings/fortran/memory.hpp"

#include "bindings/c/type.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace lapwing::detail::bindings::fortran {
namespace {

bool is_size_of_integer(std::size_t bytes) noexcept { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

std::vector<std::uint64_t> extents_of(const CFI_cdesc_t& value) {
    std::vector<std::uint64_t> extents(static_cast<std::size_t>(value.rank));
    for (std::size_t d = 0; d < extents.size(); ++d)
        extents[d] = static_cast<std::uint64_t>(std::max<CFI_index_t>(value.dim[d].extent, 0));
    return extents;
}

/// Calls `function(address)` for each element, in the order of Fortran.
template <class Function>
void for_each(const CFI_cdesc_t& value, Function&& function) {
    if (count_of(value) == 0) return;
    std::array<CFI_index_t, CFI_MAX_RANK> index{};
    auto* address = static_cast<std::byte*>(value.base_addr);
    while (true) {
        function(address);
        int d = 0;
        for (; d < value.rank; ++d) {
            address += value.dim[d].sm;
            if (++index[static_cast<std::size_t>(d)] < value.dim[d].extent) break;
            address -= value.dim[d].sm * value.dim[d].extent;
            index[static_cast<std::size_t>(d)] = 0;
        }
        if (d == value.rank) return;
    }
}

std::string text_of_shape(const std::vector<std::uint64_t>& extents) {
    return extents.empty() ? "a scalar" : fmt::format("{}", fmt::join(extents, " x "));
}

} // namespace

lapwing_type type_of(const CFI_cdesc_t& value, const char* name) {
    const std::size_t bytes = value.elem_len;
    switch (value.type & CFI_type_mask) {
    case CFI_type_Integer:
        if (is_size_of_integer(bytes)) return LAPWING_TYPE_(LAPWING_KIND_SIGNED, bytes);
        break;
    case CFI_type_Real:
        if (bytes == 4 || bytes == 8) return LAPWING_TYPE_(LAPWING_KIND_FLOAT, bytes);
        break;
    case CFI_type_Complex:
        if (bytes == 8 || bytes == 16) return LAPWING_TYPE_(LAPWING_KIND_COMPLEX, bytes);
        break;
    default:
        if (bytes > 0) return LAPWING_BYTES(bytes);
        break;
    }
    throw UsageError{
        fmt::format("the argument '{}' has elements of {} bytes of a type that Lapwing does not have; take integers "
                    "of 1 to 8 bytes, real and complex numbers of real32 and real64, or lapwing_bytes({})",
                    name, bytes, bytes)};
}

void require_type(const CFI_cdesc_t& value, lapwing_type expected, const char* name) {
    const int kind = kind_of(expected);
    if (value.elem_len == size_of(expected)) {
        if (!is_number(expected)) return;
        const int given = kind_of(type_of(value, name));
        if (given == kind || (given == LAPWING_KIND_SIGNED && kind == LAPWING_KIND_UNSIGNED)) return;
    }
    throw UsageError{
        fmt::format("the argument '{}' has the type {}, and the elements have {}; pass a variable of that type", name,
                    bindings::text_of(type_of(value, name)), bindings::text_of(expected))};
}

std::uint64_t count_of(const CFI_cdesc_t& value) noexcept {
    std::uint64_t count = 1;
    for (int d = 0; d < value.rank; ++d)
        count *= static_cast<std::uint64_t>(std::max<CFI_index_t>(value.dim[d].extent, 0));
    return count;
}

bool is_contiguous(const CFI_cdesc_t& value) noexcept {
    auto expected = static_cast<CFI_index_t>(value.elem_len);
    if (count_of(value) == 0) return true;
    for (int d = 0; d < value.rank; ++d) {
        if (value.dim[d].extent != 1 && value.dim[d].sm != expected) return false;
        expected *= value.dim[d].extent;
    }
    return true;
}

std::string shape_text(const CFI_cdesc_t& value) { return text_of_shape(extents_of(value)); }

int make_layout(const CFI_cdesc_t& value, lapwing_layout** layout) {
    if (count_of(value) == 0 || is_contiguous(value))
        return lapwing_layout_create_contiguous(count_of(value) * value.elem_len, 0, layout);
    std::vector<lapwing_level> levels;
    for (auto d = static_cast<std::size_t>(value.rank); d-- > 0;)
        levels.push_back({static_cast<std::uint64_t>(value.dim[d].extent), value.dim[d].sm});
    return lapwing_layout_create_nested(levels.size(), levels.data(), value.elem_len, 0, layout);
}

Contiguous::Contiguous(const CFI_cdesc_t* value, bool written) : value_{value}, written_{written} {
    if (value == nullptr) return;
    first_ = value->base_addr;
    if (is_contiguous(*value)) return;
    copy_.resize(count_of(*value) * value->elem_len);
    auto* to = copy_.data();
    for_each(*value, [&](const std::byte* from) {
        std::memcpy(to, from, value->elem_len);
        to += value->elem_len;
    });
}

void Contiguous::copy_back() {
    if (!written_ || copy_.empty()) return;
    const auto* from = copy_.data();
    for_each(*value_, [&](std::byte* to) {
        std::memcpy(to, from, value_->elem_len);
        from += value_->elem_len;
    });
}

Fitted fit(const CFI_cdesc_t& buffer, const std::uint64_t* sizes, std::size_t dimensions) {
    Fitted fitted;
    fitted.first = buffer.base_addr;
    const std::span wanted{sizes, dimensions};
    std::uint64_t all = 1;
    for (const std::uint64_t size : wanted) all *= size;
    const auto refuse = [&] {
        const std::vector<std::uint64_t> reversed(wanted.rbegin(), wanted.rend());
        throw RangeError{
            fmt::format("the buffer is {}, and what is to be moved is {}; pass a section of the same shape (dimensions "
                        "of extent 1 may be left out), or a contiguous list of {} elements",
                        shape_text(buffer), text_of_shape(reversed), all)};
    };
    if (count_of(buffer) != all) refuse();
    if (all == 0) {
        fitted.contiguous = true;
        return fitted;
    }
    // Dimensions with more than one index must be the same on both sides; the rest may have any stride.
    int d = 0;
    std::int64_t within = 1;
    fitted.growing = true;
    for (std::size_t k = dimensions; k-- > 0;) {
        if (wanted[k] == 1) {
            fitted.strides[k] = within;
            continue;
        }
        while (d < buffer.rank && buffer.dim[d].extent == 1) ++d;
        if (d == buffer.rank || static_cast<std::uint64_t>(buffer.dim[d].extent) != wanted[k]) {
            if (buffer.rank != 1 || !is_contiguous(buffer)) refuse();
            fitted.contiguous = true;
            return fitted;
        }
        const auto bytes = static_cast<CFI_index_t>(buffer.elem_len);
        fitted.whole = fitted.whole && buffer.dim[d].sm % bytes == 0;
        fitted.strides[k] = buffer.dim[d].sm / bytes;
        fitted.growing =
            fitted.growing && fitted.strides[k] >= within && (k + 1 < dimensions || fitted.strides[k] == 1);
        within = fitted.strides[k] * static_cast<std::int64_t>(wanted[k]);
        ++d;
    }
    fitted.contiguous = fitted.whole && is_contiguous(buffer);
    return fitted;
}

void require_contiguous(const CFI_cdesc_t& value, const char* name) {
    if (!is_contiguous(value))
        throw UsageError{fmt::format(
            "the argument '{}' has gaps ({}), and this call uses the memory itself; pass a contiguous array", name,
            shape_text(value))};
}

void require_elements(const CFI_cdesc_t& value, std::uint64_t count, const char* name, bool scalar) {
    if (count_of(value) == count || (scalar && value.rank == 0)) return;
    throw RangeError{fmt::format("the argument '{}' has {} elements, and the call needs {}{}", name, count_of(value),
                                 count, scalar ? ", or a scalar for all" : "")};
}

const CFI_cdesc_t& present(const CFI_cdesc_t* value, const char* name) {
    require_pointer(value, name);
    return *value;
}

} // namespace lapwing::detail::bindings::fortran
