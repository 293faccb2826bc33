"""Whole arrays as memory: NumPy arrays that show elements of all ranks."""

import numpy as np

from . import _errors, _index
from ._errors import refuse_pickling
from ._library import Callback, check, create, ffi, lib, number_of
from ._prefetch import pattern_of


class _Mapping:
    """The memory, freed when no NumPy array shows it any more: nothing that it refers to may refer to it."""

    __reduce_ex__ = refuse_pickling

    def __init__(self, array, function, named, callback=None, complete=True):
        self.array, self.complete = array, complete
        self._cell = ffi.new("lapwing_mapped**")
        code = function(array._handle, named, self._cell)
        check(code) if callback is None else callback.check(code)
        memory = ffi.new("void**")
        check(lib.lapwing_mapped_view(self._cell[0], memory, ffi.NULL, ffi.NULL))
        self._origin, self._first, self._bytes = int(ffi.cast("uintptr_t", memory[0])), 0, 0

    @property
    def __array_interface__(self):
        """The bytes that are shown, for NumPy, which keeps this object as their owner."""
        return {"version": 3, "data": (self._first, True), "shape": (self._bytes,), "typestr": "|u1"}

    def show(self, first, shape, strides):
        """As a MappedArray of this shape; its first element is number `first` of the whole array, and strides are in elements."""
        dtype = self.array.dtype
        if 0 in shape:
            view = np.empty(shape, dtype).view(MappedArray)
            view.flags.writeable = False
        else:
            reach = [(n - 1) * stride for n, stride in zip(shape, strides)]
            low, high = first + sum(min(one, 0) for one in reach), first + sum(max(one, 0) for one in reach)
            self._first, self._bytes = self._origin + low * dtype.itemsize, (high - low + 1) * dtype.itemsize
            view = MappedArray(shape, dtype, np.asarray(self), (first - low) * dtype.itemsize, tuple(one * dtype.itemsize for one in strides))
        view._mapping = self
        return view

    def has(self, view):
        return not self._bytes or self._first <= view.__array_interface__["data"][0] <= self._first + self._bytes

    def refresh(self):
        check(lib.lapwing_mapped_refresh(self._cell[0]))

    def start_refresh(self):
        from ._array import Transfer

        return Transfer(create("completion", lib.lapwing_mapped_start_refresh, self._cell[0]), None, (self,))

    @property
    def memory(self):
        return number_of("uint64_t*", lib.lapwing_mapped_memory, self._cell[0])

    def __del__(self):
        if hasattr(self, "_cell"):
            lib.lapwing_mapped_free(self._cell)


class MappedArray(np.ndarray):
    """Elements of a global array as a read-only NumPy array, whoever owns them: made by a.mapped. They are as they were when it was made or refreshed
    last, or as they are now where that costs no copy; docs/mapped.md says which. The memory stays as long as an array shows it, also when the global
    array is closed. What is computed from it is a plain NumPy array.

    >>> import lapwing
    >>> a = lapwing.fromfunction(lambda i, j: 10 * i + j, (4, 6))
    >>> rows = a.mapped[1:3]
    >>> lapwing.barrier()  # nobody writes what others are reading
    >>> a.local[...] += 100
    >>> lapwing.barrier()
    >>> rows.refresh()
    >>> rows[0, 5].item(), rows.sum().item()
    (115.0, 1410.0)
    """

    _mapping = None

    def __array_finalize__(self, other):
        # A copy must not keep the memory.
        mapping = getattr(other, "_mapping", None)
        self._mapping = mapping if mapping is not None and mapping.has(self) else None

    def __array_wrap__(self, result, context=None, return_scalar=False):
        return result.view(np.ndarray) if result.ndim else result[()]

    def __reduce__(self):
        return np.asarray(self).__reduce__()

    def __repr__(self):
        if self._mapping is None or self._mapping.complete:
            return super().__repr__()
        # NumPy would read what no pattern has named.
        return f"<lapwing.MappedArray {self.shape} {self.dtype}>"

    def __str__(self):
        return super().__str__() if self._mapping is None or self._mapping.complete else repr(self)

    def _mapped(self, call):
        if self._mapping is None:
            raise _errors.UsageError(f"MappedArray.{call}: it is a copy of an array that a.mapped has made; call it of that one")
        return self._mapping

    def refresh(self):
        """The elements become those of their owners, of all that was mapped together. What other ranks have written must have been released before this
        rank's last acquire (a barrier in between is enough). UsageError once the global array is closed, or has another shape or distribution.
        Local."""
        self._mapped("refresh()").refresh()

    def start_refresh(self):
        """The same without waiting: a Transfer; until it is complete, the elements are undefined. Local."""
        return self._mapped("start_refresh()").start_refresh()

    @property
    def memory(self):
        """Bytes of the pages that it has of its own, and not of the global array."""
        return self._mapped("memory").memory


class Mapper:
    """What a.mapped is: it has mapped nothing yet."""

    # Not even a shape: SciPy takes what has one for an array.
    def __init__(self, array):
        self._array = array

    def __call__(self, pattern=None, at_barriers=False, on_demand=False):
        array = self._array
        if on_demand:
            if pattern is not None:
                raise TypeError("lapwing.Array.mapped: on_demand=True goes without a pattern, since nothing is fetched before it is read")
            mapping = _Mapping(array, lambda handle, _, cell: lib.lapwing_mapped_create_on_demand(handle, cell), None, complete=False)
        elif pattern is None:
            mapping = _Mapping(array, lib.lapwing_mapped_create, ffi.NULL)
        else:
            structure, kept = pattern_of(pattern, "Array.mapped")._parameters(array)
            callback = next((one for one in kept if isinstance(one, Callback)), None)
            mapping = _Mapping(array, lib.lapwing_mapped_create, structure, callback, complete=False)
        if at_barriers:
            array.runtime._mapped.add(mapping)
        return mapping.show(0, array.shape, _strides(array.shape))

    def __getitem__(self, key):
        array = self._array
        found = _index.basic(key, array.shape, array.lower, array.step, "Array.mapped")
        if found is None:
            raise TypeError(f"lapwing.Array.mapped: the key is {key!r}; integers, slices and one ellipsis do. Lists and masks are read by a[key], or by a.mapped()[key]")
        ranges, _ = found.ranges()
        mapping = _Mapping(array, lib.lapwing_mapped_create_domain, ranges)
        first, strides = 0, []
        for part, lower, step, stride in zip(found.parts, array.lower, array.step, _strides(array.shape)):
            part = range(part, part + 1) if isinstance(part, int) else part
            strides.append(part.step // step * stride if len(part) > 1 else 0)
            first += (part.start - lower) // step * stride
        view = mapping.show(first, found.full, strides).reshape(found.shape)
        return view[()] if found.scalar else view

    def __array__(self, dtype=None, copy=None):
        """All elements. numpy.asarray(a.mapped)."""
        self._array._handle  # not of an array that is closed
        values = self._array._map()
        if dtype is not None and np.dtype(dtype) != values.dtype:
            if copy is not None and not copy:
                raise ValueError(f"lapwing.Array.mapped: the elements are {values.dtype}; as {np.dtype(dtype)} they are a copy, and copy=False asks for none")
            return values.astype(dtype)
        return values.copy() if copy else values

    def __repr__(self):
        return f"<mapped of {self._array!r}>"


def _strides(shape):
    """From one element to the next in each dimension, in elements."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 1, 0, -1):
        strides[d - 1] = strides[d] * shape[d]
    return strides
