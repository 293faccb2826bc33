#!/usr/bin/env python3
"""The C interface is that of the last release, or has more; and what programs that are compiled already would stumble over is found.

  abi_test.py ROOT MPI
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# What is changed in a copy of the headers: header, what, by what; whether programs must be compiled again.
CHANGES = {
    "a member of another type": ("layout.h", "int64_t first;", "int32_t first;", True),
    "an argument more": ("window.h", "int lapwing_window_flush(lapwing_window* window, int rank);", "int lapwing_window_flush(lapwing_window* window, int rank, int all);", True),
    "another value of a constant": ("window.h", "LAPWING_MIN = 4", "LAPWING_MIN = 9", True),
    "a function less": ("window.h", "int lapwing_window_fence(lapwing_window* window);", "", True),
    "a function more": ("window.h", "int lapwing_window_fence(lapwing_window* window);", "int lapwing_window_fence(lapwing_window* window);\nint lapwing_window_more(int rank);", False),
}  # fmt: skip


def main():
    root, mpi = Path(sys.argv[1]), sys.argv[2]
    run = lambda *options: subprocess.run([root / "scripts/abi", "--mpi", mpi, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = run()
    print(said.stdout)
    if said.returncode != 0:
        return said.returncode
    wrong = 0
    for what, (file, old, new, breaks) in CHANGES.items():
        with tempfile.TemporaryDirectory() as name:
            headers = Path(name) / "include"
            shutil.copytree(root / "include", headers)
            path = headers / "lapwing/c" / file
            text = path.read_text()
            assert re.search(re.escape(old), text), f"{file} has no {old!r}: change the test"
            path.write_text(text.replace(old, new))
            said = run("--headers", headers)
            if said.returncode != (1 if breaks else 0):
                print(f"{what}: exit code {said.returncode}\n{said.stdout}")
                wrong = 1
    return wrong


sys.exit(main())
