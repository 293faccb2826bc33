"""A rank's own block of an array with the elements around it."""

import numpy as np

from . import _errors
from ._library import check, create, ffi, lib
from ._runtime import Fixed, refuse_pickling, same_memory
from ._types import Views


def flags_of(periodic, dimensions, call):
    """Which dimensions are periodic, for C: one flag for all, or one for each."""
    flags = np.asarray(periodic)
    if flags.dtype.kind not in "bi" or flags.shape not in ((), (1,), (dimensions,)):
        raise _errors.UsageError(f"lapwing: {call}: periodic is {periodic!r}; it must be True or False, or one of them for each of {dimensions} dimensions")
    return ffi.new("int[]", np.broadcast_to(flags != 0, (dimensions,)).astype(int).tolist())


class Halo(Fixed):
    """What a stencil reads: the local block and, `depth` deep on every side and at the corners, elements of other ranks, as one NumPy array. Made by
    a.halo(); for `with`. `periodic`: whether the first index follows the last: True, or one flag per dimension.

    >>> import lapwing
    >>> a = lapwing.ones((24, 24))
    >>> with a.halo(1) as halo:
    ...     halo.exchange()
    ...     sums = halo.array[:-2, 1:-1] + halo.array[2:, 1:-1]  # of the elements above and below each own one
    >>> sums.shape == a.local.shape
    True
    """

    __reduce_ex__ = refuse_pickling
    _remedies = {"depth": "a.halo(depth) makes another halo", "ranges": "they follow from the array and the depth"}

    def __init__(self, array, depth, periodic):
        self._owner, self._views, self._open = array, Views(), True
        self._have(depth=depth)
        self._cell = create("halo", lib.lapwing_halo_create, array._handle, depth, flags_of(periodic, array.ndim, "Array.halo"))
        array._views.count += 1  # the array must stay as long as it has halos

    @property
    def _handle(self):
        if not self._open:
            raise _errors.UsageError("Halo: it is closed; a.halo(depth) makes another")
        return self._cell[0]

    @property
    def array(self):
        """Own block and halo, without a copy. Elements beyond the array's edges are left to the program."""
        memory, strides, ranges = ffi.new("void**"), ffi.new("int64_t[8]"), ffi.new("lapwing_range[8]")
        check(lib.lapwing_halo_memory(self._handle, memory, strides, ranges))
        dimensions, dtype = self._owner.ndim, self._owner.dtype
        shape = tuple(ranges[d].size for d in range(dimensions))
        if memory[0] == ffi.NULL or 0 in shape:
            return np.empty((0,) * dimensions, dtype)
        elements = 1 + sum((n - 1) * strides[d] for d, n in enumerate(shape))
        root = self._views.show(self, memory[0], elements * dtype.itemsize, dtype)
        return np.lib.stride_tricks.as_strided(root, shape, tuple(strides[d] * dtype.itemsize for d in range(dimensions)))

    @array.setter
    def array(self, values):
        same_memory(self.array, values, "halo.array")

    @property
    def own(self):
        """The rank's own block in it."""
        whole = self.array
        return whole[tuple(slice(self.depth, n - self.depth) for n in whole.shape)] if whole.size else whole

    @own.setter
    def own(self, values):
        same_memory(self.own, values, "halo.own")

    @property
    def ranges(self):
        """The indices of `array`: one range per dimension."""
        ranges = ffi.new("lapwing_range[8]")
        check(lib.lapwing_halo_memory(self._handle, ffi.NULL, ffi.NULL, ranges))
        return tuple(range(ranges[d].first, ranges[d].first + ranges[d].size) for d in range(self._owner.ndim))

    def exchange(self):
        """A barrier, fetch(), a barrier. Collective."""
        check(lib.lapwing_halo_exchange(self._handle))

    def fetch(self):
        """Own block and halo as they are. Local."""
        check(lib.lapwing_halo_fetch(self._handle))

    def start_fetch(self):
        """The same without waiting: a Transfer; the memory must not be used before it is complete."""
        from ._array import Transfer

        cell = ffi.new("lapwing_completion**")
        check(lib.lapwing_halo_start_fetch(self._handle, cell))
        return Transfer(cell, None, (self,))

    def store(self):
        """Writes the rank's own block, without the halo, back to the array. Local."""
        check(lib.lapwing_halo_store(self._handle))

    def close(self):
        """The memory is freed when no NumPy array shows it any more. Local."""
        self._open = False

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __del__(self):
        # Arrays that show the memory keep this object.
        if hasattr(self, "_cell") and self._cell[0] != ffi.NULL:
            if lib.lapwing_python_mpi_state() == 1:
                lib.lapwing_halo_free(self._cell)
            self._owner._views.count -= 1
