"""Where NumPy's meaning is expected: NaN, small integers and bool, operands that were forgotten, attributes."""

import numpy as np
import pytest

import lapwing

NAN = np.array([[1.0, np.nan, 3.0, 2.0], [np.nan, -4.0, np.nan, 5.0], [np.nan] * 4])
DISTRIBUTIONS = [lapwing.Block(), lapwing.Cyclic(), lapwing.Replicated(), lapwing.OnRanks([0])]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
@pytest.mark.parametrize("dtype", ["f8", "c8", "i1"])
def test_without_nan(rt, distribution, dtype):
    n = np.nan_to_num(NAN, nan=-1).astype(dtype) if np.dtype(dtype).kind in "ib" else NAN.astype(dtype)
    names = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "mean", "var", "std"]
    if np.dtype(dtype).kind != "c":
        names += ["nanmin", "nanmax", "min", "max"] + ([] if dtype == "?" else ["ptp"])
    with lapwing.from_numpy(n, distribution) as a:
        for name in names:
            for axis, keep in ((None, False), (None, True), (0, True), (-1, False)):
                wanted, found = getattr(np, name)(n, axis=axis, keepdims=keep), getattr(np, name)(a, axis, keepdims=keep)
                np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=f"{name} {axis}")
                assert np.asarray(found).dtype == np.asarray(wanted).dtype and np.shape(found) == np.shape(wanted), (name, axis, keep)
        rt.barrier()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_places(rt, distribution):
    n = NAN[:2]
    with lapwing.from_numpy(n, distribution) as a, lapwing.from_numpy(np.nan_to_num(n), distribution, lower=(3, -2)) as b:
        clean = np.nan_to_num(n)
        for name in ("argmin", "argmax", "nanargmin", "nanargmax"):
            for array, values in ((a, n), (b, clean)):
                flat = getattr(np, name)(values)
                assert getattr(np, name)(array) == flat
                place = getattr(array, name)()
                np.testing.assert_equal(array[place], values.flat[flat])
                assert tuple(np.subtract(place, array.lower)) == np.unravel_index(flat, values.shape)
                for axis in (0, 1, -1):
                    wanted = getattr(np, name)(values, axis)
                    np.testing.assert_array_equal(getattr(np, name)(array, axis=axis), wanted)
                    np.testing.assert_array_equal(getattr(array, name)(axis), wanted + array.lower[axis])
                    assert getattr(np, name)(array, axis, keepdims=True).shape == ((1, 4) if axis == 0 else (2, 1))
                kept = getattr(array, name)(keepdims=True)
                assert [one.shape for one in kept] == [(1, 1)] * 2 and tuple(int(one.item()) for one in kept) == place
                np.testing.assert_equal(array[kept], values.flat[[[flat]]])
                np.testing.assert_array_equal(getattr(np, name)(array, keepdims=True), [[flat]])
        rt.barrier()
    with lapwing.full(3, np.nan) as nothing:
        assert np.isnan(nothing.nanmin()) and np.isnan(nothing.nanmean()) and nothing.nansum() == 0
        with pytest.raises(ValueError, match="NaN"):
            nothing.nanargmax()
    with lapwing.from_numpy(np.array([False, True, True])) as flags:
        assert flags.argmax() == (1,) and np.argmin(flags) == 0 and flags[flags.argmax()]
        with pytest.raises(ValueError, match="one dimension"):
            np.argmax(flags, (0,))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # of the smallest floats, as in NumPy
def test_sums_are_as_wide_as_numpys(rt):
    p = rt.size
    for one in (True, np.bool_(True), np.int8(100), np.uint8(200), np.int16(30000), np.uint32(2**32 - 1), 7, 2.5, 1j, np.float32(0.5)):
        total, wanted = rt.sum(one), np.sum(np.full(p, one))
        assert total == wanted and total.dtype == wanted.dtype
        several = np.array([one, one])
        total = rt.sum(several.copy())
        assert total.tolist() == [wanted] * 2 and total.dtype == wanted.dtype
    kept = np.array([True, False])
    assert rt.sum(kept).tolist() == [p, 0] and kept.tolist() == [True, False]
    assert rt.max(rt.rank == 0) and not rt.min(rt.rank != 0) and rt.max(np.int8(100)) == 100
    for dtype in ("?", "i1", "u4", "f2"):
        n = np.full((3, 4), 100).astype(dtype)
        with lapwing.from_numpy(n) as a:
            for name in ("sum", "prod", "mean", "var", "nansum"):
                found, wanted = getattr(np, name)(a, axis=0), getattr(np, name)(n, axis=0)
                np.testing.assert_array_equal(found, wanted, f"{name} {dtype}")
                assert found.dtype == wanted.dtype
            np.testing.assert_allclose(np.linalg.norm(a), np.linalg.norm(n.astype(float)), rtol=1e-3)
            assert np.count_nonzero(a) == 12 and np.allclose(a, a) and np.allclose(a, np.ones_like(a) * 0) == np.allclose(n, np.zeros_like(n))
    with lapwing.from_numpy(np.array([0, 9], np.uint8)) as a, lapwing.from_numpy(np.array([1, 8], np.uint8)) as b:
        assert np.allclose(a, b, atol=2) and not np.allclose(a, b)
    with lapwing.full(2, np.inf) as a:
        assert np.allclose(a, a) and not np.allclose(a * 0, a * 0) and np.allclose(a * 0, a * 0, equal_nan=True)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "u1", "u2", "u4"])
def test_sums_in_small_types(rt, distribution, dtype):
    """Of all ranks' elements, with NumPy's overflow."""
    n = np.arange(1.0, 24).reshape(23, 1) * [[1, 5]]
    with lapwing.from_numpy(n, distribution) as a, lapwing.from_numpy(n.astype("i4"), distribution) as b:
        for array, values in ((a, n), (b, n.astype("i4"))):
            for call in (np.sum, np.nansum, np.add.reduce):
                for axis in (None, 0, 1):
                    found, wanted = call(array, axis=axis, dtype=dtype), call(values.astype(dtype), axis=axis, dtype=dtype)
                    np.testing.assert_array_equal(found, wanted, f"{call} {axis}")
                    assert found.dtype == wanted.dtype
        rt.barrier()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_variance_of_half_precision(rt, distribution):
    """The mean is not rounded to float16, whose neighbours of 1000 are 0.5 away, before the distances are taken."""
    n = (1000 + np.array([0, 0.5, 1, 1.5, 2, 2.5, 3, 3])).astype(np.float16)
    exact = n.astype(np.float64)
    with lapwing.from_numpy(n, distribution) as a, lapwing.from_numpy(np.append(n, np.float16(np.nan)), distribution) as b:
        for array, names in ((a, ("mean", "var", "std", "nanmean", "nanvar", "nanstd")), (b, ("nanmean", "nanvar", "nanstd"))):
            for name in names:
                found, wanted = getattr(array, name)(), getattr(np, name)(exact)
                assert found.dtype == np.float16 and abs(found - wanted) <= np.spacing(np.float16(wanted)), (name, found, wanted)
        rt.barrier()


def test_values_of_records(rt):
    """A record within a record is written as a tuple; None in it is an error."""
    with lapwing.zeros(4, [("a", "f8"), ("b", [("c", "i4"), ("d", "f8")])]) as a:
        if rt.rank == 0:
            a[1], a[2:4] = (1, (2, 3)), [(4, (5, 6)), (7, (8, 9))]
            for key, value in ((0, None), (1, (1, (2, None))), (slice(2), [(1, (2, 3)), (None, (2, 3))])):
                with pytest.raises(lapwing.UsageError, match="the value"):
                    a[key] = value
        a.barrier()
        assert a[...].tolist() == [(0, (0, 0)), (1, (2, 3)), (4, (5, 6)), (7, (8, 9))]
        rt.barrier()


def test_numpys_parameters(rt):
    n = np.arange(12.0).reshape(3, 4)
    with lapwing.from_numpy(n) as a:
        np.testing.assert_array_equal(np.mean(a, 0, np.float32, None, True), np.mean(n, 0, np.float32, None, True))
        np.testing.assert_array_equal(np.any(a, 1, None, True), np.any(n, 1, None, True))
        np.testing.assert_array_equal(np.asarray(np.transpose(a, axes=(1, 0))), n.T)
        assert np.copy(a, "C").shape == n.shape
        whole = np.zeros((3, 4))
        np.copyto(whole, a)
        assert whole.tolist() == n.tolist()
        for wrong in (
            lambda: np.sum(a, out=np.zeros(())), lambda: np.sum(a, initial=5), lambda: np.mean(a, where=n > 3), lambda: np.argmax(a, out=np.zeros(3)),
            lambda: np.nansum(a, 0, None, np.zeros(4)), lambda: np.ptp(a, out=1), lambda: np.full_like(a, 1, order="F"), lambda: np.mean(a, dtype=int),
        ):  # fmt: skip
            with pytest.raises(TypeError, match="lapwing"):
                wrong()
        rt.barrier()


@pytest.mark.parametrize("dtype", ["f8", "c16", "i8", "u4", "i1", "?"])
def test_forgotten_operands(rt, dtype):
    """No element changes, and the text names the argument."""
    dtype = np.dtype(dtype)
    single, lists = "or" if dtype == bool else "add", dtype.kind in "iuf" and dtype.itemsize >= 4
    with lapwing.from_numpy(np.ones((2, 3), dtype)) as a, lapwing.Window(64) as w:
        calls = [
            lambda: a.fetch(single, (0, 0)), lambda: a.fetch("replace", (0, 0), None), lambda: a.update(single, (0, 1), None), lambda: a.fill(None),
            lambda: a.compare_swap((0, 0), None, 1), lambda: a.compare_swap((0, 0), 1, None), lambda: a.start_put((0, 0), None),
            lambda: a.slice[0].fill(None), lambda: a.slice[0].assign(None), lambda: a.slice[0].put(None), lambda: a.slice[0].start_put([1, None, 2]),
            lambda: lapwing.full(3, None, dtype), lambda: w.fetch(single, 0, 0, dtype=dtype), lambda: w.update(single, 0, 0, None, dtype),
            lambda: w.compare_swap(0, 0, None, 1, dtype), lambda: w.compare_swap(0, 0, 1, None, dtype), lambda: np.full_like(a, None),
            lambda: a.fetch(single, (0, 0), [1, 1]), lambda: w.update(single, 0, 0, [1, 1], dtype), lambda: a.__setitem__((0, 0), None),
            lambda: a.__setitem__(slice(0, 2), None), lambda: a.__setitem__(([0, 1], [1, 1]), [None, 1]), lambda: a.__setitem__((0, slice(None, None, -1)), [1, None, 1]),
            lambda: a.__setitem__(..., np.array([1, None, 1])), lambda: a.start_put(([0, 1], [1, 1]), [None, 1]),
            lambda: a.fill([1, 2]), lambda: a.slice[0].fill([1, 2]), lambda: lapwing.Assignment().add(a.slice[0], [1, 2]), lambda: lapwing.Assignment().add(a, None),
            lambda: lapwing.full(3, [1, 2], dtype), lambda: np.full_like(a, [1, 2]),
        ]  # fmt: skip
        if lists:
            calls += [
                lambda: a.fetch_list("add", [0, 1]), lambda: a.start_fetch_list("add", [0, 1], [None, 1, 1]), lambda: w.fetch_list("add", 0, [0], None, dtype),
                lambda: w.start_fetch_list("replace", 0, [0, 8], dtype=dtype), lambda: a.compare_swap_list([0], None, 1),
                lambda: a.start_compare_swap_list([0], 1, None), lambda: w.compare_swap_list(0, [0], None, 1, dtype),
                lambda: w.start_compare_swap_list(0, [0], 1, None, dtype),
            ]  # fmt: skip
        if dtype.kind in "iu":
            calls += [lambda: a.fetch_add((0, 0), 1.5), lambda: a.update("max", (0, 0), 2**70), lambda: a.fetch_add((0, 0), 2j), lambda: a.fetch_add((0, 0), np.nan)]
        if dtype.kind != "b":
            calls += [lambda: a.__setitem__((0, 0), "seven")]
        if dtype.kind == "f":
            calls += [lambda: a.fetch_add((0, 0), 2j), lambda: a.fetch_add((0, 0), "seven")]
        for call in calls:
            with pytest.raises(lapwing.UsageError, match="operand|value|expected|desired"):
                call()
        a.flush(), w.flush()
        rt.barrier()
        assert (a[...] == 1).all() and not w.local.any()
        rt.barrier()
    for bad in (lambda: rt.sum(None), lambda: rt.max([None]), lambda: rt.all_gather(None), lambda: rt.broadcast(np.array([None])),
                lambda: rt.combine(np.array([None]), np.add), lambda: rt.require_same([0.5]), lambda: rt.require_same(None)):  # fmt: skip
        with pytest.raises(TypeError, match="lapwing"):
            bad()


def test_own_memory_is_changed_in_place(rt):
    with lapwing.ones((4, 6), halo=1) as a, lapwing.Window(8) as w, lapwing.from_numpy(np.arange(24.0).reshape(6, 4)) as b:
        a.local += 1
        a.local *= 2
        w.local |= 3
        rt.barrier()
        assert (a[...] == 4).all() and (w.local == 3).all()
        with a.halo(1) as halo:
            halo.exchange()
            halo.array += 1
            halo.own -= 2
            halo.store()
        del halo
        rt.barrier()
        assert (a[...] == 3).all()
        rt.barrier()
        a.T += b
        a.slice[...].T -= b
        a.slice[:2].T *= b.slice[:, :2]
        np.testing.assert_array_equal(a[...], np.vstack([3 * np.arange(24.0).reshape(6, 4).T[:2], np.full((2, 6), 3.0)]))
        rt.barrier()
        for wrong in (
            lambda: setattr(a, "local", np.ones((4, 6))), lambda: setattr(a, "local", 1), lambda: setattr(w, "local", np.zeros(8)),
            lambda: setattr(a, "T", b), lambda: setattr(a.slice[0:2], "T", 3),
        ):  # fmt: skip
            with pytest.raises(AttributeError, match=r"\[...\] = "):
                wrong()


def test_attributes_stay(rt):
    with lapwing.ones((4, 6)) as a, lapwing.Window(8) as w, a.halo(0) as halo:
        lock = lapwing.Lock()
        for one, name, remedy in (
            (a, "shape", "resize"), (a, "dtype", "astype"), (a, "distribution", "redistribute"), (a, "lower", "lapwing.Array"), (a, "step", "lapwing.Array"),
            (a, "name", "lapwing.Array"), (a, "size", "resize"), (a, "ndim", "resize"), (a, "runtime", "runtime"), (a, "slice", "assigns"),
            (a, "closed", "read alone"), (w, "runtime", "runtime"), (w, "name", "read alone"), (halo, "depth", "halo"), (halo, "ranges", "depth"),
            (lock, "held", "read alone"), (a.T, "shape", "another slice"), (a.T, "dtype", "another slice"), (rt, "rank", "communicator"), (rt, "size", "communicator"),
            (rt, "nodes", "read alone"),
        ):  # fmt: skip
            with pytest.raises(AttributeError, match=f"{name} cannot be set.*{remedy}"):
                setattr(one, name, (6, 4))
        assert a.shape == (4, 6) and a[3, 5] == 1 and halo.depth == 0
        del halo, one
        a.units = "m"  # a program's own
        assert a.units == "m"
        rt.barrier()


def test_wrong_names_and_numbers_have_remedies(rt):
    with lapwing.ones((4, 6)) as a, lapwing.ones(4) as row, lapwing.Window(64, counters=1) as w:
        L = lapwing.Layout
        for call, error, words in (
            (lambda: a.fetch("mul", (0, 0), 1), TypeError, "'mul'.*must be one of 'add'"), (lambda: a.update(3, (0, 0), 1), TypeError, "must be one of"),
            (lambda: a.fetch_add((0, 0), 1, order="strong"), TypeError, "'strong'.*'relaxed'"), (lambda: a.fetch_list("mul", [0], 1), TypeError, "'add'"),
            (lambda: w.fetch("mul", 0, 0, 1), TypeError, "'add'"), (lambda: w.compare_swap(0, 0, 0, 1, order=5), TypeError, "'relaxed'"),
            (lambda: w.fetch_list("sum", 0, [0], 1), TypeError, "'add'"), (lambda: a.reduction(1, row, "mean"), TypeError, "'replace', 'add'"),
            (lambda: a.slice[...].assign(a, "divide"), TypeError, "'multiply'"), (lambda: lapwing.zeros(3, cache="on"), ValueError, "'on'.*'epoch'"),
            (lambda: lapwing.zeros(3, cache=3), TypeError, "cache is 3"), (lambda: lapwing.zeros(3, cache={"page_bytes": "x"}), TypeError, "page_bytes is 'x'"),
            (lambda: w.put(0, -8, np.ones(1)), IndexError, "Window.put: offset is -8; it must be an integer from 0 to 2.64 - 1"),
            (lambda: w.get("0", 8, 1), TypeError, "Window.get: rank is '0'; it must be an integer"), (lambda: w.get(0, 1.5, 1), TypeError, "offset is 1.5"),
            (lambda: w.fetch("add", 0, None, 1), TypeError, "offset is None"), (lambda: w.wait_notified(0, "1"), TypeError, "count is '1'"),
            (lambda: w.fetch_list("add", 0, [0, -8], 1), IndexError, "number 1 of the offsets is -8"), (lambda: w.fetch_list("add", 0, [8.0], 1), TypeError, "integers"),
            (lambda: a.owner(1.5, 0), TypeError, "1.5.*must be an integer"), (lambda: a.fetch_add((0, "x"), 1), TypeError, "'x'"), (lambda: a.owner(2**70, 0), IndexError, "2.63"),
            (lambda: lapwing.zeros((3.7,)), TypeError, "3.7.*must be an integer"), (lambda: lapwing.zeros("3"), TypeError, "shape '3'"), (lambda: lapwing.zeros(2**64), IndexError, "shape"),
            (lambda: a.resize((2, None)), TypeError, "None"), (lambda: lapwing.Block(grid=1.5), TypeError, "grid 1.5"), (lambda: lapwing.BlockCyclic("2"), TypeError, "block"),
            (lambda: lapwing.OnRanks([0.0]), TypeError, "ranks"), (lambda: lapwing.OnRanks([0], "block"), TypeError, "'block'"), (lambda: lapwing.Aligned([3]), TypeError, "3 is no range"),
            (lambda: a.redistribute("cyclic"), TypeError, "'cyclic'"), (lambda: a.relabelling(3), TypeError, "distribution is 3"), (lambda: a.sum(axis=1.0), TypeError, "axis 1.0"),
            (lambda: a.sum_along("0", row), TypeError, "axis '0'"), (lambda: a.halo("1"), TypeError, "depth is '1'"), (lambda: a.halo(1, (True,) * 3), TypeError, "periodic is"),
            (lambda: lapwing.zeros(3, halo=1.0), TypeError, "halo is 1.0"), (lambda: a.T.transpose("xy"), TypeError, "'xy'"), (lambda: a.copy_from(np.ones((4, 6))), TypeError, "ndarray"),
            (lambda: L.indexed([0.5], 8), TypeError, "integers"), (lambda: L.blocks([(0, 8, 3)]), ValueError, r"\(0, 8, 3\)"), (lambda: L.concatenated([8]), TypeError, "part 0 is 8"),
            (lambda: L.contiguous(-1), IndexError, "Layout.contiguous: nbytes is -1"), (lambda: L.patch([range(2)], (3, 3), 8), ValueError, "1 ranges"), (lambda: rt.path(None), TypeError, "Runtime.path: rank is None"),
            (lambda: w.plan_put(0, 0, L.contiguous(8), L.contiguous(8), growth="fast"), TypeError, "growth is 'fast'; it must be a number"), (lambda: a.flush(0.5), TypeError, "rank is 0.5"),
            (lambda: lapwing.from_numpy(3.0), TypeError, "no dimensions"), (lambda: lapwing.Window("8"), TypeError, "nbytes is '8'"), (lambda: lapwing.Window(8, counters=-1), IndexError, "-1"),
            (lambda: a.prefetch_pattern(lapwing.Domains([(3, range(3))])), TypeError, "domain 0"), (lambda: lapwing.Lock(home="0"), TypeError, "home is '0'"),
            (lambda: rt.broadcast(np.ones(1), root=0.5), TypeError, "root is 0.5"), (lambda: a.domains("0"), TypeError, "rank is '0'"),
        ):  # fmt: skip
            with pytest.raises(error, match=words):
                call()
        with lapwing.zeros(4, lower=5) as b, pytest.raises(lapwing.RangeError, match=r"index 4, outside \[5, 9\)"):
            b[[5, 4]]
        rt.barrier()
