// Patterns for prefetches and mapped arrays, prefetched parts of windows, and the results of a relabelling.
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/shim.h"

#include "bindings/c/type.hpp"

#include "src/support/mutex.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <vector>

using lapwing::RangeError;
using lapwing::detail::bindings::guarded;
namespace fortran = lapwing::detail::bindings::fortran;

namespace {

/// What a program's pattern function is called with. Arrays keep it for any time: there are never more than different
/// ones in the program.
struct AskedFunction {
    lapwing_needed_function function;
    void* context;
    int dimensions;

    friend bool operator==(const AskedFunction&, const AskedFunction&) = default;
};

AskedFunction* kept(const AskedFunction& asked) {
    static auto& all = *new std::deque<AskedFunction>;
    static auto& mutex = *new lapwing::detail::support::Mutex{lapwing::detail::support::LockRank::leaf};
    const std::lock_guard lock{mutex};
    const auto found = std::ranges::find(all, asked);
    return found != all.end() ? &*found : &all.emplace_back(asked);
}

int ask_function(void* context, const lapwing_range* own, lapwing_needed* needed) {
    const auto& asked = *static_cast<const AskedFunction*>(context);
    std::array<std::int64_t, LAPWING_MAX_DIMENSIONS> lower{};
    std::array<std::int64_t, LAPWING_MAX_DIMENSIONS> upper{};
    std::array<std::int64_t, LAPWING_MAX_DIMENSIONS> stride{};
    for (int d = 0; d < asked.dimensions; ++d) {
        const auto f = static_cast<std::size_t>(d);
        const lapwing_range& range = own[asked.dimensions - 1 - d];
        lower[f] = range.first;
        upper[f] = range.first + (static_cast<std::int64_t>(range.size) - 1) * range.stride;
        stride[f] = range.stride;
    }
    return asked.function(asked.context, asked.dimensions, lower.data(), upper.data(), stride.data(), needed);
}

/// A pattern of C's as Fortran passes it, for an array.
class GivenPattern {
public:
    /// Returns a code; `call` is what takes the pattern.
    [[nodiscard]] int take(const char* call, const lapwing_array* array, int kind, int depth, int corners,
                           const int* periodic, std::int64_t count) {
        int dimensions = 0;
        if (const int code = lapwing_array_shape(array, nullptr, &dimensions, nullptr, nullptr)) return code;
        if (periodic != nullptr && count != dimensions)
            return guarded(call, [&] {
                throw RangeError{fmt::format("the argument 'periodic' has {} numbers; pass one for each of the {} "
                                             "dimensions",
                                             count, dimensions)};
            });
        if (periodic != nullptr)
            flags_.assign(std::reverse_iterator{periodic + count}, std::reverse_iterator{periodic});
        given_.kind = kind;
        given_.depth = depth;
        given_.corners = corners;
        given_.periodic = flags_.empty() ? nullptr : flags_.data();
        return LAPWING_SUCCESS;
    }
    [[nodiscard]] const lapwing_pattern* get() const noexcept { return &given_; }

private:
    std::vector<int> flags_;
    lapwing_pattern given_{};
};

} // namespace

extern "C" {

int lapwing_fortran_array_prefetch_pattern(lapwing_array* array, int pattern, int depth, int corners,
                                           const int* periodic, int64_t count, int consistent, int static_domain,
                                           int storage) {
    GivenPattern given;
    if (const int code = given.take("lapwing_array_prefetch", array, pattern, depth, corners, periodic, count))
        return code;
    const lapwing_prefetch_options options{consistent, static_domain, storage};
    return lapwing_array_prefetch(array, given.get(), &options);
}

int lapwing_fortran_array_prefetch_patch(lapwing_array* array, const lapwing_range* ranges, int consistent,
                                         int static_domain, int storage) {
    lapwing_pattern given{};
    given.kind = LAPWING_PATTERN_DOMAINS;
    given.count = 1;
    given.domains = ranges;
    const lapwing_prefetch_options options{consistent, static_domain, storage};
    return lapwing_array_prefetch(array, &given, &options);
}

int lapwing_fortran_mapped_create(const lapwing_array* array, int pattern, int depth, int corners, const int* periodic,
                                  int64_t count, lapwing_mapped** mapped) {
    GivenPattern given;
    if (const int code = given.take("lapwing_mapped_create", array, pattern, depth, corners, periodic, count))
        return code;
    return lapwing_mapped_create(array, given.get(), mapped);
}

int lapwing_fortran_mapped_create_function(const lapwing_array* array, lapwing_needed_function function, void* context,
                                           lapwing_mapped** mapped) {
    int dimensions = 0;
    if (const int code = lapwing_array_shape(array, nullptr, &dimensions, nullptr, nullptr)) return code;
    AskedFunction asked{function, context, dimensions};
    lapwing_pattern given{};
    given.kind = LAPWING_PATTERN_FUNCTION;
    given.function = ask_function;
    given.context = &asked;
    return lapwing_mapped_create(array, &given, mapped);
}

int lapwing_fortran_array_prefetch_function(lapwing_array* array, lapwing_needed_function function, void* context,
                                            int consistent, int static_domain, int storage) {
    int dimensions = 0;
    if (const int code = lapwing_array_shape(array, nullptr, &dimensions, nullptr, nullptr)) return code;
    lapwing_pattern given{};
    given.kind = LAPWING_PATTERN_FUNCTION;
    given.function = ask_function;
    given.context = kept({function, context, dimensions});
    const lapwing_prefetch_options options{consistent, static_domain, storage};
    return lapwing_array_prefetch(array, &given, &options);
}

int lapwing_fortran_needed_add(void* needed, int64_t dimensions, const int64_t* lower, int64_t upper_count,
                               const int64_t* upper, int64_t stride_count, const int64_t* strides) {
    std::array<lapwing_range, LAPWING_MAX_DIMENSIONS> ranges{};
    const int outcome = guarded("lapwing_needed_add", [&] {
        if (dimensions < 1 || dimensions > LAPWING_MAX_DIMENSIONS || upper_count != dimensions ||
            (strides != nullptr && stride_count != dimensions))
            throw RangeError{fmt::format("'lower' has {} numbers, 'upper' {}{}; pass one for each dimension to each",
                                         dimensions, upper_count,
                                         strides == nullptr ? "" : fmt::format(" and 'stride' {}", stride_count))};
        for (std::int64_t d = 0; d < dimensions; ++d) {
            const std::int64_t stride = strides != nullptr ? strides[d] : 1;
            if (stride < 1) throw RangeError{fmt::format("the stride {} of dimension {} is below 1", stride, d + 1)};
            const std::int64_t size = upper[d] < lower[d] ? 0 : (upper[d] - lower[d]) / stride + 1;
            ranges[static_cast<std::size_t>(dimensions - 1 - d)] = {lower[d], static_cast<std::uint64_t>(size), stride};
        }
    });
    return outcome != LAPWING_SUCCESS ? outcome
                                      : lapwing_needed_add(static_cast<lapwing_needed*>(needed), ranges.data());
}

int lapwing_fortran_require_count_of(int64_t value, const char* name) {
    if (value >= 0) return LAPWING_SUCCESS;
    return guarded("lapwing", [&] {
        throw RangeError{fmt::format("the argument '{}' is {}; it must not be negative", name, value)};
    });
}

int lapwing_fortran_relabelling_query(const lapwing_relabelling* relabelling, int* number, int* changes,
                                      int64_t* bytes_moved, int64_t* bytes_moved_unordered, int64_t* bytes) {
    lapwing_relabelling_info info{};
    if (const int code = lapwing_relabelling_query(relabelling, &info)) return code;
    *number = info.rank;
    *changes = info.changes;
    *bytes_moved = static_cast<std::int64_t>(info.bytes_moved);
    *bytes_moved_unordered = static_cast<std::int64_t>(info.bytes_moved_unordered);
    *bytes = static_cast<std::int64_t>(info.bytes);
    return LAPWING_SUCCESS;
}

int lapwing_fortran_prefetch_create(lapwing_window* window, int consistent, lapwing_prefetch** prefetch) {
    lapwing_prefetch_options options = lapwing_prefetch_options_default();
    options.consistent = consistent;
    return lapwing_prefetch_create(window, &options, prefetch);
}

int lapwing_fortran_prefetch_access(lapwing_prefetch* prefetch, int64_t slice, CFI_cdesc_t* buffer) {
    const void* memory = nullptr;
    std::uint64_t bytes = 0;
    if (const int code = lapwing_prefetch_access(prefetch, static_cast<std::uint64_t>(slice), &memory, &bytes))
        return code;
    return guarded("lapwing_prefetch_access", [&] {
        const std::uint64_t room = fortran::count_of(*buffer) * buffer->elem_len;
        if (room != bytes)
            throw RangeError{fmt::format("the argument 'buffer' has {} bytes, and the slice {}", room, bytes)};
        fortran::Contiguous copy{buffer, true};
        if (bytes > 0) std::memcpy(copy.data(), memory, bytes);
        copy.copy_back();
    });
}

int lapwing_fortran_prefetch_read(lapwing_prefetch* prefetch, int64_t slice, int64_t k, CFI_cdesc_t* value) {
    int code = LAPWING_SUCCESS;
    const int outcome = guarded("lapwing_prefetch_read", [&] {
        if (k < 1) throw RangeError{fmt::format("the argument 'k' is {}; values count from 1", k)};
        fortran::require_elements(*value, 1, "value");
        fortran::Contiguous copy{value, true};
        code = lapwing_prefetch_read(prefetch, static_cast<std::uint64_t>(slice), fortran::type_of(*value, "value"),
                                     static_cast<std::uint64_t>(k - 1), copy.data());
        if (code == LAPWING_SUCCESS) copy.copy_back();
    });
    return outcome != LAPWING_SUCCESS ? outcome : code;
}

} // extern "C"
