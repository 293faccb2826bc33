"""NumPy's indices: which elements a[key] names."""

import operator

import numpy as np

from . import _errors
from ._library import ffi


class Basic:
    """Integers and slices: a rectangle. `parts` has a range or an integer per dimension, in the array's indices; `shape` is the shape of
    NumPy's result, new axes included; `scalar`, whether that is a number, and not an array without dimensions."""

    def __init__(self, parts, shape, scalar):
        self.parts, self.shape, self.scalar = parts, shape, scalar
        self.full = tuple(1 if isinstance(part, int) else len(part) for part in parts)

    def ranges(self):
        """The ranges for C, with ascending indices; and the slices that restore descending ones."""
        ranges, flips = [], []
        for part in self.parts:
            if isinstance(part, int):
                ranges.append((part, 1, 1))
                flips.append(slice(None))
            elif part.step < 0 and len(part) > 0:
                ranges.append((part[-1], len(part), -part.step))
                flips.append(slice(None, None, -1))
            else:
                ranges.append((part.start, len(part), abs(part.step)))
                flips.append(slice(None))
        flips = tuple(flips) if any(one.step for one in flips) else None
        return ffi.new("lapwing_range[]", ranges), flips

    def c_parts(self):
        """The ranges for slices."""
        return ffi.new(
            "lapwing_part[]",
            [(2, part, 1, 1) if isinstance(part, int) else (1, part.start if len(part) else 0, len(part), part.step) for part in self.parts],
        )


def _is_integer(one):
    return isinstance(one, (int, np.integer)) and not isinstance(one, (bool, np.bool_))


def wraps(lower, step):
    """Whether -1 is the last index, as it is in arrays with NumPy's indices."""
    return not any(lower) and all(one == 1 for one in step)


def _range(one, extent, lower, step, who):
    """A slice as a range of indices. With lower bounds or steps a negative index does not count from the end."""
    if lower == 0 and step == 1:
        return range(*one.indices(extent))
    stride = step if one.step is None else operator.index(one.step)
    if stride == 0:
        raise ValueError(f"{who}: the slice {one} has a step of 0; pass another, as 1 or -1")
    if stride % step:
        raise _errors.RangeError(f"{who}: slices of indices that are {step} apart have steps that are multiples of it, and not {stride}")
    stride //= step
    below, above = (0, extent) if stride > 0 else (-1, extent - 1)

    def position(index, default):
        if index is None:
            return default
        distance = operator.index(index) - lower
        # The next index in the direction of the slice.
        return min(max(-(-distance // step) if stride > 0 else distance // step, below), above)

    start, stop = position(one.start, below if stride > 0 else above), position(one.stop, above if stride > 0 else below)
    return range(lower + step * start, lower + step * stop, step * stride)


def expand(key, dimensions, who):
    """The key as a tuple with one entry per dimension, and None for new axes."""
    key = key if isinstance(key, tuple) else (key,)
    used = sum(np.ndim(one) if isinstance(one, np.ndarray) and one.dtype == bool else one is not None and one is not Ellipsis for one in key)
    dots = [k for k, one in enumerate(key) if one is Ellipsis]
    if len(dots) > 1:
        raise IndexError(f"{who}: an index can only have a single ellipsis ('...')")
    if used > dimensions:
        raise _errors.RangeError(f"{who}: {used} indices for {dimensions} dimensions")
    if dots:
        k = dots[0]
        return key[:k] + (slice(None),) * (dimensions - used) + key[k + 1 :]
    return key + (slice(None),) * (dimensions - used)


def basic(key, extents, lower, step, who):
    """The rectangle that a key names; None for lists, masks and all else."""
    plain = key if isinstance(key, tuple) else (key,)
    if not all(one is None or one is Ellipsis or isinstance(one, slice) or _is_integer(one) for one in plain):
        return None
    negative = wraps(lower, step)
    parts, shape = [], []
    for one in expand(key, len(extents), who):
        if one is None:
            shape.append(1)
            continue
        d = len(parts)
        if isinstance(one, slice):
            parts.append(_range(one, extents[d], lower[d], step[d], who))
            shape.append(len(parts[-1]))
            continue
        index = int(one)
        if negative and -extents[d] <= index < 0:
            index += extents[d]
        if index not in range(lower[d], lower[d] + extents[d] * step[d], step[d]):
            every = "" if step[d] == 1 else f" by {step[d]}"
            raise _errors.RangeError(
                f"{who}: index {int(one)} of dimension {d} is outside "
                f"[{-extents[d] if negative else lower[d]}, {lower[d] + extents[d] * step[d]}){every}"
            )
        parts.append(index)
    return Basic(parts, tuple(shape), not shape and Ellipsis not in plain)


def listed(key, extents, lower, step, who):
    """The indices that lists and masks name, by NumPy's own rules: an array of shape (count, dimensions), and the shape of the result."""
    if not wraps(lower, step):
        shifted, d = [], 0
        for one in expand(key, len(extents), who):
            if one is None:
                shifted.append(one)
                continue
            if isinstance(one, slice):
                found = _range(one, extents[d], lower[d], step[d], who)
                first, stride = (found.start - lower[d]) // step[d], found.step // step[d]
                end = first + len(found) * stride
                one, d = slice(first, None if end < 0 else end, stride) if len(found) else slice(0, 0), d + 1
            else:
                one = np.asarray(one)
                if one.dtype == bool:
                    d += one.ndim
                else:
                    one, beside = np.divmod(one - lower[d], step[d])
                    if one.size and (one.min() < 0 or one.max() >= extents[d] or beside.any()):
                        every = "" if step[d] == 1 else f" by {step[d]}"
                        wrong = (one * step[d] + lower[d] + beside)[(one < 0) | (one >= extents[d]) | (beside != 0)].flat[0]
                        raise _errors.RangeError(
                            f"{who}: a list has index {wrong}, outside [{lower[d]}, {lower[d] + extents[d] * step[d]}){every} of dimension {d}"
                        )
                    d += 1
            shifted.append(one)
        key = tuple(shifted)
    coordinates = []
    for d, extent in enumerate(extents):
        form = [1] * len(extents)
        form[d] = extent
        # As large as the array, in no memory: NumPy's indexing of it gives the coordinates.
        whole = np.broadcast_to((lower[d] + step[d] * np.arange(extent)).reshape(form), extents)
        try:
            coordinates.append(np.asarray(whole[key]))
        except IndexError as error:
            raise _errors.RangeError(f"{who}: {error}") from None
    shape = coordinates[0].shape
    return np.ascontiguousarray(np.stack([one.reshape(-1) for one in coordinates], axis=-1), np.int64), shape
