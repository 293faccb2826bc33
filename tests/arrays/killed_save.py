#!/usr/bin/env python3
"""A save that is killed in the middle leaves the file that was there.

usage: killed_save.py PROGRAM LAUNCHER ARGUMENT...   the launcher and its arguments start PROGRAM
"""
import os
import subprocess
import sys
import tempfile


def main():
    program, *launcher = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "checkpoint")

        def run(what):
            return subprocess.run([*launcher, program, what, path], capture_output=True, text=True, timeout=100)

        saved = run("save")
        if saved.returncode != 0:
            sys.exit(f"the first save failed:\n{saved.stdout}{saved.stderr}")
        if run("die").returncode == 0:
            sys.exit("the save that should have been killed was not")
        if not os.path.exists(path + ".partial"):
            sys.exit("the save was killed before it had written anything: the test shows nothing")
        verified = run("verify")
        if "the file is whole" not in verified.stdout:
            sys.exit(f"the file is not what it was:\n{verified.stdout}{verified.stderr}")


main()
