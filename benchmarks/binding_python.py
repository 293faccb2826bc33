#!/usr/bin/env python3
"""binding/python: patches and elements from Python, beside the C interface, NumPy and mpi4py's windows in one run. scripts/bench starts it.

  binding_python.py run binding/python --json FILE --network NAME [--repetitions N] [--seconds S] [other options: ignored]

The kernels of the demo are compared with those in C++, of the module that PYTHON_LAPWING_KERNELS names.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import time
from pathlib import Path

import lapwing
import mpi4py_windows
import numpy as np
from lapwing._library import ffi, lib

ROWS = COLUMNS = 512


class Bench:
    """Rank 0 measures, and the others wait in a barrier, or make the same collective steps."""

    def __init__(self, options, runtime):
        self.options, self.runtime, self.rows, self.collective = options, runtime, [], False

    def seconds(self, step, iterations, end=None):
        """`end` completes what the steps have completed locally alone: release(), unless the baseline has its own."""
        self.runtime.barrier()
        took = 0.0
        if self.runtime.rank == 0 or self.collective:
            start = time.perf_counter()
            for _ in range(iterations):
                step()
            (end or self.runtime.release)()
            took = time.perf_counter() - start
        self.runtime.barrier()
        return took / iterations

    def iterations(self, step, end=None):
        """How often `step` runs in the time of a measurement: the same on all ranks."""
        count = 1
        while True:
            took = np.array([self.seconds(step, count, end) * count])
            self.runtime.broadcast(took, 0)
            if took[0] >= self.options.seconds / 4 or count >= 1 << 22:
                return max(1, int(count * self.options.seconds / max(took[0], 1e-9)))
            count *= 4

    def compare(self, case, path, quantity, value, baselines):
        """`quantity`: metric, unit, and what a row shows of seconds. `baselines`: names, steps, and what ends a run of them."""
        metric, unit, number = quantity
        subjects = [("Python", value), *baselines]
        counts = [self.iterations(*one[1:]) for one in subjects]
        turns = []
        for turn in range(self.options.repetitions):
            order = range(len(subjects)) if turn % 2 == 0 else reversed(range(len(subjects)))
            took = {k: self.seconds(subjects[k][1], counts[k], *subjects[k][2:]) for k in order}
            turns.append([took[k] for k in range(len(subjects))])
        if self.runtime.rank != 0:
            return
        values = [number(one[0]) for one in turns]
        common = {
            "bench": "binding/python", "mpi": lapwing.mpi, "network": self.options.network, "path": path, "ranks": self.runtime.size, "metric": metric,
            "value": statistics.median(values), "unit": unit, "min": min(values), "max": max(values), "repetitions": len(turns),
        }  # fmt: skip
        if not baselines:
            self.rows.append({**common, "case": case, "baseline": "", "baseline_value": None, "ratio": None})
        for k, (name, *_) in enumerate(baselines, 1):
            row = {**common, "case": case if k == 1 else f"{case}, {name}", "baseline": name}
            row["baseline_value"] = statistics.median(number(one[k]) for one in turns)
            row["ratio"] = statistics.median(one[k] / one[0] for one in turns)
            self.rows.append(row)


class Kernels:
    """The kernels in C++, by the interface of benchmarks/kernels/languages.h."""

    SOBEL, TRANSPOSE, HEAT, PRODUCT = range(4)

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.lapwing_cpp_start()

    def baseline(self, kernel, shape, values=None):
        """A step of a kernel on arrays that are made here."""
        pointer = None if values is None else values if isinstance(values, ctypes._Pointer) else values.ctypes.data_as(ctypes.c_void_p)
        self.library.lapwing_cpp_make(kernel, (ctypes.c_int64 * len(shape))(*shape), pointer)
        growth = (ctypes.c_double * 1)()
        return [("C++", lambda: self.library.lapwing_cpp_run(kernel, ctypes.c_int64(1), growth))]

    def end(self):
        self.library.lapwing_cpp_end()


class Rows(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_int64), ("row_start", ctypes.c_void_p), ("column", ctypes.c_void_p), ("value", ctypes.c_void_p)]


def measure_kernels(bench, runtime):
    """On the inputs of binding/kernels."""
    root = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(root / "benchmarks/kernels"))
    sys.dont_write_bytecode = True
    import kernels

    path = os.environ.get("PYTHON_LAPWING_KERNELS", "")
    if not os.path.exists(path):
        if runtime.rank == 0:
            print("binding/python: left out: kernels, which are compared with those of the target lapwing-kernels-module")
        return
    cpp, bench.collective = Kernels(path), True
    by_rows, path = lapwing.Block(grid=(0, 1)), runtime.path(runtime.size - 1)
    milliseconds = ("time", "ms", lambda seconds: 1e3 * seconds)
    pixels = kernels.read_pgm(root / "data/hubble-deep-field.pgm")
    image, edges = lapwing.from_numpy(pixels, by_rows), lapwing.zeros(pixels.shape, np.uint8, by_rows)
    bench.compare("sobel", path, milliseconds, lambda: kernels.sobel(image, edges), cpp.baseline(cpp.SOBEL, pixels.shape, pixels))
    cpp.end()
    matrix = np.arange(65536.0).reshape(256, 256)
    a, b = lapwing.from_numpy(matrix, by_rows), lapwing.zeros((256, 256), distribution=by_rows)
    bench.compare("transpose", path, milliseconds, lambda: kernels.transpose(a, b), cpp.baseline(cpp.TRANSPOSE, a.shape, matrix))
    cpp.end()
    now, next = (lapwing.fromfunction(lambda i, j, k: kernels.initial_temperature(64, i, j, k), (64, 64, 64)) for _ in range(2))
    bench.compare("heat", path, milliseconds, lambda: kernels.heat(now, next, 1), cpp.baseline(cpp.HEAT, now.shape))
    cpp.end()
    row_start, column, value = kernels.read_matrix(root / "data/qh1484.mtx")
    rows = Rows(len(row_start) - 1, row_start.ctypes.data, column.ctypes.data, value.ctypes.data)
    x = kernels.starting_vector(rows.rows)
    products = kernels.Products(row_start, column, value, x)
    bench.compare(
        "product", path, milliseconds, lambda: kernels.power_iteration(products, x, 1),
        cpp.baseline(cpp.PRODUCT, x.shape, ctypes.pointer(rows)),
    )  # fmt: skip
    cpp.end()
    cpp.library.lapwing_cpp_finish()


def mpi4py_window(nbytes, network, path):
    """A window of mpi4py's, where it is built for the same MPI, windows work, and use the network; else the reason."""
    if (network, path) == ("tcp", "service"):
        return None, None, "mpi4py's windows would be in shared memory; the rows with the baseline alone have them"
    try:
        import mpi4py

        mpi4py.rc.initialize = mpi4py.rc.finalize = False
        from mpi4py import MPI

        if ("Open MPI" in MPI.Get_library_version()) != (lapwing.mpi == "openmpi"):
            return None, None, "mpi4py is built for another MPI"
        window = MPI.Win.Allocate(nbytes, 1, comm=MPI.COMM_WORLD)
        window.Lock_all()
        return MPI, window, ""
    except Exception as error:  # mpi4py has exceptions of its own
        return None, None, f"mpi4py has no window here: {error}"


def measure(options):
    runtime = lapwing.runtime()
    bench = Bench(options, runtime)
    a = lapwing.ones((ROWS * runtime.size, COLUMNS), distribution=lapwing.Block(grid=(0, 1)))
    target = runtime.size - 1
    path, first = runtime.path((runtime.rank + 1) % runtime.size), target * ROWS  # the same on all ranks
    buffer = np.zeros((256, COLUMNS))
    ranges = ffi.new("lapwing_range[2]", [(first, 256, 1), (0, COLUMNS, 1)])
    memory, handle = ffi.from_buffer(buffer), a._handle
    patch = (slice(first, first + 256), slice(None))
    bandwidth = ("bandwidth", "GB/s", lambda seconds: buffer.nbytes * 1e-9 / seconds)
    each = ("time", "ns", lambda seconds: 1e9 * seconds)
    get_baselines = [("C", lambda: lib.lapwing_array_get(handle, ranges, memory, ffi.NULL))]
    put_baselines = [("C", lambda: lib.lapwing_array_put(handle, ranges, memory, ffi.NULL))]
    if options.value_only:
        get_baselines, put_baselines, MPI, window, reason = [], [], None, None, "only values are asked for"
    else:
        MPI, window, reason = mpi4py_window(buffer.nbytes, options.network, path)
    if window is not None:
        get_by_mpi4py, put_by_mpi4py, end = mpi4py_windows.steps(MPI, window, buffer, target)
        get_baselines.append(("mpi4py", get_by_mpi4py, end))
        put_baselines.append(("mpi4py", put_by_mpi4py, end))
    elif runtime.rank == 0 and not options.value_only:
        print(f"binding/python: left out: {reason}")
    bench.compare("get patch 1 MiB", path, bandwidth, lambda: a.get(patch, out=buffer), get_baselines)

    def put():
        a[patch] = buffer

    bench.compare("put patch 1 MiB", path, bandwidth, put, put_baselines)
    if options.value_only:
        return bench.rows if runtime.rank == 0 else None
    vector = lapwing.fromfunction(lambda i: i, (4096 * runtime.size,))
    matrix = np.arange(16.0 * vector.size).reshape(16, -1)
    bench.compare(
        "matrix @ vector.mapped", path, ("time", "us", lambda seconds: 1e6 * seconds), lambda: matrix @ vector.mapped,
        [("matrix @ vector[:]", lambda: matrix @ vector[:])],
    )  # fmt: skip
    bench.compare("read own element", "self", each, lambda: a[3, 5], [])
    bench.compare("read element", path, each, lambda: a[first, 5], [])
    if window is not None:
        window.Unlock_all()
        window.Free()
    a.close()
    measure_kernels(bench, runtime)
    return bench.rows if runtime.rank == 0 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run"])
    parser.add_argument("bench")
    parser.add_argument("--json")
    parser.add_argument("--network", default="shm")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--value-only", action="store_true", help="patches alone, without baselines")
    options, _ = parser.parse_known_args()
    rows = measure(options)
    if rows is not None and options.json:
        with open(options.json, "w") as file:
            json.dump({"machine": {}, "rows": rows}, file)
    if rows is not None:
        for row in rows:
            ratio = "" if row["ratio"] is None else f", {row['ratio']:.2f} times {row['baseline']}"
            print(f"{row['case']}, path {row['path']}: {row['value']:.4g} {row['unit']}{ratio}")


main()
