#!/usr/bin/env python3
"""Random innermost loops over shared memory: with and without optimisation they must have the same results.

  random_inner_loops.py --upcc FILE --upcrun FILE [--seed N] [--loops N] [--threads 2,3] [--path service] [--print]

One program with many loops is compiled twice, and each is run on each path, with the cache and without. One thread at a
time goes through a loop, so that it may read and write anything: what other pointers, private ones too, may point to.
"""

import os
import random
import subprocess
import sys
import tempfile

from random_loops import compiled, parser_of

N = 24
LONG = 140  # elements of a thread, in blocks of 70, which own iterations go through by parts
KINDS = ["int", "short", "long", "double"]
OFF = [f"-fno-upc-{name}" for name in ("own-loops", "block-reads", "block-writes", "list-reads", "near-loops", "merged-reads")]

HEAD = f"""#include <stdio.h>
#include <upc_relaxed.h>
enum {{ N = {N} }};
struct both {{ int x; short y[2]; }};
static int indices[N], limits[3], plain[N];
static long out[N];
static long outs[{LONG} * 8]; /* at most 8 threads */
static struct {{ int* at; int n; }} view = {{ indices, N }};
shared struct both S[N * THREADS];
shared [] struct both* shared boths[THREADS];
"""


def declarations():
    text = ""
    for kind in KINDS:
        letter = kind[0]
        text += f"shared {kind} D{letter}[N * THREADS]; shared [5] {kind} B{letter}[N * 5 * THREADS]; shared [] {kind} I{letter}[N];\n"
        text += f"shared {kind} T{letter}[N][THREADS]; shared [N] {kind} R{letter}[THREADS][N];\n"
        text += f"shared [70] {kind} L{letter}[{LONG} * THREADS], K{letter}[{LONG} * THREADS]; shared [9] {kind} C{letter}[{LONG} * THREADS]; shared {kind} Z{letter}[{LONG} * THREADS];\n"
        text += f"shared [] {kind}* shared heap_{letter}[2 * THREADS]; static shared [] {kind}* rows_{letter}[2];\n"
    return text


class Loop:
    """Text of a function with one loop, whose index i stays within [0, N)."""

    def __init__(self, rng, number):
        self.rng, self.number = rng, number
        self.kinds = [rng.choice(KINDS) for _ in range(2)]
        self.threads = ["MYTHREAD", "right", "0", "t"]

    def pick(self, choices):
        return self.rng.choice(choices)

    def index(self):
        return self.pick(["i", "i", "i", "indices[i]", "view.at[i]", "indices[(i * 3 + 1) % N]", "N - 1 - i", "(int)(indices[i] & 7)",
                          str(self.rng.randrange(N)), "k", "(i ^ 1)", "plain[i]"])

    def place(self):
        """A shared object."""
        kind = self.pick(self.kinds)
        letter, i, thread = kind[0], self.index(), self.pick(self.threads)
        return self.pick([
            f"D{letter}[{i}]", f"D{letter}[{i}]", f"d{letter}[{i}]", f"D{letter}[({i}) * THREADS + {thread}]", f"D{letter}[{thread} + THREADS * ({i})]", f"B{letter}[{i} + {self.rng.randrange(60)}]",
            f"I{letter}[{i}]", f"T{letter}[{i}][{thread}]", f"R{letter}[{thread}][{i}]", f"p{letter}[{i}]", f"p{letter}[{i}]", f"(*(o{letter} + {i}))",
            f"o{letter}[{i}]", f"rows_{letter}[{self.pick(['0', '1', 'k & 1'])}][{i}]", f"S[{i}].x", f"S[{i}].y[{self.pick(['0', '1', 'i & 1'])}]", f"m[{i}].x",
            f"(m + {i})->y[1]", f"d{letter}[{i}]",
        ])

    def value(self, plain=False):
        atom = lambda: self.pick([self.place(), self.place(), self.place(), "i", "plain[i]", "out[i]", "indices[i]", str(self.rng.randrange(9)), "s", f"q[{self.index()}]"])
        first, second = (self.place(), "i") if plain else (atom(), atom())
        return self.pick([first, f"{first} + {second}", f"{first} - 2 * {second}", f"({first} > {second} ? {second} : 3)", f"({first} > 4 && {second} > 2)"])

    def statement(self, depth=0):
        value = f"(long)({self.value()}) % 100"
        form = self.rng.randrange(14)
        if form < 4:
            return f"{self.place()} = {value};"
        if form < 6:
            return f"s += {value};"
        if form == 6:
            return f"out[{self.index()}] = {value};"
        if form == 7:
            return f"{self.place()} {self.pick(['+=', '-='])} {value};"
        if form == 8:
            return self.pick([f"{self.place()}++;", f"--{self.place()};"])
        if form == 9:
            return f"{self.pick(['plain', 'q'])}[{self.index()}] = (int)({value} & 7);"
        if form == 10 and depth == 0:
            return f"indices[{self.index()}] = (int)(({value} & 15));"
        if form == 11 and depth < 2:
            return f"if ({self.value()} > 3) {{ {self.statement(depth + 1)} }}"
        if form == 12 and depth == 0:
            return f"if ({self.value()} == 77) {self.pick(['continue', 'break'])};"
        if form == 13 and depth == 0:
            return f"{{ const long v = {value}; s += v * {self.rng.randrange(5)}; out[i] = v; }}"
        return f"s ^= {value};"

    def text(self):
        index = self.pick(["int", "int", "long", "unsigned"])
        up = self.pick([f"i = {self.rng.randrange(3)}; i < {self.pick(['n', 'n', 'N', 'limits[1]', 'view.n', 'N - i'])}; {self.pick(['i++', 'i++', '++i', 'i += 1', 'i += 2'])}"] * 6 +
                       ["i = N; i-- > 0;"] + ([] if index == "unsigned" else ["i = N - 1; i >= 0; i--"]) + [f"i = 0; i <= n - 1; i++"])
        if self.rng.randrange(2) == 0:  # often one that can be optimised
            body = f"{self.pick(['s +=', 's -=', 'out[i] =', 's ^=', self.place() + ' ='])} (long)({self.value(self.rng.randrange(2) == 0)}) % 100;"
        else:
            body = " ".join(self.statement() for _ in range(self.rng.randrange(1, 4)))
        pointers = ""
        for kind in set(self.kinds):
            letter = kind[0]
            pointers += f"    shared [] {kind} *p{letter} = heap_{letter}[{self.pick(['MYTHREAD', 'right', 'right + THREADS'])}], "
            pointers += f"*const o{letter} = heap_{letter}[{self.pick(['MYTHREAD', 'right', 'MYTHREAD + THREADS'])}]; shared {kind} *d{letter} = &D{letter}[{self.rng.randrange(3)}];\n"
            pointers += f"    (void)p{letter}; (void)o{letter}; (void)d{letter};\n"
        private = self.pick(["plain", "(int*)heap_i[MYTHREAD]", "(int*)&Di[MYTHREAD]"])
        return f"""static long loop_{self.number}(int n, int k, int t) {{
    const int right = (MYTHREAD + 1) % THREADS;
    shared [] struct both* m = boths[{self.pick(['MYTHREAD', 'right'])}];
    int* q = {private};
{pointers}    {index} i;
    long s = 0;
    (void)right; (void)m; (void)q; (void)k; (void)t;
    for ({up}) {{ {body} }}
    return s * 31 + (long)i;
}}
"""


class LongLoop(Loop):
    """A upc_forall, or another loop over all elements of the longer arrays, that also accesses neighbours."""

    def index(self):
        return self.pick(["i", "i", "i", "i + 1", "i - 1", "i - 3", "i + k"])

    def place(self):
        return f"{self.pick('LLLKCZZ')}{self.pick(self.kinds)[0]}[{self.index()}]"

    def value(self, plain=False):
        atom = lambda: self.pick([self.place(), self.place(), self.place(), "i", "plain[i % N]", "outs[i]", "s"])
        first, second = (self.place(), "i") if plain else (atom(), atom())
        return self.pick([first, f"{first} + {second}", f"{first} - 2 * {second}", f"({first} > {second} ? {second} : 3)"])

    def statement(self, depth=0):
        value = f"(long)({self.value()}) % 100"
        form = self.rng.randrange(8)
        if form < 4:
            return f"{self.place()} = {value};"
        if form == 4:
            return f"{self.place()} += {value};"
        if form == 5 and depth == 0:
            return f"if ({self.value()} > 3) {{ {self.statement(1)} }}"
        return self.pick([f"s += {value};", f"outs[i] = {value};", f"{self.place()}++;"])

    def text(self):
        range_ = f"i = {self.rng.randrange(3, 9)}; i < {LONG} * THREADS - n"
        letter = self.pick(self.kinds)[0]
        affinity = self.pick([f"&L{letter}[i]", f"&L{letter}[i]", f"&Z{letter}[i]", "i", f"&K{letter}[i + 1]"])
        head = self.pick([f"upc_forall ({range_}; i++; {affinity})"] * 3 + [f"for ({range_}; i += THREADS)", f"for ({range_}; i++)"])
        body = " ".join(self.statement() for _ in range(self.rng.randrange(1, 4)))
        return f"""static long loop_{self.number}(int unused, int j, int t) {{
    const int k = j % 3, n = 4 + t;
    {self.pick(['int', 'long'])} i;
    long s = 0;
    (void)unused; (void)k;
    {head} {{ {body} }}
    return s * 31 + (long)i;
}}
"""


def program(seed, loops):
    rng = random.Random(seed)
    text = HEAD + declarations()
    for number in range(loops):
        text += (LongLoop if number % 3 == 2 else Loop)(rng, number).text()
    text += "static void sums(void) {\n    unsigned long long sum = 7;\n    int i, t;\n"
    add = lambda place: f"sum = sum * 31 + (unsigned long long)(long)({place});"
    text += "    for (i = 0; i < N * THREADS; i++) { " + " ".join(add(f"D{kind[0]}[i]") for kind in KINDS) + " " + add("S[i].x") + add("S[i].y[0]") + add("S[i].y[1]") + " }\n"
    text += "    for (i = 0; i < 5 * N * THREADS; i++) { " + " ".join(add(f"B{kind[0]}[i]") for kind in KINDS) + " }\n"
    text += f"    for (i = 0; i < {LONG} * THREADS; i++) {{ " + " ".join(add(f"{array}{kind[0]}[i]") for kind in KINDS for array in "LKCZ") + " }\n"
    text += "    for (t = 0; t < THREADS; t++) for (i = 0; i < N; i++) { " + " ".join(
        add(f"T{kind[0]}[i][t]") + add(f"R{kind[0]}[t][i]") + add(f"heap_{kind[0]}[t][i]") + add(f"heap_{kind[0]}[t + THREADS][i]") for kind in KINDS) + add("boths[t][i].x") + add("boths[t][i].y[1]") + " }\n"
    text += "    for (i = 0; i < N; i++) { " + " ".join(add(f"I{kind[0]}[i]") for kind in KINDS) + " }\n"
    text += "    printf(\"%llu\\n\", sum);\n}\n"
    text += "static unsigned long long own_sum(void) {\n    unsigned long long sum = 3;\n    int i;\n    for (i = 0; i < N; i++) { " + add("indices[i]") + add("plain[i]") + add("out[i]") + f" }}\n    for (i = 0; i < {LONG} * THREADS; i++) {{ {add('outs[i]')} }}\n    return sum;\n}}\n"
    text += "int main(void) {\n    int i, t;\n    for (i = 0; i < N; i++) { indices[i] = (i * 7 + MYTHREAD) % N; plain[i] = i % 8; out[i] = i; }\n    limits[1] = N - 3;\n"
    for kind in KINDS:
        letter = kind[0]
        text += f"    for (i = 0; i < 2; i++) heap_{letter}[MYTHREAD + i * THREADS] = upc_alloc(N * sizeof({kind}));\n"
    text += "    boths[MYTHREAD] = upc_alloc(N * sizeof(struct both));\n    upc_barrier;\n"
    for kind in KINDS:
        letter = kind[0]
        text += f"    rows_{letter}[0] = heap_{letter}[MYTHREAD]; rows_{letter}[1] = heap_{letter}[(MYTHREAD + 1) % THREADS + THREADS];\n"
    text += "    upc_barrier;\n"
    for number in range(loops):
        text += f"    for (t = 0; t < 2 * THREADS; t++) {{ if (t % THREADS == MYTHREAD) {{ const long s = loop_{number}(N - t, t % N, t % THREADS); printf(\"{number}: %ld %llu\\n\", s, own_sum()); fflush(stdout); }} upc_barrier; }}\n"
        text += "    if (MYTHREAD == 0) sums();\n    upc_barrier;\n"
    return text + "    return 0;\n}\n"


def main():
    parser = parser_of(__doc__, "2")
    parser.add_argument("--path", default="direct,service")
    arguments = parser.parse_args()
    text = program(arguments.seed, arguments.loops)
    if arguments.print:
        print(text)
        return 0
    with tempfile.TemporaryDirectory() as directory:
        for name, options in {"plain": ["-O1", *OFF], "optimised": ["-O2", "-explain"]}.items():
            said = compiled(arguments.upcc, [*options, "-w"], text, f"{directory}/{name}")
            if said is None:
                return 1
            if name == "optimised":
                changed = {what: said.count(what) for what in ("reads lists", "reads in blocks", "of these are near", "loads and stores where near", "loop through own iterations")}
                print(f"seed {arguments.seed}: {changed}")
                if not all(changed.values()):
                    return 1
        for threads in arguments.threads.split(","):
            wanted = None
            for name, path, cache in [("plain", "direct", "off")] + [("optimised", path, cache) for path in arguments.path.split(",") for cache in ("off", "epoch")]:
                command = [arguments.upcrun, "-n", threads, "--path", path, "--crowded", "--timeout", "100", f"{directory}/{name}"]
                done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LAPWING_CACHE": cache})
                # Lines of several threads may come in another order.
                lines = sorted(done.stdout.splitlines())
                wanted = wanted or lines
                if done.returncode != 0 or lines != wanted:
                    print(f"{name}, {threads} threads, path {path}, cache {cache}: exit code {done.returncode}\n{done.stderr}")
                    print("\n".join(sorted(set(lines) ^ set(wanted), key=lambda line: int(line.split(":")[0]) if ":" in line else 1000)[:6]))
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
