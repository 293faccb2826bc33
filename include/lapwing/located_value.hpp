// Room: datatype
#pragma once

#include <lapwing/extents.hpp>

#include <cstddef>

namespace lapwing {

/// A value, and the index of where it was found. GlobalArray::min_location() and max_location() return it.
///
/// With a number of 8 bytes and a single index it is also a value for the atomics `min` and `max` of
/// AtomicReference: the smaller (larger) value stays, of equal ones that with the lower index, as with MPI_MINLOC and
/// MPI_MAXLOC. Such a pair has 16 bytes and no padding. Narrower numbers fit into those of 8 bytes without rounding.
/// Begin with a value that any other replaces. A NaN replaces none and is replaced by none: one that is stored stays.
///
/// ```cpp
/// lapwing::GlobalArray<lapwing::LocatedValue<double, 1>, 1> best{runtime, {1}};
/// best.fill({std::numeric_limits<double>::infinity(), {-1}}); // collective, with a barrier at its end
/// best(0).atomic().min({residual, {i}}); // by any rank, at any time
/// ```
template <class T, std::size_t N>
struct LocatedValue {
    T value;        ///< value of the element
    Index<N> index; ///< its index

    friend bool operator==(const LocatedValue&, const LocatedValue&) = default;
};

} // namespace lapwing
