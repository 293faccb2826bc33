#pragma once

#include "window/access_order.hpp"

#include <lapwing/completion.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lapwing::detail::window {

/// The puts and gets of a window that go to ranks which are not reached by load and store. Ranges have been checked.
class PutsAndGets {
public:
    PutsAndGets(const transport::WindowFacts& facts, AccessOrder& order, transport::RmaTransport& rma,
                transport::MessageTransport& messages) noexcept
        : facts_{facts}, order_{order}, rma_{rma}, messages_{messages} {}

    // Calls of the program, through the cache if there is one. Copies are notified of the puts.
    void get(int target, std::uint64_t offset, std::span<std::byte> destination);
    void put(int target, std::uint64_t offset, std::span<const std::byte> source);
    [[nodiscard]] Completion start_get(int target, std::uint64_t offset, std::span<std::byte> destination);
    [[nodiscard]] Completion start_put(int target, std::uint64_t offset, std::span<const std::byte> source);

    // Parts of transfers that go by messages even where MPI's windows work: the owner's progress thread moves the
    // bytes. None may be empty. See MessageTransport. The caller notifies copies of the whole transfer.
    [[nodiscard]] Completion start_put_by_messages(int target, const transport::Touched& touched, std::uint64_t offset,
                                                   std::span<const std::byte> source);
    [[nodiscard]] Completion start_get_by_messages(int target, const transport::Touched& touched, std::uint64_t offset,
                                                   std::span<std::byte> destination);
    [[nodiscard]] Completion start_scatter(int target, const transport::Touched& touched,
                                           std::span<const std::byte> message, std::uint64_t table_bytes);
    [[nodiscard]] Completion start_gather(int target, const transport::Touched& touched,
                                          std::span<const std::byte> table, std::span<std::byte> destination);

    // Past the cache: the operations of the cache itself, and parts of transfers. The caller notifies copies of the
    // whole transfer; copies were notified of what a cache writes back when the program wrote it. A null transfer is
    // complete.
    void get_uncached(int target, std::uint64_t offset, std::span<std::byte> destination,
                      transport::Access::Starter starter = transport::Access::Starter::program);
    void put_uncached(int target, std::uint64_t offset, std::span<const std::byte> source,
                      transport::Access::Starter starter = transport::Access::Starter::program);
    /// Small runs, copied, in as few messages as there can be.
    void put_runs_uncached(int target, std::span<const DirtyRun> runs);
    [[nodiscard]] std::unique_ptr<transport::PendingTransfer>
    begin_get(int target, std::uint64_t offset, std::span<std::byte> destination, transport::Access::Starter starter);
    [[nodiscard]] std::unique_ptr<transport::PendingTransfer>
    begin_put(int target, std::uint64_t offset, std::span<const std::byte> source, transport::Access::Starter starter);

private:
    [[nodiscard]] transport::BegunAccess begin_part(int target, const transport::Touched& touched,
                                                    transport::Access::Kind kind, const char* call);

    const transport::WindowFacts& facts_;
    AccessOrder& order_;
    transport::RmaTransport& rma_;
    transport::MessageTransport& messages_;
};

} // namespace lapwing::detail::window
