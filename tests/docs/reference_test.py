#!/usr/bin/env python3
"""The reference of C, Fortran and Python has every name, with its arguments, and no link of it is broken.

  reference_test.py ROOT
"""

import ast
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def make(root, site):
    return subprocess.run([sys.executable, root / "cmake/reference_pages.py", root, "1.2.3", site], capture_output=True, text=True)


def names_of(root):
    """What each page must have: (page, anchor)."""
    found = []
    for path in (root / "include/lapwing/c").glob("*.h"):
        text = re.sub(r"//[^\n]*|/\*.*?\*/|^#(?:[^\n]*\\\n)*[^\n]*", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        found += [("c.html", name) for name in re.findall(r"\b(lapwing_[a-z0-9_]+[a-z0-9])\(", text)]
    thing = None
    for line in (root / "bindings/fortran/description.txt").read_text().splitlines():
        if head := re.match(r"\[(\w+)\](.*)", line):
            thing = head[1]
            found += [("fortran.html", f"{thing}-{ending}") for ending in head[2].split()]
        elif line and not line.startswith("#"):
            found.append(("fortran.html", f"{thing}-{line.split()[0]}"))
    for node in ast.parse((root / "bindings/python/lapwing/__init__.pyi").read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_") and node.name not in ("Shared", "Assignments", "Arithmetic"):
            found.append(("python.html", node.name))
            members = node.body if isinstance(node, ast.ClassDef) else []
            found += [("python.html", f"{node.name}.{one.name}") for one in members if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    found += [("c.html", name) for name in ("lapwing_array_get_double_2", "lapwing_window_put_int32", "lapwing_array_options", "LAPWING_CYCLIC", "LAPWING_BYTES", "LAPWING_ERR_RANGE")]
    found += [("fortran.html", name) for name in ("array-local", "window-memory", "array-local_address", "lapwing_type_of", "lapwing_version")]
    return found


def copy_of(root, directory):
    for part in ("include/lapwing/c", "include/lapwing/detail/counters", "bindings/fortran", "bindings/python", "cmake"):
        shutil.copytree(root / part, directory / part)
    shutil.copy(root / "include/lapwing/lapwing.h", directory / "include/lapwing")


def main():
    root, wrong = Path(sys.argv[1]), []
    with tempfile.TemporaryDirectory() as name:
        site = Path(name) / "site"
        said = make(root, site)
        wrong += said.stderr.splitlines()
        if said.returncode != 0:
            wrong.append(f"reference_pages.py: exit code {said.returncode}")
        pages = {path.name: set(re.findall(r'id="([^"]+)"', path.read_text())) for path in site.glob("*.html")}
        expected = names_of(root)
        wrong += [f"{file} has no {anchor}" for file, anchor in expected if anchor not in pages.get(file, set())]
        if len(expected) < 600:
            wrong.append(f"only {len(expected)} names are found")

        # What is wrong is found: a link of C++'s that leads nowhere, an argument without a meaning, and one of a procedure that is not there.
        (site / "api").mkdir()
        (site / "api/index.html").write_text('<a href="gone.html">gone</a>')
        if (said := make(root, site)).returncode != 1 or "api/index.html: the link to gone.html leads nowhere" not in said.stderr:
            wrong.append(f"a broken link is not found: {said.stderr}")
        other = Path(name) / "root"
        copy_of(root, other)
        meanings = other / "bindings/fortran/arguments.txt"
        meanings.write_text(re.sub(r"^home: .*$", "lock%lose home: nothing", meanings.read_text(), flags=re.MULTILINE))
        said = make(other, Path(name) / "second")
        for text in ("no text for lock%create home", "there is no lock%lose"):
            if said.returncode != 1 or text not in said.stderr:
                wrong.append(f"'{text}' is not found: {said.stderr}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
