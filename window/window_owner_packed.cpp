// Transfers by messages, whatever the path of the network: the owner's progress thread moves the bytes, and packs or unpacks those of
// owner-packed ones.
#include "window/window_state.hpp"

namespace lapwing::window {

void WindowState::begin_part(int target, const Touched& touched, bool write, const char* call) {
    // Every chunk of a put: lines may have been read since the last one.
    if (write) cache_before_update(target, touched.offset, touched.bytes);
    else if (cache_ != nullptr && touched.first) cache_->before_read(target, touched.offset, touched.bytes);
    if (touched.first) begin_access(target, touched.offset, touched.bytes, write, call);
    else state_.check_reachable(call, target);
}

template <class Try>
Completion WindowState::start_by_messages(int target, const Touched& touched, bool write, std::uint64_t message_bytes,
                                          std::byte* destination, Try&& attempt, const char* call) {
    const bool passed = network_ == Path::rma || message_bytes > state_.engine().inline_limit();
    auto transfer = std::make_unique<ServiceTransfer>(*this, target);
    transfer->operation().destination = destination;
    // Noted in the same step as it is started: a flush by another thread sees both or neither.
    start(
        [&] {
            const support::BiasedMutex::Guard guard{mutex_};
            if (!attempt(transfer->operation())) return false;
            note_message();
            transfers_.push_back(*transfer);
            if (passed && write) outstanding_.add_write(target, touched.offset, touched.bytes, Carrier::messages);
            if (passed && !write) outstanding_.add_read(target, touched.offset, touched.bytes, transfer.get(), Carrier::messages);
            return true;
        },
        call, target);
    nudge_progress(message_bytes);
    return Completion{std::move(transfer)};
}

Completion WindowState::start_put_by_messages(int target, const Touched& touched, std::uint64_t offset,
                                              std::span<const std::byte> source) {
    begin_part(target, touched, true, "Window::put");
    statistics_.add(Counter::service_puts, Counter::service_put_bytes, source.size());
    return start_by_messages(
        target, touched, true, source.size(), nullptr,
        [&](messages::Operation& operation) {
            return state_.engine().try_put(operation, target, number_, offset, source.data(), source.size());
        },
        "Window::put");
}

Completion WindowState::start_get_by_messages(int target, const Touched& touched, std::uint64_t offset,
                                              std::span<std::byte> destination) {
    begin_part(target, touched, false, "Window::get");
    statistics_.add(Counter::service_gets, Counter::service_get_bytes, destination.size());
    return start_by_messages(
        target, touched, false, destination.size(), destination.data(),
        [&](messages::Operation& operation) { return state_.engine().try_get(operation, target, number_, offset, destination.size(), false); },
        "Window::get");
}

Completion WindowState::start_scatter(int target, const Touched& touched, std::span<const std::byte> message,
                                      std::uint64_t table_bytes) {
    begin_part(target, touched, true, "Window::put");
    statistics_.add(Counter::service_puts, Counter::service_put_bytes, message.size() - table_bytes);
    return start_by_messages(
        target, touched, true, message.size(), nullptr,
        [&](messages::Operation& operation) { return state_.engine().try_scatter(operation, target, number_, message, table_bytes); },
        "Window::put");
}

Completion WindowState::start_gather(int target, const Touched& touched, std::span<const std::byte> table,
                                     std::span<std::byte> destination) {
    begin_part(target, touched, false, "Window::get");
    statistics_.add(Counter::service_gets, Counter::service_get_bytes, destination.size());
    return start_by_messages(
        target, touched, false, destination.size(), destination.data(),
        [&](messages::Operation& operation) { return state_.engine().try_gather(operation, target, number_, table, destination.size()); },
        "Window::get");
}

} // namespace lapwing::window
