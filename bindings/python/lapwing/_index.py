"""NumPy's indices: which elements a[key] names."""

import operator

import numpy as np

from . import _errors
from ._library import ffi


class Basic:
    """Integers and slices: a rectangle. `parts` has a range or an integer a dimension, by the array's indices; `shape` is what NumPy gives the
    result, new axes included."""

    def __init__(self, parts, shape):
        self.parts, self.shape = parts, shape
        self.full = tuple(1 if isinstance(part, int) else len(part) for part in parts)

    def ranges(self):
        """As C takes them, with rising indices; and the slices that put falling ones right."""
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
        """As slices take them."""
        return ffi.new(
            "lapwing_part[]",
            [(2, part, 1, 1) if isinstance(part, int) else (1, part.start if len(part) else 0, len(part), part.step) for part in self.parts],
        )


def _is_integer(one):
    return isinstance(one, (int, np.integer)) and not isinstance(one, (bool, np.bool_))


def _range(one, extent, lower):
    """A slice as a range of indices. With lower bounds an index below 0 is what it says."""
    if lower == 0:
        return range(*one.indices(extent))
    step = 1 if one.step is None else operator.index(one.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    below, above = (lower, lower + extent) if step > 0 else (lower - 1, lower + extent - 1)
    ends = (below, above) if step > 0 else (above, below)
    start = ends[0] if one.start is None else min(max(operator.index(one.start), below), above)
    stop = ends[1] if one.stop is None else min(max(operator.index(one.stop), below), above)
    return range(start, stop, step)


def expand(key, dimensions, who):
    """The key as a tuple with one entry a dimension, and None for new axes."""
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


def basic(key, extents, lower, who):
    """The rectangle that a key names; None for lists, masks and all else."""
    plain = key if isinstance(key, tuple) else (key,)
    if not all(one is None or one is Ellipsis or isinstance(one, slice) or _is_integer(one) for one in plain):
        return None
    wraps = not any(lower)
    parts, shape = [], []
    for one in expand(key, len(extents), who):
        if one is None:
            shape.append(1)
            continue
        d = len(parts)
        if isinstance(one, slice):
            parts.append(_range(one, extents[d], lower[d]))
            shape.append(len(parts[-1]))
            continue
        index = int(one)
        if wraps and -extents[d] <= index < 0:
            index += extents[d]
        if not lower[d] <= index < lower[d] + extents[d]:
            raise _errors.RangeError(
                f"{who}: index {int(one)} of dimension {d} is outside [{-extents[d] if wraps else lower[d]}, {lower[d] + extents[d]})"
            )
        parts.append(index)
    return Basic(parts, tuple(shape))


def listed(key, extents, lower, who):
    """The indices that lists and masks name, by NumPy's own rules: an array of shape (count, dimensions), and the shape of the result."""
    wraps = not any(lower)
    if not wraps:
        shifted, d = [], 0
        for one in expand(key, len(extents), who):
            if one is None:
                shifted.append(one)
                continue
            if isinstance(one, slice):
                found = _range(one, extents[d], lower[d])
                one = np.arange(found.start, found.stop, found.step)
                one, d = slice(int(one[0]) - lower[d], int(one[-1]) - lower[d] + 1, found.step) if len(one) else slice(0, 0), d + 1
            else:
                one = np.asarray(one)
                if one.dtype == bool:
                    d += one.ndim
                else:
                    one = one - lower[d]
                    if one.size and (one.min() < 0 or one.max() >= extents[d]):
                        raise _errors.RangeError(f"{who}: a list has an index outside [{lower[d]}, {lower[d] + extents[d]}) of dimension {d}")
                    d += 1
            shifted.append(one)
        key = tuple(shifted)
    coordinates = []
    for d, extent in enumerate(extents):
        form = [1] * len(extents)
        form[d] = extent
        # As large as the array, in no memory: NumPy's indexing of it gives the coordinates.
        whole = np.broadcast_to(np.arange(lower[d], lower[d] + extent).reshape(form), extents)
        try:
            coordinates.append(np.asarray(whole[key]))
        except IndexError as error:
            raise _errors.RangeError(f"{who}: {error}") from None
    shape = coordinates[0].shape
    return np.ascontiguousarray(np.stack([one.reshape(-1) for one in coordinates], axis=-1), np.int64), shape
