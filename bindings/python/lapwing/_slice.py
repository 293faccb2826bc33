"""Parts of arrays in any order, and assignments between them."""

import numpy as np

from . import _errors, _index
from ._library import Callback, check, choice, create, ffi, lib, number_of, text_of
from ._runtime import Fixed, refuse_pickling
from ._types import address, copied, integers, one_value, present, source, target

REPLACE, ADD, MIN, MAX, SUBTRACT, MULTIPLY = 6, 0, 4, 5, 8, 9
OPERATIONS = {"replace": REPLACE, "add": ADD, "min": MIN, "max": MAX, "subtract": SUBTRACT, "multiply": MULTIPLY}


def _operation(name):
    return choice(OPERATIONS, name, "Slice: the operation")


def assigned(other, what):
    """What `slice += other` leaves to a property's setter: the elements are assigned already."""
    if not (isinstance(other, Slice) and other._assigned):
        raise AttributeError(f"lapwing: {what} is part of an array, which cannot be replaced; {what}[...] = b assigns to it")
    other._assigned = False


class Assignments:
    """Base of arrays and slices: collective assignments from other arrays and slices."""


class Slice(Fixed, Assignments):
    """Part of an array in any order, with positions from 0; made by a.slice[…], a.T and s[…], which read nothing. It is valid until the array is
    closed, resized or redistributed."""

    __reduce_ex__ = refuse_pickling
    __hash__ = object.__hash__
    _remedies = dict.fromkeys(("shape", "array", "dtype", "ndim", "size"), "s[…], s.T and s.transpose() make another slice")

    def __init__(self, cell, array):
        self._cell, self._assigned = cell, False
        self._have(array=array)
        dimensions = number_of("int*", lambda cell: lib.lapwing_slice_shape(self._cell[0], cell, ffi.NULL))
        extents = ffi.new("int64_t[8]")
        check(lib.lapwing_slice_shape(self._cell[0], ffi.NULL, extents))
        self._have(shape=tuple(extents[0:dimensions]))

    def __del__(self):
        if hasattr(self, "_cell"):
            lib.lapwing_slice_free(self._cell)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        for one in (*(options.get("out") or ()), *inputs):
            if isinstance(one, Assignments) and not isinstance(one, Slice):
                return one.__array_ufunc__(ufunc, method, *inputs, **options)
        raise TypeError(f"lapwing: numpy.{ufunc.__name__} of a Slice needs an Array beside it; numpy.asarray(slice) reads the elements to this rank")

    @property
    def _handle(self):
        self.array._handle
        return self._cell[0]

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape))

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<lapwing.Slice {self.shape} of {self.array!r}>"

    def __getitem__(self, key):
        found = _index.basic(key, self.shape, (0,) * self.ndim, (1,) * self.ndim, "Slice")
        if found is None or len(found.shape) != sum(not isinstance(part, int) for part in found.parts):
            raise TypeError(f"lapwing: {key!r} makes no slice: integers, slices and one ellipsis do; lists are read and written by a[rows, columns]")
        return Slice(create("slice", lib.lapwing_slice_cut, self._handle, found.c_parts()), self.array)

    def __setitem__(self, key, value):
        if isinstance(value, Slice) and value._assigned:
            value._assigned = False
        else:
            with self.array.runtime._for_all():
                part = self[key]
            part.assign(value)

    @property
    def T(self):
        """The dimensions in reverse."""
        return self.transpose()

    @T.setter
    def T(self, other):
        assigned(other, "s.T")

    def transpose(self, *order):
        """Dimension d of the result is dimension order[d]; without any: in reverse."""
        order = order[0] if len(order) == 1 and not isinstance(order[0], int) else order
        if order and len(order) != self.ndim:
            raise _errors.RangeError(f"Slice.transpose(): {len(order)} numbers for {self.ndim} dimensions")
        pointer = ffi.new("int[]", integers(order, "Slice.transpose: order")) if order else ffi.NULL
        return Slice(create("slice", lib.lapwing_slice_permute, self._handle, pointer), self.array)

    # --- one-sided ---

    def get(self, out=None):
        """The elements as a NumPy array. Local."""
        values = target(out, self.dtype, self.shape)
        if values.size:
            check(lib.lapwing_slice_get(self._handle, address(values), ffi.NULL))
        return values

    def __array__(self, dtype=None, copy=None):
        """All elements, read here. numpy.asarray(s). One-sided. What is read is a copy: copy=False is an error."""
        return copied(self.get(), dtype, copy, "Slice")

    def put(self, values):
        """Writes a NumPy array, which is broadcast. Local."""
        values = source(values, self.dtype, self.shape, "Slice.put: the value")
        if values.size:
            check(lib.lapwing_slice_put(self._handle, address(values), ffi.NULL))

    def start_get(self, out=None):
        """As get(), without waiting: the result's .result() gives the NumPy array. Local."""
        from ._array import Transfer

        values, cell = target(out, self.dtype, self.shape), ffi.new("lapwing_completion**")
        if values.size:
            check(lib.lapwing_slice_start_get(self._handle, address(values), ffi.NULL, cell))
        return Transfer(cell, values, (self,))

    def start_put(self, values):
        """As put(), without waiting: contiguous values of the dtype must stay as they are until .wait(). Local."""
        from ._array import Transfer

        values, cell = source(values, self.dtype, self.shape, "Slice.start_put: the value"), ffi.new("lapwing_completion**")
        if values.size:
            check(lib.lapwing_slice_start_put(self._handle, address(values), ffi.NULL, cell))
        return Transfer(cell, values, (self,))

    def copy_from(self, other):
        """The elements of another slice of the same dtype and shape, through 4 MiB of this rank's memory. Local."""
        other = as_slice(other)
        check(lib.lapwing_slice_copy(self._handle, other._handle))

    # --- collective ---

    def assign(self, other, operation="replace"):
        """Assigns the elements of another array or slice of the same shape, or a number; with "add", "subtract", "multiply", "min" or "max" the elements
        are combined with them. As if the source had been copied first. Collective: a barrier before and after."""
        with self.array.runtime._for_all():
            number = None if isinstance(other, Assignments) else np.ndim(other)
            if number is None:
                other, chosen = as_slice(other), _operation(operation)
            elif number or operation != "replace":
                raise TypeError(
                    f"lapwing.Slice.assign(): {type(other).__name__}; it must be an Array or a Slice. A NumPy array is written by one rank with put()"
                )
        if number is None:
            check(lib.lapwing_slice_assign(self._handle, other._handle, chosen))
        else:
            self.fill(other)

    def apply(self, other, function):
        """Each element becomes function(target, source), called with NumPy numbers, one by one: slow. Collective."""
        with self.array.runtime._for_all():
            other = as_slice(other)
        into, of = self.dtype, other.dtype

        def call(left, right):
            a = np.frombuffer(ffi.buffer(left, into.itemsize), into)
            b = np.frombuffer(ffi.buffer(ffi.cast("void*", right), of.itemsize), of)
            a[0] = function(a[0], b[0])

        callback = Callback(apply=call)
        callback.check(lib.lapwing_slice_apply(self._handle, other._handle, lib.lapwing_python_apply, callback.handle))

    def fill(self, value):
        """Each element becomes `value`. Collective."""
        with self.array.runtime._for_all():
            value = one_value(present(value, self.dtype, "Slice.fill: the value"), "Slice.fill: the value", "put() writes several")
        check(lib.lapwing_slice_fill(self._handle, address(value)))

    def _in_place(self, other, operation):
        self.assign(other, operation)
        self._assigned = True  # a.slice[…] += b assigns the result once more: nothing to do then
        return self

    def __iadd__(self, other):
        return self._in_place(other, "add")

    def __isub__(self, other):
        return self._in_place(other, "subtract")

    def __imul__(self, other):
        return self._in_place(other, "multiply")

    def save(self, path, progress=None):
        """The elements to a file, in their own order. Collective."""
        from ._array import _save

        _save(lib.lapwing_slice_save, self.array.runtime, self._handle, path, progress)

    def load(self, path, progress=None):
        """The elements of a file. Collective."""
        from ._array import _save

        _save(lib.lapwing_slice_load, self.array.runtime, self._handle, path, progress)


def as_slice(one):
    """A slice, or all of an array."""
    if isinstance(one, Slice):
        return one
    if isinstance(one, Assignments):
        return one.slice[...]
    raise TypeError(f"lapwing: {type(one).__name__} is neither an Array nor a Slice")


class Assignment:
    """Assignments that are carried out together, as often as needed, with the same plans."""

    __reduce_ex__ = refuse_pickling

    def __init__(self):
        self._cell, self._kept = create("assignment", lib.lapwing_assignment_create), []

    def __del__(self):
        if hasattr(self, "_cell"):
            lib.lapwing_assignment_free(self._cell)

    def add(self, target, other, operation="replace"):
        """Adds one, with the arguments of Slice.assign(). Local."""
        target = as_slice(target)
        if isinstance(other, Assignments):
            other = as_slice(other)
            check(lib.lapwing_assignment_add(self._cell[0], target._handle, other._handle, _operation(operation)))
        else:
            value = present(other, target.dtype, "Assignment.add: the value")
            value = one_value(value, "Assignment.add: the value", "An Array or a Slice has several")
            check(lib.lapwing_assignment_add_fill(self._cell[0], target._handle, address(value)))
        self._kept.append((target, other))
        return self

    def execute(self, compare=False):
        """Carries out all of them. `compare`: first checks that all ranks have the same slices. Collective."""
        check(lib.lapwing_assignment_execute(self._cell[0], compare))

    def start(self, compare=False):
        """Starts all of them, and returns a Transfer; its wait() is collective, too. Between them no rank may write to what is assigned from, nor
        touch what is assigned to. Its done() makes progress and is never true before wait(). Collective."""
        from ._array import Transfer

        cell = ffi.new("lapwing_completion**")
        check(lib.lapwing_assignment_start(self._cell[0], compare, cell))
        return Transfer(cell, None, (self,))

    @property
    def transfers(self):
        """(transfers, bytes) of this rank to other nodes in each execution."""
        transfers, size = ffi.new("uint64_t*"), ffi.new("uint64_t*")
        check(lib.lapwing_assignment_transfers(self._cell[0], transfers, size))
        return transfers[0], size[0]

    def explain(self):
        """A text for people to read."""
        return text_of(lib.lapwing_assignment_explain, self._cell[0])
