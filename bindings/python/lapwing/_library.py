"""Which of the modules lapwing._core_MPI is loaded, and what all others need of it: ffi, lib, Elements, check()."""

import atexit
import glob
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
import types

_FAMILIES = {"openmpi": "Open MPI", "mpich": "MPICH"}


def _family_of(version):
    """openmpi, mpich or other, by the text of MPI_Get_library_version."""
    if "Open MPI" in version:
        return "openmpi"
    if any(name in version for name in ("MPICH", "Intel(R) MPI", "MVAPICH", "CRAY")):
        return "mpich"
    return "other"


def _launcher():
    """The MPI whose mpirun started this process, or None."""
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        return "openmpi"
    if "PMI_RANK" in os.environ and "PMI_SIZE" in os.environ:
        return "mpich"
    return None


def _choose(there, wanted, mpi4py, launcher):
    """One of the modules that exist. `mpi4py`: the MPI of the mpi4py that is loaded already, or None."""
    names = " and ".join(_FAMILIES.get(name, name) for name in sorted(there)) or "no MPI"
    if wanted:
        if wanted not in there:
            raise ImportError(f"PYTHON_LAPWING_MPI is '{wanted}', and this package of lapwing is built for {names}")
        if mpi4py and mpi4py != wanted:
            raise ImportError(
                f"PYTHON_LAPWING_MPI is '{wanted}', and the mpi4py that is imported already is built for "
                f"{_FAMILIES.get(mpi4py, mpi4py)}: two MPIs in one process do not work"
            )
        return wanted
    if mpi4py:
        if mpi4py not in there:
            raise ImportError(
                f"mpi4py, which is imported already, is built for {_FAMILIES.get(mpi4py, mpi4py)}, and this package of lapwing for "
                f"{names}: two MPIs in one process do not work. Do without mpi4py (lapwing starts MPI itself), or build lapwing with "
                f"the MPI of mpi4py: pip install . with MPI_CXX_COMPILER set"
            )
        return mpi4py
    if launcher in there:
        return launcher
    if launcher and "other" not in there:
        raise ImportError(
            f"this process was started by the mpirun of {_FAMILIES[launcher]}, and this package of lapwing is built for {names}: "
            f"every process would be alone. Start it with the mpirun of {names}"
        )
    return sorted(there)[-1]  # without mpirun: one rank, whichever MPI


def _load():
    directory = os.path.dirname(__file__)
    files = glob.glob(os.path.join(directory, "_core_*"))
    there = {os.path.basename(file).split(".")[0][len("_core_") :] for file in files if file.endswith(".so")}
    if not there:
        raise ImportError(f"{directory} has no _core_MPI*.so: the package is not built for this Python. Run pip install . in Lapwing's sources")
    mpi4py = sys.modules.get("mpi4py.MPI")
    family = _choose(there, os.environ.get("PYTHON_LAPWING_MPI"), mpi4py and _family_of(mpi4py.Get_library_version()), _launcher())
    core = importlib.import_module(f"lapwing._core_{family}")
    # A second module in the same file: it must see the same copy of the library.
    loader = importlib.machinery.ExtensionFileLoader("_elements", core.__file__)
    elements = importlib.util.module_from_spec(importlib.util.spec_from_file_location("_elements", core.__file__, loader=loader))
    loader.exec_module(elements)
    return family, core.ffi, core.lib, elements.Elements


def _wanted(kind):
    """What a parameter of C takes."""
    if kind.cname in ("double", "float"):
        return "a number"
    bits, signed = 8 * ffi.sizeof(kind), int(ffi.cast(kind, -1)) < 0
    return f"an integer from {f'-2^{bits - 1}' if signed else 0} to 2^{bits - signed} - 1"


def _refused(kind, value):
    """The class of the error for a value that C cannot take; None: it can."""
    if value is None:  # for ffi.new() no value
        return _errors.UsageError
    try:
        ffi.new(f"{kind.cname}*", value)
    except OverflowError:
        return _errors.RangeError
    except TypeError:
        return _errors.UsageError
    return None


def _explained(function, arguments, error):
    """The error for an argument that C cannot take, with the names that the program knows; `error`, what cffi raised, if none is found."""
    frames, frame = [], sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("lapwing."):
        frames.append(frame)
        frame = frame.f_back
    local = frames[-1].f_locals
    owner = type(local["self"]).__name__ if "self" in local else local["cls"].__name__ if "cls" in local else "lapwing"
    for argument, kind in zip(arguments, ffi.typeof(function).args):
        refused = kind.kind == "primitive" and _refused(kind, argument)
        if refused:
            name = next((name for one in frames for name, value in one.f_locals.items() if value is argument and not name.startswith("_")), "an argument")
            return refused(f"lapwing: {owner}.{frames[-1].f_code.co_name}: {name} is {argument!r}; it must be {_wanted(kind)}")
    return error


class _Calls:
    """The functions of C. Their arguments may be what a program passed: wrong ones are errors of this package."""

    def __init__(self, core):
        self._core = core

    def __getattr__(self, name):
        found = function = getattr(self._core, name)
        if isinstance(found, types.BuiltinFunctionType):

            def found(*arguments):
                try:
                    return function(*arguments)
                except (TypeError, OverflowError) as error:
                    raise _explained(function, arguments, error) from None

        setattr(self, name, found)
        return found


family, ffi, lib, Elements = _load()
lib = _Calls(lib)
version = ffi.string(lib.lapwing_version_text()).decode()


def mpi_version():
    """The text of MPI_Get_library_version."""
    text = ffi.new("char[16384]")
    lib.lapwing_python_mpi_version(text)
    return ffi.string(text).decode(errors="replace").strip("\0\n ")


from . import _errors  # noqa: E402  (it needs nothing of this module before the first error)


def check(code):
    """Raises the exception of a code, with the library's whole text."""
    if code:
        raise _errors.exception(code, ffi.string(lib.lapwing_error_text()).decode(errors="replace"), lib.lapwing_error_mpi_code(), lib.lapwing_python_wait_ended())


_in_use = []


def keep(*memory):
    """Keeps what the library may go on using, after a wait that failed or could not be made, to the end of the process."""
    _in_use.append(memory)


def text_of(function, *arguments):
    """The text that a call returns."""
    text = ffi.new("const char**")
    check(function(*arguments, text))
    return ffi.string(text[0]).decode(errors="replace")


def number_of(kind, function, *arguments):
    """The number that a call returns."""
    number = ffi.new(kind)
    check(function(*arguments, number))
    return number[0]


def members(structure, who, **values):
    """Sets members of a structure of C from what the program passed."""
    kind = ffi.typeof(structure)
    kinds = dict((kind.item if kind.kind == "pointer" else kind).fields)
    for name, value in values.items():
        refused = _refused(kinds[name].type, value)
        if refused:
            raise refused(f"lapwing: {who}: {name} is {value!r}; it must be {_wanted(kinds[name].type)}")
        setattr(structure, name, value)


def choice(table, value, what):
    """What stands for a name in a table, or at its place in a list."""
    if isinstance(value, str) and value in table:
        return table[value] if isinstance(table, dict) else table.index(value)
    raise _errors.UsageError(f"lapwing: {what} is {value!r}; it must be one of {', '.join(map(repr, table))}")


def create(kind, function, *arguments):
    """The handle that a call makes, in a cell that the call which frees it takes: cell[0]."""
    cell = ffi.new(f"lapwing_{kind}**")
    check(function(*arguments, cell))
    return cell


class Callback:
    """A context for functions of the program's that the library calls; what they raise is raised after the call."""

    def __init__(self, **functions):
        self.functions = functions
        self.handle = ffi.new_handle(self)
        self.error = None

    def call(self, name, default, *arguments):
        if self.error is not None:
            return default
        try:
            return self.functions[name](*arguments)
        except BaseException as error:  # must not cross the library; check() raises it
            self.error = error
            return default

    def check(self, code):
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        check(code)


def _of(context):
    return ffi.from_handle(context)


def _interrupted(kind, error, trace):
    _errors.keep_interruption(error)


@ffi.def_extern(error=1, onerror=_interrupted)
def lapwing_python_signals(context):
    """Called while the main thread waits: the interpreter runs the handlers of signals that have come, as that of Ctrl-C, which raises."""
    return 0


check(lib.lapwing_python_watch_signals(threading.main_thread().ident))
atexit.register(lib.lapwing_python_watch_signals, 0)  # what still waits after the interpreter's end must not run handlers


@ffi.def_extern()
def lapwing_python_progress(context, done, all):
    return 1 if _of(context).call("progress", True, done, all) else 0


@ffi.def_extern()
def lapwing_python_fill(context, first, memory, size):
    callback = _of(context)
    callback.call("fill", None, first, memory, size)
    return 0 if callback.error is None else 1


@ffi.def_extern()
def lapwing_python_combine(context, left, right):
    _of(context).call("combine", None, left, right)


@ffi.def_extern()
def lapwing_python_accumulate(context, value, index, element):
    _of(context).call("accumulate", None, value, index, element)


@ffi.def_extern()
def lapwing_python_apply(context, target, source):
    _of(context).call("apply", None, target, source)


@ffi.def_extern()
def lapwing_python_locate(context, shape, index, place):
    place.owner, place.offset, place.contiguous = _of(context).call("locate", (-1, 0, 1), shape, index)


@ffi.def_extern()
def lapwing_python_capacity(context, shape):
    return _of(context).call("capacity", 0, shape)


@ffi.def_extern()
def lapwing_python_domain_count(context, shape, rank):
    return _of(context).call("domain_count", 0, shape, rank)


@ffi.def_extern()
def lapwing_python_domain(context, shape, rank, k, ranges):
    _of(context).call("domain", None, shape, rank, k, ranges)


@ffi.def_extern()
def lapwing_python_needed(context, own, needed):
    callback = _of(context)
    callback.call("needed", None, own, needed)
    return 0 if callback.error is None else 1
