"""Signals while a rank waits for another that does not come: their handlers run, what they raise ends the wait, and the other rank is told."""

import os
import signal
import threading
import time

# Before there are other threads, which would take the signal.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
import lapwing  # noqa: E402

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may start with Ctrl-C ignored
OTHER = lapwing.rank() ^ 1
PIDS = lapwing.runtime().all_gather(os.getpid()).reshape(-1).tolist()


class Alarm(Exception):
    pass


def on_alarm(number, frame):
    raise Alarm("the alarm rings")


heard = []
signal.signal(signal.SIGALRM, on_alarm)
signal.signal(signal.SIGUSR2, lambda number, frame: heard.append(number))


def waits():
    """Names, and what rank 1 waits in, with a runtime, a window and a lock, which rank 0 may hold."""
    yield "Team::barrier", lambda rt, window, lock: rt.barrier()
    yield "Team::all_reduce", lambda rt, window, lock: rt.sum(1.5)
    yield "Window::wait_notified", lambda rt, window, lock: window.wait_notified()
    yield "Lock::lock", lambda rt, window, lock: lock.acquire()


def interrupted(name, wait, number, expected):
    """Rank 1 waits, and gets a signal; rank 0 sleeps until rank 1 has had its exception."""
    rt = lapwing.Runtime()
    window, lock = lapwing.Window(64, runtime=rt), lapwing.Lock(runtime=rt)
    if rt.rank == 0 and name == "Lock::lock":
        lock.acquire()
    rt.barrier()
    if rt.rank == 0:
        signal.sigwait({signal.SIGUSR1})
        try:
            rt.barrier()  # rank 1 may have come to this one before it was interrupted
            rt.barrier()
        except lapwing.PeerLeftError as error:
            assert "ended a wait" in str(error), error
        else:
            raise AssertionError("the barrier ended without rank 1")
    else:
        sent = []
        # The first has a handler that returns: the wait goes on.
        for at, one in ((0.3, signal.SIGUSR2), (0.6, number)):
            threading.Timer(at, lambda one=one: (sent.append(time.monotonic()), os.kill(os.getpid(), one))).start()
        heard.clear()
        try:
            wait(rt, window, lock)
        except expected as error:
            took = time.monotonic() - sent[1]
            cause = error.__cause__
        os.kill(PIDS[OTHER], signal.SIGUSR1)
        assert took < 2 and heard == [signal.SIGUSR2], (took, heard)
        assert isinstance(cause, lapwing.InterruptedError) and cause.code == "LAPWING_ERR_INTERRUPTED" and name in str(cause), cause
        try:
            rt.barrier()
        except lapwing.Error as error:
            assert "wait hook" in str(error), error
        else:
            raise AssertionError("a runtime whose wait was interrupted goes on")
    rt.leave()


cases = [(name, wait, signal.SIGINT, KeyboardInterrupt) for name, wait in waits()]
name, wait = next(waits())
for case in [*cases, (name, wait, signal.SIGALRM, Alarm)]:
    interrupted(*case)
print(f"rank {lapwing.rank()}: {len(cases) + 1} waits ended")
lapwing.barrier()
