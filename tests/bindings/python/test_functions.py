"""Functions at other ranks, of Python's and of C's, and aggregators, with good and bad arguments."""

import operator
import pickle

import numpy as np
import pytest

import lapwing

words = {}  # of this rank
array = None


def count(word, times=1):
    words[word] = words.get(word, 0) + times


def count_of(word):
    return words.get(word, 0)


def fail(text):
    raise KeyError(text)


def read(index):
    return float(array[index])


def nothing():
    lapwing.runtime().barrier()


def go_on(left):
    count("hop")
    if left > 1:
        rt = lapwing.runtime()
        rt.post((rt.rank + 1) % rt.size, go_on, left - 1)


class Counter:
    total = 0

    @classmethod
    def add(cls, values):
        cls.total += int(np.sum(values))
        return cls.total


def start(rt):
    words.clear()
    rt.barrier()
    return (rt.rank + 1) % rt.size


def test_calls(rt):
    next_ = start(rt)
    rt.post(next_, count, "whale")
    rt.post(next_, count, "sea", times=3)
    rt.barrier()
    assert words == {"whale": 1, "sea": 3}
    future = rt.call(next_, count_of, "sea")
    while not future.ready():
        pass
    assert future.get() == 3
    for step in (future.get, future.ready):
        with pytest.raises(lapwing.UsageError, match="has returned the result"):
            step()
    assert rt.call(next_, count, "new").get() is None
    assert rt.call(next_, operator.add, [1], [2]).get() == [1, 2]
    many = [rt.call(next_, count_of, word) for word in ("whale", "new") * 50]
    assert [one.get() for one in many] == [1] * 100
    del many
    rt.call(next_, count, "dropped")
    rt.barrier()
    assert words["dropped"] == 1
    first = rt.call(next_, Counter.add, np.arange(10)).get()
    assert first % 45 == 0
    assert rt.call(rt.rank, count_of, "sea").get() == 3
    rt.barrier()


def test_failures(rt):
    next_ = start(rt)
    with pytest.raises(lapwing.FunctionError, match=r"KeyError: 'no such word' \(test_functions.py, line"):
        rt.call(next_, fail, "no such word").get()
    with pytest.raises(lapwing.FunctionError, match=f"rank {next_} of"):
        rt.call(next_, fail, "text").get()
    rt.post(next_, fail, "later")
    with pytest.raises(lapwing.FunctionError, match="later") as raised:
        rt.release()
    assert raised.value.code == "LAPWING_ERR_FUNCTION" and isinstance(raised.value, RuntimeError)
    with pytest.raises(lapwing.FunctionError, match="collective"):
        rt.call(next_, nothing).get()
    with pytest.raises(lapwing.FunctionError, match="LAPWING_SERVICE_PACKET"):
        rt.call(next_, operator.mul, "x", 20_000).get()
    for bad in (
        lambda: rt.call(next_, lambda: 1), lambda: rt.call(next_, 5), lambda: rt.call(next_, count, lambda: 1),
        lambda: rt.call(rt.size, count, "x"), lambda: rt.post(-1, count, "x"), lambda: rt.post(next_, count, "x" * 100_000),
        lambda: rt.post(next_, "unheard of"), lambda: rt.call("0", count, "x"), lambda: pickle.dumps(rt.call(next_, count_of, "x")),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            bad()
    rt.barrier()


def test_functions_wait_and_go_on(rt):
    global array
    next_ = start(rt)
    with lapwing.fromfunction(lambda i: 1.5 * i, 20) as array:
        rt.barrier()
        assert rt.call(next_, read, 19).get() == 28.5
        rt.barrier()
    rt.post(next_, go_on, 3 * rt.size)
    rt.quiesce()
    assert words == {"hop": 3 * rt.size}
    rt.barrier()


def test_functions_of_c(rt):
    """atoi() and its like have other parameters: a function of Python's, made into one of C's, stands for them."""
    import ctypes

    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64)
    )

    def add(context, element, argument, size, result, result_size):
        if size != 8:
            return 3
        given = ctypes.cast(argument, ctypes.POINTER(ctypes.c_double))
        if element:
            here = ctypes.cast(element, ctypes.POINTER(ctypes.c_double))
            before = here[0]
            here[0] += given[0]
        else:
            before = given[0]
        if result_size[0] >= 8:
            ctypes.cast(result, ctypes.POINTER(ctypes.c_double))[0] = before
        return 0

    next_ = start(rt)
    global _kept
    if "_kept" not in globals():
        _kept = kind(add)
    where = ctypes.cast(_kept, ctypes.c_void_p).value
    lapwing.register("add", where)
    lapwing.register("add", where)
    rt.barrier()
    # Without a progress thread that would have to take the GIL while another thread waits for it: on the program's.
    assert rt.call(next_, "add", np.float64(2.5), dtype=float, where="program").get() == 2.5
    assert rt.call(next_, "add", bytes(8), where="program").get() is None
    rt.post(next_, "add", np.float64(1), where="program")
    with pytest.raises(lapwing.FunctionError, match="returned 3"):
        rt.call(next_, "add", where="program").get()
    with lapwing.ones(60) as a:  # in this thread: its own elements
        own = a.local_indices[0]
        assert a.apply(own, "add", 1.5).tolist() == [1] * len(own)
        a.post(own, "add", np.arange(len(own)))
        rt.barrier()
        assert a.local.tolist() == [2.5 + k for k in range(len(own))]
        if len(own):
            with pytest.raises(lapwing.FunctionError, match="returned 3"):
                a.apply(own, "add", np.int8(1))
        rt.barrier()
    for bad in (
        lambda: lapwing.register("add", where + 1), lambda: lapwing.register(3, where), lambda: lapwing.register("x", "y"), lambda: lapwing.register("x", 0),
        lambda: rt.call(next_, "add", 1.0, 2.0), lambda: rt.call(next_, "add", 1.0, where="there"), lambda: rt.call(next_, "add", 1.0, kind=float),
        lambda: rt.call(next_, "add", object()), lambda: rt.post(next_, "add", 1.0, dtype=float),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            bad()
    rt.barrier()


def test_elements(rt):
    start(rt)
    with lapwing.zeros(60) as a:
        indices = np.arange(0, 60, 7)
        a.post(indices, "add", 2)
        a.post(indices, "add", np.arange(len(indices)))
        rt.barrier()
        assert a[indices].tolist() == [rt.size * (2 + k) for k in range(len(indices))]
        rt.barrier()
        a.post(indices, "put", -1)
        rt.barrier()
        assert (a[indices] == -1).all() and a[1] == 0
        for bad in (lambda: a.post([60], "add", 1), lambda: a.post([1], "unheard of", 1.0), lambda: a.post([1, 2], "add", [1, 2, 3]), lambda: a.apply([1], "no", 1.0),
                    lambda: a.apply([1], "no", 1.0, object)):  # fmt: skip
            with pytest.raises((TypeError, ValueError)):
                bad()
        rt.barrier()


def test_aggregator(rt):
    next_ = start(rt)
    counts = lapwing.zeros((8, 10), np.int64)
    records = lapwing.zeros(30, [("x", float), ("y", np.int32)])
    with rt.aggregator() as aggregator:
        rows, columns = np.meshgrid(np.arange(8), np.arange(10), indexing="ij")
        aggregator.add(counts, (rows, columns), 1)
        aggregator.add(counts, (7, columns[7]), columns[7])
        rt.barrier()  # is a flush, too
        values = aggregator.get(counts, (rows, columns))
        aggregator.flush()
        expected = np.full((8, 10), rt.size)
        expected[7] += rt.size * np.arange(10)
        assert values.shape == (8, 10) and (values == expected).all()
        rt.barrier()
        mine = np.arange(rt.rank, 30, rt.size)
        aggregator.put(records, mine, (0.5, rt.rank))
        rt.barrier()
        out = np.empty(30, records.dtype)
        assert aggregator.get(records, np.arange(30), out=out) is out
        aggregator.flush()
        assert (out["y"] == np.arange(30) % rt.size).all() and (out["x"] == 0.5).all()
        for bad in (
            lambda: aggregator.add(records, [0], 1), lambda: aggregator.get(counts, (8, 0)), lambda: aggregator.add(counts, (0, 0), 1.5), lambda: aggregator.put(counts, ([0, 1], 0), [1, 2, 3]),
            lambda: aggregator.post(next_, count, "x"), lambda: aggregator.post(next_, "unheard of"), lambda: aggregator.get(counts, (0, 0), out=np.zeros(3)),
        ):  # fmt: skip
            with pytest.raises((TypeError, ValueError, IndexError)):
                bad()
        rt.barrier()
    assert aggregator.closed
    aggregator.close()
    with pytest.raises(lapwing.UsageError):
        aggregator.flush()
    other = lapwing.Runtime()
    theirs = other.aggregator()
    with pytest.raises(lapwing.UsageError, match="another runtime"):
        theirs.get(counts, (0, 0))
    other.close()
    assert theirs.closed
    counts.close()
    records.close()
