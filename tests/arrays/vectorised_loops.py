#!/usr/bin/env python3
"""Checks that loops over mapped arrays, and forall, are vectorised as loops over plain memory are.

  vectorised_loops.py OBJDUMP OBJECT

OBJECT is vectorised_loops.cpp, compiled with -O3. A loop is vectorised if its function multiplies several numbers by one instruction.
"""

import re
import subprocess
import sys

PACKED = {"x86-64": r"\bv?mulpd\b|\bv?addpd\b", "aarch64": r"\bf(mul|add)\s+v\d+\.2d"}


def main():
    objdump, object_file = sys.argv[1:]
    listing = subprocess.run([objdump, "-d", "--no-show-raw-insn", object_file], capture_output=True, text=True, check=True).stdout
    packed = PACKED["aarch64" if "aarch64" in listing[:300] else "x86-64"]
    functions = {}
    for part in re.split(r"\n(?=[0-9a-f]+ <)", listing):
        if header := re.match(r"[0-9a-f]+ <(\w+)>:", part):
            # Whichever function the loop of forall has become part of.
            name = "forall_loop" if "forall" in header.group(1) else header.group(1)
            functions[name] = functions.get(name, 0) + len(re.findall(packed, part))
    print({name: count for name, count in functions.items() if "_" in name and not name.startswith("_")})
    if not functions.get("plain_loop"):
        print("plain_loop is not vectorised, or not there: nothing to compare with")
        return 1
    wrong = [one for one in ("mapped_loop", "mapped_row", "mapped_pointer", "forall_loop") if functions.get(one, 0) < functions["plain_loop"]]
    for one in wrong:
        print(f"{one} has fewer packed instructions than plain_loop")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
