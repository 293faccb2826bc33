#!/usr/bin/env python3
"""Lapwing with its libraries as sources in a directory (LAPWING_DEPENDENCIES), as where nothing can be installed: they are taken, compiled
into it, and what is missing is named.

  dependencies_test.py ROOT CMAKE MPI_CXX_COMPILER DIRECTORY

The sources are the installed headers, by links, with one compiled file each of fmt and Highway.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

INSTALLED = Path("/usr/include")
# The directory of the sources, its link, where that leads, a file that is compiled and its text.
LIBRARIES = {
    "boost": ("boost_1_83_0", "boost", "boost", None, ""),
    "xxhash": ("xxHash-0.8.3", "xxhash.h", "xxhash.h", None, ""),
    "fmt": ("fmt-10.1.1", "include/fmt", "fmt", "src/format.cc", "#include <fmt/format.h>\nint compiled_fmt = 1;\n"),
    "hwy": ("highway-1.2.0", "hwy", "hwy", "hwy/targets.cc", "int compiled_hwy = 1;\n"),
    "cli11": ("CLI11-2.4.1", "include/CLI", "CLI", None, ""),
    "json": ("json-3.11.3", "include/nlohmann", "nlohmann", None, ""),
}
# What uses fmt, Highway, xxHash, Boost's containers.
COMPILED = ("src/support/assert.cpp", "src/kernels/kernel_set.cpp")


def unpack(directory, names):
    for name in names:
        where, link, leads_to, compiled, text = LIBRARIES[name]
        path = directory / where / link
        path.parent.mkdir(parents=True, exist_ok=True)
        if compiled is not None and path == (directory / where / compiled).parent:
            shutil.copytree(INSTALLED / leads_to, path)
        else:
            path.symlink_to(INSTALLED / leads_to)
        if compiled is not None:
            (directory / where / compiled).parent.mkdir(exist_ok=True)
            (directory / where / compiled).write_text(text)


def main():
    root, cmake, mpi, work = Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4])
    shutil.rmtree(work, ignore_errors=True)
    sources, build = work / "sources", work / "build"
    sources.mkdir(parents=True)
    # Nothing of these libraries is found as installed.
    hidden = dict(os.environ, PKG_CONFIG_LIBDIR=str(work), PKG_CONFIG_PATH="")
    switches = [f"-DLAPWING_BUILD_{part}=OFF" for part in ("TESTS", "BENCHMARKS", "EXAMPLES", "C")]

    def configure(dependencies):
        return subprocess.run(
            [cmake, "-S", root, "-B", build, "-G", "Ninja", f"-DMPI_CXX_COMPILER={mpi}", f"-DLAPWING_DEPENDENCIES={dependencies}",
             "-DLAPWING_PRECOMPILE_HEADERS=OFF", "-DLAPWING_UNITY_BUILD=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_BUILD_TYPE=Debug", *switches],
            env=hidden, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    wrong = []

    def expect(result, ends_well, *expected):
        said = re.sub(r"\s+", " ", result.stdout)
        if (result.returncode == 0) != ends_well or any(not re.search(text, said) for text in expected):
            wrong.append(f"expected {'no ' if ends_well else ''}error and {expected}:\n{result.stdout}")

    expect(configure(work / "nothing"), False, "must be system, fetch, or a directory with the sources of libraries")
    unpack(sources, [name for name in LIBRARIES if name != "hwy"])
    expect(configure(sources), False, f"hwy is missing: libhwy 1.0 or later .* no {re.escape(str(sources))}/highway\\* or .* has hwy/targets.cc",
           "-DLAPWING_DEPENDENCIES=fetch")  # fmt: skip
    unpack(sources, ["hwy"])
    found = configure(sources)
    expect(found, True, *(f"{name} is taken from {re.escape(str(sources / LIBRARIES[name][0]))}" for name in LIBRARIES))
    if found.returncode == 0:
        commands = {Path(entry["file"]): entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())}
        for name, (where, _, _, compiled, _) in LIBRARIES.items():
            if compiled is not None and sources / where / compiled not in commands:
                wrong.append(f"{name}: {compiled} is not compiled")
        for source in COMPILED:
            command = commands.get(root / source, "")
            if str(sources) not in command:
                wrong.append(f"{source} is compiled without the sources of {sources}: {command}")
        objects = [f"CMakeFiles/lapwing.dir/{source}.o" for source in COMPILED]
        built = subprocess.run([cmake, "--build", build, "--target", *objects, "lapwing_fmt", "lapwing_hwy"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        expect(built, True)
    for text in wrong:
        print(text)
    shutil.rmtree(work)
    return 1 if wrong else 0


sys.exit(main())
