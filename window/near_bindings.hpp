#pragma once

#include "src/support/mutex.hpp"

#include <lapwing/detail/memory_map.hpp>
#include <lapwing/detail/near_binding.hpp>

#include <atomic>
#include <cstddef>
#include <vector>

namespace lapwing::detail::window {

/// The objects that store to the parts of a window's node by themselves, and how many holders of copies have copies of
/// those parts: see NearBinding. Any thread may call it; while objects bind themselves again no other thread may use
/// them.
class NearBindings {
public:
    explicit NearBindings(const transport::MemoryMap& map) noexcept : map_{map} {}
    NearBindings(const NearBindings&) = delete;
    NearBindings& operator=(const NearBindings&) = delete;
    ~NearBindings() { end(); }

    /// A holder of copies has its first of a part of another rank of the node, or has none any more.
    void add_copies() noexcept { change(1); }
    void remove_copies() noexcept { change(-1); }
    /// Whether some holder has any.
    [[nodiscard]] bool node_is_copied() const noexcept { return copies_.load(std::memory_order_relaxed) != 0; }

    void add(NearBinding& object);
    void remove(NearBinding& object) noexcept;
    /// An object was moved.
    void replace(NearBinding& before, NearBinding& after) noexcept;
    /// The window closes: no object is told anything any more.
    void end() noexcept;

private:
    friend NearBinding;
    void change(int by) noexcept;

    const transport::MemoryMap& map_;
    support::Mutex mutex_{support::LockRank::leaf};
    std::vector<NearBinding*> objects_;
    std::atomic<int> copies_{0}; ///< holders of copies; written with the mutex held
};

} // namespace lapwing::detail::window
