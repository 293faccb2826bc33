"""One rank ends with an exception that nobody catches: the others must not wait for it for ever, and nor must it for them."""

import atexit
import os
import sys


def checked():  # after lapwing's own function, which was registered later
    if not all_closed():
        print("a runtime is open at the end")
        sys.stdout.flush()
        os._exit(3)


atexit.register(checked)
import lapwing  # noqa: E402


def all_closed():
    return not lapwing._runtime._runtimes


runtime = lapwing.runtime()
a, b = lapwing.ones(10), lapwing.Window(16)
view = a.local
if sys.argv[1:] == ["fail"] and runtime.rank == runtime.size - 1:
    raise KeyError("this exception is wanted")
if sys.argv[1:] == ["fail"]:
    try:
        while True:
            runtime.barrier()
    except lapwing.PeerLeftError as error:
        print(f"rank {runtime.rank} was told: {str(error)[:60]}")
        raise
