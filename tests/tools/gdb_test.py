#!/usr/bin/env python3
"""What gdb prints of arrays, elements, domains: packaging/gdb/lapwing_gdb.py on gdb_program.cpp.

  gdb_test.py PRINTERS PROGRAM
"""

import shutil
import subprocess
import sys

EXPECTED = {
    "print a": 'array "a" of 3 x 4, own part [0, 3) x [0, 4) = {0, 0, 0, 0, 0, 0, 1.5, 0, 0, 0, 0, 0}',
    "print element": '(1, 2) of array "a", own: 1.5',
    "print closed": "closed array",
    "print domain": "[1, 3) x [0, 3) by 2",
    "print rank": "rank 7",
    "print c_array": "array of 1 dimensions, 8 bytes an element; near are [10, 16) = {2.5, 2.5, 2.5, 2.5, 2.5, ...}",
    "print (lapwing_array*) 0": "no array",
}


def main():
    printers, program = sys.argv[1:]
    if shutil.which("gdb") is None:
        print("not run: gdb is missing")
        return 77
    commands = ["set confirm off", "set pagination off", "set debuginfod enabled off", f"source {printers}", "break stop_here", "run", "up"]
    commands += [*EXPECTED, "kill"]
    said = subprocess.run(["gdb", "-nx", "-batch", *[word for command in commands for word in ("-ex", command)], program], capture_output=True, text=True, timeout=50)
    # gdb says "$1 = ".
    lines = [line.partition(" = ")[2] for line in said.stdout.splitlines() if line.startswith("$")]
    wrong = [f"{command}: {line}\n    expected: {expected}" for (command, expected), line in zip(EXPECTED.items(), lines) if line.strip() != expected]
    if len(lines) != len(EXPECTED) or wrong:
        print("\n".join(wrong), said.stdout[-3000:], said.stderr[-3000:], sep="\n")
        return 1
    return 0


sys.exit(main())
