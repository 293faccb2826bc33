#pragma once

#include "src/mpi/atomics.hpp"
#include "src/transport/access_ledger.hpp"
#include "src/transport/message_transport.hpp"
#include "src/transport/rma_transport.hpp"
#include "window/chunked_transfer.hpp"
#include "window/copy_registry.hpp"
#include "window/gathered_adds.hpp"
#include "window/lost_writes.hpp"
#include "window/remote_cache.hpp"

#include <cstdint>
#include <span>

namespace lapwing::detail::window {

/// The order of a window's operations on ranks that are not reached by load and store: each rank sees its own accesses
/// to the same bytes in program order, whatever carries them, and a release completes them all. Every operation passes
/// begin(), the only place that knows all that may be under way: chunked transfers, what is cached, gathered adds, and
/// what transports have started.
class AccessOrder final : private transport::AccessGate, private AddSender {
public:
    AccessOrder(transport::AccessLedger& ledger, transport::RmaTransport& rma, transport::MessageTransport& messages,
                CopiesObserver& observer) noexcept
        : facts_{ledger.facts()}, ledger_{ledger}, rma_{rma}, messages_{messages}, copies_{facts_, observer} {}
    AccessOrder(const AccessOrder&) = delete;
    AccessOrder& operator=(const AccessOrder&) = delete;

    /// Throws if the target has left, and completes what is under way there if the access conflicts with it, or
    /// everything if too much is under way to tell. Puts and gets that the cache serves come here when it starts its
    /// own, with the mutex of the cache held, and so wait for no chunked transfer: who moves those on holds their lock,
    /// and may want the cache. Nothing is to be waited for. Plans on cached windows are carried out at once; chunked
    /// beside a cache are only gets past it (pipeline::start_past_cache), whose bytes nobody writes before they are
    /// complete.
    [[nodiscard]] transport::BegunAccess begin(const transport::Access& access) {
        enter(access);
        if (access.continues) return begun(access);
        if (!adds_.empty()) adds_.before(access.target, access.offset, access.bytes);
        if (!ledger_.empty() || ledger_.has_adds_that_may_be_overtaken()) complete_before(access);
        return begun(access);
    }
    /// The same for values in a range, at these offsets: the cache loses no more than them.
    [[nodiscard]] transport::BegunAccess begin(const transport::Access& whole,
                                               std::span<const mpi::ListedAtomic> values, std::uint64_t value_bytes);

    /// An atomic without a result, which leaves with others.
    void add(const transport::Access& access, transport::AddKind kind, const void* operand);

    /// Completes what is under way to `target`, or all of it, of which the cache and the gathered adds hold nothing
    /// back.
    void complete(int target);
    void complete();
    /// Before one more of a group of accesses that do not conflict with each other, and that have begun.
    void make_room() {
        if (ledger_.full()) complete_started();
    }
    // What Window's calls of these names do.
    void flush(int target);
    void flush();
    void release();
    void acquire();
    // The steps of a team's release and acquire: see EpochMember.
    [[nodiscard]] bool holds_back() const noexcept { return cache_ != nullptr || !adds_.empty(); }
    void start_release();
    [[nodiscard]] bool under_way() const noexcept {
        return !ledger_.empty() || ledger_.messages_under_way() || !chunked_transfers_.empty() || adds_.any_lost() ||
               lost_.any();
    }
    void finish_release();
    [[nodiscard]] bool has_copies() const noexcept { return cache_ != nullptr || !copies_.empty(); }
    void drop_copies();

    [[nodiscard]] ChunkedTransfers& chunked_transfers() noexcept { return chunked_transfers_; }
    /// Writes that a rank has not got before it left: the next flush or release throws PeerLeftError with them.
    [[nodiscard]] LostWrites& lost_writes() noexcept { return lost_; }
    /// The window is about to go, and all its operations are complete.
    void detach_transfers();
    /// The window's memory is gone: what is not complete never will be, and says so.
    void lose_transfers() noexcept;
    /// Null: not cached, or not any more. The caller keeps the cache.
    void use_cache(RemoteCache* cache) noexcept { cache_ = cache; }
    [[nodiscard]] RemoteCache* cache() const noexcept { return cache_; }

    /// The copies that are notified of this rank's writes to other ranks' parts, and of its acquires. Whoever writes
    /// tells it here.
    [[nodiscard]] CopyRegistry& copies() noexcept { return copies_; }

private:
    /// What all accesses begin with; gathered adds wait for nothing else before they are sent.
    void enter(const transport::Access& access) {
        facts_.state.check_reachable(access.call, access.target);
        if (!access.continues && access.starter != transport::Access::Starter::cache && !chunked_transfers_.empty())
            [[unlikely]]
            chunked_transfers_.before(access.target, access.offset, access.bytes, access.writes());
        // Every part of a write comes here: lines may have been read since the last one.
        if (!access.continues || access.writes()) cache_before(access);
    }
    /// What the program itself starts comes after its cached writes, and cached bytes must not hide it later.
    void cache_before(const transport::Access& access) {
        if (cache_ == nullptr || access.past_cache || access.starter == transport::Access::Starter::cache ||
            access.bytes == 0 || facts_.map.base(access.target) != nullptr)
            return;
        if (access.kind != transport::Access::Kind::write)
            cache_->before_read(access.target, access.offset, access.bytes);
        if (access.kind != transport::Access::Kind::read)
            cache_->before_write(access.target, access.offset, access.bytes);
    }
    void complete_before(const transport::Access& access);
    /// What an access to `target` has been found to conflict with.
    void complete_conflicting(int target);
    /// The same of what transports have started: the rest of chunked transfers conflicts with nothing that is, and may
    /// ask for this.
    void complete_started(int target);
    void complete_started();
    /// Completes the adds on their way to all ranks that have not left.
    void complete_sent_adds();
    // AddSender
    [[nodiscard]] AddSender::Limits add_limits() const override;
    void send_adds(int target, transport::AddKind kind, std::uint64_t begin, std::uint64_t end,
                   std::span<const messages::AddPayload> adds) override;
    [[nodiscard]] bool has_left(int target) override { return facts_.state.membership().has_left(target); }
    /// Steps of a flush or release, all of which are tried: what one cannot complete keeps nothing back in the others.
    /// Then what has been lost is reported, which says more than a step that fails because a rank left.
    template <class... Steps>
    void with_lost(const char* call, Steps&&... steps);
    void throw_if_lost(const char* call);
    void release_all(const char* call);

    transport::WindowFacts& facts_;
    transport::AccessLedger& ledger_;
    transport::RmaTransport& rma_;
    transport::MessageTransport& messages_;
    ChunkedTransfers chunked_transfers_;
    GatheredAdds adds_{*this};
    LostWrites lost_;
    RemoteCache* cache_ = nullptr;
    CopyRegistry copies_;
};

} // namespace lapwing::detail::window
