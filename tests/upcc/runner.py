#!/usr/bin/env python3
"""Compiles UPC programs and runs them: a program ends with 0 where all is right.

  runner.py run --upcc FILE --upcrun FILE [--threads 1,2,3] [--path rma,service] [--expect TEXT] [option…] -- SOURCE…
  runner.py same --upcrun FILE [--threads 1,2,3] [--argument WORD]… -- PROGRAM OTHER
                                               both must print the same lines, with any number of threads
  runner.py refuse --upcc FILE -- CASES.txt    each program must be refused, with the message it names
  runner.py faults --upcc FILE --upcrun FILE [--threads 2] [option…] -- SOURCE
                                               with each argument of a line "case N: … /* TEXT */" it must fail there, with that message
  runner.py names --upcc FILE --upcrun FILE    a program in C that declares UPC's functions itself must be linked, and run
  runner.py collection --upcc FILE --upcrun FILE [--threads 1,4] [--path PATH] [--option=-O2] [--only NAME] -- PROGRAMS.txt…
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
        for path in arguments.path.split(","):
            for threads in arguments.threads.split(","):
                command = [arguments.upcrun, "-n", threads, *with_path(path), "--crowded", "--timeout", str(arguments.timeout), program, *arguments.argument]
                done = subprocess.run(command, input=arguments.input, capture_output=True, text=True)
                if done.returncode != arguments.exit_code or not re.search(arguments.expect, done.stdout + done.stderr):
                    print(f"{threads} threads, path {path}: exit code {done.returncode}, and the output is\n{done.stdout}{done.stderr}")
                    return 1
    return 0


def with_path(path):
    return [] if path == "auto" else ["--path", path]


def same(arguments):
    wanted = None
    for threads in arguments.threads.split(","):
        for program in arguments.rest:
            command = [arguments.upcrun, "-n", threads, "--crowded", "--timeout", str(arguments.timeout), program, *arguments.argument]
            done = subprocess.run(command, input=arguments.input, capture_output=True, text=True)
            lines = done.stdout.splitlines()
            if done.returncode != 0 or not lines:
                print(f"{program}, {threads} threads: exit code {done.returncode}, and the output is\n{done.stdout}{done.stderr}")
                return 1
            wanted = wanted or lines
            if lines != wanted:
                print("\n".join([f"{program}, {threads} threads:", *lines, "but before:", *wanted]))
                return 1
    return 0


def cases_of(text):
    """Cases are separated by lines "=== [option… | ]line:column message", or "accepted"; the program follows."""
    for number, case in enumerate(re.split(r"^=== ", text, flags=re.MULTILINE)[1:]):
        head, program = case.split("\n", 1)
        options = ()
        if head.startswith("-"):
            option, head = head.split(" | ", 1)
            options = tuple(option.split())
        place, _, wanted = head.partition(" ")
        yield f"case_{number}", options, place, wanted, program


def refuse(arguments):
    """All cases with the same options are compiled by one command, which is much faster than one for each."""
    failures = 0
    cases = list(cases_of(Path(arguments.rest[0]).read_text()))
    for options in {case[1] for case in cases}:
        alike = [case for case in cases if case[1] == options]
        with tempfile.TemporaryDirectory() as directory:
            for name, _, _, _, program in alike:
                (Path(directory) / f"{name}.upc").write_text(program)
            sources = [f"{case[0]}.upc" for case in alike]
            done = subprocess.run([str(Path(arguments.upcc).resolve()), "-c", *options, *sources], capture_output=True, text=True, cwd=directory)
            wanted_exit = int(any(case[2] != "accepted" for case in alike))
            if done.returncode != wanted_exit:
                failures += 1
                print(f"{' '.join(options)}: exit code {done.returncode}, and not {wanted_exit}:\n{done.stderr}")
            for name, _, place, wanted, program in alike:
                said = "".join(re.findall(rf"^(?:lapwing-upcc: )?{name}\.upc:.*\n(?:(?!lapwing-upcc: |case_).*\n)*", done.stderr, flags=re.MULTILINE))
                made = (Path(directory) / f"{name}.o").exists()
                if place == "accepted":
                    good = made and "error" not in said
                else:
                    line = rf"{name}\.upc:{place}: error: .*{re.escape(wanted)}"
                    good = not made and re.search(line, said) and "lapwing_" not in said and "address_space" not in said
                if not good:
                    failures += 1
                    print(f"=== {' '.join(options)} {place} {wanted}\n{program}--- {'an object' if made else 'no object'}:\n{said}")
    print(f"{len(cases)} programs, {failures} failures")
    return int(failures > 0 or not cases)


def faults(arguments):
    source = arguments.rest[-1]
    cases = [(line, *found.groups()) for line, text in enumerate(Path(source).read_text().splitlines(), 1)
             if (found := re.search(r"case (\d+): .*/\* (.*) \*/$", text))]
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        program = str(Path(directory) / "program")
        built = subprocess.run([arguments.upcc, *arguments.rest, "-o", program], capture_output=True, text=True)
        if built.returncode != 0:
            print(built.stdout + built.stderr)
            return 1
        for line, number, wanted in cases:
            fails = not wanted.startswith("no error")
            expected = rf"{re.escape(Path(source).name)}:{line}: lapwing: UPC: thread \d+ of \d+: (?:{wanted})" if fails else ""
            for path in arguments.path.split(","):
                command = [arguments.upcrun, "-n", arguments.threads, *with_path(path), "--crowded", "--timeout", str(arguments.timeout), program, number]
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
                if (done.returncode != 0) != fails or not re.search(expected, done.stderr):
                    failures += 1
                    print(f"case {number}, path {path}: exit code {done.returncode}, and not the message {expected}\n{done.stdout}{done.stderr}", flush=True)
    print(f"{len(cases)} cases, {failures} failures")
    return int(failures > 0 or not cases)


def names(arguments):
    """As configure scripts look for them: `char upc_alloc(void);`."""
    headers = ["upc.h", "upc_collective.h", "upc_atomic.h", "upc_castable.h", "upc_nb.h", "upc_tick.h", "upc_io.h"]
    upcc = str(Path(arguments.upcc).resolve())
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "headers.upc").write_text("".join(f"#include <{header}>\n" for header in headers))
        text = subprocess.run([upcc, "-E", "headers.upc"], capture_output=True, text=True, cwd=directory).stdout
        found = set(re.findall(r"\b(upc_\w+)\([^;{}]*\)\s*__asm__", text)) - {"upc_all_sort"}  # not of the specification
        declared = "".join(f"char {name}(void);\n" for name in sorted(found - {"upc_ticks_now"}))
        addresses = ", ".join(f"{name}" for name in sorted(found - {"upc_ticks_now"}))
        (Path(directory) / "program.c").write_text(
            f"{declared}unsigned long upc_ticks_now(void);\nchar (*volatile all[])(void) = {{{addresses}}};\n"
            "int main(void) {\n    for (int k = 0; k < sizeof all / sizeof *all; k++) if (!all[k]) return 1;\n"
            "    unsigned long before = upc_ticks_now();\n    return before == 0 || upc_ticks_now() < before;\n}\n")
        built = subprocess.run([upcc, "-w", "program.c", "-o", "program"], capture_output=True, text=True, cwd=directory)
        if len(found) < 90 or built.returncode != 0:
            print(f"{len(found)} names\n{built.stdout}{built.stderr}")
            return 1
        command = [arguments.upcrun, "-n", "1", "--crowded", "--timeout", str(arguments.timeout), str(Path(directory) / "program")]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    print(f"{len(found)} names, exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode


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
        built = subprocess.run([str(Path(arguments.upcc).resolve()), f"-I{include}", *arguments.option, *options, *sources, "-o", "program", "-lm"], capture_output=True, text=True, cwd=directory)
        if built.returncode != 0:
            return built.stdout + built.stderr
        fixed = [option for before, option in zip(options, options[1:]) if before == "-T"]
        for path in arguments.path.split(","):
            for threads in fixed or arguments.threads.split(","):
                command = [str(Path(arguments.upcrun).resolve()), "-n", threads, *with_path(path), "--crowded", "--timeout", str(arguments.timeout), str(Path(directory) / "program")]
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=directory)
                if done.returncode != 0:
                    return f"{threads} threads, path {path}: exit code {done.returncode}, and the output is\n{done.stdout}{done.stderr}"
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
    parser.add_argument("action", choices=["run", "same", "refuse", "faults", "names", "collection"])
    parser.add_argument("--upcc", help="the compiler, but for `same`")
    parser.add_argument("--upcrun")
    parser.add_argument("--threads", default="1,2,3")
    parser.add_argument("--path", default="auto", help="how the threads reach each other's memory: direct,rma,service or some of them")
    parser.add_argument("--option", action="append", default=[], help="for the compiler, before those of the program")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--exit-code", type=int, default=0)
    parser.add_argument("--expect", default="", help="a regular expression for the output")
    parser.add_argument("--only", default=".*", help="a regular expression for the names of programs")
    parser.add_argument("--input", default="", help="the program's standard input")
    parser.add_argument("--argument", action="append", default=[], help="for the program")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments = parser.parse_args(sys.argv[1:split])
    arguments.rest = sys.argv[split + 1:]
    return {"run": run_programs, "same": same, "refuse": refuse, "faults": faults, "names": names, "collection": collection}[arguments.action](arguments)


if __name__ == "__main__":
    sys.exit(main())
