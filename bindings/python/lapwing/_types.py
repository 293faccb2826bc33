"""NumPy's types, and those of the C interface; memory of NumPy arrays as arguments."""

import numpy as np

from ._library import ffi

_KINDS = {"i": 1, "u": 2, "b": 2, "f": 3, "c": 4}
_SIZES = {1: (1, 2, 4, 8), 2: (1, 2, 4, 8), 3: (4, 8), 4: (8, 16)}
BYTES = 5


def dtype_of(dtype):
    """A dtype whose elements are bytes without a meaning."""
    dtype = np.dtype(dtype)
    if dtype.hasobject:
        raise TypeError(f"lapwing: elements of type {dtype} are references to Python objects, which mean nothing on other ranks")
    if dtype.itemsize == 0:
        raise TypeError(f"lapwing: elements of type {dtype} have no bytes; give the length, as in 'S16'")
    if dtype.subdtype is not None:
        raise TypeError(f"lapwing: elements of type {dtype} are arrays; make them dimensions of the array")
    return dtype


def type_of(dtype):
    """The lapwing_type of a dtype: numbers in this machine's byte order, bytes for all others."""
    kind = _KINDS.get(dtype.kind, BYTES)
    if kind != BYTES and (dtype.itemsize not in _SIZES[kind] or not dtype.isnative):
        kind = BYTES
    return kind << 48 | dtype.itemsize


def address(array):
    """The first byte of a NumPy array, as void*."""
    return ffi.cast("void*", array.__array_interface__["data"][0])


def source(values, dtype, shape=None):
    """Values of the program's as a C-contiguous NumPy array, broadcast to a shape."""
    array = np.asarray(values, dtype)
    if shape is not None and array.shape != shape:
        try:
            array = np.broadcast_to(array, shape)
        except ValueError:
            raise ValueError(f"lapwing: values of shape {array.shape} cannot be written to elements of shape {shape}") from None
    return np.ascontiguousarray(array) if array.ndim else array


def target(out, dtype, shape):
    """An array to read into: `out`, which must fit, or a new one."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.dtype != dtype or out.shape != shape:
        kind = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"lapwing: out is {kind}; it must be a numpy.ndarray of {dtype} and shape {shape}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError("lapwing: out must be C-contiguous and writable")
    return out


def copied(values, dtype, copy, kind):
    """What __array__() returns: elements that were just read, in the type that NumPy wants. `copy`: as NumPy 2 passes it."""
    if copy is not None and not copy:
        raise ValueError(f"lapwing.{kind}: its elements are on all ranks, so a NumPy array of them is a copy, and copy=False asks for none; a.local is the rank's own part without a copy")
    return values if dtype is None else values.astype(dtype, copy=False)


class Views:
    """Counts the NumPy arrays that show an object's memory, which is kept as long as there are any."""

    def __init__(self):
        self.count = 0

    def show(self, owner, memory, size, dtype):
        """A one-dimensional array of `size` bytes at `memory`; `owner` is kept."""
        self.count += 1

        def gone(_, owner=owner):
            owner._views.count -= 1

        return np.frombuffer(ffi.buffer(ffi.gc(ffi.cast("char*", memory), gone), size), dtype)
