#!/usr/bin/env python3
"""From a naive program to advice: records examples/traced.cpp, and looks at what lapwing-advise makes of it.

  advise_test.py ADVISE SOURCE COMMAND…   COMMAND starts the program
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command, code=0, **environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    if done.returncode != code:
        raise SystemExit(f"{command} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expect(pattern, text):
    if not re.search(pattern, text, re.DOTALL):
        raise SystemExit(f"'{pattern}' is missing in:\n{text}")


def sealed(text):
    checksum = 0xCBF29CE484222325
    for byte in text.encode():
        checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
    return f"{text}checksum {checksum:016x}\n"


def ring(ranks):
    """A trace in which each rank reads 16 elements of the next one."""
    lines = ["lapwing trace 3", f"ranks {ranks}", f"nodes {ranks}", "network_path service", "mpi M", "profile ", "setting LAPWING_CACHE=off"]
    for rank in range(ranks):
        owner = (rank + 1) % ranks
        lines += [f"rank {rank} ns=1000", "file 0 bytes=1 changed=1 path=/p", "object 1 kind=window number=1 bytes=800 team=runtime name=a at -",
                  "interval 0 times=1 ns=1000 at -", "site ab at 0+10",
                  "access thread=0 object=1 site=ab interval=0 way=element operation=read affinity=far calls=16 accesses=16 bytes=128 "
                  "program_calls=16 timed=1 timed_ns=10 runs=1 longest_run=128 lowest=0 highest=128 owner_changes=0 "
                  f"owners=others:0,{owner}:16 parts={owner}:0-128 strides=others:0,8:15 within=cold:1,sequential:0,0:15 over=cold:1,sequential:0,0:15"]
    return "\n".join(lines) + "\n"


def main():
    advise, source, *command = sys.argv[1:]
    line = next(n for n, text in enumerate(Path(source).read_text().splitlines(), 1) if "x(j); //" in text)
    with tempfile.TemporaryDirectory() as directory:
        trace = Path(directory, "trace")
        run(*command, LAPWING_TRACE=str(trace), LAPWING_PROFILE="none")
        text = run(advise, trace)
        expect(r"2 ranks on 2 nodes, path service", text)
        expect(rf"examples/traced.cpp:{line} \(main\) reads \"vector\" one at a time: [^\n]* reads, 50 % of them of other nodes", text)
        expect(r"rates of this MPI.* are not known", text)
        expect(r"\"vector\": cache the elements.*LAPWING_CACHE=", text)
        expect(r"\"vector\": read rows with get\(\)", text)
        found = json.loads(run(advise, "--json", trace))
        reads = [use for use in found["uses"] if use["object"] == "vector" and use["operation"] == "read"]
        # 120 rows of 120 elements, of which half are the other rank's.
        assert sum(use["far"]["calls"] for use in reads) == 120 * 60, reads
        assert all(change["kind"] and change["lines"] for change in found["changes"])
        page = Path(directory, "page.html")
        run(advise, "--html", page, trace)
        expect(r"^<!DOCTYPE html>.*traced.cpp.*<svg.*</html>\s*$", page.read_text())
        # Of many ranks: neighbours share a cell, so that the page does not grow with their square.
        many = Path(directory, "many")
        many.write_text(sealed(ring(1000)))
        run(advise, "--html", page, many)
        expect(r"<title>ranks 0 to 4 to ranks 5 to 9: 16 accesses</title>", page.read_text())
        assert page.read_text().count(" accesses</title>") == 400, page.read_text().count(" accesses</title>")
        # What can be followed without a change, and that it is.
        advice = Path(directory, "advice")
        expect(r"LAPWING_ADVICE=", run(advise, "--advice", advice, trace))
        expect(r'^lapwing advice 1\n.*ranks 2\n.*window name=vector number=\d+ cache=epoch\n.*end\n$', advice.read_text())
        expect(r"y is 2 x.*cache_hits", run(*command, LAPWING_ADVICE=str(advice), LAPWING_STATS="text", LAPWING_PROFILE="none"))
        # Counts by line at the end of a run.
        expect(rf"accesses by line, of 2 ranks.* 50 [^\n]*examples/traced.cpp:{line} \(main\) read of \"vector\" \(element\)",
               run(*command, LAPWING_STATS="lines", LAPWING_PROFILE="none"))
        expect(r"(?=.*0 % of [^\n]* read).*What dominates", run(advise, "--progress", trace))
        # Damaged, foreign and missing.
        damaged = Path(directory, "damaged")
        damaged.write_text(trace.read_text().replace("calls=", "calls=1", 1))
        expect("its checksum is wrong, so it is damaged", run(advise, damaged, code=1))
        expect("it is not a trace of Lapwing", run(advise, source, code=1))
        expect("cannot be read", run(advise, Path(directory, "none"), code=1))
        program = Path(directory, "program")
        program.write_text("threads 2\nobject a elements=10\ninterval i\nreference r read a count=5\n")
        expect("leave one of them out", run(advise, "--describe", program, "--cached", "--loggp", "5,1,2,1", code=1))
        expect("needs measured rates", run(advise, "--describe", program, code=1))


if __name__ == "__main__":
    main()
