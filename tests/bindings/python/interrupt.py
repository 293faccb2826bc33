"""Signals while a rank waits for another that does not come: their handlers run, what they raise ends the wait, and the other rank is told."""

import os
import signal
import threading
import time
import types

# Before there are other threads, which would take the signal.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
import lapwing  # noqa: E402
from lapwing import _errors  # noqa: E402

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may start with Ctrl-C ignored
OTHER = lapwing.rank() ^ 1
PIDS = lapwing.runtime().all_gather(os.getpid()).reshape(-1).tolist()


class Alarm(Exception):
    pass


def on_alarm(number, frame):
    raise Alarm("the alarm rings") from KeyError("a cause of its own")


heard = []


def on_other(number, frame):
    """It returns, so that the wait goes on; the call that waits may hold what another call would need."""
    try:
        lapwing.barrier()
    except lapwing.UsageError as error:
        heard.append("must not call Lapwing" in str(error))


signal.signal(signal.SIGALRM, on_alarm)
signal.signal(signal.SIGUSR2, on_other)


def waits():
    """Names, and what rank 1 waits in, with objects of a runtime. Rank 0 may hold the lock."""
    yield "Team::barrier", lambda its: its.rt.barrier()
    yield "Team::all_reduce", lambda its: its.rt.sum(1.5)
    yield "Window::wait_notified", lambda its: its.window.wait_notified()
    yield "Lock::lock", lambda its: its.lock.acquire()
    yield "Completion::wait", dropped
    yield "Team::barrier", pressed_again


def dropped(its):
    """Rank 0 serves nobody. What ended the wait of a destructor is raised by the next call."""
    unserved = its.window.path(0) == "service"
    transfer = its.window.start_get(0, 0, 1 << 20, dtype="u1")
    del transfer
    try:
        its.rt.barrier()
    except KeyboardInterrupt as error:
        if not unserved:
            error.__cause__.args = (f"{error.__cause__}, not in Completion::wait",)
        raise


def pressed_again(its):
    """Another Ctrl-C before what the first raised is kept."""

    def keep(error):
        raise KeyboardInterrupt

    kept, _errors.keep_interruption = _errors.keep_interruption, keep
    try:
        its.rt.barrier()
    finally:
        _errors.keep_interruption = kept


def interrupted(name, wait, number, expected):
    """Rank 1 waits, and gets a signal; rank 0 sleeps until rank 1 has had its exception."""
    rt = lapwing.Runtime(LAPWING_PROGRESS="caller") if wait is dropped else lapwing.Runtime()
    window, lock = lapwing.Window(1 << 20, runtime=rt), lapwing.Lock(runtime=rt)
    its = types.SimpleNamespace(rt=rt, window=window, lock=lock)
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
        heard.clear()
        try:
            for after, one in ((1, signal.SIGUSR2), (2, number)):
                threading.Timer(after, lambda one=one: (sent.append(time.monotonic()), os.kill(os.getpid(), one))).start()
            wait(its)
        except expected as error:
            took = time.monotonic() - sent[1]
            cause = error.__cause__
        os.kill(PIDS[OTHER], signal.SIGUSR1)
        assert took < 20 and heard == [True], (took, heard)
        if expected is Alarm:
            assert isinstance(cause, KeyError), cause
        else:
            assert isinstance(cause, lapwing.InterruptedError) and cause.code == "LAPWING_ERR_INTERRUPTED" and name in str(cause), cause
        try:
            rt.barrier()
        except lapwing.InterruptedError as error:
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
