#!/usr/bin/env python3
"""Writes a call of each function of the C interface, with arguments drawn at random, for c_fuzz_test.c.

usage: fuzz_calls.py ROOT FILE

A function of the headers that is new is called without a change here, unless its arguments need what NUMBERS and ARGUMENTS say of others.
"""

import importlib.util
import re
import sys
from pathlib import Path


def generator(root):
    """The module that reads the headers for Fortran."""
    spec = importlib.util.spec_from_file_location("generate", root / "bindings/fortran/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# They end the program.
LEFT_OUT = {"lapwing_error_abort"}
# What they return is no code.
NO_CODES = {"lapwing_error_code", "lapwing_error_mpi_code", "lapwing_type_kind"}
# The object is the caller's, and gone afterwards.
CONSUMERS = re.compile(r"lapwing_\w+_(free|leave)|lapwing_completion_(test|wait)|lapwing_production_finish|lapwing_future_get")
# Numbers, by name, and by function and name. `any_...`: whatever they are, they say nothing of the program's memory. `memory_...`: of how much
# memory the call reads or writes; small, or more than there can be. `room_...`: of how much the library allocates; the same.
NUMBERS = {
    "bytes": "memory", "count": "memory", "levels": "memory", "target_count": "memory", "depth": "room",
    "argument_bytes": "memory", "result_bytes": "memory", "room": "memory",
    "lapwing_runtime_start_call result_bytes": "any", "lapwing_array_start_apply result_bytes": "any",
    "lapwing_layout_create_contiguous bytes": "any", "lapwing_layout_create_strided count": "any", "lapwing_layout_create_mpi count": "any",
    "lapwing_layout_repeat count": "any", "lapwing_production_ready bytes": "any", "lapwing_window_create bytes": "room",
    # Checked against the window's parts, which are smaller than the memory here.
    "lapwing_window_get bytes": "any", "lapwing_window_put bytes": "any", "lapwing_window_start_get bytes": "any",
    "lapwing_window_start_put bytes": "any", "lapwing_window_put_notify bytes": "any", "lapwing_window_prefetch bytes": "any",
    "lapwing_recording_put bytes": "any",
}  # fmt: skip
# Other arguments, by function and name.
ARGUMENTS = {
    "lapwing_array_create extents": "room_extents()", "lapwing_array_resize extents": "room_extents()",
    "lapwing_slice_compute count": "list_length()", "lapwing_assignment_add_compute count": "list_length()",
    "lapwing_window_wait_notified count": "0",  # it waits for so many
    # Not for the program: a rank that waits for another's, in one runtime, is not served by the other's waits in another one.
    **{f"lapwing_runtime_{name} where": "(chance(4) ? -1 : LAPWING_WHERE_PROGRESS)" for name in ("call", "start_call", "post")},
    "lapwing_needed_add needed": "NULL",  # exists within a function of the program's
    **{f"lapwing_{name} here": "layout_here()" for name in ("plan_create_get", "plan_create_put", "window_get_layout", "window_put_layout",
       "window_start_get_layout", "window_start_put_layout", "window_put_notify_layout")},
}  # fmt: skip
# What the others wait for, or a later call of this rank's.
AFTERWARDS = {
    "lapwing_runtime_notify": "lapwing_runtime_wait(runtime)",
    "lapwing_runtime_notify_identity": "lapwing_runtime_wait_identity(runtime, identity)",
    "lapwing_lock_lock": "lapwing_lock_unlock(lock)", "lapwing_lock_try": "lapwing_lock_unlock(lock)",
    "lapwing_tool_register": "lapwing_tool_unregister(*tool)",
    "lapwing_error_set_handler": "lapwing_error_set_handler(NULL, NULL)", "lapwing_wait_set_hook": "lapwing_wait_set_hook(NULL, NULL)",
}  # fmt: skip
# Collective, and of nothing where the object is empty.
MAY_BE_NOTHING = {"lapwing_assignment_execute", "lapwing_assignment_start"}
INTEGERS = ("int", "unsigned int", "int64_t", "uint64_t", "size_t", "MPI_Aint")
LISTS = {"int64_t*": "result_list()", "uint64_t*": "result_list()", "lapwing_range*": "result_list()"}


def argument(module, headers, function, kind, name):
    """An expression for an argument."""
    const, bare = kind.startswith("const "), kind.removeprefix("const ")
    stars, base = bare.count("*"), bare.replace("*", "")
    known = ARGUMENTS.get(f"{function} {name}")
    if known is not None:
        return known
    if kind in INTEGERS:
        use = NUMBERS.get(f"{function} {name}", NUMBERS.get(name, "any"))
        return f"({kind}){use}_{'int' if kind == 'int' else 'number'}()"
    thing = base.removeprefix("lapwing_")
    if thing in module.HANDLES and base.startswith("lapwing_"):
        return f"some_{thing}s()" if const and stars == 2 else f"some_{thing}()"
    if base in headers.types or base in ("lapwing_error_handler",):
        return f"some_{thing}()"
    if base.startswith("MPI_"):
        return f"some_{base}{'_pointer' if stars else ''}()"
    if base == "lapwing_type" and stars == 0:
        return "some_type()"
    if kind in ("void*", "const void*"):
        return "NULL" if name == "context" else "some_memory()"
    if kind == "const char*":
        return f"some_{name}()"
    if name == "strides" and const:
        return "buffer_strides()"
    if const and stars == 1:
        return f"{base}_list()" if base in INTEGERS else f"some_{thing}()"
    return LISTS.get(kind, f"result_at_end(sizeof({kind.removesuffix('*')}))")


def call(module, headers, function, collective):
    result, arguments = headers.functions[function]
    consumer = CONSUMERS.fullmatch(function)
    # Without its object, the first argument, a call knows of no other rank.
    of_object = collective and not consumer and arguments[0][0].removeprefix("const lapwing_").removeprefix("lapwing_").removesuffix("*") in module.HANDLES
    lines, names, made, handles = [], [], None, False
    for kind, name in arguments:
        base = kind.removeprefix("const ").replace("*", "")
        thing = base.removeprefix("lapwing_")
        declared = kind.replace("**", "* const*") if kind.startswith("const lapwing_") else kind
        pointer = "*" in kind or base.endswith(("_function", "_handler", "_hook"))
        may_be_left_out = of_object and pointer and len(names) > 0 and name != "context"
        names.append(f"(left_out() ? NULL : {name})" if may_be_left_out else name)
        if kind.endswith("**") and thing in module.HANDLES and not kind.startswith("const "):
            made = thing
            lines += [f"    {base}* object = {f'doomed_{thing}()' if consumer else 'NULL'};", f"    {base}** const {name} = chance(16) ? NULL : &object;"]
            continue
        handles |= thing in module.HANDLES and kind.count("*") == 1
        lines.append(f"    {declared} const {name} = {argument(module, headers, function, kind, name)};")
    given = f"{function}({', '.join(names)})"
    number = "".join(part.capitalize() for part in function.split("_")[1:])
    if result != "int" or function in NO_CODES:
        return number, handles, [f"static int call{number}(void) {{", *lines, f"    (void){given};", "    return LAPWING_SUCCESS;", "}", ""]
    lines.append(f"    const int code = {given};")
    if function in AFTERWARDS:
        lines.append(f"    if (code == LAPWING_SUCCESS) (void){AFTERWARDS[function]};")
    if made and not consumer:
        lines += ["    if (code != LAPWING_SUCCESS && object != NULL) complain(\"it has made an object all the same\");", f"    keep_{made}(object);"]
    return number, handles, [f"static int call{number}(void) {{", *lines, "    return code;", "}", ""]


def main():
    root, path = Path(sys.argv[1]), Path(sys.argv[2])
    module = generator(root)
    headers = module.Headers(root)
    functions = [name for name in headers.functions if not name.startswith("lapwing_fortran_") and name not in LEFT_OUT]
    unknown = {key.split()[0] for key in (*ARGUMENTS, *AFTERWARDS, *(key for key in NUMBERS if " " in key)) if not key.split()[0] in headers.functions}
    if unknown:
        raise SystemExit(f"fuzz_calls.py: no such functions: {', '.join(sorted(unknown))}; correct NUMBERS, ARGUMENTS or AFTERWARDS")
    text, rows = [], []
    for function in functions:
        returns = headers.functions[function][0] == "int" and function not in NO_CODES
        collective = returns and any(re.match(r"Collective\b|.*\. Collective\b", line) for line in headers.texts.get(function, []))
        number, handles, lines = call(module, headers, function, collective)
        always = collective and handles and function not in MAY_BE_NOTHING
        refuses = collective and handles and any("left_out()" in line for line in lines)
        rows.append(f'    {{"{function}", call{number}, {int(handles and returns)}, {int(always)}, {int(refuses)}}},')
        text += lines
    path.write_text("\n".join(["/* Written by fuzz_calls.py from include/lapwing/c. */", *text, "static const Call calls[] = {", *rows, "};", ""]))


main()
