// Room: slices
#pragma once

#include <lapwing/rank.hpp>

#include <cstdint>
#include <memory>

namespace lapwing {

class Team;

namespace detail::slices {
class SliceBase;
struct ArrayGeometry;
} // namespace detail::slices

/// The order of a team's ranks in which most of an array's elements stay where they are under another distribution:
/// made by GlobalArray::relabelling().
///
/// ```cpp
/// lapwing::Relabelling order = a.relabelling(lapwing::Block{{4, 1}});     // a is in blocks of columns
/// if (order.bytes_moved() < order.bytes_moved_unordered() / 2)
///     a.redistribute(lapwing::Block{{4, 1}}, order);                      // a's ranks are now those of order.team()
/// ```
///
/// This is a linear assignment problem: rank r may take place p of the new distribution, and keeps the elements that it
/// already has there (Kabić et al., "COSTA: Communication-Optimal Shuffle and Transpose Algorithm with Process
/// Relabeling", 2021). The best order is found if the tables of all ranks together fit into 1 MiB (up to 256 ranks with
/// any distributions); beyond that, the best order in which each rank gets one of its candidates: the 16 places, or
/// more, of which it already holds the most.
class Relabelling {
public:
    /// For GlobalArray::relabelling().
    Relabelling(const detail::slices::SliceBase& array, const detail::slices::ArrayGeometry& wanted);
    Relabelling(Relabelling&&) noexcept;
    Relabelling& operator=(Relabelling&&) noexcept;
    /// As close().
    ~Relabelling();

    /// The calling rank's number in the new order.
    [[nodiscard]] Rank rank() const noexcept { return rank_; }
    /// Whether any rank has another number than before.
    [[nodiscard]] bool changes() const noexcept { return changes_; }
    /// Bytes that all ranks together get from others, in the new order and in that of the array's team; and the bytes
    /// of the array.
    [[nodiscard]] std::uint64_t bytes_moved() const noexcept { return moved_; }
    [[nodiscard]] std::uint64_t bytes_moved_unordered() const noexcept { return moved_unordered_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    /// A team of the same ranks in the new order, with the settings of the array's. The first call makes it, and is
    /// collective. The barriers, releases, acquires, fences and locks of this team and of the array's order the windows
    /// of both. Arrays that were redistributed with this order keep it open; everything else made on it must be closed
    /// before this object is. Throws UsageError after close() and once the array's team is closed, and what the
    /// constructor of Team throws.
    [[nodiscard]] Team& team() { return *shared_team(); }
    /// The same for arrays.
    [[nodiscard]] const std::shared_ptr<Team>& shared_team();
    /// Collective if the team was made; closes it unless an array keeps it.
    void close();

private:
    Team* of_array_;
    std::weak_ptr<const void> team_open_; ///< expires with the array's team
    std::shared_ptr<Team> team_;
    Rank rank_;
    bool changes_ = false;
    bool closed_ = false;
    std::uint64_t moved_ = 0;
    std::uint64_t moved_unordered_ = 0;
    std::uint64_t bytes_ = 0;
};

} // namespace lapwing
