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
    lines = ["lapwing trace 4", f"ranks {ranks}", f"nodes {ranks}", "network_path service", "mpi M", "profile ", "setting LAPWING_CACHE=off"]
    for rank in range(ranks):
        owner = (rank + 1) % ranks
        lines += [f"rank {rank} ns=1000", "file 0 bytes=1 changed=1 path=/p", "object 1 kind=window number=1 bytes=800 team=runtime name=a at -",
                  "interval 0 times=1 barriers=0 ns=1000 at -", "site ab at 0+10",
                  "access thread=0 object=1 site=ab interval=0 way=element operation=read affinity=far calls=16 accesses=16 bytes=128 "
                  "program_calls=16 timed=1 timed_ns=10 runs=1 longest_run=128 lowest=0 highest=128 owner_changes=0 "
                  f"owners=others:0,{owner}:16 parts={owner}:0-128 strides=others:0,8:15 within=cold:1,sequential:0,0:15 over=cold:1,sequential:0,0:15"]
    return "\n".join(lines) + "\n"


def profile(vector="1e-4", coalesce="1e-4"):
    """A network on which a single read takes 100 us while all ranks read, a page of 1 KiB 1 us longer, and a hit in the cache 10 ns."""
    lines = ["lapwing-profile 4", "machine = M", "mpi = M", "network = N", "copy.cache_bytes = 1000000"]
    lines += [f"copy.{key} = 1e-9" for key in ("call", "offset", "list", "line_near", "line_far")]
    lines += [f"copy.block.{length} = 1e-9" for length in (1, 2, 4, 8, 12, 16, 24, 32, 64, 128, 512, 1024, 4096, 65536)]
    for direction in ("put", "get"):
        lines += [f"transfer.service.{direction}.overlap = 0", f"transfer.service.{direction}.aggregation = 0 0 0",
                  f"transfer.service.{direction}.piece.0 = 0 9e-6 9e-6 0 1e-9 0 0 0 0"]
    for operation in ("read", "write"):
        lines += [f"rate.own.{operation} = 1 2e-9", f"rate.service.cached.hit.{operation} = 1 1e-8",
                  f"rate.service.cached.baseline.{operation} = 1 1e-6"]
        lines += [f"rate.service.{pattern}.{operation} = 1 {rate}" for pattern, rate in (("baseline", "1e-4"), ("vector", vector), ("coalesce", coalesce))]
    lines += ["rate.private.read = 1 1e-9", "rate.service.barrier = 2 1e-5"]
    text = "\n".join(lines) + "\n"
    return text + sealed(text)[len(text):].replace("checksum ", "checksum = ")


def predictions(advise, directory):
    """What --describe predicts without and with a cache, by each source of its hit rate."""
    measured, program, trace, counters = (Path(directory, name) for name in ("profile", "program", "hits.trace", "counters"))
    measured.write_text(profile())
    text = "threads 2\nobject a elements=128000 block=indefinite home=1\ninterval i barriers=0\nreference r read a count=100000 affinity=home walk=unit{}\n"
    program.write_text(text.format(""))
    predict = [advise, "--describe", program, "--profile", measured]
    expect("predicted: 10 s", run(*predict))
    # What the network exploits of a walk is found in its rates.
    for rates, pattern, seconds in ((("1e-4", "1e-4"), "baseline", "10 s"), (("1e-5", "1e-4"), "vector", "1 s"), (("2e-4", "5e-5"), "coalesce", "5 s")):
        measured.write_text(profile(*rates))
        expect(rf"remote ones as {pattern}\n.*predicted: {seconds}", run(*predict))
    measured.write_text(profile())
    # Of 782 pages first a line is fetched, and then all.
    expect(r"2048 KiB with pages of 1024 bytes.*simulated on the description.*98.4 % hits.*predicted: 158 ms", run(*predict, "--cached", "--cache-read-ahead", "0"))
    expect(r"pages of 4096 bytes.*99.6 % hits.*predicted: 41 ms", run(*predict, "--cached", "--cache-page", "4k", "--cache-read-ahead", "0"))
    counted = '{{"ranks": 2, "cache_hits": 7, "cache_misses": {}, "cache_passed": {}, "read_ahead_issued": 0}}\n'
    counters.write_text(counted.format(25000, 0))
    expect(r"counted in .*75.0 % hits.*predicted: 2.51 s", run(*predict, "--cached", "--hits", counters, "--cache-read-ahead", "0"))
    counters.write_text(counted.format(0, 10000))
    expect(r"90.0 % hits.*10.0 % bypass it.*predicted: 1 s", run(*predict, "--cached", "--hits", counters))
    counters.write_text(counted.format(200000, 0))
    expect(r"200000 reads that missed the cache, and the description has 100000", run(*predict, "--cached", "--hits", counters, code=1))
    trace.write_text(sealed(ring(2))) # of each page's accesses 15 of 16 are hits
    expect(r"simulated on .*93.8 % hits.*predicted: 632 ms", run(*predict, "--cached", "--hits", trace, "--cache-read-ahead", "0"))
    program.write_text(text.format(" hits=0.5"))
    expect("hits= count with --cached only.*predicted: 10 s", run(*predict))
    expect(r"50.0 % hits.*predicted: 5.05 s", run(*predict, "--cached"))
    # Thread 0 takes longer in the first interval, thread 1 in the second; G is 1e5 for a remote read, and 2 for an own one.
    both = "threads 2\nsequential 5000000\nobject a elements=10 block=indefinite home={}\nobject b elements=10 block=indefinite home={}\n"
    both += "interval i\nreference r read a count=100 affinity=home\ninterval k\nreference s read b count=90 affinity=home\n"
    program.write_text(both.format(1, 0))
    expect(r"predicted: 10 ms \(thread 0\)\ncritical path: 19 ms \(thread 0 in i, thread 1 in k\)\n$", run(*predict))
    expect(r"speed-up: 0.526 \(5.0 million accesses of the sequential program; those of a thread take as long as 9.5e\+06 private ones\)",
           run(*predict, "--speed-up"))
    program.write_text(both.format(1, 1))
    output = run(*predict)
    expect(r"predicted: 19 ms", output)
    assert "critical path" not in output, output
    # Barriers were measured with two ranks.
    expect(r"measured with up to 2 ranks; for 64 threads they are extrapolated", run(*predict, "--threads", "64"))
    assert "extrapolated" not in run(*predict), output
    expect("--speed-up requires --describe", run(advise, "--speed-up", trace, code=2))
    # Platforms: what they are good at, and on which one a program is fastest.
    other = Path(directory, "other")
    other.write_text(profile(vector="1e-5"))
    expect(r"high latency, access patterns not exploited \(type 1\).*gather single accesses.*G: 1e\+05 at random places, 1e\+05 at small distances, "
           r"1e\+05 in order, 2 for own elements.*access patterns exploited \(type 2\).*in order",
           run(advise, "--platform", measured, other))
    program.write_text(text.format(""))
    expect(rf"on the fastest first:\n    {other}: 1 s\n    {measured}: 10 s\n$", run(advise, "--platform", measured, other, "--describe", program))
    expect("no rates of single accesses on the path rma", run(advise, "--platform", measured, "--path", "rma", code=1))
    # A recorded run: each rank reads 16 elements of the other one, in order.
    trace.write_text(sealed(ring(2)))
    expect(r"the start: 1 times 1.6 ms \(communication 1.6 ms.*recorded 1 us in all\npredicted: 1.6 ms \(rank 0\)", run(advise, "--predict", "--profile", measured, trace))
    expect(r"predicted: 160 us", run(advise, "--predict", "--profile", other, trace))
    expect("a prediction needs measured rates", run(advise, "--predict", trace, code=1))
    # With the computation: an interval of 2 ms on private memory.
    private = Path(directory, "private.trace")
    intervals = "".join(line + "\n" for line in ring(2).splitlines() if not line.startswith(("object", "site", "access")))
    private.write_text(sealed(intervals.replace("ns=1000", "ns=2000000").replace("mpi M", "mpi M\nsetting LAPWING_PRIVATE=on")))
    predict_all = [advise, "--predict", "--profile", measured, trace, "--computation"]
    expect(r"computation 2 ms.*predicted: 3.6 ms \(rank 0\)\n$", run(*predict_all, private))
    expect(f"{trace} is not the trace of a run on private memory", run(*predict_all, trace, code=1))
    expect("is of a run on private memory.*--predict TRACE --computation", run(advise, private, code=1))
    expect("--computation requires --predict", run(advise, trace, "--computation", private, code=2))
    # What has no answer.
    expect("direct are never cached", run(*predict, "--cached", "--path", "direct", code=1))
    expect("no rates of cached accesses, on the path rma", run(*predict, "--cached", "--path", "rma", code=1))
    expect("power of two", run(*predict, "--cached", "--cache-page", "1000", code=1))
    expect("neither a trace nor statistics", run(*predict, "--cached", "--hits", program, code=1))
    expect("--hits requires --cached", run(*predict, "--hits", counters, code=2))
    expect("--loggp excludes --cached", run(*predict, "--cached", "--loggp", "5,1,2,1", code=2))
    expect("--cached requires --describe", run(advise, "--cached", trace, code=2))


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
        expect(r"\"vector\": announce before the loop.*\"vector\": map the array before the loop.*a\.mapped\(lapwing::AllToAll\{\}\)", text)
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
        # So do they share a bar.
        expect(r"<title>ranks 995 to 999, the slowest of them rank 995: 1 us in the interval after", page.read_text())
        assert page.read_text().count(" in the interval after ") == 200, page.read_text().count(" in the interval after ")
        # Times are extrapolated from the calls that were timed, here to 1.6 us of a run of 1 us.
        many.write_text(sealed(ring(2).replace("timed_ns=10 ", "timed_ns=100 ")))
        expect("; rank 0 spends about all of 1 us there", run(advise, many))
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
        program = Path(directory, "described")
        program.write_text("threads 2\nobject a elements=10\ninterval i\nreference r read a count=5\n")
        expect("needs measured rates", run(advise, "--describe", program, code=1))
        predictions(advise, directory)


if __name__ == "__main__":
    main()
