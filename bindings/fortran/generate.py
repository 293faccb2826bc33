#!/usr/bin/env python3
"""Writes the Fortran module `lapwing` from the C interface and description.txt.

usage: generate.py ROOT DIRECTORY       writes DIRECTORY/lapwing_c.f90 and DIRECTORY/lapwing.f90
       generate.py ROOT --list          prints each procedure, the C function under it and its arguments

lapwing_c.f90 has every function, structure and constant of include/lapwing/c/*.h as Fortran sees them, and those of shim.h.
lapwing.f90 has the types with their procedures: description.txt says which, lapwing.f90.in has what is written by hand.
"""

import re
import sys
from pathlib import Path

HANDLES = "settings runtime completion layout window lock array slice assignment reduction halo mapped relabelling prefetch plan production recording future aggregator".split()
SCALARS = {"int": "integer(c_int)", "unsigned int": "integer(c_int)", "double": "real(c_double)"}
SCALARS.update({name: "integer(c_int64_t)" for name in ("int64_t", "uint64_t", "size_t", "lapwing_type")})
# Arguments that point to several numbers.
LISTS = set("extents lower upper strides index indices offsets values grid order periodic block level blocks parts ranges counts drop "
            "allocated sizes".split())
# Objects that others own, too: they are lent, and freeing gives them back.
LENT = ("window", "runtime")
# Members of C's options that are unsigned.
COUNTS = {"notification_counters", "alignment"}
WIDTH = 128


def plain(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


class Headers:
    """Functions, structures, function types and constants of the headers."""

    def __init__(self, root):
        self.functions, self.structures, self.types, self.constants, self.texts = {}, {}, {}, {}, {}
        for path in [*sorted((root / "include/lapwing/c").glob("*.h")), root / "bindings/fortran/shim.h"]:
            self.read(root, path)

    def read(self, root, path):
        text = re.sub(r"^#include <(lapwing/detail/[^>]*\.inc)>", lambda found: self.counters(root, found[1]), path.read_text(), flags=re.MULTILINE)
        comments = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)
        for found in re.finditer(r"((?:^///[^\n]*\n)+)((?:int|void) [^;{]*;\n(?:int [^;{]*;\n)*)", comments, re.MULTILINE):
            for name in re.findall(r"\b(lapwing_\w+)\(", found[2]):
                self.texts[name] = [line[3:].strip() for line in found[1].splitlines()]
        text = plain(comments)
        text = re.sub(r"static inline [^{]*\{.*?^\}", "", text, flags=re.DOTALL | re.MULTILINE)
        for name, value in re.findall(r"^#define (LAPWING_VERSION_\w+) (\d+)$", path.read_text(), re.MULTILINE):
            self.constants[name] = int(value)
        for body in re.findall(r"\benum \{(.*?)\}", text, re.DOTALL):
            value = -1
            for item in filter(None, (one.strip() for one in body.split(","))):
                name, _, given = (part.strip() for part in item.partition("="))
                value = int(given) if given else value + 1
                self.constants[name] = value
        for found in re.finditer(r"typedef struct (\w+) \{(.*?)\} \w+;", text, re.DOTALL):
            members = re.sub(r"\w+ \(\*(\w+)\)\([^)]*\)", r"function \1", found[2])
            self.structures[found[1]] = [self.declared(one) for one in members.split(";") if one.strip()]
        text = re.sub(r"typedef struct (\w+) \{(.*?)\} \w+;", "", text, flags=re.DOTALL)
        for found in re.finditer(r"typedef (\w+) \(\*(\w+)\)\(([^)]*)\);", text):
            self.types[found[2]] = (found[1], [self.declared(one) for one in found[3].split(",")])
        text = re.sub(r"typedef [^;]*;", "", text)
        for found in re.finditer(r"\b(\w[\w ]*?[ *]+)(lapwing_\w+)\(([^)]*)\);", text):
            given = [] if found[3].strip() in ("", "void") else [self.declared(one) for one in found[3].split(",")]
            if not found[2].endswith("_far_"):
                self.functions[found[2]] = (" ".join(found[1].split()), given)

    def counters(self, root, name):
        text = plain((root / "include" / name).read_text())
        text = re.sub(r"#include <([^>]*)>", lambda found: self.counters(root, found[1]), text)
        return re.sub(r"LAPWING_COUNTER\((\w+)\)", r"uint64_t \1;\n", text)

    @staticmethod
    def declared(text):
        """("const int64_t*", "index") of a C declaration."""
        found = re.fullmatch(r"\s*(.*?)\s*(\w+)\s*(?:\[(\w+)\])?\s*", " ".join(text.split()))
        kind = re.sub(r"\s*\*\s*", "*", found[1])
        kind = kind.replace("*const*", "**")
        return kind, found[2]


def is_mpi(declarations):
    return any("MPI_" in kind for kind, _ in declarations)


def structure_name(kind):
    return {"lapwing_range": "c_range", "lapwing_part": "c_part", "lapwing_level": "c_level", "lapwing_block": "c_block"}.get(kind, kind)


def raw_argument(kind, name, headers):
    """How a C argument is declared in an interface body."""
    const, bare = kind.startswith("const "), kind.removeprefix("const ")
    stars, bare = bare.count("*"), bare.replace("*", "").strip()
    if bare == "CFI_cdesc_t":
        return f"type(*), dimension(..), intent({'in' if const else 'inout'}), optional :: {name}"
    if bare in headers.types or bare == "lapwing_error_handler":
        return f"type(c_funptr), value :: {name}"
    if stars == 0:
        return f"{SCALARS[bare]}, value :: {name}"
    if stars == 2:
        return f"type(c_ptr), intent(in) :: {name}(*)" if const else f"type(c_ptr), intent(inout), optional :: {name}"
    if bare in SCALARS:
        many = "(*)" if (name in LISTS and name != "blocks") or (const and bare != "lapwing_type") else ""
        return f"{SCALARS[bare]}, intent({'in' if const else 'inout'}), optional :: {name}{many}"
    if bare == "char":
        return f"character(kind=c_char), intent(in) :: {name}(*)"
    if bare in headers.structures and bare not in ("lapwing_shape",):
        many = "(*)" if name in LISTS else ""
        return f"type({structure_name(bare)}), intent({'in' if const else 'inout'}), optional :: {name}{many}"
    return f"type(c_ptr), value :: {name}"


def wrapped(line):
    """A statement in lines that a compiler takes."""
    if len(line) <= WIDTH:
        return line
    indent = re.match(r" *", line)[0]
    out, rest = [], line
    while len(rest) > WIDTH - 2:
        cut = max(rest.rfind(", ", 0, WIDTH - 3) + 1, rest.rfind(") ", 0, WIDTH - 3) + 1)
        if cut <= len(indent) + 4:
            raise SystemExit(f"generate.py: cannot wrap {line!r}")
        out.append(rest[:cut] + " &")
        rest = indent + "    " + rest[cut:].lstrip()
    return "\n".join([*out, rest])


def c_module(headers):
    lines = ["! Written by bindings/fortran/generate.py from include/lapwing/c and bindings/fortran/shim.h.",
             "module lapwing_c", "use, intrinsic :: iso_c_binding", "implicit none", "public", ""]
    for name, value in headers.constants.items():
        lines.append(f"integer(c_int), parameter :: {name} = {value}")
    for name, members in headers.structures.items():
        if name in ("lapwing_shape", "lapwing_place", "lapwing_distribution_functions", "lapwing_distribution", "lapwing_array_options",
                    "lapwing_window_options", "lapwing_setting_info", "lapwing_far_value", "lapwing_array_axis") or name.endswith("_head"):
            continue
        lines.append(f"type, bind(C) :: {structure_name(name)}")
        for kind, member in members:
            default = "-1" if name == "lapwing_cache_options" else "0"
            if kind == "function" or kind in headers.types:
                lines.append(f"    type(c_funptr) :: {member} = c_null_funptr")
            else:
                lines.append(f"    type(c_ptr) :: {member} = c_null_ptr" if "*" in kind else f"    {SCALARS[kind]} :: {member} = {default}")
        lines.append("end type")
    lines += ["", "abstract interface"]
    for name, (result, arguments) in headers.types.items():
        if name == "lapwing_error_handler":
            pass
        names = ", ".join(one for _, one in arguments)
        head = f"{name}({names}) bind(C)"
        lines.append(f"    subroutine {head}" if result == "void" else f"    integer(c_int) function {head}")
        lines.append("        import")
        for kind, argument in arguments:
            bare = kind.removeprefix("const ")
            if bare in SCALARS:
                lines.append(f"        {SCALARS[bare]}, value :: {argument}")
            elif bare == "int64_t*":
                lines.append(f"        integer(c_int64_t), intent(in) :: {argument}(*)")
            elif kind == "uint64_t*":
                lines.append(f"        integer(c_int64_t), intent(inout) :: {argument}")
            else:
                lines.append(f"        type(c_ptr), value :: {argument}")
        lines.append(f"    end {'subroutine' if result == 'void' else 'function'}")
    lines += ["end interface", "", "interface"]
    for name, (result, arguments) in headers.functions.items():
        if is_mpi(arguments) or name == "lapwing_error_abort" or result.startswith("lapwing_") and result != "lapwing_type":
            continue
        if any(kind.replace("const ", "").rstrip("*") in ("lapwing_distribution", "lapwing_array_options", "lapwing_window_options", "lapwing_setting_info")
               for kind, _ in arguments):
            continue
        shorter = [re.sub(r"^lower_count$", "lower_n", one) for _, one in arguments]
        outcome = {"int": "integer(c_int)", "const char*": "type(c_ptr)", "uint64_t": "integer(c_int64_t)"}[result]
        lines.append(wrapped(f"    {outcome} function {name}({', '.join(shorter)}) bind(C)"))
        lines.append("        import")
        for kind, argument in arguments:
            argument = re.sub(r"^lower_count$", "lower_n", argument)
            lines.append("        " + raw_argument(kind, argument, headers))
        lines.append("    end function")
    lines += ["end interface", "", "end module lapwing_c", ""]
    return "\n".join(lines)


class Argument:
    def __init__(self, text):
        self.hash = text.startswith("#")
        self.name, _, kind = text.lstrip("#").partition(":")
        self.kind, optional, self.default = kind.partition("?")
        self.optional = bool(optional)


class Procedure:
    def __init__(self, thing, text, headers):
        text, _, name = text.partition(" = ")
        words, _, self.result = text.partition(" -> ")
        self.thing, self.headers = thing, headers
        self.name, *given = words.split()
        self.result = self.result.strip()
        self.arguments = [Argument(one) for one in given]
        name = name.strip() or self.name
        candidates = [f"lapwing_fortran_{thing}_{self.name}", f"lapwing_{thing}_{name}"]
        self.function = next((one for one in candidates if one in headers.functions), None)
        if self.function is None:
            raise SystemExit(f"description.txt: [{thing}] {self.name}: there is no {' and no '.join(candidates)}")
        # What C function stands for it: the shim's take Fortran's arguments to the one of the same name.
        self.c_function = candidates[1]
        kinds = {one.kind for one in self.arguments}
        self.widths = ["i4", "i8"] if kinds & {"wide", "wides", "index", "patch", "list", "out.wide", "out.wides"} else [""]
        if "parts" in kinds:
            self.widths = ["", "i4", "i8"]
        self.mpis = ["f08", "int"] if kinds & {"comm", "win", "datatype", "op", "request", "newdatatype"} else [""]
        self.creates = any(one.name == "self" and one.hash is False for one in self.arguments)

    def specifics(self):
        return ["_".join(filter(None, (self.thing, self.name, width, mpi))) for width in self.widths for mpi in self.mpis]

    def code(self):
        return "\n".join(self.specific("_".join(filter(None, (self.thing, self.name, width, mpi))), width, mpi)
                         for width in self.widths for mpi in self.mpis)

    def specific(self, full, width, mpi):
        body = Body(self, width, mpi)
        if not any(one.name == "self!" for one in self.arguments):
            body.call.append(body.self_handle())
        for argument in self.arguments:
            body.add(argument)
        if self.result:
            body.add_result(self.result)
        if self.thing == "slice" and self.name in ("create", "cut", "permute"):
            body.after.append({"create": "code = lapwing_fortran_array_type(array%handle, self%type)", "cut": "part%type = self%type",
                               "permute": "permuted%type = self%type"}[self.name])
        if self.thing == "slice" and self.name in ("get", "put", "start_get", "start_put", "fill"):
            body.call.insert(1, "self%type")
        if self.name == "add_fill":
            body.call.insert(2, "target%type")
        if self.thing in ("halo", "mapped") and self.name.startswith("create"):
            body.after += ["code = lapwing_fortran_array_dimensions(array%handle, self%dimensions)",
                           "if (code == LAPWING_SUCCESS) code = lapwing_fortran_array_type(array%handle, self%type)"]
        names = ["self", *body.dummies, *body.optional_dummies, "stat", "errmsg"]
        kind = "function" if self.result else "subroutine"
        tail = " result(result)" if self.result else ""
        lines = [f"    !> {line}" for line in self.headers.texts.get(self.c_function, [])]
        lines.append(wrapped(f"    {kind} {full}({', '.join(names)}){tail}"))
        changes = body.changes_self
        lines.append(f"        class(lapwing_{self.thing}), intent({'inout' if changes else 'in'}) :: self")
        lines += [wrapped("        " + one) for one in body.declared]
        lines += ["        integer, intent(out), optional :: stat", "        character(*), intent(inout), optional :: errmsg"]
        lines += ["        " + one for one in body.locals]
        lines.append("        integer(c_int) :: code")
        lines += ["", "        code = LAPWING_SUCCESS"]
        lines += [wrapped("        " + one) for one in body.before]
        guard = "if (code == LAPWING_SUCCESS) " if any(one.lstrip().startswith("if (code ==") for one in body.before) else ""
        lines.append(wrapped(f"        {guard}code = {self.function}({', '.join(body.call)})"))
        if body.after:
            lines.append("        if (code == LAPWING_SUCCESS) then")
            lines += [wrapped("            " + one) for one in body.after]
            lines.append("        end if")
        lines.append("        call finish(code, stat, errmsg)")
        lines.append(f"    end {kind}")
        return "\n".join(lines) + "\n"


class Body:
    """What one specific procedure consists of."""

    MPI = {"comm": "MPI_Comm", "win": "MPI_Win", "datatype": "MPI_Datatype", "op": "MPI_Op", "request": "MPI_Request", "newdatatype": "MPI_Datatype"}

    def __init__(self, procedure, width, mpi):
        self.procedure, self.width, self.mpi = procedure, width, mpi
        self.integer = {"i4": "integer(int32)", "i8": "integer(int64)", "": "integer"}[width]
        self.dummies, self.optional_dummies, self.declared, self.locals, self.before, self.call, self.after = [], [], [], [], [], [], []
        self.changes_self = (procedure.thing, procedure.name) in (("completion", "wait"), ("completion", "test"), ("production", "finish"), ("future", "get"))
        self.changes_self = self.changes_self or (procedure.thing == "statistics" and procedure.name == "add")

    def self_handle(self):
        return "self%counters" if self.procedure.thing == "statistics" else "self%handle"

    def array_handle(self):
        """Whose indices a procedure takes."""
        return "array%handle" if self.procedure.thing in ("aggregator", "mapped") else "self%handle"

    def dummy(self, argument, declaration, suffix=""):
        attributes = ", optional" if argument.optional else ""
        (self.optional_dummies if argument.optional else self.dummies).append(argument.name)
        self.declared.append(f"{declaration}{attributes} :: {argument.name}{suffix}")

    def optional_value(self, name, declaration, default, value):
        self.locals.append(f"{declaration} :: {name}_c")
        self.before += [f"{name}_c = {default}", f"if (present({name})) {name}_c = {value}"]
        self.call.append(f"{name}_c")

    def step(self, text):
        self.before.append(f"if (code == LAPWING_SUCCESS) code = {text}")

    def add(self, argument):
        name, kind = argument.name, argument.kind
        if argument.hash:
            if f"{name}_c" in " ".join(self.locals) and f"present({name})" in " ".join(self.before):
                self.call.append(f"listed({name}_c)")
            else:
                self.call.append(f"size({name}, kind=c_int64_t)")
            return
        if name == "self!":
            self.changes_self = True
            self.step(f"lapwing_fortran_require_new(self%handle, '{self.procedure.thing}' // c_null_char)")
            self.call.append("self%handle")
            return
        method = "add_" + kind.replace(".", "_").replace("!", "_new").replace("*", "_lent")
        if kind in HANDLES:
            self.add_handle(argument)
        elif kind.rstrip("!*") in HANDLES:
            self.add_new(argument, kind.rstrip("!*"), lent=kind.endswith("*"))
        elif kind.startswith("fun."):
            self.add_function(argument, kind[4:])
        elif kind in self.MPI:
            self.add_mpi(argument)
        else:
            getattr(self, method)(argument)

    def add_handle(self, argument):
        self.dummy(argument, f"class(lapwing_{argument.kind}), intent(in)")
        if argument.optional:
            self.optional_value(argument.name, "type(c_ptr)", "c_null_ptr", f"{argument.name}%handle")
        else:
            self.call.append(f"{argument.name}%handle")

    def add_slices(self, argument):
        name = argument.name
        self.dummy(argument, "type(lapwing_slice), intent(in)", "(:)")
        self.locals.append(f"type(c_ptr) :: {name}_c(size({name}))")
        self.before.append(f"{name}_c = {name}%handle")
        self.call += [f"size({name}, kind=c_int)", f"{name}_c"]

    def add_new(self, argument, thing, lent):
        self.dummy(argument, f"class(lapwing_{thing}), intent(inout)")
        self.step(f"lapwing_fortran_require_new({argument.name}%handle, '{thing}' // c_null_char)")
        self.call.append(f"{argument.name}%handle")
        if lent:
            self.after.append(f"{argument.name}%lent = .true.")

    def add_function(self, argument, name):
        self.dummy(Argument(argument.name + ":x"), f"procedure(lapwing_{name})") if not argument.optional else None
        if argument.optional:
            self.optional_dummies.append(argument.name)
            self.declared.append(f"procedure(lapwing_{name}), optional :: {argument.name}")
            self.optional_value(argument.name, "type(c_funptr)", "c_null_funptr", f"c_funloc({argument.name})")
        else:
            self.call.append(f"c_funloc({argument.name})")

    def add_mpi(self, argument):
        name, kind = argument.name, argument.kind
        intent = {"request": "inout", "newdatatype": "out"}.get(kind, "in")
        self.dummy(argument, f"type({self.MPI[kind]}), intent({intent})" if self.mpi == "f08" else f"integer, intent({intent})")
        value = f"{name}%MPI_VAL" if self.mpi == "f08" else name
        if kind == "newdatatype":
            self.before.append(f"{value} = 0")
        self.call.append(value)
        if kind == "comm":
            self.call.append("MPI_COMM_WORLD%MPI_VAL")

    def require_count(self, argument):
        """Where C counts a negative number would be a large one, and the text would name that."""
        functions = self.procedure.headers.functions
        kinds = [kind for name in (self.procedure.c_function, self.procedure.function) if name in functions for kind, one in functions[name][1] if one == argument.name]
        if argument.name not in COUNTS and not any(kind in ("unsigned int", "uint64_t", "size_t") for kind in kinds):
            return
        check = f"lapwing_fortran_require_count_of(int({argument.name}, c_int64_t), '{argument.name}' // c_null_char)"
        present = f" .and. present({argument.name})" if argument.optional else ""
        if argument.optional:
            self.before.append(f"if (code == LAPWING_SUCCESS{present}) then")
            self.before += [f"    code = {check}", "end if"]
        else:
            self.step(check)

    def as_int64(self, numbers):
        """An array of numbers for C; a conversion allocates memory in each call."""
        return numbers if self.width == "i8" else f"int({numbers}, c_int64_t)"

    def add_int(self, argument):
        self.dummy(argument, "integer, intent(in)")
        self.require_count(argument)
        if argument.optional:
            self.optional_value(argument.name, "integer(c_int)", argument.default, argument.name)
        else:
            self.call.append(argument.name)

    def add_wide(self, argument):
        self.dummy(argument, f"{self.integer}, intent(in)")
        self.require_count(argument)
        if argument.optional:
            self.optional_value(argument.name, "integer(c_int64_t)", f"{argument.default}_c_int64_t", f"int({argument.name}, c_int64_t)")
        else:
            self.call.append(f"int({argument.name}, c_int64_t)")

    def add_type(self, argument):
        self.dummy(argument, "integer(int64), intent(in)")
        if argument.optional:
            self.optional_value(argument.name, "integer(c_int64_t)", f"{argument.default}_c_int64_t", argument.name)
        else:
            self.call.append(argument.name)

    def add_wides(self, argument):
        self.add_numbers(argument, self.integer)

    def add_ints(self, argument):
        self.add_numbers(argument, "integer")

    def add_numbers(self, argument, integer):
        name = argument.name
        self.dummy(argument, f"{integer}, intent(in)", "(:)")
        if argument.optional:
            self.locals.append(f"integer(c_int64_t), allocatable :: {name}_c(:)")
            self.before.append(f"if (present({name})) {name}_c = int({name}, c_int64_t)")
            self.call.append(f"{name}_c")
        else:
            self.call.append(self.as_int64(name) if integer == self.integer else f"int({name}, c_int64_t)")

    def add_logicals(self, argument):
        name = argument.name
        self.dummy(argument, "logical, intent(in)", "(:)")
        self.locals.append(f"integer(c_int), allocatable :: {name}_c(:)")
        self.before.append(f"if (present({name})) {name}_c = merge(1_c_int, 0_c_int, {name})")
        self.call += [f"{name}_c", f"listed_flags({name}_c)"]

    def add_logical(self, argument):
        self.dummy(argument, "logical, intent(in)")
        value = f"merge(1_c_int, 0_c_int, {argument.name})"
        if argument.optional:
            self.optional_value(argument.name, "integer(c_int)", argument.default, value)
        else:
            self.call.append(value)

    def add_text(self, argument):
        name = argument.name
        self.dummy(argument, "character(*), intent(in)")
        # Which form the C argument has.
        kinds = dict((one, kind) for kind, one in self.procedure.headers.functions[self.procedure.function][1])
        if kinds.get(name, "const char*") == "const char*":
            self.call.append(f"trim({name}) // c_null_char")
            return
        self.locals.append(f"character(kind=c_char), allocatable, target :: {name}_c(:)")
        if argument.optional:
            self.locals.append(f"type(c_ptr) :: {name}_p")
            self.before += [f"{name}_p = c_null_ptr", f"if (present({name})) then", f"    {name}_c = c_text({name})", f"    {name}_p = c_loc({name}_c)", "end if"]
            self.call.append(f"{name}_p")
        else:
            self.before.append(f"{name}_c = c_text({name})")
            self.call.append(f"c_loc({name}_c)")

    def add_index(self, argument):
        name = argument.name
        self.dummy(argument, f"{self.integer}, intent(in)", "(:)")
        self.locals.append(f"integer(c_int64_t) :: {name}_c({MOST})")
        self.step(f"lapwing_fortran_index({self.array_handle()}, size({name}, kind=c_int64_t), {self.as_int64(name)}, '{name}' // c_null_char, {name}_c)")
        self.call.append(f"{name}_c")

    def triplets(self, optional):
        flag = "?" if optional else ""
        self.dummy(Argument(f"lower:x{flag}"), f"{self.integer}, intent(in)", "(:)")
        self.dummy(Argument(f"upper:x{flag}"), f"{self.integer}, intent(in)", "(:)")
        self.dummy(Argument("stride:x?"), f"{self.integer}, intent(in)", "(:)")
        self.locals.append("integer(c_int64_t), allocatable :: stride_c(:)")
        self.before.append("if (present(stride)) stride_c = int(stride, c_int64_t)")

    def add_patch(self, _):
        self.triplets(False)
        self.locals.append(f"type(c_range) :: ranges_c({MOST})")
        self.step(f"lapwing_fortran_ranges({self.array_handle()}, size(lower, kind=c_int64_t), {self.as_int64('lower')}, size(upper, kind=c_int64_t), "
                  f"{self.as_int64('upper')}, listed(stride_c), stride_c, ranges_c)")
        self.call.append("ranges_c")

    def add_parts(self, _):
        if self.width == "":
            self.locals.append("type(c_part), allocatable :: parts_c(:)")
            self.call.append("parts_c")
            return
        self.triplets(False)
        self.dummy(Argument("drop:x?"), "logical, intent(in)", "(:)")
        self.locals += ["integer(c_int), allocatable :: drop_c(:)", f"type(c_part) :: parts_c({MOST})"]
        of = "array" if self.procedure.name == "create" else "self"
        self.locals.append("integer(c_int64_t) :: dimensions_c")
        self.before.append("if (present(drop)) drop_c = merge(1_c_int, 0_c_int, drop)")
        self.before.append(f"dimensions_c = dimensions_of_{'array' if of == 'array' else 'slice'}({of}%handle, code)")
        # Positions of a slice count from 1 here, and from 0 in C.
        less = "" if of == "array" else " - 1"
        self.step(f"lapwing_fortran_parts(dimensions_c, size(lower, kind=c_int64_t), int(lower, c_int64_t){less}, "
                  f"size(upper, kind=c_int64_t), int(upper, c_int64_t){less}, listed(stride_c), stride_c, listed_flags(drop_c), drop_c, parts_c)")
        self.call.append("parts_c")

    def add_list(self, argument):
        name = argument.name
        self.dummy(argument, f"{self.integer}, intent(in)", "(:, :)")
        self.step(f"lapwing_fortran_require_count({self.array_handle()}, size({name}, 1, kind=c_int64_t), '{name}' // c_null_char)")
        self.call += [f"size({name}, 2, kind=c_int64_t)", f"int({name}(size({name}, 1):1:-1, :), c_int64_t)"]

    def buffer(self, argument, intent):
        kept = any(one.kind == "completion!" for one in self.procedure.arguments) or self.procedure.c_function.startswith("lapwing_aggregator_get")
        started = ", asynchronous" if kept else ""
        self.dummy(argument, f"type(*), dimension(..), intent({intent}){started}")
        self.call.append(argument.name)

    def add_any(self, argument):
        self.buffer(argument, "inout")

    def add_anyin(self, argument):
        self.buffer(argument, "in")

    def add_statistics(self, argument):
        self.dummy(argument, "class(lapwing_statistics), intent(in)")
        self.call.append(f"{argument.name}%counters")

    def add_ptr(self, argument):
        self.dummy(argument, "type(c_ptr), intent(in)")
        self.optional_value(argument.name, "type(c_ptr)", "c_null_ptr", argument.name)

    def structure(self, argument):
        self.dummy(argument, f"type(lapwing_{argument.kind}), intent(in)")
        self.call.append(argument.name)

    add_cache_options = add_plan_options = add_distribution_procedures = structure

    def add_out_layout_info(self, argument):
        self.dummy(argument, "type(lapwing_layout_info), intent(inout)")
        self.call.append(argument.name)

    def add_out_statistics(self, argument):
        self.dummy(argument, "class(lapwing_statistics), intent(inout)")
        self.call.append(f"{argument.name}%counters")

    def add_out_int(self, argument):
        self.dummy(argument, "integer, intent(inout)")
        self.call.append(argument.name)

    def add_out_double(self, argument):
        self.dummy(argument, "real(real64), intent(inout)")
        self.call.append(argument.name)

    def add_out_logical(self, argument):
        self.dummy(argument, "logical, intent(inout)")
        self.locals.append(f"integer(c_int) :: {argument.name}_c")
        self.call.append(f"{argument.name}_c")
        self.after.append(f"{argument.name} = {argument.name}_c /= 0")

    def add_out_wide(self, argument):
        self.dummy(argument, f"{self.integer}, intent(inout)")
        self.locals.append(f"integer(c_int64_t) :: {argument.name}_c")
        self.call.append(f"{argument.name}_c")
        self.after.append(f"{argument.name} = int({argument.name}_c, kind({argument.name}))")

    def add_out_wides(self, argument):
        self.numbers_out(argument, self.integer)

    def add_out_index(self, argument):
        self.numbers_out(argument, "integer(int64)")

    def numbers_out(self, argument, integer):
        name = argument.name
        self.dummy(argument, f"{integer}, intent(inout)", "(:)")
        self.locals.append(f"integer(c_int64_t) :: {name}_c({MOST})")
        check = f"lapwing_fortran_require_count(self%handle, size({name}, kind=c_int64_t), '{name}' // c_null_char)"
        value = f"{name} = int({name}_c(size({name}):1:-1), kind({name}))"
        if argument.optional:
            self.before += [f"if (code == LAPWING_SUCCESS .and. present({name})) code = {check}"]
            self.after.append(f"if (present({name})) {value}")
        else:
            self.step(check)
            self.after.append(value)
        self.call.append(f"{name}_c")

    def add_result(self, kind):
        declarations = {"int": ("integer", "0"), "wide": ("integer(int64)", "0"), "logical": ("logical", ".false.")}
        if kind == "text":
            self.declared.append("character(:), allocatable :: result")
            self.locals.append("type(c_ptr) :: result_c")
            self.before += ["result = ''", "result_c = c_null_ptr"]
            self.call.append("result_c")
            self.after.append("result = text_of(result_c)")
        elif kind == "wides":
            self.declared.append("integer(int64), allocatable :: result(:)")
            self.locals += [f"integer(c_int64_t) :: result_c({MOST})", "integer(c_int64_t) :: count_c"]
            self.before += ["allocate(result(0))", "count_c = 0"]
            self.call += ["result_c", "count_c"]
            self.after.append("result = result_c(1:count_c)")
        else:
            declaration, nothing = declarations[kind]
            self.declared.append(f"{declaration} :: result")
            c_kind = "integer(c_int64_t)" if kind == "wide" else "integer(c_int)"
            self.locals.append(f"{c_kind} :: result_c")
            self.before += [f"result = {nothing}", "result_c = 0"]
            self.call.append("result_c")
            self.after.append("result = result_c /= 0" if kind == "logical" else "result = result_c")


MOST = 8
# Types of Fortran's that pointers are made to: name, declaration, type of Lapwing's.
POINTERS = [("int8", "integer(int8)", "LAPWING_INT8"), ("int16", "integer(int16)", "LAPWING_INT16"), ("int32", "integer(int32)", "LAPWING_INT32"),
            ("int64", "integer(int64)", "LAPWING_INT64"), ("real32", "real(real32)", "LAPWING_REAL32"), ("real64", "real(real64)", "LAPWING_REAL64"),
            ("complex32", "complex(real32)", "LAPWING_COMPLEX32"), ("complex64", "complex(real64)", "LAPWING_COMPLEX64"),
            ("logical", "logical", "LAPWING_LOGICAL")]


def pointer_code(thing, name, rank, own, where):
    """local() of an array or a halo, halo_view(), or view() of a mapped array, for one type and number of dimensions."""
    kind, declaration, code = own
    colons = ", ".join([":"] * rank)
    full = f"{thing}_{name}_{kind}_{rank}"
    lower = ", ".join(f"lower({d}):" for d in range(1, rank + 1))
    inner = ", ".join(f"1:extents({d})" for d in range(1, rank + 1))
    return full, f"""    subroutine {full}(self, elements, stat, errmsg)
        class(lapwing_{thing}), intent(in) :: self
        {declaration}, pointer, intent(inout) :: elements({colons})
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        {declaration}, pointer :: all({colons})
        type(c_ptr) :: memory
        integer(c_int64_t) :: extents({MOST}), allocated({MOST}), lower({MOST})
        integer(c_int) :: code

        nullify(elements)
        memory = c_null_ptr
        code = {where}{code}, {rank}_c_int, memory, extents, allocated, lower)
        if (code == LAPWING_SUCCESS) then
            if (c_associated(memory)) then
                call c_f_pointer(memory, all, allocated(1:{rank}))
                elements({lower}) => all({inner})
            else
                allocate(all({", ".join(["0"] * rank)}))
                elements => all
            end if
        end if
        call finish(code, stat, errmsg)
    end subroutine
"""


def address_code(thing, name, where):
    """local_address() of an array or a halo and so on: for elements that are structures."""
    full = f"{thing}_{name}_address"
    what = {"array_local": "the local part", "array_halo_view": "the local part with the copies around it", "halo_local": "the block with its halo",
            "mapped_view": "the array's first element"}[f"{thing}_{name}"]
    return full, f"""    !> Where {what} is, null if this rank has none of it; its extents, those of the memory that it lies in, and its first index, each
    !> with one number for each dimension: for elements that are structures, which c_f_pointer() makes a pointer to. The type of such a
    !> pointer cannot be checked. Local.
    subroutine {full}(self, memory, extents, allocated, lower, stat, errmsg)
        class(lapwing_{thing}), intent(in) :: self
        type(c_ptr), intent(inout) :: memory
        integer(int64), intent(inout) :: extents(:)
        integer(int64), intent(inout), optional :: allocated(:), lower(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_int64_t) :: extents_c({MOST}), allocated_c({MOST}), lower_c({MOST})
        integer(c_int) :: code
        integer :: n

        n = size(extents)
        memory = c_null_ptr
        code = {where}0_c_int64_t, int(n, c_int), memory, extents_c, allocated_c, lower_c)
        if (code == LAPWING_SUCCESS) then
            extents = extents_c(1:n)
            if (present(allocated)) allocated = allocated_c(1:n)
            if (present(lower)) lower = lower_c(1:n)
        end if
        call finish(code, stat, errmsg)
    end subroutine
"""


def window_pointer_code(own):
    kind, declaration, code = own
    full = f"window_memory_{kind}"
    return full, f"""    subroutine {full}(self, rank, elements, stat, errmsg)
        class(lapwing_window), intent(in) :: self
        integer, intent(in) :: rank
        {declaration}, pointer, intent(inout) :: elements(:)
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: memory
        integer(c_int64_t) :: count
        integer(c_int) :: code

        nullify(elements)
        memory = c_null_ptr
        count = 0
        code = lapwing_fortran_window_memory(self%handle, rank, {code}, memory, count)
        if (code == LAPWING_SUCCESS .and. c_associated(memory)) call c_f_pointer(memory, elements, [count])
        call finish(code, stat, errmsg)
    end subroutine
"""


def read_description(text, headers):
    things, endings, thing = {}, {}, None
    for line in text.splitlines():
        line = "" if line.startswith("#") else line.strip()
        if not line:
            continue
        if found := re.fullmatch(r"\[(\w+)\](.*)", line):
            thing = found[1]
            things[thing], endings[thing] = [], found[2].split()
        else:
            things[thing].append(Procedure(thing, line, headers))
    return things, endings


def ending_code(thing, ending):
    return f"""    subroutine {thing}_{ending}(self, stat, errmsg)
        class(lapwing_{thing}), intent(inout) :: self
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(c_int) :: code

        code = LAPWING_SUCCESS
        {'if (self%lent) self%handle = c_null_ptr' + chr(10) + '        ' if thing in LENT else ''}if (c_associated(self%handle)) code = lapwing_{thing}_{ending}(self%handle)
        {'if (code == LAPWING_SUCCESS) self%lent = .false.' + chr(10) + '        ' if thing in LENT else ''}call finish(code, stat, errmsg)
    end subroutine
"""


def final_code(thing):
    free = {"completion": "wait", "production": "finish"}.get(thing, "free")
    lent = "    if (self%lent) return\n    " if thing in LENT else "    "
    return f"""    subroutine {thing}_final(self)
        type(lapwing_{thing}), intent(inout) :: self

    {lent}    if (.not. c_associated(self%handle)) return
        if (lapwing_{thing}_{free}(self%handle) /= LAPWING_SUCCESS) call warn()
    end subroutine

    subroutine {thing}_refuse_copy(self, other)
        class(lapwing_{thing}), intent(inout) :: self
        class(lapwing_{thing}), intent(in) :: other

        if (c_associated(self%handle) .or. c_associated(other%handle)) &
            error stop 'lapwing_{thing}: an object cannot be assigned; pass it on as an argument, or use a pointer to it'
    end subroutine
"""


def module(root, headers, things, endings):
    types, bodies = [], []
    for thing, procedures in things.items():
        generics, lines = {}, []
        for procedure in procedures:
            generics.setdefault(procedure.name, []).extend(procedure.specifics())
            bodies.append(procedure.code())
        for ending in endings[thing]:
            generics[ending] = [f"{thing}_{ending}"]
            bodies.append(ending_code(thing, ending))
        if thing in ("array", "halo", "mapped"):
            where = {"array": "lapwing_fortran_array_local(self%handle, ", "halo": "lapwing_fortran_halo_local(self%handle, self%dimensions, self%type, ",
                     "mapped": "lapwing_fortran_mapped_view(self%handle, self%dimensions, self%type, "}[thing]
            names = {"view" if thing == "mapped" else "local": where}
            if thing == "array":
                names["halo_view"] = where.replace("_local(", "_halo_view(")
            for name, call in names.items():
                for own in POINTERS:
                    for rank in range(1, MOST + 1):
                        full, text = pointer_code(thing, name, rank, own, call)
                        generics.setdefault(name, []).append(full)
                        bodies.append(text)
                full, text = address_code(thing, name, call)
                generics[f"{name}_address"] = [full]
                bodies.append(text)
        if thing == "window":
            for own in POINTERS:
                full, text = window_pointer_code(own)
                generics.setdefault("memory", []).append(full)
                bodies.append(text)
        lines.append(f"    type :: lapwing_{thing}")
        if thing == "statistics":
            lines.append("        type(lapwing_counters) :: counters")
        else:
            lines += ["        private", "        type(c_ptr) :: handle = c_null_ptr"]
            if thing in LENT:
                lines.append("        logical :: lent = .false.")
            if thing in ("halo", "mapped"):
                lines.append("        integer(c_int) :: dimensions = 0")
            if thing in ("halo", "mapped", "slice"):
                lines.append("        integer(int64) :: type = 0")
            bodies.append(final_code(thing))
        lines.append("    contains")
        hand = HAND.get(thing, {})
        for name, full in generics.items():
            if len(full) == 1:
                lines.append(f"        procedure :: {name} => {full[0]}")
            else:
                for start in range(0, len(full), 4):
                    lines.append(f"        procedure, private :: {', '.join(full[start:start + 4])}")
                for start in range(0, len(full), 4):
                    lines.append(f"        generic :: {name} => {', '.join(full[start:start + 4])}")
        for name, full in hand.items():
            lines.append(f"        procedure :: {name} => {full}")
        if thing != "statistics":
            lines += [f"        procedure :: c_handle => {thing}_c_handle", f"        procedure, private :: {thing}_refuse_copy",
                      f"        generic :: assignment(=) => {thing}_refuse_copy", f"        final :: {thing}_final"]
            bodies.append(f"""    !> The object for C: lapwing_{thing}*, null before it is made.
    pure function {thing}_c_handle(self) result(handle)
        class(lapwing_{thing}), intent(in) :: self
        type(c_ptr) :: handle

        handle = self%handle
    end function
""")
        lines.append("    end type")
        types.append("\n".join(lines))
    text = (root / "bindings/fortran/lapwing.f90.in").read_text()
    public = [f"lapwing_{thing}" for thing in things] + list(headers.constants)
    public += [name for name in headers.types]
    exports = "\n".join(f"    public :: {name}" for name in public)
    text = text.replace("@EXPORTS@", exports).replace("@TYPES@", "\n\n".join(types)).replace("@PROCEDURES@", "\n".join(bodies))
    return "\n".join(line if line.lstrip().startswith("!") else wrapped(line) for line in text.split("\n"))


# Procedures that lapwing.f90.in has.
HAND = {"runtime": {"checkpoint_extents": "runtime_checkpoint_extents"}, "halo": {"bounds": "halo_bounds"},
        "window": {"memory_address": "window_memory_address"}}


def main():
    root = Path(sys.argv[1])
    headers = Headers(root)
    headers.structures["lapwing_counters"] = headers.structures.pop("lapwing_statistics")
    for name, (result, arguments) in headers.functions.items():
        headers.functions[name] = (result, [(kind.replace("lapwing_statistics", "lapwing_counters"), one) for kind, one in arguments])
    things, endings = read_description((root / "bindings/fortran/description.txt").read_text(), headers)
    if sys.argv[2] == "--list":
        for procedures in things.values():
            for one in procedures:
                print(f"{one.thing}%{one.name}: {one.c_function}")
        return
    for name, text in (("lapwing_c.f90", c_module(headers)), ("lapwing.f90", module(root, headers, things, endings))):
        Path(sys.argv[2], name).write_text(text)


if __name__ == "__main__":
    main()
