"""The kernels of lapwing-demo in Python, with patches: the same results as those of C++, to the bit. binding_python.py times them."""

import lapwing
import numpy as np


def _inner(own, shape):
    """What of a domain is not at the edges of the array: a range a dimension, or None."""
    inner = [range(max(one.start, 1), min(one.stop, n - 1)) for one, n in zip(own, shape)]
    return inner if all(inner) else None


def _slices(ranges, moved=0, wider=0):
    return tuple(slice(one.start - start - wider, one.stop - start + wider) for one, start in zip(ranges, moved or (0,) * len(ranges)))


def sobel(image, edges):
    """The strength of edges; the outermost pixels stay as they are. Collective."""
    for own in edges.domains():
        inner = _inner(own, edges.shape)
        if inner is None:
            continue
        p = image[_slices(inner, wider=1)].astype(np.int16)
        # Sums in one direction, and differences of them in the other.
        rows = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]
        columns = p[:-2] + 2 * p[1:-1] + p[2:]
        down = (rows[2:] - rows[:-2]).astype(np.float32)
        across = (columns[:, 2:] - columns[:, :-2]).astype(np.float32)
        # All of it is exact below 2^24; a root is that of a square, or far enough from a whole number.
        down *= down
        across *= across
        down += across
        np.sqrt(down, out=down)
        np.minimum(down, 255, out=down)
        edges.local[_slices(inner, [one.start for one in own])] = down
    edges.barrier()


def transpose(a, b):
    """b[i, j] = a[j, i]. Collective."""
    for rows, columns in b.domains():
        b.local[...] = a[columns.start : columns.stop, rows.start : rows.stop].T
    b.barrier()


def initial_temperature(n, i, j, k):
    """Of arrays of indices: one face is hot, and a ball."""
    ball = 9 * ((2 * i - n) ** 2 + (2 * j - n) ** 2 + (2 * k - n) ** 2) < n * n
    return np.where(i == 0, 100.0, np.where(ball, 80.0, 0.0))


def heat(now, next, steps):
    """`steps` steps of the seven-point stencil from `now`, with `next` as work space: the array that has the result, and the other. Collective."""
    for _ in range(steps):
        for own in next.domains():
            inner = _inner(own, next.shape)
            if inner is None:
                continue
            p = now[_slices(inner, wider=1)]
            to = next.local[_slices(inner, [one.start for one in own])]
            sums = np.empty(to.shape[1:])
            # A plane at a time: what is between stays in the processor's cache.
            for i in range(len(to)):
                here, new = p[i + 1], to[i]
                np.add(p[i, 1:-1, 1:-1], p[i + 2, 1:-1, 1:-1], out=new)
                np.add(here[:-2, 1:-1], here[2:, 1:-1], out=sums)
                new += sums
                np.add(here[1:-1, :-2], here[1:-1, 2:], out=sums)
                new += sums
                np.multiply(here[1:-1, 1:-1], 6.0, out=sums)
                new -= sums
                new *= 0.15
                new += here[1:-1, 1:-1]
            del to
        now.barrier()
        now, next = next, now
    return now, next


class Products:
    """Products of a sparse matrix in compressed rows with x, of which the rank's own rows are kept."""

    def __init__(self, row_start, column, value, x):
        own = x.domains()
        rows = own[0][0] if own else range(0)
        counts = np.diff(row_start)[rows.start : rows.stop]
        # The k-th entries of all rows that have so many are added at once: each row is summed up in the order of its columns.
        self._order = np.argsort(-counts, kind="stable")
        self._entries, starts = [], np.asarray(row_start)[rows.start : rows.stop][self._order]
        for k in range(int(counts.max()) if len(counts) else 0):
            at = starts[: np.count_nonzero(counts > k)] + k
            self._entries.append((column[at], value[at]))

    def __call__(self, x, y):
        """y = A x for the rank's own rows. x must be complete; y is a NumPy array."""
        whole = x[...]
        sums = np.zeros(len(self._order))
        for column, value in self._entries:
            sums[: len(column)] += value * whole[column]
        y[self._order] = sums


def power_iteration(products, x, iterations):
    """x = A x / |A x|, in the maximum norm; how much each product has grown. Collective."""
    own, growth = x.local, []
    y = np.empty(len(own))
    for _ in range(iterations):
        products(x, y)
        # After it no rank reads the old x any more.
        norm = x.runtime.max(np.array([np.abs(y).max(initial=0)]))[0]
        np.divide(y, norm, out=own)
        x.barrier()
        growth.append(float(norm))
    return growth


def starting_vector(n):
    return lapwing.fromfunction(lambda i: 1.0 / (i + 1), (n,))


def read_pgm(path):
    """A grey-scale picture in binary PGM."""
    with open(path, "rb") as file:
        fields, rest = [], file.read()
    while len(fields) < 4:
        line, rest = rest.split(b"\n", 1)
        fields += line.split(b"#")[0].split()
    columns, rows = int(fields[1]), int(fields[2])
    return np.frombuffer(rest, np.uint8, rows * columns).reshape(rows, columns)


def read_matrix(path):
    """A real matrix of a Matrix Market file, in compressed rows: row_start, column, value."""
    with open(path) as file:
        symmetric = "symmetric" in file.readline()
        lines = [line for line in file if not line.startswith("%") and line.strip()]
    rows = int(lines[0].split()[0])
    entries = [(int(i) - 1, int(j) - 1, float(value)) for i, j, value in (line.split() for line in lines[1:])]
    if symmetric:
        entries += [(j, i, value) for i, j, value in entries if i != j]
    entries.sort(key=lambda one: one[:2])
    row_start = np.zeros(rows + 1, np.int64)
    np.add.at(row_start, [i + 1 for i, _, _ in entries], 1)
    return np.cumsum(row_start), np.array([j for _, j, _ in entries], np.int64), np.array([value for _, _, value in entries])
