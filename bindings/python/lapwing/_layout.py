"""One side of a transfer that is not contiguous."""

import numpy as np

from ._library import check, create, ffi, lib, number_of, text_of
from ._runtime import mpi_object, refuse_pickling
from ._types import address, integer_list, integers


def _several(numbers, count, what):
    found = integers(numbers, what)
    if len(found) != count:
        raise ValueError(f"lapwing: {what} is {numbers!r}; it must be {count} integers")
    return found


class Layout:
    """An ordered sequence of bytes in memory, relative to where a transfer begins. It never changes.

    >>> import lapwing, numpy
    >>> lapwing.Layout.strided(3, 8, 24)
    <lapwing.Layout: 3 blocks of 8 bytes, stride 24, 24 bytes within [0, 56)>
    >>> lapwing.Layout.of(numpy.zeros((3, 3))[:, 0]) == lapwing.Layout.strided(3, 8, 24)
    True
    """

    __reduce_ex__ = refuse_pickling
    __hash__ = object.__hash__

    def __init__(self, cell):
        self._cell = cell

    def __del__(self):
        if hasattr(self, "_cell"):
            lib.lapwing_layout_free(self._cell)

    @classmethod
    def _make(cls, name, *arguments):
        return cls(create("layout", getattr(lib, f"lapwing_layout_{name}"), *arguments))

    @classmethod
    def contiguous(cls, nbytes, offset=0):
        """One block."""
        return cls._make("create_contiguous", nbytes, offset)

    @classmethod
    def strided(cls, count, block_bytes, stride, offset=0):
        """`count` blocks, `stride` bytes from start to start."""
        return cls._make("create_strided", count, block_bytes, stride, offset)

    @classmethod
    def nested(cls, levels, block_bytes, offset=0):
        """Nested levels (count, stride), the outermost first."""
        levels = [_several(level, 2, "Layout.nested: a level") for level in levels]
        return cls._make("create_nested", len(levels), ffi.new("lapwing_level[]", levels), block_bytes, offset)

    @classmethod
    def indexed(cls, offsets, block_bytes):
        """Blocks of equal size at these offsets, in this order."""
        offsets = integer_list(offsets, np.int64, "the offsets")
        return cls._make("create_indexed", offsets.size, ffi.cast("int64_t*", address(offsets)), block_bytes)

    @classmethod
    def blocks(cls, blocks):
        """Any blocks (offset, bytes), in this order."""
        blocks = [_several(block, 2, "Layout.blocks: a block") for block in blocks]
        return cls._make("create_list", len(blocks), ffi.new("lapwing_block[]", blocks))

    @classmethod
    def concatenated(cls, parts):
        """The sequences one after the other."""
        parts = list(parts)
        for k, part in enumerate(parts):
            if not isinstance(part, Layout):
                raise TypeError(f"lapwing: Layout.concatenated: part {k} is {part!r}; it must be a Layout")
        return cls._make("create_concatenated", len(parts), ffi.new("lapwing_layout*[]", [part._cell[0] for part in parts]))

    @classmethod
    def patch(cls, ranges, shape, itemsize):
        """The elements of a rectangle, one Python range per dimension, of a row-major array of this shape."""
        shape, ranges = tuple(shape), tuple(ranges)
        if len(shape) != len(ranges):
            raise ValueError(f"lapwing: Layout.patch: {len(ranges)} ranges for a shape of {len(shape)} numbers; there must be one for each dimension")
        ranges = ffi.new("lapwing_range[]", [(one.start, len(one), one.step) for one in ranges])
        return cls._make("create_patch", len(shape), ranges, ffi.new("int64_t[]", integers(shape, "Layout.patch: shape")), itemsize)

    @classmethod
    def of(cls, array):
        """The elements of a NumPy array in the order of its indices, from its first one on."""
        return cls.nested(list(zip(array.shape, array.strides)), array.itemsize)

    @classmethod
    def from_mpi(cls, datatype, count=1):
        """`count` elements of a committed datatype of mpi4py, which may be freed afterwards."""
        return cls._make("create_mpi", mpi_object("Datatype", datatype), count)

    def to_mpi(self):
        """A committed datatype of mpi4py with these bytes in this order, which the program frees."""
        from mpi4py import MPI

        datatype = MPI.Datatype()
        mpi_object("Datatype", datatype)
        cell = ffi.new("MPI_Datatype*")
        check(lib.lapwing_layout_to_mpi(self._cell[0], cell))
        ffi.memmove(ffi.cast("void*", MPI._addressof(datatype)), cell, ffi.sizeof("MPI_Datatype"))
        return datatype

    def slice(self, begin, end):
        """Bytes [begin, end) of the sequence."""
        return self._make("slice", self._cell[0], begin, end)

    def shift(self, distance):
        """All offsets increased."""
        return self._make("shift", self._cell[0], distance)

    def repeat(self, count, stride):
        """`count` times, `stride` bytes apart."""
        return self._make("repeat", self._cell[0], count, stride)

    def repeat_at(self, offsets):
        """At each of these offsets."""
        offsets = integer_list(offsets, np.int64, "the offsets")
        return self._make("repeat_at", self._cell[0], offsets.size, ffi.cast("int64_t*", address(offsets)))

    def intersect(self, lower, upper):
        """The bytes with offsets in [lower, upper)."""
        return self._make("intersect", self._cell[0], lower, upper)

    def info(self):
        """Its properties: bytes, blocks, lower, upper, density, list_memory, uniform_block, levels, ascending."""
        info = ffi.new("lapwing_layout_info*")
        check(lib.lapwing_layout_query(self._cell[0], info))
        return {name: getattr(info, name) for name in dir(info[0])}

    @property
    def overlaps(self):
        """Whether a byte of memory occurs more than once."""
        return bool(number_of("int*", lib.lapwing_layout_overlaps, self._cell[0]))

    def __eq__(self, other):
        return isinstance(other, Layout) and bool(number_of("int*", lib.lapwing_layout_equal, self._cell[0], other._cell[0]))

    def __repr__(self):
        return f"<lapwing.Layout: {text_of(lib.lapwing_layout_text, self._cell[0])}>"
