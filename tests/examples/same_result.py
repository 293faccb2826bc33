#!/usr/bin/env python3
"""Two programs print the same first line, which has their results.

  same_result.py PROGRAM PROGRAM LAUNCHER [argument of the launcher…]
"""

import subprocess
import sys


def main():
    programs, launcher = sys.argv[1:3], sys.argv[3:]
    results = []
    for program in programs:
        # The smallest that has several rows a rank: small plates take few steps.
        said = subprocess.run([*launcher, program, "90", "20"], capture_output=True, text=True)
        if said.returncode != 0 or "steps: " not in said.stdout:
            print(f"{program} ended with exit code {said.returncode}:\n{said.stdout}{said.stderr}")
            return 1
        results.append(said.stdout.splitlines()[0])
    if results[0] != results[1]:
        print(*results, sep="\n")
        return 1
    return 0


sys.exit(main())
