#!/usr/bin/env python3
"""What lapwing-tune --rates measures: for how many accesses, and that what needs no message takes far less than what does.

  tune_test.py COMMAND…     lapwing-tune on two ranks of different nodes, path service
"""

import re
import subprocess
import sys


def main():
    run = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print(run.stdout)
    if run.returncode != 0:
        raise SystemExit(f"exit code {run.returncode}")
    curves = {}
    for line in run.stdout.splitlines():
        if found := re.match(r"  ([a-z_]+(?:\.[a-z_]+)+) +(\d+: .*)$", line):
            curves[found[1]] = {int(n): float(us) for n, us in re.findall(r"(\d+): (\S+)", found[2])}
    wrong = []

    def check(condition, text):
        if not condition:
            wrong.append(text)

    patterns = [f"service.{cached}{pattern}.{operation}" for cached in ("", "cached.", "mupc.") for pattern in ("baseline", "vector", "coalesce")
                for operation in ("read", "write")]
    for key in [*patterns, "own.read", "own.write", "own.dealt.read", "own.dealt.write", "service.cached.passed.read", "service.cached.passed.write", "private.read", "private.vector.read", "service.list.read", "service.list.write", "service.bulk.read",
                "service.bulk.write", "service.update", "service.atomic"]:
        points = list(curves.get(key, {}))
        fewest = 16 if key.startswith(("own.", "private.")) else 1
        check(points and points == [fewest * 4**k for k in range(len(points))], f"{key} is measured for {points} accesses, not for {fewest}, {4 * fewest}, …")
        check(all(time > 0 for time in curves.get(key, {}).values()), f"{key} takes no time: {curves.get(key)}")
    # Until a run takes too long, which those of own memory never do.
    for key in ("own.read", "own.write", "own.dealt.read", "own.dealt.write", "private.read"):
        check(16384 in curves.get(key, {}), f"{key} ends at {max(curves.get(key, {0: 0}))}")
    for key, counts in {"service.barrier": {2}, "service.sum": {2}, "service.broadcast": {2}, "service.lock": {1, 2}, "service.one_owner.read": {1},
                        "service.notify": {1}}.items():
        check(set(curves.get(key, {})) == counts, f"{key} is measured for {set(curves.get(key, {}))}, not for {counts}")
    if not wrong:
        message = min(curves["service.baseline.read"].values())
        for key in ("own.read", "own.write", "private.read", "own.dealt.read", *(f"service.cached.hit{layout}.{operation}" for layout in ("", ".dealt") for operation in ("read", "write"))):
            # A message takes thousands of times as long.
            check(min(curves[key].values()) < message / 10, f"{key} takes {curves[key]} us, and a read by a message {message}")
        check(min(curves["service.one_owner.read"].values()) > message / 10, "reads of one owner are no messages")
        check(min(curves["service.atomic"].values()) > message / 10, "atomics with a result are no messages")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
