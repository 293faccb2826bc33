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
/// that wait throw InterruptedError, too, and other ranks that wait for it get PeerLeftError. The program should end.
/// Memory of transfers that MPI carries out (Completion, path rma) must stay until MPI_Finalize then. Several threads
/// may be in the hook at once, and mutexes of the call that waits may be held: the hook must not throw, nor call
/// Lapwing, nor wait for a thread that does. Waits inside MPI (flushes of the path rma, files, memory of windows, the
/// creation and the end of a team, an error that ranks agree on) do not ask, nor do waits for another thread and those
/// of Lapwing's own threads. Local; must not be called while other threads are in calls of Lapwing.
void set_wait_hook(std::function<bool()> hook);

} // namespace lapwing
