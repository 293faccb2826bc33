#!/usr/bin/env python3
"""Compiles UPC programs and runs them: a program ends with 0 where all is right.

  runner.py run --upcc FILE --upcrun FILE [--threads 1,2,3] [--expect TEXT] [option…] -- SOURCE…
  runner.py same --upcrun FILE [--threads 1,2,3] [--argument WORD]… -- PROGRAM OTHER
                                               both must print the same lines, with any number of threads
  runner.py refuse --upcc FILE -- CASES.txt    each program must be refused, with the message it names
  runner.py collection --upcc FILE --upcrun FILE [--threads 1,4] [--only NAME] -- PROGRAMS.txt…
                                               many programs in one file: each must compile, and end with 0

Options that begin with '-' and follow `--` go to the compiler.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run_programs(arguments):
    with tempfile.TemporaryDirectory() as directory:
        program = str(Path(directory) / "program")
        built = subprocess.run([arguments.upcc, "-O1", *arguments.rest, "-o", program, "-lm"], capture_output=True, text=True)
        if built.returncode != 0:
            print(built.stdout + built.stderr)
            return 1
        for threads in arguments.threads.split(","):
            command = [arguments.upcrun, "-n", threads, "--crowded", "--timeout", str(arguments.timeout), program, *arguments.argument]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != arguments.exit_code or not re.search(arguments.expect, done.stdout + done.stderr):
                print(f"{threads} threads: exit code {done.returncode}, and the output is\n{done.stdout}{done.stderr}")
                return 1
    return 0


def same(arguments):
    wanted = None
    for threads in arguments.threads.split(","):
        for program in arguments.rest:
            command = [arguments.upcrun, "-n", threads, "--crowded", "--timeout", str(arguments.timeout), program, *arguments.argument]
            done = subprocess.run(command, capture_output=True, text=True)
            lines = done.stdout.splitlines()
            if done.returncode != 0 or not lines:
                print(f"{program}, {threads} threads: exit code {done.returncode}, and the output is\n{done.stdout}{done.stderr}")
                return 1
            wanted = wanted or lines
            if lines != wanted:
                print("\n".join([f"{program}, {threads} threads:", *lines, "but before:", *wanted]))
                return 1
    return 0


def refuse(arguments):
    """Cases are separated by lines "=== line:column message"; the program follows."""
    failures = 0
    count = 0
    text = Path(arguments.rest[0]).read_text()
    for case in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, program = case.split("\n", 1)
        options = []
        if head.startswith("-"):
            option, head = head.split(" | ", 1)
            options = option.split()
        place, _, wanted = head.partition(" ")
        count += 1
        with tempfile.TemporaryDirectory() as directory:
            source = Path(directory) / "case.upc"
            source.write_text(program)
            done = subprocess.run([arguments.upcc, "-c", *options, str(source), "-o", str(Path(directory) / "case.o")], capture_output=True, text=True)
            line = rf"case\.upc:{place}: error: .*{re.escape(wanted)}"
            if place == "accepted":
                good = done.returncode == 0 and "error" not in done.stderr
            else:
                good = done.returncode == 1 and re.search(line, done.stderr) and "lapwing_" not in done.stderr and "address_space" not in done.stderr
            if not good:
                failures += 1
                print(f"=== {head}\n{program}--- exit code {done.returncode}:\n{done.stderr}")
    print(f"{count} programs, {failures} failures")
    return int(failures > 0 or count == 0)


def programs_of(text):
    """Programs are separated by lines "=== name [option…]"; "--- file" begins another file of the same program."""
    for program in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, body = program.split("\n", 1)
        name, *options = head.split()
        parts = re.split(r"^--- (.*)\n", body, flags=re.MULTILINE)
        yield name, options, dict(zip([f"{name}.upc", *parts[1::2]], parts[0::2]))


def one_of_collection(arguments, name, options, files):
    with tempfile.TemporaryDirectory() as directory:
        for file, text in files.items():
            (Path(directory) / file).write_text(text)
        sources = [file for file in files if not file.endswith(".h")]
        include = Path(__file__).resolve().parent / "programs"
        built = subprocess.run([str(Path(arguments.upcc).resolve()), f"-I{include}", *options, *sources, "-o", "program", "-lm"], capture_output=True, text=True, cwd=directory)
        if built.returncode != 0:
            return built.stdout + built.stderr
        fixed = [option for before, option in zip(options, options[1:]) if before == "-T"]
        for threads in fixed or arguments.threads.split(","):
            command = [str(Path(arguments.upcrun).resolve()), "-n", threads, "--crowded", "--timeout", str(arguments.timeout), str(Path(directory) / "program")]
            done = subprocess.run(command, capture_output=True, text=True, cwd=directory)
            if done.returncode != 0:
                return f"{threads} threads: exit code {done.returncode}, and the output is\n{done.stdout}{done.stderr}"
    return ""


def collection(arguments):
    failures = []
    count = 0
    for file in arguments.rest:
        for name, options, files in programs_of(Path(file).read_text()):
            if not re.fullmatch(arguments.only, name):
                continue
            count += 1
            wrong = one_of_collection(arguments, name, options, files)
            if wrong:
                failures.append(name)
                print(f"=== {name}\n{wrong}", flush=True)
    print(f"{count} programs, {len(failures)} failures: {' '.join(failures)}")
    return int(bool(failures) or count == 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "same", "refuse", "collection"])
    parser.add_argument("--upcc", help="the compiler, but for `same`")
    parser.add_argument("--upcrun")
    parser.add_argument("--threads", default="1,2,3")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--exit-code", type=int, default=0)
    parser.add_argument("--expect", default="", help="a regular expression for the output")
    parser.add_argument("--only", default=".*", help="a regular expression for the names of programs")
    parser.add_argument("--argument", action="append", default=[], help="for the program")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments = parser.parse_args(sys.argv[1:split])
    arguments.rest = sys.argv[split + 1:]
    return {"run": run_programs, "same": same, "refuse": refuse, "collection": collection}[arguments.action](arguments)


if __name__ == "__main__":
    sys.exit(main())
