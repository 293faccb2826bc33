// Room: arrays
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/detail/direction.hpp>
#include <lapwing/detail/sections.hpp>
#include <lapwing/detail/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lapwing {
class Window;
} // namespace lapwing

namespace lapwing::detail::arrays {

class PendingTransfers;
using transport::Direction;

/// Carries out the sections of patches: memory that can be reached is copied at once; other transfers are started and
/// collected in one completion.
class PatchTransfer final : public distribution::SectionVisitor {
public:
    /// `buffer` is only read for Direction::put. In a replicated array sections are nominally at rank 0: gets read the
    /// rank's own copy, puts write all copies.
    PatchTransfer(Window& window, Direction direction, std::byte* buffer, std::uint64_t element_bytes, bool replicated);
    PatchTransfer(const PatchTransfer&) = delete;
    PatchTransfer& operator=(const PatchTransfer&) = delete;
    /// Waits for what was started, and reports no errors.
    ~PatchTransfer();

    void visit(const distribution::Section& section) override;

    /// Completes everything: values are in the buffer (get), or the buffer may be reused (put).
    void wait();
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
    Window& window_;
    Direction direction_;
    bool replicated_;
    std::byte* buffer_;
    std::uint64_t element_bytes_;
    std::unique_ptr<PendingTransfers> pending_; ///< null while everything so far was memory
};

} // namespace lapwing::detail::arrays
