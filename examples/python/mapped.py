"""The largest eigenvalue of a sparse matrix: each rank multiplies its rows with a vector that is spread over all ranks."""

import numpy as np

import lapwing

n = 2000
x = lapwing.ones(n, name="x")
(own,) = x.local_indices

# This rank's rows: 2 on the diagonal, and 1 in three other columns. A matrix of scipy.sparse does as well: y = matrix @ whole.
columns = np.stack([own - 1, own, own + 1, own * 7 % n], axis=1)
values = np.where(columns == own[:, np.newaxis], 2.0, 1.0) * ((columns >= 0) & (columns < n))
columns = columns.clip(0, n - 1)

# [mapped]
whole = x.mapped()  # everything; patterns name less
for _ in range(200):
    y = (values * whole[columns]).sum(axis=1)
    norm = np.sqrt(lapwing.runtime().sum(float(y @ y)))
    x.local[:] = y / norm
    lapwing.barrier()
    whole.refresh()  # what the others have written
# [end]
if lapwing.rank() == 0:
    print(f"largest eigenvalue: {norm:.4f}")
