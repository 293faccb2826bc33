"""The heat equation on a square, rows over the ranks, with mpi4py: the start of the migration in docs/python.md.

    mpirun -n 4 python3 heat_mpi4py.py [FILE [n steps]]      the result into FILE, for numpy.load
"""

import sys
import time

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
n, steps = (int(number) for number in sys.argv[2:4] or (24, 20))

# [setup]
first, last = rank * n // size, (rank + 1) * n // size
u = np.zeros((last - first + 2, n))
u[1:-1] = np.fromfunction(lambda i, j: np.where((first + i) == 0, 100.0, 0.0), (last - first, n))
up = rank - 1 if rank > 0 else MPI.PROC_NULL
down = rank + 1 if rank < size - 1 else MPI.PROC_NULL
# [end]

seconds = -time.perf_counter()
for _ in range(steps):
    # [exchange]
    comm.Sendrecv(u[1], up, 0, u[-1], down, 0)
    comm.Sendrecv(u[-2], down, 1, u[0], up, 1)
    # [end]
    lo = 2 if first == 0 else 1
    hi = -2 if last == n else -1
    # [step]
    new = u.copy()
    new[lo:hi, 1:-1] = u[lo:hi, 1:-1] + 0.1 * (
        u[lo - 1 : hi - 1, 1:-1] + u[lo + 1 : hi + 1 or None, 1:-1] + u[lo:hi, :-2] + u[lo:hi, 2:] - 4 * u[lo:hi, 1:-1]
    )
    u = new
    # [end]
seconds += time.perf_counter()

# [result]
whole = np.concatenate(comm.allgather(u[1:-1]))
# [end]
if rank == 0:
    print(f"{seconds:.3f} s")
    if len(sys.argv) > 1:
        np.save(sys.argv[1], whole)
