#pragma once

#include "src/mpi/atomics.hpp"
#include "src/transport/access_ledger.hpp"
#include "src/transport/transports.hpp"
#include "window/chunked_transfer.hpp"
#include "window/copy_registry.hpp"
#include "window/gathered_adds.hpp"
#include "window/held_back.hpp"
#include "window/lost_writes.hpp"
#include "window/remote_cache.hpp"

#include <lapwing/rank.hpp>

#include <cstdint>
#include <span>

namespace lapwing::detail::window {

/// The order of a window's operations on ranks that are not reached by load and store: each rank sees its own accesses
/// to the same bytes in program order, whatever carries them, and a release completes them all. Every operation passes
/// begin(), the only place that knows everything that may be under way: chunked transfers, cached bytes, aggregated
/// adds, and what transports have started.
class AccessOrder final : private transport::AccessGate, private AddSender {
public:
    AccessOrder(transport::AccessLedger& ledger, transport::Transports& transports, CopiesObserver& observer) noexcept
        : facts_{ledger.facts()}, ledger_{ledger}, transports_{transports}, copies_{facts_, observer} {}
    AccessOrder(const AccessOrder&) = delete;
    AccessOrder& operator=(const AccessOrder&) = delete;

    /// Throws if the target has left. Completes what is under way there if the access conflicts with it, or everything
    /// if too much is under way to tell.
    [[nodiscard]] transport::BegunAccess begin(const transport::Access& access) {
        enter(access);
        cache_before(access);
        complete_before(access);
        return begun(access);
    }
    /// The same for values in a range, at these offsets: the cache loses no more than these.
    [[nodiscard]] transport::BegunAccess begin(const transport::Access& whole,
                                               std::span<const mpi::ListedAtomic> values, std::uint64_t value_bytes);
    /// The same for what the cache starts, with its mutex held. It must not wait for chunked transfers: a thread that
    /// moves those on holds their lock, and may need the cache. It need not wait: plans on cached windows are carried
    /// out at once; the only chunked transfers beside a cache are gets past it (pipeline::start_past_cache), whose
    /// bytes nobody writes before they are complete; those in the gaps of sieved ones are dropped.
    [[nodiscard]] transport::BegunAccess begin_for_cache(const transport::Access& access) {
        facts_.state.check_reachable(access.call, access.target);
        complete_before(access);
        return begun_for_cache(access);
    }

    /// An atomic without a result, which is sent together with others.
    void add(const transport::Access& access, transport::AddKind kind, const void* operand);

    /// Completes what is under way to `target`, or everything; the cache and the aggregated adds then hold back nothing
    /// of it.
    void complete(Rank target);
    void complete();
    /// Before one more of a group of accesses that do not conflict with each other, and that have begun.
    void make_room() {
        if (ledger_.full()) complete_started();
    }
    // What Window's calls of these names do.
    void flush(Rank target);
    void flush();
    void release();
    void acquire();
    // The steps of a team's release and acquire: see EpochMember.
    [[nodiscard]] bool holds_back() const noexcept { return cache_ != nullptr || !adds_.empty(); }
    void start_release();
    [[nodiscard]] bool under_way() const noexcept {
        return !ledger_.empty() || ledger_.messages_under_way() || !chunked_transfers_.empty() || adds_.any_lost() ||
               lost_.any() || held_.failed();
    }
    void finish_release();
    [[nodiscard]] bool has_copies() const noexcept { return cache_ != nullptr || !copies_.empty(); }
    void drop_copies();

    [[nodiscard]] ChunkedTransfers& chunked_transfers() noexcept { return chunked_transfers_; }
    [[nodiscard]] HeldBack& held_back() noexcept { return held_; }
    /// Writes that had not been delivered to a rank before it left: the next flush or release throws PeerLeftError with
    /// them.
    [[nodiscard]] LostWrites& lost_writes() noexcept { return lost_; }
    /// The window is about to be freed, and all its operations are complete.
    void detach_transfers();
    /// The window's memory is gone: operations that are not complete never will be, and report that.
    void lose_transfers() noexcept;
    /// Null: not cached, or not any more. The caller keeps the cache.
    void use_cache(RemoteCache* cache);
    [[nodiscard]] RemoteCache* cache() const noexcept { return cache_; }

    /// The copies that are notified of this rank's writes to other ranks' parts, and of its acquires. Code that writes
    /// notifies them through this.
    [[nodiscard]] CopyRegistry& copies() noexcept { return copies_; }

private:
    /// The beginning of all accesses but the cache's; aggregated adds wait for nothing else before they are sent.
    void enter(const transport::Access& access) {
        facts_.state.check_reachable(access.call, access.target);
        if (!access.continues && !chunked_transfers_.empty()) [[unlikely]]
            chunked_transfers_.before(access.target, access.offset, access.bytes, access.writes());
    }
    /// The program's own accesses come after its cached writes, and cached bytes must not hide them later.
    void cache_before(const transport::Access& access) {
        if (cache_ == nullptr || access.bytes == 0 || facts_.map.base(access.target) != nullptr) return;
        // Every part of a write: lines may have been read since the last one.
        if (access.continues && !access.writes()) return;
        if (access.kind != transport::Access::Kind::write)
            cache_->before_read(access.target, access.offset, access.bytes);
        if (access.kind != transport::Access::Kind::read)
            cache_->before_write(access.target, access.offset, access.bytes);
    }
    /// Completes what has been started, and conflicts with it.
    void complete_before(const transport::Access& access) {
        if (access.continues) return;
        if (!adds_.empty()) adds_.before(access.target, access.offset, access.bytes);
        if (!ledger_.empty() || ledger_.has_adds_that_may_be_overtaken()) complete_entered_before(access);
    }
    void complete_entered_before(const transport::Access& access);
    /// Completes what transports have started: the rest of a chunked transfer conflicts with nothing that is under way,
    /// and may ask for this.
    void complete_started(Rank target);
    void complete_started();
    /// Completes the adds on their way to all ranks that have not left.
    void complete_sent_adds();
    // AddSender
    [[nodiscard]] AddSender::Limits add_limits() const override;
    void send_adds(Rank target, transport::AddKind kind, std::uint64_t begin, std::uint64_t end,
                   std::span<const messages::AddPayload> adds) override;
    [[nodiscard]] bool has_left(Rank target) override { return facts_.state.membership().has_left(target); }
    friend class HeldBack;
    /// Steps of a flush or release, all of which are tried: a failure in one does not keep the others from completing.
    /// Then losses are reported, since that says more than a step that fails because a rank left.
    template <class... Steps>
    void with_lost(const char* call, Steps&&... steps);
    void release_all(const char* call);

    transport::WindowFacts& facts_;
    transport::AccessLedger& ledger_;
    transport::Transports& transports_;
    ChunkedTransfers chunked_transfers_;
    GatheredAdds adds_{*this};
    LostWrites lost_;
    RemoteCache* cache_ = nullptr;
    CopyRegistry copies_;
    HeldBack held_{*this}; // the last member: it uses the others
};

} // namespace lapwing::detail::window
