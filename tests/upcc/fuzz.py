#!/usr/bin/env python3
"""Changes tokens of UPC programs at random: lapwing-upcc must refuse or compile what comes out, and never crash, nor make C
that does not compile.

  fuzz.py --upcc FILE [--seed N] [--count N] [--keep DIRECTORY] -- PROGRAM.upc|PROGRAMS.txt…
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOKEN = re.compile(r'\s+|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\d[\w.]*|#[^\n]*|->|\+\+|--|[-+*/%&|^<>=!]=|&&|\|\||<<|>>|.', re.S)
WORDS = ["shared", "shared []", "shared [2]", "shared [*]", "strict", "relaxed", "THREADS", "MYTHREAD", "upc_forall", "upc_barrier;", "upc_notify;",
         "upc_wait;", "upc_fence;", "upc_blocksizeof", "upc_elemsizeof", "upc_localsizeof", "int", "char", "double", "static", "extern", "const",
         "struct", "typedef", "void", "return", "continue", "break", "0", "1", "-1", "NULL", "sizeof", "*", "&", "[0]", "[THREADS]", "(", ")", "{", "}",
         "[", "]", ";", ",", "=", "+", "->", ".", "++", "?", ":", "__typeof__"]


def programs(files):
    for file in files:
        text = Path(file).read_text()
        if file.endswith(".txt"):
            for program in re.split(r"^=== .*\n", text, flags=re.MULTILINE)[1:]:
                if "\n--- " not in program:
                    yield program
        else:
            yield text


def changed(rng, text):
    tokens = TOKEN.findall(text)
    places = [k for k, token in enumerate(tokens) if not token.isspace() and not token.startswith("#")]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        k = rng.choice(places)
        other = rng.choice(places)
        kind = rng.randrange(6)
        if kind == 0:
            tokens[k] = ""
        elif kind == 1:
            tokens[k] += " " + tokens[k]
        elif kind == 2:
            tokens[k], tokens[other] = tokens[other], tokens[k]
        elif kind == 3:
            tokens[k] = tokens[other]
        elif kind == 4:
            tokens[k] = rng.choice(WORDS)
        else:
            tokens[k] += " " + rng.choice(WORDS)
    return "".join(tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upcc", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--keep", help="where programs go that show an error")
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    some = list(programs(arguments.programs))
    include = Path(__file__).resolve().parent / "programs"
    counts = {"compiled": 0, "refused": 0}
    bad = 0
    with tempfile.TemporaryDirectory() as directory:
        for number in range(arguments.count):
            source = Path(directory) / "case.upc"
            source.write_text(changed(rng, rng.choice(some)))
            command = [arguments.upcc, f"-I{include}", "-c", "-w", rng.choice(["-O0", "-O1"]), *rng.choice([[], [], ["-T", "3"]]), str(source), "-o", f"{directory}/case.o"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            refused = done.returncode == 1 and re.search(r"(error|lapwing-upcc): ", done.stderr)
            if (done.returncode == 0 or refused) and "an error in lapwing-upcc" not in done.stderr:
                counts["refused" if refused else "compiled"] += 1
                continue
            bad += 1
            print(f"--- {number}: exit code {done.returncode}: {' '.join(command[2:-3])}\n{done.stderr[:1500]}")
            if arguments.keep:
                Path(arguments.keep, f"fuzz-{arguments.seed}-{number}.upc").write_text(source.read_text())
    print(f"seed {arguments.seed}: {counts['compiled']} compiled, {counts['refused']} refused, {bad} errors in lapwing-upcc")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
