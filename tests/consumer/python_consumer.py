"""A Python program outside of Lapwing's build: reads an element that its neighbour wrote, and counts at rank 0."""

import os
import sys

import lapwing

runtime = lapwing.runtime()
a = lapwing.zeros(4 * runtime.size, int)
(own,) = a.local_indices
a.local[:] = own
runtime.barrier()
index = 4 * ((runtime.rank + 1) % runtime.size) + 1
element = a[index]
a.fetch_add(0, 10)
runtime.barrier()
total, elements = a.sum(), a.size
expected = elements * (elements - 1) // 2 + 10 * runtime.size
if element != index or total != expected:
    sys.exit(f"python_consumer: rank {runtime.rank}: element {element} and not {index}, the sum {total} and not {expected}")
# Not a package that happens to be in Python's own path.
if len(sys.argv) > 1 and not os.path.samefile(os.path.dirname(lapwing.__file__), sys.argv[1]):
    sys.exit(f"python_consumer: the package is {lapwing.__file__}, and not in {sys.argv[1]}")
