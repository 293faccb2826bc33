"""Non-contiguous transfers that are repeated, puts that are computed while they travel, and puts that are recorded."""

import numpy as np

from . import _errors
from ._library import Callback, check, choice, create, ffi, keep, lib, members, text_of
from ._runtime import refuse_pickling
from ._types import address
from ._window import _memory, check_inside

_STRATEGIES = ("automatic", "per-block", "full-pack", "fixed-pipeline", "superpipeline", "direct-copy", "owner-packed", "sieved")


class _OfWindow:
    __reduce_ex__ = refuse_pickling
    _kind = ""

    def close(self):
        """Local."""
        check(getattr(lib, f"lapwing_{self._kind}_free")(self._cell))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __del__(self):
        if hasattr(self, "_cell") and lib.lapwing_python_mpi_state() == 1:
            getattr(lib, f"lapwing_{self._kind}_free")(self._cell)

    @property
    def _handle(self):
        if self._cell[0] == ffi.NULL:
            raise _errors.UsageError(f"{type(self).__name__}: it is closed; window.plan_put(), plan_get() and recording() make others")
        self._window._handle
        return self._cell[0]


class Plan(_OfWindow):
    """A transfer between memory of this rank and a rank's part of a window, with a layout on either side: made once by window.plan_put() or
    plan_get(), executed as often as needed. For one thread at a time. Local."""

    _kind = "plan"

    def __init__(self, window, direction, rank, offset, there, here, strategy="automatic", first_chunk=0, growth=0.0, largest_chunk=0):
        options = ffi.new("lapwing_plan_options*", [choice(_STRATEGIES, strategy, "Plan: strategy")])
        members(options, "Plan", first_chunk=first_chunk, growth=growth, largest_chunk=largest_chunk)
        function = lib.lapwing_plan_create_put if direction == "put" else lib.lapwing_plan_create_get
        self._window, self._here, self._direction = window, here, direction
        self._cell = create("plan", function, window._handle, rank, offset, there._cell[0], here._cell[0], options)

    def _address(self, memory):
        array = _memory(memory, self._direction == "get")
        check_inside(array, self._here)
        return array, address(array)

    def execute(self, memory):
        """Blocking, from or to a NumPy array: a get is complete on return, a put locally."""
        array, pointer = self._address(memory)
        if self._direction == "put":
            check(lib.lapwing_plan_execute_put(self._handle, pointer))
        else:
            check(lib.lapwing_plan_execute(self._handle, pointer))
        return array

    def execute_notify(self, memory, counter=0):
        """A put, after which a notification counter of the rank is incremented."""
        array, pointer = self._address(memory)
        check(lib.lapwing_plan_execute_notify(self._handle, pointer, counter))

    def start(self, memory):
        """Without waiting: a Transfer; the memory must not change until it is complete."""
        from ._array import Transfer

        (array, pointer), cell = self._address(memory), ffi.new("lapwing_completion**")
        check(lib.lapwing_plan_start(self._handle, pointer, cell))
        return Transfer(cell, array, (self,))

    def execute_filled(self, fill, granule=1):
        """A put whose bytes are computed while they travel: fill(first, memory) writes bytes [first, first + len(memory)) of the sequence to a NumPy array of
        bytes. Each call is for a multiple of `granule` bytes, in order."""

        def call(first, memory, size):
            fill(first, np.frombuffer(ffi.buffer(memory, size), np.uint8))

        callback = Callback(fill=call)
        callback.check(lib.lapwing_plan_execute_filled(self._handle, granule, lib.lapwing_python_fill, callback.handle))

    def produce(self, memory):
        """A put from a NumPy array that the program is still computing: lapwing.Production."""
        return Production(self, *self._address(memory))

    def query(self):
        """The strategy in use, bytes of an execution, and its seconds predicted by the cost model."""
        strategy, size, seconds = ffi.new("int*"), ffi.new("uint64_t*"), ffi.new("double*")
        check(lib.lapwing_plan_query(self._handle, strategy, size, seconds))
        return {"strategy": _STRATEGIES[strategy[0]], "bytes": size[0], "seconds": seconds[0]}

    def explain(self):
        """Which strategy, and why not the others."""
        return text_of(lib.lapwing_plan_explain, self._handle)


class Production:
    """A put that the program drives while it computes the bytes; made by plan.produce(). Finished after a `with`."""

    __reduce_ex__ = refuse_pickling

    def __init__(self, plan, array, pointer):
        self._plan, self._array = plan, array
        self._cell = create("production", lib.lapwing_plan_produce, plan._handle, pointer)

    def ready(self, nbytes):
        """The first `nbytes` bytes of the sequence are computed. Does not wait."""
        if self._cell[0] == ffi.NULL:
            raise _errors.UsageError("Production.ready(): it is finished")
        check(lib.lapwing_production_ready(self._cell[0], nbytes))

    def finish(self):
        """All bytes are computed: complete locally on return."""
        if self._cell[0] != ffi.NULL:
            check(lib.lapwing_production_finish(self._cell))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.finish()

    def __del__(self):
        if hasattr(self, "_cell") and self._cell[0] != ffi.NULL and lib.lapwing_python_mpi_state() == 1:
            if lib.lapwing_production_finish(self._cell):
                keep(self._cell, self._plan, self._array)


class Recording(_OfWindow):
    """Puts that are made one by one and travel as one planned transfer to each rank; made by window.recording(). Local."""

    _kind = "recording"

    def __init__(self, window):
        self._window, self._kept = window, []
        self._cell = create("recording", lib.lapwing_recording_create, window._handle)

    def put(self, rank, offset, values):
        """Records a put of a contiguous NumPy array, whose values are read by run()."""
        array = _memory(values, False)
        if not array.flags.c_contiguous:
            raise ValueError(f"lapwing.Recording.put(): the array of shape {array.shape} has strides {array.strides}; it must be contiguous, since its values are read by run(): pass a copy")
        check(lib.lapwing_recording_put(self._handle, rank, offset, address(array), array.nbytes))
        self._kept.append(array)

    def run(self):
        """Puts what was recorded, complete locally on return, and starts a new recording."""
        check(lib.lapwing_recording_run(self._handle))
        self._kept = []

    def query(self):
        """Puts since the last run, and how many times a run had to plan."""
        puts, plans = ffi.new("uint64_t*"), ffi.new("uint64_t*")
        check(lib.lapwing_recording_query(self._handle, puts, plans))
        return {"puts": puts[0], "plans_made": plans[0]}

    def blocks(self, rank):
        """Blocks that will go to a rank, or went with the last run."""
        count = ffi.new("uint64_t*")
        check(lib.lapwing_recording_blocks(self._handle, rank, count))
        return count[0]
