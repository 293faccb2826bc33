#include "window/near_bindings.hpp"

#include "window/window_state.hpp"

#include <lapwing/window.hpp>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace lapwing::detail::window {

NearBinding::NearBinding(NearBinding&& other) noexcept { *this = std::move(other); }

NearBinding& NearBinding::operator=(NearBinding&& other) noexcept {
    if (this == &other) return *this;
    if (list_ != nullptr) list_->remove(*this);
    bind_ = other.bind_;
    if (other.list_ != nullptr) other.list_->replace(other, *this);
    return *this;
}

NearBinding::~NearBinding() {
    if (list_ != nullptr) list_->remove(*this);
}

void NearBinding::attach(const Window& window, Bind bind) {
    if (list_ != nullptr) list_->remove(*this);
    bind_ = bind;
    window.state().order().copies().near_bindings().add(*this);
}

bool NearBinding::reaches_node() const noexcept { return list_ == nullptr || !list_->node_is_copied(); }

transport::MemoryMap NearBinding::near_map() const noexcept {
    if (list_ == nullptr) return {};
    transport::MemoryMap map = list_->map_;
    if (reaches_node() || map.node_index != nullptr) return map;
    map.bases += map.own_rank - map.node_first;
    map.node_first = map.own_rank;
    map.node_count = 1;
    return map;
}

void NearBindings::add(NearBinding& object) {
    const std::lock_guard lock{mutex_};
    objects_.push_back(&object);
    object.list_ = this;
}

void NearBindings::remove(NearBinding& object) noexcept {
    const std::lock_guard lock{mutex_};
    std::erase(objects_, &object);
    object.list_ = nullptr;
}

void NearBindings::replace(NearBinding& before, NearBinding& after) noexcept {
    const std::lock_guard lock{mutex_};
    std::ranges::replace(objects_, &before, &after);
    after.list_ = std::exchange(before.list_, nullptr);
}

void NearBindings::end() noexcept {
    const std::lock_guard lock{mutex_};
    for (NearBinding* const object : objects_) object->list_ = nullptr;
    objects_.clear();
}

void NearBindings::change(int by) noexcept {
    const std::lock_guard lock{mutex_};
    const int before = copies_.load(std::memory_order_relaxed);
    copies_.store(before + by, std::memory_order_relaxed);
    if ((before == 0) == (before + by == 0)) return;
    for (NearBinding* const object : objects_) object->bind_(*object);
}

} // namespace lapwing::detail::window
