#include <lapwing/completion.hpp>

#include "src/transport/pending_transfer.hpp"

#include <utility>

namespace lapwing {

Completion::Completion() noexcept = default;
Completion::Completion(std::unique_ptr<detail::transport::PendingTransfer> pending) noexcept
    : pending_{std::move(pending)} {}
Completion::Completion(Completion&&) noexcept = default;

Completion& Completion::operator=(Completion&& other) noexcept(false) {
    if (this != &other) {
        wait();
        pending_ = std::move(other.pending_);
    }
    return *this;
}

Completion::~Completion() {
    try {
        wait();
    } catch (...) { // a destructor has nobody to tell; wait() does
    }
}

bool Completion::test() {
    if (pending_ == nullptr) return true;
    auto pending = std::move(pending_); // not asked again if it throws
    if (pending->test()) return true;
    pending_ = std::move(pending);
    return false;
}

void Completion::wait() {
    if (pending_ == nullptr) return;
    const auto pending = std::move(pending_); // not waited for again if it throws
    pending->wait();
}

} // namespace lapwing
