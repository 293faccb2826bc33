#!/usr/bin/env python3
"""Random upc_forall loops: with and without optimisation they must have the same results.

  random_loops.py --upcc FILE --upcrun FILE [--seed N] [--loops N] [--threads 1,3] [--print]

One program with many loops is compiled twice, and each is run with each number of threads. A loop writes each element in
one iteration only, and reads what it writes nowhere else; there are barriers around it.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 3  # blocks of each thread


class Array:
    def __init__(self, name, block, kind, row):
        self.name, self.block, self.kind, self.row = name, block, kind, row

    def layout(self):
        return f"shared [{self.block * (self.row or 1)}] {self.kind}" if self.block * (self.row or 1) > 1 else f"shared {self.kind}"

    def declaration(self):
        inner = f"[{self.row}]" if self.row else ""
        return f"{self.layout()} {self.name}[{ROUNDS * self.block} * THREADS]{inner};"

    def pointer(self):
        return f"{self.layout()} (*p{self.name})[{self.row}] = {self.name};" if self.row else f"{self.layout()} *p{self.name} = {self.name};"

    def rows(self):
        return f"({ROUNDS * self.block} * THREADS)"

    def part(self):
        return ".y[1]" if self.kind == "struct both" else ""

    def element(self, index, rng):
        column = f"[{rng.randrange(self.row)}]" if self.row else ""
        part = rng.choice([".x", ".y[0]", ".y[1]"]) if self.kind == "struct both" else ""
        return f"{self.name}[{index}]{column}{part}"


def arrays(rng):
    kinds = ["int", "long", "double", "char", "unsigned short", "struct both"]
    out = []
    for number in range(8):
        row = rng.choice([0, 0, 2, 3])
        out.append(Array(f"a{number}", rng.choice([1, 1, 2, 3]), rng.choice(kinds), row))
    return out


def shifted(rng, shift):
    if shift == 0:
        return "i"
    return f"i - {-shift}" if shift < 0 else rng.choice([f"i + {shift}", f"{shift} + i"])


def expression(rng, others, shift, own):
    choices = ["i", str(rng.randrange(1, 9)), "MYTHREAD * 0 + 3"]
    for one in others:
        # In range whatever the index is.
        choices.append(one.element(f"(i + {rng.randrange(4)}) % {one.rows()}", rng))
        if own and one.block == own.block:
            choices.append(one.element(shifted(rng, shift), rng))
    first, second = rng.choice(choices), rng.choice(choices)
    return rng.choice([first, f"{first} + {second}", f"({first}) * 2 - {second}", f"({first} > {second} ? 5 : {second})"])


def statements(rng, written, others, shift, depth=0):
    out = []
    for _ in range(rng.randrange(1, 4)):
        target = written.element(shifted(rng, shift), rng)
        value = f"(long long)({expression(rng, others, shift, written)}) % 1000"  # far from what overflows
        form = rng.randrange(8)
        if form < 3:
            out.append(f"{target} = {value};")
        elif form == 3:
            out.append(f"{target} += {value};")
        elif form == 4:
            out.append(rng.choice([f"{target}++;", f"--{target};"]))
        elif form == 5 and depth == 0:
            out.append(f"if (i % 3 == {rng.randrange(3)}) continue;")
        elif form == 6 and depth < 2:
            inner = " ".join(statements(rng, written, others, shift, depth + 1)).replace("continue;", ";")
            out.append(f"for (int k = 0; k < {rng.randrange(1, 4)}; k++) {{ {inner} }}")
        else:
            out.append(f"{target} = (int)({target}) + turns({rng.randrange(3)});")
    return out


def loop(rng, all_arrays, number):
    written = rng.choice(all_arrays)
    others = [one for one in all_arrays if one is not written]
    shift = rng.choice([0, 0, 0, 1, -1, 2])
    start = max(0, -shift) + rng.choice([0, 0, 1, 2])
    end = f"{written.rows()} - {max(0, shift) + rng.choice([0, 0, 1])}"
    compare = "<"
    if rng.randrange(3) == 0:
        compare, end = "<=", f"{end} - 1"
    column = "[0]" if written.row else ""
    affinity = [
        f"&{written.name}[{shifted(rng, shift)}]{column}{rng.choice(['', written.part()])}",
        f"{shifted(rng, shift)}",
        "i",
        f"i / {written.block}",
    ]
    if not written.row:
        affinity.append(f"{written.name} + ({shifted(rng, shift)})")
    step = rng.choice(["i++", "++i", "i += 1"])
    kind = rng.choice(["int", "int", "long"])
    body = " ".join(statements(rng, written, others, shift))
    head = f"upc_forall (i = {start}; i {compare} n; {step}; {rng.choice(affinity)})"
    pointers = ""
    for one in all_arrays:
        if rng.randrange(3) == 0:  # through a pointer
            head, body = (re.sub(rf"\b{one.name}\b", f"p{one.name}", text) for text in (head, body))
            pointers += " " + one.pointer()
    return f"static void loop_{number}(void) {{\n    {kind} i, n = {end};{pointers}\n    {head} {{ {body} }}\n    if (MYTHREAD == 0) printf(\"{number}: %ld\\n\", (long)i);\n}}\n"


def program(seed, loops):
    rng = random.Random(seed)
    some = arrays(rng)
    text = "#include <stdio.h>\n#include <upc_relaxed.h>\nstruct both { int x; short y[2]; };\n"
    text += "\n".join(one.declaration() for one in some) + "\n"
    text += "static int turns(int n) { int i, c = 0; upc_forall (i = 0; i < n; i++; i) c++; return c; }\n"
    for number in range(loops):
        text += loop(rng, some, number)
    text += "static void sums(void) {\n    unsigned long long sum = 7;\n    int i;\n"
    for one in some:
        parts = [".x", ".y[0]", ".y[1]"] if one.kind == "struct both" else [""]
        for part in parts:
            for column in range(one.row or 1):
                place = f"[{column}]" if one.row else ""
                text += f"    for (i = 0; i < {one.rows()}; i++) sum = sum * 31 + (long long){one.name}[i]{place}{part};\n"
    text += "    printf(\"%llu\\n\", sum);\n}\nint main(void) {\n"
    for number in range(loops):
        text += f"    loop_{number}();\n    upc_barrier;\n    if (MYTHREAD == 0) sums();\n    upc_barrier;\n"
    return text + "    return 0;\n}\n"


def parser_of(description, threads):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upcc", required=True)
    parser.add_argument("--upcrun", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loops", type=int, default=40)
    parser.add_argument("--threads", default=threads)
    parser.add_argument("--print", action="store_true", help="the program, and nothing else")
    return parser


def compiled(upcc, options, text, program):
    """What the compiler says, after it has made the program; None where it has not, which is printed."""
    source = Path(program).with_suffix(".upc")
    source.write_text(text)
    built = subprocess.run([upcc, *options, str(source), "-o", program], capture_output=True, text=True)
    if built.returncode != 0:
        print(built.stdout + built.stderr)
        return None
    return built.stderr


def main():
    arguments = parser_of(__doc__, "1,3").parse_args()
    text = program(arguments.seed, arguments.loops)
    if arguments.print:
        print(text)
        return 0
    with tempfile.TemporaryDirectory() as directory:
        outputs = {}
        for name, options in {"plain": ["-O1", "-fno-upc-own-loops"], "optimised": ["-O2", "-explain"]}.items():
            said = compiled(arguments.upcc, options, text, f"{directory}/{name}")
            if said is None:
                return 1
            if name == "optimised":
                changed = said.count("own iterations alone")
                print(f"seed {arguments.seed}: {changed} of {arguments.loops} loops changed")
                if changed == 0:
                    return 1
            for threads in arguments.threads.split(","):
                command = [arguments.upcrun, "-n", threads, "--crowded", "--timeout", "60", f"{directory}/{name}"]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode != 0:
                    print(f"{name}, {threads} threads: exit code {done.returncode}\n{done.stdout}{done.stderr}")
                    return 1
                outputs[name, threads] = done.stdout
        for threads in arguments.threads.split(","):
            if outputs["plain", threads] != outputs["optimised", threads]:
                print(f"{threads} threads: without optimisation\n{outputs['plain', threads]}and with\n{outputs['optimised', threads]}{text}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
