// Room: arrays
#pragma once

#include <lapwing/detail/sections.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lapwing::detail::arrays {

struct CollectedSlices;

/// Collects which ranks own something of a domain.
class OwnerCollector final : public distribution::SectionVisitor {
public:
    void visit(const distribution::Section& section) override { owners_.push_back(section.owner); }
    /// In ascending order, each once.
    [[nodiscard]] std::vector<int> take();

private:
    std::vector<int> owners_;
};

/// Collects the sections of domains that are to be prefetched, instead of moving them.
class SliceCollector final : public distribution::SectionVisitor {
public:
    explicit SliceCollector(std::uint64_t element_bytes);
    ~SliceCollector();
    SliceCollector(const SliceCollector&) = delete;
    SliceCollector& operator=(const SliceCollector&) = delete;

    void visit(const distribution::Section& section) override;

    [[nodiscard]] CollectedSlices& slices() noexcept { return *slices_; }
    [[nodiscard]] OwnerCollector& owners() noexcept { return owners_; }

private:
    std::uint64_t element_bytes_;
    std::unique_ptr<CollectedSlices> slices_;
    OwnerCollector owners_; ///< of those
};

} // namespace lapwing::detail::arrays
