#pragma once

#include "arrays/mapping.hpp"

#include <lapwing/detail/array_errors.hpp>
#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/detail/mapped_elements.hpp>
#include <lapwing/range.hpp>
#include <lapwing/upc/array.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lapwing::upc {

class ProgramState;

namespace detail {

/// A shared array as the room arrays knows arrays, so that it can be mapped as memory: in one dimension, as UPC deals
/// it. An element whose size does not divide its address is a row of smaller ones.
class MappableArray {
public:
    MappableArray(ProgramState& program, const DealtArray& array, std::span<const std::size_t> extents);

    /// Throws what GlobalArray::mapped() does.
    [[nodiscard]] lapwing::detail::arrays::MappedElements map(std::vector<Range> named, bool on_demand) const;
    void drop_spare() const { spare_->drop(); }

private:
    lapwing::detail::arrays::ArrayTitle title_;
    std::vector<std::int64_t> extents_;
    std::uint64_t element_bytes_;
    int own_thread_;
    std::shared_ptr<const lapwing::detail::slices::ArrayGeometry> geometry_;
    lapwing::detail::arrays::StretchHere here_;
    std::shared_ptr<lapwing::detail::arrays::SpareMapping> spare_ =
        std::make_shared<lapwing::detail::arrays::SpareMapping>();
};

} // namespace detail
} // namespace lapwing::upc
