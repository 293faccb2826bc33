"""Examples in docstrings and in examples/python: they run, and say what they should."""

import doctest
import importlib
import os
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import lapwing

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/python"


@pytest.mark.parametrize("name", ["", "._runtime", "._distribution", "._array", "._slice", "._window", "._layout", "._plan", "._halo", "._prefetch", "._mapped", "._types", "._functions"])
def test_docstrings(rt, name):
    result = doctest.testmod(importlib.import_module(f"lapwing{name}"))
    rt.barrier()
    assert result.failed == 0 and (result.attempted > 0 or name in ("._slice", "._plan"))


def test_hello(rt, capsys):
    runpy.run_path(str(EXAMPLES / "hello.py"))
    assert capsys.readouterr().out == (f"{rt.size} ranks: a[999] is 499.5, the sum {249750.0 + rt.size}\n" if rt.rank == 0 else "")


def test_functions(rt, capsys):
    definitions, program = (EXAMPLES / "functions.py").read_text().split('if __name__ == "__main__":')
    main = vars(sys.modules["__main__"])
    exec(definitions, main)
    rt.barrier()  # in a program runtime() comes after the definitions
    exec(f"if True:{program}", main)
    assert capsys.readouterr().out == (f"{2 * rt.size} whales, and {[100 * rt.size] * 3} were counted\n" if rt.rank == 0 else "")


def test_mapped(rt, capsys):
    runpy.run_path(str(EXAMPLES / "mapped.py"))
    assert capsys.readouterr().out == ("largest eigenvalue: 5.0023\n" if rt.rank == 0 else "")


def test_mandelbrot(rt, folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["mandelbrot.py", f"{folder}/picture.ppm"])
    runpy.run_path(str(EXAMPLES / "mandelbrot.py"))
    rt.barrier()
    picture = Path(f"{folder}/picture.ppm").read_bytes()
    assert picture.startswith(b"P6\n240 160\n255\n") and len(picture) == 15 + 240 * 160 * 3 and len(set(picture[15:])) > 20
    rt.barrier()


def heat():
    """One rank's own result, in plain NumPy."""
    u = np.zeros((24, 24))
    u[0] = 100
    for _ in range(20):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        u = new
    return u


@pytest.mark.parametrize("program", ["heat.py", "heat_mpi4py.py"])
def test_heat(rt, folder, monkeypatch, program):
    if program == "heat_mpi4py.py" and os.environ.get("TEST_MPI4PY") != lapwing.mpi:
        pytest.skip("mpi4py is not there, or built for another MPI")
    monkeypatch.setattr(sys, "argv", [program, f"{folder}/heat.npy"])
    runpy.run_path(str(EXAMPLES / program))
    rt.barrier()
    assert np.load(f"{folder}/heat.npy").tobytes() == heat().tobytes()
    rt.barrier()
