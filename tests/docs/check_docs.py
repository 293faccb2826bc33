#!/usr/bin/env python3
"""Compares the documentation with what it describes.

  check_docs.py settings PROGRAM     the table in docs/settings.md is what `PROGRAM --markdown` prints
  check_docs.py scale PROGRAM        the tables of docs/architecture.md on scale are what `PROGRAM --markdown` prints
  check_docs.py scale FILE.md        ... are what is in the file, but for the rows of ten thousand ranks
  check_docs.py options DIRECTORY    commands have the options that the pages name, the defaults that docs/commands.md has in brackets, and exit
                                     with 0 after --help and with 2 after an option that they do not know. The directory has lapwing-info
                                     and the others that are built
  check_docs.py example              the program in README.md is examples/hello.cpp, that in docs/python.md examples/python/hello.py,
                                     that in docs/fortran.md examples/fortran/hello.f90, and the first page is short
  check_docs.py litmus               every row of the table in docs/consistency.md has its test case, and the other way round
  check_docs.py links                every link and every file that the documentation names exists
  check_docs.py walks                every function that docs/code-tour.md names together with a file occurs in that file, and every
                                     room is in the table of docs/architecture.md and in its picture
  check_docs.py snippets             code that a page shows of a program is the part of it between the marks // [name] and
                                     // [end], and every such part is shown
  check_docs.py counters             the table in docs/troubleshooting.md has the counters of all rooms, in the order in which
                                     they are printed
  check_docs.py bars                 the tables of docs/bars.md and README.md are what `scripts/bench bars`, `missed` and `first-page` make of
                                     benchmarks/bars.json and measured.json, and docs/bars.md names every benchmark
  check_docs.py docstrings           no line of a program in a docstring was broken in the middle, as a formatter does with text
  check_docs.py pictures             docs/pictures/*.svg show the words of the texts that they are made from
  check_docs.py claims               programs that the pages name are built, what they say is formatted is checked, numbers of
                                     counters, litmus tests and settings are right, names LAPWING_… exist, and docs/building.md has CMake's
                                     defaults and the variants of Spack's recipe
  check_docs.py self-test            each of these checks, but for those with a program, finds a fault that is put into a copy

Exit code 1 and a difference when something does not agree. An option --root DIRECTORY reads another copy of the project.
"""

import argparse
import difflib
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path


def part(text, name, file):
    """What is between the marks `<!-- name: begin … -->` and `<!-- name: end -->`."""
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
    documented = part((root / "docs" / "settings.md").read_text(), "settings", "docs/settings.md")
    return same(documented, printed, "docs/settings.md", "lapwing-info --markdown")


def scale(root, source):
    documented = part((root / "docs" / "architecture.md").read_text(), "scale", "docs/architecture.md")
    if source.endswith(".md"):
        few = "".join(line for line in documented.splitlines(True) if "| 10,000 |" not in line)
        return same(few, Path(source).read_text(), "docs/architecture.md", source)
    printed = subprocess.run([source, "--markdown"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return same(documented, printed, "docs/architecture.md", "scale_test --markdown")


# Lines of README.md: what a reader takes in before deciding.
LONGEST_FIRST_PAGE = 120


def example(root):
    page = (root / "README.md").read_text()
    lines = page.count("\n")
    if lines > LONGEST_FIRST_PAGE:
        print(f"README.md has {lines} lines; at most {LONGEST_FIRST_PAGE}: the rest belongs in docs/")
        return False
    readme = part(page, "examples/hello.cpp", "README.md")
    shown = re.fullmatch(r"```cpp\n(.*)```\n", readme, re.DOTALL)
    if not shown:
        raise SystemExit("README.md: the program is not one block of cpp")
    of_python = part((root / "docs" / "python.md").read_text(), "examples/python/hello.py", "docs/python.md")
    right = same(of_python, f"```python\n{(root / 'examples/python/hello.py').read_text()}```\n", "docs/python.md", "examples/python/hello.py")
    of_fortran = part((root / "docs" / "fortran.md").read_text(), "examples/fortran/hello.f90", "docs/fortran.md")
    right &= same(of_fortran, f"```fortran\n{(root / 'examples/fortran/hello.f90').read_text()}```\n", "docs/fortran.md", "examples/fortran/hello.f90")
    of_c = part((root / "docs" / "c.md").read_text(), "examples/c/hello.c", "docs/c.md")
    right &= same(of_c, f"```c\n{(root / 'examples/c/hello.c').read_text()}```\n", "docs/c.md", "examples/c/hello.c")
    return same(shown[1], (root / "examples" / "hello.cpp").read_text(), "README.md", "examples/hello.cpp") and right


def litmus_sources(root):
    return "".join(path.read_text() for path in sorted((root / "tests/consistency").glob("*litmus_test.cpp")))


def litmus(root):
    text = (root / "docs" / "consistency.md").read_text()
    # "Test: *one name*." or "Tests: *a name*, *another*.", over lines.
    groups = re.findall(r"^Tests?:((?:\s+\*[^*]+\*[,.])+)", text, re.MULTILINE)
    documented = {" ".join(name.split()) for group in groups for name in re.findall(r"\*([^*]+)\*", group)}
    source = litmus_sources(root)
    tested = set(re.findall(r'TEST_CASE\(\s*"([^"]+)"', source))
    for name in sorted(documented - tested):
        print(f"docs/consistency.md names the litmus test '{name}', which no litmus test in tests/consistency has")
    for name in sorted(tested - documented):
        print(f"tests/consistency has the test '{name}', which docs/consistency.md does not name")
    if not documented:
        print("docs/consistency.md names no litmus tests")
    return bool(documented) and documented == tested


def anchors(text):
    """Of the headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def documents(root):
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]


# As it is named in backquotes, from the root: `src/mpi/probe.cpp`, `scripts/test`. `cache/copy` is a benchmark.
FILE = (r"(?:src|include|datatype|window|tests|benchmarks|scripts|examples|cmake|tools|docs|data)/[\w./-]*"
        r"|(?:arrays|bindings|cache|model|pipeline|prefetch|runtime|upc)/(?:[\w./-]*\.\w+)?")


def links(root):
    right = True
    for document in documents(root):
        text = document.read_text()
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        targets = [(target, document.parent) for target in re.findall(r"\]\(([^)\s]+)\)", prose)]
        targets += [(target, root) for target in re.findall(rf"`({FILE})`", prose)]
        for target, start in targets:
            if re.match(r"[a-z]+:", target) or re.search(r"\b(?:NAME|ROOM)\b", target.replace("_", " ")): # which stand for any
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


def entries(text):
    """Paragraphs and items of lists, each in one line, with the number of its first."""
    found = []
    continues = False
    for number, line in enumerate(text.splitlines(), 1):
        if continues and line.strip() and not re.match(r"\s*(?:\d+\.|[-|#*]) ?", line):
            found[-1][1] += " " + line.strip()
        elif line.strip():
            found.append([number, line.strip()])
        continues = bool(line.strip()) and not line.startswith("#")
    return found


def walks(root):
    """A function is written `name()` or `Class::name()`, and belongs to the file before it, or to the one of "`name()` of `file`"."""
    right = True
    checked = 0
    for number, entry in entries((root / "docs" / "code-tour.md").read_text()):
        file = None
        names = list(re.finditer(rf"`(?:(?P<file>{FILE})|(?P<function>(?:[\w]+::)*(?:~?\w+|operator\(\))\(\)))`", entry))
        for name, following in zip(names, [*names[1:], None]):
            if name["file"]:
                file = name["file"]
                continue
            owner = file
            if following is not None and following["file"] and entry[name.end():following.start()] in (" of ", " in "):
                owner = following["file"]
            path = root / owner if owner else None
            if path is None or not path.is_file():
                print(f"docs/code-tour.md:{number}: {name['function']} follows no file")
                right = False
                continue
            # Declared, defined or called there; its class is at least mentioned.
            *scopes, function = name["function"].removesuffix("()").split("::")
            text = path.read_text()
            called = re.search(rf"(?<![\w~]){re.escape(function)}(?:<[^<>()]*>)?[({{]", text)
            for missing in [] if called else [function]:
                print(f"docs/code-tour.md:{number}: {owner} has no {missing}()")
                right = False
            for scope in scopes:
                if not re.search(rf"\b{scope}\b", text):
                    print(f"docs/code-tour.md:{number}: {owner} has no {scope}")
                    right = False
            checked += 1
    picture = (root / "docs" / "pictures" / "rooms.dot").read_text()
    table = (root / "docs" / "architecture.md").read_text()
    floors = re.search(r"^readonly floors='([^']*)'", (root / "scripts" / "check-layering").read_text(), re.MULTILINE)[1]
    for folder, floor in (pair.split("=") for pair in floors.split()):
        if f"\n| {floor} | `{folder}/` |" not in table:
            print(f"docs/architecture.md has no row of the room {folder}/ on floor {floor}")
            right = False
        if not (f'label="{folder}/: ' in picture and f'label="{floor}"' in picture):
            print(f"docs/pictures/rooms.dot has no {folder}/ on floor {floor}")
            right = False
    return right and checked > 0


def parts(program):
    """What a program has between the marks `// [name]` and `// [end]`, in Python `# [name]`, in Fortran `! [name]`, without the indentation."""
    found, name, lines = {}, None, []
    for line in program.read_text().splitlines():
        mark = re.fullmatch(r"\s*(?://|#|!) \[([\w: ]+)\]", line)
        if mark is None:
            lines.append(line)
        elif mark[1] == "end" and name is not None:
            found[name] = textwrap.dedent("\n".join(lines)) + "\n"
            name = None
        elif mark[1] != "end" and name is None:
            name, lines = mark[1], []
        else:
            raise SystemExit(f"{program}: the marks // [{name}] and // [{mark[1]}] do not pair")
    if name is not None:
        raise SystemExit(f"{program}: // [{name}] has no end")
    return found


def snippets(root):
    right = True
    shown = set()
    for document in documents(root):
        text = document.read_text()
        for file, name in re.findall(r"<!-- ([\w./-]+)#([^>]*?): begin", text):
            mark = re.escape(f"{file}#{name}")
            code = re.fullmatch(r"```(?:c|cpp|fortran|python)\n(.*)```\n", part(text, mark, document.name), re.DOTALL)
            if not code:
                raise SystemExit(f"{document}: {file}#{name} is not one block of c, cpp, fortran or python")
            actual = parts(root / file).get(name)
            if actual is None:
                print(f"{document.relative_to(root)}: {file} has no part [{name}]")
                right = False
                continue
            right &= same(code[1], actual, str(document.relative_to(root)), f"{file}#{name}")
            shown.add((file, name))
    for program in sorted(file for suffix in ("c", "cpp", "f90", "py") for file in (root / "examples").rglob(f"*.{suffix}")):
        file = str(program.relative_to(root))
        for name in parts(program):
            if (file, name) not in shown:
                print(f"{file}: no page shows the part [{name}]")
                right = False
    return right and bool(shown)


def counters(root):
    lists = root / "include" / "lapwing" / "detail" / "counters"
    order = re.findall(r"^#include <lapwing/detail/counters/(\w+\.inc)>$", (lists / "all.inc").read_text(), re.MULTILINE)
    right = True
    for unread in sorted({file.name for file in lists.iterdir()} - {"all.inc", *order}):
        print(f"include/lapwing/detail/counters/all.inc does not include {unread}")
        right = False
    declared = [name for file in order
                for name in re.findall(r"^LAPWING_COUNTER\((\w+)\)", (lists / file).read_text(), re.MULTILINE)]
    table = part((root / "docs" / "troubleshooting.md").read_text(), "counters", "docs/troubleshooting.md")
    documented = re.findall(r"^\| `(\w+)` \| \S", table, re.MULTILINE)
    return right and bool(declared) and same("\n".join(documented) + "\n", "\n".join(declared) + "\n",
                                             "docs/troubleshooting.md", "include/lapwing/detail/counters/all.inc")


def bars(root):
    page = (root / "docs" / "bars.md").read_text()

    def made(what):
        return subprocess.run([sys.executable, root / "scripts" / "bench", what], check=True, stdout=subprocess.PIPE, text=True).stdout

    registered = {line.split()[0] for line in made("list").splitlines()}
    named = set(re.findall(r"`([^`]+)`", page))
    families = tuple(name[:-1] for name in named if name.endswith("…"))
    missing = sorted(name for name in registered if name not in named and not name.startswith(families))
    for name in missing:
        print(f"docs/bars.md does not name the benchmark {name}")
    right = bool(registered) and not missing
    first_page = (root / "README.md").read_text()
    for file, text, what in (("docs/bars.md", page, "bars"), ("docs/bars.md", page, "missed"), ("README.md", first_page, "first-page")):
        right &= same(part(text, what, file), made(what), file, f"scripts/bench {what}")
    # What has a stored row needs no line that was written by hand.
    stored = {row["bench"] for row in json.loads((root / "benchmarks" / "measured.json").read_text())["rows"]}
    by_hand = re.search(r"^### Not stored yet$(.*?)^##", page, re.MULTILINE | re.DOTALL)
    cells = re.findall(r"^\| ([^|]*) \|", by_hand[1] if by_hand else "", re.MULTILINE)
    for name in sorted(stored & {name.split()[0] for cell in cells for name in re.findall(r"`([^`]+)`", cell)}):
        print(f"docs/bars.md: {name} has stored rows: its line below 'Not stored yet' goes")
        right = False
    return right


def docstrings(root):
    right = True
    for header in sorted((root / "include").rglob("*.h*")):
        inside = False
        for number, line in enumerate(header.read_text().splitlines(), 1):
            comment = re.match(r"\s*///? ?(.*)$", line)
            text = comment[1] if comment else ""
            if text.startswith("```"):
                inside = not inside
                continue
            inside = inside and comment is not None
            code = re.sub(r"\s*//.*$", "", text).rstrip() if inside else ""
            if code and not re.search(r"[;{},(&|:=>)…]$|^#", code):
                print(f"{header.relative_to(root)}:{number}: this is no end of a line of a program: {code}")
                right = False
    return right


def pictures(root):
    right = True
    texts = sorted((root / "docs" / "pictures").glob("*.dot"))
    for text in texts:
        # Other versions of Graphviz draw other lines, but write the same words. A line of a label is a text of its own.
        labels = re.findall(r'\blabel="([^"]*)"', re.sub(r"^\s*//.*", "", text.read_text(), flags=re.MULTILINE))
        wanted = sorted(line for label in labels for line in label.split("\\n") if line)
        picture = text.with_suffix(".svg")
        drawn = sorted(html.unescape(line) for line in re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text()))
        right &= same("\n".join(drawn) + "\n", "\n".join(wanted) + "\n", picture.name, text.name)
    if not right:
        print("scripts/docs --pictures makes them anew")
    return right and bool(texts)


def claims(root):
    right = True

    def false(name, what):
        nonlocal right
        print(f"{name}: {what}")
        right = False

    built = "\n".join(file.read_text() for pattern in ("CMakeLists.txt", "*.cmake", "*.in")
                      for folder in ("cmake", "tools", "benchmarks", "upc", "bindings", "src", "runtime", "packaging")
                      for file in (root / folder).rglob(pattern)) + (root / "CMakeLists.txt").read_text()
    counts = {
        "counters": sum(file.read_text().count("\nLAPWING_COUNTER(")
                        for file in (root / "include" / "lapwing" / "detail" / "counters").glob("*.inc")),
        "litmus tests": litmus_sources(root).count("\nTEST_CASE("),
        "settings": (root / "docs" / "settings.md").read_text().count("\n| `LAPWING_"),
    }
    checked = (root / "scripts" / "test").read_text()
    known_variables = set(re.findall(r"\bLAPWING_\w+", built + (root / "docs" / "settings.md").read_text()))
    for folder in ("include", "src", "runtime", "window", "upc", "bindings", "model", "tests", "benchmarks", "scripts", "examples", "tools", "packaging"):
        for file in (root / folder).rglob("*"):
            if file.is_file() and file.suffix not in (".md", ".svg", ".png", ".pyc"):
                known_variables |= set(re.findall(r"\bLAPWING_\w+", file.read_text(errors="replace")))
    for document in documents(root):
        name = document.relative_to(root)
        text = " ".join(re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL).split())
        for program in sorted(set(re.findall(r"`(lapwing-[a-z]+)\b", text))):
            if program not in built:
                false(name, f"nothing builds or installs {program}")
        for what in re.findall(r"formatted by `([^`]*)`", text):
            if not (root / what).is_file() or "check-format" not in checked:
                false(name, f"formatted by {what}: there is no such file, or scripts/test does not check it")
        for variable in sorted(set(re.findall(r"\bLAPWING_[A-Z0-9_]+[A-Z0-9]\b(?!…|_|\*)", document.read_text())) - known_variables):
            false(name, f"{variable}: neither CMake, nor a source or a script knows it")
        for number, what in re.findall(r"\b(\d+) (" + "|".join(counts) + r")\b", text):
            if int(number) != counts[what]:
                false(name, f"{number} {what}: there are {counts[what]}")
    page = (root / "docs" / "building.md").read_text()
    for option, default in re.findall(r"^\| `(\w+)` \| `(\w+)` \|", page, re.MULTILINE):
        declared = re.search(rf'(?:option\({option} "[^"]*" |set\({option} |set\(\s*{option}\s+)"?(\w*)', built)
        if not option.startswith("CMAKE_") and (not declared or declared[1] != default):
            false("docs/building.md", f"{option}: {declared[1] if declared else 'there is no such option'}, not {default}, is the default")
    recipe = set(re.findall(r'^    variant\("(\w+)"', (root / "packaging" / "spack" / "package.py").read_text(), re.MULTILINE))
    variants = set(re.findall(r"`(\w+)`", re.search(r"package\.py` is a recipe with the variants([^;]*);", page)[1]))
    if recipe != variants:
        false("docs/building.md", f"the recipe for Spack differs in the variants {', '.join(sorted(recipe ^ variants))}")
    return right


COMMAND = r"(?<![\w/.-])(lapwing-(?:info|tune|advise|launch|upcc|upcrun)|(?:scripts|benchmarks)/[\w-]+(?:\.py)?)(?![\w/.-])"
LONG_OPTION = r"(?<![\w-])--[a-z][\w-]*"


def named_options(root):
    """Each option that a page names after a command, in the same line of code, or in a table about the command."""
    for document in documents(root):
        text = document.read_text()
        for line in "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL)).splitlines():
            for piece in re.split(r"&&|\||;|#|…", line):
                names = list(re.finditer(COMMAND, piece))
                for name, following in zip(names, [*names[1:], None]):
                    rest = piece[name.end():following.start() if following else None]
                    # What a program is given that scripts/launch starts is its own.
                    rest = re.sub(r"\s(?:build/|PROGRAM)\S*.*", "", rest)
                    for option in re.findall(LONG_OPTION, rest):
                        yield document.name, name[1], option
    # docs/commands.md: a row is about the commands that it begins with, or that its section has in the heading.
    section = []
    for line in (root / "docs" / "commands.md").read_text().splitlines():
        if line.startswith("#"):
            section = re.findall(COMMAND, line)
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        commands = section or (re.findall(COMMAND, cells[0]) if cells else [])
        for command in commands:
            for code in re.findall(r"`([^`]*)`", " ".join(cells)):
                if not re.match(COMMAND, code) and not code.startswith("mpirun"):
                    yield from (("commands.md", command, option) for option in re.findall(LONG_OPTION, code))


def options(root, tools):
    right = True
    helps = {}

    def false(what):
        nonlocal right
        print(what)
        right = False

    def run(command, *arguments):
        program = root / "scripts" / "launch" if command == "lapwing-launch" else root / command
        if command.startswith("lapwing-") and command != "lapwing-launch":
            program = next((one for one in Path(tools).rglob(command) if one.is_file()), None)
        return program and subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)

    named = sorted(set(named_options(root)))
    for command in sorted({command for _, command, _ in named}):
        if not command.startswith("lapwing-") and not (root / command).is_file():
            continue # the check of links names it
        done = run(command, "--help")
        if done is None:
            continue # a command that is not built here
        helps[command] = done.stdout
        if done.returncode != 0:
            false(f"{command} --help exits with {done.returncode}, not 0")
        code = run(command, "--no-such-option").returncode
        if code != 2:
            false(f"{command} --no-such-option exits with {code}, not 2, as docs/commands.md says of wrong options")
    for page, command, option in named:
        if command in helps and not re.search(rf"(?<![\w-]){option}(?![\w-])", helps[command]):
            false(f"{page}: {command} {option}: its --help has no such option")
    checked = 0
    for command, option, number in default_values(root):
        if command not in helps:
            continue
        described = re.findall(rf"^ *(?:-\w\b.*)?{option}(?![\w-]).*(?:\n(?!\s*-).*)*", helps[command], re.MULTILINE)
        checked += 1
        if not re.search(rf"(?<![\w.]){re.escape(number)}(?![\w.]*\d)", "\n".join(described)):
            false(f"commands.md: {command} {option}: its --help does not have the default {number}")
    return right and bool(helps) and checked > 0


def default_values(root):
    """Of docs/commands.md: an option, and the number in the brackets that follow it."""
    section = []
    for line in (root / "docs" / "commands.md").read_text().splitlines():
        if line.startswith("#"):
            section = re.findall(COMMAND, line)
        commands = section or re.findall(COMMAND, line.split("|")[1] if line.startswith("|") else "")
        for option, number, unit in re.findall(rf"`({LONG_OPTION})[^`]*`[^`|]*?(?:\|[^`|]*?)?\((\d[\d.]*)( MiB)?[^)]*\)", line):
            yield from ((command, option, str(int(number) << 20) if unit else number) for command in commands)


OF_PROGRAM = {"settings": settings, "scale": scale, "options": options}
CHECKS = {"example": example, "litmus": litmus, "links": links, "walks": walks, "snippets": snippets, "counters": counters,
          "bars": bars, "docstrings": docstrings, "pictures": pictures, "claims": claims}

# A file, a pattern in it, and what is there in its place: a fault that the check must find.
FAULTS = [
    ("example", "README.md", r"(?m)^#include <lapwing", "#include  <lapwing"),
    ("example", "README.md", r"\Z", "\n" * LONGEST_FIRST_PAGE),
    ("example", "examples/c/hello.c", r"\Z", "\n"),
    ("litmus", "tests/consistency/litmus_test.cpp", r'TEST_CASE\("', 'TEST_CASE("another '),
    ("litmus", "docs/consistency.md", r"(?m)^Tests?:", "Tried:"),
    ("links", "README.md", r"\(docs/platforms\.md\)", "(docs/platform.md)"),
    ("links", "docs/mpi.md", r"\(consistency\.md#", "(consistency.md#no-"),
    ("walks", "pipeline/planner.cpp", r"\bfull_pack\(", "full_packs("),
    ("walks", "docs/architecture.md", r"\| `pipeline/` \|", "| `pipelines/` |"),
    ("snippets", "examples/c/hello.c", r"\Z", "// [nowhere]\n// [end]\n"),
    ("snippets", "docs/prefetch.md", r"(?m)^(<!-- examples/.*#.*: begin.*\n```\w+\n)", r"\1 "),
    ("counters", "docs/troubleshooting.md", r"`cache_misses` \| reads", "`cache_missed` | reads"),
    ("bars", "docs/bars.md", r"(?m)^\| `cache/hit8` .*\n", ""),
    ("bars", "docs/bars.md", r"(?m)^\| `latency/get8` \| openmpi, tcp, service \| .*\n", ""),
    ("bars", "docs/bars.md", r"(?m)^\| `checkpoint` \|", "| `breadth-first` | 0.5, 0.6 | |\n| `checkpoint` |"),
    ("bars", "README.md", r"(?m)^(\| read 8 bytes .* \|) [0-9.]+ us \|", r"\1 12.1 us |"),
    ("docstrings", "include/lapwing/rank.hpp", r"\Z", "/// ```\n/// window.put(target,\n/// offset\n/// ```\n"),
    ("pictures", "docs/pictures/superpipeline.dot", r'label="superpipeline"', 'label="pipeline"'),
    ("claims", "README.md", r"\Z", "There are 3 settings.\n"),
    ("claims", "README.md", r"\Z", "`lapwing-nothing`\n"),
    ("claims", "README.md", r"\Z", "`LAPWING_NO" + "THING=on`\n"),
    ("claims", "docs/building.md", r"\| `LAPWING_WERROR` \| `OFF`", "| `LAPWING_WERROR` | `ON`"),
    ("claims", "docs/building.md", "`otf2` and `checks`;", "`checks`;"),
]


def self_test(root):
    right = True

    def runs(check, copy):
        return subprocess.run([sys.executable, __file__, check, "--root", copy], capture_output=True, text=True)

    for check, file, pattern, wrong in FAULTS:
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch)
            top = Path(file).parts[0]
            for entry in root.iterdir():
                if entry.name != top:
                    (copy / entry.name).symlink_to(entry)
            (shutil.copytree if (root / top).is_dir() else shutil.copy)(root / top, copy / top)
            before = runs(check, copy)
            text, changes = re.subn(pattern, wrong, (copy / file).read_text())
            (copy / file).write_text(text)
            after = runs(check, copy)
            problem = (f"{file} has no '{pattern}'" if not changes
                       else f"a copy without a fault does not pass: {before.stdout}{before.stderr}" if before.returncode != 0
                       else f"does not find '{wrong.strip()}' in {file}" if after.returncode == 0
                       else f"fails over '{wrong.strip()}' in {file}: {after.stderr}" if "Traceback" in after.stderr else None)
            if problem:
                print(f"{check}: {problem}")
                right = False
    return right


CHECKS["self-test"] = self_test


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=(*OF_PROGRAM, *CHECKS))
    parser.add_argument("program", nargs="?", help="lapwing-info; scale_test, or the file that it has written; where the commands are")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent.parent)
    arguments = parser.parse_args()
    if (arguments.check in OF_PROGRAM) != (arguments.program is not None):
        parser.error(f"{', '.join(OF_PROGRAM)} take a program, the others none")
    if arguments.check in OF_PROGRAM:
        right = OF_PROGRAM[arguments.check](arguments.root, arguments.program)
    else:
        right = CHECKS[arguments.check](arguments.root)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
