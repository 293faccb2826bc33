import lapwing

runtime = lapwing.runtime()  # starts MPI if it is not running

# A thousand numbers, a block for each rank; a rank's own elements are a NumPy array.
a = lapwing.zeros(1000)
(own,) = a.local_indices
a.local[:] = 0.5 * own
runtime.barrier()  # from here on all ranks see what was written before

# Any element, whoever owns it, and a patch of them in one transfer.
row = a[990:1000]
a.fetch_add(0, 1.0)
runtime.barrier()

total = a.sum()
if runtime.rank == 0:
    print(f"{runtime.size} ranks: a[999] is {row[9]}, the sum {total}")
