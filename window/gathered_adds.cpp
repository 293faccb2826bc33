#include "window/gathered_adds.hpp"

#include "window/atomics.hpp"
#include "window/window_state.hpp"

#include <algorithm>
#include <cstring>

namespace lapwing::window {

void GatheredAdds::add(int target, std::uint64_t offset, AtomicType type, const void* operand) {
    const support::BiasedMutex::Guard guard{mutex_};
    const std::size_t most = window_.largest_add_message();
    if (places_.empty()) {
        places_.resize(places);
        for (Place& place : places_) place.adds.reserve(most);
    }
    Place& place = places_[static_cast<std::size_t>(target) % places];
    if (place.target != target || place.type != type) {
        send(place);
        place.target = target;
        place.type = type;
    }
    const std::uint64_t end = offset + size_of(type);
    if (place.adds.empty()) {
        place.begin = offset;
        place.end = end;
        waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    place.begin = std::min(place.begin, offset);
    place.end = std::max(place.end, end);
    AddPayload added{.offset = offset};
    std::memcpy(&added.operand, operand, size_of(type));
    place.adds.push_back(added);
    if (place.adds.size() >= most) send(place);
}

void GatheredAdds::before(int target, std::uint64_t offset, std::uint64_t bytes) {
    const support::BiasedMutex::Guard guard{mutex_};
    if (places_.empty()) return;
    Place& place = places_[static_cast<std::size_t>(target) % places];
    if (place.target == target && offset < place.end && place.begin < offset + bytes) send(place);
}

void GatheredAdds::send() {
    const support::BiasedMutex::Guard guard{mutex_};
    for (Place& place : places_) send(place);
}

void GatheredAdds::send(int target) {
    const support::BiasedMutex::Guard guard{mutex_};
    if (places_.empty()) return;
    Place& place = places_[static_cast<std::size_t>(target) % places];
    if (place.target == target) send(place);
}

void GatheredAdds::send(Place& place) {
    if (place.adds.empty()) return;
    const auto gone = [&] {
        place.adds.clear();
        waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    };
    try {
        window_.send_adds(place.target, place.type, place.begin, place.end, place.adds);
    } catch (...) { // their rank has left: no later attempt could send them either
        gone();
        throw;
    }
    gone();
}

} // namespace lapwing::window
