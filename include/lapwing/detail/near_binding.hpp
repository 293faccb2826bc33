// Room: window
#pragma once

#include <lapwing/detail/memory_map.hpp>

namespace lapwing {
class Window;
} // namespace lapwing

namespace lapwing::detail::window {

class NearBindings;

/// For an object that stores to the parts of its node's ranks without a call of their window, as arrays store elements:
/// the window cannot notify copies of these parts (window/coherent_copies.hpp) of such stores. So while there are any,
/// the object must leave the parts of the node's other ranks to the window. It is told when the first copies of them
/// come and when the last have gone, and then binds itself again to what near_map() says.
///
/// The registration goes along when the object is moved. It ends with the object, or with the window's close.
class NearBinding {
public:
    /// Binds the object again. Called by the thread that adds or removes copies, while it holds a mutex: takes no mutex
    /// of the library, and neither attaches nor ends a binding.
    using Bind = void (*)(NearBinding& object) noexcept;

    NearBinding() noexcept = default;
    NearBinding(NearBinding&& other) noexcept;
    NearBinding& operator=(NearBinding&& other) noexcept;
    ~NearBinding();

    /// From now on the object belongs to this window, and to no other. It binds itself the first time.
    void attach(const Window& window, Bind bind);

    /// Whether the object may store to the parts of the node's other ranks by itself.
    [[nodiscard]] bool reaches_node() const noexcept;
    /// The memory that it may load and store by itself: the window's map, or, if the node's ranks are consecutive and
    /// may not all be reached, the same as if the node were this rank. None before attach() and after the window's
    /// close.
    [[nodiscard]] transport::MemoryMap near_map() const noexcept;

private:
    friend NearBindings;

    NearBindings* list_ = nullptr; ///< of the window; null: there is none, or it was closed
    Bind bind_ = nullptr;
};

} // namespace lapwing::detail::window
