#!/usr/bin/env python3
"""Writes manual pages and completion for shells, from the headers of the C interface and from what the commands say with --help.

usage: manual_pages.py functions INCLUDE VERSION DIRECTORY          man3/NAME.3 of every function of C, and man3/lapwing.3
       manual_pages.py commands VERSION DIRECTORY NAME=PROGRAM…     man1/NAME.1, lapwing.bash and _lapwing, of what PROGRAM prints

A page describes the functions that share a docstring; the names of the others refer to it.
"""

import re
import subprocess
import sys
from pathlib import Path


def roff(text):
    """Text as troff takes it: no line begins with a dot, no hyphen becomes a dash that cannot be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"[^\x00-\x7f]", lambda sign: f"\\[u{ord(sign[0]):04X}]", text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def marked(text):
    """The same with what is in backquotes, and names of functions and constants, in bold."""
    text = roff(text)
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return re.sub(r"(?<![\w\\])((?:lapwing_\w+(?:\(\))?|LAPWING_\w+))", r"\\fB\1\\fR", text)


def sentences(lines):
    """A docstring as paragraphs."""
    return marked(" ".join(line.strip() for line in lines))


def block(text):
    return ".nf\n" + roff(text.rstrip("\n")) + "\n.fi\n"


def arguments_of(text, begin):
    """What is between the bracket at `begin` and its end, split at commas outside of brackets; and where it ends."""
    found, depth, word, end = [], 0, "", begin
    while True:
        sign = text[end]
        depth += {"(": 1, ")": -1}.get(sign, 0)
        end += 1
        if depth == 0:
            return [*found, word[1:].strip()] if not found else [found[0][1:].strip(), *(one.strip() for one in found[1:]), word.strip()], end
        if sign == "," and depth == 1:
            found.append(word)
            word = ""
        else:
            word += sign


def expanded(text, macros):
    """Calls of these macros, as the preprocessor replaces them, as far as names of functions and arguments need it."""
    while found := re.search(r"\b(" + "|".join(macros) + r")\s*\(", text):
        names, body = macros[found[1]]
        given, end = arguments_of(text, found.end() - 1)
        for name, value in zip(names, given):
            body = re.sub(rf"\b{name}\b", lambda _, value=value: value, body)
        text = text[: found.start()] + body.replace("##", "") + text[end:]
    return text


def with_inline_functions(text):
    """A header in which macros that define inline functions have given way to the declarations of these, below the same docstring."""
    lines = text.replace("\\\n", " ")
    macros = {found[1]: (found[2].replace(" ", "").split(","), found[3]) for found in re.finditer(r"^#define (LAPWING_\w*FUNCTIONS_\w*)\(([^)]*)\)(.*)$", lines, re.MULTILINE)}
    if not macros:
        return text
    calls = "\n".join(re.findall(rf"^(?:{'|'.join(macros)})\(.*\)$", lines, re.MULTILINE))
    code = re.sub(r"LAPWING_UNPACK_\s*\(([^()]*)\)", r"\1", expanded(calls, macros))
    declarations = "".join(f"{one};\n" for one in re.findall(r"static inline (int lapwing_\w+\([^{}]*\)) \{", re.sub(r" +", " ", code)))
    return re.sub(r"((?:^///[^\n]*\n)+)#define LAPWING_\w*FUNCTIONS_\w*\(", lambda found: f"{found[1]}{declarations}\n{found[0][len(found[1]):]}", text, count=1, flags=re.MULTILINE)


class Header:
    """Functions of a header with the docstrings above them, and its types."""

    def __init__(self, path):
        self.name, self.groups, self.types = path.name, [], {}
        text = path.read_text()
        self.about = " ".join(line.strip(" *") for line in re.search(r"/\*\n(.*?)\*/", text, re.DOTALL)[1].splitlines())
        text = with_inline_functions(text)
        text = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*\n", "\n", text, flags=re.MULTILINE).replace('extern "C" {', "")
        text = re.sub(r"(?<=\)) \{[^{}]*\n    (?:return|const|\*)[^}]*?^\}", ";", text, flags=re.DOTALL | re.MULTILINE)  # of inline functions
        docstring, code, collecting = [], "", False
        for line in text.splitlines():
            if line.startswith("///"):
                if not self.ends(code):
                    raise SystemExit(f"{path}: a docstring begins within {code!r}")
                if not collecting:
                    docstring = []
                collecting = True
                docstring.append(line[3:])
            elif not line.strip() and self.ends(code):
                docstring, code, collecting = [], "", False
            elif not line.startswith(("/", "*", " *", "LAPWING_")) or code:
                code, collecting = code + line + "\n", False
                if self.ends(code):
                    self.add(docstring, code)
                    code = ""

    @staticmethod
    def ends(code):
        return code.count("{") == code.count("}") and code.count("(") == code.count(")") and (not code.strip() or code.rstrip().endswith((";", "}")))

    def add(self, docstring, code):
        if found := re.search(r"typedef (?:struct|enum)?\s*.*?(\w+);\s*$|typedef .*?\(\*(\w+)\)", code, re.DOTALL):
            self.types[found[2] or found[1]] = (docstring, code)
        elif re.match(r"(enum|union|\})", code):
            pass
        elif found := re.search(r"\b(lapwing_\w+)\s*\(", code):
            if found[1].endswith("_"):
                return
            code = re.sub(r"\s*\{.*\}\s*$|\s*;\s*;?\s*$", ";\n", code, flags=re.DOTALL).replace("static inline ", "")
            if self.groups and self.groups[-1][0] is docstring:
                self.groups[-1][1].append((found[1], code))
            else:
                self.groups.append((docstring, [(found[1], code)]))


def page(name, section, version, manual, parts):
    lines = [f'.TH "{name.upper()}" "{section}" "" "Lapwing {version}" "{manual}"']
    for title, text in parts:
        if text:
            lines += [f".SH {title}", text.rstrip("\n")]
    return "\n".join(lines) + "\n"


def wrapped_prototype(code):
    """A declaration in lines of a terminal's width, the arguments below each other."""
    flat = re.sub(r"\s+", " ", code).strip().replace("( ", "(")
    begin = flat.index("(") + 1
    lines = [flat[:begin]]
    for k, argument in enumerate(flat[begin:].split(", ")):
        if k > 0 and len(lines[-1]) + len(argument) > 70:
            lines[-1] += ","
            lines.append("    ")
        elif k > 0:
            lines[-1] += ", "
        lines[-1] += argument
    return "\n".join(lines)


def error_meanings(header):
    return {name: " ".join(re.sub(r"\s*///<", " ", text).split()) for name, text in re.findall(r"(LAPWING_ERR_\w+)\s*=\s*\d+,?\s*///<([^\n]*(?:\n\s*///<[^\n]*)*)", header.replace("=\n", "= "))}


def functions(include, version, directory):
    folder = directory / "man3"
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted((include / "lapwing/c").glob("*.h"))
    headers = [Header(path) for path in paths]
    types = {name: (docstring, code, header.name) for header in headers for name, (docstring, code) in header.types.items()}
    codes = error_meanings((include / "lapwing/c/error.h").read_text())
    written, index = 0, []
    for header in headers:
        before = None
        for docstring, group in header.groups:
            if not docstring:
                raise SystemExit(f"lapwing/c/{header.name}: {group[0][0]}() has no docstring")
            names = [name for name, _ in group]
            text = " ".join(line.strip() for line in docstring)
            about = re.sub(r"^(Collective|Local)(, one thread|, any thread)?(?:: the same [^.]*)?[.:] ", "", text)
            summary = re.split(r"(?<=[.:;])\s", about)[0].rstrip(".:;")
            if len(summary) > 90:
                summary = summary[:87].rsplit(" ", 1)[0] + " ..."
            synopsis = "\n".join(["#include <lapwing/lapwing.h>", ""] + [wrapped_prototype(code) for _, code in group])
            used = [name for name in types if any(re.search(rf"\b{name}\b", code) for _, code in group)]
            described = ""
            for name in used:
                documented, code, _ = types[name]
                described += f".SS {name}\n{sentences(documented)}\n.PP\n"
                if "{" in code or "(*" in code:
                    described += ".in +4\n" + block(code) + ".in\n"
            returns = ""
            if group[0][1].startswith("int ") and "Returns no error code" not in text and not names[0].startswith(("lapwing_error_text", "lapwing_error_code", "lapwing_error_mpi")):
                returns = "LAPWING_SUCCESS, or one of the codes below; lapwing_error_text(3) says what was wrong and what to do."
                returns = marked(returns)
            mentioned = {"LAPWING_ERR_" + name for name in re.findall(r"(?:LAPWING_ERR|(?<=[ ,(])|^)_([A-Z]{2,}(?:_[A-Z]+)*)\b", text)}
            errors = "".join(f".TP\n\\fB{name}\\fR\n{marked(meaning)}\n" for name, meaning in codes.items() if name in mentioned)
            others = [other for _, others in header.groups for other, _ in others if other not in names]
            near = ", ".join(f"\\fB{one}\\fR(3)" for one in ["lapwing", *others[:24]])
            description = sentences(docstring)
            # A page stands alone, where a reader of the header has seen the docstring before.
            if before is not None and re.search(r"\b(as above|the same|as those|non-blocking|notify twice|either)\b", text, re.IGNORECASE):
                description += f"\n.PP\n\\fB{before[0]}\\fR(3), to which this refers: {sentences(before[1])}"
            parts = [
                ("NAME", roff(", ".join(names)) + " \\- " + roff(summary.replace("`", ""))), ("SYNOPSIS", block(synopsis)), ("DESCRIPTION", description),
                ("TYPES", described), ("RETURN VALUE", returns), ("ERRORS", errors), ("SEE ALSO", near),
            ]
            (folder / f"{names[0]}.3").write_text(page(names[0], 3, version, "Lapwing in C", parts))
            for other in names[1:]:
                (folder / f"{other}.3").write_text(f".so man3/{names[0]}.3\n")
            written += len(names)
            index.append((header.name, names, summary))
            before = (names[0], docstring)
    rules = re.search(r"/\*\n(.*?)\*/", (include / "lapwing/lapwing.h").read_text(), re.DOTALL)[1]
    paragraphs = "\n.PP\n".join(sentences(line.strip(" *") for line in one.splitlines()) for one in re.split(r"\n \*\n", rules))
    constants = ""
    for path in paths:
        enums = re.findall(r"^(?:enum \{[^\n]*\};|enum \{\n.*?^\};|#define LAPWING_[A-Z0-9]+(?:_COMPLEX|_DIMENSIONS)?(?: |\()[^\n]*)", path.read_text(), re.MULTILINE | re.DOTALL)
        if enums:
            constants += f".SS lapwing/c/{path.name}\n" + block("\n".join(enums))
    contents = ""
    for header in headers:
        contents += f".SS lapwing/c/{header.name}\n{marked(header.about)}\n"
        for name, names, summary in index:
            if name == header.name:
                contents += ".TP\n" + ", ".join(f"\\fB{one}\\fR(3)" for one in names) + f"\n{roff(summary.replace('`', ''))}\n"
    parts = [("NAME", "lapwing \\- one\\-sided communication on MPI, from C"), ("SYNOPSIS", block("#include <lapwing/lapwing.h>\n\ncc program.c $(pkg-config --cflags --libs lapwing-c)")),
             ("DESCRIPTION", paragraphs), ("FUNCTIONS", contents), ("CONSTANTS", constants)]
    (folder / "lapwing.3").write_text(page("lapwing", 3, version, "Lapwing in C", parts))
    print(f"{written} functions")


# Of commands that do not say what they are for.
ABOUT = {
    "lapwing-launch": "Starts an MPI program, of Open MPI or of any MPICH, over shared memory, TCP or virtual hosts.",
    "lapwing-upcrun": "Starts a UPC program that lapwing-upcc has linked.",
}
OPTION = re.compile(r"^ {2}(?=-)(.*)$")


def options_of(text):
    """Options of a help text, with what they take: (names, values); values is None, a list of words, or "file" or ""."""
    found = []
    for line in text.splitlines():
        if not OPTION.match(line):
            continue
        # Two blanks or more are before what the option is for.
        part = re.split(r" {3,}|\s+Excludes:", line.strip())[0]
        names, values = [], None
        for word in re.split(r",\s*|\s{1,2}", part):
            name = re.fullmatch(r"(--?[A-Za-z][\w-]*)(=?)(.*)", word)
            if name and "…" not in word:
                names.append(name[1])
                if name[2]:
                    values = "" if values is None else values
            elif word and names and values is None and not word.startswith("-"):
                word = re.sub(r"\[.*", "", word)
                values = word.split("|") if re.fullmatch(r"[a-z0-9]+(\|[a-z0-9]+)+", word) else "file" if re.match(r"FILE|DIRECTORY|TEXT", word) else ""
        if names:
            found.append((names, values))
    return found


def notes_of(name):
    """Sections of a command's page that manual_notes.txt has."""
    found, inside = [], False
    for line in (Path(__file__).parent / "manual_notes.txt").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if head := re.fullmatch(r"\[([\w-]+)\] ([A-Z ]+)", line):
            inside = head[1] == name
            if inside:
                found.append((head[2], ""))
        elif inside:
            section, text = found[-1]
            found[-1] = (section, text + (block(line) if line.startswith(" ") else marked(line) + "\n"))
    return found


def commands(version, directory, programs):
    (directory / "man1").mkdir(parents=True, exist_ok=True)
    all_options = {}
    for name, program in programs:
        said = subprocess.run([program, "--help"], check=True, capture_output=True, text=True, timeout=60)
        text = (said.stdout or said.stderr).replace(str(program), name).replace("scripts/launch", name)
        lines = text.rstrip().splitlines()
        first_option = next((k for k, line in enumerate(lines) if OPTION.match(line)), len(lines))
        said = [line for line in lines[:first_option] if line and not re.match(r"usage:|Usage:|Options:|\s", line)]
        about = " ".join(said) or ABOUT.get(name, name)
        usage = [line for line in lines if re.match(r"(?i)usage:", line) or (lines.index(line) == 1 and re.match(r" {7}\S", line))]
        rest = "\n".join(line for line in lines if line not in usage and line not in said and not line.startswith("Options:"))
        options = "".join(".TP\n\\fB" + roff(head.strip()) + "\\fR\n" + marked(tail) + "\n" for head, tail in entries(rest))
        prose = marked(" ".join(line for line in rest.splitlines() if line and not line.startswith(" ")))
        first = re.split(r"(?<=\.)\s", about)[0].rstrip(".")
        parts = [("NAME", f"{roff(name)} \\- {roff(first[0].lower() + first[1:])}"), ("SYNOPSIS", block("\n".join(re.sub(r"(?i)^usage:\s*", "", line).strip() for line in usage))),
                 ("DESCRIPTION", marked(about)), ("OPTIONS", options), ("NOTES", prose), *notes_of(name), ("SEE ALSO", "\\fBlapwing\\fR(3)")]
        (directory / "man1" / f"{name}.1").write_text(page(name, 1, version, "Lapwing", parts))
        all_options[name] = options_of(text)
    (directory / "lapwing.bash").write_text(bash(all_options))
    (directory / "_lapwing").write_text(zsh(all_options))
    print(f"{len(programs)} commands")


def entries(text):
    """Options, and the text beside and below them."""
    found = []
    for line in text.splitlines():
        if OPTION.match(line):
            head, tail = re.match(r"(.*?)(?: {3,}(.*))?$", line.strip()).groups("")
            if not tail:
                head, _, tail = (line.strip() + "  ").partition("  ")
            if excluded := re.match(r"\s*(\S+) Excludes: \S+ (.*)", line):
                head, tail = excluded.groups()
            found.append([head, tail.strip()])
        elif found and line.startswith("          "):
            found[-1][1] = (found[-1][1] + " " + line.strip()).strip()
    return found


# What follows a command after its options: a program to start, or files.
PROGRAM_FOLLOWS = ("lapwing-launch", "lapwing-upcrun")


def bash(all_options):
    lines = ["# Completion of Lapwing's commands for bash, written by cmake/manual_pages.py.", "_lapwing() {", '    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}',
             "    COMPREPLY=()", "    case ${1##*/} in"]
    for name, options in all_options.items():
        lines += [f"    {name} | {name}.openmpi | {name}.mpich)", "        case $before in"]
        for names, values in options:
            if values is None:
                continue
            answer = "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")" if values == "file" else "return" if values == "" else \
                f"mapfile -t COMPREPLY < <(compgen -W '{' '.join(values)}' -- \"$word\")"
            lines += [f"        {' | '.join(names)})", f"            {answer}", "            return", "            ;;"]
            if answer == "return":
                lines[-3:-2] = []
        every = " ".join(one for names, _ in options for one in names)
        lines += ["        esac", "        if [[ $word == -* ]]; then", f"            mapfile -t COMPREPLY < <(compgen -W '{every}' -- \"$word\")", "            return", "        fi", "        ;;"]
    lines += ["    esac", '    mapfile -t COMPREPLY < <(compgen -f -- "$word")', "}"]
    for name in all_options:
        lines.append(f"complete -o filenames -F _lapwing {name} {name}.openmpi {name}.mpich")
    return "\n".join(lines) + "\n"


def zsh(all_options):
    tags = " ".join(f"{name} {name}.openmpi {name}.mpich" for name in all_options)
    lines = [f"#compdef {tags}", "# Completion of Lapwing's commands for zsh, written by cmake/manual_pages.py.", "case ${service%.(openmpi|mpich)} in"]
    for name, options in all_options.items():
        lines += [f"{name})", "    _arguments \\"]
        for names, values in options:
            for one in names:
                takes = "" if values is None else ":value:_files" if values == "file" else ":value: " if values == "" else f":value:({' '.join(values)})"
                lines.append(f"        '*{one}{takes}' \\")
        lines += ["        '*::argument:_normal'" if name in PROGRAM_FOLLOWS else "        '*:file:_files'", "    ;;"]
    lines += ["esac"]
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1] == "functions":
        functions(Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
    else:
        commands(sys.argv[2], Path(sys.argv[3]), [one.split("=", 1) for one in sys.argv[4:]])


if __name__ == "__main__":
    main()
