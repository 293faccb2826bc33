"""Arrays as memory: what NumPy reads in it, whatever the distribution, and how long it stays."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import lapwing

DISTRIBUTIONS = [
    lapwing.Block(), lapwing.Block(grid=(0, 1)), lapwing.Cyclic(), lapwing.BlockCyclic((2, 3)), lapwing.Replicated(), lapwing.OnRanks([0]),
    lapwing.Aligned((range(-7, 200), range(-7, 200)), lapwing.Cyclic()),
]  # fmt: skip
KEYS = [
    ..., np.s_[3], np.s_[2:9], np.s_[2:9, 4], np.s_[:, ::3], np.s_[9:1:-2, 3:1], np.s_[10:2:-3, ::-1], np.s_[5, 6], np.s_[5, 6, ...],
    np.s_[3:5, np.newaxis, 7], np.s_[4:4],
]  # fmt: skip
# Of an array whose columns are 3, 6, and so on.
STEP_KEYS = [..., np.s_[3], np.s_[2:9], np.s_[2:6, 6:30:6], np.s_[4, ::-3], np.s_[10:2:-3, 6], np.s_[5, 9]]


def made(distribution, dtype=float, **options):
    return lapwing.fromfunction(lambda i, j: 100 * i + j, (23, 31), dtype, distribution, **options)


def address(values):
    return values.__array_interface__["data"][0]


def renew(a, more):
    """Collective: all have read what they wanted, and each rank changes its own elements."""
    lapwing.barrier()
    for own in a.domains():
        key = tuple(slice(one.start, one.stop, one.step) for one in own)
        a[key] = a[key] + more
    lapwing.barrier()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
@pytest.mark.parametrize(
    "keys, options", [(KEYS, {}), (KEYS, {"lower": (3, 2)}), (STEP_KEYS, {"lower": (1, 3), "step": (1, 3)})], ids=["plain", "lower", "step"]
)
def test_keys(rt, distribution, keys, options):
    a = made(distribution, **options)
    assert np.array_equal(np.asarray(a.mapped), a[...]) and np.array_equal(a.mapped(), a[...])
    for key in keys:
        view, values = a.mapped[key], a[key]
        assert np.array_equal(view, values) and np.shape(view) == np.shape(values), key
        assert isinstance(view, lapwing.MappedArray) == isinstance(values, np.ndarray)
        assert np.isscalar(view) or not view.size or not (view.flags.writeable or view.flags.owndata)
    whole = np.asarray(a.mapped)
    assert type(whole) is np.ndarray and whole.dtype == a.dtype and whole.flags.c_contiguous and not (whole.flags.writeable or whole.flags.owndata)
    rt.barrier()
    a.close()


@pytest.mark.parametrize("dtype", [np.int8, np.complex64, "S5", [("x", float), ("n", np.int32)]], ids=str)
def test_dtypes(rt, dtype):
    a = lapwing.zeros(50, dtype, lapwing.Cyclic())
    if rt.rank == 0:
        a[7:9] = np.array([1, 2]).astype(dtype) if not isinstance(dtype, list) else np.array([(1, 2), (3, 4)], dtype)
    rt.barrier()
    assert a.mapped()[...].tobytes() == a[...].tobytes() and a.mapped[6:9].tobytes() == a[6:9].tobytes()
    whole = np.asarray(a.mapped)
    assert whole.dtype == a.dtype and whole.tobytes() == a[...].tobytes() and whole.flags.aligned
    rt.barrier()
    a.close()


def test_refresh(rt):
    a = made(lapwing.Cyclic())
    whole, part = a.mapped(), a.mapped[3:20:4, 30:2:-7]
    inner = part[1:]
    renew(a, 0.5)
    whole.refresh()
    assert np.array_equal(whole, a[...])
    inner.refresh()  # of all of it
    assert np.array_equal(part, a[3:20:4, 30:2:-7])
    renew(a, 0.5)
    with part.start_refresh():
        pass
    assert np.array_equal(inner, a[3:20:4, 30:2:-7][1:])
    assert whole.memory >= 0 and part.memory >= 0
    rt.barrier()
    a.close()


def test_patterns(rt):
    a = made(lapwing.Block(grid=(0, 1)))
    for pattern in [lapwing.Stencil(1), lapwing.RowWise, lapwing.Domains([(range(2, 4), range(31))]), lapwing.Function(lambda own: (range(2, 4), range(31)))]:
        view = a.mapped(pattern)
        renew(a, 1)
        view.refresh()
        assert view.shape == a.shape
        for own in a.domains():
            above = max(own[0].start - 1, 0) if isinstance(pattern, lapwing.Stencil) else own[0].start
            assert np.array_equal(view[above : own[0].stop], a[above : own[0].stop])
        if isinstance(pattern, (lapwing.Domains, lapwing.Function)):
            assert np.array_equal(view[2:4], a[2:4])
        assert "MappedArray (23, 31) float64" in repr(view) + str(view)  # which reads nothing
    rt.barrier()
    a.close()


def test_at_barriers(rt):
    a = made(lapwing.Cyclic())
    view, still = a.mapped(lapwing.AllElements, at_barriers=True), a.mapped()
    before = np.array(still)
    renew(a, 1)
    assert np.array_equal(view, before + 1)
    rt.barrier()
    for own in a.domains():
        key = tuple(slice(one.start, one.stop, one.step) for one in own)
        a[key] = a[key] + 1
    a.barrier()
    assert np.array_equal(view, before + 2)
    del view
    assert len(rt._mapped) == 0
    kept = a.mapped(at_barriers=True)
    rt.barrier()
    a.close()
    rt.barrier()  # without it
    assert np.array_equal(kept, before + 2)
    del kept
    b = lapwing.zeros(9)
    view = b.mapped(at_barriers=True)
    b.resize((10,))
    with pytest.raises(lapwing.UsageError, match="map it again"):
        rt.barrier()
    del view
    rt.barrier()
    b.close()


def test_loop(rt):
    """Each temporary is gone before the next one, which then has its memory, without the garbage collector."""
    x, matrix = lapwing.ones(3000, distribution=lapwing.Cyclic()), np.eye(3000)[10:14] * 2
    gc.disable()
    try:
        places = set()
        for step in range(4):
            assert (matrix @ x.mapped).tolist() == [2.0 + 2 * step] * 4
            here = x.mapped()
            places.add(address(here))
            if step == 0:
                gone = weakref.ref(here._mapping)
            y = here * 2
            del here
            assert type(y) is np.ndarray and gone() is None
            places.add(address(np.asarray(x.mapped)))
            renew(x, 1)
        assert len(places) == 1
    finally:
        gc.enable()
    x.close()


def test_on_demand(rt):
    a = lapwing.fromfunction(lambda i, j: 100 * i + j, (300, 70), float, lapwing.Cyclic())
    whole = a.mapped(on_demand=True)
    assert whole[7, 3] == 703 and whole[299].tolist() == [29900 + j for j in range(70)]
    renew(a, 1)
    whole.refresh()
    assert whole[7, 3] == 704 and whole.sum() == 70 * sum(100 * i + 1 for i in range(300)) + 300 * sum(range(70))
    with pytest.raises(TypeError, match="without a pattern"):
        a.mapped(lapwing.RowWise(), on_demand=True)
    lapwing.barrier()


def test_lifetime(rt):
    a = lapwing.fromfunction(lambda i: i, 5000)
    whole = a.mapped()
    row = np.asarray(whole)[4000:4003]
    rt.barrier()
    a.close()
    assert whole[17] == 17
    with pytest.raises(lapwing.UsageError, match="map it again"):
        whole.refresh()
    with pytest.raises(lapwing.UsageError, match="map it again"):
        whole.start_refresh()
    with pytest.raises(lapwing.UsageError, match="closed"):
        a.mapped()
    with pytest.raises(lapwing.UsageError, match="closed"):
        np.asarray(a.mapped)
    del whole
    gc.collect()
    assert row.tolist() == [4000, 4001, 4002]


def test_lifetime_of_plain_arrays(rt):
    a = lapwing.fromfunction(lambda i: i, 5000)
    array, row = weakref.ref(a), np.asarray(a.mapped)[4000:4003]
    taken = [np.asarray(a.mapped) for _ in range(3)]
    assert len({address(one) for one in taken} | {address(row) - 4000 * 8}) == 4
    del a
    assert array() is None  # which they do not keep
    rt.collect()
    assert row.tolist() == [4000, 4001, 4002] and all(np.array_equal(one, np.arange(5000)) for one in taken)
    with pytest.raises(ValueError):
        row.flags.writeable = True


def test_two_at_once(rt):
    """What is still shown is not taken for the next one."""
    a = lapwing.fromfunction(lambda i: i, 5000, distribution=lapwing.Cyclic())
    first = np.asarray(a.mapped)
    part, place = first[10:20], address(first)
    del first
    renew(a, 1)
    second = np.asarray(a.mapped)
    assert address(second) != place and second.tolist() == list(range(1, 5001))
    assert rt.size == 1 or part.tolist() == list(range(10, 20))
    del part
    assert address(np.asarray(a.mapped)) == place  # until another is given up
    rt.barrier()
    a.close()


def test_changes(rt):
    """Memory that was given up is not taken for another shape or distribution, and goes with evict()."""
    a = made(lapwing.Block())
    assert np.array_equal(np.asarray(a.mapped), a[...])
    a.resize((40, 9))
    assert np.asarray(a.mapped).shape == (40, 9) and np.array_equal(np.asarray(a.mapped), a[...])
    a.redistribute(lapwing.Cyclic())
    assert np.array_equal(np.asarray(a.mapped), a[...])
    renew(a, 1)
    shown = np.asarray(a.mapped)
    used = a.statistics()["prefetch_memory"]
    a.prefetch_pattern(lapwing.RowWise).evict()
    assert a.statistics()["prefetch_memory"] == used
    del shown
    assert a.statistics()["prefetch_memory"] == used
    a.prefetch_pattern(lapwing.RowWise).evict()
    assert a.statistics()["prefetch_memory"] == 0
    assert np.array_equal(np.asarray(a.mapped), a[...])
    rt.barrier()
    a.close()


def test_runtime_closes(rt):
    other = lapwing.Runtime()
    a = lapwing.ones(5000, runtime=other)
    view = a.mapped(at_barriers=True)
    other.barrier()
    other.close()
    assert view[4999] == 1
    with pytest.raises(lapwing.UsageError, match="map it again"):
        view.refresh()
    with pytest.raises(lapwing.UsageError, match="closed"):
        np.asarray(a.mapped)


def test_results_are_plain(rt):
    a = made(lapwing.Cyclic())
    view = a.mapped()
    assert isinstance(view, lapwing.MappedArray) and isinstance(view.T, lapwing.MappedArray) and view.T._mapping is view._mapping
    for result in (view + 1, np.sin(view), view @ np.ones(31), np.asarray(a.mapped)):
        assert type(result) is np.ndarray
    assert isinstance(view.sum(), float) and isinstance(view[2, 3], float)
    assert type(pickle.loads(pickle.dumps(view))) is np.ndarray and np.array_equal(pickle.loads(pickle.dumps(view)), view)
    for copy in (view.copy(), view[[1, 2]], view.astype(int)):
        with pytest.raises(lapwing.UsageError, match="is a copy"):
            copy.refresh()
    for copy in (np.array(a.mapped), a.mapped.__array__(copy=True)):
        copy[...] = 1
    assert np.asarray(a.mapped, np.float32).dtype == np.float32 and "MappedArray" in repr(view) and "mapped of" in repr(a.mapped)
    assert np.array_equal(np.add(a.mapped, 1), view + 1)
    rt.barrier()
    a.close()


def test_scipy(rt):
    sparse = pytest.importorskip("scipy.sparse")
    x = lapwing.fromfunction(lambda i: i, 100, distribution=lapwing.Cyclic())
    matrix = sparse.random(40, 100, 0.1, format="csr", random_state=3)
    for right in (x.mapped, x.mapped(), x.mapped[:]):
        product = matrix @ right
        assert type(product) is np.ndarray and np.allclose(product, matrix @ np.arange(100.0))
    rt.barrier()
    x.close()


def test_nothing(rt):
    a = lapwing.zeros((0, 5))
    view = a.mapped()
    view.refresh()
    assert view.shape == (0, 5) and view.memory == 0 and not view.flags.writeable and a.mapped[:, 2:4].shape == (0, 2)
    whole = np.asarray(a.mapped)
    assert whole.shape == (0, 5) and not whole.flags.writeable
    a.close()


def test_errors(rt):
    a = made(lapwing.Block())
    with pytest.raises(lapwing.RangeError, match="index 23 of dimension 0"):
        a.mapped[23]
    for key in ([1, 2], np.ones((23, 31), bool)):
        with pytest.raises(TypeError, match=r"read by a\[key\]"):
            a.mapped[key]
    with pytest.raises(TypeError, match="lapwing.Pattern"):
        a.mapped("all")
    with pytest.raises(KeyError):
        a.mapped(lapwing.Function(lambda own: {}["this exception is wanted"]))
    with pytest.raises(ValueError, match="read-only"):
        a.mapped()[0, 0] = 1
    for values in (a.mapped(), np.asarray(a.mapped)):
        with pytest.raises(ValueError):
            values.flags.writeable = True
    with pytest.raises(ValueError, match="copy=False"):
        a.mapped.__array__(int, copy=False)
    rt.barrier()
    a.close()
