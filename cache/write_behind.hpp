#pragma once

#include "cache/backend.hpp"
#include "cache/cached_pages.hpp"
#include "cache/operations_under_way.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/statistics.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::cache {

/// Decides when dirty bytes are put, and in which messages. If a put cannot be started, the bytes stay dirty, unless
/// their rank has left: then they are dropped and recorded as lost.
class WriteBehind {
public:
    WriteBehind(Backend& backend, CachedPages& pages, OperationsUnderWay& under_way, support::Statistics& statistics);

    /// Makes room for the dirty pages of the layout.
    void lay_out(const PageCacheLayout& layout) { to_clean_.reserve(layout.dirty_pages); }

    /// Gives a clean page a mask. If none is free, the older half of the dirty pages is put.
    void attach_mask(Frame frame);
    /// Puts the dirty bytes of a page and of the following pages that continue its run.
    void clean_with_neighbours(Frame frame);
    /// Puts all dirty bytes of the pages that have some in a range.
    void write_back(Rank rank, Offset offset, std::uint64_t bytes);
    /// Called before the program waits for a read of these bytes. If it also waits for a release every few writes,
    /// they are put before the read: on the service path the reply then says that they have arrived. Excludes those
    /// that the read overlaps.
    void write_early(Rank rank, Offset offset, std::uint64_t bytes);
    /// Starts to put all dirty bytes; finish_release() waits for the puts.
    void start_release();
    void finish_release();
    /// Starts and finishes for `rank`.
    void release(Rank rank);
    /// Puts all dirty bytes while the owner may be writing through the page table. Complete locally on return.
    void write_back_for_another_thread();

    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheLayout& layout) noexcept;

private:
    class Writer;

    void clean_older_half();
    /// Collects the dirty pages for which `wanted(page)` is true.
    template <class Wanted>
    void clean_if(Wanted&& wanted);
    /// Puts the dirty bytes of the pages of `to_clean_`, in ascending order or in this order.
    void clean_sorted();
    void clean();
    void put_all();
    /// Drops the pages of `to_clean_` whose rank has left. Returns whether there were any.
    bool drop_lost();
    void detach_mask(Frame frame);

    Backend& backend_;
    CachedPages& pages_;
    OperationsUnderWay& under_way_;
    support::Statistics& statistics_;
    std::uint64_t written_pages_ = 0; ///< since the last release
    bool releases_often_ = false;
    std::vector<Frame> to_clean_;
    std::vector<DirtyRun> runs_; ///< small runs to one rank
};

} // namespace lapwing::detail::cache
