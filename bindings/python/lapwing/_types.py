"""NumPy's types, and those of the C interface; memory of NumPy arrays as arguments."""

import operator
import reprlib

import numpy as np

from . import _errors
from ._library import ffi

_KINDS = {"i": 1, "u": 2, "b": 2, "f": 3, "c": 4}
_SIZES = {1: (1, 2, 4, 8), 2: (1, 2, 4, 8), 3: (4, 8), 4: (8, 16)}
BYTES = 5
_LOCATED = {"i": 6, "u": 7, "f": 8}


def located(number=np.float64):
    """The dtype of a number of 8 bytes with the index of where it was found, for the atomics "min" and "max": the smaller (larger) value stays, of
    equal ones that with the lower index. Elements and operands are (value, index).

    >>> import lapwing, numpy as np
    >>> best = lapwing.full(1, (np.inf, 0), lapwing.located())
    >>> best.update("min", 0, (0.25, 7))
    >>> lapwing.barrier()
    >>> best[0]["value"].item(), best[0]["index"].item()
    (0.25, 7)
    """
    number = np.dtype(number)
    if number.kind not in _LOCATED or number.itemsize != 8 or not number.isnative:
        raise _errors.UsageError(f"lapwing.located: {number} is none of int64, uint64 and float64, into which narrower numbers fit")
    return np.dtype([("value", number), ("index", np.int64)])


_LOCATED_TYPES = tuple(located(number) for number in (np.int64, np.uint64, np.float64))


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
    """The lapwing_type of a dtype: numbers in this machine's byte order, also with their location, bytes for all others."""
    if dtype.names == ("value", "index") and dtype in _LOCATED_TYPES:
        return _LOCATED[dtype["value"].kind] << 48 | dtype.itemsize
    kind = _KINDS.get(dtype.kind, BYTES)
    if kind != BYTES and (dtype.itemsize not in _SIZES[kind] or not dtype.isnative):
        kind = BYTES
    return kind << 48 | dtype.itemsize


def _integer(value, what, whole):
    try:
        value = operator.index(value)
    except TypeError:
        of = "" if whole is value else f" of {whole!r}"
        raise _errors.UsageError(f"lapwing: {what} {value!r}{of} is of type {type(value).__name__}; it must be an integer") from None
    if not -(1 << 63) <= value < 1 << 63:
        raise _errors.RangeError(f"lapwing: {what} is {value}; it must be from -2^63 to 2^63 - 1")
    return value


def integers(values, what):
    """The integers of a sequence, or one, as a tuple."""
    if np.ndim(values) == 0:
        return (_integer(values, what, values),)
    return tuple(_integer(one, what, values) for one in values)


def integer_list(values, dtype, what):
    """Many integers as an array of one dimension, for C."""
    given = np.asarray(values).reshape(-1)
    if not given.size:
        return np.empty(0, dtype)
    limits = np.iinfo(dtype)
    if given.dtype.kind not in "iu":
        k = next((k for k, one in enumerate(given) if not isinstance(one, (int, np.integer))), 0)
        raise _errors.UsageError(f"lapwing: {what} are of type {given.dtype}, as number {k}, {given[k]!r}; they must be integers")
    if int(given.min()) < limits.min or int(given.max()) > limits.max:
        k = int(given.argmin() if int(given.min()) < limits.min else given.argmax())
        raise _errors.RangeError(f"lapwing: number {k} of {what} is {given[k]}; it must be from {limits.min} to {limits.max}")
    return np.ascontiguousarray(given, dtype)


def _forgotten(value):
    """Whether None is a value, or among several: NumPy makes NaN or False of it."""
    try:
        given = np.asarray(value)
    except ValueError:
        if not isinstance(value, (list, tuple)):
            raise
        return any(_forgotten(one) for one in value)  # a record within a record, as (1, (2, 3))
    return given.dtype.hasobject and any(one is None for one in given.flat)


def present(value, dtype, what):
    """A value that the program passes to a call, or several, as elements of a dtype, converted as NumPy does; one that was forgotten is an error."""
    if hasattr(value, "__array__"):  # its elements are read once
        value = np.asarray(value)
    if _forgotten(value):
        raise _errors.UsageError(f"lapwing: {what} is {reprlib.repr(value)}; it must be a value of {dtype}")
    try:
        return np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError):
        raise _errors.UsageError(f"lapwing: {what} is {reprlib.repr(value)}, which is no value of {dtype}") from None


def operand(value, dtype, what):
    """The same for operations, which compute with the value itself: a number that the dtype does not have is an error."""
    if dtype.names and isinstance(value, tuple) and len(value) == len(dtype.names):
        value = tuple(operand(one, dtype[k], f"{what}: {dtype.names[k]}")[()] for k, one in enumerate(value))
    given = np.asarray(value)
    if dtype.kind in "biufc" and given.dtype.kind in "biufc":
        with np.errstate(all="ignore"):
            elements = (given if dtype.kind == "c" else given.real).astype(dtype)
        if dtype.kind in "biu":
            exact = not (elements != given).any()
        else:
            exact = given.dtype.kind != "c" or dtype.kind == "c"
        if exact:
            return elements
        raise _errors.UsageError(f"lapwing: {what} is {value!r}, which is no value of {dtype}; pass one that is")
    return present(value, dtype, what)


def one_value(elements, what, remedy):
    """What present() or operand() gave, which must be one element: an array of one dimension, for C. `remedy`: what takes several."""
    if elements.size != 1:
        raise _errors.UsageError(f"lapwing: {what} has {elements.size} values; it must be one. {remedy}")
    return elements.reshape(1)


def address(array):
    """The first byte of a NumPy array, as void*."""
    return ffi.cast("void*", array.__array_interface__["data"][0])


def source(values, dtype, shape, what):
    """Values of the program's, which must be present(), as a C-contiguous NumPy array, broadcast to a shape."""
    array = present(values, dtype, what)
    if array.shape != shape:
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
        raise ValueError(f"lapwing: out, of shape {out.shape}, has strides {out.strides} and is {'' if out.flags.writeable else 'not '}writable; it must be C-contiguous and writable")
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
