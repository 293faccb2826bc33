"""Functions at other ranks, and lists of elements of many arrays in few messages."""

import importlib
import os
import pickle
import sys
import traceback

import numpy as np

from . import _errors
from ._errors import refuse_pickling
from ._library import check, create, ffi, lib, number_of
from ._types import address, dtype_of, operand, source, target

_WHERE = ("progress", "program")
_PYTHON = b"lapwing: a function of Python's"


def _find(module, name):
    """A function by its module and its name there."""
    found = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _named(function):
    """What stands for a function on other ranks, which find it by its name."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    try:
        there = _find(module, name) == function
    except (ImportError, AttributeError, TypeError):
        there = False
    if not there:
        raise _errors.UsageError(
            f"lapwing: other ranks do not find {function!r} by a module and a name: define it by def at the top of a module, or of the program, "
            f"and pass what it needs as arguments"
        )
    return module, name


def _pickled(function, arguments, named):
    module, name = _named(function)
    try:
        return pickle.dumps((module, name, arguments, named), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise _errors.UsageError(f"lapwing: the arguments of {name}() cannot be pickled: {error}") from error


def _text_of(error):
    """What the caller's exception says of one that was raised here, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return "".join(traceback.format_exception_only(type(error), error)).strip() + where


@ffi.def_extern(error=1)
def lapwing_python_call(context, element, argument, argument_bytes, result, result_bytes):
    """Runs a function of Python's, on a thread of the program."""
    try:
        module, name, arguments, named = pickle.loads(ffi.buffer(ffi.cast("void*", argument), argument_bytes))
        value = _find(module, name)(*arguments, **named)
        if not result_bytes[0]:
            return 0
        pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if len(pickled) > result_bytes[0]:
            raise _errors.RangeError(
                f"what {name}() returned has {len(pickled)} bytes, of which {result_bytes[0]} fit into a packet; write it to an array, or raise "
                f"LAPWING_SERVICE_PACKET"
            )
        ffi.memmove(result, pickled, len(pickled))
        result_bytes[0] = len(pickled)
        return 0
    except BaseException as error:  # must not cross the library; the caller gets it
        return lib.lapwing_function_fail(_text_of(error).encode())


check(lib.lapwing_function_register(_PYTHON, lib.lapwing_python_call, ffi.NULL))


def register(name, function, context=0):
    """Makes a function of C's known, lapwing_owner_function of lapwing/c/function.h, by a name, on every rank and before the first call of it.
    `function` and `context`: addresses, as ctypes.cast(f, ctypes.c_void_p).value and numba.cfunc(...).address are. Local."""
    if not isinstance(name, str):
        raise _errors.UsageError(f"lapwing.register: the name is of type {type(name).__name__}; it must be a str")
    addresses = []
    for what, value in (("function", function), ("context", context)):
        try:
            addresses.append(ffi.cast("void*", value))
        except (TypeError, OverflowError):
            raise _errors.UsageError(f"lapwing.register: {what} is {value!r}; it must be an address, an integer") from None
    check(lib.lapwing_function_register(name.encode(), ffi.cast("lapwing_owner_function", addresses[0]), addresses[1]))


class _ToC:
    """The argument of a function of C's, and how its result is read."""

    def __init__(self, call, arguments, dtype=None, where="progress"):
        if len(arguments) > 1:
            raise _errors.UsageError(f"lapwing: {call}: a function of C's takes one argument, and {len(arguments)} were passed; pass a record, or an array")
        if where not in _WHERE:
            raise _errors.UsageError(f"lapwing: {call}: where is {where!r}; it must be one of {', '.join(map(repr, _WHERE))}")
        self.where = _WHERE.index(where)
        self.dtype = None if dtype is None else dtype_of(dtype)
        self.argument = np.frombuffer(arguments[0], np.uint8) if arguments and isinstance(arguments[0], (bytes, bytearray)) else None
        if self.argument is None and arguments:
            values = np.asarray(arguments[0])
            dtype_of(values.dtype)
            self.argument = np.ascontiguousarray(values)
        self.bytes = 0 if self.argument is None else self.argument.nbytes
        self.memory = ffi.NULL if self.argument is None else address(self.argument)

    def read(self, memory):
        return None if self.dtype is None else np.frombuffer(memory, self.dtype, 1)[0]


class Future:
    """The result of a function at another rank, which may still be on its way. One that is dropped drops the result: the function runs."""

    __reduce_ex__ = refuse_pickling

    def __init__(self, runtime, cell, room, read):
        self._runtime, self._cell, self._room, self._read = runtime, cell, room, read

    def __del__(self):
        if self._cell[0] != ffi.NULL:
            lib.lapwing_future_free(self._cell)

    def _open(self, call):
        if self._cell[0] == ffi.NULL:
            raise _errors.UsageError(f"lapwing: Future.{call}: get() has returned the result, or has raised what the function has")

    def ready(self):
        """Whether the result is here; makes progress if it is not."""
        self._open("ready")
        return bool(number_of("int*", lib.lapwing_future_ready, self._cell[0]))

    def get(self):
        """Waits for the result and returns it, once. What the function has raised is a lapwing.FunctionError with its text."""
        self._open("get")
        memory, size = bytearray(self._room), ffi.new("uint64_t*")
        check(lib.lapwing_future_get(self._cell, ffi.from_buffer(memory), self._room, size))
        return self._read(memoryview(memory)[: size[0]])


def start_call(runtime, rank, function, arguments, named):
    """Runtime.call()."""
    cell = ffi.new("lapwing_future**")
    if isinstance(function, str):
        to = _ToC("Runtime.call", arguments, **_options("Runtime.call", named))
        room = to.dtype.itemsize if to.dtype is not None else 0
        check(lib.lapwing_runtime_start_call(runtime._handle, to.where, rank, function.encode(), to.memory, to.bytes, room, cell))
        return Future(runtime, cell, room, to.read)
    sent = _pickled(function, arguments, named)
    room = int(runtime.setting("LAPWING_SERVICE_PACKET"))
    check(lib.lapwing_runtime_start_call(runtime._handle, 1, rank, _PYTHON, ffi.from_buffer(sent), len(sent), room, cell))
    return Future(runtime, cell, room, pickle.loads)


def start_post(runtime, rank, function, arguments, named):
    """Runtime.post()."""
    if isinstance(function, str):
        to = _ToC("Runtime.post", arguments, **_options("Runtime.post", named, ("where",)))
        check(lib.lapwing_runtime_post(runtime._handle, to.where, rank, function.encode(), to.memory, to.bytes))
    else:
        sent = _pickled(function, arguments, named)
        check(lib.lapwing_runtime_post(runtime._handle, 1, rank, _PYTHON, ffi.from_buffer(sent), len(sent)))


def _options(call, named, known=("dtype", "where")):
    for name in named:
        if name not in known:
            raise _errors.UsageError(f"lapwing: {call}: a function of C's has no argument {name}; there are {', '.join(known)}")
    return named


def _arguments_of_list(array, call, arguments, shape):
    """One argument for each element, or one for all: values, and whether they are one."""
    values = np.asarray(arguments)
    dtype_of(values.dtype)
    return (np.ascontiguousarray(values).reshape(1), 1) if values.ndim == 0 else (source(values, values.dtype, shape, f"{call}: the arguments"), 0)


def apply_list(array, key, name, arguments, dtype):
    """Array.apply()."""
    indices, pointer, shape = array._listed(key)
    values, one = _arguments_of_list(array, "Array.apply", arguments, shape)
    results = np.empty(shape, dtype_of(array.dtype if dtype is None else dtype))
    check(
        lib.lapwing_array_apply_list(
            array._handle, len(indices), pointer, str(name).encode(), address(values), values.itemsize, one, address(results), results.itemsize
        )
    )
    return results


def post_list(array, key, name, arguments):
    """Array.post()."""
    if name in ("add", "put"):
        with Aggregator(array.runtime) as aggregator:
            getattr(aggregator, name)(array, key, arguments)
        return
    indices, pointer, shape = array._listed(key)
    values, one = _arguments_of_list(array, "Array.post", arguments, shape)
    check(lib.lapwing_array_post_list(array._handle, len(indices), pointer, str(name).encode(), address(values), values.itemsize, one))


class Aggregator:
    """Reads, writes and adds to lists of elements of any arrays of a runtime, and calls functions of C's, hundreds in a message to each rank. It sends
    what it has when a message is full, by flush(), by a release of the same thread, and when it is closed. Before
    flush() nothing is known of what is gathered. Made by Runtime.aggregator(); for one thread.

    >>> import lapwing, numpy as np
    >>> counts = lapwing.zeros(100, np.int64)
    >>> with lapwing.runtime().aggregator() as aggregator:
    ...     aggregator.add(counts, np.arange(0, 100, 3), 1)
    >>> lapwing.barrier()
    >>> int(counts.sum()) // lapwing.size()
    34
    """

    __reduce_ex__ = refuse_pickling

    def __init__(self, runtime):
        self._runtime = runtime
        self._cell = create("aggregator", lib.lapwing_aggregator_create, runtime._handle)
        self._kept = []
        runtime._aggregators.add(self)

    def __del__(self):
        if hasattr(self, "_cell") and self._cell[0] != ffi.NULL and not self._runtime.closed:
            lib.lapwing_aggregator_free(self._cell)

    @property
    def _handle(self):
        if self._cell[0] == ffi.NULL:
            raise _errors.UsageError("lapwing: Aggregator: it is closed; make another one, by Runtime.aggregator()")
        return self._cell[0]

    @property
    def closed(self):
        """Whether close() was called, or the runtime is closed."""
        return self._cell[0] == ffi.NULL

    def _values(self, array, call, values, shape):
        values = operand(values, array.dtype, f"Aggregator.{call}: the values")
        return (source(values, array.dtype, shape, f"Aggregator.{call}: the values"), 0) if values.ndim else (values.reshape(1), 1)

    def get(self, array, key, out=None):
        """A NumPy array of the elements array[key], lists of indices by NumPy's rules, which has their values after flush(). `out`: that array. Local."""
        indices, pointer, shape = array._listed(key)
        values = target(out, array.dtype, shape)
        check(lib.lapwing_aggregator_get_list(self._handle, array._handle, len(indices), pointer, address(values)))
        self._kept.append(values)
        return values

    def put(self, array, key, values):
        """The elements array[key] become these values, or this one. Complete at the next release. Local."""
        indices, pointer, shape = array._listed(key)
        given, one = self._values(array, "put", values, shape)
        check(lib.lapwing_aggregator_put_list(self._handle, array._handle, len(indices), pointer, address(given), one))

    def add(self, array, key, values):
        """These values, or this one, are added to the elements array[key] by their owners. Complete at the next release. Local."""
        indices, pointer, shape = array._listed(key)
        given, one = self._values(array, "add", values, shape)
        check(lib.lapwing_aggregator_add_list(self._handle, array._handle, len(indices), pointer, address(given), one))

    def post(self, rank, name, *arguments):
        """Runs a function of C's at a rank: see Runtime.post(). Complete at the next release. Local."""
        if not isinstance(name, str):
            raise _errors.UsageError("lapwing: Aggregator.post: a function of Python's goes in a message of its own: use Runtime.post()")
        to = _ToC("Aggregator.post", arguments)
        check(lib.lapwing_aggregator_post(self._handle, rank, name.encode(), to.memory, to.bytes))

    def flush(self):
        """Sends everything, and waits for what is read. Local."""
        check(lib.lapwing_aggregator_flush(self._handle))
        self._kept.clear()

    def close(self):
        """flush(), and ends the aggregator. Local."""
        if not self.closed:
            check(lib.lapwing_aggregator_free(self._cell))
            self._kept.clear()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()
