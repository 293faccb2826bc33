#pragma once

#include <exception>
#include <utility>

namespace lapwing::detail::support {

/// For steps that must all be tried: keeps the first exception until they have been.
class FirstProblem {
public:
    template <class Step>
    void attempt(Step&& step) noexcept {
        try {
            std::forward<Step>(step)();
        } catch (...) {
            if (problem_ == nullptr) problem_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (problem_ != nullptr) std::rethrow_exception(problem_);
    }

private:
    std::exception_ptr problem_;
};

/// Tries all steps, and throws what the first of them threw.
template <class... Steps>
void attempt_all(Steps&&... steps) {
    if constexpr (sizeof...(steps) == 1) { // nothing to keep
        (steps(), ...);
    } else {
        FirstProblem problem;
        (problem.attempt(steps), ...);
        problem.rethrow();
    }
}

} // namespace lapwing::detail::support
