"""The heat equation on a square, rows over the ranks: heat_mpi4py.py with Lapwing.

    mpirun -n 4 python3 heat.py [FILE [n steps]]      the result into FILE, for numpy.load
"""

import sys
import time

import numpy as np

import lapwing

rank, size = lapwing.rank(), lapwing.size()
n, steps = (int(number) for number in sys.argv[2:4] or (24, 20))

# [setup]
a = lapwing.fromfunction(lambda i, j: np.where((i + 0 * j) == 0, 100.0, 0.0), (n, n), distribution=lapwing.Block(grid=(0, 1)), halo=1)
rows = a.local_indices[0]
first, last = (rows[0], rows[-1] + 1) if len(rows) else (n, n)
# [end]

seconds = -time.perf_counter()
with a.halo(1) as halo:
    for _ in range(steps):
        # [exchange]
        halo.exchange()
        u = halo.array[:, 1:-1]
        # [end]
        if len(rows):
            lo = 2 if first == 0 else 1
            hi = -2 if last == n else -1
            # [step]
            a.local[lo - 1 : hi + 1 or None, 1:-1] = u[lo:hi, 1:-1] + 0.1 * (
                u[lo - 1 : hi - 1, 1:-1] + u[lo + 1 : hi + 1 or None, 1:-1] + u[lo:hi, :-2] + u[lo:hi, 2:] - 4 * u[lo:hi, 1:-1]
            )
            # [end]
seconds += time.perf_counter()

# [result]
lapwing.barrier()
whole = a[...]
# [end]
if rank == 0:
    print(f"{seconds:.3f} s")
    if len(sys.argv) > 1:
        np.save(sys.argv[1], whole)
