#!/usr/bin/env python3
"""Compares the documentation with what it describes.

  check_docs.py settings PROGRAM     the table of settings in README.md is what `PROGRAM --markdown` prints
  check_docs.py scale PROGRAM        the tables of docs/architecture.md on scale are what `PROGRAM --markdown` prints
  check_docs.py example              the program in README.md is examples/hello.cpp
  check_docs.py litmus               every row of the table in docs/consistency.md has its test case, and the other way round
  check_docs.py links                every link and every file that the documentation names exists

Exit code 1 and a difference when something does not agree. An option --root DIRECTORY reads another copy of the project.
"""

import argparse
import difflib
import re
import subprocess
import sys
from pathlib import Path


def part(text, name, file):
    """What stands between the marks `<!-- name: begin … -->` and `<!-- name: end -->`."""
    found = re.search(rf"<!-- {name}: begin[^>]*-->\n(.*?)<!-- {name}: end -->", text, re.DOTALL)
    if not found:
        raise SystemExit(f"{file}: no part between the marks '{name}: begin' and '{name}: end'")
    return found[1].strip("\n") + "\n"


def same(documented, actual, documented_name, actual_name):
    if documented == actual:
        return True
    sys.stdout.writelines(difflib.unified_diff(documented.splitlines(True), actual.splitlines(True), documented_name,
                                               actual_name))
    return False


def settings(root, program):
    printed = subprocess.run([program, "--markdown"], check=True, stdout=subprocess.PIPE, text=True).stdout
    readme = part((root / "README.md").read_text(), "settings", "README.md")
    return same(readme, printed, "README.md", "lapwing-info --markdown")


def scale(root, program):
    printed = subprocess.run([program, "--markdown"], check=True, stdout=subprocess.PIPE, text=True).stdout
    documented = part((root / "docs" / "architecture.md").read_text(), "scale", "docs/architecture.md")
    return same(documented, printed, "docs/architecture.md", "scale_test --markdown")


def example(root):
    readme = part((root / "README.md").read_text(), "examples/hello.cpp", "README.md")
    shown = re.fullmatch(r"```cpp\n(.*)```\n", readme, re.DOTALL)
    if not shown:
        raise SystemExit("README.md: the program is not one block of cpp")
    return same(shown[1], (root / "examples" / "hello.cpp").read_text(), "README.md", "examples/hello.cpp")


def litmus(root):
    text = (root / "docs" / "consistency.md").read_text()
    # "Test: *one name*." or "Tests: *a name*, *another*.", over lines.
    groups = re.findall(r"^Tests?:((?:\s+\*[^*]+\*[,.])+)", text, re.MULTILINE)
    documented = {" ".join(name.split()) for group in groups for name in re.findall(r"\*([^*]+)\*", group)}
    source = (root / "tests" / "consistency" / "litmus_test.cpp").read_text()
    tested = set(re.findall(r'TEST_CASE\(\s*"([^"]+)"', source))
    for name in sorted(documented - tested):
        print(f"docs/consistency.md names the litmus test '{name}', which tests/consistency/litmus_test.cpp does not have")
    for name in sorted(tested - documented):
        print(f"tests/consistency/litmus_test.cpp has the test '{name}', which docs/consistency.md does not name")
    if not documented:
        print("docs/consistency.md names no litmus tests")
    return bool(documented) and documented == tested


def anchors(text):
    """Of the headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(root):
    right = True
    documents = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    for document in documents:
        text = document.read_text()
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        targets = [(target, document.parent) for target in re.findall(r"\]\(([^)\s]+)\)", prose)]
        # Files in backquotes are named from the root: `window/probe.cpp`, `scripts/test`.
        rooms = "src|include|datatype|window|tests|benchmarks|scripts|examples|cmake|tools|docs|data"
        targets += [(target, root) for target in re.findall(rf"`((?:{rooms})/[\w./-]*)`", prose)]
        for target, start in targets:
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            path = start / file if file else document
            if not path.exists():
                print(f"{document.relative_to(root)}: {target} does not exist")
                right = False
            elif anchor and anchor not in anchors(path.read_text()):
                print(f"{document.relative_to(root)}: {target}: there is no such heading")
                right = False
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=("settings", "scale", "example", "litmus", "links"))
    parser.add_argument("program", nargs="?", help="lapwing-info, or scale_test")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent.parent)
    arguments = parser.parse_args()
    of_program = {"settings": settings, "scale": scale}
    if (arguments.check in of_program) != (arguments.program is not None):
        parser.error(f"{' and '.join(of_program)} take a program, the others none")
    if arguments.check in of_program:
        right = of_program[arguments.check](arguments.root, arguments.program)
    else:
        right = {"example": example, "litmus": litmus, "links": links}[arguments.check](arguments.root)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
