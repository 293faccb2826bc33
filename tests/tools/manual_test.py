#!/usr/bin/env python3
"""Manual pages and completion: of every function of C and every command, and such that man, bash and zsh take them.

  manual_test.py ROOT NAME=PROGRAM…     the commands, with names that completion has
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def complete(script, line):
    """What bash offers after `line`."""
    words = line.split(" ")
    program = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lapwing "$1"; printf "%s\\n" "${COMPREPLY[@]}"'
    return subprocess.run(["bash", "-c", program, "bash", script, *words], check=True, capture_output=True, text=True).stdout.split()


def main():
    root, commands = Path(sys.argv[1]), sys.argv[2:]
    generator, wrong = root / "cmake/manual_pages.py", []
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(generator.parent))
    import manual_pages

    with tempfile.TemporaryDirectory() as name:
        output = Path(name)
        subprocess.run([sys.executable, generator, "functions", root / "include", "1.2.3", output], check=True)
        subprocess.run([sys.executable, generator, "commands", "1.2.3", output, *commands], check=True)
        text = "".join(re.sub(r"//[^\n]*|/\*.*?\*/|^#(?:[^\n]*\\\n)*[^\n]*", "", path.read_text(), flags=re.DOTALL | re.MULTILINE) for path in (root / "include/lapwing/c").glob("*.h"))
        names = set(re.findall(r"\b(lapwing_[a-z0-9_]+[a-z0-9])\(", text)) - {"lapwing_error_handler"}
        for function in sorted(names):
            if not (output / f"man3/{function}.3").exists():
                wrong.append(f"{function}() has no page")
        # Inline functions are written by macros: the preprocessor says what they are.
        (output / "mpi.h").write_text("typedef int MPI_Comm, MPI_Win, MPI_Datatype, MPI_Op, MPI_Request, MPI_Status; typedef long MPI_Aint;\n")
        said = subprocess.run(["cc", "-E", "-P", f"-I{root}/include", f"-I{output}", root / "include/lapwing/lapwing.h"], check=True, capture_output=True, text=True)
        inline = set(re.findall(r"\bstatic inline [\w ]+\**\s*(lapwing_\w*[a-z0-9])\(", said.stdout))
        wrong += [f"{function}() has no page" for function in sorted(inline) if not (output / f"man3/{function}.3").exists()]
        if not {"lapwing_array_get_float_3", "lapwing_array_put_int32_1", "lapwing_window_get_double", "lapwing_array_address_2"} <= inline:
            wrong.append(f"the inline functions of the headers are {sorted(inline)}")
        element = (output / "man3/lapwing_array_get_int32_1.3").read_text()
        for expected in ("int lapwing_array_put_double_3(lapwing_array* array, int64_t i,\n    int64_t j, int64_t k, double value);", "Inline access to elements"):
            if expected not in element:
                wrong.append(f"lapwing_array_get_int32_1.3 lacks {expected!r}")
        if len(names) < 200:
            wrong.append(f"only {len(names)} functions are found in the headers")
        # A page stands alone: which ranks make the call, and which threads may.
        for path in sorted((root / "include/lapwing/c").glob("*.h")):
            for docstring, group in manual_pages.Header(path).groups:
                if not re.search(r"\b(?:[Cc]ollective|Local)\b.*\b[Tt]hreads?\b", " ".join(docstring)):
                    wrong.append(f"lapwing/c/{path.name}: {group[0][0]}() does not say whether it is collective or local, and for which threads")
        put = (output / "man3/lapwing_window_put.3").read_text()
        for expected in ("lapwing_window_put \\-", "const void* source", "Put, complete locally on return", "LAPWING_SUCCESS"):
            if expected not in put:
                wrong.append(f"lapwing_window_put.3 lacks {expected!r}")
        if "LAPWING_ERR_MISMATCH" not in (output / "man3/lapwing_array_create.3").read_text():
            wrong.append("lapwing_array_create.3 does not say LAPWING_ERR_MISMATCH")
        if "int kind;" not in (output / "man3/lapwing_array_prefetch.3").read_text():
            wrong.append("lapwing_array_prefetch.3 does not show lapwing_pattern")
        if "LAPWING_CYCLIC = 1" not in (output / "man3/lapwing.3").read_text():
            wrong.append("lapwing.3 lacks constants")
        if shutil.which("groff"):
            pages = [*output.glob("man3/*.3"), *output.glob("man1/*.1")]
            said = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", *pages], capture_output=True, text=True, cwd=output)
            wrong += said.stderr.splitlines()[:20]
        for command in commands:
            command = command.split("=")[0]
            if "Options" not in command and not (output / f"man1/{command}.1").read_text().count(".TP"):
                wrong.append(f"{command}.1 lists no option")
            elif command != "lapwing-upcrun" and ".SH EXAMPLES" not in (output / f"man1/{command}.1").read_text():
                wrong.append(f"{command}.1 has no examples: cmake/manual_notes.txt")
        script = output / "lapwing.bash"
        for line, expected in {
            "lapwing-launch --pa": ["--path"], "lapwing-launch --mpi m": ["mpich"], "lapwing-launch --path ": ["auto", "direct", "rma", "service"],
            "lapwing-info.mpich --js": ["--json"], "lapwing-launch --mpich-shim o": ["on", "off"],
        }.items():
            if (found := complete(script, line)) != expected:
                wrong.append(f"bash completes {line!r} by {found}, not {expected}")
        if shutil.which("zsh"):
            said = subprocess.run(["zsh", "-n", output / "_lapwing"], capture_output=True, text=True)
            wrong += said.stderr.splitlines()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
