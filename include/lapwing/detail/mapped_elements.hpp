// Room: arrays
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/range.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lapwing::detail::arrays {

class Mapping;
class SpareMapping;

/// A mapped array without its type: memory in which element k of the array, in the row-major order of all its elements,
/// is k elements after origin(). Copies are of the same memory.
class MappedElements {
public:
    MappedElements() noexcept = default;
    explicit MappedElements(std::shared_ptr<Mapping> mapping) noexcept;

    /// Where the first element of the array is, or would be.
    [[nodiscard]] const std::byte* origin() const noexcept { return origin_; }
    void refresh() const;
    [[nodiscard]] Completion start_refresh() const;
    /// `domain`: a range for each dimension.
    void pin(std::span<const Range> domain) const;
    [[nodiscard]] std::uint64_t memory() const noexcept;

private:
    [[nodiscard]] const std::shared_ptr<Mapping>& mapping(const char* call) const;

    const std::byte* origin_ = nullptr;
    std::shared_ptr<Mapping> mapping_;
};

} // namespace lapwing::detail::arrays
