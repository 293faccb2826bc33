"""Indices with steps, arrays over parts of a space, patterns that are functions, and copies around the rank's own part."""

import numpy as np
import pytest

import lapwing


def strided():
    """Indices 2, 5, 8, 11 and -3, -1, ..., 9; elements are 100 i + j."""
    a = lapwing.Array((4, 7), np.int64, lower=(2, -3), step=(3, 2))
    for rows, columns in a.domains():
        for i in rows:
            for j in columns:
                a[i, j] = 100 * i + j
    a.barrier()
    return a


def test_steps(rt):
    a = strided()
    expected = 100 * np.arange(2, 12, 3)[:, None] + np.arange(-3, 10, 2)
    assert a.step == (3, 2) and a[5, -1] == 499 and a[...].tolist() == expected.tolist()
    assert a[5:9].tolist() == expected[1:3].tolist() and a[:, ::4].tolist() == expected[:, ::2].tolist()
    assert a[8::-3, 9:-3:-2].tolist() == expected[2::-1, :0:-1].tolist()
    assert a[3:9, -2:100].tolist() == expected[1:3, 1:].tolist()  # from the next index on, as far as there are any
    assert a[[11, 2], [9, -3]].tolist() == [1109, 197] and a[5, [-3, 1]].tolist() == [497, 501]
    assert a[[11, 2], 3:].tolist() == expected[[3, 0], 3:].tolist() and a.argmax() == (11, 9)
    assert a.slice[8, ::-2].get().tolist() == expected[2, ::-1].tolist()
    assert [row.tolist() for row in a] == expected.tolist()
    for key in ((3, -3), (2, -2), (14, -3), (-1, -3), ([2, 3], [-3, -3])):
        with pytest.raises(lapwing.RangeError, match="by"):
            a[key]
    with pytest.raises(lapwing.RangeError, match="multiples"):
        a[:, ::3]
    with pytest.raises(ValueError, match="step"):
        lapwing.Array((4, 7), step=3)
    with pytest.raises(lapwing.RangeError, match="stride 0"):
        lapwing.Array((4,), step=0)
    rt.barrier()


def test_arithmetic_with_steps(rt):
    a, b = strided(), lapwing.from_numpy(np.arange(28).reshape(4, 7), lapwing.Cyclic())
    whole = a[...]
    assert (a + b)[...].tolist() == (whole + b[...]).tolist() and (b + a)[...].tolist() == (whole + b[...]).tolist()
    assert (a * b[0])[...].tolist() == (whole * b[0]).tolist()
    assert a.sum(axis=0).tolist() == whole.sum(axis=0).tolist() and a.copy()[11, 9] == 1109
    c = lapwing.from_numpy(whole, lower=(2, -3), step=(3, 2))
    assert (c == a).all()
    a.resize((5, 7))
    assert a[14, 9] == 0 and a[11, 9] == 1109
    rt.barrier()


@pytest.mark.parametrize("whole", [lapwing.Block(), lapwing.BlockCyclic((2, 3)), lapwing.Cyclic()])
def test_aligned(rt, whole):
    grid = lapwing.Aligned((range(-1, 9), range(0, 11)), whole)
    assert grid == lapwing.Aligned((range(-1, 9), range(0, 11)), whole) and "Aligned" in repr(grid)
    all_of = lapwing.zeros((10, 11), distribution=grid, lower=(-1, 0))
    inner = lapwing.ones((8, 9), distribution=grid, lower=(0, 1))
    rows = lapwing.full((4, 11), 3, float, grid, lower=(0, 0), step=(2, 1))
    for i in range(0, 8, 2):
        for j in range(1, 10):
            assert all_of.owner(i, j) == inner.owner(i, j) == rows.owner(i, j)
    assert (inner + 1).sum() == 144 and rows.sum() == 132
    with pytest.raises(lapwing.RangeError, match="keeps"):
        inner.resize((7, 9))
    with pytest.raises(lapwing.RangeError, match="space"):
        lapwing.zeros((10, 12), distribution=grid, lower=(-1, 0))
    with pytest.raises(ValueError, match="2 ranges"):
        lapwing.zeros(3, distribution=grid)
    with pytest.raises(ValueError, match="itself"):
        lapwing.Aligned((range(3),), lapwing.Aligned((range(3),)))
    with pytest.raises(ValueError, match="backwards"):
        lapwing.Aligned((range(3, 0, -1),))
    rt.barrier()


class Reversed(lapwing.Distribution):
    """Blocks of the last processes first, in one dimension."""

    def _block(self, shape, ranks):
        return -(-shape[0] // ranks)

    def locate(self, shape, ranks, index):
        block = self._block(shape, ranks)
        return ranks - 1 - index[0] // block, index[0] % block, block - index[0] % block

    def capacity(self, shape, ranks):
        return self._block(shape, ranks)

    def domains(self, shape, ranks, rank):
        block = self._block(shape, ranks)
        first = (ranks - 1 - rank) * block
        return [(range(first, min(first + block, shape[0])),)] if first < shape[0] else []


@pytest.mark.parametrize("within", [lapwing.Block(), lapwing.Cyclic(), lapwing.BlockCyclic((2,)), Reversed()])
def test_on_ranks(rt, within):
    chosen = list(range(rt.size - 1, 0, -1)) or [0]  # all but rank 0, the last first
    some = lapwing.OnRanks(chosen, within)
    assert some == lapwing.OnRanks(tuple(chosen), within) and some != lapwing.OnRanks([0, *chosen], within) and "OnRanks" in repr(some)
    values = np.arange(11)
    everywhere, few = lapwing.from_numpy(values, lapwing.Cyclic()), lapwing.zeros(11, int, some)
    few[...] = everywhere.slice[...]
    if isinstance(within, lapwing.Cyclic):
        assert [few.owner(i) for i in range(11)] == [chosen[i % len(chosen)] for i in range(11)]
    assert {few.owner(i) for i in range(11)} <= set(chosen) and few[...].tolist() == values.tolist()
    assert sum(len(indices[0]) for indices in few.domains()) == sum(few.owner(i) == rt.rank for i in range(11))
    assert few.sum() == 55 and (few + 1).sum() == 66
    few.resize(13)
    few.redistribute(lapwing.Block())
    few.redistribute(some)
    assert few[...].tolist() == [*values.tolist(), 0, 0]
    grid = lapwing.Aligned((range(-2, 11),), some)
    whole, part = lapwing.zeros(13, distribution=grid, lower=(-2,)), lapwing.zeros(11, distribution=grid, lower=(0,))
    assert all(whole.owner(i) == part.owner(i) and part.owner(i) in chosen for i in range(11))
    with pytest.raises(lapwing.UsageError):
        few.local
    rt.barrier()


def uneven(extent, ranks):
    lengths = [0 if k == 0 else 1 + k % 2 for k in range(ranks)]
    lengths[-1] = extent - sum(lengths[:-1])
    return lengths


def test_blocks(rt):
    lengths = uneven(13, rt.size)
    blocks = lapwing.Blocks(rt.all_gather(lengths[rt.rank]))
    assert blocks == lapwing.Blocks(lengths) == lapwing.Blocks([lengths]) and eval(repr(blocks)) == blocks
    assert blocks != lapwing.Blocks([None, lengths])
    values = np.arange(13 * 5).reshape(13, 5)
    rows, columns = lapwing.from_numpy(values, blocks), lapwing.from_numpy(values.T, lapwing.Blocks([None, lengths]))
    begin = sum(lengths[: rt.rank])
    own = slice(begin, begin + lengths[rt.rank])
    mine = rows.local
    assert mine.tolist() == values[own].tolist()
    mine += 1
    del mine  # no array shows the memory when it is redistributed
    mine = columns.local
    assert mine.tolist() == values.T[:, own].tolist()
    del mine
    rt.barrier()
    assert rows[...].tolist() == (values + 1).tolist() and (rows * 2).sum() == (values + 1).sum() * 2
    with rows.halo(1) as h:
        h.exchange()
    del h  # nor a halo
    with rows.prefetch_pattern(lapwing.Stencil(1)) as p:
        p.update()
        assert all(rows[i, 0] == 5 * i + 1 for i in range(max(0, begin - 1), min(13, own.stop + 1)))
    rt.barrier()
    rows.redistribute(lapwing.Cyclic())
    rows.redistribute(blocks)
    assert rows[...].tolist() == (values + 1).tolist() and rows.local.shape == (lengths[rt.rank], 5)
    with pytest.raises(lapwing.RangeError, match="make up the extent"):
        rows.resize((14, 5))
    few = lapwing.zeros(13, distribution=lapwing.OnRanks(range(rt.size - 1, -1, -1), blocks))
    assert few.owner(12) == 0
    rt.barrier()


def test_wrong_blocks(rt):
    for lengths, words in (([5] * rt.size, "extent is 4"), ([4] + [0] * rt.size, f"blocks for {rt.size} ranks"), ([5, -1] + [0] * (rt.size - 2), "-1" if rt.size > 1 else "2 blocks for 1")):
        with pytest.raises(lapwing.RangeError, match=words):
            lapwing.zeros(4, distribution=lapwing.Blocks(lengths))
    with pytest.raises(ValueError, match="2 dimensions"):
        lapwing.zeros(4, distribution=lapwing.Blocks([[1], [1]]))
    with pytest.raises(lapwing.UsageError, match="1.5"):
        lapwing.Blocks([1.5])
    for lengths in (5, np.int64(5), None):
        with pytest.raises(lapwing.UsageError, match=r"Blocks: lengths is .*one length for each rank"):
            lapwing.Blocks(lengths)
    with pytest.raises(ValueError, match=r"numpy\.concatenate\(lengths\)"):
        lapwing.zeros(4, distribution=lapwing.Blocks([np.array([2]), np.array([2])]))
    rt.barrier()


def test_on_wrong_ranks(rt):
    for ranks, words in (([], "at least one"), ([0, rt.size], f"rank {rt.size} is outside"), ([-1], "rank -1"), ([0, 0], "twice")):
        with pytest.raises(lapwing.RangeError, match=words):
            lapwing.zeros(4, distribution=lapwing.OnRanks(ranks))
    for within in (lapwing.Replicated(), lapwing.OnRanks([0]), lapwing.Aligned((range(4),))):
        with pytest.raises(ValueError, match="over some of the ranks"):
            lapwing.OnRanks([0], within)
    with pytest.raises(ValueError, match="1 dimensions"):
        lapwing.zeros(4, distribution=lapwing.OnRanks([0], lapwing.Block(grid=(1, 1))))
    if rt.size > 1:
        with pytest.raises(lapwing.MismatchError):
            lapwing.zeros(4, distribution=lapwing.OnRanks([min(rt.rank, 1)]))
    rt.barrier()


def test_function_patterns(rt):
    a = lapwing.fromfunction(lambda i, j: 10 * i + j, (9, 4), distribution=lapwing.Block(grid=(0, 1)))
    asked = []

    def rows_around(own):
        asked.append(own)
        return [(range(own[0].start - 1, own[0].stop + 1), own[1])] if own[0] else []

    with a.prefetch_pattern(lapwing.Function(rows_around), consistent=False) as copies:
        assert len(asked) == 1
        for own, _ in a.domains():
            for i in range(9):
                assert copies.has(i, 2) == (i in (own.start - 1, own.stop))
        a.barrier()
        a.resize((12, 4))
        assert len(asked) == 2
    assert "Function" in repr(lapwing.Function(rows_around))

    def wrong(own):
        raise KeyError("in the pattern")

    with pytest.raises(KeyError, match="in the pattern"):
        a.prefetch_pattern(lapwing.Function(wrong))
    with pytest.raises(ValueError, match="1 ranges"):
        a.prefetch_pattern(lapwing.Function(lambda own: (range(3),)))
    rt.barrier()


def test_copies_in_halo(rt):
    a = lapwing.fromfunction(lambda i, j: 100 * i + j, (9, 8), halo=1)
    with pytest.raises(lapwing.UsageError, match="halo"):
        lapwing.zeros(4).prefetch_pattern(lapwing.Stencil(), storage="in_halo")
    with a.prefetch_pattern(lapwing.Stencil(), consistent=False, storage="in_halo") as copies:
        view, first = copies.view()
        if view.size:
            assert (view == 100 * (first[0] + np.arange(view.shape[0]))[:, None] + first[1] + np.arange(view.shape[1])).all()
            with pytest.raises(ValueError):
                view[0, 0] = 1
        assert view.shape == a.local.shape or rt.size > 1
        del view
    a.close()
