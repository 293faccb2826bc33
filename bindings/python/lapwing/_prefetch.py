"""Copies of other ranks' data, moved in bulk: of elements by patterns, and of bytes of windows."""

import numpy as np

from . import _errors
from ._distribution import distribution_of
from ._halo import flags_of
from ._library import Callback, check, choice, create, ffi, lib, members, number_of
from ._runtime import refuse_pickling
from ._types import address, type_of

STORAGES = {"by_index": 0, "by_owner": 1, "in_halo": 2}


class Pattern:
    """Which elements a rank will read besides its own: for a.prefetch_pattern() and a.mapped()."""

    _kind = -1

    def _parameters(self, array):
        """The structure of C, and what must be kept as long as it is used."""
        structure = ffi.new("lapwing_pattern*")
        structure.kind = self._kind
        return structure, ()

    def __repr__(self):
        return f"lapwing.{type(self).__name__}()"


class Stencil(Pattern):
    """The elements up to `depth` away from one of the rank's own; `corners`: also those at a distance in several dimensions. `periodic`: whether the
    first index follows the last: True, or one flag per dimension."""

    _kind = 0

    def __init__(self, depth=1, corners=True, periodic=False):
        self.depth, self.corners, self.periodic = depth, corners, periodic

    def __repr__(self):
        return f"lapwing.Stencil({self.depth}, corners={self.corners}, periodic={self.periodic})"

    def _parameters(self, array):
        structure, _ = super()._parameters(array)
        flags = flags_of(self.periodic, array.ndim, "Stencil")
        members(structure, "Stencil", depth=self.depth)
        structure.corners, structure.periodic = bool(self.corners), flags
        return structure, (flags,)


class RowWise(Pattern):
    """The rows of the local elements: all indices of the last dimension."""

    _kind = 1


class ColumnWise(Pattern):
    """The columns of the local elements: all indices of the first dimension."""

    _kind = 2


class Transpose(Pattern):
    """The rank's own indices with the dimensions in reverse order."""

    _kind = 3


class AllElements(Pattern):
    """All elements."""

    _kind = 4


class Domains(Pattern):
    """A list of domains that this rank reads, each a tuple of one Python range per dimension. Indices that the array does not have are skipped."""

    _kind = 5

    def __init__(self, domains):
        self.domains = [tuple(domain) for domain in domains]
        for k, domain in enumerate(self.domains):
            if not all(isinstance(one, range) for one in domain):
                raise TypeError(f"lapwing.Domains: domain {k} is {domain!r}; it must be one Python range per dimension")

    def __repr__(self):
        return f"lapwing.Domains({self.domains})"

    def _parameters(self, array):
        structure, _ = super()._parameters(array)
        ranges = ffi.new("lapwing_range[]", max(1, len(self.domains) * array.ndim))
        for k, domain in enumerate(self.domains):
            if len(domain) != array.ndim:
                raise ValueError(f"lapwing.Domains: domain {k} has {len(domain)} ranges, and the array {array.ndim} dimensions")
            for d, one in enumerate(domain):
                if one.step < 1:
                    raise ValueError(f"lapwing.Domains: {one} of domain {k} runs backwards; its step must be at least 1")
                ranges[k * array.ndim + d] = (one.start, len(one), one.step)
        structure.count, structure.domains = len(self.domains), ranges
        return structure, (ranges,)


class Function(Pattern):
    """What a rank reads because it owns a domain, as function(own) returns it: one domain or a list, each a tuple of one Python range per dimension, like
    `own`, whose ranges are empty where the rank owns nothing. It is called for each own domain, and again when the shape or the distribution changes.

    >>> import lapwing
    >>> a = lapwing.ones((6, 6))
    >>> with a.prefetch_pattern(lapwing.Function(lambda own: (range(own[0].start - 1, own[0].stop + 1), own[1]))) as copies:
    ...     float(a[5, 5])
    1.0
    """

    _kind = 6

    def __init__(self, function):
        self.function = function

    def __repr__(self):
        return f"lapwing.Function({self.function!r})"

    def _parameters(self, array):
        structure, _ = super()._parameters(array)
        dimensions = array.ndim

        def needed(own, answer):
            domains = self.function(tuple(range(one.first, one.first + one.size * one.stride, one.stride) for one in own[0:dimensions]))
            for domain in [domains] if isinstance(domains, tuple) else domains:
                if len(domain) != dimensions:
                    raise ValueError(f"lapwing.Function: a domain has {len(domain)} ranges, and the array {dimensions} dimensions")
                ranges = ffi.new("lapwing_range[]", [(one.start, len(one), one.step) for one in domain])
                check(lib.lapwing_needed_add(answer, ranges))

        callback = Callback(needed=needed)
        structure.function, structure.context = lib.lapwing_python_needed, callback.handle
        return structure, (callback,)


def _options(consistent, static, storage):
    return ffi.new("lapwing_prefetch_options*", (bool(consistent), bool(static), choice(STORAGES, storage, "Array.prefetch_pattern: storage")))


class Prefetched:
    """What an array has prefetched, for `with`: made by a.prefetch_pattern(). The end of the block removes all patterns of the array.

    >>> import lapwing
    >>> a = lapwing.fromfunction(lambda i, j: 10 * i + j, (6, 6))
    >>> with a.prefetch_pattern(lapwing.AllElements(), consistent=False) as copies:
    ...     copies.update()
    ...     float(a[5, 5])  # from the copy, on ranks that do not own it
    55.0
    """

    def __init__(self, array):
        self._array = array

    def update(self):
        """Fills all copies; other ranks must have released what they wrote before. Local."""
        check(lib.lapwing_array_update_copies(self._array._handle))

    def start_update(self):
        """The same without waiting: a Transfer; until it is complete, this rank must neither read nor write what is prefetched."""
        from ._array import Transfer

        cell = ffi.new("lapwing_completion**")
        check(lib.lapwing_array_start_update_copies(self._array._handle, cell))
        return Transfer(cell, None, (self._array,))

    def has(self, *index):
        """Whether an element has a copy here: copies.has(i, j). Local."""
        return bool(number_of("int*", lib.lapwing_array_is_prefetched, self._array._handle, self._array._one(index)))

    def block(self, *index):
        """A copy of the block around an element that is the rank's own, prefetched or on this node, and its first index. Local."""
        array = self._array
        memory, strides, ranges = ffi.new("void**"), ffi.new("int64_t[8]"), ffi.new("lapwing_range[8]")
        check(lib.lapwing_array_block_at(array._handle, array._one(index), memory, strides, ranges))
        shape = tuple(ranges[d].size for d in range(array.ndim))
        elements = 1 + sum((n - 1) * strides[d] for d, n in enumerate(shape))
        root = np.frombuffer(ffi.buffer(memory[0], elements * array.dtype.itemsize), array.dtype)
        # A copy: the memory goes with the patterns.
        block = np.lib.stride_tricks.as_strided(root, shape, tuple(strides[d] * array.dtype.itemsize for d in range(array.ndim))).copy()
        return block, tuple(ranges[d].first for d in range(array.ndim))

    def evict(self):
        """Removes all patterns of the array and their copies. Local."""
        if not self._array.closed:
            check(lib.lapwing_array_evict(self._array._handle))
        self._array._patterns.clear()

    def view(self):
        """Own part and copies around it, of an array that prefetches with storage="in_halo": a read-only NumPy array, without a copy, and its first
        index. Elements that are neither the rank's own nor prefetched are undefined. Like a.local, it keeps the array from being closed. Local."""
        array = self._array
        memory, strides, ranges = ffi.new("void**"), ffi.new("int64_t[8]"), ffi.new("lapwing_range[8]")
        check(lib.lapwing_array_halo_view(array._handle, memory, strides, ranges))
        shape = tuple(ranges[d].size for d in range(array.ndim))
        first = tuple(ranges[d].first for d in range(array.ndim))
        if 0 in shape:
            return np.empty(shape, array.dtype), first
        return array._shown(memory[0], shape, strides, writeable=False), first

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.evict()


def pattern_of(given, call):
    """A pattern, or a class of them that needs no arguments."""
    if isinstance(given, type) and issubclass(given, Pattern):
        given = given()
    if not isinstance(given, Pattern):
        raise TypeError(f"{call}: the pattern is {given!r}; it must be a lapwing.Pattern, as lapwing.Stencil(1)")
    return given


def prefetch(array, pattern, consistent, static, storage):
    with array.runtime._for_all():
        structure, kept = pattern_of(pattern, "Array.prefetch_pattern")._parameters(array)
        callback = next((one for one in kept if isinstance(one, Callback)), None)
        options = _options(consistent, static, storage)
    code = lib.lapwing_array_prefetch(array._handle, structure, options)
    if callback is None:
        check(code)
    else:
        callback.check(code)
        array._patterns.append(callback)  # called again when the shape changes
    return Prefetched(array)


class Prefetch:
    """Copies of parts of other ranks' segments of a window, for `with`. Local. What this rank writes to the window, or to elements of the
    array that it belongs to, goes to the copies as well.

        with lapwing.Prefetch(window, consistent=False) as ahead:
            part = ahead.request(neighbour, 16, lapwing.Layout.contiguous(24))
            ahead.update()
            values = ahead.access(part, float)
    """

    __reduce_ex__ = refuse_pickling

    def __init__(self, window, consistent=True):
        self._open, self._kept_window = True, window
        self._cell = create("prefetch", lib.lapwing_prefetch_create, window._handle, _options(consistent, False, "by_index"))

    @property
    def _handle(self):
        if not self._open:
            raise _errors.UsageError("Prefetch: it is closed; make another")
        return self._cell[0]

    def request(self, rank, offset=0, layout=None):
        """Prefetches what `layout`, from `offset` on, selects of another rank's segment; without one the whole segment. A number for the calls below."""
        return number_of("uint64_t*", lib.lapwing_prefetch_request, self._handle, rank, offset, ffi.NULL if layout is None else layout._cell[0])

    def access(self, slice, dtype=np.uint8):
        """The copy, as a new array."""
        memory, count = ffi.new("void**"), ffi.new("uint64_t*")
        check(lib.lapwing_prefetch_access(self._handle, slice, memory, count))
        return np.frombuffer(bytes(ffi.buffer(memory[0], count[0])), dtype).copy()

    def read(self, slice, dtype, k):
        """Value `k` of the copy, seen as values of `dtype`."""
        value = np.empty(1, dtype)
        check(lib.lapwing_prefetch_read(self._handle, slice, type_of(value.dtype), k, address(value)))
        return value[0]

    def update(self):
        """Fills all copies; other ranks must have released what they wrote before."""
        check(lib.lapwing_prefetch_update(self._handle))

    def start_update(self):
        """The same without waiting: a Transfer; until it is complete, the copies must not be read."""
        from ._array import Transfer

        cell = ffi.new("lapwing_completion**")
        check(lib.lapwing_prefetch_start_update(self._handle, cell))
        return Transfer(cell, None, (self,))

    def evict(self):
        """Removes all slices and copies."""
        check(lib.lapwing_prefetch_evict(self._handle))

    @property
    def nbytes(self):
        """Bytes of all copies."""
        return number_of("uint64_t*", lib.lapwing_prefetch_memory, self._handle)

    def close(self):
        """Frees the copies."""
        if self._open:
            self._open = False
            if lib.lapwing_python_mpi_state() == 1:
                check(lib.lapwing_prefetch_free(self._cell))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __del__(self):
        if getattr(self, "_open", False) and hasattr(self, "_cell") and lib.lapwing_python_mpi_state() == 1:
            lib.lapwing_prefetch_free(self._cell)


class Relabelling:
    """The order of the ranks in which most elements of an array stay where they are under another distribution: made by a.relabelling(), for
    a.redistribute(distribution, order). Close it, or use it with `with`: collective.

    >>> import lapwing
    >>> a = lapwing.ones((8, 8), distribution=lapwing.Block())
    >>> with a.relabelling(lapwing.Cyclic()) as order:
    ...     a.redistribute(lapwing.Cyclic(), order)
    ...     order.bytes_moved <= order.bytes_moved_unordered, float(a.sum())
    (True, 64.0)
    """

    __reduce_ex__ = refuse_pickling

    def __init__(self, array, distribution):
        with array.runtime._for_all():
            structure, kept, callback = distribution_of(distribution, "Array.relabelling")._parameters(array.ndim)
        self._cell = create("relabelling", lib.lapwing_relabelling_create, array._handle, structure)
        self._kept = kept, callback
        info = ffi.new("lapwing_relabelling_info*")
        check(lib.lapwing_relabelling_query(self._cell[0], info))
        self.rank, self.changes = info.rank, bool(info.changes)
        self.bytes_moved, self.bytes_moved_unordered, self.nbytes = info.bytes_moved, info.bytes_moved_unordered, info.bytes

    @property
    def _handle(self):
        if self._cell[0] == ffi.NULL:
            raise _errors.UsageError("Relabelling: it is closed; a.relabelling(distribution) makes another")
        return self._cell[0]

    def close(self):
        """Collective if the array was redistributed by it."""
        if self._cell[0] != ffi.NULL:
            check(lib.lapwing_relabelling_free(self._cell))

    def __enter__(self):
        return self

    def __exit__(self, kind, *unused):
        if kind is None:
            self.close()
