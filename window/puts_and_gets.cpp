#include "window/puts_and_gets.hpp"

namespace lapwing::detail::window {

void PutsAndGets::get(Rank target, Offset offset, std::span<std::byte> destination) {
    if (destination.empty()) return;
    RemoteCache* const cache = order_.cache();
    if (cache != nullptr && cache->get(target, offset, destination)) return;
    get_past_cache(target, offset, destination);
}

void PutsAndGets::get_past_cache(Rank target, Offset offset, std::span<std::byte> destination) {
    const transport::BegunAccess access =
        order_.begin({target, offset, destination.size(), transport::Access::Kind::read, "Window::get"});
    transports_.route(access).get(access, destination);
}

void PutsAndGets::put(Rank target, Offset offset, std::span<const std::byte> source) {
    if (source.empty()) return;
    RemoteCache* const cache = order_.cache();
    if (cache == nullptr || !cache->put(target, offset, source)) {
        const transport::BegunAccess access =
            order_.begin({target, offset, source.size(), transport::Access::Kind::write, "Window::put"});
        transports_.route(access).put(access, source);
    }
    order_.copies().written(target, offset, source);
}

Completion PutsAndGets::start_get(Rank target, Offset offset, std::span<std::byte> destination) {
    if (destination.empty()) return {};
    const transport::BegunAccess access =
        order_.begin({target, offset, destination.size(), transport::Access::Kind::read, "Window::start_get"});
    return Completion{transports_.route(access).start_get(access, destination)};
}

Completion PutsAndGets::start_put(Rank target, Offset offset, std::span<const std::byte> source) {
    if (source.empty()) return {};
    Completion completion = start_put_part(target, offset, source);
    order_.copies().written(target, offset, source);
    return completion;
}

Completion PutsAndGets::start_put_part(Rank target, Offset offset, std::span<const std::byte> source) {
    const transport::BegunAccess access =
        order_.begin({target, offset, source.size(), transport::Access::Kind::write, "Window::start_put"});
    return Completion{transports_.route(access).start_put(access, source)};
}

} // namespace lapwing::detail::window
