#!/usr/bin/env python3
"""Which public names of C++ the C interface lacks, and which of its own functions no test calls, or calls with good arguments alone.

usage: missing_calls.py [ROOT] [--list]     exit code 1, and a line for each, unless the tables below explain all

Every name that include/lapwing/*.hpp declares in the namespace lapwing is looked at: classes and functions, and types that are values.
A member `Class::name` is there in C as lapwing_<object>_<name>, or as what ELSEWHERE names. Overloads count as one: those for types, spans
and views are a pointer and a lapwing_type in C. What is missing is in MISSING, with the reason; a line that is not needed any more is an
error, too.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "cmake"))
sys.dont_write_bytecode = True
import interface_symbols  # noqa: E402

OBJECTS = {
    "Settings": "settings", "Team": "runtime", "Runtime": "runtime", "Window": "window", "Lock": "lock", "Completion": "completion",
    "Layout": "layout", "Plan": "plan", "Production": "production", "Recording": "recording", "ArrayBase": "array", "GlobalArray": "array",
    "ArraySlice": "slice", "Assignment": "assignment", "DomainArray": "array", "Halo": "halo", "HaloView": "halo", "MappedArray": "mapped", "Prefetch": "prefetch",
    "Relabelling": "relabelling", "ElementReference": "array", "AtomicReference": "window", "DimensionReduction": "reduction",
    "Aggregator": "aggregator",
}  # fmt: skip

# Functions, and types that are values: what C has in their place, a name of its headers.
VALUES = {
    "Aligned": "LAPWING_ALIGNED", "Block": "LAPWING_BLOCK", "BlockCyclic": "LAPWING_BLOCK_CYCLIC", "Blocks": "LAPWING_BLOCKS", "Cyclic": "LAPWING_CYCLIC", "OnRanks": "LAPWING_ON_RANKS", "Replicated": "LAPWING_REPLICATED",
    "Distribution": "lapwing_distribution_functions", "DistributionMap": "lapwing_distribution_functions", "Location": "lapwing_place",
    "GlobalArrayOptions": "lapwing_array_options", "WindowOptions": "lapwing_window_options", "CacheOptions": "lapwing_cache_options",
    "PlanOptions": "lapwing_plan_options", "PrefetchOptions": "lapwing_prefetch_options", "CheckpointOptions": "lapwing_progress_function",
    "GatheredFromRanks": "lapwing_runtime_all_gather_varying",
    "CacheMode": "LAPWING_CACHE_EPOCH", "CachePolicy": "LAPWING_CACHE_TWO_QUEUES", "CacheAcquire": "LAPWING_CACHE_ACQUIRE_RANK", "Strategy": "LAPWING_STRATEGY_AUTOMATIC",
    "PrefetchStorage": "LAPWING_STORE_BY_INDEX", "Path": "LAPWING_PATH_SELF", "ProgressMode": "LAPWING_PROGRESS_THREAD", "ElementKind": "LAPWING_KIND_SIGNED",
    "Domain": "lapwing_range", "Range": "lapwing_range", "Triplet": "lapwing_part", "reversed": "lapwing_part", "ByteBlock": "lapwing_block", "Extents": "LAPWING_MAX_DIMENSIONS",
    "max_dimensions": "LAPWING_MAX_DIMENSIONS", "OnDemand": "lapwing_mapped_create_on_demand", "LocatedValue": "LAPWING_LOCATED_DOUBLE", "LocalView": "lapwing_array_local", "PrefetchedSlice": "lapwing_prefetch_access",
    "Stencil": "LAPWING_PATTERN_STENCIL", "RowWise": "LAPWING_PATTERN_ROW_WISE", "ColumnWise": "LAPWING_PATTERN_COLUMN_WISE", "Transpose": "LAPWING_PATTERN_TRANSPOSE",
    "AllToAll": "LAPWING_PATTERN_ALL", "Custom": "LAPWING_PATTERN_DOMAINS",
    "Error": "lapwing_error_text", "MpiError": "lapwing_error_mpi_code", "RangeError": "LAPWING_ERR_RANGE", "UsageError": "LAPWING_ERR_USAGE", "SettingError": "LAPWING_ERR_SETTING",
    "MismatchError": "LAPWING_ERR_MISMATCH", "PeerLeftError": "LAPWING_ERR_PEER_LEFT", "FileError": "LAPWING_ERR_FILE", "FunctionError": "LAPWING_ERR_FUNCTION",
    "InterruptedError": "LAPWING_ERR_INTERRUPTED", "set_wait_hook": "lapwing_wait_set_hook",
    "SettingInfo": "lapwing_setting_info", "all_settings": "lapwing_settings_info", "Counter": "lapwing_statistics", "StatisticsValues": "lapwing_statistics",
    "prefetch": "lapwing_array_prefetch_element", "sum_along": "lapwing_array_sum_along", "min_along": "lapwing_array_min_along", "max_along": "lapwing_array_max_along",
    "fn": "lapwing_function_register",
    "reduce_along": "lapwing_array_reduce_along", "reduced_along": "lapwing_array_reduce_along",
}  # fmt: skip
# Concepts, names of C++'s own, and what reads like a name in a header.
NO_NAMES = {"ReplicatedDistribution", "Integer", "IndexValue", "IndexArguments", "Index", "TriviallyCopyable", "part", "copy_constructible", "static_cast", "sizeof"}

ELSEWHERE = {
    "close": "free",  # of every class
    "Team::reduce": "runtime_all_reduce", "Team::settings": "runtime_setting",
    "Team::closed": "runtime_free", "Window::closed": "window_free", "Lock::closed": "lock_free", "ArrayBase::closed": "array_free", "DomainArray::closed": "array_free",  # a freed handle is an error
    "Window::local_as": "window_local", "Window::reachable": "window_memory", "Window::team": "runtime_rank",
    **{f"AtomicReference::{name}": "window_fetch" for name in ("fetch_add", "fetch_and", "fetch_or", "fetch_xor", "fetch_min", "fetch_max", "exchange", "load", "store")},
    **{f"AtomicReference::{name}": "window_update" for name in ("add", "bit_and", "bit_or", "bit_xor", "min", "max")},
    "Window::atomic": "window_fetch", "ElementReference::atomic": "array_fetch",
    "Team::Team": "runtime_create", "Completion::Completion": "window_start_get", "Layout::Layout": "layout_create_contiguous", "Plan::Plan": "plan_create_put",
    "Production::Production": "plan_produce", "HaloView::HaloView": "array_halo_view",
    "ElementReference::ElementReference": "array_get_element", "ElementReference::T": "array_get_element", "ElementReference::get": "array_get_element",
    "ElementReference::set": "array_put_element", "ElementReference::prefetch": "array_prefetch_element",
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
    "GlobalArray::local_span": "array_local", "GlobalArray::for_each_local": "array_domain",
    "GlobalArray::start_fetch": "array_start_fetch_list", "GlobalArray::start_compare_swap": "array_start_compare_swap_list",
    "GlobalArray::copy_from": "array_copy", "GlobalArray::min_location": "array_min", "GlobalArray::max_location": "array_max",
    "GlobalArray::transform_reduce": "array_reduce",
    "ArraySlice::dimensions": "slice_shape", "ArraySlice::extent": "slice_shape", "ArraySlice::extents": "slice_shape",
    "ArraySlice::transposed": "slice_permute", "ArraySlice::permuted": "slice_permute", "ArraySlice::combine": "slice_apply",
    "ArraySlice::assign": "slice_compute", "Assignment::add_untyped_sources": "assignment_add_compute",
    "Assignment::bytes": "assignment_transfers", "Assignment::add_untyped": "assignment_add", "Assignment::add_untyped_fill": "assignment_add_fill",
    "Assignment::once": "slice_assign", "Assignment::refuse": "runtime_refuse",
    "Halo::domain": "halo_memory", "Halo::view": "halo_memory", "Halo::own": "halo_memory",
    "HaloView::domain": "array_halo_view",
    "GlobalArray::mapped": "mapped_create", "MappedArray::data": "mapped_view", "MappedArray::extents": "mapped_view",
    "DomainArray::domain": "array_shape", "DomainArray::indices": "array_domain", "DomainArray::position": "array_shape",
    "DomainArray::slice": "slice_create", "DomainArray::local_domain": "array_domain", "DomainArray::for_each_local": "array_domain",
    "DomainArray::array": "array_create",
    "ArrayBase::update": "array_update_copies",
    "ArrayBase::update_async": "array_start_update_copies", "Prefetch::update_async": "prefetch_start_update",
    "GlobalArray::relabelling": "relabelling_create", "Relabelling::rank": "relabelling_query", "Relabelling::changes": "relabelling_query",
    "Relabelling::bytes_moved": "relabelling_query", "Relabelling::bytes_moved_unordered": "relabelling_query",
    "Relabelling::bytes": "relabelling_query", "Relabelling::team": "relabelling_runtime", "Relabelling::shared_team": "relabelling_runtime",
}
ARGUMENTS = "the program's memory and its length: see lapwing_runtime_call()"
OF_ROOMS = "for other rooms of the library"
TEXT = "printf() in the program: the members are numbers"
MISSING = {
    "BlockList": "lapwing_layout with lapwing_plan_create_put(): its blocks need not be seen",
    "PrefetchDistance": "a loop of the program's that calls lapwing_array_prefetch_element() or lapwing_window_prefetch() ahead",
    "MpiDatatype": "MPI_Type_free(): C programs free datatypes themselves", "Rank": "an int", "Offset": "a uint64_t", "name": "the constants are numbers: see lapwing_runtime_report()", "to_string": TEXT,
    "Team::state": OF_ROOMS, "Window::map": OF_ROOMS, "Window::state": OF_ROOMS, "Window::page_tables": OF_ROOMS,
    **dict.fromkeys(("ByteReader", "ByteWriter", "FunctionConstant", "Serialise"), ARGUMENTS),
    **dict.fromkeys(("call_function", "post_function", "quiesce_functions"), OF_ROOMS),
    "ArrayBase::end_collective": OF_ROOMS, "ElementReference::home": OF_ROOMS,
    "Window::start_atomics": OF_ROOMS, "ArrayBase::check_halo": OF_ROOMS, "ArrayBase::all_of": OF_ROOMS,
}


# Functions that return a code, and whose arguments cannot be wrong.
NEVER_FAIL = {
    "lapwing_error_code", "lapwing_error_mpi_code", "lapwing_error_set_handler", "lapwing_type_kind", "lapwing_version_numbers",
    "lapwing_wait_set_hook",
}  # fmt: skip
# What C has for fewer types than C++, which names do not show: for the list.
NARROWER = {
    "sums, minima and bit operations of structures, as atomics": "C++'s compiler knows what these mean for a type; in C take compare_swap in a loop",
    "inline functions for elements in 4 to 8 dimensions, and of structures": "lapwing_array_address() is inline; where it returns null, lapwing_array_get_element()",
}  # fmt: skip


def without_comments(path):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


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


def declared_names(headers):
    """Names that are declared in the namespace lapwing itself."""
    return {name for text in headers.values() for namespace, name in interface_symbols.declared(text) if namespace == "lapwing"}


def failing(tests):
    """Functions whose call fails somewhere."""
    found = set()
    for begin in re.finditer(r"\b(?:FAILS|NULL_HANDLE|NULL_ARGUMENT)\(", tests):
        depth, end = 1, begin.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(tests[end], 0)
            end += 1
        found |= set(re.findall(r"\blapwing_\w+", tests[begin.end() : end]))
    return found


class Check:
    def __init__(self, root):
        self.headers = {path: without_comments(path) for path in (root / "include/lapwing").glob("*.hpp")}
        self.c_text = "".join(without_comments(path) for path in sorted((root / "include/lapwing/c").glob("*.h")))
        self.functions = set(re.findall(r"\b(lapwing_[a-z0-9_]+[a-z0-9])\(", self.c_text)) - {"lapwing_error_handler"}
        self.root, self.wrong, self.needed, self.checked = root, [], set(), 0

    def compare(self, full, other, there, where):
        self.checked += 1
        if "--list" in sys.argv:
            print(f"{full:40} {other if there else MISSING.get(full, '')}")
        if full in MISSING:
            self.needed.add(full)
            if there:
                self.wrong.append(f"MISSING: {full} is there, as {other}")
        elif not there:
            self.wrong.append(f"{full} has no {other} in C; add it, or name it in {where} or, with a reason, in MISSING")

    def members(self, name, thing):
        bodies = [body for text in self.headers.values() if (body := class_body(text, name)) is not None]
        if len(bodies) != 1:
            self.wrong.append(f"include/lapwing: class {name} is defined {len(bodies)} times; correct the table OBJECTS")
            return
        for member in sorted(public_members(bodies[0]) - {f"~{name}"}):
            full = f"{name}::{member}"
            default = "create" if member == name else ELSEWHERE.get(member, member)
            other = "lapwing_" + ELSEWHERE.get(full, f"{thing}_{default}")
            self.compare(full, other, other in self.functions, "ELSEWHERE")

    def names(self):
        for name in sorted(declared_names(self.headers) - set(OBJECTS) - NO_NAMES):
            other = VALUES.get(name, "counterpart")
            self.compare(name, other, re.search(rf"\b{other}\b", self.c_text) is not None, "VALUES")

    def tests(self):
        tests = "".join(path.read_text() for path in (self.root / "tests/bindings/c").glob("*.c"))
        examples = "".join(path.read_text() for path in (self.root / "examples/c").glob("*.c"))
        fail = failing(tests)
        for function in sorted(self.functions):
            if not re.search(rf"\b{function}\b", tests + examples) and not function.endswith("_n"):
                self.wrong.append(f"{function}() is called by no test in tests/bindings/c, and by no example")
            may_fail = re.search(rf"\bint {function}\(", self.c_text) is not None and function not in NEVER_FAIL
            if may_fail and function not in fail:
                self.wrong.append(f"{function}() fails in no test in tests/bindings/c: give it a bad argument, or name it in NEVER_FAIL")
            if not may_fail and function in fail:
                self.wrong.append(f"NEVER_FAIL: {function}() fails in a test")


def main():
    arguments = [one for one in sys.argv[1:] if not one.startswith("--")]
    check = Check(Path(arguments[0]) if arguments else ROOT)
    for name, thing in OBJECTS.items():
        check.members(name, thing)
    check.names()
    check.wrong += [f"MISSING: {full} is no public name" for full in MISSING if full not in check.needed]
    check.wrong += [f"VALUES: {name} is no public name" for name in sorted(set(VALUES) - declared_names(check.headers))]
    check.tests()
    if "--list" in sys.argv:
        print(*(f"{what}: {reason}" for what, reason in NARROWER.items()), sep="\n")
    print(*check.wrong, sep="\n", end="\n" if check.wrong else "")
    return 0 if not check.wrong and check.checked > 200 else 1


sys.exit(main())
