"""The ranks of a communicator, and the objects that they share."""

import atexit
import contextlib
import json
import sys
import weakref

import numpy as np

from . import _errors
from ._errors import refuse_pickling
from ._functions import Aggregator, start_call, start_post
from ._library import Callback, check, create, family, ffi, lib, mpi_version, number_of, text_of, _family_of, _FAMILIES
from ._types import Views, address, dtype_of, integer_list, present, type_of

_PATHS = ("self", "direct", "rma", "service")


class Fixed:
    """Base of what has attributes that cannot be replaced: `_remedies` says for some what to do instead."""

    _remedies = {}

    def __setattr__(self, name, value):
        member = getattr(type(self), name, None)
        known = name in self._remedies or (isinstance(member, property) and member.fset is None)
        if known:
            remedy = self._remedies.get(name, "it is read alone")
            raise AttributeError(f"lapwing.{type(self).__name__}: {name} cannot be set: {remedy}")
        super().__setattr__(name, value)

    def _have(self, **attributes):
        """Sets what programs cannot."""
        vars(self).update(attributes)


def same_memory(view, value, what):
    """What `view += 1` leaves to a property's setter: the values have changed in place. Another array is an error."""
    if isinstance(value, np.ndarray) and value.shape == view.shape and value.dtype == view.dtype:
        if not view.size or (address(value) == address(view) and value.strides == view.strides):
            return
    raise AttributeError(f"lapwing: {what} is memory of the array, which cannot be replaced; {what}[...] = values writes to it")


class Cell:
    """The handle of an object that all ranks made together, and which they must free together.

    An object that nobody refers to any more cannot be freed at once, since other ranks may still use theirs: it is marked, and freed at
    the next collective call that makes or closes one, when it is marked on all ranks.
    """

    def __init__(self, runtime, kind, handle):
        self.kind, self.handle, self.runtime = kind, handle, runtime
        self.dropped = False

    def free(self):
        if self.handle[0] != ffi.NULL:
            check(getattr(lib, f"lapwing_{self.kind}_free")(self.handle))

    def leave(self):
        function = getattr(lib, f"lapwing_{self.kind}_leave", None)
        if function is not None and self.handle[0] != ffi.NULL:
            check(function(self.handle))


class Shared(Fixed):
    """Base of arrays, windows and locks: they are closed by all ranks together, or with the runtime."""

    __reduce_ex__ = refuse_pickling
    _remedies = {"runtime": "an object is made with its runtime"}

    def _open(self, runtime, kind, function, *arguments):
        runtime._handle  # not of a runtime that is closed
        runtime._collect()
        handle = ffi.new(f"lapwing_{kind}**")
        with runtime._for_all():  # what C cannot take
            code = function(*arguments, handle)
        check(code)
        self._have(runtime=runtime)
        self._views = Views()
        self._cell = Cell(runtime, kind, handle)
        runtime._cells.append(self._cell)
        weakref.finalize(self, setattr, self._cell, "dropped", True).atexit = False

    @property
    def _handle(self):
        handle = self._cell.handle[0]
        if handle == ffi.NULL:
            raise _errors.UsageError(f"{type(self).__name__}: it is closed; {self.runtime.who()} used it after close(), or after its runtime's")
        return handle

    @property
    def closed(self):
        """Whether close() was called, or the runtime is closed."""
        return self._cell.handle[0] == ffi.NULL

    def _no_views(self, call):
        """Collective: checks that no rank has NumPy arrays that show memory which will be freed."""
        counts = np.array([self._views.count, 0], np.int64)
        counts[1] = counts[0] > 0
        own = int(counts[0])
        self.runtime._sum_in_place(counts)
        if counts[0]:
            raise _errors.ViewError(
                f"{type(self).__name__}.{call}(): {self.runtime.who()} has {own} NumPy arrays that show this object's memory, all ranks "
                f"{counts[0]} (on {counts[1]} of {self.runtime.size} ranks); they would show memory that is gone. Delete them first: del view"
            )

    def close(self):
        """Collective: completes all operations and frees the memory. lapwing.ViewError on every rank while a NumPy array on any of them shows
        the memory. Does nothing if the object is closed."""
        if self.closed:
            return
        self._no_views("close")
        self._closing()
        self._cell.free()
        self.runtime._cells.remove(self._cell)
        self.runtime._collect()

    def _closing(self):
        pass

    def leave(self):
        """Local: frees it without waiting for other ranks, before Runtime.leave()."""
        if not self.closed:
            self._closing()
            self._cell.leave()
            self.runtime._cells.remove(self._cell)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        # After an exception other ranks may never come to a collective call.
        if kind is None:
            self.close()


class Settings:
    """The settings of a runtime: from the environment, and what the program sets. See docs/settings.md.

    >>> import lapwing
    >>> settings = lapwing.Settings(LAPWING_CACHE="epoch")
    >>> settings["LAPWING_CACHE"], settings.origin("LAPWING_CACHE")
    ('epoch', 'program')
    """

    __reduce_ex__ = refuse_pickling

    def __init__(self, **values):
        self._cell = create("settings", lib.lapwing_settings_create)
        for name, value in values.items():
            self[name] = value

    def __del__(self):
        if hasattr(self, "_cell"):
            lib.lapwing_settings_free(self._cell)

    def __setitem__(self, name, value):
        check(lib.lapwing_settings_set(self._cell[0], str(name).encode(), str(value).encode()))

    def __getitem__(self, name):
        return text_of(lib.lapwing_settings_text, self._cell[0], str(name).encode())

    def origin(self, name):
        """Where a value comes from: "program", "environment" or "default"."""
        return text_of(lib.lapwing_settings_origin, self._cell[0], str(name).encode())

    @staticmethod
    def all():
        """Every setting of the library: a dictionary of dictionaries, by name."""
        found = {}
        for k in range(number_of("size_t*", lib.lapwing_settings_count)):
            info = ffi.new("lapwing_setting_info*")
            check(lib.lapwing_settings_info(k, info))
            texts = {name: ffi.string(getattr(info, name)).decode() for name in ("default_value", "unit", "help", "choices", "range")}
            found[ffi.string(info.name).decode()] = {**texts, "collective": bool(info.collective)}
        return found


def read_statistics(function, *arguments):
    """Counters as a dictionary."""
    statistics = ffi.new("lapwing_statistics*")
    check(function(*arguments, statistics))
    return json.loads(text_of(lib.lapwing_statistics_json, statistics))


def add_statistics(*counters):
    """The sum of several dictionaries of counters, each by name."""
    return {name: sum(one[name] for one in counters) for name in counters[0]} if counters else {}


def _communicator(comm):
    if comm is None:
        world = ffi.new("MPI_Comm*")
        lib.lapwing_python_world(world)
        return world[0]
    module = sys.modules.get("mpi4py.MPI")
    if module is None or not isinstance(comm, module.Comm):
        raise TypeError(f"lapwing: comm is of type {type(comm).__name__}; it must be a communicator of mpi4py, or None for all ranks")
    same_mpi(module)
    return ffi.cast("MPI_Comm*", module._addressof(comm))[0]


def same_mpi(module):
    """Objects of mpi4py mean nothing to another MPI than its own."""
    theirs, ours = module.Get_library_version().strip("\0\n "), mpi_version()
    if theirs != ours:
        raise _errors.UsageError(
            f"lapwing: mpi4py is built for {_FAMILIES.get(_family_of(theirs), theirs)} ({theirs.splitlines()[0]}), and lapwing works with "
            f"{_FAMILIES.get(family, family)} ({ours.splitlines()[0]}): its communicators, windows and datatypes mean nothing here. Import mpi4py "
            f"before lapwing, which then takes the same MPI if it is built for it"
        )


def mpi_object(kind, value):
    """A communicator, window, datatype, request or operation of mpi4py as a value of C."""
    module = sys.modules.get("mpi4py.MPI")
    if module is None or not isinstance(value, getattr(module, kind)):
        raise TypeError(f"lapwing: {value!r} is of type {type(value).__name__}; it must be a mpi4py.MPI.{kind}")
    same_mpi(module)
    return ffi.cast(f"MPI_{kind}*", module._addressof(value))[0]


_runtimes = []
_default = None
_failed = False


class Runtime(Fixed):
    """The ranks of a communicator of mpi4py; None: all ranks, and MPI is started if it is not yet. Collective.

    `settings` are a lapwing.Settings, or names and values: Runtime(LAPWING_CACHE="epoch"). Most programs take lapwing.runtime() instead.
    """

    __reduce_ex__ = refuse_pickling
    _remedies = dict.fromkeys(("rank", "size"), "a lapwing.Runtime of another communicator has other ranks")

    def __init__(self, comm=None, settings=None, **values):
        if settings is None:
            settings = Settings(**values)
        elif values:
            raise TypeError(f"lapwing.Runtime: settings are passed, and {', '.join(values)} beside them; pass either settings, or names and values")
        communicator = _communicator(comm)
        self._cell = create("runtime", lib.lapwing_runtime_create, communicator, settings._cell[0])
        self._cells = []
        self._aggregators = weakref.WeakSet()
        self._mapped = weakref.WeakSet()  # what barriers refresh
        self._comm = comm
        self._have(rank=number_of("int*", lib.lapwing_runtime_rank, self._cell[0]), size=number_of("int*", lib.lapwing_runtime_size, self._cell[0]))
        _runtimes.append(self)

    @property
    def _handle(self):
        handle = self._cell[0]
        if handle == ffi.NULL:
            raise _errors.UsageError("Runtime: it is closed; make another one, or take lapwing.runtime()")
        return handle

    @property
    def closed(self):
        return self._cell[0] == ffi.NULL

    def __repr__(self):
        return f"<lapwing.Runtime: {'closed' if self.closed else self.who()}>"

    def _collect(self):
        """Frees the objects that nothing refers to on any rank, in the order of their creation."""
        if not self._cells:
            return
        dropped = np.array([cell.dropped for cell in self._cells], np.uint8)
        self.min(dropped)
        for cell in [cell for cell, gone in zip(self._cells, dropped) if gone]:
            cell.free()
            self._cells.remove(cell)

    def collect(self):
        """Collective: frees arrays, windows and locks that nothing refers to any more on any rank."""
        self._handle
        self._collect()

    def close(self):
        """Collective: closes what is open, the latest first, and ends the runtime; the last runtime ends MPI if Lapwing started it."""
        global _default
        if self.closed:
            return
        self._close_aggregators()
        while self._cells:
            self._cells[-1].free()
            self._cells.pop()
        check(lib.lapwing_runtime_free(self._cell))
        _runtimes.remove(self)
        if _default is self:
            _default = None

    def leave(self):
        """Local: leaves without waiting for the others, whose collective calls and waits then raise PeerLeftError."""
        global _default
        if self.closed:
            return
        try:
            self._close_aggregators()
        except _errors.Error:  # what is not sent is lost
            pass
        while self._cells:
            self._cells[-1].leave()
            self._cells.pop()
        check(lib.lapwing_runtime_leave(self._cell))
        _runtimes.remove(self)
        if _default is self:
            _default = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close() if kind is None else self.leave()

    def path(self, rank):
        """How the memory of a rank is reached: "self", "direct", "rma" or "service"."""
        return _PATHS[number_of("int*", lib.lapwing_runtime_path, self._handle, rank)]

    @property
    def network_path(self):
        """The path between nodes."""
        return _PATHS[number_of("int*", lib.lapwing_runtime_network_path, self._handle)]

    @property
    def progress_mode(self):
        """Who keeps communication moving: "thread" or "caller"."""
        return ("thread", "caller")[number_of("int*", lib.lapwing_runtime_progress_mode, self._handle)]

    @property
    def node_size(self):
        """Ranks on this rank's node."""
        return number_of("int*", lib.lapwing_runtime_node_size, self._handle)

    @property
    def nodes(self):
        """Nodes of all ranks."""
        return number_of("int*", lib.lapwing_runtime_nodes, self._handle)

    def barrier(self, identity=None):
        """Collective. What was written before it is seen by all ranks after it. `identity`: a number that must be the same on all ranks."""
        if identity is None:
            check(lib.lapwing_runtime_barrier(self._handle))
        else:
            check(lib.lapwing_runtime_barrier_identity(self._handle, identity))
        self._refresh_mapped()

    def _refresh_mapped(self):
        """What a.mapped(pattern, at_barriers=True) has made, all under way at once. What cannot be refreshed any more is reported once."""
        transfers, failure = [], None
        for one in [one for one in self._mapped if not one.array.closed]:
            try:
                transfers.append(one.start_refresh())
            except _errors.Error as error:
                self._mapped.discard(one)
                failure = failure or error
        for transfer in transfers:
            try:
                transfer.wait()
            except _errors.Error as error:
                failure = failure or error
        if failure is not None:
            raise failure

    @contextlib.contextmanager
    def _for_all(self, values=False):
        """The checks before a collective call, in which ranks share `values` or not: what they raise on one rank is raised there, and the call's
        error on the others has its text."""
        try:
            yield
        except Exception as error:
            lib.lapwing_runtime_refuse(self._handle, values, f"{self.who()}: {type(error).__name__}: {error}".encode())
            raise

    def _for_new(self):
        """The checks before an object is made, which begins with _collect()."""
        return self._for_all(values=bool(self._cells))

    def _end_after(self, step):
        """step(), which is the rank's own part of a collective call, and the barrier at its end. What the step raises on one rank is raised
        there, and UsageError on the others."""
        try:
            result = step()
        except Exception:
            try:
                self.barrier(1)
            except _errors.MismatchError:  # the others have 0
                pass
            raise
        try:
            self.barrier(0)
        except _errors.MismatchError as error:
            raise _errors.UsageError(
                f"lapwing: rank {self.rank} of {self.size}: another rank could not do its part of the call; see its error"
            ) from error
        return result

    def notify(self, identity=None):
        """The first half of a barrier: does not wait."""
        if identity is None:
            check(lib.lapwing_runtime_notify(self._handle))
        else:
            check(lib.lapwing_runtime_notify_identity(self._handle, identity))

    def wait(self, identity=None):
        """The second half: ends when every rank has called notify()."""
        if identity is None:
            check(lib.lapwing_runtime_wait(self._handle))
        else:
            check(lib.lapwing_runtime_wait_identity(self._handle, identity))

    def release(self):
        """On return this rank's puts to all windows are complete at their owners."""
        check(lib.lapwing_runtime_release(self._handle))

    def acquire(self):
        """Later reads see what was released before."""
        check(lib.lapwing_runtime_acquire(self._handle))

    def fence(self):
        """release() and acquire()."""
        check(lib.lapwing_runtime_fence(self._handle))

    def progress(self):
        """One round of progress, for long computations without a progress thread; whether anything was done."""
        return bool(number_of("int*", lib.lapwing_runtime_progress, self._handle))

    def wait_request(self, request):
        """Waits for a mpi4py request, and serves other ranks meanwhile."""
        mpi_object("Request", request)
        cell = ffi.cast("MPI_Request*", sys.modules["mpi4py.MPI"]._addressof(request))
        status = ffi.new("MPI_Status*")
        check(lib.lapwing_runtime_wait_request(self._handle, cell, status))

    def _in_place(self, values):
        if not isinstance(values, np.ndarray) or not values.flags.c_contiguous or not values.flags.writeable:
            kind = f"of shape {values.shape}, with gaps or read-only" if isinstance(values, np.ndarray) else f"of type {type(values).__name__}"
            raise TypeError(f"lapwing: values are {kind}; they must be a numpy.ndarray, contiguous and writable: the result takes its place")
        dtype_of(values.dtype)
        return type_of(values.dtype), address(values), values.size

    def sum(self, values):
        """Collective: the sum of all ranks' values, element by element, in place of a NumPy array, which is returned; a number: returned. The sum of
        bool and of integers of fewer than 64 bits is, as in NumPy, int64 or uint64: a new array, and the argument stays as it is."""
        with self._for_all(values=True):
            array = values if isinstance(values, np.ndarray) else np.array([values])
            if array.dtype.kind in "biu":
                wide = np.add.reduce(np.empty(0, array.dtype)).dtype
                array = array if wide == array.dtype else array.astype(wide)
        return self._numbers(lib.lapwing_runtime_sum, values, array)

    def _sum_in_place(self, array):
        """Collective: the sum of all ranks' NumPy arrays in their own type, small integers too, in their place."""
        self._numbers(lib.lapwing_runtime_sum, array)

    def min(self, values):
        """Collective: the smallest of all ranks' values, element by element, in place of a NumPy array, which is returned; a number: returned."""
        return self._numbers(lib.lapwing_runtime_min, values)

    def max(self, values):
        """Collective: the largest of all ranks' values; as min()."""
        return self._numbers(lib.lapwing_runtime_max, values)

    def _numbers(self, function, values, array=None):
        with self._for_all(values=True):
            if array is None:
                array = values if isinstance(values, np.ndarray) else np.array([values])
            arguments = self._in_place(array)
        check(function(self._handle, *arguments))
        return array if isinstance(values, np.ndarray) else array[0]

    def all_reduce(self, values, datatype, operation):
        """Collective: MPI_Allreduce in place of a NumPy array, with a datatype and an operation of mpi4py."""
        with self._for_all(values=True):
            _, memory, _ = self._in_place(values)
            types = mpi_object("Datatype", datatype), mpi_object("Op", operation)
            size = datatype.Get_size()
            count = values.nbytes // size if size else 0
        check(lib.lapwing_runtime_all_reduce(self._handle, memory, count, *types))
        return values

    def broadcast(self, values, root=0):
        """Collective: the elements of a NumPy array of `root` on every rank, in place."""
        with self._for_all(values=True):
            _, memory, _ = self._in_place(values)
            code = lib.lapwing_runtime_broadcast(self._handle, memory, values.nbytes, root)
        check(code)
        return values

    def combine(self, values, function):
        """Collective: combines a NumPy array of every rank in the order of the ranks, in place. `function(left, right)` returns the combined
        array, and must be associative: numpy.multiply, for example. At most 4 MiB travel at a time: elements are combined one by one."""
        with self._for_all(values=True):
            self._in_place(values)
        flat = values.reshape(-1)
        chunk = max(1, (1 << 20) // values.itemsize)
        failure = None
        for first in range(0, flat.size, chunk):
            part = flat[first : first + chunk]
            callback = self._combining(function, part)
            check(lib.lapwing_runtime_combine(self._handle, address(part), part.nbytes, lib.lapwing_python_combine, callback.handle))
            failure = failure or callback.error
        self._agree(failure, "combine")
        return values

    def _agree(self, failure, call):
        """Collective: an exception on one rank is raised on all."""
        failed = self.max(self.rank if failure is not None else -1)
        if failure is not None:
            raise failure
        if failed >= 0:
            raise _errors.UsageError(
                f"rank {self.rank} of {self.size}: Runtime.{call}: there is no result, since the function has raised on rank {failed}; see that rank's error"
            )

    @staticmethod
    def _combining(function, like):
        def combine(left, right):
            a = np.frombuffer(ffi.buffer(left, like.nbytes), like.dtype)
            b = np.frombuffer(ffi.buffer(ffi.cast("void*", right), like.nbytes), like.dtype)
            a[...] = function(a, b)

        return Callback(combine=combine)

    def combine_before(self, values, function):
        """Collective: the combined values of the ranks before this one; None on rank 0. As combine()."""
        with self._for_all(values=True):
            _, memory, _ = self._in_place(values)
        before, has = np.empty_like(values), ffi.new("int*")
        callback = self._combining(function, values.reshape(-1))
        check(
            lib.lapwing_runtime_combine_before(
                self._handle, memory, address(before), values.nbytes, lib.lapwing_python_combine, callback.handle, has
            )
        )
        self._agree(callback.error, "combine_before")
        return before if has[0] else None

    def all_gather(self, values):
        """Collective: an array with one more dimension, the first: the values of each rank."""
        with self._for_all(values=True):
            values = np.ascontiguousarray(values)
            result = np.empty((self.size, *values.shape), dtype_of(values.dtype))
        check(lib.lapwing_runtime_all_gather(self._handle, address(values), values.nbytes, address(result)))
        return result

    def all_gather_varying(self, values):
        """Collective: a list with the values of each rank, of which every rank passes as many as it has: arrays of one dimension and the same dtype.
        MismatchError on every rank where the types differ. Cost: three gathers."""
        with self._for_all(values=True):
            values = np.ascontiguousarray(np.atleast_1d(values))
            if values.ndim != 1:
                raise _errors.UsageError(f"lapwing: Runtime.all_gather_varying: the values have shape {values.shape}; pass one dimension, values.reshape(-1)")
            dtype = dtype_of(values.dtype)
        ends = np.cumsum(self.all_gather(np.int64(values.size)))
        result, counts = np.empty(ends[-1], dtype), ffi.new("uint64_t[]", self.size)
        call = lib.lapwing_runtime_all_gather_varying
        check(call(self._handle, type_of(dtype), address(values), values.size, address(result), result.size, counts))
        return np.split(result, ends[:-1])

    def require_same(self, values, what="values"):
        """Collective: MismatchError on every rank unless all pass the same integers."""
        with self._for_all(values=True):
            values = integer_list(values, np.int64, "values of require_same()")
        check(lib.lapwing_runtime_require_same(self._handle, ffi.cast("int64_t*", address(values)), values.size, str(what).encode()))

    def call(self, rank, function, *arguments, **named):
        """Runs function(*arguments, **named) at a rank and returns a lapwing.Future of what it returns. The function is sent as its module and
        its name there, which every rank imports, the rest by pickle: up to a packet, about 7900 bytes. It runs on a thread of the program that is
        in a collective call, progress(), a release, or the get() of a Future; it may wait, but make no collective call. What it raises get()
        raises, as lapwing.FunctionError.

        A name stands for a function of C's: register(). It gets the bytes of one argument, a NumPy array or what one is made of, and its result
        is read as `dtype`. where="program": it runs as Python's do, else in whichever thread makes progress. Local."""
        return start_call(self, rank, function, arguments, named)

    def post(self, rank, function, *arguments, **named):
        """The same without a result: it has run when a later release of this rank returns, which raises what it has raised. Local."""
        start_post(self, rank, function, arguments, named)

    def quiesce(self):
        """Collective: ends when all functions have run that any rank has called or posted, and those that they have posted, and so on."""
        check(lib.lapwing_runtime_quiesce(self._handle))

    def aggregator(self):
        """A lapwing.Aggregator: reads, writes and adds to lists of elements of any arrays, hundreds in a message. Local."""
        return Aggregator(self)

    def _close_aggregators(self):
        for one in list(self._aggregators):
            one.close()

    def statistics(self, total=False):
        """This rank's counters as a dictionary; `total`: collective, the sum over all ranks."""
        return read_statistics(lib.lapwing_runtime_total_statistics if total else lib.lapwing_runtime_statistics, self._handle)

    def report(self):
        """What was found at the start, and the settings that are not default."""
        return text_of(lib.lapwing_runtime_report, self._handle)

    def who(self):
        """"rank 2 of 4"."""
        return f"rank {self.rank} of {self.size}" if self.closed else text_of(lib.lapwing_runtime_who, self._handle)

    def setting(self, name):
        """The value of a setting with which the runtime was made."""
        return text_of(lib.lapwing_runtime_setting, self._handle, str(name).encode())


def runtime():
    """The runtime of all ranks, which the first, collective, call makes. MPI is started if it is not yet."""
    global _default
    if _default is None:
        _default = Runtime()
    return _default


def use(runtime):
    """Makes this the runtime that lapwing.runtime() returns, and functions use that are given no other: over a communicator of mpi4py,
    for example. Local."""
    global _default
    runtime._handle
    _default = runtime


def rank():
    """The calling rank of lapwing.runtime()."""
    return runtime().rank


def size():
    """The number of ranks of lapwing.runtime()."""
    return runtime().size


def barrier():
    """The barrier of lapwing.runtime()."""
    runtime().barrier()


# A rank that ends by an exception must not wait for the others in collective calls, nor they for it.
_previous_hook = sys.excepthook


def _note_failure(kind, value, trace):
    global _failed
    _failed = True
    _previous_hook(kind, value, trace)


sys.excepthook = _note_failure


# After all functions of atexit, mpi4py's among them: a process that has not ended MPI by then ends with status 1.
lib.lapwing_python_watch_end()


@atexit.register
def _end():
    """Before mpi4py ends MPI, which it does after all functions of atexit."""
    global _failed
    if lib.lapwing_python_mpi_state() != 1:
        return
    for one in reversed(_runtimes[:]):
        try:
            one.leave() if _failed else one.close()
        except BaseException as error:  # KeyboardInterrupt, too: there are other runtimes
            print(f"lapwing, at exit: {str(error) or type(error).__name__}", file=sys.stderr)
            _failed = True
            one.leave()  # the others must not wait for what this rank does not do any more
