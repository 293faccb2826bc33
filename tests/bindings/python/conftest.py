"""Under mpirun every rank runs the same tests. One that fails on a rank ends all of them: the others would wait for it."""

import os
import sys

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0"))
        sys.__stderr__.write(f"\nrank {rank}: {report.nodeid} failed in {report.when}:\n{report.longreprtext}\n")
        sys.__stderr__.flush()
        os._exit(1)


@pytest.fixture
def rt():
    import lapwing

    return lapwing.runtime()


@pytest.fixture
def folder(rt, request):
    """A directory of all ranks, which exists until the test's end."""
    import shutil
    import tempfile

    import numpy as np

    name = np.zeros(256, np.uint8)
    if rt.rank == 0:
        made = tempfile.mkdtemp(prefix="lapwing-python-").encode()
        name[: len(made)] = np.frombuffer(made, np.uint8)
    path = bytes(rt.broadcast(name)).rstrip(b"\0").decode()
    yield path
    rt.barrier()
    if rt.rank == 0:
        shutil.rmtree(path)
