"""Global arrays."""

import numpy as np

from . import _errors, _index
from ._distribution import Block, distribution_of
from ._functions import apply_list, post_list
from ._library import Callback, Elements, check, choice, create, ffi, keep, lib, members, number_of, text_of
from ._mapped import Mapper
from ._reduction import Reduction, along
from ._runtime import Shared, read_statistics, runtime as default_runtime, same_memory
from ._slice import Assignments, Slice, assigned
from ._types import address, copied, dtype_of, integers, one_value, operand, present, source, target, type_of
from ._ufunc import Arithmetic
from ._window import MANY, OPERATIONS, ORDERS, Window, cache_options, operation_of


class Array(Arithmetic, Shared, Assignments, Elements):
    """Elements of one dtype in 1 to 8 dimensions, spread over the ranks by a distribution; zero at the start. Collective.

    a[i, j] is an element, a[3:10, ::2] a patch, as a NumPy array, a[rows, columns] a list of elements: one-sided, read when the line runs;
    written elements have arrived at their owners after the next barrier, release or flush. a.local is this rank's own part. Between arrays,
    a[...] = b.T moves the elements from distribution to distribution: collective.

    `lower`: the lowest index of each dimension, `step`: the distance between neighbours; a negative index is then an index, and does not count from the end. `halo`: room for copies around the local block,
    with lapwing.Block. `cache`: a mode, or a dictionary of options (docs/cache.md).

    >>> import lapwing, numpy
    >>> a = lapwing.zeros((4, 6), numpy.int64)
    >>> a[1:3, ::2] = [[1, 2, 3], [4, 5, 6]]
    >>> lapwing.barrier()
    >>> int(a[2, 4]), a[1].tolist(), int(a.sum())
    (6, [1, 0, 2, 0, 3, 0], 21)
    """

    __hash__ = object.__hash__
    _remedies = {
        **Shared._remedies,
        "shape": "a.resize(shape) changes the extents, of as many dimensions",
        "dtype": "a.astype(dtype) makes another array",
        "distribution": "a.redistribute(distribution) moves the elements",
        **dict.fromkeys(("lower", "step", "name", "halo_depth"), "it is an argument of lapwing.Array(); a.copy_from(b) copies the elements of another"),
        **dict.fromkeys(("ndim", "size", "nbytes"), "they follow from the shape, which a.resize(shape) changes"),
        "slice": "a.slice[...] = b assigns",
    }

    def __init__(self, shape, dtype=float, distribution=None, *, lower=None, step=None, name=None, halo=0, cache=None, runtime=None):
        runtime = runtime or default_runtime()
        with runtime._for_new():
            shape = integers(shape, "Array: shape")
            dtype = dtype_of(dtype)
            distribution = distribution_of(Block() if distribution is None else distribution, "Array")
            lower, step = _numbers("lower", lower, shape, 0), _numbers("step", step, shape, 1)
            options = ffi.new("lapwing_array_options*", lib.lapwing_array_options_default())
            kept = [ffi.new("char[]", str(name or "").encode()), ffi.new("int64_t[]", lower), ffi.new("int64_t[]", step)]
            if name:
                options.name = kept[0]
            options.lower, options.stride = kept[1:]
            members(options, "Array", halo=halo)
            cache_options(options.cache, cache)
            structure, self._kept, self._callback = distribution._parameters(len(shape))
        extents = ffi.new("int64_t[]", shape)
        try:
            self._open(
                runtime, "array", lib.lapwing_array_create, runtime._handle, type_of(dtype), len(shape), extents, structure, options
            )
        finally:
            self._called()
        self._have(dtype=dtype, distribution=distribution)
        self._halos, self._patterns = 0, []
        self._look()

    def _called(self):
        """What a program's own distribution raised."""
        if self._callback is not None:
            self._callback.check(0)

    def _look(self):
        dimensions = number_of("int*", lambda cell: lib.lapwing_array_shape(self._handle, ffi.NULL, cell, ffi.NULL, ffi.NULL))
        extents, lower, step = ffi.new("int64_t[8]"), ffi.new("int64_t[8]"), ffi.new("int64_t[8]")
        check(lib.lapwing_array_shape(self._handle, ffi.NULL, ffi.NULL, extents, lower))
        check(lib.lapwing_array_stride(self._handle, step))
        self._have(**{name: tuple(numbers[0:dimensions]) for name, numbers in (("shape", extents), ("lower", lower), ("step", step))})
        self._wraps = _index.wraps(self.lower, self.step)
        # What a program's own distribution raises is looked for after each call, in Python.
        patches = self._wraps and self._callback is None
        self._bind(int(ffi.cast("uintptr_t", self._handle)), self.dtype, self.shape, self._wraps, patches)

    def _positions(self, mesh):
        """The positions, counted from 0, of indices; both in the form of numpy.ix_."""
        return tuple((index - low) // step for index, low, step in zip(mesh, self.lower, self.step))

    def _closing(self):
        self._unbind()

    def _no_views(self, call):
        super()._no_views(call)

    def _raise(self, code):
        self._called()
        check(code)

    # --- what it is ---

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        """Number of elements."""
        return number_of("uint64_t*", lib.lapwing_array_size, self._handle)

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    @property
    def name(self):
        return text_of(lib.lapwing_array_name, self._handle)

    @property
    def halo_depth(self):
        """The room for copies around the local block."""
        return number_of("int64_t*", lib.lapwing_array_halo, self._handle)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        state = "closed" if self.closed else f"{self.distribution!r}"
        return f"<lapwing.Array {self.shape} {self.dtype} {state}>"

    def __bool__(self):
        if self.size == 1:
            return bool(self[tuple(self.lower)])
        raise ValueError(f"lapwing: the truth of an array of shape {self.shape} is ambiguous, since it has {self.size} elements: use a.any() or a.all()")

    def __iter__(self):
        for i in range(self.shape[0]):
            yield self[self.lower[0] + i * self.step[0]]

    def __contains__(self, value):
        return bool((self == value).any())

    def owner(self, *index):
        """The rank that owns an element: a.owner(i, j). This rank, if the array is replicated. Local."""
        return number_of("int*", lib.lapwing_array_owner, self._handle, self._one(index))

    def is_local(self, *index):
        """Whether this rank owns an element. Local."""
        return bool(number_of("int*", lib.lapwing_array_is_local, self._handle, self._one(index)))

    def domains(self, rank=None):
        """What a rank owns (None: this one): a list of disjoint domains, each a tuple of one range per dimension. Local."""
        rank = self.runtime.rank if rank is None else rank
        ranges, found = ffi.new("lapwing_range[8]"), []
        for k in range(number_of("uint64_t*", lib.lapwing_array_domain_count, self._handle, rank)):
            check(lib.lapwing_array_domain(self._handle, rank, k, ranges))
            # A range of one index has no stride in C.
            steps = [ranges[d].stride if ranges[d].size > 1 else self.step[d] for d in range(self.ndim)]
            found.append(tuple(range(one.first, one.first + one.size * step, step) for one, step in zip(ranges, steps)))
        return found

    # --- own part ---

    @property
    def local(self):
        """This rank's own part as a NumPy array, without a copy. While such an array is there, close(), resize() and redistribute() raise
        lapwing.ViewError. Not for distributions of the program's own. Replicated arrays: the local copy. Local."""
        memory, extents, strides = ffi.new("void**"), ffi.new("int64_t[8]"), ffi.new("int64_t[8]")
        check(lib.lapwing_array_local(self._handle, memory, extents, strides))
        shape = tuple(extents[0 : self.ndim])
        if 0 in shape:
            return np.empty(shape, self.dtype)
        return self._shown(memory[0], shape, strides)

    @local.setter
    def local(self, values):
        same_memory(self.local, values, "a.local")

    def _shown(self, memory, shape, strides, writeable=True):
        """Memory of the array as a NumPy array, which it must outlive; `strides` in elements."""
        elements = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides[0 : self.ndim]))
        root = self._views.show(self, memory, elements * self.dtype.itemsize, self.dtype)
        view = np.ndarray(shape, self.dtype, root, 0, tuple(n * self.dtype.itemsize for n in strides[0 : self.ndim]))
        view.flags.writeable = writeable
        return view

    @property
    def local_indices(self):
        """The indices of the local part: one array per dimension, so that a.local[...] = f(*numpy.ix_(*a.local_indices)). Local."""
        domains = self.domains()
        if not domains:
            return tuple(np.empty(0, np.int64) for _ in self.shape)
        return tuple(np.unique(np.concatenate([np.arange(one[d].start, one[d].stop, one[d].step) for one in domains])) for d in range(self.ndim))

    def __dlpack__(self, **options):
        """DLPack of the local part: torch.from_dlpack(a), for example."""
        return self.local.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.local.__dlpack_device__()

    def __array__(self, dtype=None, copy=None):
        """All elements, read here: as large as the array. numpy.asarray(a). One-sided. What is read is a copy: copy=False is an error."""
        return copied(self[...], dtype, copy, "Array")

    # --- elements, patches, lists ---

    def _one(self, index):
        index = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
        if len(index) != self.ndim:
            raise _errors.RangeError(f"Array: {len(index)} indices for {self.ndim} dimensions")
        index = integers(index, "Array: index")
        return ffi.new("int64_t[]", [i + n if self._wraps and -n <= i < 0 else i for i, n in zip(index, self.shape)])

    def _get(self, key):
        self._handle
        found = _index.basic(key, self.shape, self.lower, self.step, "Array")
        if found is None:
            indices, shape = _index.listed(key, self.shape, self.lower, self.step, "Array")
            values = np.empty(shape, self.dtype)
            if len(indices):
                self._raise(lib.lapwing_array_gather(self._handle, len(indices), ffi.cast("int64_t*", address(indices)), address(values)))
            return values if shape else values[()]
        return self._read(found, None)

    def _read(self, found, out):
        ranges, flips = found.ranges()
        values = target(out if flips is None else None, self.dtype, found.shape)
        if values.size:
            self._raise(lib.lapwing_array_get(self._handle, ranges, address(values), ffi.NULL))
        if flips is not None:
            values = np.ascontiguousarray(values.reshape(found.full)[flips]).reshape(found.shape)
            if out is not None:
                target(out, self.dtype, found.shape)[...] = values
                return out
        return values[()] if found.scalar and out is None else values

    def get(self, key=..., out=None):
        """a[key], into an existing array, which saves an allocation. Local."""
        read = self._get_into(key, out)
        if read is not NotImplemented:
            return read
        found = _index.basic(key, self.shape, self.lower, self.step, "Array.get()")
        if found is None:
            raise TypeError(f"lapwing.Array.get(): the key is {key!r}; lists and masks are read by a[key]")
        return self._read(found, out)

    def _set(self, key, value):
        self._handle
        if isinstance(value, (Array, Slice)):
            if isinstance(value, Slice) and value._assigned:
                value._assigned = False
            elif not (value is self and key is Ellipsis):
                self.slice[key].assign(value)
            return
        found = _index.basic(key, self.shape, self.lower, self.step, "Array")
        if found is None:
            indices, shape = _index.listed(key, self.shape, self.lower, self.step, "Array")
            values = source(value, self.dtype, shape, "Array: the value")
            if len(indices):
                self._raise(lib.lapwing_array_scatter(self._handle, len(indices), ffi.cast("int64_t*", address(indices)), address(values)))
            return
        ranges, flips = found.ranges()
        values = source(value, self.dtype, found.shape, "Array: the value")
        if flips is not None:
            values = np.ascontiguousarray(values.reshape(found.full)[flips])
        if values.size:
            self._raise(lib.lapwing_array_put(self._handle, ranges, address(values), ffi.NULL))

    def start_get(self, key):
        """Reads a patch or a list while the program does other work: .result() waits and returns the NumPy array. Local.

        >>> import lapwing
        >>> lapwing.zeros(8).start_get(slice(2, 5)).result().tolist()
        [0.0, 0.0, 0.0]
        """
        self._handle
        found, cell = _index.basic(key, self.shape, self.lower, self.step, "Array"), ffi.new("lapwing_completion**")
        if found is None:
            indices, shape = _index.listed(key, self.shape, self.lower, self.step, "Array")
            values = np.empty(shape, self.dtype)
            check(
                lib.lapwing_array_start_gather(
                    self._handle, len(indices), ffi.cast("int64_t*", address(indices)), address(values), cell
                )
            )
            return Transfer(cell, values, (indices, self))
        ranges, flips = found.ranges()
        values = np.empty(found.full, self.dtype)
        if values.size:
            check(lib.lapwing_array_start_get(self._handle, ranges, address(values), ffi.NULL, cell))
        return Transfer(cell, values, (self,), lambda: (values if flips is None else values[flips]).reshape(found.shape))

    prefetch = start_get

    def start_put(self, key, value):
        """a[key] = value without waiting. Values that are not a contiguous array of the dtype are copied first; others must not change until
        .wait(). Local."""
        self._handle
        found, cell = _index.basic(key, self.shape, self.lower, self.step, "Array"), ffi.new("lapwing_completion**")
        if found is None:
            indices, shape = _index.listed(key, self.shape, self.lower, self.step, "Array")
            values = source(value, self.dtype, shape, "Array.start_put: the value")
            check(
                lib.lapwing_array_start_scatter(
                    self._handle, len(indices), ffi.cast("int64_t*", address(indices)), address(values), cell
                )
            )
            return Transfer(cell, values, (indices, self))
        ranges, flips = found.ranges()
        values = source(value, self.dtype, found.shape, "Array.start_put: the value")
        if flips is not None:
            values = np.ascontiguousarray(values.reshape(found.full)[flips])
        if values.size:
            check(lib.lapwing_array_start_put(self._handle, ranges, address(values), ffi.NULL, cell))
        return Transfer(cell, values, (self,))

    def prefetch_element(self, *index):
        """A hint that this element will be read soon. Local."""
        check(lib.lapwing_array_prefetch_element(self._handle, self._one(index)))

    # --- atomics ---

    def _operand(self, value, call):
        what = f"Array.{call}"
        return one_value(operand(value, self.dtype, what), what, MANY)

    def fetch(self, operation, index, operand=None, order="relaxed"):
        """An atomic on an element: "add", "and", "or", "xor", "min", "max", "replace" or "read". Returns the previous value. `order`: "relaxed", "acquire",
        "release", "acq_rel", "seq_cst". Which types: Window.fetch(). Local."""
        before = np.empty(1, self.dtype)
        value = None if operation == "read" else self._operand(operand, "fetch: the operand")
        memory = ffi.NULL if value is None else address(value)
        index = self._one(index if isinstance(index, tuple) else (index,))
        check(lib.lapwing_array_fetch(self._handle, operation_of(operation, self.dtype), index, memory, address(before), choice(ORDERS, order, "Array: the order")))
        return before[0]

    def fetch_add(self, index, operand, order="relaxed"):
        """fetch("add", …)."""
        return self.fetch("add", index, operand, order)

    def compare_swap(self, index, expected, desired, order="relaxed"):
        """Writes `desired` if the element equals `expected`, bit by bit. Returns the previous value. Local."""
        before, old, new = np.empty(1, self.dtype), self._operand(expected, "compare_swap: expected"), self._operand(desired, "compare_swap: desired")
        index = self._one(index if isinstance(index, tuple) else (index,))
        check(lib.lapwing_array_compare_swap(self._handle, index, address(old), address(new), address(before), choice(ORDERS, order, "Array: the order")))
        return before[0]

    def update(self, operation, index, operand):
        """An atomic without a result, complete at the next release or flush: hundreds travel in a message. Local."""
        value = self._operand(operand, "update: the operand")
        index = self._one(index if isinstance(index, tuple) else (index,))
        check(lib.lapwing_array_update(self._handle, operation_of(operation, self.dtype), index, address(value)))

    def _listed(self, key):
        indices, shape = _index.listed(key, self.shape, self.lower, self.step, "Array")
        return indices, ffi.cast("int64_t*", address(indices)), shape

    def _operands(self, values, shape, call):
        what = f"Array.{call}"
        values = operand(values, self.dtype, what)
        return (source(values, self.dtype, shape, what), 0) if values.ndim else (values.reshape(1), 1)

    def fetch_list(self, operation, key, operands=None):
        """Atomics on the elements a[key], in the order of the list. Returns the previous values. `operands`: one, or one for each. Local."""
        indices, pointer, shape = self._listed(key)
        before = np.empty(shape, self.dtype)
        values, one = self._operands(0 if operation == "read" and operands is None else operands, shape, "fetch_list: the operands")
        check(
            lib.lapwing_array_fetch_list(self._handle, choice(OPERATIONS, operation, "Array: the operation"), len(indices), pointer, address(values), one, address(before))
        )
        return before

    def start_fetch_list(self, operation, key, operands=None):
        """fetch_list() without waiting: .result() waits and returns the previous values. Local."""
        indices, pointer, shape = self._listed(key)
        before, cell = np.empty(shape, self.dtype), ffi.new("lapwing_completion**")
        values, one = self._operands(0 if operation == "read" and operands is None else operands, shape, "fetch_list: the operands")
        check(
            lib.lapwing_array_start_fetch_list(
                self._handle, choice(OPERATIONS, operation, "Array: the operation"), len(indices), pointer, address(values), one, address(before), cell
            )
        )
        return Transfer(cell, before, (self, values))

    def compare_swap_list(self, key, expected, desired):
        """compare_swap() on the elements a[key]. Local."""
        indices, pointer, shape = self._listed(key)
        before, (old, one_old), (new, one_new) = np.empty(shape, self.dtype), self._operands(expected, shape, "compare_swap_list: expected"), self._operands(desired, shape, "compare_swap_list: desired")
        check(
            lib.lapwing_array_compare_swap_list(
                self._handle, len(indices), pointer, address(old), one_old, address(new), one_new, address(before)
            )
        )
        return before

    def start_compare_swap_list(self, key, expected, desired):
        """compare_swap_list() without waiting: .result() waits and returns the previous values. Local."""
        indices, pointer, shape = self._listed(key)
        before, cell = np.empty(shape, self.dtype), ffi.new("lapwing_completion**")
        (old, one_old), (new, one_new) = self._operands(expected, shape, "compare_swap_list: expected"), self._operands(desired, shape, "compare_swap_list: desired")
        check(
            lib.lapwing_array_start_compare_swap_list(
                self._handle, len(indices), pointer, address(old), one_old, address(new), one_new, address(before), cell
            )
        )
        return Transfer(cell, before, (self, old, new))

    # --- functions at the owners ---

    def apply(self, key, name, arguments, dtype=None):
        """Runs a function of C's at the owners of the elements a[key], which it gets, with its argument: one for each, or one for all. Returns what it has
        returned for each, as `dtype`; default that of the array. `name`: see lapwing.register(). Local."""
        return apply_list(self, key, name, arguments, dtype)

    def post(self, key, name, arguments):
        """The same without results: complete at the next release. "add" and "put" are there: arguments are added to the elements, atomically for real
        numbers, or written to them. Local."""
        post_list(self, key, name, arguments)

    # --- synchronisation ---

    def flush(self, rank=None):
        """On return this rank's operations to a rank, or to all, are complete. Local."""
        check(lib.lapwing_array_flush_all(self._handle) if rank is None else lib.lapwing_array_flush(self._handle, rank))

    def release(self):
        check(lib.lapwing_array_release(self._handle))

    def acquire(self):
        check(lib.lapwing_array_acquire(self._handle))

    def fence(self):
        check(lib.lapwing_array_fence(self._handle))

    def invalidate_cache(self):
        """Discards what is cached. Local."""
        check(lib.lapwing_array_invalidate_cache(self._handle))

    def barrier(self):
        """The runtime's barrier."""
        check(lib.lapwing_array_barrier(self._handle))
        self.runtime._refresh_mapped()

    def statistics(self, total=False):
        """This rank's counters as a dictionary; `total`: collective, the sum over all ranks."""
        return read_statistics(lib.lapwing_array_total_statistics if total else lib.lapwing_array_statistics, self._handle)

    @property
    def window(self):
        """The window under the array, which is valid until the array is closed, resized or redistributed."""
        return Window._of_array(self)

    # --- collective ---

    def fill(self, value):
        """Every element becomes `value`. Collective."""
        with self.runtime._for_all():
            value = one_value(present(value, self.dtype, "Array.fill: the value"), "Array.fill: the value", "a[...] = values writes several")
        check(lib.lapwing_array_fill(self._handle, address(value)))

    def copy_from(self, other):
        """The elements of another array of the same dtype and shape, whatever its distribution. Collective."""
        with self.runtime._for_all():
            if not isinstance(other, Array):
                raise TypeError(f"lapwing: Array.copy_from: {type(other).__name__}; it must be an Array. a[...] = b takes slices, too, and lapwing.from_numpy() NumPy arrays")
        check(lib.lapwing_array_copy(self._handle, other._handle))

    def copy(self, distribution=None):
        """Another array with the same elements, without this one's room for a halo and its cache. Collective."""
        result = self._like(self.dtype, distribution)
        result.copy_from(self)
        return result

    __copy__ = copy

    def __deepcopy__(self, memo):
        return self.copy()

    def _like(self, dtype, distribution=None):
        return Array(self.shape, dtype, distribution or self.distribution, lower=self.lower, step=self.step, runtime=self.runtime)

    def astype(self, dtype):
        """Another array with the elements converted, without this one's room for a halo and its cache. Collective."""
        result = self._like(dtype)
        result.slice[...].assign(self)
        return result

    def sum_along(self, axis, out):
        """The sums along one dimension, into an array or a slice with the other ones, of any distribution: with axis=1 out[i] becomes the sum of a[i, :].
        a.sum(axis) gives all of them to every rank. Computed as double, int64 or uint64, or complex, and converted. Collective.

        >>> import lapwing
        >>> a, totals = lapwing.ones((4, 6)), lapwing.zeros(4)
        >>> a.sum_along(1, totals)
        >>> totals[...].tolist()
        [6.0, 6.0, 6.0, 6.0]
        """
        along(lib.lapwing_array_sum_along, self, axis, out)

    def min_along(self, axis, out):
        """The smallest elements along one dimension, as sum_along(). Unlike a.min(axis) it ignores NaN; of no elements infinity, or the largest value of
        the dtype."""
        along(lib.lapwing_array_min_along, self, axis, out)

    def max_along(self, axis, out):
        """The largest elements along one dimension, as min_along()."""
        along(lib.lapwing_array_max_along, self, axis, out)

    def reduction(self, axis, out, operation="add"):
        """The same kept for a loop: lapwing.Reduction. The operation is "add", "multiply", "min" or "max". Collective."""
        return Reduction(self, axis, out, operation)

    def broadcast(self, root=0):
        """For replicated arrays: every copy becomes that of `root`. Collective."""
        with self.runtime._for_all():
            code = lib.lapwing_array_broadcast(self._handle, root)
        check(code)

    def resize(self, shape):
        """Other extents under the same distribution: elements within both keep their values, others are zero. Collective. ViewError, on every
        rank, while NumPy arrays show a rank's own part."""
        self._no_views("resize")
        with self.runtime._for_all():
            shape = integers(shape, "Array.resize: shape")
            if len(shape) != self.ndim:
                raise _errors.RangeError(f"Array.resize(): shape {shape} has {len(shape)} numbers, and the array {self.ndim} dimensions")
        check(lib.lapwing_array_resize(self._handle, ffi.new("int64_t[]", shape)))
        self._look()

    def redistribute(self, distribution, order=None):
        """Another distribution; values, shape and lower bounds stay. `order`: over the ranks in the order of a.relabelling(). Collective. Otherwise like
        resize()."""
        self._no_views("redistribute")
        with self.runtime._for_all():
            distribution = distribution_of(distribution, "Array.redistribute")
            structure, kept, callback = distribution._parameters(self.ndim)
            relabelling = () if order is None else (order._handle,)
        if order is None:
            check(lib.lapwing_array_redistribute(self._handle, structure))
        else:
            check(lib.lapwing_array_redistribute_ordered(self._handle, structure, *relabelling))
        self._kept, self._callback = kept, callback
        self._have(distribution=distribution)
        self._called()
        self._look()

    def relabelling(self, distribution):
        """The order of the ranks in which most elements stay where they are under another distribution: lapwing.Relabelling. Collective."""
        from ._prefetch import Relabelling

        return Relabelling(self, distribution)

    def prefetch_pattern(self, pattern, consistent=True, static=False, storage="by_index"):
        """Copies of the elements that a pattern names, which a[i, j] then reads: lapwing.Prefetched, for `with`. `consistent`: filled again by the first
        read after a barrier; otherwise by update(). `static`: the shape stays. `storage`: "by_index", "by_owner", or "in_halo": around the rank's
        own part, in the room of Array(…, halo=), where Prefetched.view() shows both. Collective."""
        from ._prefetch import prefetch

        return prefetch(self, pattern, consistent, static, storage)

    @property
    def mapped(self):
        """All elements as memory, for kernels that know nothing of Lapwing: numpy.asarray(a.mapped), `matrix @ a.mapped` and the like map the whole array,
        a.mapped[i, 2:8] the elements that a[i, 2:8] reads, a.mapped(pattern) the rank's own elements and those of a pattern, as a.prefetch_pattern()
        takes it: a lapwing.MappedArray of the array's shape, read-only, filled on return. In that of a pattern a read of what it does not name may end
        the program. With at_barriers=True each barrier of the runtime refreshes it as long as it lives; what a rank writes right after that barrier others may
        see at once, or after the next one. a.mapped(on_demand=True) has all elements, each page of which is fetched when it is read first.

        The array keeps the memory that was given up last for the next mapping of the same elements, which costs a refresh alone. Local.

        >>> import lapwing, numpy
        >>> x = lapwing.fromfunction(lambda i: i, (6,))
        >>> (numpy.eye(6)[2:4] @ x.mapped).tolist(), x.mapped[5:2:-2].tolist()
        ([2.0, 3.0], [5.0, 3.0])
        """
        return Mapper(self)

    def save(self, path, progress=None):
        """The elements to a file, which replaces `path` when it is complete. `progress(done, all)` is called on rank 0 with bytes; an exception that it raises
        ends the call. Collective. FileError."""
        _save(lib.lapwing_array_save, self.runtime, self._handle, path, progress)

    def load(self, path, progress=None):
        """The elements of a file that save() wrote, whatever the distribution and the number of ranks. Collective."""
        _save(lib.lapwing_array_load, self.runtime, self._handle, path, progress)

    # --- slices ---

    @property
    def slice(self):
        """a.slice[:, ::-1] is part of the array in any order; nothing is read yet: for a[...] = b.slice[:, ::-1].T, a collective assignment
        between any two distributions."""
        return _Slicer(self)

    @property
    def T(self):
        """The array transposed, without reading it: a.slice[...].T."""
        return self.slice[...].T

    @T.setter
    def T(self, other):
        assigned(other, "a.T")

    def transpose(self, *order):
        return self.slice[...].transpose(*order)

    def halo(self, depth=1, periodic=False):
        """The rank's own block with copies of the elements around it: lapwing.Halo, for a `with`. Local."""
        from ._halo import Halo

        return Halo(self, depth, periodic)


def _numbers(name, values, shape, default):
    """An option with one number per dimension."""
    if values is None:
        return (default,) * len(shape)
    values = integers(values, f"Array: {name}")
    if len(values) != len(shape):
        raise ValueError(f"lapwing.Array: {name} {values} has {len(values)} numbers, and the array {len(shape)} dimensions")
    return values


def _save(function, runtime, handle, path, progress):
    import os

    def call(done, all):
        result = progress(done, all)
        return 1 if result is not None and result else 0

    with runtime._for_all():
        path = os.fsencode(path)
    if progress is None:
        check(function(handle, path, ffi.NULL, ffi.NULL))
    else:
        callback = Callback(progress=call)
        callback.check(function(handle, path, lib.lapwing_python_progress, callback.handle))


class _Slicer:
    def __init__(self, array):
        self._array = array

    def __getitem__(self, key):
        array = self._array
        found = _index.basic(key, array.shape, array.lower, array.step, "Array.slice")
        if found is None or len(found.shape) != sum(not isinstance(part, int) for part in found.parts):
            raise TypeError(f"lapwing: {key!r} makes no slice: integers, slices and one ellipsis do; lists are read and written by a[rows, columns]")
        return Slice(create("slice", lib.lapwing_slice_create, array._handle, found.c_parts()), array)

    def __setitem__(self, key, value):
        if isinstance(value, Slice) and value._assigned:
            value._assigned = False
        else:
            with self._array.runtime._for_all():
                part = self[key]
            part.assign(value)


class Transfer:
    """A transfer under way. As a context manager it is complete after the block.

    >>> import lapwing
    >>> a = lapwing.zeros((4, 4))
    >>> with a.prefetch((slice(0, 2), slice(None))) as rows:
    ...     other_work = 6 * 7
    >>> rows.result().shape
    (2, 4)
    """

    def __init__(self, cell, values, kept, finish=None):
        self._cell, self._values, self._kept, self._finish = cell, values, kept, finish

    def done(self):
        """Whether it is complete; makes progress."""
        return self._cell[0] == ffi.NULL or bool(number_of("int*", lib.lapwing_completion_test, self._cell))

    def wait(self):
        """Waits until it is complete."""
        if self._cell[0] != ffi.NULL:
            code = lib.lapwing_completion_wait(self._cell)
            if code:
                keep(self._cell, self._values, self._kept)
            check(code)
        self._kept = None

    def result(self):
        """Waits, and returns the elements that were read."""
        self.wait()
        return self._values if self._finish is None else self._finish()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.wait()

    def __del__(self):
        # The library still writes to the memory.
        if getattr(self, "_cell", None) is not None and self._cell[0] != ffi.NULL and lib.lapwing_python_mpi_state() == 1:
            if lib.lapwing_completion_wait(self._cell):
                keep(self._cell, self._values, self._kept)


def zeros(shape, dtype=float, distribution=None, **options):
    """An array of zeros; see Array. Collective."""
    return Array(shape, dtype, distribution, **options)


def full(shape, value, dtype=None, distribution=None, **options):
    """An array whose elements are `value`. Collective."""
    with (options.get("runtime") or default_runtime())._for_new():
        dtype = np.asarray(value).dtype if dtype is None else dtype_of(dtype)
        one_value(present(value, dtype, "full: the value"), "full: the value", "lapwing.from_numpy() takes an array of values")
    array = Array(shape, dtype, distribution, **options)
    array.fill(value)
    return array


def ones(shape, dtype=float, distribution=None, **options):
    """An array of ones. Collective."""
    return full(shape, 1, dtype, distribution, **options)


def from_numpy(values, distribution=None, **options):
    """An array with the elements of a NumPy array that every rank has: each writes its own part. Collective."""
    with (options.get("runtime") or default_runtime())._for_new():
        values = np.asarray(values)
        if not values.ndim:
            raise _errors.UsageError(f"lapwing: from_numpy: {values!r} has no dimensions; pass an array of 1 to 8, or use lapwing.full(shape, value)")
    array = Array(values.shape, values.dtype, distribution, **options)

    def _write_own():
        for domain in array.domains():
            key = tuple(slice(one.start, one.stop, one.step) for one in domain)
            array[key] = values[np.ix_(*array._positions([np.arange(one.start, one.stop, one.step) for one in domain]))]

    array.runtime._end_after(_write_own)
    return array


def fromfunction(function, shape, dtype=float, distribution=None, **options):
    """An array whose elements are function(i, j, …) of arrays of indices: each rank computes its own part. Collective.

    >>> import lapwing
    >>> lapwing.fromfunction(lambda i, j: 10 * i + j, (2, 3))[1].tolist()
    [10.0, 11.0, 12.0]
    """
    array = Array(shape, dtype, distribution, **options)

    def _write_own():
        for domain in array.domains():
            indices = np.ix_(*(np.arange(one.start, one.stop, one.step) for one in domain))
            array[tuple(slice(one.start, one.stop, one.step) for one in domain)] = function(*indices)

    array.runtime._end_after(_write_own)
    return array


def checkpoint_shape(path, dtype, ndim, runtime=None):
    """The shape of the array in a file. Collective. FileError if its dtype or number of dimensions is another."""
    import os

    runtime, extents = runtime or default_runtime(), ffi.new("int64_t[8]")
    with runtime._for_all():
        code = lib.lapwing_checkpoint_extents(runtime._handle, os.fsencode(path), type_of(dtype_of(dtype)), ndim, extents)
    check(code)
    return tuple(extents[0:ndim])


def load(path, dtype, ndim, distribution=None, **options):
    """A new array with the elements of a file that save() wrote. Collective."""
    array = Array(checkpoint_shape(path, dtype, ndim, options.get("runtime")), dtype, distribution, **options)
    array.load(path)
    return array
