"""Global arrays of all ranks of an MPI program, as NumPy arrays: Lapwing for Python. See docs/python.md.

Started by mpirun, every rank runs the same program. "Collective" calls are made by all ranks, in the same order and with the same
arguments; "local" ones by a single rank. Calls that wait let other threads of the program run.

>>> import lapwing
>>> a = lapwing.zeros((4, 4))
>>> a[1:3, 1:3] = 1
>>> lapwing.barrier()
>>> float(a.sum())
4.0
"""

from ._errors import (
    Error,
    FileError,
    FunctionError,
    InternalError,
    InterruptedError,
    MemoryError,
    MismatchError,
    MpiError,
    PeerLeftError,
    RangeError,
    SettingError,
    UsageError,
    ViewError,
)
from ._library import family as mpi, mpi_version, version as _built
from ._runtime import Runtime, Settings, add_statistics, barrier, rank, runtime, size, use
from ._functions import Aggregator, Future, register
from ._distribution import Aligned, Block, BlockCyclic, Blocks, Cyclic, Distribution, OnRanks, Replicated
from ._layout import Layout
from ._slice import Assignment, Slice
from ._reduction import Reduction
from ._types import located
from ._window import Lock, Window
from ._array import Array, Transfer, checkpoint_shape, from_numpy, fromfunction, full, load, ones, zeros
from ._halo import Halo
from ._plan import Plan, Production, Recording
from ._mapped import MappedArray
from ._prefetch import AllElements, ColumnWise, Domains, Function, Pattern, Prefetch, Prefetched, Relabelling, RowWise, Stencil, Transpose

__version__ = "0.1.0"
if _built != __version__:
    raise ImportError(f"lapwing: the package is version {__version__}, and its module _core_{mpi} was built with version {_built}: install one of them anew")
__all__ = [name for name in dir() if not name.startswith("_") and name not in ("InterruptedError", "MemoryError")]
