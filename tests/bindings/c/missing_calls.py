#!/usr/bin/env python3
"""Which public calls of the C++ classes the C interface lacks, and which of its own functions no test calls.

usage: missing_calls.py [ROOT] [--list]     exit code 1, and a line for each, unless the tables below explain all

A member `Class::name` is there in C as lapwing_<object>_<name>, or as what ELSEWHERE names. What is missing is in MISSING, with the
reason; a line there that is not needed any more is an error, too.
"""

import re
import sys
from pathlib import Path

OBJECTS = {
    "Settings": "settings", "Team": "runtime", "Runtime": "runtime", "Window": "window", "Lock": "lock", "Completion": "completion",
    "Layout": "layout", "Plan": "plan", "Production": "production", "Recording": "recording", "ArrayBase": "array", "GlobalArray": "array",
    "ArraySlice": "slice", "Assignment": "assignment", "DomainArray": "array", "Halo": "halo", "HaloView": "halo", "Prefetch": "prefetch",
    "PrefetchedView": "view", "Relabelling": "relabelling",
}

ELSEWHERE = {
    "close": "free",  # of every class
    "Team::reduce": "runtime_all_reduce", "Team::settings": "runtime_setting",
    "Team::closed": "runtime_free", "Window::closed": "window_free", "Lock::closed": "lock_free", "ArrayBase::closed": "array_free", "DomainArray::closed": "array_free",  # a freed handle is an error
    "Window::local_as": "window_local", "Window::reachable": "window_memory", "Window::team": "runtime_rank",
    "Window::get_bytes": "window_get", "Window::put_bytes": "window_put", "Window::start_get_bytes": "window_start_get",
    "Window::start_put_bytes": "window_start_put", "Window::put_notify_bytes": "window_put_notify",
    "Window::fetch_add": "window_fetch", "Window::fetch_and": "window_fetch", "Window::fetch_or": "window_fetch",
    "Window::fetch_xor": "window_fetch", "Window::fetch_min": "window_fetch", "Window::fetch_max": "window_fetch",
    "Window::swap": "window_fetch", "Window::atomic_read": "window_fetch", "Window::atomic_write": "window_fetch",
    "Window::add": "window_update", "Window::bit_and": "window_update", "Window::bit_or": "window_update",
    "Window::bit_xor": "window_update", "Window::min": "window_update", "Window::max": "window_update",
    "Window::start_fetch": "window_start_fetch_list", "Window::start_compare_swap": "window_start_compare_swap_list",
    "Lock::try_lock": "lock_try", "Completion::known_complete": "completion_test",
    "Layout::contiguous": "layout_create_contiguous", "Layout::strided": "layout_create_strided", "Layout::indexed": "layout_create_indexed",
    "Layout::indexed_shared": "layout_create_indexed", "Layout::list": "layout_create_list", "Layout::concatenate": "layout_create_concatenated",
    "Layout::of": "layout_create_patch", "Layout::from_mpi": "layout_create_mpi", "Layout::repeat_at_shared": "layout_repeat_at",
    "Layout::bytes": "layout_query", "Layout::empty": "layout_query", "Layout::block_count": "layout_query", "Layout::lower": "layout_query",
    "Layout::upper": "layout_query", "Layout::span": "layout_query", "Layout::density": "layout_query", "Layout::list_memory": "layout_query",
    "Layout::is_contiguous": "layout_query", "Layout::uniform_block": "layout_query", "Layout::level_count": "layout_query",
    "Layout::is_ascending": "layout_query",
    "Plan::put": "plan_create_put", "Plan::get": "plan_create_get", "Plan::strategy": "plan_query", "Plan::bytes": "plan_query",
    "Plan::predicted_seconds": "plan_query",
    "Recording::put_bytes": "recording_put", "Recording::puts": "recording_query", "Recording::plans_made": "recording_query",
    "ArrayBase::team": "runtime_rank",
    "GlobalArray::dimensions": "array_shape", "GlobalArray::rank": "array_shape", "GlobalArray::extents": "array_shape",
    "GlobalArray::extent": "array_shape", "GlobalArray::local_domain": "array_domain", "GlobalArray::local_domains": "array_domain_count",
    "GlobalArray::at": "array_get_element", "GlobalArray::slice": "slice_create", "GlobalArray::local_view": "array_local",
    "GlobalArray::padded_local_view": "array_local", "GlobalArray::local_span": "array_local", "GlobalArray::for_each_local": "array_domain",
    "GlobalArray::start_fetch": "array_fetch_list", "GlobalArray::start_compare_swap": "array_compare_swap_list",
    "GlobalArray::copy_from": "array_copy", "GlobalArray::min_location": "array_min", "GlobalArray::max_location": "array_max",
    "GlobalArray::transform_reduce": "array_reduce",
    "ArraySlice::dimensions": "slice_shape", "ArraySlice::extent": "slice_shape", "ArraySlice::extents": "slice_shape",
    "ArraySlice::transposed": "slice_permute", "ArraySlice::permuted": "slice_permute", "ArraySlice::combine": "slice_apply",
    "Assignment::bytes": "assignment_transfers", "Assignment::add_untyped": "assignment_add", "Assignment::add_untyped_fill": "assignment_add_fill",
    "Halo::domain": "halo_memory", "Halo::view": "halo_memory", "Halo::own": "halo_memory",
    "HaloView::domain": "array_halo_view",
    "DomainArray::domain": "array_shape", "DomainArray::indices": "array_domain", "DomainArray::position": "array_shape",
    "DomainArray::slice": "slice_create", "DomainArray::local_domain": "array_domain", "DomainArray::for_each_local": "array_domain",
    "DomainArray::array": "array_create",
    "GlobalArray::view": "array_block_at", "PrefetchedView::row": "array_block_at", "ArrayBase::update": "array_update_copies",
    "ArrayBase::update_async": "array_start_update_copies", "Prefetch::update_async": "prefetch_start_update",
    "GlobalArray::relabelling": "relabelling_create", "Relabelling::rank": "relabelling_query", "Relabelling::changes": "relabelling_query",
    "Relabelling::bytes_moved": "relabelling_query", "Relabelling::bytes_moved_unordered": "relabelling_query",
    "Relabelling::bytes": "relabelling_query", "Relabelling::team": "relabelling_runtime", "Relabelling::shared_team": "relabelling_runtime",
}
OF_ROOMS = "for other rooms of the library"
MISSING = {
    "Team::state": OF_ROOMS, "Window::map": OF_ROOMS, "Window::state": OF_ROOMS, "Window::hot_pages": OF_ROOMS,
    "Window::start_atomics": OF_ROOMS, "ArrayBase::check_halo": OF_ROOMS, "ArrayBase::all_of": OF_ROOMS,
}


def class_body(text, name):
    """What is between the braces of a class, without comments; None if the text does not define it."""
    found = re.search(rf"^class (?:\[\[\w+\]\] )?{name}\b[^;{{]*\{{", text, re.MULTILINE)
    if found is None:
        return None
    depth, end = 1, found.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[found.end() : end - 1]


def public_members(body):
    """Names of the functions that are declared public, but for constructors, operators and what nested classes have."""
    names, public, depth, start = set(), False, 0, 0
    flat = ""  # without what is in braces
    for sign in body:
        depth += sign == "{"
        if depth == 0:
            flat += sign
        depth -= sign == "}"
        if sign == "}" and depth == 0:
            flat += ";"
    for part in re.split(r"^(public|private|protected):", flat, flags=re.MULTILINE):
        if part in ("public", "private", "protected"):
            public = part == "public"
            continue
        if not public:
            continue
        for statement in part.split(";"):
            statement = re.sub(r"requires\s*\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)", "", statement)
            while re.search(r"<[^<>]*>", statement):
                statement = re.sub(r"<[^<>]*>", "", statement)
            called = re.search(r"([~\w]+)\s*\(", re.sub(r"\[\[.*?\]\]|decltype\(auto\)", "", statement))
            if called and called[1] != "operator" and "friend" not in statement and "operator" not in statement[: called.start()] and "using" not in statement:
                names.add(called[1])
    return names


def main():
    arguments = [one for one in sys.argv[1:] if not one.startswith("--")]
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[3]
    headers = {path: re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL) for path in (root / "include/lapwing").glob("*.hpp")}
    c_text = "".join(re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL) for path in sorted((root / "include/lapwing/c").glob("*.h")))
    functions = set(re.findall(r"\b(lapwing_[a-z0-9_]+[a-z0-9])\(", c_text)) - {"lapwing_error_handler"}
    tests = "".join(path.read_text() for path in [*(root / "tests/bindings/c").glob("*.c"), *(root / "examples/c").glob("*.c")])
    wrong, needed, checked = [], set(), 0
    for name, thing in OBJECTS.items():
        bodies = [body for text in headers.values() if (body := class_body(text, name)) is not None]
        if len(bodies) != 1:
            wrong.append(f"include/lapwing: class {name} is defined {len(bodies)} times; correct the table OBJECTS")
            continue
        for member in sorted(public_members(bodies[0]) - {name, f"~{name}"}):
            full, checked = f"{name}::{member}", checked + 1
            other = ELSEWHERE.get(full) or (f"{thing}_{ELSEWHERE[member]}" if member in ELSEWHERE else f"{thing}_{member}")
            there = f"lapwing_{other}" in functions
            if "--list" in sys.argv:
                print(f"{full:40} {f'lapwing_{other}' if there else MISSING.get(full, '')}")
            if full in MISSING:
                needed.add(full)
            elif not there:
                wrong.append(f"{full}() has no lapwing_{other}(); add it, or name it in ELSEWHERE or, with a reason, in MISSING")
    wrong += [f"MISSING: {full} is no public function" for full in MISSING if full not in needed]
    for function in sorted(functions):
        if not re.search(rf"\b{function}\b", tests) and not function.endswith("_n"):
            wrong.append(f"{function}() is called by no test in tests/bindings/c, and by no example")
    for line in wrong:
        print(line)
    return 0 if not wrong and checked > 100 else 1


sys.exit(main())
