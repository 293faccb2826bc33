#!/usr/bin/env python3
"""Times of the heat solvers of docs/porting.md, with messages and with Lapwing, in C, Fortran and Python: alternately, one run after another.

  migration.py [--mpi MPI] [--build DIRECTORY] [-n RANKS] [--network shm|tcp] [--size N] [--steps N] [--rounds N] [language…]

A row a language: the median of what rank 0 measures of its steps, the ratio of the two in a round (above 1: Lapwing is faster), and how many
lines of the program Lapwing replaces by how many, without comments and empty ones. Both must have the same result. The build has the examples
(c_heat, fortran_heat); a language that it lacks, or mpi4py for this MPI, is said to be missing.
"""

import argparse
import difflib
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = {
    "C": ("examples/c/heat_mpi.c", "examples/c/heat.c"),
    "Fortran": ("examples/fortran/heat_mpi.f90", "examples/fortran/heat.f90"),
    "Python": ("examples/python/heat_mpi4py.py", "examples/python/heat.py"),
}


def code_of(source):
    """The lines of a program."""
    text = re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.DOTALL) if source.suffix == ".c" else source.read_text()
    if source.suffix == ".py":
        text = re.sub(r'^""".*?"""', "", text, flags=re.DOTALL)
    comment = {".c": "//", ".f90": "!", ".py": "#"}[source.suffix]
    lines = [re.sub(rf"\s*{comment}.*", "", line).rstrip() for line in text.splitlines()]
    return [line for line in lines if line.strip()]


def changed(before, after):
    """How many lines go, of how many, and how many come."""
    before, after = code_of(ROOT / before), code_of(ROOT / after)
    steps = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(end - begin for kind, begin, end, _, _ in steps if kind != "equal"), len(before), sum(end - begin for kind, _, _, begin, end in steps if kind != "equal")


def python_of(build):
    cache = (build / "CMakeCache.txt").read_text()
    found = re.search(r"^LAPWING_PYTHON_EXECUTABLE:INTERNAL=(.+)$", cache, re.MULTILINE)
    return found[1] if found and re.search(r"^LAPWING_PYTHON_BUILT:INTERNAL=ON$", cache, re.MULTILINE) else None


def command_of(options, language, source):
    """The command, or why there is none."""
    if language != "Python":
        program = options.build / "examples" / f"{language.lower()}_{Path(source).stem}"
        return ([str(program)], None) if program.exists() else (None, f"{program} is not built")
    python = python_of(options.build)
    if python is None:
        return None, "the build has no Python package"
    said = subprocess.run([python, "-c", "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"],
                          capture_output=True, text=True)  # fmt: skip
    if ("Open MPI" if options.mpi == "openmpi" else "MPICH") not in said.stdout:
        return None, "there is no mpi4py for this MPI"
    return [python, str(ROOT / source)], None


def seconds_of(options, language, command):
    """What the program says of itself, and its result."""
    numbers = [str(options.size), str(options.steps)]
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "result.npy"
        arguments = [str(result), *numbers] if language == "Python" else numbers
        launch = [ROOT / "scripts/launch", "--mpi", options.mpi, "--network", options.network, "--support", options.build / "tests/support", "--timeout", "300",
                  "--env", f"PYTHONPATH={options.build / 'bindings/python'}", "--env", "PYTHONDONTWRITEBYTECODE=1", *options.launch]  # fmt: skip
        said = subprocess.run([*launch, "-n", str(options.ranks), *command, *arguments], capture_output=True, text=True)
        found = re.search(r"^ *(\d*\.\d+) s$", said.stdout, re.MULTILINE)
        if said.returncode != 0 or found is None:
            sys.exit(f"benchmarks/migration.py: {' '.join(command)} ended with exit code {said.returncode}:\n{said.stdout}{said.stderr}")
        return float(found[1]), result.read_bytes() if language == "Python" else said.stdout.splitlines()[0]


def measure(options, language, commands):
    rounds = []
    for turn in range(options.rounds):
        taken, results = {}, set()
        for k in (0, 1) if turn % 2 == 0 else (1, 0):
            taken[k], result = seconds_of(options, language, commands[k])
            results.add(result)
        if len(results) != 1:
            sys.exit(f"benchmarks/migration.py: {language}: the two programs have different results")
        rounds.append((taken[0], taken[1]))
    before, after = (statistics.median(one[k] for one in rounds) for k in (0, 1))
    return before, after, statistics.median(one[0] / max(one[1], 1e-9) for one in rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*", metavar="language", help=f"{', '.join(LANGUAGES)}; all by default")
    parser.add_argument("--mpi", default="openmpi", choices=("openmpi", "mpich"))
    parser.add_argument("--build", type=Path, help="the build directory (default: build/MPI-release)")
    parser.add_argument("--network", default="shm", choices=("shm", "tcp"))
    parser.add_argument("-n", dest="ranks", type=int, default=2)
    parser.add_argument("--size", type=int, default=1000, help="rows and columns of the plate")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--crowded", dest="launch", action="store_const", const=["--crowded"], default=[], help="other programs run beside: see scripts/launch")
    options = parser.parse_args()
    if unknown := set(options.languages) - set(LANGUAGES):
        parser.error(f"unknown language {', '.join(sorted(unknown))}; choose from {', '.join(LANGUAGES)}")
    options.build = (options.build or ROOT / f"build/{options.mpi}-release").resolve()
    print(f"{options.size} x {options.size}, {options.steps} steps, {options.ranks} ranks, {options.mpi}, {options.network}, {options.rounds} rounds\n")
    print("| | messages | Lapwing | ratio | lines |\n|---|---|---|---|---|")
    for language in options.languages or LANGUAGES:
        sources = LANGUAGES[language]
        commands, missing = zip(*(command_of(options, language, source) for source in sources))
        gone, of, come = changed(*sources)
        lines = f"{come} replace {gone} of {of}"
        if why := next((one for one in missing if one), None):
            print(f"| {language} | not run: {why} | | | {lines} |")
            continue
        before, after, ratio = measure(options, language, commands)
        print(f"| {language} | {before:.3f} s | {after:.3f} s | {ratio:.2f} | {lines} |", flush=True)
    return 0


sys.exit(main())
