#!/usr/bin/env python3
"""Which functions of the C interface the Fortran module lacks, and which of its own procedures no test calls.

usage: missing_calls.py [ROOT] [--list]     exit code 1, and a line for each, unless MISSING explains all

A line of MISSING that is not needed any more is an error, too.
"""

import re
import sys
from pathlib import Path

TYPED = "the module finds the type of a variable by itself"
MISSING = {
    "lapwing_array_get_typed": TYPED, "lapwing_array_put_typed": TYPED,
    "lapwing_error_set_handler": "stat and errmsg take errors, and without them the program ends",
    "lapwing_wait_set_hook": "a hook reads what a signal handler has set, and Fortran has no handlers of signals",
    "lapwing_cache_options_default": "the type's own values are those",
    "lapwing_window_local": "memory() of this rank",
    "lapwing_reduction_create_function": "procedures that are called later: reduce_along() calls them at once",
    "lapwing_array_block_at": "get_element() reads copies, and a halo is a pointer",
    "lapwing_runtime_refuse": "for checks before a collective call: without stat an error ends all ranks anyway",
    "lapwing_mapped_pin": "a copy of the elements is what MPI is given, as in Python",
    "lapwing_version_numbers": "lapwing_version() is the same as text",
    "lapwing_tool_register": "tracing tools are C libraries, which see a Fortran program's accesses, too",
    "lapwing_tool_unregister": "the same",
}
# Procedures that only a program that ends can call: (object, name).
UNTESTED = {("runtime", "leave"), ("window", "leave"), ("array", "leave"), ("lock", "leave"), ("reduction", "leave")}


def main():
    arguments = [one for one in sys.argv[1:] if not one.startswith("--")]
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[3]
    sys.path.insert(0, str(root / "bindings/fortran"))
    import generate

    headers = generate.Headers(root)
    headers.structures["lapwing_counters"] = headers.structures.pop("lapwing_statistics")
    things, endings = generate.read_description((root / "bindings/fortran/description.txt").read_text(), headers)
    # Comments name other functions than they are above.
    module = re.sub(r"^ *!.*$", "", generate.module(root, headers, things, endings).split("\ncontains\n")[1], flags=re.MULTILINE)
    shim = "".join(path.read_text() for path in (root / "bindings/fortran").glob("*.cpp"))
    reached = set(re.findall(r"\blapwing_\w+\b", module + shim)) | {name.replace("lapwing_c_", "lapwing_") for name in re.findall(r"\blapwing_c_\w+", module)}
    functions = [name for name in headers.functions if not name.startswith("lapwing_fortran_") and name != "lapwing_error_abort"]
    public = set(re.findall(r"\blapwing_\w+\b", re.sub(r"!.*", "", (root / "bindings/fortran/lapwing.f90.in").read_text())))
    wrong = []
    for name in functions:
        there = name in reached or name in public
        if "--list" in sys.argv:
            print(f"{name:45} {'' if there else MISSING.get(name, 'missing')}")
        if not there and name not in MISSING:
            wrong.append(f"{name}() is in no procedure of the module; add it to bindings/fortran/description.txt, or, with a reason, to MISSING")
        if there and name in MISSING:
            wrong.append(f"MISSING: {name}() is there")
    tests = "".join(path.read_text() for path in [*(root / "tests/bindings/fortran").glob("*.f90"), *(root / "examples/fortran").glob("*.f90")])
    names = {(thing, one.name) for thing, procedures in things.items() for one in procedures}
    names |= {(thing, ending) for thing, all_endings in endings.items() for ending in all_endings}
    for thing, name in sorted(names - UNTESTED):
        # The variable's type: a declaration of it in the same program is enough to tell most names apart.
        variables = set(re.findall(rf"type\(lapwing_{thing}\)[^\n]*?:: ([^\n]*)", tests))
        variables = {one.strip() for line in variables for one in line.split(",")}
        if not any(re.search(rf"\b{re.escape(one)}%{name}\(", tests) for one in variables):
            wrong.append(f"{thing}%{name}() is called by no test in tests/bindings/fortran, and by no example")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 0 if not wrong and len(functions) > 150 else 1


sys.exit(main())
