// Room: team
#pragma once

#include <lapwing/error.hpp>

#include <functional>

namespace lapwing {

/// The program's wait hook ended a wait: see set_wait_hook().
class InterruptedError : public Error {
public:
    using Error::Error;
};

/// From now on every thread that waits in a call of Lapwing asks `hook()`, first after 0.2 s and then about every
/// 0.1 s, whether to end the wait: so that a program whose signal handlers cannot end it, as an interpreter's, reacts
/// to a signal. An empty function: none, the default. If the hook returns true, the call throws InterruptedError. What
/// it waited for is not done then, and cannot be taken back, so this rank cannot use the team any more: its later calls
/// that wait throw Error, and other ranks that wait for it get PeerLeftError. The program should end. The hook must not
/// throw, nor call Lapwing. Waits inside MPI (flushes of the path rma, files, the creation and the end of a team) do
/// not ask. Local; must not be called while other threads are in calls of Lapwing.
void set_wait_hook(std::function<bool()> hook);

} // namespace lapwing
