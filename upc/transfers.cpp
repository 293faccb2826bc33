#include "upc/transfers.hpp"

#include "upc/program.hpp"
#include "window/window_state.hpp"

#include <memory>
#include <utility>

namespace lapwing::upc {

Completion Transfers::start_get(const char* call, void* destination, const lapwing_upc_pointer& source,
                                std::size_t bytes) {
    if (bytes == 0) return {};
    program_.require_within(call, source, bytes);
    program_.require_private(call, destination, bytes);
    return program_.memory().noted(source, bytes, false, [&] {
        return program_.heap().start_get(rank_of(source), offset_of(source),
                                         {static_cast<std::byte*>(destination), bytes});
    });
}

Completion Transfers::start_put(const char* call, const lapwing_upc_pointer& destination, const void* source,
                                std::size_t bytes) {
    if (bytes == 0) return {};
    program_.require_within(call, destination, bytes);
    program_.require_private(call, source, bytes);
    return program_.memory().noted(destination, bytes, true, [&] {
        return program_.heap().start_put(rank_of(destination), offset_of(destination),
                                         {static_cast<const std::byte*>(source), bytes});
    });
}

Completion Transfers::start_copy(const char* call, const lapwing_upc_pointer& destination,
                                 const lapwing_upc_pointer& source, std::size_t bytes) {
    if (bytes == 0) return {};
    program_.require_within(call, destination, bytes);
    program_.require_within(call, source, bytes);
    if (const std::byte* const from = program_.reachable(source)) return start_put(call, destination, from, bytes);
    std::byte* const to = program_.reachable(destination);
    if (to != nullptr && !program_.heap().state().order().copies().concerns(rank_of(destination)))
        return start_get(call, to, source, bytes);
    program_.memory().copy(call, destination, source, bytes);
    return {};
}

lapwing_upc_handle Transfers::handle_of(Completion completion) {
    if (completion.known_complete()) return LAPWING_UPC_COMPLETE_HANDLE;
    return new lapwing_upc_transfer{std::move(completion)};
}

void Transfers::sync(lapwing_upc_handle handle) {
    if (handle == LAPWING_UPC_COMPLETE_HANDLE) return;
    const std::unique_ptr<lapwing_upc_transfer> transfer{handle};
    transfer->completion.wait();
}

bool Transfers::sync_attempt(lapwing_upc_handle handle) {
    if (handle == LAPWING_UPC_COMPLETE_HANDLE) return true;
    if (!handle->completion.test()) return false;
    delete handle;
    return true;
}

void Transfers::add_implicit(Completion completion) {
    if (!completion.known_complete()) implicit_.push_back(std::move(completion));
}

void Transfers::synci() {
    // Taken out first: a failed one is not waited for again.
    std::vector<Completion> transfers = std::exchange(implicit_, {});
    for (Completion& transfer : transfers) transfer.wait();
}

bool Transfers::synci_attempt() {
    std::erase_if(implicit_, [](Completion& transfer) { return transfer.test(); });
    return implicit_.empty();
}

} // namespace lapwing::upc
