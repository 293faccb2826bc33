#pragma once

#include "cache/backend.hpp"
#include "cache/cached_pages.hpp"
#include "cache/operations_under_way.hpp"

#include <lapwing/statistics.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::cache {

/// Decides when dirty bytes are put, and in which messages. Where a put cannot be started, the bytes stay dirty, unless
/// their rank has left: those are dropped, and noted as lost.
class WriteBehind {
public:
    WriteBehind(Backend& backend, CachedPages& pages, OperationsUnderWay& under_way, support::Statistics& statistics);

    /// Makes room for the dirty pages of the layout.
    void lay_out(const PageCacheLayout& layout) { to_clean_.reserve(layout.dirty_pages); }

    /// Gives a clean page a mask. When none is free, the older half of the dirty pages is put.
    void attach_mask(Frame frame);
    /// Puts the dirty bytes of a page and of those behind it with which they make one run.
    void clean_with_neighbours(Frame frame);
    /// Puts all dirty bytes of the pages that have some in a range.
    void write_back(int rank, std::uint64_t offset, std::uint64_t bytes);
    /// Before the program waits for a read of these bytes. Where it also waits for a release after every few writes,
    /// these are sent before the read: on the service path its answer then says that they have arrived. Not those that
    /// the read meets.
    void write_early(int rank, std::uint64_t offset, std::uint64_t bytes);
    /// Puts all dirty bytes; finish_release() waits for the puts.
    void start_release();
    void finish_release();
    /// Both for those of `rank`.
    void release(int rank);
    /// Puts all dirty bytes while the owner may be writing through the hot-page table. Complete locally on return.
    void write_back_for_another_thread();

    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheLayout& layout) noexcept;

private:
    class Writer;

    void clean_older_half();
    /// Those of the dirty pages that are wanted: `wanted(page)`.
    template <class Wanted>
    void clean_if(Wanted&& wanted);
    /// Puts the dirty bytes of the pages of `to_clean_`, in the order of their numbers or in this one.
    void clean_sorted();
    void clean();
    void put_all();
    /// Drops those of the pages of `to_clean_` whose rank has left. Whether there were any.
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
