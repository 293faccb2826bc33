#include "cache/operations_under_way.hpp"

#include <cstddef>
#include <exception>

namespace lapwing::cache {
namespace {

constexpr std::size_t most_operations = 128;

} // namespace

OperationsUnderWay::OperationsUnderWay(Backend& backend, CachedPages& pages)
    : backend_{backend}, pages_{pages}, operations_(most_operations) {}

void OperationsUnderWay::begin(Backend::Token token, Frame first, Frame count, bool put) {
    if (token == Backend::complete) return;
    // The oldest makes room.
    const std::uint32_t index = next_;
    next_ = (next_ + 1) % static_cast<std::uint32_t>(most_operations);
    Operation& operation = operations_[index];
    try {
        if (operation.count != 0) finish(index);
    } catch (...) {
        backend_.wait(token); // the frames must not be reused before
        throw;
    }
    operation = {token, first, count, put};
    for (Frame frame = first; frame < first + count; ++frame) pages_[frame].operation = index;
}

void OperationsUnderWay::finish(std::uint32_t index) {
    Operation& operation = operations_[index];
    const Operation done = operation;
    operation.count = 0;
    for (Frame frame = done.first; frame < done.first + done.count; ++frame) pages_[frame].operation = no_operation;
    if (done.token == Backend::complete) return;
    try {
        backend_.wait(done.token);
    } catch (...) {
        for (Frame frame = done.first; frame < done.first + done.count; ++frame) pages_.lose(frame);
        throw;
    }
}

bool OperationsUnderWay::uses(const Page& page) {
    if (page.operation == no_operation) return false;
    Operation& operation = operations_[page.operation];
    if (operation.token != Backend::complete && !backend_.test(operation.token)) return true;
    operation.token = Backend::complete;
    return false;
}

template <class Wanted>
void OperationsUnderWay::finish_if(Wanted&& wanted) {
    // All of them, whatever becomes of the first: each uses the frames until it has been waited for.
    std::exception_ptr problem;
    for (std::uint32_t index = 0; index < operations_.size(); ++index) {
        if (operations_[index].count == 0 || !wanted(operations_[index])) continue;
        try {
            finish(index);
        } catch (...) {
            if (problem == nullptr) problem = std::current_exception();
        }
    }
    if (problem != nullptr) std::rethrow_exception(problem);
}

void OperationsUnderWay::finish_all() {
    finish_if([](const Operation&) { return true; });
}

void OperationsUnderWay::finish_puts() {
    finish_if([](const Operation& operation) { return operation.put; });
}

void OperationsUnderWay::abandon() noexcept {
    for (Operation& operation : operations_) operation = {};
}

std::uint64_t OperationsUnderWay::memory_bytes() noexcept {
    return most_operations * sizeof(Operation);
}

} // namespace lapwing::cache
