// Which rooms do what windows leave to rooms above them: the one place that knows them all.
#include "cache/cache_factory.hpp"
#include "pipeline/layout_transfers.hpp"
#include "window/upper_rooms.hpp"

namespace lapwing::window {

const UpperRooms& upper_rooms() noexcept {
    static const UpperRooms rooms{.caches = cache::cache_factory(), .layouts = pipeline::layout_transfers()};
    return rooms;
}

} // namespace lapwing::window
