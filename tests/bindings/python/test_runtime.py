"""Runtimes, settings, errors, what ranks do together, and threads."""

import threading

import numpy as np
import pytest

import lapwing


def test_what_there_is(rt):
    assert rt is lapwing.runtime() and (rt.rank, rt.size) == (lapwing.rank(), lapwing.size())
    assert rt.path(rt.rank) == "self" and rt.network_path in ("direct", "rma", "service")
    assert rt.progress_mode in ("thread", "caller") and 1 <= rt.node_size <= rt.size and 1 <= rt.nodes <= rt.size
    assert f"rank {rt.rank} of {rt.size}" in rt.who() and rt.who() in repr(rt) and "\n" in rt.report()
    assert rt.setting("LAPWING_CACHE") and lapwing.mpi in lapwing.mpi_version().lower().replace(" ", "")
    assert lapwing.__version__ == lapwing._library.version and lapwing.__version__.count(".") == 2
    with pytest.raises(lapwing.RangeError):
        rt.path(rt.size)
    with pytest.raises(lapwing.SettingError, match="LAPWING_NONE"):
        rt.setting("LAPWING_NONE")


def test_settings(rt):
    settings = lapwing.Settings(LAPWING_PATH="service")
    assert settings["LAPWING_PATH"] == "service" and settings.origin("LAPWING_PATH") == "program"
    with pytest.raises(lapwing.SettingError):
        settings["LAPWING_PATH"] = "road"
    with pytest.raises(ValueError):
        lapwing.Settings(LAPWING_NONE=3)
    every = lapwing.Settings.all()
    assert "LAPWING_PATH" in every and "service" in every["LAPWING_PATH"]["choices"] and isinstance(every["LAPWING_PATH"]["collective"], bool)
    with lapwing.Runtime(settings=settings) as other:
        assert other.setting("LAPWING_PATH") == "service" and other.size == rt.size
        with lapwing.zeros(3, runtime=other) as a:
            a.fill(1)
            assert a.sum() == 3
        lapwing.use(other)
        assert lapwing.runtime() is other
        lapwing.use(rt)
        left_open = lapwing.zeros(3, runtime=other)
    assert other.closed and left_open.closed
    with pytest.raises(lapwing.UsageError, match="closed"):
        other.barrier()
    with pytest.raises(lapwing.UsageError):
        left_open[0]
    with pytest.raises(TypeError):
        lapwing.Runtime(settings=settings, LAPWING_PATH="rma")
    with pytest.raises(TypeError, match="mpi4py"):
        lapwing.Runtime("world")


def test_barriers(rt):
    rt.barrier()
    lapwing.barrier()
    rt.barrier(7)
    rt.notify()
    rt.wait()
    rt.notify(3)
    rt.wait(3)
    rt.release()
    rt.acquire()
    rt.fence()
    assert rt.progress() in (True, False)
    with pytest.raises(lapwing.UsageError):
        rt.wait()
    if rt.size > 1:
        with pytest.raises(lapwing.MismatchError):
            rt.barrier(rt.rank)


def test_values_of_all_ranks(rt):
    p, last = rt.size, rt.size - 1
    assert rt.sum(rt.rank) == p * last // 2 and rt.min(float(rt.rank)) == 0 and rt.max(rt.rank) == last
    values = np.array([rt.rank, 1.0])
    assert rt.sum(values) is values and values.tolist() == [p * last / 2, p]
    assert rt.sum(np.full(2, 1j)).tolist() == [1j * p] * 2
    assert rt.broadcast(np.full(3, rt.rank), root=last).tolist() == [last] * 3
    assert rt.combine(np.full((2, 2), 2.0), np.multiply).tolist() == [[2.0**p] * 2] * 2
    assert rt.combine(np.full(300_000, rt.rank), np.maximum).min() == last
    before = rt.combine_before(np.array([rt.rank + 1]), np.add)
    assert before is None if rt.rank == 0 else before[0] == rt.rank * (rt.rank + 1) // 2
    assert rt.all_gather(np.array([rt.rank, -rt.rank])).tolist() == [[k, -k] for k in range(p)]
    assert [one.tolist() for one in rt.all_gather_varying(np.full(rt.rank, rt.rank))] == [[k] * k for k in range(p)]
    assert [one.tolist() for one in rt.all_gather_varying([] if rt.rank else [1.5])] == [[1.5]] + [[]] * last
    rt.require_same([1, 2, 3])
    if p > 1:
        with pytest.raises(lapwing.MismatchError, match="colours"):
            rt.require_same([rt.rank], "colours")
        # A rank that has no elements gives the sum of nothing, which is an int.
        mine = [0.5] * rt.rank
        with pytest.raises(lapwing.MismatchError, match="int64.*double|double.*int64"):
            rt.sum(sum(mine))
        with pytest.raises(lapwing.MismatchError, match="int64.*double|double.*int64"):
            rt.max(max(mine, default=0))
        with pytest.raises(lapwing.MismatchError, match="int64.*double"):
            rt.all_gather_varying(np.ones(3) if rt.rank else np.ones(1, int))
        assert rt.sum(1) == p
    if p > 1:
        for call in (rt.combine, rt.combine_before):
            # Rank 0 is the one that always combines.
            with pytest.raises((ZeroDivisionError, lapwing.UsageError), match="by zero|has raised on rank") as raised:
                call(np.ones(1), lambda a, b: 1 // (rt.rank != 0))
            assert raised.type is (ZeroDivisionError if rt.rank == 0 else lapwing.UsageError)
    for bad in (lambda: rt.broadcast([1]), lambda: rt.broadcast(np.ones((2, 4))[:, ::2]), lambda: rt.broadcast(np.ones(1), root=p),
                lambda: rt.max(np.ones(1, complex)), lambda: rt.all_gather_varying(np.ones((1, 1))), lambda: rt.sum(np.zeros(1, "S3"))):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            bad()
    rt.barrier()


def test_statistics(rt):
    own, total = rt.statistics(), rt.statistics(total=True)
    assert set(own) == set(total) and all(isinstance(value, int) for value in own.values())
    assert lapwing.add_statistics(own, own) == {name: 2 * value for name, value in own.items()}


def test_waits_let_other_threads_run(rt):
    """A thread that waits for a notification has not the GIL: the thread that lets it go could not run else."""
    with lapwing.Window(8, counters=1) as w:
        arrived = []
        waiter = threading.Thread(target=lambda: arrived.append(w.wait_notified()))
        waiter.start()
        w.put_notify(rt.rank, 0, np.ones(1))
        waiter.join()
        assert arrived == [None]
        del waiter


def test_errors_are_those_of_the_library(rt):
    with lapwing.Window(8) as w:
        with pytest.raises(lapwing.Error) as caught:
            w.get(0, 4, 1)
        text = str(caught.value)
        assert "lapwing_window_get" in text and f"rank {rt.rank}" in text and "8" in text
        assert caught.value.code == "LAPWING_ERR_RANGE" and caught.value.mpi_code == 0
    assert issubclass(lapwing.MemoryError, MemoryError) and issubclass(lapwing.PeerLeftError, RuntimeError)


def test_an_interruption_at_exit_leaves_all_runtimes(rt, monkeypatch, capsys):
    class Fake:
        left = False

        def close(self):
            raise KeyboardInterrupt

        def leave(self):
            self.left = True

    fakes = [Fake(), Fake()]
    monkeypatch.setattr(lapwing._runtime, "_runtimes", fakes)
    monkeypatch.setattr(lapwing._runtime, "_failed", False)
    lapwing._runtime._end()
    assert all(fake.left for fake in fakes) and "KeyboardInterrupt" in capsys.readouterr().err
