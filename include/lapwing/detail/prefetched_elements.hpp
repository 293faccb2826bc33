// Room: arrays
#pragma once

#include <lapwing/detail/copy_state.hpp>
#include <lapwing/detail/element_access.hpp>
#include <lapwing/detail/element_table.hpp>
#include <lapwing/detail/needed_domains.hpp>
#include <lapwing/detail/prefetched_indices.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {

/// The tables that views read own elements and copies by. A view keeps the address of its own, so that each stays until
/// the copies go.
template <std::size_t N>
class ViewTables {
public:
    ViewTables() noexcept = default;
    ViewTables(const ViewTables&) = delete;
    ViewTables& operator=(const ViewTables&) = delete;
    ~ViewTables() { delete latest_.load(std::memory_order_relaxed); }

    /// The one for the copies that there are; null before set(). Acquire order: who sees the address sees the table.
    [[nodiscard]] const ElementTable<N>* latest() const noexcept { return latest_.load(std::memory_order_acquire); }
    /// Returns latest(), and whether that is `table`: of several threads that come with one the first wins.
    std::pair<const ElementTable<N>*, bool> set(ElementTable<N> table) {
        auto made = std::make_unique<const ElementTable<N>>(std::move(table));
        const ElementTable<N>* latest = nullptr;
        // Release: see latest().
        if (!latest_.compare_exchange_strong(latest, made.get(), std::memory_order_acq_rel)) return {latest, false};
        return {made.release(), true};
    }
    /// There are more copies. No other thread may read beside.
    void renew() {
        older_.reserve(older_.size() + 1);
        if (const ElementTable<N>* const table = latest_.exchange(nullptr, std::memory_order_relaxed))
            older_.emplace_back(table);
    }

private:
    std::atomic<const ElementTable<N>*> latest_{nullptr};
    std::vector<std::unique_ptr<const ElementTable<N>>> older_;
};

/// What an array has prefetched, as its element accesses see it.
template <std::size_t N>
struct PrefetchedElements {
    explicit PrefetchedElements(prefetching::CopyState& copies) noexcept : state{copies} {}

    prefetching::CopyState& state;
    PrefetchedIndices<N> indices = {};
    bool of_node = false; ///< there are copies of elements that could be loaded
    std::vector<PlacedBox<N>> around =
        {}; ///< the local block with what of its halo is here: boxes that hold nothing else, the largest first
    PlacedBox<N> first = {}; ///< copies that reads look at before all others
    ViewTables<N> tables = {};
};

} // namespace lapwing::detail::arrays
