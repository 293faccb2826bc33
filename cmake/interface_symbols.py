#!/usr/bin/env python3
"""Writes the version script of the shared library: what its public headers declare is exported, everything else is hidden.

usage: interface_symbols.py INCLUDE VERSION OUTPUT     INCLUDE holds lapwing/, VERSION names the node: 0.1

A name is exported if a header in include/lapwing declares a class, a function or a variable of that name in the same namespace. What
Lapwing's own libraries and commands use beside it is in a node of its own, whose name ends in _PRIVATE: no part of the interface, it
may change with every release, and scripts/abi leaves it out.
"""

import re
import sys
from pathlib import Path

# Of the library's inside: what liblapwing-fortran and liblapwing-transparent call, and what lapwing-tune and lapwing-advise work with.
PRIVATE = [
    "lapwing::detail::bindings::*",
    "lapwing::detail::model::*",
    "lapwing::detail::kernels::*",
    "lapwing::detail::support::*",
    "lapwing::detail::trace::*",
    "lapwing::detail::team::TeamState::*",
    "lapwing::detail::team::HostWaits::*",
    "lapwing::detail::window::HostCall::*",
    "lapwing::detail::pipeline::fit_overlap*",
]

# Which of the compiler's own tables of a class programs refer to.
TABLES = ["vtable for", "VTT for", "construction vtable for", "typeinfo for", "typeinfo name for", "guard variable for", "TLS init function for", "TLS wrapper function for"]


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", "", text, flags=re.DOTALL)


def declared(text):
    """Pairs of namespace and name: what a header declares in namespaces, but not in classes."""
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)
    namespaces, statement, found = [], "", set()
    depth = 0  # of braces that are no namespace's
    for sign in text:
        if sign == "{":
            opened = re.search(r"\bnamespace\s+([\w:]*)\s*$", statement)
            if depth == 0 and (opened or re.search(r'extern\s*$', statement)):
                namespaces.append(opened[1] if opened else "")
                statement = ""
                continue
            depth += 1
        elif sign == "}" and depth == 0 and namespaces:
            namespaces.pop()
            statement = ""
            continue
        elif sign == "}":
            depth -= 1
        if depth > 0:
            continue
        if sign not in ";}":
            statement += sign
            continue
        # A class, then a function, then a variable.
        inside = "::".join(one for one in namespaces if one)
        flat = re.sub(r"\[\[.*?\]\]|\brequires\s*\(.*?\)|\b__attribute__\s*\(\(.*?\)\)", " ", statement, flags=re.DOTALL)
        while re.search(r"<[^<>]*>", flat):
            flat = re.sub(r"<[^<>]*>", " ", flat)
        if found_class := re.search(r"\b(?:class|struct|union)\s+(?:alignas\([^)]*\)\s*)?(\w+)", flat):
            found.add((inside, found_class[1]))
        elif found_function := re.search(r"\b(operator\b|\w+)[^\w(]*\(", flat):
            found.add((inside, found_function[1]))
        elif found_variable := re.search(r"\b(\w+)\s*(?:=[^=]*|\[[^\]]*\])?$", flat.strip()):
            if not re.match(r"\s*(using|typedef|enum)\b", flat):
                found.add((inside, found_variable[1]))
        if sign == "}" and not re.search(r"\b(?:class|struct|union|enum)\b|=", flat):
            statement = ""
        elif sign == ";":
            statement = ""
    return found


def written(pattern):
    """As the linker reads it: in quotes a name as it is; in others blanks and brackets are signs that anything matches."""
    return re.sub(r"[ (<\[]", "?", pattern) if pattern.endswith("*") else f'"{pattern}"'


def main():
    include, version, output = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    names = set()
    for header in sorted(include.glob("lapwing/**/*")):
        if header.suffix in (".h", ".hpp"):
            names |= declared(without_comments(header.read_text()))
    patterns = set()
    for namespace, name in names:
        if not namespace.startswith("lapwing"):
            continue
        full = f"{namespace}::{name}"
        if name == "operator":
            patterns.add(f"{full}*")
            continue
        patterns |= {full, f"{full}::*", f"{full}(*", f"{full}<*", f"{full}[*"}
        patterns |= {f"{table} {full}" for table in TABLES} | {f"{table} {full}<*" for table in TABLES} | {f"{table} {full}::*" for table in TABLES}
        patterns |= {f"non-virtual thunk to {full}::*", f"virtual thunk to {full}::*"}
    node = f"LAPWING_{version}"
    lines = [f"{node}_PRIVATE {{", "    global:", '        extern "C++" {']
    lines += [f"            {pattern};" for pattern in PRIVATE]
    lines += [f"            {written(f'{table} {pattern}')};" for table in TABLES for pattern in PRIVATE]
    lines += ["        };", "};", f"{node} {{", "    global:", "        lapwing_*;", '        extern "C++" {']
    lines += [f"            {written(pattern)};" for pattern in sorted(patterns)]
    lines += ["        };", "    local:", "        *;", "};", ""]
    output.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines)
    # Not touched where it says the same: a comment in a header links nothing anew.
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
