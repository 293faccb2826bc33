#pragma once

#include "arrays/mapping.hpp"

#include <lapwing/detail/array_errors.hpp>
#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/detail/mapped_elements.hpp>
#include <lapwing/range.hpp>
#include <lapwing/upc/array.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace lapwing::upc {

class ProgramState;

namespace detail {

/// A shared array as the room arrays knows arrays, so that it can be mapped as memory.
class MappableArray {
public:
    MappableArray(ProgramState& program, const DealtArray& array);

    /// Throws what GlobalArray::mapped() does.
    [[nodiscard]] lapwing::detail::arrays::MappedElements map(std::vector<Range> named, bool on_demand) const;

private:
    /// A window's offset must be a multiple of what its elements have: those of other sizes are rows of smaller ones.
    [[nodiscard]] std::uint64_t row() const noexcept;

    lapwing::detail::arrays::ArrayTitle title_;
    int own_thread_;
    std::shared_ptr<const lapwing::detail::slices::ArrayGeometry> geometry_;
    lapwing::detail::arrays::StretchHere here_;
    std::shared_ptr<lapwing::detail::arrays::SpareMapping> spare_ =
        std::make_shared<lapwing::detail::arrays::SpareMapping>();
};

} // namespace detail
} // namespace lapwing::upc
