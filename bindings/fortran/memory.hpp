#pragma once

#include "bindings/c/call.hpp"

#include <lapwing/lapwing.h>

#include <ISO_Fortran_binding.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What Fortran's descriptors describe, in the form of the C interface.
namespace lapwing::detail::bindings::fortran {

/// The type of a variable, or of the elements of an array. Characters and structures are bytes. Throws UsageError for a
/// type that Lapwing does not have, real(real128) for example.
[[nodiscard]] lapwing_type type_of(const CFI_cdesc_t& value, const char* name);
/// Throws UsageError unless elements of `expected` can be such variables: numbers of the same kind and size; bytes of
/// the same size.
void require_type(const CFI_cdesc_t& value, lapwing_type expected, const char* name);
[[nodiscard]] std::uint64_t count_of(const CFI_cdesc_t& value) noexcept;
/// Whether the elements are contiguous, in the order of Fortran.
[[nodiscard]] bool is_contiguous(const CFI_cdesc_t& value) noexcept;
/// "(1:4, 1:5)" without lower bounds: "4 x 5", or "a scalar".
[[nodiscard]] std::string shape_text(const CFI_cdesc_t& value);
/// A layout relative to the first element. The caller frees it.
[[nodiscard]] int make_layout(const CFI_cdesc_t& value, lapwing_layout** layout);

/// Contiguous elements: those that are described, or a copy of them.
class Contiguous {
public:
    /// Memory that is read, or, with `written`, copied back by copy_back(). Null: no memory.
    explicit Contiguous(const CFI_cdesc_t* value, bool written = false);
    [[nodiscard]] void* data() noexcept { return copy_.empty() ? first_ : copy_.data(); }
    void copy_back();

private:
    const CFI_cdesc_t* value_;
    void* first_ = nullptr;
    bool written_;
    std::vector<std::byte> copy_;
};

/// A buffer of an array's patch, or of a slice: where its first element is, and how many elements lie from one to the
/// next in each dimension, in the order of C. Dimensions of extent 1 may be left out on both sides.
struct Fitted {
    void* first = nullptr;
    std::array<std::int64_t, LAPWING_MAX_DIMENSIONS> strides{};
    bool contiguous = false; ///< all one after another: no strides are needed
    bool growing = false;    ///< as patches need them: 1 in the last dimension, growing to the first
    bool whole = true;       ///< strides are numbers of elements
};
/// Throws RangeError unless a buffer has the extents of what it is for; `sizes` in the order of C.
[[nodiscard]] Fitted fit(const CFI_cdesc_t& buffer, const std::uint64_t* sizes, std::size_t dimensions);

/// Throws UsageError for a section with gaps: a plan, or a transfer that is not waited for, cannot use a copy.
void require_contiguous(const CFI_cdesc_t& value, const char* name);
/// Throws RangeError unless there are so many elements; with `scalar`, a scalar counts for all.
void require_elements(const CFI_cdesc_t& value, std::uint64_t count, const char* name, bool scalar = false);
/// Throws UsageError for an argument that is missing.
[[nodiscard]] const CFI_cdesc_t& present(const CFI_cdesc_t* value, const char* name);

} // namespace lapwing::detail::bindings::fortran
