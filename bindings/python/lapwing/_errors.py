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
    """The state of the object or the type of its elements does not allow the call, or the object is closed."""

    code = "LAPWING_ERR_USAGE"


class SettingError(Error, ValueError):
    """A setting is unknown or has a value that is not allowed."""

    code = "LAPWING_ERR_SETTING"


class MismatchError(Error, ValueError):
    """Ranks passed different arguments to a collective call."""

    code = "LAPWING_ERR_MISMATCH"


class MpiError(Error, RuntimeError):
    """An MPI call failed."""

    code = "LAPWING_ERR_MPI"


class FileError(Error, OSError):
    """A file cannot be read or written, or has unexpected contents."""

    code = "LAPWING_ERR_FILE"


class PeerLeftError(Error, RuntimeError):
    """Another rank left before the end, so that a collective call or a wait cannot complete."""

    code = "LAPWING_ERR_PEER_LEFT"


class MemoryError(Error, MemoryError):
    """This process cannot get the memory that it needs."""

    code = "LAPWING_ERR_MEMORY"


class InterruptedError(Error, InterruptedError):
    """A signal's handler raised an exception, as KeyboardInterrupt, while a call waited: the cause of that exception, with the call's name."""

    code = "LAPWING_ERR_INTERRUPTED"


class FunctionError(Error, RuntimeError):
    """A function at another rank has failed: the text names the rank and the function, and has the exception's own."""

    code = "LAPWING_ERR_FUNCTION"


class InternalError(Error, RuntimeError):
    """None of the above: please report it."""


class ViewError(Error, BufferError):
    """NumPy arrays still show memory that would be freed. Raised on every rank of a collective call."""

    code = "LAPWING_ERR_USAGE"


_CLASSES = (None, RangeError, UsageError, SettingError, MismatchError, MpiError, FileError, PeerLeftError, MemoryError, InternalError, InterruptedError, FunctionError)
_interruption = None


def keep_interruption(error):
    """What a signal's handler raised while the main thread waited in the library, which now ends the wait."""
    global _interruption
    _interruption = error


def exception(code, text, mpi_code, wait_ended):
    """The exception of a code of the C interface; after a wait that a signal ended what its handler raised, whatever the call made of that."""
    global _interruption
    error = (_CLASSES[code] if 0 < code < len(_CLASSES) else InternalError)(text)
    error.mpi_code = mpi_code
    if wait_ended:
        # None: another Ctrl-C came before it could be kept.
        raised, _interruption = KeyboardInterrupt() if _interruption is None else _interruption, None
        if raised.__cause__ is None:
            raised.__cause__ = error
        return raised
    return error


def refuse_pickling(self, protocol=None):
    raise TypeError(
        f"a lapwing.{type(self).__name__} cannot be pickled: it is memory of all ranks of a running program, which means nothing in another. "
        f"Write an array to a file with save(), or pickle the elements: numpy.asarray(a)"
    )
