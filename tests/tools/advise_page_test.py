#!/usr/bin/env python3
"""The page of lapwing-advise for 100 ranks: what it says, that it is small, and that a browser shows it, on a large screen and on a small one.

usage: advise_page_test.py ADVISE DIRECTORY     the page is left there; without a browser it is not opened
"""

import re
import subprocess
import sys
from pathlib import Path

from advise_test import run, sealed

RANKS = 100
PROGRAM = "/a/home/of/somebody/with/a/long/name/and/a/project/that/has/directories/build/release/bin/simulation_of_something"
PLACES = 12


def access(number, site, interval, calls, owners, others="", cold=4):
    """Reads of single elements, in a row, of some owners' parts."""
    each = calls // max(1, len(owners))
    named = "".join(f",{owner}:{each}" for owner in owners[:8])
    parts = ",".join(f"{owner}:0-{8 * each}" for owner in owners[:8])
    unnamed = calls if others else 0
    return (f"access thread=0 object={number} site={site} interval={interval} way=element operation=read affinity=far calls={calls} accesses={calls} "
            f"bytes={8 * calls} program_calls={calls} timed=16 timed_ns=400000 runs={len(owners)} longest_run={8 * each} lowest=0 highest={8 * each} "
            f"owner_changes=0 owners=others:{unnamed}{'' if others else named} parts={'' if others else parts} strides=others:0,8:{calls - 1} "
            f"within=cold:{cold},sequential:0,0:{calls - cold} over=cold:{cold},sequential:0,0:{calls - cold}{others}")


def trace():
    """A stencil's neighbours, a table that all read, and a counter of rank 0. Every other rank has its intervals in another order, and later
    ranks take longer."""
    lines = ["lapwing trace 4", f"ranks {RANKS}", f"nodes {RANKS}", "network_path service", "mpi M", "profile ", "setting LAPWING_CACHE=off"]
    for rank in range(RANKS):
        order = list(range(PLACES)) if rank % 2 == 0 else list(reversed(range(PLACES)))
        number = {place: k for k, place in enumerate(order)}
        lines += [f"rank {rank} ns={PLACES * (PLACES + 1) // 2 * (1000000 + 5000 * rank)}", f"file 0 bytes=1 changed=1 path={PROGRAM}"]
        for k, name in enumerate(("plate", "table", "counter")):
            lines.append(f"object {k + 1} kind=window number={k + 1} bytes=80000 team=runtime name={name} at -")
        for place in order:
            lines.append(f"interval {number[place]} times=40 barriers=40 ns={(place + 1) * (1000000 + 5000 * rank)} at 0+{256 + place:x}")
        lines += [f"site {site} at 0+{offset}" for site, offset in (("ab", 10), ("cd", 20), ("ef", 30), ("12", 40))]
        if rank > 0:
            lines.append(access(1, "ab", number[3], 1000, [rank - 1]))
        if rank < RANKS - 1:
            lines.append(access(1, "cd", number[3], 1000, [rank + 1]))
        lines.append(access(2, "ef", number[5], 99 * 40, [owner for owner in range(RANKS) if owner != rank], f" distinct_owners={RANKS - 1}"))
        if rank > 0:
            lines.append(access(3, "12", number[7], 500, [0]))
    return sealed("\n".join(lines) + "\n")


def main():
    advise, directory = sys.argv[1], Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    recorded, page = directory / "trace", directory / "index.html"
    recorded.write_text(trace())
    run(advise, "--all", "--html", page, recorded)
    text = page.read_text()

    def expect(pattern, text):
        if not re.search(pattern, text):
            raise SystemExit(f"'{pattern}' is missing in {page}")

    # The place that takes longest is the same one on ranks that have numbered it otherwise: the first bar of each.
    longest = f"{256 + PLACES - 1 - 1:x}"  # the call is before the address to which it returns
    for rank in (0, 1, RANKS - 1):
        expect(rf'x=60.00 [^>]*><title>rank {rank}: [0-9.]+ ms in the interval after [^<]*{longest}</title>', text)
    expect(rf"<ul class=legend><li>[^\n]*{longest}</code>: 15 ms on average, 17.9 ms on rank 99, which is there longest", text)
    expect(r"after 5 other places", text)
    # All read from all, though a record has room for eight of them.
    expect(r"<title>rank 0 to each of ranks 1 to 99: 40 accesses</title>", text)
    expect(r"<title>rank 50 to rank 49: 1000 accesses</title>", text)
    expect(r"<title>rank 99 to rank 0: 500 accesses</title>", text)
    assert len(text) < 500_000, len(text)
    # One change for both neighbours.
    assert len(re.findall(r"&quot;plate&quot;: read rows", text)) == 1, page
    opened = subprocess.run([sys.executable, Path(__file__).parent.parent / "docs" / "browser_test.py", directory], stdout=subprocess.PIPE, text=True)
    print(opened.stdout, end="")
    if opened.returncode not in (0, 77):
        raise SystemExit(f"a browser finds faults in {page}")


if __name__ == "__main__":
    main()
