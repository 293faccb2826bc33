"""Arrays: elements, patches, lists, own parts, assignments, NumPy's functions, with good and bad arguments."""

import copy
import gc
import pickle

import numpy as np
import pytest

import lapwing

DISTRIBUTIONS = [
    lapwing.Block(),
    lapwing.Block(grid=(0, 1)),
    lapwing.Cyclic(),
    lapwing.BlockCyclic((2, 3)),
    lapwing.Replicated(),
]


class Rows(lapwing.Distribution):
    """Row i with rank i mod P, by functions of the test's."""

    def locate(self, shape, ranks, index):
        return index[0] % ranks, index[0] // ranks * shape[1] + index[1], shape[1] - index[1]

    def capacity(self, shape, ranks):
        return -(-shape[0] // ranks) * shape[1]

    def domains(self, shape, ranks, rank):
        return [(range(i, i + 1), range(shape[1])) for i in range(rank, shape[0], ranks)]


def numbers(shape, dtype=float):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def filled(shape=(7, 10), dtype=float, distribution=None, **options):
    return lapwing.from_numpy(numbers(shape, dtype), distribution, **options)


@pytest.mark.parametrize("distribution", [*DISTRIBUTIONS, Rows()], ids=repr)
def test_indices_are_numpys(rt, distribution):
    n = numbers((7, 10))
    with filled(distribution=distribution) as a:
        for key in (
            (3, 4), (-1, -10), 2, -1, ..., slice(None), (slice(3, 10), slice(None, None, 2)), (slice(None, None, -1), slice(8, 2, -3)),
            (..., 3), (None, 2, slice(1, 4)), (slice(5, 5), slice(None)), ([1, 2, -3], [4, 5, 6]), ([0, 6],), (slice(1, 6, 2), [0, 9]),
            (np.array([[0], [3]]), np.array([1, 2])), n > 40, (np.int64(3), np.int32(4)), (slice(None), n[0] > 4), [], (2, None),
        ):  # fmt: skip
            found, wanted = a[key], n[key]
            assert type(found) is type(wanted), key
            np.testing.assert_array_equal(found, wanted, str(key))
        rt.barrier()
        for key, value in (
            ((2, 3), -1), ((slice(0, 2), slice(None, None, 3)), [1, 2, 3, 4]), (([0, 1], [5, 6]), [7.5, 8.5]), (-1, 0),
            ((slice(None, None, -2), 4), np.arange(4)), (np.zeros((7, 10), bool), 1), (5, np.arange(10)[::-1]), ((6, 9), np.float32(3)),
        ):  # fmt: skip
            n[key] = value
            if rt.rank == rt.size - 1:
                a[key] = value
            rt.barrier()
            np.testing.assert_array_equal(np.asarray(a), n, str(key))
            rt.barrier()


class Subclass(np.ndarray):
    pass


def random_part(random, n):
    kind = random.integers(8)
    if kind == 0:
        return int(random.integers(-n, n))
    if kind == 1:
        return np.int64(random.integers(n))
    if kind == 2:
        return slice(None)
    bounds = [None if random.integers(4) == 0 else int(random.integers(-n - 2, n + 3)) for _ in range(2)]
    return slice(*bounds, None if random.integers(2) else int(random.choice([-2, -1, 1, 2, 3, n + 1])))


def random_key(random, shape):
    key = [random_part(random, n) for n in shape[: random.integers(1, len(shape) + 1)]]
    if random.integers(3) == 0:
        end = random.integers(len(key) + 1)
        key = key[:end] + [..., *(random_part(random, n) for n in shape[len(shape) - (len(key) - end) :])]
    return key[0] if len(key) == 1 and random.integers(2) else tuple(key)


@pytest.mark.parametrize("shape", [(13,), (7, 10), (4, 5, 6), (2, 3, 4, 3)])
def test_patches_are_numpys(rt, shape):
    random = np.random.default_rng(len(shape))  # the same keys on all ranks
    n = numbers(shape, np.int32)
    with filled(shape, np.int32) as a:
        for turn in range(120):
            key = random_key(random, shape)
            wanted = n[key]
            found = a[key]
            assert type(found) is type(wanted) and found.dtype == n.dtype, key
            np.testing.assert_array_equal(found, wanted, str(key))
            if np.ndim(wanted) == 0:
                continue
            out = np.full(wanted.shape, -1, n.dtype)
            assert a.get(key, out=out) is out
            np.testing.assert_array_equal(out, wanted, str(key))
            rt.barrier()
            n[key] = values = np.ascontiguousarray(wanted + 1000 * turn)
            if rt.rank == turn % rt.size:
                a[key] = values
            rt.barrier()
            np.testing.assert_array_equal(a[...], n, str(key))
        whole = (slice(None),) * len(shape)
        writable = np.empty(shape, n.dtype)
        # What C reads, and what it leaves to Python.
        assert a._get_into(whole, writable) is writable and a._get_into(whole, None).shape == shape
        assert len(shape) == 1 or a._get_into((np.int64(1), ...), None).shape == shape[1:]
        for out in (writable.astype(">i4"), writable.view(Subclass), np.empty(shape, n.dtype)[::-1]):
            assert a._get_into(whole, out) is NotImplemented
        with filled(shape, np.int32, lower=(1,) * len(shape)) as b:
            assert b._get_into(whole, writable) is NotImplemented
        for out in (writable.astype(float), np.empty((*shape, 1), n.dtype), np.asfortranarray(np.empty((2, *shape), n.dtype))[0], [1]):
            with pytest.raises(ValueError):
                a.get(whole, out=out)
        writable.flags.writeable = False
        with pytest.raises(ValueError):
            a.get(whole, out=writable)
        # Values of other types and shapes are converted and repeated.
        for values in (np.float64(7), np.full(shape[-1:], 8.0), np.full(shape, 9, ">i4"), 3):
            rt.barrier()
            if rt.rank == 0:
                a[whole] = values
            rt.barrier()
            np.testing.assert_array_equal(a[...], np.broadcast_to(values, shape))
    with pytest.raises(lapwing.Error):
        a[whole]
    with pytest.raises(lapwing.Error):
        a.get(whole, out=np.empty(shape, n.dtype))


def test_bad_indices(rt):
    with filled() as a:
        for key in ((7, 0), (0, -11), 7, (0, 0, 0), ([0, 7], [0, 0])):
            with pytest.raises(lapwing.RangeError) as caught:
                a[key]
            assert isinstance(caught.value, (IndexError, ValueError)) and isinstance(caught.value, lapwing.Error)
            with pytest.raises(IndexError):
                a[key] = 1
        for key in ("x", 1.5, (1.5, 2), (..., ...), 2**70):
            with pytest.raises((IndexError, TypeError, OverflowError)):
                a[key]
        with pytest.raises(ValueError, match="shape"):
            a[0:2] = np.zeros(3)
        with pytest.raises(ValueError):
            a[0, 0] = "x"
        with pytest.raises(TypeError):
            del a[0, 0]
        for make in (
            lambda: lapwing.zeros((-1,)), lambda: lapwing.zeros((1,) * 9), lambda: lapwing.zeros(3, object), lambda: lapwing.zeros(3, "S"),
            lambda: lapwing.zeros(3, float, "block"), lambda: lapwing.zeros((3, 3), float, lapwing.Block(grid=(1,))),
            lambda: lapwing.zeros((3, 3), float, lapwing.BlockCyclic(2)), lambda: lapwing.zeros((3, 3), lower=1),
            lambda: lapwing.zeros(3, cache="none"), lambda: lapwing.zeros(3, cache={"pages": 3}),
            lambda: lapwing.zeros(3, distribution=lapwing.Block(grid=(rt.size + 1,))),
        ):  # fmt: skip
            with pytest.raises((ValueError, TypeError)):
                make()
        assert a.owner(0, 0) == 0 and a.is_local(*(0, 0)) == (rt.rank == 0)
        with pytest.raises(lapwing.RangeError, match="lapwing_array_owner|owner"):
            a.owner(9, 0)
        with pytest.raises(lapwing.RangeError):
            a.domains(rt.size)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "?", "S5", "M8[s]", ">f8", [("x", "f8"), ("n", "i4")]])
def test_dtypes(rt, dtype):
    dtype = np.dtype(dtype)
    with lapwing.zeros((3, 4), dtype) as a:
        values = np.zeros(3, dtype) if dtype.names else np.arange(3).astype(dtype)
        if dtype.names:
            values["x"], values["n"] = [1, 2, 3], [4, 5, 6]
        if rt.rank == 0:
            a[:, 1] = values
            a[0, 0] = values[2]
        rt.barrier()
        np.testing.assert_array_equal(a[:, 1], values)
        assert a[0, 0] == values[2] and np.asarray(a).dtype == dtype and a.nbytes == 12 * dtype.itemsize


def test_lower_bounds(rt):
    with filled(lower=(-3, 5)) as a:
        n = numbers((7, 10))
        assert a[-3, 5] == 0 and a[-1, 14] == n[2, 9]
        np.testing.assert_array_equal(a[-2:1, 6:], n[1:4, 1:])
        np.testing.assert_array_equal(a[::-2, 7], n[::-2, 2])
        np.testing.assert_array_equal(a[[-3, 3], [5, 6]], n[[0, 6], [0, 1]])
        np.testing.assert_array_equal(a[:, [5, 14]], n[:, [0, 9]])
        with pytest.raises(IndexError):
            a[4, 5]
        with pytest.raises(IndexError):
            a[[4], [5]]
        np.testing.assert_array_equal(a.sum(axis=0), n.sum(axis=0))
        np.testing.assert_array_equal(np.asarray(a + n), 2 * n)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_own_part(rt, distribution):
    with lapwing.zeros((7, 10), distribution=distribution) as a:
        i, j = np.ix_(*a.local_indices)
        a.local[...] = 10 * i + j
        rt.barrier()
        np.testing.assert_array_equal(np.asarray(a), numbers((7, 10)))
        owned = sum(len(one[0]) * len(one[1]) for one in a.domains())
        assert owned == a.local.size
        view = np.from_dlpack(a) if a.local.size else a.local
        assert view.shape == a.local.shape and a.__dlpack_device__()[0] == 1
        assert (view == a.local).all() and (view.size == 0 or np.shares_memory(view, a.local))
        del view


def test_views_hold_the_memory(rt):
    a = lapwing.ones((4, 4))
    view = a.local[0:1] if rt.rank == 0 else None
    for call in (a.close, lambda: a.resize((8, 8)), lambda: a.redistribute(lapwing.Cyclic())):
        with pytest.raises(lapwing.ViewError, match="1 NumPy array|shows? this object's memory") as caught:
            call()
        assert isinstance(caught.value, BufferError) and not a.closed
    if view is not None:
        assert (view == 1).all()
        alive = memoryview(view)
        del view
    with pytest.raises(BufferError):
        a.close()
    if rt.rank == 0:
        del alive
    a.close()
    assert a.closed and "closed" in repr(a)
    for use in (lambda: a[0, 0], lambda: a[...], lambda: a.local, lambda: a.sum(), lambda: a.__setitem__((0, 0), 1), lambda: a.T, lambda: a[[0], [0]]):
        with pytest.raises(lapwing.UsageError, match="closed"):
            use()
    a.close()


def test_a_view_outlives_the_name(rt):
    view = lapwing.ones((4, 4)).local
    gc.collect()
    rt.collect()
    before = len(rt._cells)
    assert (view == 1).all()
    del view
    rt.collect()
    assert len(rt._cells) == before - 1


def test_dropped_arrays_are_freed(rt):
    rt.collect()
    before = len(rt._cells)
    a = filled()
    for _ in range(5):
        b = (a + 1) * 2
    assert len(rt._cells) <= before + 6
    if rt.rank == 0:
        b = None  # on one rank alone: it stays
    rt.collect()
    assert len(rt._cells) == before + (2 if rt.size > 1 else 1)
    b = a = None
    rt.collect()
    assert len(rt._cells) == before


def test_transfers(rt):
    with filled() as a:
        n = numbers((7, 10))
        with a.prefetch((slice(2, 5), slice(None, None, -1))) as rows, a.prefetch(([1, 2], [3, 4])) as listed:
            pass
        np.testing.assert_array_equal(rows.result(), n[2:5, ::-1])
        np.testing.assert_array_equal(listed.result(), n[[1, 2], [3, 4]])
        out = np.empty((2, 10))
        assert a.get(slice(0, 2), out=out) is out and (out == n[0:2]).all()
        assert (a.get((slice(1, None, -1), slice(None)), out=out) == n[1::-1]).all()
        for bad in (np.empty(3), np.empty((2, 10), "f4"), np.empty((2, 20))[:, ::2], [1]):
            with pytest.raises(ValueError):
                a.get(slice(0, 2), out=bad)
        with pytest.raises(TypeError):
            a.get([1, 2])
        rt.barrier()
        if rt.rank == 0:
            a.start_put((slice(0, 2), slice(None, None, -1)), n[2:4]).wait()
            put = a.start_put(([5, 6], [0, 0]), [8, 9])
            while not put.done():
                pass
            a.start_put(3, 4.0).wait()
        rt.barrier()
        n[0:2, ::-1] = n[2:4].copy()
        n[[5, 6], [0, 0]] = [8, 9]
        n[3] = 4
        np.testing.assert_array_equal(np.asarray(a), n)
        a.prefetch_element(0, 0)
        with pytest.raises(lapwing.RangeError):
            a.prefetch_element(9, 0)


def test_numpy_takes_copies(rt):
    with lapwing.ones((4, 3)) as a:
        for one in (a, a.slice[1:, ::2]):
            assert one.__array__(copy=True).sum() == one.__array__(copy=None).sum() == one.__array__().sum() > 0
            assert one.__array__(np.int32, copy=True).dtype == np.int32
            with pytest.raises(ValueError, match="copy=False asks for none"):
                one.__array__(copy=False)
        rt.barrier()


def test_atomics(rt):
    with lapwing.zeros((4, 3), np.int64) as a, lapwing.zeros(2) as f:
        a.fetch_add((1, 2), 5)
        a.update("max", (0, 0), rt.rank)
        f.fetch_add(1, 0.5, order="acq_rel")
        rt.barrier()
        assert a[1, 2] == 5 * rt.size and a[0, 0] == rt.size - 1 and f[1] == 0.5 * rt.size
        assert a.fetch("read", (1, 2)) == 5 * rt.size
        rt.barrier()
        first = a.compare_swap((3, 0), 0, rt.rank + 1)
        rt.barrier()
        assert (a[3, 0] == rt.rank + 1) == (first == 0)
        a.fetch_list("add", ([0, 1], [1, 1]), [10, 20])
        a.fetch_list("or", ([2, 2], [0, 1]), 1 << rt.rank)
        rt.barrier()
        assert a[0:2, 1].tolist() == [10 * rt.size, 20 * rt.size] and a[2, 0] == (1 << rt.size) - 1
        assert a.fetch_list("read", ([0, 1], [1, 1])).tolist() == [10 * rt.size, 20 * rt.size]
        rt.barrier()
        swapped = a.compare_swap_list(([2, 2], [0, 1]), (1 << rt.size) - 1, [0, 0])
        assert set(swapped.tolist()) <= {0, (1 << rt.size) - 1}
        rt.barrier()
        assert a.start_fetch_list("read", ([0, 1], [1, 1])).result().tolist() == [10 * rt.size, 20 * rt.size]
        if rt.rank == 0:
            assert a.start_fetch_list("add", ([3, 3], [1, 1]), [2, 3]).result().tolist() == [0, 2]
            assert a.start_compare_swap_list(([3], [1]), 5, 8).result().tolist() == [5]
            assert a[3, 1] == 8
        rt.barrier()
        with pytest.raises(lapwing.UsageError):
            f.fetch("and", 0, 1)
        with pytest.raises(lapwing.RangeError):
            a.fetch_add((9, 9), 1)
        with pytest.raises(lapwing.UsageError):
            a.fetch("nand", (0, 0), 1)
        rt.barrier()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS[1:4], ids=repr)
def test_assignments(rt, distribution):
    n = numbers((6, 8))
    with filled((6, 8)) as b, lapwing.zeros((8, 6), distribution=distribution) as a:
        a[...] = b.slice[:, ::-1].T
        np.testing.assert_array_equal(np.asarray(a), n[:, ::-1].T)
        a[...] = b[:, ::-1].T  # a patch: each rank reads and writes all
        rt.barrier()
        np.testing.assert_array_equal(np.asarray(a), n[:, ::-1].T)
        a[...] = b.T
        a.slice[2:4, :] = b.slice[0:2, 0:6]
        a.slice[0] += b.slice[0, :6]
        a.slice[7, ::-1] -= b.T[0]
        a.slice[6:, 0] = 5
        wanted = n.T.copy()
        wanted[2:4] = n[0:2, 0:6]
        wanted[0] += n[0, :6]
        wanted[7, ::-1] -= n.T[0]
        wanted[6:, 0] = 5
        np.testing.assert_array_equal(np.asarray(a), wanted)
        a += b.T
        a *= b.T[::-1]
        wanted = (wanted + n.T) * n.T[::-1]
        np.testing.assert_array_equal(np.asarray(a), wanted)
        s = a.slice[1:5, ::2]
        assert s.shape == (4, 3) and s.size == 12 and len(s) == 4 and s.ndim == 2
        np.testing.assert_array_equal(np.asarray(s[1:, 0]), wanted[2:5, 0])
        np.testing.assert_array_equal(s.transpose(1, 0).get(), wanted[1:5, ::2].T)
        rt.barrier()
        if rt.rank == 0:
            s.put(np.ones(3))
            a.slice[0].copy_from(a.slice[1])
        rt.barrier()
        wanted[1:5, ::2] = 1
        wanted[0] = wanted[1]
        np.testing.assert_array_equal(np.asarray(a), wanted)
        a.slice[0].apply(a.slice[7], lambda target, source: target - 2 * source)
        np.testing.assert_array_equal(a[0], wanted[0] - 2 * wanted[7])
        with pytest.raises(ZeroDivisionError):
            a.slice[0, 0:1].apply(a.slice[7, 0:1], lambda target, source: 1 // 0) if a.owner(0, 0) == rt.rank else (
                a.slice[0, 0:1].apply(a.slice[7, 0:1], lambda target, source: target), 1 // 0)
        several = lapwing.Assignment().add(a.slice[0], b.slice[0, :6]).add(a.slice[1], 3).add(a.slice[2], b.slice[0, :6], "add")
        several.execute(compare=True)
        several.execute()
        a.slice[1].fill(0)
        moved = several.start()
        assert not moved.done()
        with pytest.raises(lapwing.UsageError):
            several.execute()
        rt.barrier()
        moved.wait()
        assert a.slice[1].start_get().result().tolist() == [3] * 6
        rt.barrier()
        if rt.rank == 0:
            a.slice[1].start_put(np.full(6, 3)).wait()
        rt.barrier()
        assert a[1].tolist() == [3] * 6 and isinstance(several.explain(), str) and len(several.transfers) == 2
        rt.barrier()
        for bad, error in (
            (lambda: a.slice[...].assign(b), lapwing.RangeError), (lambda: a.slice[...].assign(np.zeros(3)), TypeError),
            (lambda: a.slice[[0, 1]], TypeError), (lambda: a.slice[0, 0], lapwing.UsageError), (lambda: b.slice[9], lapwing.RangeError),
            (lambda: b.slice[...].transpose(0), lapwing.RangeError), (lambda: b.slice[...].transpose(0, 0), lapwing.RangeError),
            (lambda: b.slice[None], TypeError), (lambda: b.slice[...][9], IndexError),
        ):  # fmt: skip
            with pytest.raises(error):
                bad()


def test_operators_and_ufuncs(rt):
    n = numbers((5, 6))
    with filled((5, 6)) as a, filled((5, 6), distribution=lapwing.Cyclic()) as c:
        for found, wanted in (
            (a + a, n + n), (a * 2 - 1, n * 2 - 1), (1 / (a + 1), 1 / (n + 1)), (np.sin(a), np.sin(n)), (a + c, n + n), (a > 7, n > 7),
            (-a, -n), (a + n[0], n + n[0]), (a // 2 % 3, n // 2 % 3), (np.maximum(a, n.T.reshape(5, 6)), np.maximum(n, n.T.reshape(5, 6))),
            (a.astype(np.float32), n.astype(np.float32)), (a + 1j, n + 1j), (a**2, n**2), (a + a.T.T, n + n),
        ):  # fmt: skip
            assert isinstance(found, lapwing.Array) and found.dtype == wanted.dtype
            np.testing.assert_array_equal(np.asarray(found), wanted)
        quotient, rest = np.divmod(a, 4)
        np.testing.assert_array_equal(np.asarray(quotient) * 4 + np.asarray(rest), n)
        a += a
        a -= 1
        a += c
        np.testing.assert_array_equal(np.asarray(a), 3 * n - 1)
        np.add(a, 1, out=a)
        np.testing.assert_array_equal(np.asarray(a), 3 * n)
        assert 3.0 in a and -5 not in a
        for bad in (
            lambda: a + np.zeros(4), lambda: a + lapwing.zeros(5), lambda: np.add(n, n, out=a) if False else np.add(a, n, out=n.copy()),
            lambda: bool(a), lambda: np.sort(a), lambda: np.add.accumulate(a), lambda: np.dot(a, a), lambda: np.add(a, a, where=n > 3),
        ):  # fmt: skip
            with pytest.raises((TypeError, ValueError)):
                bad()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_reductions(rt, distribution):
    n = numbers((5, 6), np.int32) % 7 - 2
    with lapwing.from_numpy(n, distribution) as a:
        for name in ("sum", "prod", "min", "max", "any", "all", "mean"):
            for axis in (None, 0, 1, -1, (0, 1)):
                for keep in (False, True):
                    found, wanted = getattr(a, name)(axis=axis, keepdims=keep), getattr(n, name)(axis=axis, keepdims=keep)
                    np.testing.assert_array_equal(found, wanted, f"{name} {axis}")
                    assert np.asarray(found).dtype == wanted.dtype
            np.testing.assert_array_equal(getattr(np, name)(a, axis=0), getattr(n, name)(axis=0))
        assert np.add.reduce(a, axis=0).tolist() == n.sum(axis=0).tolist()
        assert a[a.argmin()] == n.min() and a[a.argmax()] == n.max() and a.nansum() == n.sum() and a.nanmin() == n.min() and a.nanmax() == n.max()
        with pytest.raises(IndexError):
            a.sum(axis=2)
        with pytest.raises(ValueError):
            a.sum(axis=(0, 0))
    with lapwing.zeros((0, 3)) as empty:
        assert empty.sum() == 0 and empty.sum(axis=0).tolist() == [0, 0, 0] and len(empty) == 0
        with pytest.raises(ValueError):
            empty.min()
    with lapwing.full(3, 1 + 2j) as complex_:
        assert complex_.sum() == 3 + 6j and np.linalg.norm(complex_) == np.sqrt(15) and np.vdot(complex_, complex_) == 15


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_reductions_along_one_dimension(rt, distribution):
    n = numbers((5, 6), np.int32) % 7 - 2
    with lapwing.from_numpy(n, distribution) as a, lapwing.zeros((2, 6), distribution=lapwing.Cyclic()) as out, lapwing.zeros(5, np.int64) as rows:
        a.sum_along(0, out.slice[1, ::-1])
        np.testing.assert_array_equal(out[...], [[0] * 6, n.sum(axis=0)[::-1]])
        for name in ("sum", "min", "max"):
            rt.barrier()
            getattr(a, f"{name}_along")(-1, rows)
            np.testing.assert_array_equal(rows[...], getattr(n, name)(axis=1))
        rt.barrier()
        with a.reduction(1, rows, "multiply") as products, a.reduction(1, rows, operation="max") as largest:
            for _ in range(2):
                products.execute()
                np.testing.assert_array_equal(rows[...], n.prod(axis=1))
                rt.barrier()
            a += 1
            largest.execute()
            np.testing.assert_array_equal(rows[...], n.max(axis=1) + 1)
            with pytest.raises(lapwing.UsageError, match="must be one of"):
                a.reduction(1, rows, "mean")
            with pytest.raises(lapwing.RangeError, match="operation"):
                a.reduction(1, rows, "subtract")
            with pytest.raises(IndexError, match="dimensions"):
                a.sum_along(2, rows)
            with pytest.raises(ValueError, match="extents"):
                a.max_along(0, rows)
            with pytest.raises(TypeError, match="neither"):
                a.min_along(0, np.zeros(6))
            rt.barrier()
    with pytest.raises(lapwing.UsageError, match="closed"):
        largest.execute()
    with lapwing.zeros((0, 3)) as empty, lapwing.zeros(3) as out:
        empty.min_along(0, out)
        assert out[...].tolist() == [np.inf] * 3


def test_more_functions_of_numpy(rt):
    n = np.linspace(-2, 3, 12).reshape(3, 4)
    with lapwing.from_numpy(n, lapwing.Cyclic()) as a, lapwing.from_numpy(n[:, 0]) as column:
        for got, expected in (
            (np.where(a > 0, a, -1), np.where(n > 0, n, -1)),
            (np.clip(a, -1, 2), np.clip(n, -1, 2)),
            (np.clip(a, None, 0.5), np.clip(n, None, 0.5)),
            (np.round(a, 1), np.round(n, 1)),
            (np.around(a), np.around(n)),
            (np.isclose(a, n, atol=1), np.isclose(n, n, atol=1)),
            (np.nan_to_num(a / a), np.nan_to_num(n / n)),
            (np.real(a * 1j), np.real(n * 1j)),
            (np.imag(a * 1j), np.imag(n * 1j)),
            (np.angle(a), np.angle(n)),
        ):
            assert isinstance(got, lapwing.Array) and got.dtype == expected.dtype
            np.testing.assert_array_equal(np.asarray(got), expected)
        np.clip(a, 0, 1, out=a)
        np.testing.assert_array_equal(np.asarray(a), np.clip(n, 0, 1))
        a.barrier()
        a.copy_from(lapwing.from_numpy(n))
        np.testing.assert_allclose(np.var(a), np.var(n))
        np.testing.assert_allclose(np.std(a, axis=0, ddof=1), np.std(n, axis=0, ddof=1))
        assert np.count_nonzero(a > 0) == (n > 0).sum() and np.count_nonzero(a > 0, axis=1).tolist() == (n > 0).sum(axis=1).tolist()
        assert np.ptp(a) == 5 and np.argmax(a) == 11 and np.argmin(a) == 0 and np.argmin(column) == 0
        for wrong in (lambda: np.where(a), lambda: np.var(a, out=np.zeros(())), lambda: np.median(a)):
            with pytest.raises(TypeError, match="lapwing"):
                wrong()
        rt.barrier()


def test_functions_of_numpy(rt):
    with filled((3, 4)) as a:
        n = numbers((3, 4))
        assert np.shape(a) == (3, 4) and np.ndim(a) == 2 and np.size(a) == 12 and np.size(a, 1) == 4 and len(a) == 3
        assert np.zeros_like(a).sum() == 0 and np.ones_like(a, dtype=int).sum() == 12 and np.full_like(a, 3).sum() == 36
        assert np.empty_like(a).shape == (3, 4) and np.array_equal(a, np.copy(a)) and np.allclose(a, a + 1e-12)
        b = lapwing.zeros((4, 3))
        np.copyto(b, np.transpose(a))
        np.testing.assert_array_equal(np.asarray(b), n.T)
        assert [row.tolist() for row in a] == n.tolist()
        f = lapwing.ones(5)
        assert np.dot(f, f) == 5
        rt.barrier()


def test_copies_and_pickles(rt):
    with filled() as a:
        b, c = copy.copy(a), copy.deepcopy(a)
        d = a.copy(lapwing.Cyclic())
        for one in (b, c, d):
            np.testing.assert_array_equal(np.asarray(one), numbers((7, 10)))
        for one in (a, a.T, rt, lapwing.Layout.contiguous(3), a.window, lapwing.Settings()):
            with pytest.raises(TypeError, match="cannot be pickled"):
                pickle.dumps(one)


def test_resize_redistribute_and_files(rt, folder):
    n = numbers((7, 10))
    with filled(name="n") as a:
        assert a.name == "n" and a.size == 70 and a.halo_depth == 0
        a.resize((9, 4))
        wanted = np.zeros((9, 4))
        wanted[:7] = n[:, :4]
        np.testing.assert_array_equal(np.asarray(a), wanted)
        a.redistribute(lapwing.BlockCyclic((1, 2)))
        assert a[8, 3] == 0 and a[-1, -1] == 0
        np.testing.assert_array_equal(np.asarray(a), wanted)
        done = []
        a.save(f"{folder}/a.lapwing", progress=lambda part, all: done.append((part, all)))
        assert (len(done) > 0) == (rt.rank == 0)
        assert lapwing.checkpoint_shape(f"{folder}/a.lapwing", float, 2) == (9, 4)
        with lapwing.load(f"{folder}/a.lapwing", float, 2, lapwing.Cyclic()) as b:
            np.testing.assert_array_equal(np.asarray(b), wanted)
        a.slice[0:2].save(f"{folder}/s.lapwing")
        a.slice[2:4].load(f"{folder}/s.lapwing")
        np.testing.assert_array_equal(a[2:4], wanted[0:2])
        with pytest.raises(lapwing.FileError) as caught:
            a.load(f"{folder}/none")
        assert isinstance(caught.value, OSError) and "none" in str(caught.value)
        with pytest.raises(lapwing.FileError):
            lapwing.checkpoint_shape(f"{folder}/a.lapwing", np.int8, 2)
        with pytest.raises(lapwing.RangeError):
            a.resize((3,))
        with pytest.raises(lapwing.RangeError):
            a.resize((-1, 3))
        with pytest.raises(ValueError):
            a.redistribute(lapwing.Block(grid=(1,)))


def test_replicated_and_synchronisation(rt):
    with lapwing.zeros(4, distribution=lapwing.Replicated()) as a:
        a.local[:] = rt.rank
        a.broadcast(root=rt.size - 1)
        assert (a.local == rt.size - 1).all()
    with lapwing.zeros(8, cache="epoch") as a:
        a.fill(2.5)
        if rt.rank == 0:
            a[7] = 1.0
            a.flush()
            a.flush(rt.size - 1)
            a.release()
        a.barrier()
        a.acquire()
        a.fence()
        a.invalidate_cache()
        assert a[7] == 1 and a[0] == 2.5
        assert set(a.statistics()) == set(a.statistics(total=True)) != set()
        a.barrier()
        with pytest.raises(lapwing.RangeError):
            a.flush(rt.size)
        with pytest.raises(lapwing.UsageError):
            a.broadcast()


def test_errors_of_own_distributions(rt):
    class Wrong(Rows):
        def capacity(self, shape, ranks):
            raise KeyError("no idea")

    with pytest.raises((KeyError, lapwing.Error)):
        lapwing.zeros((3, 3), distribution=Wrong())
    with pytest.raises(lapwing.UsageError):
        lapwing.zeros((3, 3), distribution=Rows()).local


@pytest.mark.parametrize("periodic", [False, True, (True, False)])
def test_halos(rt, periodic):
    n = numbers((8, 6))
    with filled((8, 6), halo=2) as a:
        assert a.halo_depth == 2
        with a.halo(2, periodic) as halo:
            halo.exchange()
            whole, (rows, columns) = halo.array, halo.ranges
            for i in rows if whole.size else ():
                for j in columns:
                    flags = np.broadcast_to(periodic, 2)
                    if (flags[0] or 0 <= i < 8) and (flags[1] or 0 <= j < 6):
                        assert whole[i - rows[0], j - columns[0]] == n[i % 8, j % 6]
            np.testing.assert_array_equal(halo.own, a.local)
            with pytest.raises(lapwing.ViewError):
                a.close()
            if whole.size:
                halo.own[...] *= 2
            halo.store()
            rt.barrier()
            halo.start_fetch().wait()
            halo.fetch()
        np.testing.assert_array_equal(np.asarray(a), 2 * n)
        with pytest.raises(lapwing.UsageError, match="closed"):
            halo.fetch()
        assert whole.size == 0 or whole.max() >= 0
        del whole, halo
        with pytest.raises(lapwing.RangeError):
            a.halo(-1)


@pytest.mark.parametrize("pattern", [lapwing.Stencil(1, periodic=True), lapwing.RowWise, lapwing.ColumnWise(), lapwing.Transpose(), lapwing.AllElements()])
@pytest.mark.parametrize("storage", ["by_index", "by_owner"])
def test_prefetch_pattern(pattern, storage):
    a = lapwing.fromfunction(lambda i, j: 100 * i + j, (9, 7))
    with a.prefetch_pattern(pattern, consistent=False, storage=storage) as copies:
        own = a.local
        own += 0.5
        del own
        lapwing.barrier()
        for i in range(9):
            for j in range(7):
                # Copies stay as they are until they are filled again.
                assert a[i, j] == 100 * i + j + (0 if copies.has(i, j) else 0.5)
                if copies.has(i, j) or a.is_local(i, j):
                    block, first = copies.block(i, j)
                    assert block[i - first[0], j - first[1]] == a[i, j]
        copies.update()
        assert a[8, 6] == 806.5 and a[0, 0] == 0.5
        lapwing.barrier()
        copies.start_update().wait()
    assert a[8, 6] == 806.5


def test_prefetch_pattern_of_domains_and_errors():
    a = lapwing.fromfunction(lambda i: 1.0 * i, (20,), lower=(5,))
    values = np.asarray(a).tolist()
    with a.prefetch_pattern(lapwing.Domains([(range(0, 9, 2),), (range(20, 30),)])):
        lapwing.barrier()
        assert [a[i] for i in range(5, 25)] == values
        with pytest.raises(lapwing.UsageError, match="evict"):
            a.prefetch_pattern(lapwing.AllElements(), consistent=False)
    with pytest.raises(ValueError, match="storage"):
        a.prefetch_pattern(lapwing.AllElements(), storage="halo")
    with pytest.raises(TypeError, match="Pattern"):
        a.prefetch_pattern(7)
    with pytest.raises(ValueError, match="ranges"):
        a.prefetch_pattern(lapwing.Domains([(range(3), range(3))]))
    with pytest.raises(ValueError, match="backwards"):
        a.prefetch_pattern(lapwing.Domains([(range(3, 0, -1),)]))
    with pytest.raises(lapwing.RangeError, match="depth"):
        a.prefetch_pattern(lapwing.Stencil(-1))


def test_relabelling():
    a = lapwing.fromfunction(lambda i, j: 100 * i + j, (8, 8), distribution=lapwing.Block(grid=(lapwing.size(), 1)))
    columns = lapwing.Block(grid=(1, lapwing.size()))
    with a.relabelling(columns) as order:
        assert order.bytes_moved <= order.bytes_moved_unordered < order.nbytes == 512 or lapwing.size() == 1
        assert 0 <= order.rank < lapwing.size() and isinstance(order.changes, bool)
        a.redistribute(columns, order)
        assert a[3, 4] == 304 and a.distribution == columns
        lapwing.barrier()
        a.close()
    with pytest.raises(lapwing.UsageError):
        order._handle


@pytest.mark.parametrize("distribution", [*DISTRIBUTIONS, Rows()], ids=repr)
def test_arrays_are_broadcast(distribution):
    n, row, column = numbers((7, 10)), numbers((10,)) + 100, numbers((7, 1)) * 1000
    with filled(distribution=distribution) as a, lapwing.from_numpy(row, lapwing.Cyclic()) as b, lapwing.from_numpy(column) as c:
        np.testing.assert_array_equal(np.asarray(a + b), n + row)
        np.testing.assert_array_equal(np.asarray(c - a), column - n)
        np.testing.assert_array_equal(np.asarray(np.maximum(a, b) * 2), np.maximum(n, row) * 2)
        a += c
        np.testing.assert_array_equal(np.asarray(a), n + column)
        lapwing.barrier()
        np.add(c, b, out=a)
        np.testing.assert_array_equal(np.asarray(a), column + row)
        lapwing.barrier()
        with pytest.raises(ValueError, match="out="):
            c + b
        with pytest.raises(ValueError, match="broadcast"):
            a + lapwing.zeros((3, 10))


@pytest.mark.parametrize("distribution", [lapwing.Block(), Rows()], ids=repr)
def test_what_one_rank_cannot_compute_ends_a_call_on_all(rt, distribution):
    if rt.size == 1:
        return
    fails = rt.rank == 1

    def function(i, j):
        if fails:
            raise KeyError("the table is gone")
        return 1.0 + 0 * (i + j)

    with pytest.raises(KeyError if fails else lapwing.UsageError, match="the table is gone" if fails else "another rank could not"):
        lapwing.fromfunction(function, (8, 3), distribution=distribution)
    with lapwing.full((8, 3), 1.0, distribution=distribution) as a, lapwing.zeros((8, 3), distribution=distribution) as b:
        for i, j in np.ndindex(8, 3):
            if fails and a.is_local(i, j):
                a[i, j] = 0
        lapwing.barrier()
        for divide in (lambda: 1 / a, lambda: np.divide(1.0, a, out=b)):
            with np.errstate(all="raise"), pytest.raises(FloatingPointError if fails else lapwing.UsageError):
                divide()
        assert rt.sum(1) == rt.size


# Collective calls with an argument that one rank alone passes wrongly: `bad` there, and what is right elsewhere.
REFUSED = {
    "Runtime.sum": lambda a, b, bad: a.runtime.sum(object() if bad else 1),
    "Runtime.min": lambda a, b, bad: a.runtime.min("x" if bad else 1.0),
    "Runtime.broadcast": lambda a, b, bad: a.runtime.broadcast([1] if bad else np.zeros(1)),
    "Runtime.combine": lambda a, b, bad: a.runtime.combine([1] if bad else np.ones(1), np.multiply),
    "Runtime.all_gather": lambda a, b, bad: a.runtime.all_gather(np.array([object()]) if bad else np.ones(1)),
    "Runtime.all_gather_varying": lambda a, b, bad: a.runtime.all_gather_varying(np.ones((1, 1) if bad else 1)),
    "Runtime.require_same": lambda a, b, bad: a.runtime.require_same([1.5] if bad else [1]),
    "Array": lambda a, b, bad: lapwing.zeros("x" if bad else 3),
    "Array: halo": lambda a, b, bad: lapwing.zeros(3, halo="x" if bad else 0),
    "full": lambda a, b, bad: lapwing.full(3, [1, 2] if bad else 1, float),
    "from_numpy": lambda a, b, bad: lapwing.from_numpy(1 if bad else np.ones(3)),
    "Window": lambda a, b, bad: lapwing.Window("x" if bad else 8),
    "Lock": lambda a, b, bad: lapwing.Lock("x" if bad else 0),
    "fill": lambda a, b, bad: a.fill("x" if bad else 1),
    "copy_from": lambda a, b, bad: a.copy_from(1 if bad else b),
    "broadcast": lambda a, b, bad: lapwing.zeros(3, distribution=lapwing.Replicated()).broadcast("x" if bad else 0),
    "resize": lambda a, b, bad: a.resize((1,) if bad else (8, 3)),
    "redistribute": lambda a, b, bad: a.redistribute("x" if bad else lapwing.Cyclic()),
    "relabelling": lambda a, b, bad: a.relabelling("x" if bad else lapwing.Cyclic()),
    "prefetch_pattern": lambda a, b, bad: a.prefetch_pattern("x" if bad else lapwing.Stencil(1)),
    "save": lambda a, b, bad: a.save(1 if bad else "/no-such-directory/file"),
    "checkpoint_shape": lambda a, b, bad: lapwing.checkpoint_shape("/no-such-directory/file", "x" if bad else float, 2),
    "sum_along": lambda a, b, bad: a.sum_along("x" if bad else 0, lapwing.zeros(3)),
    "reduction": lambda a, b, bad: a.reduction(0, lapwing.zeros(3), "x" if bad else "add"),
    "assign": lambda a, b, bad: a.slice[...].assign([1] if bad else b),
    "assign: operation": lambda a, b, bad: a.slice[...].assign(b, "x" if bad else "add"),
    "assign: extents": lambda a, b, bad: a.slice[...].assign(b.slice[1:] if bad else b),
    "assign: index": lambda a, b, bad: a.slice.__setitem__((99, slice(None)) if bad else 1, b.slice[1]),
    "fill of a slice": lambda a, b, bad: a.slice[...].fill([1, 2] if bad else 1),
    "apply": lambda a, b, bad: a.slice[...].apply(1 if bad else b, lambda x, y: y),
    "ufunc: out": lambda a, b, bad: np.add(a, b, out=np.zeros((8, 3)) if bad else a),
    "sum: axis": lambda a, b, bad: a.sum(axis=7 if bad else 0),
    "mean: dtype": lambda a, b, bad: a.mean(dtype=int if bad else float),
    "argmin: axis": lambda a, b, bad: a.argmin(axis=(0, 1) if bad else 0),
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_one_rank_passes_wrongly_ends_a_call_on_all(rt, call):
    if rt.size == 1:
        return
    with lapwing.full((8, 3), 1.0) as a, lapwing.full((8, 3), 2.0) as b:
        with pytest.raises(Exception) as error:
            REFUSED[call](a, b, rt.rank == 1)
        assert rt.rank == 1 or isinstance(error.value, (lapwing.UsageError, lapwing.MismatchError)), error.value
        assert rt.rank == 1 or "rank 1" in str(error.value)
        assert b.sum() == 48  # they go on
        lapwing.barrier()


def test_ufuncs_with_a_distribution_of_the_programs_own(rt):
    n = numbers((7, 10))
    with filled(distribution=Rows()) as a, filled(lower=(3, -2)) as b:
        np.testing.assert_array_equal(np.asarray(np.sqrt(a) + 1), np.sqrt(n) + 1)
        np.testing.assert_array_equal(np.asarray(a * b.slice[...].T.T), n * n)
        a -= 2
        np.testing.assert_array_equal(np.asarray(a), n - 2)
        rt.barrier()
        whole, part = np.modf(a / 4)
        np.testing.assert_array_equal(np.asarray(part), np.modf((n - 2) / 4)[1])
        assert a.sum() == (n - 2).sum() and a.min() == -2 and a.max(axis=0).tolist() == (n - 2).max(axis=0).tolist()
        assert a.mean(axis=1).tolist() == (n - 2).mean(axis=1).tolist() and not a.all() and whole.shape == (7, 10)
