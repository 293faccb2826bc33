"""The kernels of lapwing-demo in Python: the same results as those of C++, to the bit."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lapwing

KERNELS = Path(__file__).resolve().parents[3] / "benchmarks/kernels"
CUBE, STEPS, PRODUCTS = 13, 4, 15


@pytest.fixture
def kernels(monkeypatch):
    monkeypatch.syspath_prepend(str(KERNELS))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import kernels

    return kernels


@pytest.fixture
def reference(rt, folder):
    """What C++ computes, and what it has read."""
    program = os.environ.get("TEST_KERNELS_REFERENCE")
    if not program:
        pytest.skip("the benchmarks are not built, to which the kernels in C++ belong")
    picture, matrix = f"{folder}/picture.pgm", f"{folder}/matrix.mtx"
    if rt.rank == 0:
        pixels = (np.arange(27 * 19) ** 2 * 37 % 256).astype(np.uint8)
        Path(picture).write_bytes(b"P5\n19 27\n255\n" + pixels.tobytes())
        entries = [(i, j, (-1 if i % 5 == 0 else 1) / (3 * i + j + 1)) for i in range(40) for j in range(i % 3, 40, 1 + i % 7)]
        lines = [f"{i + 1} {j + 1} {value!r}" for i, j, value in entries]
        Path(matrix).write_text("\n".join(["%%MatrixMarket matrix coordinate real general", f"40 40 {len(lines)}", *lines, ""]))
        subprocess.run([program, picture, matrix, str(CUBE), str(STEPS), str(PRODUCTS), folder], check=True)
    rt.barrier()
    yield lambda name, dtype: np.fromfile(f"{folder}/{name}", dtype), picture, matrix
    rt.barrier()


def test_sobel(rt, kernels, reference):
    expected, picture, _ = reference
    pixels = kernels.read_pgm(picture)
    image = lapwing.from_numpy(pixels, lapwing.Block(grid=(0, 1)))
    edges = lapwing.zeros(pixels.shape, np.uint8, lapwing.Block(grid=(0, 1)))
    kernels.sobel(image, edges)
    assert edges[...].tobytes() == expected("edges", np.uint8).tobytes()


def test_transpose(rt, kernels):
    a = lapwing.from_numpy(1 / (1 + np.arange(9 * 14.0).reshape(9, 14)))
    b = lapwing.zeros((14, 9))
    kernels.transpose(a, b)
    assert b[...].tobytes() == np.ascontiguousarray(a[...].T).tobytes()
    rt.barrier()


def test_heat(rt, kernels, reference):
    expected, _, _ = reference
    now, next = (lapwing.fromfunction(lambda i, j, k: kernels.initial_temperature(CUBE, i, j, k), (CUBE,) * 3) for _ in range(2))
    now, next = kernels.heat(now, next, STEPS)
    assert now[...].tobytes() == expected("heat", float).tobytes()


def test_products(rt, kernels, reference):
    expected, _, matrix = reference
    row_start, column, value = kernels.read_matrix(matrix)
    x = kernels.starting_vector(len(row_start) - 1)
    growth = kernels.power_iteration(kernels.Products(row_start, column, value, x), x, PRODUCTS)
    assert np.array(growth).tobytes() == expected("growth", float).tobytes()
    assert x[...].tobytes() == expected("x", float).tobytes()
