#!/usr/bin/env python3
"""Checks that no static object of the library ends before the program's own, or begins after them.

  static_objects.py NM OBJDUMP ARCHIVE

The program's static objects may be runtimes. So nothing in the library has a static destructor (a call of __cxa_atexit), and
constructors of static objects have a priority (a section .init_array.N).
"""

import re
import subprocess
import sys


def objects_with(lines, pattern):
    """The names of the archive's members in whose part of a listing a line matches."""
    found, member = set(), "?"
    for line in lines:
        if header := re.match(r"(\S+\.o)(?:bj)?:", line):
            member = header.group(1)
        elif re.search(pattern, line):
            found.add(member)
    return found


def main():
    nm, objdump, archive = sys.argv[1:]
    symbols = subprocess.run([nm, archive], capture_output=True, text=True, check=True).stdout.splitlines()
    sections = subprocess.run([objdump, "-h", archive], capture_output=True, text=True, check=True).stdout.splitlines()
    failed = False
    for member in sorted(objects_with(symbols, r"\bU __cxa_atexit$")):
        failed = True
        print(f"{member}: a static object is destroyed at exit, while the program's may still need it: static auto& x = *new T;")
    for member in sorted(objects_with(sections, r"\s\.(init_array|ctors)\s")):
        failed = True
        print(f"{member}: a static object may be made after the program's: [[gnu::init_priority(support::before_programs)]]")
    if not objects_with(sections, r"\s\.text"):
        failed = True
        print(f"{archive}: no object in it")
    return failed


if __name__ == "__main__":
    sys.exit(main())
