#pragma once

#include "arrays/demand_pages.hpp"
#include "prefetch/entry.hpp"
#include "src/support/access_faults.hpp"
#include "src/support/address_space.hpp"
#include "src/support/mutex.hpp"
#include "window/coherent_copies.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/detail/array_errors.hpp>
#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/range.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lapwing::detail::arrays {

/// Elements in the row-major order of an array, in bytes from its first one.
struct Stretch {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
};

/// A stretch that is here as one stretch of memory: own elements, or those of consecutive ranks of the node.
struct StretchHere {
    Stretch stretch = {};
    std::byte* memory = nullptr;
    int first_rank = 0;
    int last_rank = -1;
};

/// What programs may read of a mapped array (LAPWING_MAPPED).
enum class MappedReads : std::uint8_t {
    named,     ///< pages with elements that have been named
    demand,    ///< all pages: those without named elements are fetched when they are read
    refreshed, ///< the same, from a refresh to the next acquire: to find reads of what is out of date
    all        ///< ordinary memory, from the first to the last named element
};

/// Whether pages of an array are fetched when they are read: where that is `asked` for, if any page is closed, or where
/// LAPWING_MAPPED says so, if it can be. Throws UsageError if it is asked for, and cannot be.
[[nodiscard]] bool is_on_demand(const ArrayTitle& title, const slices::ArrayGeometry& array, bool asked);

/// The memory of a mapped array, and the transfers that fill it.
///
/// Addresses are reserved for all elements, and opened where some have been named. A stretch of memory that is here is
/// mapped once more at its place; where it begins and ends within a page, which others' elements share, it is copied.
class Mapping final : public window::CoherentCopies, public std::enable_shared_from_this<Mapping> {
public:
    /// An array as the program has it.
    struct Shape {
        std::vector<std::int64_t> extents = {};
        std::uint64_t element_bytes = 0;
    };
    /// What a program names of an array.
    struct Named {
        std::vector<Stretch> stretches = {}; ///< may overlap, in any order
        bool exact = true;                   ///< all of that is named
        bool on_demand = false;              ///< what is not named is fetched when it is read
        Shape shape = {};                    ///< if the geometry has rows of smaller elements in place of elements
    };

    /// Throws RangeError if the system gives no addresses, or no memory. `here`: may be empty.
    Mapping(const std::shared_ptr<const slices::ArrayGeometry>& array, ArrayTitle title, Named named,
            const StretchHere& here);
    ~Mapping() override;

    /// Whether the elements of a rank are shown where they are, or copied from there.
    [[nodiscard]] bool shows(int rank) const noexcept { return rank >= here_.first_rank && rank <= here_.last_rank; }
    [[nodiscard]] bool on_demand() const noexcept { return on_demand_; }
    [[nodiscard]] bool is_of(const std::shared_ptr<const slices::ArrayGeometry>& array) const noexcept {
        return array_.lock() == array;
    }
    /// What is copied: layouts of owners' parts, and where each byte goes, from the origin on.
    void add(std::vector<prefetching::Slice> slices);

    [[nodiscard]] std::byte* origin() const noexcept { return origin_; }
    [[nodiscard]] std::uint64_t memory() const noexcept { return memory_; }
    /// Fills everything. Throws UsageError for an array that is not there any more, as it was.
    [[nodiscard]] Completion start_refresh(const char* call);
    /// Sees to it that these elements are on open pages, until the next refresh.
    void pin(const char* call, std::span<const Range> domain);

    // CoherentCopies, for MappedReads::refreshed; what this rank writes comes with the next refresh.
    void acquired() noexcept override;
    void written(Rank, Offset, std::span<const std::byte>) override {}
    void written(Rank, const Layout&, const Layout&, const std::byte*) override {}
    void atomic_sent(Rank, Offset, mpi::AtomicOperation, mpi::AtomicType, const void*, std::uint64_t) override {}
    void invalidated(Rank, Offset, std::uint64_t) override {}
    void window_closes() noexcept override { notified_ = false; }

private:
    class Refresh;
    /// Of a stretch that is here, but shares a page.
    struct Edge {
        std::byte* to = nullptr;
        const std::byte* from = nullptr;
        std::size_t bytes = 0;
    };

    void reserve(std::uint64_t all_bytes, const Stretch& named);
    void start_serving(std::uint64_t all_bytes);
    [[nodiscard]] std::shared_ptr<const slices::ArrayGeometry> open_array(const char* call) const;
    [[nodiscard]] std::vector<Pages> pages_of(const std::vector<Stretch>& named, bool& exact);
    void show_what_is_here();
    /// `exact`: each page has something that is named.
    void open(const char* call, bool exact);
    /// Before and after a refresh, in MappedReads::refreshed.
    void begin_filling();
    void end_filling() noexcept;
    void close_pages() const noexcept;
    [[noreturn]] void refuse(const char* call, const char* what, std::uint64_t bytes) const;
    static std::size_t explain(const void* mapping, const std::byte* address, bool write, char* text,
                               std::size_t size) noexcept;
    static support::WatchedRange::Outcome resolve(void* mapping, std::byte* address) noexcept;

    std::weak_ptr<const slices::ArrayGeometry> array_;
    const ArrayTitle title_;
    const std::string start_; ///< of messages
    window::WindowState& window_;
    const std::weak_ptr<const void> window_life_;
    const Shape shape_;
    const MappedReads reads_;
    support::AddressSpace space_;
    std::byte* origin_ = nullptr;
    std::byte* end_ = nullptr; ///< of the array
    StretchHere here_;
    Pages shown_;              ///< of that
    std::vector<Pages> pages_; ///< of copies, in order
    bool on_demand_;
    std::vector<Stretch> named_; ///< on demand: fetched at each refresh
    std::unique_ptr<DemandPages> demand_;
    std::array<char, 512> failure_{}; ///< of the thread that fetches what is read
    std::vector<Edge> edges_;
    std::vector<prefetching::Entry> entries_; ///< by owner, from the rank after this one on
    std::uint64_t memory_ = 0;
    std::atomic<bool> closed_{false};              ///< by an acquire, or as soon as no refresh is under way
    support::Mutex gate_{support::LockRank::leaf}; ///< held while pages are closed, and opened again
    int filling_ = 0;                              ///< refreshes under way
    bool notified_ = false;
    std::optional<support::WatchedRange> watched_;
};

/// The mapping of an array that nobody uses any more, for the next one of the same elements: a program that maps an
/// array for every step has its pages, and its planned transfers, from the first step on.
class SpareMapping final : public std::enable_shared_from_this<SpareMapping> {
public:
    /// Null if there is none of these ranges of indices; gives back the memory of another one.
    [[nodiscard]] std::shared_ptr<Mapping> take(const std::shared_ptr<const slices::ArrayGeometry>& array,
                                                const std::vector<Range>& ranges, bool on_demand);
    /// A new one, which comes here when nobody uses it any more.
    [[nodiscard]] std::shared_ptr<Mapping> share(std::unique_ptr<Mapping> mapping, std::vector<Range> ranges);
    /// Gives back its memory.
    void drop();

private:
    struct Kept {
        std::unique_ptr<Mapping> mapping;
        std::vector<Range> ranges; ///< that were named, of one domain after another
    };
    [[nodiscard]] std::shared_ptr<Mapping> share(Kept kept);

    support::Mutex mutex_{support::LockRank::leaf};
    Kept kept_;
};

} // namespace lapwing::detail::arrays
