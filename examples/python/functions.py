"""Work that goes to the data: functions that run at other ranks, by their names.

mpirun -n 4 python3 functions.py
"""

# [program]
import numpy as np

import lapwing

words = {}  # of this rank


def count(word):
    words[word] = words.get(word, 0) + 1


def count_of(word):
    return words.get(word, 0)


if __name__ == "__main__":
    runtime = lapwing.runtime()

    def owner(word):
        return sum(word.encode()) % runtime.size

    for word in ("whale", "sea", "whale"):
        runtime.post(owner(word), count, word)
    runtime.barrier()  # all have been counted
    whales = runtime.call(owner("whale"), count_of, "whale").get()

    # Many small accesses to arrays, hundreds in a message.
    counts = lapwing.zeros(10, np.int64)
    with runtime.aggregator() as aggregator:
        aggregator.add(counts, np.arange(1000) * 7 % 10, 1)
        runtime.barrier()
        found = aggregator.get(counts, [0, 3, 9])
        aggregator.flush()  # the values are here

    if runtime.rank == 0:
        print(f"{whales} whales, and {found.tolist()} were counted")
    assert whales == 2 * runtime.size and (found == 100 * runtime.size).all()
    runtime.barrier()
# [end]
