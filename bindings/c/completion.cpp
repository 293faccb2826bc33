#include "bindings/c/completion.hpp"

#include "bindings/c/call.hpp"

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

extern "C" {

int lapwing_completion_test(lapwing_completion** completion, int* complete) {
    return guarded("lapwing_completion_test", [&] {
        require_pointer(completion, "completion");
        require_pointer(complete, "complete");
        *complete = 1;
        if (*completion == nullptr) return;
        lapwing::Completion& transfer = use(*completion).transfer;
        try {
            *complete = transfer.test() ? 1 : 0;
        } catch (...) {
            end_handle(completion);
            throw;
        }
        if (*complete != 0) end_handle(completion);
    });
}

int lapwing_completion_wait(lapwing_completion** completion) {
    return guarded("lapwing_completion_wait", [&] {
        require_pointer(completion, "completion");
        if (*completion == nullptr) return;
        lapwing::Completion transfer = std::move(use(*completion).transfer);
        end_handle(completion);
        transfer.wait();
    });
}

} // extern "C"
