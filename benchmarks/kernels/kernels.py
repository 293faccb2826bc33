"""The kernels of lapwing-demo in Python, with patches: the same results as those of C++, to the bit. binding_python.py times them."""

import lapwing
import numpy as np


def _inner(own, shape):
    """What of a domain is not at the edges of the array: a range a dimension, or None."""
    inner = [range(max(one.start, 1), min(one.stop, n - 1)) for one, n in zip(own, shape)]
    return inner if all(inner) else None


def _slices(ranges, moved=0, wider=0):
    return tuple(slice(one.start - start - wider, one.stop - start + wider) for one, start in zip(ranges, moved or (0,) * len(ranges)))


def sobel(image, edges, strip=32):
    """The strength of edges; the outermost pixels stay as they are. `strip`: rows at a time, which a processor's cache holds. Collective."""
    for own in edges.domains():
        inner = _inner(own, edges.shape)
        if inner is None:
            continue
        pixels = image[_slices(inner, wider=1)]
        to = edges.local[_slices(inner, [one.start for one in own])]
        for i in range(0, len(to), strip):
            to[i : i + strip] = _strength(pixels[i : i + strip + 2].astype(np.int16))
        del to
    edges.barrier()


def _strength(p):
    # Sums in one direction, and differences of them in the other.
    rows, columns = p[:, :-2] + p[:, 2:], p[:-2] + p[2:]
    for _ in range(2):
        rows += p[:, 1:-1]
        columns += p[1:-1]
    down, across = np.subtract(rows[2:], rows[:-2], dtype=np.float32), np.subtract(columns[:, 2:], columns[:, :-2], dtype=np.float32)
    # All of it is exact below 2^24; a root is that of a square, or far enough from a whole number.
    down *= down
    across *= across
    down += across
    np.sqrt(down, out=down)
    return np.minimum(down, 255, out=down)


def transpose(a, b):
    """b[i, j] = a[j, i]. Collective."""
    for rows, columns in b.domains():
        b.local[...] = a[columns.start : columns.stop, rows.start : rows.stop].T
    b.barrier()


def initial_temperature(n, i, j, k):
    """Of arrays of indices: one face is hot, and a ball."""
    ball = 9 * ((2 * i - n) ** 2 + (2 * j - n) ** 2 + (2 * k - n) ** 2) < n * n
    return np.where(i == 0, 100.0, np.where(ball, 80.0, 0.0))


def heat(now, next, steps, planes=4):
    """`steps` steps of the seven-point stencil from `now`, with `next` as work space: the array that has the result, and the other. `planes`: at a
    time, which a processor's cache holds. Collective."""
    for _ in range(steps):
        for own in next.domains():
            inner = _inner(own, next.shape)
            if inner is None:
                continue
            block = now[_slices(inner, wider=1)]
            to = next.local[_slices(inner, [one.start for one in own])]
            for i in range(0, len(to), planes):
                to[i : i + planes] = _diffused(block[i : i + planes + 2])
            del to
        now.barrier()
        now, next = next, now
    return now, next


def _diffused(block):
    # As one row: neighbours in each direction are a fixed distance apart. What is computed at the edges is left out.
    p, plane, row = block.reshape(-1), block[0].size, block.shape[2]
    here = slice(plane, len(p) - plane)

    def beside(distance):
        return p[here.start + distance : here.stop + distance]

    new, sums = beside(-plane) + beside(plane), beside(-row) + beside(row)
    new += sums
    new += np.add(beside(-1), beside(1), out=sums)
    new -= np.multiply(p[here], 6.0, out=sums)
    new *= 0.15
    new += p[here]
    return new.reshape(-1, *block.shape[1:])[:, 1:-1, 1:-1]


class Products:
    """Products of a sparse matrix in compressed rows with x, of which the rank's own rows are kept."""

    def __init__(self, row_start, column, value, x):
        own = x.domains()
        rows = own[0][0] if own else range(0)
        entries = slice(row_start[rows.start], row_start[rows.stop])
        self._row = np.repeat(np.arange(len(rows)), np.diff(row_start)[rows.start : rows.stop])
        self._column, self._value, self._rows = column[entries], value[entries], len(rows)

    def __call__(self, x):
        """A x for the rank's own rows; x must be complete."""
        products = x[...].take(self._column)
        products *= self._value
        # Adds them in their order.
        return np.bincount(self._row, products, self._rows)


def power_iteration(products, x, iterations):
    """x = A x / |A x|, in the maximum norm; how much each product has grown. Collective."""
    own, growth = x.local, []
    for _ in range(iterations):
        y = products(x)
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
