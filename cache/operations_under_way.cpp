#include "cache/operations_under_way.hpp"

#include <cstddef>
#include <exception>

namespace lapwing::detail::cache {
namespace {

constexpr std::size_t most_operations = 128;

} // namespace

OperationsUnderWay::OperationsUnderWay(Backend& backend, CachedPages& pages)
    : backend_{backend}, pages_{pages}, operations_(most_operations) {}

std::uint32_t OperationsUnderWay::make_room(Backend::Token token) {
    // The oldest one makes room.
    const std::uint32_t index = next_;
    next_ = (next_ + 1) % static_cast<std::uint32_t>(most_operations);
    try {
        if (operations_[index].count != 0) finish(index, Missing::left_out);
    } catch (...) {
        backend_.wait(token); // the frames must not be reused earlier
        throw;
    }
    return index;
}

template <class Function>
auto OperationsUnderWay::end(const Operation& operation, Missing missing, Function&& function) {
    try {
        return function();
    } catch (...) {
        const Rank rank = pages_[operation.first].rank;
        for_each_frame(operation, [this](Frame frame) { pages_.lose(frame); });
        if (!backend_.has_left(rank)) throw;
        if (operation.put()) backend_.note_lost(rank, operation.put_bytes);
        else if (missing == Missing::refused) throw;
        return decltype(function())();
    }
}

void OperationsUnderWay::finish(std::uint32_t index, Missing missing) {
    Operation& operation = operations_[index];
    const Operation done = operation;
    operation.count = 0;
    for_each_frame(done, [this](Frame frame) { pages_[frame].operation = no_operation; });
    if (done.token == Backend::complete) return;
    end(done, missing, [&] { backend_.wait(done.token); });
}

bool OperationsUnderWay::uses(const Page& page) {
    if (page.operation == no_operation) return false;
    Operation& operation = operations_[page.operation];
    if (operation.token == Backend::complete) return false;
    const Operation tested = operation;
    operation.token = Backend::complete; // unless it is not: the next lines find out
    const bool done = end(tested, Missing::refused, [&] {
        if (backend_.test(tested.token)) return true;
        operation.token = tested.token;
        return false;
    });
    return !done && operation.token != Backend::complete;
}

template <class Wanted>
void OperationsUnderWay::finish_if(Wanted&& wanted) {
    // Waits for all of them, even if the first fails: each uses its frames until it has been waited for.
    std::exception_ptr problem;
    for (std::uint32_t index = 0; index < operations_.size(); ++index) {
        if (operations_[index].count == 0 || !wanted(operations_[index])) continue;
        try {
            finish(index, Missing::left_out);
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
    finish_if([](const Operation& operation) { return operation.put(); });
}

void OperationsUnderWay::abandon() noexcept {
    for (Operation& operation : operations_) operation = {};
}

std::uint64_t OperationsUnderWay::memory_bytes() noexcept { return most_operations * sizeof(Operation); }

} // namespace lapwing::detail::cache
