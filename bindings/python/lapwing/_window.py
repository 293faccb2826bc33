"""Memory of every rank that all ranks read and write."""

import numpy as np

from . import _errors
from ._layout import Layout
from ._library import check, choice, create, ffi, lib, members, number_of, text_of
from ._runtime import Shared, mpi_object, read_statistics, runtime as default_runtime, same_memory
from ._types import address, dtype_of, integer_list, one_value, operand, type_of

OPERATIONS = {"add": 0, "and": 1, "or": 2, "xor": 3, "min": 4, "max": 5, "replace": 6, "read": 7}
ORDERS = {"relaxed": 0, "acquire": 1, "release": 2, "acq_rel": 3, "seq_cst": 4}
MANY = "fetch_list() and compare_swap_list() are for several"
_MODES = {"off": 0, "epoch": 1, "read-only": 2, "transparent": 3}
_PATHS = ("self", "direct", "rma", "service")


def operation_of(operation, dtype):
    """The number of an atomic's operation; for C a bool is an integer of 1 byte."""
    if dtype.kind == "b" and operation in ("add", "min", "max"):
        raise TypeError(f'lapwing: "{operation}" is not an atomic for bool; there are "and", "or", "xor", "replace" and "read"')
    return choice(OPERATIONS, operation, "the operation of an atomic")


def cache_options(structure, cache):
    """Fills lapwing_cache_options from a mode, or a dictionary of its members."""
    if cache is not None and not isinstance(cache, (str, dict)):
        raise TypeError(f"lapwing: cache is {cache!r}; it must be a mode, as 'epoch', or a dictionary of options")
    for name, value in ({} if cache is None else {"mode": cache} if isinstance(cache, str) else cache).items():
        if not hasattr(structure, name):
            raise ValueError(f"lapwing: cache has no option '{name}'; there are {', '.join(dir(structure))}")
        if name == "mode":
            value = choice(_MODES, value, "the mode of a cache")
        members(structure, "cache", **{name: value})


def _memory(values, writable):
    """A NumPy array, or anything with a buffer, as an array; with gaps as it is."""
    if isinstance(values, str):
        raise TypeError("lapwing: a text has no bytes of its own; put text.encode()")
    array = values if isinstance(values, (np.ndarray, np.generic)) else np.asarray(memoryview(values))
    array = np.asarray(array)
    dtype_of(array.dtype)
    if writable and not array.flags.writeable:
        raise ValueError(f"lapwing: the memory to read into, {array.dtype} of shape {array.shape}, is not writable; pass a copy")
    return array


class Window(Shared):
    """A part of `nbytes` bytes at each rank, zero at the start; sizes may differ. Offsets are in bytes. Collective.

    Bytes travel as they are in memory; NumPy arrays with gaps, such as a[:, 3], are packed on the way. docs/consistency.md says when what is
    complete.

    >>> import lapwing, numpy
    >>> w = lapwing.Window(64)
    >>> w.put(0, 8, numpy.arange(3.0)) if lapwing.rank() == 0 else None
    >>> lapwing.barrier()
    >>> w.get(0, 8, 3).tolist(), int(w.fetch("add", lapwing.rank(), 32, 5)), w.nbytes(0)
    ([0.0, 1.0, 2.0], 0, 64)
    """

    def __init__(self, nbytes, *, name=None, counters=None, alignment=None, zeroed=None, cache=None, identity=None, runtime=None):
        runtime = runtime or default_runtime()
        with runtime._for_new():
            options, kept = self._options(name, counters, alignment, zeroed, cache, identity)
        self._open(runtime, "window", lib.lapwing_window_create, runtime._handle, nbytes, options)

    @staticmethod
    def _options(name=None, counters=None, alignment=None, zeroed=None, cache=None, identity=None):
        options, kept = ffi.new("lapwing_window_options*", lib.lapwing_window_options_default()), None
        if name:
            options.name = kept = ffi.new("char[]", str(name).encode())
        values = {"notification_counters": counters, "alignment": alignment, "zeroed_bytes": zeroed, "identity": identity}
        members(options, "Window", **{name: value for name, value in values.items() if value is not None})
        cache_options(options.cache, cache)
        return options, kept

    @classmethod
    def adopt(cls, window, locked=False, runtime=None, **options):
        """The memory of a window of mpi4py, which is kept by the program and must not be freed before. `locked`: by Win.Lock_all(). Collective."""
        self, runtime = cls.__new__(cls), runtime or default_runtime()
        with runtime._for_new():
            structure, kept = cls._options(**options)
            of_mpi = mpi_object("Win", window)
        self._open(runtime, "window", lib.lapwing_window_adopt, runtime._handle, of_mpi, locked, structure)
        self._adopted = window
        return self

    @classmethod
    def _of_array(cls, array):
        self = cls.__new__(cls)
        self._have(runtime=array.runtime)
        self._views, self._array = array._views, array
        self._cell = array._cell
        self._raw = create("window", lib.lapwing_array_window, array._handle)
        return self

    @property
    def _handle(self):
        if hasattr(self, "_raw"):
            self._array._handle
            return self._raw[0]
        return Shared._handle.fget(self)

    def close(self):
        if hasattr(self, "_raw"):
            raise _errors.UsageError("Window.close(): this window is under an array, which ends it: close the array")
        super().close()

    @property
    def name(self):
        return text_of(lib.lapwing_window_name, self._handle)

    def nbytes(self, rank=None):
        """Bytes of a rank's part."""
        return number_of("uint64_t*", lib.lapwing_window_size, self._handle, self.runtime.rank if rank is None else rank)

    def path(self, rank):
        """How a rank's part is reached: "self", "direct", "rma" or "service"."""
        return _PATHS[number_of("int*", lib.lapwing_window_path, self._handle, rank)]

    def memory(self, rank, dtype=np.uint8):
        """The part of a rank as a NumPy array, without a copy, if this rank can load and store it; else None. close() raises ViewError while there
        is such an array. Local."""
        memory, size = ffi.new("void**"), ffi.new("uint64_t*")
        check(lib.lapwing_window_memory(self._handle, rank, memory, size))
        return None if memory[0] == ffi.NULL and self.nbytes(rank) else self._shown(memory[0], size[0], dtype)

    def _shown(self, memory, size, dtype):
        dtype = dtype_of(dtype)
        if size % dtype.itemsize:
            size -= size % dtype.itemsize
        return np.empty(0, dtype) if size == 0 else self._views.show(self if not hasattr(self, "_array") else self._array, memory, size, dtype)

    @property
    def local(self):
        """This rank's own part as a NumPy array of bytes; .local.view(float), for example."""
        memory, size = ffi.new("void**"), ffi.new("uint64_t*")
        check(lib.lapwing_window_local(self._handle, memory, size))
        return self._shown(memory[0], size[0], np.uint8)

    @local.setter
    def local(self, values):
        same_memory(self.local, values, "window.local")

    # --- puts and gets ---

    def _into(self, count, dtype, out):
        if out is None:
            return np.empty(count, dtype_of(dtype))
        return _memory(out, True)

    def _move(self, plain, with_gaps, rank, offset, values, *cell):
        """A transfer between a rank's part and a NumPy array, by one of two calls of the library, depending on whether the array has gaps."""
        if values.flags.c_contiguous:
            check(plain(self._handle, rank, offset, address(values), values.nbytes, *cell))
        else:
            here, there = Layout.of(values), Layout.contiguous(values.nbytes)
            check(with_gaps(self._handle, rank, offset, there._cell[0], address(values), here._cell[0], *cell))
        return values

    def _start(self, plain, with_gaps, rank, offset, values):
        from ._array import Transfer

        cell = ffi.new("lapwing_completion**")
        return Transfer(cell, self._move(plain, with_gaps, rank, offset, values, cell), (self,))

    def get(self, rank, offset, count=None, dtype=float, out=None):
        """`count` (a number or a shape) elements of a rank's part, or as many as `out` has, which may have gaps. Local."""
        return self._move(lib.lapwing_window_get, lib.lapwing_window_get_layout, rank, offset, self._into(count, dtype, out))

    def put(self, rank, offset, values):
        """The bytes of a NumPy array, which may have gaps. Complete locally on return: flush() or a barrier completes it at the owner. Local."""
        self._move(lib.lapwing_window_put, lib.lapwing_window_put_layout, rank, offset, _memory(values, False))

    def start_get(self, rank, offset, count=None, dtype=float, out=None):
        """get() without waiting: a Transfer, whose result() is the array."""
        return self._start(lib.lapwing_window_start_get, lib.lapwing_window_start_get_layout, rank, offset, self._into(count, dtype, out))

    def start_put(self, rank, offset, values):
        """put() without waiting: the values must not change until .wait()."""
        return self._start(lib.lapwing_window_start_put, lib.lapwing_window_start_put_layout, rank, offset, _memory(values, False))

    def get_layout(self, rank, offset, there, out, here=None):
        """Bytes with the layout `there` in the rank's part, and `here` in `out` (None: that of the NumPy array). Local."""
        values = _memory(out, True)
        here = here or Layout.of(values)
        check_inside(values, here)
        check(lib.lapwing_window_get_layout(self._handle, rank, offset, there._cell[0], address(values), here._cell[0]))
        return values

    def put_layout(self, rank, offset, there, values, here=None):
        """Like get_layout(), to the rank. Local."""
        values = _memory(values, False)
        here = here or Layout.of(values)
        check_inside(values, here)
        check(lib.lapwing_window_put_layout(self._handle, rank, offset, there._cell[0], address(values), here._cell[0]))

    def get_mpi(self, out, count, datatype, rank, displacement, target_count=None, target_datatype=None):
        """With the arguments of MPI_Get, and datatypes of mpi4py. Local."""
        values = _memory(out, True)
        self._mpi(lib.lapwing_window_get_mpi, values, count, datatype, rank, displacement, target_count, target_datatype)
        return values

    def put_mpi(self, values, count, datatype, rank, displacement, target_count=None, target_datatype=None):
        """With the arguments of MPI_Put, and datatypes of mpi4py. Local."""
        self._mpi(lib.lapwing_window_put_mpi, _memory(values, False), count, datatype, rank, displacement, target_count, target_datatype)

    def _mpi(self, function, values, count, datatype, rank, displacement, target_count, target_datatype):
        lower, extent = datatype.Get_true_extent()
        needed = lower + (count - 1) * datatype.Get_extent()[1] + extent if count > 0 else 0
        if lower < 0 or needed > values.nbytes:
            raise _errors.RangeError(f"Window: {count} of the datatype reach over bytes [{lower}, {needed}), and the array has {values.nbytes}")
        if not values.flags.c_contiguous:
            raise ValueError(f"lapwing: the array of shape {values.shape} has strides {values.strides}; with a datatype of mpi4py it must be contiguous")
        kind = mpi_object("Datatype", datatype)
        target_kind = kind if target_datatype is None else mpi_object("Datatype", target_datatype)
        target_count = count if target_count is None else target_count
        check(function(self._handle, address(values), count, kind, rank, displacement, target_count, target_kind))

    def prefetch(self, rank, offset, nbytes):
        """A hint that these bytes will be read soon. Local."""
        check(lib.lapwing_window_prefetch(self._handle, rank, offset, nbytes))

    def invalidate_cache(self):
        """Discards what is cached. Local."""
        check(lib.lapwing_window_invalidate_cache(self._handle))

    def flush(self, rank=None):
        """On return this rank's operations to a rank, or to all, are complete at both ends. Local."""
        check(lib.lapwing_window_flush_all(self._handle) if rank is None else lib.lapwing_window_flush(self._handle, rank))

    def release(self):
        """On return this rank's puts to this window are complete at their owners. Local."""
        check(lib.lapwing_window_release(self._handle))

    def acquire(self):
        """Later reads see what was released before. Local."""
        check(lib.lapwing_window_acquire(self._handle))

    def fence(self):
        check(lib.lapwing_window_fence(self._handle))

    # --- atomics ---

    @staticmethod
    def _value(value, dtype, call):
        what = f"Window.{call}"
        return one_value(operand(value, dtype, what), what, MANY)

    def fetch(self, operation, rank, offset, operand=None, dtype=np.int64, order="relaxed"):
        """An atomic on the value at `offset`: "add", "and", "or", "xor", "min", "max", "replace" or "read". Returns the previous value. Numbers of 1 to 8
        bytes; complex numbers "add", "replace" and "read"; bool and other types of 1, 2, 4, 8 or 16 bytes the last two; lapwing.located() these, "min"
        and "max". Local."""
        dtype = np.dtype(dtype)
        before, value = np.empty(1, dtype), self._value(0 if operand is None and operation == "read" else operand, dtype, "fetch: the operand")
        check(
            lib.lapwing_window_fetch(
                self._handle, operation_of(operation, dtype), type_of(dtype), rank, offset, address(value), address(before), choice(ORDERS, order, "Window: the order")
            )
        )
        return before[0]

    def compare_swap(self, rank, offset, expected, desired, dtype=np.int64, order="relaxed"):
        """Writes `desired` if the value equals `expected` bit by bit. Returns the previous value. Local."""
        dtype = np.dtype(dtype)
        before, old, new = np.empty(1, dtype), self._value(expected, dtype, "compare_swap: expected"), self._value(desired, dtype, "compare_swap: desired")
        check(
            lib.lapwing_window_compare_swap(
                self._handle, type_of(dtype), rank, offset, address(old), address(new), address(before), choice(ORDERS, order, "Window: the order")
            )
        )
        return before[0]

    def update(self, operation, rank, offset, operand, dtype=np.int64):
        """An atomic without a result, complete at the next release or flush. Local."""
        dtype = np.dtype(dtype)
        value = self._value(operand, dtype, "update: the operand")
        check(lib.lapwing_window_update(self._handle, operation_of(operation, dtype), type_of(dtype), rank, offset, address(value)))

    @staticmethod
    def _list(values, dtype, count, call):
        values = np.ascontiguousarray(operand(values, dtype, f"Window.{call}"))
        if values.size not in (1, count):
            raise ValueError(f"lapwing: {values.size} operands for {count} offsets; there must be one, or one for each")
        return values, int(values.size == 1 and count != 1)

    def fetch_list(self, operation, rank, offsets, operands=None, dtype=np.int64):
        """Many atomics at one rank, in the order of the list: numbers of 4 and 8 bytes. Returns the previous values. Local."""
        return self._fetch_list(operation, rank, offsets, operands, dtype, False)

    def start_fetch_list(self, operation, rank, offsets, operands=None, dtype=np.int64):
        """The same without waiting: a Transfer."""
        return self._fetch_list(operation, rank, offsets, operands, dtype, True)

    def _fetch_list(self, operation, rank, offsets, operands, dtype, start):
        from ._array import Transfer

        dtype, offsets = np.dtype(dtype), integer_list(offsets, np.uint64, "the offsets")
        values, one = self._list(0 if operands is None and operation == "read" else operands, dtype, offsets.size, "fetch_list: the operands")
        before = np.empty(offsets.size, dtype)
        arguments = (
            self._handle, choice(OPERATIONS, operation, "Window: the operation"), type_of(dtype), rank, offsets.size, ffi.cast("uint64_t*", address(offsets)),
            address(values), one, address(before),
        )  # fmt: skip
        if not start:
            check(lib.lapwing_window_fetch_list(*arguments))
            return before
        cell = ffi.new("lapwing_completion**")
        check(lib.lapwing_window_start_fetch_list(*arguments, cell))
        return Transfer(cell, before, (self, offsets, values))

    def compare_swap_list(self, rank, offsets, expected, desired, dtype=np.int64):
        """compare_swap() at many offsets of one rank. Local."""
        return self._compare_swap_list(rank, offsets, expected, desired, dtype, False)

    def start_compare_swap_list(self, rank, offsets, expected, desired, dtype=np.int64):
        """The same without waiting: a Transfer."""
        return self._compare_swap_list(rank, offsets, expected, desired, dtype, True)

    def _compare_swap_list(self, rank, offsets, expected, desired, dtype, start):
        from ._array import Transfer

        dtype, offsets = np.dtype(dtype), integer_list(offsets, np.uint64, "the offsets")
        old, one_old = self._list(expected, dtype, offsets.size, "compare_swap_list: expected")
        new, one_new = self._list(desired, dtype, offsets.size, "compare_swap_list: desired")
        before = np.empty(offsets.size, dtype)
        arguments = (
            self._handle, type_of(dtype), rank, offsets.size, ffi.cast("uint64_t*", address(offsets)),
            address(old), one_old, address(new), one_new, address(before),
        )  # fmt: skip
        if not start:
            check(lib.lapwing_window_compare_swap_list(*arguments))
            return before
        cell = ffi.new("lapwing_completion**")
        check(lib.lapwing_window_start_compare_swap_list(*arguments, cell))
        return Transfer(cell, before, (self, offsets, old, new))

    # --- notified puts ---

    def put_notify(self, rank, offset, values, counter=0):
        """A put, after which a notification counter of the rank is incremented. Local."""
        values = _memory(values, False)
        if values.flags.c_contiguous:
            check(lib.lapwing_window_put_notify(self._handle, rank, offset, address(values), values.nbytes, counter))
        else:
            here, there = Layout.of(values), Layout.contiguous(values.nbytes)
            check(lib.lapwing_window_put_notify_layout(self._handle, rank, offset, there._cell[0], address(values), here._cell[0], counter))

    def wait_notified(self, counter=0, count=1):
        """Waits until a counter of this rank has reached `count`, subtracts that, and acquires. Local."""
        check(lib.lapwing_window_wait_notified(self._handle, counter, count))

    def notified(self, counter=0):
        """Notifications that no wait has taken yet. Local."""
        return number_of("uint64_t*", lib.lapwing_window_notified, self._handle, counter)

    def statistics(self, total=False):
        """This rank's counters as a dictionary; `total`: collective, the sum over all ranks."""
        return read_statistics(lib.lapwing_window_total_statistics if total else lib.lapwing_window_statistics, self._handle)

    def plan_put(self, rank, offset, there, here, **options):
        """A put that is repeated: lapwing.Plan. `strategy`, `first_chunk`, `growth`, `largest_chunk`: docs/noncontiguous.md."""
        from ._plan import Plan

        return Plan(self, "put", rank, offset, there, here, **options)

    def plan_get(self, rank, offset, there, here, **options):
        """A get that is repeated."""
        from ._plan import Plan

        return Plan(self, "get", rank, offset, there, here, **options)

    def recording(self):
        """Puts that are made one by one and travel together: lapwing.Recording."""
        from ._plan import Recording

        return Recording(self)


def check_inside(values, layout):
    """A layout must stay within the memory of an array."""
    lower, upper = np.lib.array_utils.byte_bounds(values) if hasattr(np.lib, "array_utils") else np.byte_bounds(values)
    base = values.__array_interface__["data"][0]
    info = layout.info()
    if info["bytes"] and (info["lower"] < lower - base or info["upper"] > upper - base):
        raise _errors.RangeError(
            f"Window: the layout has bytes [{info['lower']}, {info['upper']}), and the array [{lower - base}, {upper - base}) from its first element on"
        )


class Lock(Shared):
    """A lock that all ranks share, granted in the order of the requests; for `with`. To take it is an acquire, and to give it back a release, for all windows.
    Collective.

    >>> import lapwing
    >>> lock = lapwing.Lock()
    >>> with lock:
    ...     lock.held
    True
    """

    def __init__(self, home=0, runtime=None):
        runtime = runtime or default_runtime()
        self._open(runtime, "lock", lib.lapwing_lock_create, runtime._handle, home)

    def acquire(self, blocking=True):
        """Returns when this rank holds the lock; without `blocking`, whether it was free. Local."""
        if not blocking:
            return bool(number_of("int*", lib.lapwing_lock_try, self._handle))
        check(lib.lapwing_lock_lock(self._handle))
        return True

    def release(self):
        """Gives it back. Local."""
        check(lib.lapwing_lock_unlock(self._handle))

    @property
    def held(self):
        """Whether this rank holds it."""
        return bool(number_of("int*", lib.lapwing_lock_held, self._handle))

    def __enter__(self):
        self.acquire()
        return self

    def __exit__(self, *unused):
        self.release()
