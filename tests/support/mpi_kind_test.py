#!/usr/bin/env python3
"""Which MPI src/support/mpi_kind.hpp sees in headers that define no more than what each MPI has of its own.

usage: mpi_kind_test.py SOURCES C++-COMPILER
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCES, COMPILER = Path(sys.argv[1]), sys.argv[2]
HEADER = "src/support/mpi_kind.hpp"
OWN_NAMES = ("MPICH_VERSION", "MPICH_NAME", "MVAPICH2_VERSION", "MVAPICH_VERSION", "I_MPI_VERSION", "CRAY_MPICH_VERSION")


class MpiKind(unittest.TestCase):
    def check(self, expected, *defined):
        with tempfile.TemporaryDirectory() as directory:
            names = "".join(f"#define {name}\n" for name in (*defined, "MPI_VERSION 3"))
            Path(directory, "mpi.h").write_text(names)
            program = Path(directory, "program.cpp")
            program.write_text(
                f'#include "{HEADER}"\nusing namespace lapwing::detail::support;\nstatic_assert(mpi_kind == MpiKind::{expected});\n'
            )
            command = [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{directory}", f"-I{SOURCES}", program]
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(run.returncode, 0, f"{expected} is not seen by {defined}:\n{run.stdout}")

    def test_open_mpi(self):
        self.check("open_mpi", "OPEN_MPI 1")

    def test_mpich(self):
        self.check("mpich", 'MPICH_VERSION "4.2.1"', "MPICH_NAME 4")

    def test_intel_mpi(self):
        self.check("mpich", 'I_MPI_VERSION "2021.13"')

    def test_mvapich_2(self):
        self.check("mpich", 'MVAPICH2_VERSION "2.3.7"')

    def test_mvapich_3(self):
        self.check("mpich", 'MVAPICH_VERSION "3.0"')

    def test_cray_mpich(self):
        self.check("mpich", "CRAY_MPICH_VERSION 8.1.29")

    def test_another(self):
        self.check("other", "MPI_ABI_VERSION 1")

    def test_nothing_else_looks_at_names_of_mpich(self):
        name = re.compile(r"\b(" + "|".join(OWN_NAMES) + r")\b")
        seen = []
        for pattern in ("*.hpp", "*.cpp", "*.h", "*.c", "*.inc", "*.cmake", "CMakeLists.txt"):
            for directory in ("include", "src", "datatype", "window", "cache", "model", "pipeline", "prefetch", "arrays", "upc", "runtime",
                              "bindings", "benchmarks", "tools", "tests", "cmake", "examples"):
                for file in (SOURCES / directory).rglob(pattern):
                    if file != SOURCES / HEADER and name.search(file.read_text(errors="replace")):
                        seen.append(str(file.relative_to(SOURCES)))
        self.assertEqual(seen, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
