#!/usr/bin/env python3
"""Recipes and files for other people's installations say what is true of this project.

  packaging_test.py ROOT
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    root, wrong = Path(sys.argv[1]), []
    cmake = "".join(path.read_text() for path in [root / "CMakeLists.txt", *root.glob("cmake/*.cmake"), *root.glob("*/*/CMakeLists.txt"), *root.glob("*/CMakeLists.txt")])
    known = set(re.findall(r"^\s*(?:option|set)\((\w+)", cmake, re.MULTILINE)) | {"MPI_CXX_COMPILER", "MPI_Fortran_COMPILER", "MPIEXEC_EXECUTABLE", "Python3_EXECUTABLE"}
    version = re.search(r"^ +VERSION ([\d.]+)$", (root / "CMakeLists.txt").read_text(), re.MULTILINE)[1]

    # The recipes are Python, and their options exist.
    spack = (root / "packaging/spack/package.py").read_text()
    compile(spack, "packaging/spack/package.py", "exec")
    easybuilds = list((root / "packaging/easybuild").glob("*.eb"))
    easybuild = "".join(path.read_text() for path in easybuilds)
    values = {"SOURCE_TAR_GZ": "", "SYSTEM": {}, "SHLIB_EXT": "so"}
    exec(compile(easybuild, "packaging/easybuild", "exec"), values)  # noqa: S102
    package = (root / "scripts/package").read_text()
    for file, text, pattern in (("packaging/spack/package.py", spack, r'define(?:_from_variant)?\("(\w+)"'), ("packaging/easybuild", easybuild, r"-D(\w+)="),
                                ("scripts/package", package, r"-D(\w+)=")):
        used = set(re.findall(pattern, text))
        if len(used) < 5:
            wrong.append(f"{file}: only {len(used)} options of CMake are found")
        if "LAPWING_OTF2" not in used:
            wrong.append(f"{file}: whether OTF2 is a dependency is left to the machine; set LAPWING_OTF2")
        wrong += [f"{file}: CMake has no option {name}" for name in sorted(used - known) if not name.startswith("CMAKE_")]
    variants = set(re.findall(r'variant\("(\w+)"', spack))
    for name in re.findall(r'define_from_variant\("\w+", "(\w+)"\)', spack) + re.findall(r'when="[+~](\w+)"', spack):
        if name not in variants:
            wrong.append(f"packaging/spack/package.py: there is no variant {name}")

    # One version everywhere.
    newest = re.findall(r"^## \[(\d[\d.]*)\]", (root / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    versions = {
        "CHANGELOG.md": newest, "CITATION.cff": re.search(r"^version: (\S+)", (root / "CITATION.cff").read_text(), re.MULTILINE)[1],
        "pyproject.toml": re.search(r'^version = "(\S+)"', (root / "pyproject.toml").read_text(), re.MULTILINE)[1],
        "packaging/easybuild": values["version"],
        "bindings/python/lapwing/__init__.py": re.search(r'^__version__ = "(\S+)"', (root / "bindings/python/lapwing/__init__.py").read_text(), re.MULTILINE)[1],
        **{f"include/lapwing/{name}": ".".join(dict(re.findall(r"^#define LAPWING_VERSION_(MAJOR|MINOR|PATCH) (\d+)$", (root / "include/lapwing" / name).read_text(), re.MULTILINE)).values())
           for name in ("c/version.h", "detail/config.hpp")},
        **{f"LAPWING_VERSION_STRING of include/lapwing/{name}": re.search(r'^#define LAPWING_VERSION_STRING "(\S+)"$', (root / "include/lapwing" / name).read_text(), re.MULTILINE)[1]
           for name in ("c/version.h", "detail/config.hpp")},
    }
    wrong += [f"{file} says version {one}, CMakeLists.txt {version}" for file, one in versions.items() if one != version]
    if f'version("{version}"' not in spack:
        wrong.append(f"packaging/spack/package.py has no version {version}")
    wrong += [f"{path.name} is not named for version {version}" for path in easybuilds if f"-{version}-" not in path.name]

    # What CMake 3.25 can pack for Debian and Valgrind can read: a suppression has a name, a kind, and braces of its own.
    text = re.sub(r"^#.*\n", "", (root / "packaging/valgrind/lapwing.supp").read_text(), flags=re.MULTILINE)
    entries = re.findall(r"^\{\n(.*?)^\}\n", text, re.MULTILINE | re.DOTALL)
    if re.sub(r"^\{\n.*?^\}\n", "", text, flags=re.MULTILINE | re.DOTALL).strip() or not entries:
        wrong.append("packaging/valgrind/lapwing.supp: something is outside of braces")
    names = [entry.splitlines()[0].strip() for entry in entries]
    wrong += [f"packaging/valgrind/lapwing.supp: two are named '{name}'" for name in set(names) if names.count(name) > 1]
    wrong += [f"packaging/valgrind/lapwing.supp: '{entry.splitlines()[0].strip()}' has no Memcheck kind" for entry in entries if not re.match(r"\s+[^\n]*\n\s+Memcheck:(Leak|Param|Cond|Value8|Addr\d)\n", entry)]
    # A suppression for any library would hide what a program sends without having written it.
    for entry in entries:
        places = re.findall(r"^\s+(?:obj|fun):(\S+)$", entry, re.MULTILINE)
        if not places or any(re.fullmatch(r"[*?/.]*(lib)?[*?/.]*(so)?[*?.]*", place) for place in places):
            wrong.append(f"packaging/valgrind/lapwing.supp: '{entry.splitlines()[0].strip()}' is for any library")
    wrong += [f"packaging/valgrind/lapwing.supp: '{entry.splitlines()[0].strip()}' names the library" for entry in entries if "lapwing" in entry]

    # The module file, by Tcl with commands that print what they are given.
    if shutil.which("tclsh"):
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "share/modulefiles/lapwing/1.2.3"
            file.parent.mkdir(parents=True)
            values = {"LAPWING_MODULEFILE_TO_PREFIX": "../../../", "CMAKE_INSTALL_LIBDIR": "lib", "CMAKE_INSTALL_BINDIR": "bin", "LAPWING_INSTALL_PYTHONDIR": "lib/python"}
            text = (root / "packaging/modulefile.in").read_text()
            file.write_text(re.sub(r"@(\w+)@", lambda found: values.get(found[1], found[1].lower()), text))
            stubs = "foreach name {module-whatis conflict setenv prepend-path} { proc $name args \"puts \\\"$name \\$args\\\"\" }\n"
            program = Path(name) / "program.tcl"
            program.write_text(f"{stubs}set ModulesCurrentModulefile {file}\nsource {file}\n")
            said = subprocess.run(["tclsh", program], capture_output=True, text=True)
            for line in (f"setenv LAPWING_ROOT {name}", f"prepend-path PATH {name}/bin", f"prepend-path PKG_CONFIG_PATH {name}/lib/pkgconfig", f"prepend-path PYTHONPATH {name}/lib/python"):
                if line not in said.stdout.splitlines():
                    wrong.append(f"packaging/modulefile.in: no '{line}' in {said.stdout}{said.stderr}")
        # What it sets must not be taken for a setting of the library.
        no_settings = re.search(r"bool names_an_installation.*?^}", (root / "src/support/settings.cpp").read_text(), re.MULTILINE | re.DOTALL)[0]
        for variable in re.findall(r"^setenv\s+(LAPWING_\w+)", text, re.MULTILINE):
            if f'"{variable}"' not in no_settings:
                wrong.append(f"packaging/modulefile.in: programs take {variable} for a setting, and end")

    # The version script has the interface and not the inside, and is a script that the linker takes.
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "lapwing.map"
        subprocess.run([sys.executable, root / "cmake/interface_symbols.py", root / "include", "0.1", script], check=True)
        lines = script.read_text()
        public = lines[lines.index("LAPWING_0.1 {"):]
        for symbol in ("lapwing_*", "lapwing::Window::*", "lapwing::detail::arrays::ArrayBase::*", '"typeinfo for lapwing::RangeError"'):
            if symbol not in public:
                wrong.append(f"interface_symbols.py: {symbol} is not exported")
        for symbol in ("lapwing::detail::messages", "lapwing::detail::bindings", "fmt::", "std::"):
            if symbol in public:
                wrong.append(f"interface_symbols.py: {symbol} is exported")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
