#pragma once

#include "arrays/slices/pending_transfers.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/detail/direction.hpp>
#include <lapwing/detail/sections.hpp>
#include <lapwing/detail/slice_shape.hpp>
#include <lapwing/detail/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lapwing::detail::slices {

/// Carries out the sections of patches: memory that can be reached is copied at once; other transfers are started and
/// collected in one completion.
class PatchTransfer final : public distribution::SectionVisitor {
public:
    /// `buffer` is only read for Direction::put. In a replicated array sections are nominally at rank 0: gets read the
    /// rank's own copy, puts write all copies.
    PatchTransfer(const ArrayGeometry& array, transport::Direction direction, std::byte* buffer) noexcept
        : window_{*array.window},
          direction_{direction},
          replicated_{array.replicated},
          buffer_{buffer},
          element_bytes_{array.element_bytes} {}
    PatchTransfer(const PatchTransfer&) = delete;
    PatchTransfer& operator=(const PatchTransfer&) = delete;
    /// Waits for what was started, and reports no errors.
    ~PatchTransfer() = default;

    void visit(const distribution::Section& section) override;

    /// Hands transfers under way to a completion; the buffer must remain valid until it is done.
    [[nodiscard]] Completion release();

private:
    void carry(int owner, const distribution::Section& section);
    /// Records it.
    void note(int owner, const distribution::Section& section) const;
    /// By loads and stores, to the owner's part at `segment`.
    void copy(int owner, std::byte* segment, const distribution::Section& section);
    /// Over the network.
    void start(int owner, const distribution::Section& section);

    trace::CallScope call_{trace::Way::patch};
    window::WindowState& window_;
    transport::Direction direction_;
    bool replicated_;
    std::byte* buffer_;
    std::uint64_t element_bytes_;
    std::unique_ptr<PendingTransfers> pending_; ///< null while everything so far was memory
};

/// Whether a slice is a patch: it has indices of its array in ascending order, and the buffer has them in the same
/// order, with or without gaps between its rows. Nothing need be matched then, and small patches cost little.
[[nodiscard]] bool is_patch(const SliceShape& shape, std::span<const std::int64_t> strides) noexcept;
/// Starts a patch. `buffer` is only read for Direction::put. Throws RangeError, before anything moves, if a
/// distribution of the program's own does not store all of it.
[[nodiscard]] Completion start_patch(const char* call, transport::Direction direction, const ArrayGeometry& array,
                                     const SliceShape& shape, std::byte* buffer, std::span<const std::int64_t> strides);

} // namespace lapwing::detail::slices
