#!/usr/bin/env python3
"""Runs a command that must succeed, or fail in a certain way, and print what is expected.

  expect_output.py --expect REGEX [--refuse REGEX] [--exit-code N] -- COMMAND…

CTest's PASS_REGULAR_EXPRESSION takes the place of the exit code: a program that prints its line and then crashes passes. Here
the command's exit code counts (it becomes that of this script), and then its output and error output, in which `.` matches
ends of lines too.
"""

import argparse
import re
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expect", required=True, metavar="REGEX", help="must match somewhere")
    parser.add_argument("--refuse", metavar="REGEX", help="must not match anywhere")
    parser.add_argument("--exit-code", type=int, default=0, metavar="N", help="what the command must end with (default: 0)")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()

    run = subprocess.run(arguments.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    sys.stdout.write(run.stdout)
    if run.returncode != arguments.exit_code:
        print(f"expect_output: exit code {run.returncode}, not {arguments.exit_code}")
        # Of a signal it is negative; as the shell has it.
        return (run.returncode if run.returncode > 0 else 128 - run.returncode) or 1
    if not re.search(arguments.expect, run.stdout, re.DOTALL):
        print(f"expect_output: nothing in the output matches '{arguments.expect}'")
        return 1
    if arguments.refuse and re.search(arguments.refuse, run.stdout, re.DOTALL):
        print(f"expect_output: the output has what it must not, '{arguments.refuse}'")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
