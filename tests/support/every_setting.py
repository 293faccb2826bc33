#!/usr/bin/env python3
"""Runs a command with every setting that lapwing-info lists in its environment, at its default value.

  every_setting.py LAPWING-INFO COMMAND…

The command must succeed, and print that it knows as many settings as lapwing-info, in which the whole library is linked.
"""

import json
import os
import subprocess
import sys


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    described = subprocess.run([sys.argv[1], "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    settings = json.loads(described)["settings"]
    environment = dict(os.environ)
    environment.update({setting["name"]: setting["default"] for setting in settings})
    run = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    sys.stdout.write(run.stdout)
    if run.returncode != 0:
        print(f"every_setting: exit code {run.returncode}")
        return 1
    expected = f"{len(settings)} settings known"
    if not settings or expected not in run.stdout:
        print(f"every_setting: the output has no line '{expected}'")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
