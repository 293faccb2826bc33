"""A picture that all ranks compute: rows are dealt in turn, since they take different times. Written as a notebook would be, cell by cell."""

# %% A global array of the counts, row by row to the ranks.
import sys

import numpy as np

import lapwing

height, width = 160, 240
# [deal]
counts = lapwing.zeros((height, width), np.uint8, lapwing.BlockCyclic((1, width), grid=(0, 1)))
rows, columns = np.ix_(*counts.local_indices)
c = (columns / width * 3 - 2.1) + 1j * (rows / height * 2 - 1)
# [end]

# %% Each rank computes its own rows in place.
z, mine = np.zeros(c.shape, complex), np.zeros(c.shape, np.uint8)
for _ in range(60):
    inside = np.abs(z) < 4
    z[inside] = z[inside] ** 2 + c[inside]
    mine += inside
# [own]
counts.local[...] = mine
lapwing.barrier()
# [end]

# %% The picture, by rank 0: a portable pixmap, which every viewer shows.
if lapwing.rank() == 0:
    # [picture]
    whole = counts[...]
    # [end]
    pixels = np.stack([whole * 4, whole * 2, 255 - whole * 4], axis=-1).astype(np.uint8)
    with open(sys.argv[1] if len(sys.argv) > 1 else "mandelbrot.ppm", "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (width, height) + pixels.tobytes())
lapwing.barrier()
