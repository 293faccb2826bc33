"""NumPy's functions on whole arrays: each rank computes its own part."""

import inspect

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _errors
from ._slice import Slice
from ._types import integers

_ASSIGNED = {np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.minimum: "min", np.maximum: "max"}


def _identity(ufunc, dtype):
    """The neutral element, for ranks that own no elements."""
    if ufunc in (np.fmax, np.fmin) and dtype.kind in "fc":
        return np.nan
    if ufunc in (np.maximum, np.fmax, np.minimum, np.fmin):
        lowest = ufunc in (np.maximum, np.fmax)
        if dtype.kind == "f":
            return -np.inf if lowest else np.inf
        if dtype.kind in "iu":
            return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max
        if dtype.kind == "b":
            return not lowest
    elif ufunc.identity is not None:
        return ufunc.identity
    raise TypeError(f"lapwing: {ufunc.__name__}.reduce of {dtype} has no neutral element, which ranks without elements need")


class _Broadcast:
    """An array of another shape; each rank reads the elements that are broadcast to its own part."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def read(self, mesh):
        """`mesh`: positions in the leader, as numpy.ix_ gives them."""
        array = self.array
        key, chosen = [], []
        for n, low, step, positions in zip(array.shape, array.lower, array.step, mesh[len(mesh) - array.ndim :]):
            own = np.zeros(1, np.int64) if n == 1 else positions.ravel()
            if not own.size:
                return np.empty((0,) * len(mesh), array.dtype)
            # The smallest patch that has them all.
            key.append(slice(low + int(own[0]) * step, low + int(own[-1]) * step + 1))
            chosen.append(own - own[0])
        return array[tuple(key)][np.ix_(*chosen)]


def _leader(ufunc, arrays, inputs):
    """The array whose shape and distribution the result gets: the first with the shape that all are broadcast to."""
    try:
        shape = np.broadcast_shapes(*(one.shape if hasattr(one, "shape") else np.shape(one) for one in inputs))
    except ValueError:
        raise ValueError(f"lapwing: shapes {' and '.join(str(one.shape) for one in arrays)} cannot be broadcast to each other") from None
    for one in arrays:
        if one.shape == shape:
            return one
    raise ValueError(
        f"lapwing.{ufunc.__name__}: the result has the shape {shape}, which no operand has, and so no distribution; pass out=, an array of that shape"
    )


class Arithmetic(NDArrayOperatorsMixin):
    """Operators, ufuncs and reductions of arrays. All are collective."""

    def _own_blocks(self):
        """What this rank owns, as (indices of each dimension, values): its own part, or patches if that is not a NumPy array."""
        if self.distribution._has_local:
            if self.local.size:
                yield self.local_indices, self.local
            return
        for domain in self.domains():
            yield [np.arange(one.start, one.stop, one.step) for one in domain], self[tuple(slice(one.start, one.stop, one.step) for one in domain)]

    def _patch(self, domain, other):
        """The elements of a domain of another array of the same shape."""
        key = []
        for one, low, step, its_low, its_step in zip(domain, self.lower, self.step, other.lower, other.step):
            first, stride = (one.start - its_low) // its_step, max(1, one.step // its_step)
            key.append(slice(low + first * step, low + (first + len(one) * stride) * step, stride * step))
        return np.asarray(self[tuple(key)])

    def _alignment(self):
        return (self.shape, self.lower, self.step, self.distribution._key(), id(self.runtime))

    def _aligned(self, other):
        """Another operand as each rank needs it: an array in step with this one, or a NumPy array of the local elements."""
        from ._array import Array

        if isinstance(other, Slice):
            with self.runtime._for_new():
                if other.shape != self.shape:
                    raise ValueError(f"lapwing: operands have shapes {self.shape} and {other.shape}, which must be the same")
            copy = Array(other.shape, other.dtype, self.distribution, runtime=self.runtime, lower=self.lower, step=self.step)
            copy.slice[...].assign(other)
            return copy
        if isinstance(other, Array):
            if other._alignment() == self._alignment():
                return other
            if other.shape != self.shape:
                # Each rank reads what its own part needs of it, when all have written.
                return _Broadcast(other)
            if not self.distribution._has_local:
                return other
            copy = self._like(other.dtype)
            copy.slice[...].assign(other)
            return copy
        return other

    def _part(self, operand, mesh):
        """The elements of an operand that belong to the local part."""
        if isinstance(operand, _Broadcast):
            return operand.read(self._positions(mesh))
        if isinstance(operand, Arithmetic):
            return operand.local
        if operand is None:  # no limit of numpy.clip
            return None
        operand = np.asarray(operand)
        if operand.ndim == 0:
            return operand
        try:
            operand = np.broadcast_to(operand, self.shape)
        except ValueError:
            raise ValueError(f"lapwing: an operand of shape {operand.shape} cannot be broadcast to {self.shape}") from None
        return operand[self._positions(mesh)]

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        from ._array import Array

        if method == "reduce":
            axis, keepdims = options.pop("axis", 0), options.pop("keepdims", False)
            dtype = options.pop("dtype", None)
            options = {name: value for name, value in options.items() if value is not np._NoValue and not (name == "where" and value is True)}
            if out is not None or options or not isinstance(inputs[0], Array):
                return NotImplemented
            return inputs[0]._reduce(ufunc, axis, dtype, keepdims)
        if method != "__call__" or ufunc.signature is not None or "where" in options:
            return NotImplemented
        with self.runtime._for_all():
            if any(isinstance(one, np.ndarray) and one.ndim for one in out or ()):
                raise TypeError("lapwing: out is a numpy.ndarray; it must be a lapwing.Array, since each rank computes its own part")
            leader = out[0] if out else _leader(ufunc, [one for one in inputs if isinstance(one, Array)], inputs)
        if out and ufunc in _ASSIGNED and inputs[0] is leader and len(inputs) == 2 and not options:
            other = inputs[1]
            if isinstance(other, (Array, Slice)) and (isinstance(other, Slice) or other._alignment() != leader._alignment()):
                if other.dtype == leader.dtype and other.shape == leader.shape:
                    leader.slice[...].assign(other, _ASSIGNED[ufunc])
                    return leader
        inputs = [leader._aligned(one) for one in inputs]
        outputs = list(out) if out else []
        with leader.runtime._for_all():
            for one in outputs:
                if one._alignment() != leader._alignment():
                    raise ValueError(f"lapwing: out has {one!r} beside {leader!r}; the arrays of out must have the same shape, lower bounds and distribution")
        # Others may still read what is to be overwritten, and must have written what is read.
        leader.runtime.barrier()
        if not leader.distribution._has_local:
            return leader._by_domains(ufunc, inputs, outputs, options)

        def compute():
            mesh = np.ix_(*leader.local_indices)
            into = {"out": tuple(one.local for one in outputs)} if outputs else {}
            results = ufunc(*(leader._part(one, mesh) for one in inputs), **into, **options)
            return results if isinstance(results, tuple) else (results,)

        results = leader.runtime._end_after(compute)
        if not outputs:
            for values in results:
                outputs.append(leader._like(values.dtype))
                outputs[-1].local[...] = values
            leader.runtime.barrier()
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _by_domains(self, ufunc, inputs, outputs, options):
        """The same if own parts are not NumPy arrays: domain after domain, by patches. All have written what is read."""

        def compute():
            found = []
            for domain in self.domains():
                mesh = np.ix_(*(np.arange(one.start, one.stop, one.step) for one in domain))
                key = tuple(slice(one.start, one.stop, one.step) for one in domain)
                parts = [one._patch(domain, self) if isinstance(one, Arithmetic) else self._part(one, mesh) for one in inputs]
                results = ufunc(*parts, **options)
                found.append((key, results if isinstance(results, tuple) else (results,)))
            return found

        # Others may still read what is to be overwritten.
        found = self.runtime._end_after(compute)
        # A rank that owns nothing takes part in making the arrays.
        empty = ufunc(*(np.empty((0,) * self.ndim, one.dtype) if hasattr(one, "dtype") else one for one in inputs), **options)
        empty = empty if isinstance(empty, tuple) else (empty,)
        if not outputs:
            outputs = [self._like(values.dtype) for values in empty]
        for key, results in found:
            for array, values in zip(outputs, results):
                array[key] = values.astype(array.dtype, casting="same_kind", copy=False)
        self.runtime.barrier()
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    # --- reductions ---

    def _axes(self, axis, call):
        """The dimensions that a reduction removes, as a tuple; None: all."""
        if axis is None:
            return tuple(range(self.ndim))
        axes = integers(axis, f"Array.{call}: axis")
        if any(not -self.ndim <= one < self.ndim for one in axes):
            raise _errors.RangeError(f"Array.{call}: axis {axis} is outside [{-self.ndim}, {self.ndim})")
        axes = tuple(one % self.ndim for one in axes)
        if len(set(axes)) != len(axes):
            raise ValueError(f"Array.{call}: axis {axis} has a dimension twice")
        return axes

    def _places(self, indices, axes):
        """Where the reduction of own elements goes in the result, which keeps all dimensions."""
        return np.ix_(*(np.zeros(1, int) if d in axes else own for d, own in enumerate(self._positions(indices))))

    def _shaped(self, result, axes, keepdims):
        if not keepdims:
            result = result.reshape(tuple(n for d, n in enumerate(self.shape) if d not in axes))
        return result if result.ndim else result[()]

    def _reduce(self, ufunc, axis=None, dtype=None, keepdims=False, of=None):
        """`of`: a function whose values are reduced instead of the elements'."""
        of = of or (lambda values: values)
        with self.runtime._for_all():
            axes = self._axes(axis, ufunc.__name__)
            if ufunc in (np.minimum, np.maximum, np.fmin, np.fmax) and any(self.shape[one] == 0 for one in axes):
                raise _errors.UsageError(f"Array.{ufunc.__name__}: the shape is {self.shape}: there are no elements along axis {axis}, and no neutral one")
            kind = ufunc.reduce(of(np.zeros((1,) * self.ndim, self.dtype)), axis=axes, dtype=dtype).dtype
        result = np.full(tuple(1 if d in axes else n for d, n in enumerate(self.shape)), _identity(ufunc, kind), kind)
        self.runtime.barrier()
        for indices, values in self._own_blocks():
            mesh = self._places(indices, axes)
            result[mesh] = ufunc(result[mesh], ufunc.reduce(of(values), axis=axes, dtype=dtype, keepdims=True))
            del values
        if not self.distribution.replicated:
            if ufunc is np.add and kind.kind in "iufc" and kind.itemsize <= 16 and kind != np.float16:
                self.runtime._sum_in_place(result)
            else:
                self.runtime.combine(result, ufunc)
        else:
            self.runtime.barrier()
        return self._shaped(result, axes, keepdims)

    def sum(self, axis=None, dtype=None, keepdims=False):
        """The sum of all elements, or along dimensions: a NumPy array, the same on every rank, of the type that NumPy gives it. Collective."""
        return self._reduce(np.add, axis, dtype, keepdims)

    def prod(self, axis=None, dtype=None, keepdims=False):
        return self._reduce(np.multiply, axis, dtype, keepdims)

    def min(self, axis=None, keepdims=False):
        """The smallest element; NaN if any element is, as in NumPy."""
        return self._reduce(np.minimum, axis, None, keepdims)

    def max(self, axis=None, keepdims=False):
        return self._reduce(np.maximum, axis, None, keepdims)

    def any(self, axis=None, keepdims=False):
        return self._reduce(np.logical_or, axis, None, keepdims)

    def all(self, axis=None, keepdims=False):
        return self._reduce(np.logical_and, axis, None, keepdims)

    def _float(self, dtype, call):
        """The types in which a mean is computed, and given: as in NumPy."""
        wanted = np.dtype(dtype or (self.dtype if self.dtype.kind in "fc" else float))
        if wanted.kind not in "fc":
            raise TypeError(f"lapwing: Array.{call}: dtype is {wanted}; it must be a floating-point or complex type")
        return np.dtype(np.float32) if wanted == np.float16 else wanted, wanted

    def _mean(self, axis, dtype, keepdims, call, of=None, counted=None):
        """The mean of the elements, or of the values of a function of them, in the type in which it is computed; `counted`: how many of them count."""
        with self.runtime._for_all():
            computed, _ = self._float(dtype, call)
        total = self._reduce(np.add, axis, computed, keepdims, of)
        if counted is None:
            counted = self.size // np.size(total) if np.size(total) else 0
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.true_divide(total, counted).astype(computed)

    def mean(self, axis=None, dtype=None, keepdims=False):
        """The mean of all elements, or along dimensions; of float16 it is computed in float32. Collective."""
        return self._mean(axis, dtype, keepdims, "mean").astype(self._float(dtype, "mean")[1])

    def var(self, axis=None, dtype=None, ddof=0, keepdims=False):
        """The mean squared distance from the mean; `ddof` is subtracted from the number of elements. Of float16 both are computed
        in float32, so that the variance is more exact than NumPy's. Collective."""
        return self._variance(axis, dtype, ddof, keepdims, self._mean(axis, dtype, True, "var"), None)

    def std(self, axis=None, dtype=None, ddof=0, keepdims=False):
        return np.sqrt(self.var(axis, dtype, ddof, keepdims))

    def _variance(self, axis, dtype, ddof, keepdims, mean, counted):
        """`counted`: how many elements are numbers, where NaN is to be ignored; else None."""
        with self.runtime._for_all():
            computed, wanted = self._float(dtype, "var")
            axes = self._axes(axis, "var")
        result = np.zeros(tuple(1 if d in axes else n for d, n in enumerate(self.shape)), computed.type(0).real.dtype)
        self.runtime.barrier()
        for indices, values in self._own_blocks():
            mesh = self._places(indices, axes)
            distance = np.abs(values - np.asarray(mean, computed)[mesh])
            if counted is not None:
                distance[np.isnan(values)] = 0
            result[mesh] += np.add.reduce(distance * distance, axis=axes, keepdims=True)
            del values
        self.runtime.barrier() if self.distribution.replicated else self.runtime._sum_in_place(result)
        with np.errstate(invalid="ignore", divide="ignore"):
            number = self.size // max(1, result.size) if counted is None else counted
            result = np.true_divide(result, np.maximum(np.subtract(number, ddof), 0)).astype(wanted.type(0).real.dtype)
        return self._shaped(result, axes, keepdims)

    # --- without NaN ---

    def _without_nan(self, value):
        """For _reduce(): NaN becomes `value`; None for types that have none."""
        return (lambda values: np.where(np.isnan(values), self.dtype.type(value), values)) if self.dtype.kind in "fc" else None

    def nansum(self, axis=None, dtype=None, keepdims=False):
        """The sum of all elements, or along dimensions, ignoring NaN; as sum(). Collective."""
        return self._reduce(np.add, axis, dtype, keepdims, self._without_nan(0))

    def nanprod(self, axis=None, dtype=None, keepdims=False):
        return self._reduce(np.multiply, axis, dtype, keepdims, self._without_nan(1))

    def nanmin(self, axis=None, keepdims=False):
        """The smallest element, ignoring NaN; NaN where all elements are. Collective."""
        return self._reduce(np.fmin, axis, None, keepdims)

    def nanmax(self, axis=None, keepdims=False):
        return self._reduce(np.fmax, axis, None, keepdims)

    def _count_numbers(self, axis):
        """How many elements are not NaN; keeps all dimensions."""
        return self._reduce(np.add, axis, np.int64, True, lambda values: ~np.isnan(values))

    def nanmean(self, axis=None, dtype=None, keepdims=False):
        """The mean of the elements that are not NaN; NaN where none is. Collective."""
        if self.dtype.kind not in "fc":
            return self.mean(axis, dtype, keepdims)
        result = self._mean(axis, dtype, True, "nanmean", self._without_nan(0), self._count_numbers(axis))
        result = np.asarray(result, self._float(dtype, "nanmean")[1])
        return self._shaped(result, self._axes(axis, "nanmean"), keepdims)

    def nanvar(self, axis=None, dtype=None, ddof=0, keepdims=False):
        if self.dtype.kind not in "fc":
            return self.var(axis, dtype, ddof, keepdims)
        counted = self._count_numbers(axis)
        mean = self._mean(axis, dtype, True, "nanvar", self._without_nan(0), counted)
        result = np.asarray(self._variance(axis, dtype, ddof, True, mean, counted))
        result[counted <= ddof] = np.nan
        return self._shaped(result, self._axes(axis, "nanvar"), keepdims)

    def nanstd(self, axis=None, dtype=None, ddof=0, keepdims=False):
        return np.sqrt(self.nanvar(axis, dtype, ddof, keepdims))

    # --- where ---

    def _first(self, extreme, axis, keepdims, call):
        """The position of the first element that equals `extreme`, which keeps all dimensions: along `axis`, or of all, as NumPy counts them."""
        axes = self._axes(axis, call)
        limit = self.size if axis is None else self.shape[axes[0]]
        result = np.full(extreme.shape, limit, np.int64)
        for indices, values in self._own_blocks():
            mesh, positions = self._places(indices, axes), np.ix_(*self._positions(indices))
            number = np.ravel_multi_index(positions, self.shape) if axis is None else positions[axes[0]]
            wanted = extreme[mesh]
            with np.errstate(invalid="ignore"):
                hit = (values == wanted) | ((values != values) & (wanted != wanted))
            result[mesh] = np.minimum(result[mesh], np.where(hit, number, limit).min(axis=axes, keepdims=True))
            del values
        self.runtime.barrier() if self.distribution.replicated else self.runtime.min(result)
        return self._shaped(result, axes, keepdims)

    def _flat_place(self, name, axis=None, keepdims=False):
        """numpy.argmin() and its like: positions from 0."""
        with self.runtime._for_all():
            if axis is not None and np.ndim(axis):
                raise _errors.UsageError(f"lapwing: Array.arg{name}: axis is {axis}; it must be one dimension, or None for all elements")
        extreme = getattr(self, name)(axis, keepdims=True)
        if name.startswith("nan") and (extreme != extreme).any():
            raise ValueError(f"lapwing: Array.nanarg{name[3:]}: all elements along axis {axis} are NaN, so that there is no place")
        return self._first(np.asarray(extreme), axis, keepdims, f"arg{name}")

    def _place(self, name, axis, keepdims):
        """The same as indices of the array."""
        place = self._flat_place(name, axis, keepdims)
        if axis is not None:
            return self.lower[axis] + self.step[axis] * place
        indices = tuple(low + step * one for low, step, one in zip(self.lower, self.step, np.unravel_index(place, self.shape)))
        return indices if keepdims else tuple(map(int, indices))

    def argmin(self, axis=None, keepdims=False):
        """The index of the first of the smallest elements, of the first NaN if there is one: a tuple, for a[a.argmin()]; along a dimension: a NumPy array
        of indices. `keepdims` without a dimension: a tuple of arrays whose extents are 1, as are those of a[a.argmin(keepdims=True)].
        numpy.argmin(a) counts all elements from 0, as NumPy does. Collective."""
        return self._place("min", axis, keepdims)

    def argmax(self, axis=None, keepdims=False):
        """The index of the first of the largest elements, as argmin()."""
        return self._place("max", axis, keepdims)

    def nanargmin(self, axis=None, keepdims=False):
        """As argmin(), ignoring NaN; ValueError where all elements are NaN."""
        return self._place("nanmin", axis, keepdims)

    def nanargmax(self, axis=None, keepdims=False):
        return self._place("nanmax", axis, keepdims)

    def dot(self, other):
        """The sum of the products of all elements with those of another array of the same shape. Collective."""
        return (self * other).sum()

    # --- NumPy's other functions ---

    def __array_function__(self, function, types, arguments, options):
        implementation = _FUNCTIONS.get(function)
        if implementation is None:
            raise TypeError(
                f"lapwing: numpy.{function.__name__} is not there for arrays of several ranks; numpy.asarray(a) reads all elements to this rank, "
                f"and a.local is its own part"
            )
        try:
            inspect.signature(implementation).bind(*arguments, **options)
        except TypeError as error:
            raise TypeError(f"lapwing: numpy.{function.__name__} of an Array takes {inspect.signature(implementation)}: {error}") from None
        return implementation(*arguments, **options)


def _method(name, *parameters):
    """A function of NumPy as a method of the array; `parameters`: NumPy's, in its order, of which the method takes those that it has."""
    method = getattr(Arithmetic, name)
    taken = set(inspect.signature(method).parameters) - {"self"}

    def function(a, *rest, **options):
        if len(rest) > len(parameters):
            raise TypeError(f"lapwing: numpy.{name}: {1 + len(rest)} arguments; there are at most {1 + len(parameters)} by position")
        given = {**dict(zip(parameters, rest)), **options}
        for other in sorted(set(given) - taken):
            if given[other] is not None:
                raise TypeError(f"lapwing: numpy.{name} of an Array does not take {other}, but {', '.join(one for one in parameters if one in taken)}")
            del given[other]
        return getattr(a, name)(**given)

    return function


def _methods():
    few = ("axis", "out", "keepdims")
    functions = {name: _method(name, *few) for name in ("any", "all", "min", "max", "nanmin", "nanmax")}
    functions |= {name: _method(name, "axis", "dtype", "out", "keepdims") for name in ("sum", "prod", "mean", "nansum", "nanprod", "nanmean")}
    functions |= {name: _method(name, "axis", "dtype", "out", "ddof", "keepdims") for name in ("var", "std", "nanvar", "nanstd")}
    # In NumPy 2 amin and amax are functions of their own, in NumPy 1 other names of min and max.
    functions |= {"amin": functions["min"], "amax": functions["max"]}
    return {getattr(np, name): function for name, function in functions.items()}


def _argument(name):
    def function(a, axis=None, out=None, keepdims=False):
        if out is not None:
            raise TypeError(f"lapwing: numpy.arg{name} of an Array takes axis and keepdims, and no out")
        return a._flat_place(name, axis, keepdims)

    return function


def _norm(a, ord=None, axis=None, keepdims=False):
    if ord is not None or axis is not None or keepdims:
        raise TypeError("lapwing: numpy.linalg.norm of an Array is that of all elements; ord and axis must be None, and keepdims False")
    wide = np.promote_types(a.dtype, np.float32) if a.dtype.kind in "fc" else float  # that the squares fit in
    return np.sqrt(a._reduce(np.add, of=lambda values: np.real(values.astype(wide) * np.conj(values.astype(wide)))))


def _copyto(into, values):
    if not isinstance(into, Arithmetic):
        into[...] = np.asarray(values)
        return
    into.slice[...].assign(values)


def _array_equal(a, b):
    return a.shape == b.shape and bool((a == b).all())


def _like(make):
    def function(a, dtype=None):
        return make(a, dtype)

    return function


def _full_like(a, value, dtype=None):
    result = a._like(a.dtype if dtype is None else np.dtype(dtype))
    result.fill(value)
    return result


class _Elementwise:
    """A NumPy function that is no ufunc but works element by element, as a ufunc."""

    signature = None

    def __init__(self, function):
        self.function, self.__name__ = function, function.__name__

    def __call__(self, *parts, out=None, **options):
        result = self.function(*parts, **options)
        if out is None:
            return result
        out[0][...] = result
        return out[0]


def _elementwise(function, inputs):
    """`inputs`: how many of the arguments may be arrays; the others are options."""

    def _call(*arguments, out=None, **options):
        operands, rest = arguments[:inputs], arguments[inputs:]
        wrapped = _Elementwise(function if not rest else lambda *parts, **more: function(*parts, *rest, **more))
        wrapped.__name__ = function.__name__
        first = next(one for one in (*operands, out) if isinstance(one, Arithmetic))
        return first.__array_ufunc__(wrapped, "__call__", *operands, out=None if out is None else (out,), **options)

    return _call


def _where(condition, *values):
    if len(values) != 2:
        raise TypeError("lapwing: numpy.where of an Array needs both values; the places of some elements are those of numpy.nonzero(a.local)")
    return _elementwise(np.where, 3)(condition, *values)


def _copy(a, order="K", subok=False):
    return a.copy()


_FUNCTIONS = {
    **_methods(),
    np.transpose: lambda a, axes=None: a.transpose(*(() if axes is None else axes)),
    np.copy: _copy,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.zeros_like: _like(lambda a, dtype: a._like(a.dtype if dtype is None else np.dtype(dtype))),
    np.empty_like: _like(lambda a, dtype: a._like(a.dtype if dtype is None else np.dtype(dtype))),
    np.ones_like: _like(lambda a, dtype: _full_like(a, 1, dtype)),
    np.full_like: lambda a, fill_value, dtype=None: _full_like(a, fill_value, dtype),
    np.copyto: _copyto,
    np.array_equal: _array_equal,
    np.allclose: lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: bool(np.isclose(a, b, rtol, atol, equal_nan).all()),
    np.vdot: lambda a, b: (np.conj(a) * b).sum(),
    np.dot: lambda a, b: a.dot(b) if a.ndim == 1 else _no_matrices(),
    np.linalg.norm: _norm,
    np.where: _where,
    np.clip: lambda a, a_min=None, a_max=None, out=None: _elementwise(np.clip, 3)(a, a_min, a_max, out=out),
    np.round: _elementwise(np.round, 1),
    np.around: _elementwise(np.around, 1),
    np.isclose: _elementwise(np.isclose, 2),
    np.nan_to_num: _elementwise(np.nan_to_num, 1),
    np.real: _elementwise(np.real, 1),
    np.imag: _elementwise(np.imag, 1),
    np.angle: _elementwise(np.angle, 1),
    np.count_nonzero: lambda a, axis=None, keepdims=False: (a != 0).sum(axis, keepdims=keepdims),
    np.ptp: lambda a, axis=None, out=None, keepdims=False: _no_out(out, "ptp") or a.max(axis, keepdims) - a.min(axis, keepdims),
    **{getattr(np, name): _argument(name.replace("arg", "")) for name in ("argmin", "argmax", "nanargmin", "nanargmax")},
}


def _no_out(out, name):
    if out is not None:
        raise TypeError(f"lapwing: numpy.{name} of an Array returns its result, and takes no out")


def _no_matrices():
    raise TypeError("lapwing: numpy.dot of arrays of several dimensions is not there: Lapwing moves data, ScaLAPACK multiplies matrices")
