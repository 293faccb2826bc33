"""NumPy's functions on whole arrays: each rank computes its own part."""

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _errors
from ._slice import Slice

_ASSIGNED = {np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.minimum: "min", np.maximum: "max"}


def _identity(ufunc, dtype):
    """The neutral element, for ranks that own no elements."""
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
            copy = Array(other.shape, other.dtype, self.distribution, runtime=self.runtime, lower=self.lower, step=self.step)
            if copy.shape != self.shape:
                raise ValueError(f"lapwing: operands have shapes {self.shape} and {other.shape}, which must be the same")
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
        for one in outputs:
            if one._alignment() != leader._alignment():
                raise ValueError("lapwing: the arrays of out must have the same shape and distribution")
        # Others may still read what is to be overwritten, and must have written what is read.
        leader.runtime.barrier()
        if not leader.distribution._has_local:
            return leader._by_domains(ufunc, inputs, outputs, options)
        mesh = np.ix_(*leader.local_indices)
        parts = [leader._part(one, mesh) for one in inputs]
        if outputs:
            ufunc(*parts, out=tuple(one.local for one in outputs), **options)
        else:
            results = ufunc(*parts, **options)
            results = results if isinstance(results, tuple) else (results,)
            del parts
            for values in results:
                outputs.append(leader._like(values.dtype))
                outputs[-1].local[...] = values
        leader.runtime.barrier()
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _by_domains(self, ufunc, inputs, outputs, options):
        """The same if own parts are not NumPy arrays: domain after domain, by patches. All have written what is read."""
        found = []
        for domain in self.domains():
            mesh = np.ix_(*(np.arange(one.start, one.stop, one.step) for one in domain))
            key = tuple(slice(one.start, one.stop, one.step) for one in domain)
            parts = [one._patch(domain, self) if isinstance(one, Arithmetic) else self._part(one, mesh) for one in inputs]
            results = ufunc(*parts, **options)
            found.append((key, results if isinstance(results, tuple) else (results,)))
        # A rank that owns nothing takes part in making the arrays.
        empty = ufunc(*(np.empty((0,) * self.ndim, one.dtype) if hasattr(one, "dtype") else one for one in inputs), **options)
        empty = empty if isinstance(empty, tuple) else (empty,)
        if not outputs:
            outputs = [self._like(values.dtype) for values in empty]
        # Others may still read what is to be overwritten.
        self.runtime.barrier()
        for key, results in found:
            for array, values in zip(outputs, results):
                array[key] = values.astype(array.dtype, casting="same_kind", copy=False)
        self.runtime.barrier()
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    # --- reductions ---

    def _reduce(self, ufunc, axis=None, dtype=None, keepdims=False):
        axes = tuple(range(self.ndim)) if axis is None else (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
        if any(not -self.ndim <= one < self.ndim for one in axes):
            raise _errors.RangeError(f"Array.{ufunc.__name__}: axis {axis} is outside [{-self.ndim}, {self.ndim})")
        axes = tuple(one % self.ndim for one in axes)
        if len(set(axes)) != len(axes):
            raise ValueError(f"Array.{ufunc.__name__}: axis {axis} has a dimension twice")
        if ufunc in (np.minimum, np.maximum, np.fmin, np.fmax) and any(self.shape[one] == 0 for one in axes):
            raise _errors.UsageError(f"Array.{ufunc.__name__}: there are no elements, and no neutral one")
        kind = ufunc.reduce(np.empty((1,) * self.ndim, self.dtype), axis=axes, dtype=dtype).dtype
        shape = tuple(1 if d in axes else n for d, n in enumerate(self.shape))
        result = np.full(shape, _identity(ufunc, kind), kind)
        self.runtime.barrier()
        for indices, values in self._own_blocks():
            mesh = np.ix_(*(np.zeros(1, int) if d in axes else own for d, own in enumerate(self._positions(indices))))
            result[mesh] = ufunc(result[mesh], ufunc.reduce(values, axis=axes, dtype=dtype, keepdims=True))
            del values
        if not self.distribution.replicated:
            if ufunc is np.add and kind.kind != "b" and kind.itemsize <= 16 and kind.kind in "iufc" and kind != np.float16:
                self.runtime.sum(result)
            else:
                self.runtime.combine(result, ufunc)
        else:
            self.runtime.barrier()
        if not keepdims:
            result = result.reshape(tuple(n for d, n in enumerate(self.shape) if d not in axes))
        return result if result.ndim else result[()]

    def sum(self, axis=None, dtype=None, keepdims=False):
        """The sum of all elements, or along dimensions: a NumPy array, the same on every rank. Collective."""
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

    def mean(self, axis=None, keepdims=False):
        total = self._reduce(np.add, axis, None if self.dtype.kind in "fc" else float, keepdims)
        return total / (self.size / max(1, np.size(total)))

    def argmin(self):
        """The index of the first of the smallest elements, ignoring NaN: a tuple, for a[a.argmin()]. Collective."""
        return self._extreme("min")[1]

    def argmax(self):
        return self._extreme("max")[1]

    def nanmin(self):
        """The smallest element, ignoring NaN. Collective."""
        return self._extreme("min")[0]

    def nanmax(self):
        return self._extreme("max")[0]

    def _extreme(self, name):
        from ._library import check, ffi, lib
        from ._types import address

        value, index = np.empty(1, self.dtype), ffi.new("int64_t[8]")
        check(getattr(lib, f"lapwing_array_{name}")(self._handle, address(value), index))
        return value[0], tuple(index[0 : self.ndim])

    def nansum(self):
        """The library's own sum of all elements, ignoring NaN: a double, int64 or uint64. Collective."""
        from ._library import check, ffi, lib
        from ._types import address

        kind = {"i": np.int64, "u": np.uint64, "b": np.uint64}.get(self.dtype.kind, np.float64)
        total = np.empty(1, kind)
        check(lib.lapwing_array_sum(self._handle, address(total)))
        return total[0]

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
        return implementation(*arguments, **options)


def _implement(*names):
    return {getattr(np, name): (lambda name: lambda a, *rest, **options: getattr(a, name)(*rest, **options))(name) for name in names}


def _norm(a, ord=None, axis=None, keepdims=False):
    if ord is not None or axis is not None:
        raise TypeError("lapwing: numpy.linalg.norm of an Array is that of all elements; ord and axis must be None")
    return np.sqrt(np.real((a * np.conj(a)).sum()))


def _copyto(into, values):
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


def _variance(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    if dtype is not None or out is not None:
        raise TypeError("lapwing: numpy.var and numpy.std of an Array take axis, ddof and keepdims")
    distance = np.abs(a - a.mean(axis, keepdims=True))
    total = (distance * distance).sum(axis, keepdims=keepdims)
    return total / (a.size / max(1, np.size(total)) - ddof)


def _flat(a, index):
    """An index as NumPy counts the elements."""
    return int(np.ravel_multi_index([int(i) for i in a._positions(index)], a.shape))


_FUNCTIONS = {
    **_implement("sum", "prod", "any", "all", "mean", "transpose", "copy", "nanmin", "nanmax", "nansum"),
    # In NumPy 2 they are functions of their own, in NumPy 1 other names of amin and amax.
    **dict.fromkeys((np.min, np.amin), lambda a, axis=None, out=None, keepdims=False: a.min(axis, keepdims)),
    **dict.fromkeys((np.max, np.amax), lambda a, axis=None, out=None, keepdims=False: a.max(axis, keepdims)),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.zeros_like: _like(lambda a, dtype: a._like(a.dtype if dtype is None else np.dtype(dtype))),
    np.empty_like: _like(lambda a, dtype: a._like(a.dtype if dtype is None else np.dtype(dtype))),
    np.ones_like: _like(lambda a, dtype: _full_like(a, 1, dtype)),
    np.full_like: _full_like,
    np.copyto: _copyto,
    np.array_equal: _array_equal,
    np.allclose: lambda a, b, rtol=1e-5, atol=1e-8: bool((np.abs(a - b) <= atol + rtol * np.abs(b)).all()),
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
    np.var: _variance,
    np.std: lambda a, *rest, **options: np.sqrt(_variance(a, *rest, **options)),
    np.ptp: lambda a, axis=None: a.max(axis) - a.min(axis),
    np.argmin: lambda a: _flat(a, a.argmin()),
    np.argmax: lambda a: _flat(a, a.argmax()),
}


def _no_matrices():
    raise TypeError("lapwing: numpy.dot of arrays of several dimensions is not there: Lapwing moves data, ScaLAPACK multiplies matrices")
