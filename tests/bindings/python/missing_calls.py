#!/usr/bin/env python3
"""Which functions of the C interface the Python package never calls.

usage: missing_calls.py [ROOT]     exit code 1, and a line for each, unless MISSING has the reason
"""

import re
import sys
from pathlib import Path

REDUCED = "NumPy reduces own parts, with its types and its meaning of NaN, and Runtime.combine() or Runtime.sum() their results"
TYPED = "Python knows types at run time alone: lapwing_array_get_element() and its like"
INLINE = "an inline function, or its inside: elements.c has lapwing_array_address_N"
MISSING = {
    "error_code": "every error is an exception", "error_name": "Error.code has it", "error_set_handler": "every error is an exception",
    "error_abort": "an exception that nobody catches ends the program, and leaves the runtime",
    "type_from_mpi": "types are NumPy's", "type_name": "types are NumPy's", "type_size": "types are NumPy's", "type_kind": "types are NumPy's",
    "wait_set_hook": "build_core.py: lapwing_python_watch_signals()",
    "version_numbers": "lapwing.__version__ is the same",
    "statistics_add": "counters are dictionaries: add_statistics()",
    "mapped_pin": "a copy, by numpy.array(), is what others are given",
    "array_sum": REDUCED, "array_min": REDUCED, "array_max": REDUCED,
    "array_get_typed": TYPED, "array_put_typed": TYPED, "array_get_far_": INLINE, "array_put_far_": INLINE,
    "cache_options_default": "lapwing_window_options_default() and lapwing_array_options_default() have it inside",
    "array_reduce": "a function for each element is slow in Python: a.local, and Runtime.combine()",
    "array_reduce_along": "the same: Array.sum_along() and its like", "reduction_create_function": "the same: Array.reduction() with an operation",
    "slice_compute": "the same: ufuncs, whose operands may have any distributions", "assignment_add_compute": "the same: ufuncs",
    "assignment_add_apply": "a function for each element is slow in Python: Slice.apply() has it once",
    "prefetch_options_default": "the options are arguments with defaults",
    "relabelling_runtime": "arrays that are redistributed by it are the only ones on it",
    "window_start_get_mpi": "Window.start_get() with a NumPy array, or with Layout.from_mpi()",
    "runtime_call": "Runtime.call() returns a Future", "array_apply": "Array.apply() takes lists, of one element, too", "array_start_apply": "the same",
    "array_post": "Array.post() takes lists, of one element, too",
    **dict.fromkeys((f"aggregator_{one}" for one in ("get", "put", "add")), "Aggregator's take lists, of one element, too"),
    "tool_register": "tracing tools are C libraries, which see a Python program's accesses, too", "tool_unregister": "the same",
    "window_start_put_mpi": "Window.start_put() with a NumPy array, or with Layout.from_mpi()",
}  # fmt: skip
# getattr(lib, f"lapwing_{kind}_free") and its like.
MADE = [
    *(f"{kind}_{verb}" for kind in ("array", "window", "lock", "reduction") for verb in ("free", "leave")),
    "lock_leave", "plan_free", "recording_free",
    *(f"layout_{name}" for name in ("slice", "shift", "repeat", "repeat_at", "intersect")),
    *(f"layout_create_{name}" for name in ("contiguous", "strided", "nested", "indexed", "list", "concatenated", "patch", "mpi")),
]  # fmt: skip
# What programs do not call.
INSIDE = ("_library.py", "_index.py", "_distribution.py", "_types.py")


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[3]
    sys.path.insert(0, str(root / "bindings/python"))
    sys.dont_write_bytecode = True
    import build_core

    functions = set(re.findall(r"\blapwing_(\w+)\(", build_core.declarations(root / "include")))
    sources = "".join(path.read_text() for path in [*(root / "bindings/python/lapwing").glob("*.py"), root / "bindings/python/elements.c"])
    called = {*re.findall(r"\blapwing_(\w+)\b", sources), *MADE}
    tests = "".join(path.read_text() for path in (root / "tests/bindings/python").glob("test_*.py"))
    public = {}
    for path in sorted((root / "bindings/python/lapwing").glob("*.py")):
        for name in re.findall(r"^    def ([a-z]\w*)\(", path.read_text(), re.MULTILINE):
            public[name] = path.name
    wrong = [f"lapwing_{name}() is not called by the Python package; add it, or name it in MISSING with a reason"
             for name in sorted(functions - called - set(MISSING))]
    wrong += [f"MISSING: there is no lapwing_{name}()" for name in sorted(set(MISSING) - functions)]
    wrong += [f"MISSING: lapwing_{name}() is called" for name in sorted(set(MISSING) & called)]
    wrong += [f"{file}: {name}() is called by no test in tests/bindings/python" for name, file in sorted(public.items())
              if not re.search(rf"\b{name}\b", tests) and file not in INSIDE and name not in ("free", "function")]
    for line in wrong:
        print(line)
    return 0 if not wrong and len(functions) > 150 else 1


sys.exit(main())
