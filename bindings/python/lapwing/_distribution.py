"""How elements are spread over the ranks."""

import reprlib

import numpy as np

from . import _errors
from ._library import Callback, ffi, lib
from ._types import integers


class Distribution:
    """A distribution of the program's own: a class with these four functions, which give the same answers on every rank. Indices are counted
    from 0. They are called for every element that is accessed: for large arrays Block, Cyclic and BlockCyclic are far faster.
    """

    _kind = 4
    _has_local = False  # a.local is a NumPy array
    replicated = False

    def locate(self, shape, ranks, index):
        """(owner, offset, contiguous): the rank, the place in its part in elements, and how many elements from there on are contiguous
        as the last index grows."""
        raise NotImplementedError

    def capacity(self, shape, ranks):
        """Elements to allocate at each rank."""
        raise NotImplementedError

    def domains(self, shape, ranks, rank):
        """What a rank owns: a list of disjoint domains, each a tuple of one Python range per dimension."""
        raise NotImplementedError

    def _key(self):
        return (type(self).__name__, id(self))

    def _parameters(self, dimensions):
        """The C structure, and the objects that must be kept as long as it is used."""

        def of(shape):
            return tuple(shape.extents[0 : shape.dimensions]), shape.ranks

        def locate(shape, index):
            return self.locate(*of(shape), tuple(index[0 : shape.dimensions]))

        def domain(shape, rank, k, ranges):
            for d, one in enumerate(self.domains(*of(shape), rank)[k]):
                ranges[d].first, ranges[d].size, ranges[d].stride = one.start, len(one), one.step

        callback = Callback(
            locate=locate,
            capacity=lambda shape: self.capacity(*of(shape)),
            domain_count=lambda shape, rank: len(self.domains(*of(shape), rank)),
            domain=domain,
        )
        functions = ffi.new("lapwing_distribution_functions*")
        functions.locate = lib.lapwing_python_locate
        functions.capacity = lib.lapwing_python_capacity
        functions.domain_count = lib.lapwing_python_domain_count
        functions.domain = lib.lapwing_python_domain
        functions.replicated = self.replicated
        structure = ffi.new("lapwing_distribution*")
        structure.kind, structure.functions, structure.context = self._kind, functions, callback.handle
        return structure, (callback, functions), callback


def distribution_of(value, call):
    """What a program passes as a distribution: one, or its class."""
    if isinstance(value, type) and issubclass(value, Distribution):
        value = value()
    if not isinstance(value, Distribution):
        raise TypeError(f"lapwing.{call}: distribution is {value!r}; it must be a lapwing.Distribution, as lapwing.Block()")
    return value


class _Regular(Distribution):
    _has_local = True

    def __init__(self, grid=None):
        self.grid = None if grid is None else integers(grid, f"{type(self).__name__}: grid")

    def __repr__(self):
        return f"lapwing.{type(self).__name__}({'' if self.grid is None else f'grid={self.grid}'})"

    def __eq__(self, other):
        return isinstance(other, Distribution) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return (type(self).__name__, self.grid)

    def _parameters(self, dimensions):
        structure, kept = ffi.new("lapwing_distribution*"), []
        structure.kind = self._kind
        if self.grid is not None:
            if len(self.grid) != dimensions:
                raise ValueError(f"lapwing.{type(self).__name__}: grid {self.grid} has {len(self.grid)} numbers, and the array {dimensions} dimensions")
            kept.append(ffi.new("int[]", self.grid))
            structure.grid = kept[-1]
        return structure, kept, None


class Block(_Regular):
    """One block of ceil(extent / processes) indices per process in each dimension. `grid`: processes in each dimension; 0: Lapwing chooses.

    >>> import lapwing
    >>> lapwing.Block(grid=(0, 1))  # blocks of rows
    lapwing.Block(grid=(0, 1))
    """

    _kind = 0


class Cyclic(_Regular):
    """Index i of a dimension with P processes belongs to process i mod P."""

    _kind = 1


class BlockCyclic(_Regular):
    """Blocks of `block` indices (one number per dimension), assigned to the processes in turn."""

    _kind = 2

    def __init__(self, block, grid=None):
        super().__init__(grid)
        self.block = integers(block, "BlockCyclic: block")

    def __repr__(self):
        return f"lapwing.BlockCyclic({self.block}{'' if self.grid is None else f', grid={self.grid}'})"

    def _key(self):
        return (*super()._key(), self.block)

    def _parameters(self, dimensions):
        structure, kept, callback = super()._parameters(dimensions)
        if len(self.block) != dimensions:
            raise ValueError(f"lapwing.BlockCyclic: block {self.block} has {len(self.block)} numbers, and the array {dimensions} dimensions")
        kept.append(ffi.new("int64_t[]", self.block))
        structure.block = kept[-1]
        return structure, kept, callback


class Blocks(_Regular):
    """Blocks with a length for each process, consecutive in the order of the ranks. `lengths`: one for each rank, 0 where it is to have nothing, in the
    first dimension, also as a NumPy array of any shape; or a list of lengths for each dimension, whose numbers multiplied are the number of ranks (None: not divided). The lengths of a
    dimension make up its extent; a RangeError says where they do not. Memory: 8 bytes for each length at every rank.

    >>> import lapwing
    >>> mine = lapwing.rank() + 1
    >>> blocks = lapwing.Blocks(lapwing.runtime().all_gather(mine))  # each rank says its own length
    >>> a = lapwing.zeros(sum(blocks.lengths[0]), distribution=blocks)
    >>> a.local.shape == (mine,)
    True
    """

    _kind = 7

    def __init__(self, lengths):
        super().__init__()
        if not hasattr(lengths, "__iter__"):
            raise _errors.UsageError(
                f"lapwing: Blocks: lengths is {lengths!r}; it must be a list with one length for each rank, as lapwing.runtime().all_gather(length) makes "
                f"of each rank's own, or a list of such lists, one for each dimension"
            )
        lists = [[] if one is None else one for one in ([np.ravel(lengths)] if isinstance(lengths, np.ndarray) else lengths)]
        if not any(np.ndim(one) for one in lists):
            lists = [lists]
        self.lengths = tuple(integers(one, "Blocks: lengths") for one in lists)

    def __repr__(self):
        return f"lapwing.Blocks({self.lengths if len(self.lengths) > 1 else self.lengths[0]})"

    def _key(self):
        return (type(self).__name__, self.lengths)

    def _parameters(self, dimensions):
        structure, kept, callback = super()._parameters(dimensions)
        if len(self.lengths) > dimensions:
            flat = all(len(one) == 1 for one in self.lengths)
            remedy = "; a length for each rank is passed as one list or NumPy array: numpy.concatenate(lengths)" if flat else ""
            raise ValueError(f"lapwing.Blocks: lengths {reprlib.repr(self.lengths)} are for {len(self.lengths)} dimensions, and the array has {dimensions}{remedy}")
        counts = [len(one) for one in self.lengths] + [0] * (dimensions - len(self.lengths))
        every = [length for one in self.lengths for length in one]
        kept += [ffi.new("int[]", counts), ffi.new("int64_t[]", every)]
        structure.grid, structure.block, structure.block_count = kept[0], kept[1], len(every)
        return structure, kept, callback


class Replicated(_Regular):
    """Every rank has all elements; writes go to every copy."""

    _kind = 3
    replicated = True

    def __init__(self):
        super().__init__()


class Aligned(Distribution):
    """As part of an index space, one Python range per dimension, which `distribution` spreads as a whole: elements with the same index are on the
    same rank in all arrays over the space. Such arrays have no .local, unless they cover the space, and cannot be resized.

    >>> import lapwing
    >>> grid = lapwing.Aligned((range(-1, 9), range(-1, 9)))
    >>> whole, inner = lapwing.zeros((10, 10), distribution=grid, lower=(-1, -1)), lapwing.zeros((8, 8), distribution=grid)
    >>> whole.owner(3, 7) == inner.owner(3, 7)
    True
    """

    def __init__(self, space, distribution=None):
        self.space = tuple(space)
        self.distribution = distribution_of(Block() if distribution is None else distribution, "Aligned")
        self.replicated = self.distribution.replicated
        if isinstance(self.distribution, Aligned):
            raise ValueError(f"lapwing.Aligned: the distribution of the space is {distribution!r}, Aligned itself; pass lapwing.Block(), for example")
        for one in self.space:
            if not isinstance(one, range):
                raise TypeError(f"lapwing.Aligned: {one!r} is no range; the space is one Python range per dimension")
            if one.step < 1:
                raise ValueError(f"lapwing.Aligned: {one} runs backwards; its step must be at least 1")

    def __repr__(self):
        return f"lapwing.Aligned({self.space}, {self.distribution!r})"

    def __eq__(self, other):
        return isinstance(other, Distribution) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return ("Aligned", tuple((one.start, len(one), one.step) for one in self.space), self.distribution._key())

    def _parameters(self, dimensions):
        if len(self.space) != dimensions:
            raise ValueError(f"lapwing.Aligned: the space has {len(self.space)} ranges, and the array {dimensions} dimensions")
        whole, kept, callback = self.distribution._parameters(dimensions)
        space = ffi.new("lapwing_range[]", [(one.start, len(one), one.step) for one in self.space])
        structure = ffi.new("lapwing_distribution*")
        structure.kind, structure.space, structure.whole = 5, space, whole
        return structure, (kept, whole, space), callback


class OnRanks(Distribution):
    """Another distribution over some of the ranks, in any order: process p of it is `ranks[p]`. The others have no elements, and take part in collective
    calls. Such arrays have no .local, and are treated as those with a distribution of the program's own.

    >>> import lapwing
    >>> one = lapwing.zeros((4, 4), distribution=lapwing.OnRanks([lapwing.size() - 1]))
    >>> one.owner(0, 0) == one.owner(3, 3) == lapwing.size() - 1
    True
    """

    def __init__(self, ranks, distribution=None):
        self.ranks = integers(ranks, "OnRanks: ranks")
        self.distribution = distribution_of(Block() if distribution is None else distribution, "OnRanks")
        if isinstance(self.distribution, (Aligned, OnRanks)) or self.distribution.replicated:
            raise ValueError(f"lapwing.OnRanks: {self.distribution!r} cannot be over some of the ranks; pass Block, Blocks, Cyclic, BlockCyclic, or one of your own that is not replicated")

    def __repr__(self):
        return f"lapwing.OnRanks({self.ranks}, {self.distribution!r})"

    def __eq__(self, other):
        return isinstance(other, Distribution) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return ("OnRanks", self.ranks, self.distribution._key())

    def _parameters(self, dimensions):
        whole, kept, callback = self.distribution._parameters(dimensions)
        ranks = ffi.new("int[]", self.ranks)
        structure = ffi.new("lapwing_distribution*")
        structure.kind, structure.whole, structure.ranks, structure.rank_count = 6, whole, ranks, len(self.ranks)
        return structure, (kept, whole, ranks), callback
