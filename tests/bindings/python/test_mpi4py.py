"""Communicators, windows, datatypes and requests of mpi4py, where it is there and built for the same MPI; and what is said where it is not."""

import os

import numpy as np
import pytest

import lapwing
from lapwing import _library


def test_which_module_is_chosen():
    choose = _library._choose
    assert choose({"openmpi", "mpich"}, "mpich", None, "openmpi") == "mpich" and choose({"openmpi", "mpich"}, None, "openmpi", "mpich") == "openmpi"
    assert choose({"openmpi", "mpich"}, None, None, "mpich") == "mpich" and choose({"mpich"}, None, None, None) == "mpich"
    for arguments, text in (
        (({"mpich"}, None, "openmpi", "mpich"), "mpi4py, which is imported already, is built for Open MPI, and this package of lapwing for MPICH"),
        (({"mpich"}, "openmpi", None, None), "PYTHON_LAPWING_MPI"), (({"openmpi", "mpich"}, "mpich", "openmpi", None), "two MPIs"),
        (({"mpich"}, None, None, "openmpi"), "mpirun of MPICH"),
    ):  # fmt: skip
        with pytest.raises(ImportError, match=text):
            choose(*arguments)


def test_a_mismatch_says_so():
    class Other:
        @staticmethod
        def Get_library_version():
            return "Open MPI v9.9" if lapwing.mpi == "mpich" else "MPICH Version: 9.9"

    with pytest.raises(lapwing.UsageError, match="mpi4py is built for .* and lapwing works with"):
        lapwing._runtime.same_mpi(Other)


@pytest.fixture
def MPI(rt):
    # Of another MPI it must not be imported into this process at all: Debian's is built for Open MPI.
    if os.environ.get("TEST_MPI4PY") != lapwing.mpi:
        pytest.skip("mpi4py is not there, or built for another MPI")
    from mpi4py import MPI

    return MPI


def test_communicators(rt, MPI):
    half = MPI.COMM_WORLD.Split(rt.rank % 2, rt.rank)
    with lapwing.Runtime(half) as part:
        assert (part.rank, part.size) == (half.rank, half.size)
        with lapwing.ones(6, runtime=part) as a:
            assert a.sum() == 6 and a.runtime is part
    half.Free()
    with pytest.raises(lapwing.Error):
        lapwing.Runtime(MPI.COMM_NULL)


def test_a_rank_that_leaves(rt, MPI):
    if rt.size == 1:
        pytest.skip("one rank")
    other = lapwing.Runtime(MPI.COMM_WORLD)
    a, w = lapwing.ones(4, runtime=other), lapwing.Window(8, runtime=other)
    if rt.rank == 0:
        w.leave()
        other.leave()
        assert other.closed and a.closed
    else:
        with pytest.raises(lapwing.PeerLeftError):
            while True:
                other.barrier()
        a.leave()
        other.leave()
    rt.barrier()


def test_windows_datatypes_requests(rt, MPI):
    theirs = MPI.Win.Allocate(64, 8, comm=MPI.COMM_WORLD)
    theirs.Lock_all()
    with lapwing.Window.adopt(theirs, locked=True) as w:
        w.put((rt.rank + 1) % rt.size, 0, np.full(2, 5.0))
        rt.barrier()
        assert w.get(rt.rank, 0, 2).tolist() == [5, 5]
        vector = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
        w.put_mpi(np.arange(4.0), 1, vector, rt.rank, 1, 2, MPI.DOUBLE)
        assert w.get_mpi(np.zeros(3), 1, vector, rt.rank, 1, 2, MPI.DOUBLE).tolist() == [0, 0, 2]
        with pytest.raises(lapwing.RangeError):
            w.put_mpi(np.arange(2.0), 1, vector, rt.rank, 0)
        assert lapwing.Layout.from_mpi(vector) == lapwing.Layout.strided(2, 8, 16)
        back = lapwing.Layout.strided(2, 8, 16).to_mpi()
        assert back.Get_size() == 16
        back.Free()
        vector.Free()
        rt.barrier()
    theirs.Unlock_all()
    theirs.Free()
    assert rt.all_reduce(np.full(3, rt.rank + 1), MPI.LONG, MPI.MAX).tolist() == [rt.size] * 3
    value = np.empty(1)
    requests = [MPI.COMM_WORLD.Irecv(value, (rt.rank - 1) % rt.size), MPI.COMM_WORLD.Isend(np.full(1, rt.rank, float), (rt.rank + 1) % rt.size)]
    for request in requests:
        rt.wait_request(request)
    assert value[0] == (rt.rank - 1) % rt.size
    with pytest.raises(TypeError):
        rt.wait_request(None)
