#pragma once

#include <csignal>

#include <pthread.h>

namespace lapwing::detail::support {

/// While it exists, threads that are started begin without the process's signals: the program's handlers are for its
/// own threads. What a fault of the thread itself raises still comes to it.
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
