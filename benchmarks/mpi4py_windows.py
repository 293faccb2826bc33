#!/usr/bin/env python3
"""raw/mpi4py: patches by mpi4py's windows, in processes that Lapwing is not in. scripts/bench starts it.

  mpi4py_windows.py --mpi NAME run BENCH --json FILE --network NAME [--repetitions N] [--seconds S] [other options: ignored]
"""

import argparse
import json
import statistics
import time

import numpy as np


def seconds(comm, step, end, iterations):
    """Rank 0 measures, and the others wait."""
    comm.Barrier()
    start = time.perf_counter()
    if comm.rank == 0:
        for _ in range(iterations):
            step()
        end()
    took = time.perf_counter() - start
    comm.Barrier()
    return comm.bcast(took)


def steps(MPI, window, buffer, target):
    """A get and a put of a buffer, complete locally after each as a[patch] is, and what completes them at the target."""

    def get():
        window.Get([buffer, MPI.DOUBLE], target)
        window.Flush_local(target)

    def put():
        window.Put([buffer, MPI.DOUBLE], target)
        window.Flush_local(target)

    return get, put, lambda: window.Flush(target)


def measure(options, MPI):
    comm, buffer = MPI.COMM_WORLD, np.zeros((256, 512))
    target = comm.size - 1
    window = MPI.Win.Allocate(buffer.nbytes, 1, comm=comm)
    window.Lock_all()

    get, put, end = steps(MPI, window, buffer, target)
    rows = []
    for case, step in (("get patch 1 MiB", get), ("put patch 1 MiB", put)):
        count = max(1, int(10 * options.seconds / seconds(comm, step, end, 10)))
        values = [1e-9 * buffer.nbytes * count / seconds(comm, step, end, count) for _ in range(options.repetitions)]
        rows.append({
            "bench": options.bench, "case": case, "mpi": options.mpi, "network": options.network, "path": "service", "ranks": comm.size,
            "metric": "bandwidth", "unit": "GB/s", "value": statistics.median(values), "min": min(values), "max": max(values),
            "repetitions": len(values), "baseline": "", "baseline_value": None, "ratio": None,
        })  # fmt: skip
    window.Unlock_all()
    window.Free()
    return rows if comm.rank == 0 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", required=True)
    parser.add_argument("command", choices=["run"])
    parser.add_argument("bench")
    parser.add_argument("--json")
    parser.add_argument("--network", default="shm")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.1)
    options, _ = parser.parse_known_args()
    reason = ""
    try:
        import mpi4py

        mpi4py.rc.thread_level = "single"  # with which Open MPI has windows over TCP
        from mpi4py import MPI

        if ("Open MPI" in MPI.Get_library_version()) != (options.mpi == "openmpi"):
            reason = "mpi4py is built for another MPI"
    except ImportError as error:
        reason = str(error)
    if reason:
        print(f"{options.bench}: left out: {reason}")
    rows = [] if reason else measure(options, MPI)
    if rows is not None and options.json:
        with open(options.json, "w") as file:
            json.dump({"machine": {}, "rows": rows}, file)


if __name__ == "__main__":
    main()
