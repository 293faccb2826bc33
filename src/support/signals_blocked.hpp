#pragma once

#include <csignal>

#include <pthread.h>

namespace lapwing::detail::support {

/// While it exists, new threads start with the process's signals blocked: the program's handlers are for its own
/// threads. Signals raised by a fault of the thread itself are still delivered.
class SignalsBlocked {
public:
    SignalsBlocked() noexcept {
        sigset_t signals;
        sigfillset(&signals);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&signals, fault);
        pthread_sigmask(SIG_SETMASK, &signals, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

} // namespace lapwing::detail::support
