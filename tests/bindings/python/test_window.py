"""Windows, layouts, plans, recordings and locks, with good and bad arguments."""

import numpy as np
import pytest

import lapwing


def test_puts_and_gets(rt):
    next_, before = (rt.rank + 1) % rt.size, (rt.rank - 1) % rt.size
    with lapwing.Window(256, name="w", counters=2, alignment=64, zeroed=256) as w:
        assert w.name == "w" and w.nbytes() == w.nbytes(next_) == 256 and w.path(rt.rank) == "self"
        w.put(next_, 8, np.arange(4.0) + rt.rank)
        rt.barrier()
        assert w.get(rt.rank, 8, 4).tolist() == [before + k for k in range(4)]
        assert w.local.view(float)[1:5].tolist() == [before + k for k in range(4)]
        assert w.get(next_, 8, (2, 2)).shape == (2, 2) and w.get(next_, 0, 1, np.int8)[0] == 0
        rt.barrier()
        square = np.arange(16.0).reshape(4, 4)
        w.put(next_, 0, square[:, 1])
        w.start_put(next_, 32, square[::-1, 0]).wait()
        w.start_put(next_, 64, np.ones(1)).wait()
        rt.barrier()
        out = np.zeros((4, 4))
        assert w.get(next_, 0, out=out[:, 2])[1] == 5 and out[:, 2].tolist() == [1, 5, 9, 13]
        assert w.start_get(next_, 32, out=out[:, 3]).result().tolist() == [12, 8, 4, 0]
        assert w.start_get(next_, 64, 1).result()[0] == 1
        w.prefetch(next_, 0, 64)
        w.invalidate_cache()
        w.flush()
        w.flush(next_)
        w.release()
        w.acquire()
        w.fence()
        assert set(w.statistics()) == set(w.statistics(total=True))
        w.put(rt.rank, 200, b"bytes")
        assert bytes(w.get(rt.rank, 200, 5, np.uint8)) == b"bytes"
        for bad in (
            lambda: w.put(rt.size, 0, np.ones(1)), lambda: w.put(0, 256, np.ones(1)), lambda: w.get(-1, 0, 1), lambda: w.get(0, 250, 1),
            lambda: w.get(0, 0, out=np.empty(3, object)), lambda: w.put(0, 0, "text"), lambda: w.put(0, 0, 3.5),
            lambda: w.get(0, 0, out=np.broadcast_to(1.0, 3)), lambda: w.put(0, 249, np.ones((2, 2))[:, 0]), lambda: w.path(9),
            lambda: w.flush(9), lambda: w.prefetch(0, 0, 999), lambda: w.nbytes(9), lambda: lapwing.Window(8, alignment=3),
            lambda: lapwing.Window(8, cache={"none": 1}),
        ):  # fmt: skip
            with pytest.raises((TypeError, ValueError, IndexError)):
                bad()
        with pytest.raises((OverflowError, lapwing.Error)):
            w.put(0, -8, np.ones(1))
        own = w.local
        with pytest.raises(lapwing.ViewError):
            w.close()
        del own
    assert w.closed
    with pytest.raises(lapwing.UsageError):
        w.get(0, 0, 1)


def test_memory_of_others(rt):
    with lapwing.Window(16 if rt.rank == 0 else 0) as w:
        memory = w.memory(0, float)
        rt.barrier()
        if memory is not None and rt.rank == rt.size - 1:
            memory[1] = 3
        rt.barrier()
        wrote = rt.max(int(memory is not None and rt.rank == rt.size - 1))
        assert w.path(0) not in ("self", "direct") or memory is not None
        del memory
        assert w.get(0, 8, 1)[0] == 3 * wrote
        rt.barrier()


def test_window_of_an_array(rt):
    with lapwing.ones(rt.size) as a:
        w = a.window
        assert w.get(rt.size - 1, 0, 1)[0] == 1 and not w.closed
        with pytest.raises(lapwing.UsageError, match="array"):
            w.close()
        rt.barrier()
    with pytest.raises(lapwing.UsageError):
        w.get(0, 0, 1)


def test_atomics(rt):
    with lapwing.Window(64) as w:
        w.fetch("add", 0, 0, 2)
        w.fetch("add", 0, 8, 0.5, np.float64, order="acq_rel")
        w.update("max", 0, 16, rt.rank)
        rt.barrier()
        assert w.fetch("read", 0, 0) == 2 * rt.size and w.fetch("read", 0, 8, dtype=float) == 0.5 * rt.size
        assert w.fetch("read", 0, 16) == rt.size - 1
        rt.barrier()
        won = w.compare_swap(0, 24, 0, rt.rank + 1) == 0
        rt.barrier()
        assert (w.get(0, 24, 1, np.int64)[0] == rt.rank + 1) == won
        w.fetch_list("add", 0, [32, 40], [1, 2])
        w.start_fetch_list("add", 0, [32, 40], 1).wait()
        rt.barrier()
        assert w.fetch_list("read", 0, [32, 40]).tolist() == [2 * rt.size, 3 * rt.size]
        rt.barrier()
        w.compare_swap_list(0, [48, 56], 0, [5, 6])
        w.start_compare_swap_list(0, [48, 56], [5, 6], 7).result()
        rt.barrier()
        assert w.get(0, 48, 2, np.int64).tolist() == [7, 7]
        for bad in (
            lambda: w.fetch("and", 0, 8, 1, float), lambda: w.fetch("add", 0, 4, 1), lambda: w.fetch("add", 0, 64, 1),
            lambda: w.fetch_list("add", 0, [0, 2], 1, np.int16), lambda: w.fetch_list("add", 0, [0, 8, 16], [1, 2]), lambda: w.compare_swap(9, 0, 0, 0),
            lambda: w.update("replace", 0, 0, 1),
        ):  # fmt: skip
            with pytest.raises((TypeError, ValueError)):
                bad()
        rt.barrier()


@pytest.mark.parametrize("number", [np.float64, np.int64, np.uint64])
def test_extremes_with_location(rt, number):
    pair = lapwing.located(number)
    with lapwing.Window(64) as w, lapwing.full(3, (50, 99), pair) as a:
        if rt.rank == 0:
            w.fetch("replace", 0, 8, (1000, 0), pair)
        rt.barrier()
        for i in range(10):
            w.update("min", 0, 8, (20 - i, 10 * rt.rank + i), pair)
            a.update("max", 2, (51 + i, 10 * rt.rank + i))
        rt.barrier()
        assert w.fetch("read", 0, 8, (0, 0), pair).item() == (11, 9) and a[2].item() == (60, 9)
        rt.barrier()
        before = w.fetch("min", 0, 8, (11, -1 - rt.rank), pair, order="acq_rel")
        assert before["value"] == 11 and before["index"] in {9, *range(-rt.size, 0)}
        assert a.fetch("max", 2, (60, 10))["index"] == 9
        rt.barrier()
        assert w.fetch("min", 0, 8, (12, -99), pair).item() == (11, -rt.size)
        assert np.asarray(a)["index"].tolist() == [99, 99, 9]
        for bad in (
            lambda: a.fetch("add", 0, (1, 1)), lambda: a.fetch("or", 0, (1, 1)), lambda: a.fetch("min", 0, (1, 1.5)), lambda: a.fetch("min", 0, (1,)),
            lambda: a.fetch_list("min", ([0],), [(1, 1)]), lambda: a.fetch("min", 0, (1, None)), lambda: lapwing.located(np.float32), lambda: lapwing.located("U4"),
        ):  # fmt: skip
            with pytest.raises((TypeError, ValueError)):
                bad()
        rt.barrier()


def test_atomics_of_all_sizes(rt):
    pair = np.dtype([("a", "<i8"), ("b", "<i8")])
    with lapwing.Window(64) as w:
        for offset, dtype in ((0, np.int8), (2, np.uint16), (4, np.float32), (8, np.int64), (16, np.complex64)):
            w.fetch("add", 0, offset, 1, dtype)
            w.update("add", 0, offset, 1, dtype)
        w.update("add", 0, 32, 1 + 2j, np.complex128)
        w.fetch("or", 0, 1, rt.rank == rt.size - 1, np.bool_)
        rt.barrier()
        for offset, dtype in ((0, np.int8), (2, np.uint16), (4, np.float32), (8, np.int64), (16, np.complex64)):
            assert w.fetch("read", 0, offset, dtype=dtype) == 2 * rt.size
        assert w.fetch("read", 0, 32, dtype=np.complex128) == rt.size * (1 + 2j) and w.fetch("read", 0, 1, dtype=np.bool_)
        zero = np.zeros((), pair)
        seen = zero
        while True:  # both halves at once
            found = w.compare_swap(0, 48, seen, np.array((seen["a"] + 1, seen["b"] - 1), pair), pair)
            if found == seen:
                break
            seen = found
        rt.barrier()
        assert w.fetch("read", 0, 48, dtype=pair).tolist() == (rt.size, -rt.size)
        rt.barrier()
        assert w.fetch("replace", rt.rank, 48, zero, pair)["a"] in (0, rt.size)
        for bad, words in (
            (lambda: w.fetch("add", 0, 1, True, np.bool_), "bool"), (lambda: w.update("max", 0, 1, True, np.bool_), "bool"),
            (lambda: w.fetch("add", 0, 48, zero, pair), "16 bytes"), (lambda: w.fetch("min", 0, 32, 1, np.complex128), "double complex"),
            (lambda: w.fetch("read", 0, 0, dtype="S3"), "3 bytes"), (lambda: w.fetch("add", 0, 3, 1, np.int16), "multiple"),
            (lambda: w.fetch_list("add", 0, [0], 1, np.int8), "int8"), (lambda: w.compare_swap(0, 56, zero, zero, pair), "64"),
        ):  # fmt: skip
            with pytest.raises((TypeError, ValueError, IndexError), match=words):
                bad()
        rt.barrier()
    a = lapwing.zeros(5, np.int8)
    a.fetch_add(4, 3)
    a.update("add", 3, -1)
    rt.barrier()
    assert a[...].tolist() == [0, 0, 0, -rt.size, 3 * rt.size]
    flags = lapwing.zeros(3, np.bool_)
    assert not flags.compare_swap(2, True, True)
    with pytest.raises(TypeError, match="bool"):
        flags.fetch_add(1, True)
    rt.barrier()


def test_notified_puts(rt):
    next_ = (rt.rank + 1) % rt.size
    with lapwing.Window(64, counters=2) as w:
        w.put_notify(next_, 0, np.full(2, 1.0 + rt.rank), counter=1)
        w.put_notify(next_, 16, np.full((2, 2), 3.0)[:, 0], counter=1)
        w.wait_notified(1, count=2)
        assert w.local.view(float)[:4].tolist() == [1.0 + (rt.rank - 1) % rt.size] * 2 + [3.0] * 2 and w.notified(1) == 0
        with lapwing.Window(8) as plain:  # as many as in C++
            plain.put_notify(next_, 0, np.ones(1), counter=15)
            plain.wait_notified(15)
            with pytest.raises(lapwing.RangeError):
                plain.notified(16)
            rt.barrier()
        for bad in (lambda: w.put_notify(0, 0, np.ones(1), counter=2), lambda: w.wait_notified(2), lambda: w.notified(5)):
            with pytest.raises(lapwing.RangeError):
                bad()
        rt.barrier()


def test_layouts(rt):
    L = lapwing.Layout
    strided = L.strided(3, 8, 24, offset=8)
    assert L.nested([(3, 24)], 8, offset=8) == strided == L.indexed([8, 32, 56], 8) == L.blocks([(8, 8), (32, 8), (56, 8)])
    assert L.concatenated([L.contiguous(8, 8), L.contiguous(8, 32), L.contiguous(8, 56)]) == strided
    assert L.patch([range(0, 3), range(1, 2)], (3, 3), 8) == strided and L.of(np.zeros((3, 3))[:, 0]).shift(8) == strided
    assert L.contiguous(8, 8).repeat(3, 24) == L.contiguous(8).repeat_at([8, 32, 56]) == strided
    assert strided.slice(8, 16) == L.contiguous(8, 32) and strided.intersect(0, 40) == L.strided(2, 8, 24, 8)
    info = strided.info()
    assert (info["bytes"], info["blocks"], info["lower"], info["upper"], info["ascending"]) == (24, 3, 8, 64, 1)
    assert not strided.overlaps and L.strided(2, 8, 4).overlaps and "3 blocks" in repr(strided) and strided != L.contiguous(8) and strided != 3
    for bad in (lambda: strided.slice(5, 99), lambda: L.strided(2**62, 8, 2**62), lambda: L.patch([range(9)], (3,), 8)):
        with pytest.raises(lapwing.RangeError):
            bad()
    with pytest.raises(TypeError):
        L.from_mpi("double")
    with lapwing.Window(128) as w:
        w.put_layout(rt.rank, 8, L.strided(3, 8, 16), np.arange(3.0))
        assert w.local.view(float)[1:7:2].tolist() == [0, 1, 2]
        assert w.get_layout(rt.rank, 8, L.strided(3, 8, 16), np.zeros(6)[::2]).tolist() == [0, 1, 2]
        with pytest.raises(lapwing.RangeError, match="the array"):
            w.put_layout(rt.rank, 0, L.strided(3, 8, 16), np.arange(3.0), here=L.strided(3, 8, 16))
        with pytest.raises(lapwing.RangeError):
            w.put_layout(rt.rank, 0, L.contiguous(8), np.arange(3.0))


def test_plans(rt):
    L, next_ = lapwing.Layout, (rt.rank + 1) % rt.size
    column = L.strided(4, 8, 32)
    with lapwing.Window(128, counters=1) as w, w.plan_put(next_, 0, column, column) as put, w.plan_get(next_, 0, column, L.contiguous(32)) as get:
        square = np.arange(16.0).reshape(4, 4) + rt.rank
        put.execute(square)
        rt.barrier()
        assert get.execute(np.zeros(4)).tolist() == square[:, 0].tolist() and get.start(np.zeros(4)).result()[3] == square[3, 0]
        rt.barrier()
        put.execute_notify(square + 1)
        w.wait_notified()
        rt.barrier()
        assert get.execute(np.zeros(4))[0] == rt.rank + 1
        rt.barrier()
        put.execute_filled(lambda first, memory: memory.view(float).__setitem__(slice(None), first / 8 + np.arange(memory.size // 8)), granule=8)
        rt.barrier()
        assert get.execute(np.zeros(4)).tolist() == [0, 1, 2, 3]
        rt.barrier()
        with put.produce(square) as production:  # and finish()
            production.ready(16)
        rt.barrier()
        assert get.execute(np.zeros(4)).tolist() == square[:, 0].tolist()
        assert put.query()["bytes"] == 32 and put.query()["strategy"] != "automatic" and put.explain()
        with pytest.raises(ZeroDivisionError):
            put.execute_filled(lambda first, memory: 1 // 0)
        for bad, error in (
            (lambda: put.execute(np.zeros(4)), IndexError), (lambda: get.execute_notify(np.zeros(4)), lapwing.UsageError),
            (lambda: production.ready(0), lapwing.UsageError), (lambda: put.execute_filled(lambda *_: None, granule=5), lapwing.RangeError),
            (lambda: w.plan_put(next_, 0, column, L.contiguous(8)), lapwing.RangeError), (lambda: w.plan_put(9, 0, column, column), lapwing.RangeError),
            (lambda: w.plan_put(next_, 0, column, column, strategy="best"), ValueError),
        ):  # fmt: skip
            with pytest.raises(error):
                bad()
        rt.barrier()
        with w.recording() as recording:
            recording.put(next_, 0, np.full(1, 7.0))
            recording.put(next_, 64, np.full(1, 8.0))
            assert recording.query() == {"puts": 2, "plans_made": 0}
            recording.run()
            assert recording.query()["puts"] == 0 and recording.blocks(next_) == 2
            with pytest.raises(lapwing.RangeError):
                recording.put(next_, 128, np.ones(1))
            with pytest.raises(ValueError):
                recording.put(next_, 0, np.ones((2, 2))[:, 0])
        rt.barrier()
        assert w.local.view(float)[[0, 8]].tolist() == [7, 8]
    with pytest.raises(lapwing.UsageError, match="closed"):
        put.execute(square)


def test_locks(rt):
    with lapwing.Window(8) as w:
        lock = lapwing.Lock(home=rt.size - 1)
        for _ in range(3):
            with lock:
                assert lock.held
                w.put(0, 0, w.get(0, 0, 1) + 1)
        rt.barrier()
        assert w.get(0, 0, 1)[0] == 3 * rt.size and not lock.held
        rt.barrier()
        if rt.rank == 0:
            assert lock.acquire(blocking=False)
            with pytest.raises(lapwing.UsageError):
                lock.acquire()
            lock.release()
        with pytest.raises(lapwing.UsageError):
            lock.release()
        rt.barrier()
        lock.close()
        with pytest.raises(lapwing.UsageError):
            lock.acquire()
        with pytest.raises(lapwing.RangeError):
            lapwing.Lock(home=rt.size)


def test_prefetch():
    w = lapwing.Window(64)
    other = (lapwing.rank() + 1) % lapwing.size()
    w.put(lapwing.rank(), 0, np.arange(8.0) + 10 * lapwing.rank())
    lapwing.barrier()
    with lapwing.Prefetch(w, consistent=False) as ahead:
        with pytest.raises(lapwing.UsageError, match="own part"):
            ahead.request(lapwing.rank())
        if lapwing.size() == 1:
            return
        part = ahead.request(other, 8, lapwing.Layout.strided(3, 8, 16))
        whole = ahead.request(other)
        ahead.update()
        assert ahead.access(part, float).tolist() == [10 * other + k for k in (1, 3, 5)]
        assert ahead.read(whole, float, 7) == 10 * other + 7 and ahead.nbytes >= 88
        ahead.start_update().wait()
        with pytest.raises(lapwing.RangeError):
            ahead.read(part, float, 3)
        ahead.evict()
        with pytest.raises(lapwing.UsageError, match="evicted"):
            ahead.access(part)
    with pytest.raises(lapwing.UsageError, match="closed"):
        ahead.update()
    lapwing.barrier()
    w.close()


@pytest.mark.parametrize("consistent", [True, False])
def test_prefetch_of_elements(consistent):
    a = lapwing.zeros(10 * lapwing.size())
    if lapwing.size() == 1:
        return
    other = (lapwing.rank() + 1) % lapwing.size()
    with lapwing.Prefetch(a.window, consistent=consistent) as ahead:
        part = ahead.request(other)
        ahead.update()
        a[10 * other + 3] = 3.5
        a[10 * other + 4] = 4
        a[10 * other + 4] += 0.25
        a[10 * other + 5 : 10 * other + 7] = 5.5
        assert ahead.access(part, float).tolist() == [0, 0, 0, 3.5, 4.25, 5.5, 5.5, 0, 0, 0]
        ahead.evict()
        a[10 * other + 3] = -1
        part = ahead.request(other)
        ahead.update()
        assert ahead.read(part, float, 3) == -1
    lapwing.barrier()
    assert a[10 * other + 4] == 4.25
    a.close()
