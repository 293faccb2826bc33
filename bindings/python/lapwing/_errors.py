"""Exceptions. Each is also the one that Python users expect: lapwing.RangeError is an IndexError and a ValueError."""


class Error(Exception):
    """What Lapwing raises: the text names the call, the rank, the values, the limit and the remedy. `code` is the name of the C
    interface's code, `mpi_code` what an MPI call returned, or 0."""

    code = "LAPWING_ERR_INTERNAL"
    mpi_code = 0


class RangeError(Error, IndexError, ValueError):
    """A rank, offset, index, size or count is outside its limits."""

    code = "LAPWING_ERR_RANGE"


class UsageError(Error, TypeError, ValueError):
    """A call that the state of the object or the type of the elements does not allow, or an object that is closed."""

    code = "LAPWING_ERR_USAGE"


class SettingError(Error, ValueError):
    """A setting that is unknown or has a value that is not allowed."""

    code = "LAPWING_ERR_SETTING"


class MismatchError(Error, ValueError):
    """Ranks passed different arguments to a collective call."""

    code = "LAPWING_ERR_MISMATCH"


class MpiError(Error, RuntimeError):
    """An MPI call failed."""

    code = "LAPWING_ERR_MPI"


class FileError(Error, OSError):
    """A file that cannot be read or written, or does not hold what it should."""

    code = "LAPWING_ERR_FILE"


class PeerLeftError(Error, RuntimeError):
    """Another rank left before the end, so that a collective call or a wait cannot complete."""

    code = "LAPWING_ERR_PEER_LEFT"


class MemoryError(Error, MemoryError):
    """Memory of this process that cannot be had."""

    code = "LAPWING_ERR_MEMORY"


class InternalError(Error, RuntimeError):
    """None of these: please report it."""


class ViewError(Error, BufferError):
    """Memory that NumPy arrays still show would go away. Raised on every rank of a collective call."""

    code = "LAPWING_ERR_USAGE"


_CLASSES = (None, RangeError, UsageError, SettingError, MismatchError, MpiError, FileError, PeerLeftError, MemoryError, InternalError)


def exception(code, text, mpi_code):
    """The exception of a code of the C interface."""
    error = (_CLASSES[code] if 0 < code < len(_CLASSES) else InternalError)(text)
    error.mpi_code = mpi_code
    return error
