#!/usr/bin/env python3
"""Writes the reference of the interfaces in C, Fortran and Python as HTML, beside that of C++, and checks all links of the site.

usage: reference_pages.py ROOT VERSION DIRECTORY       c.html, fortran.html, python.html, index.html, reference.css; DIRECTORY/api is C++'s

C's is made from the docstrings of include/lapwing/c, Fortran's from bindings/fortran/description.txt and the same docstrings, Python's from
the package. A link that leads nowhere, or a name without a description, is an error.
"""

import ast
import html
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import manual_pages

STYLE = """body { font: 16px/1.5 system-ui, sans-serif; margin: 0; color: #1c2530; background: #fff; display: flex; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; flex: 0 0 15em; padding: 1em; box-sizing: border-box; background: #f3f6f8; font-size: 14px; }
nav ul { list-style: none; margin: 0; padding: 0; } nav li { margin: .2em 0; }
main { flex: 1 1 auto; min-width: 0; max-width: 62em; padding: 1em 2em; }
section.entry { border-top: 1px solid #d5dde4; padding-top: .5em; margin-top: 1em; }
code, pre { font-family: ui-monospace, monospace; font-size: 14px; } a { color: #0b5cad; }
pre { background: #f3f6f8; padding: .6em; margin: .4em 0; } .wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; } td, th { border: 1px solid #d5dde4; padding: .2em .6em; text-align: left; vertical-align: top; }
@media (max-width: 50em) { body { display: block; } nav { position: static; height: auto; max-height: 14em; } main { padding: 1em; } }
"""
LANGUAGES = (("C++", "api/index.html"), ("C", "c.html"), ("Fortran", "fortran.html"), ("Python", "python.html"))


def escaped(text):
    return html.escape(text, quote=False)


def wide(text):
    """What may be wider than a screen scrolls by itself."""
    return f'<div class="wide">{text}</div>'


def code(text):
    return wide(f"<pre>{escaped(text.strip(chr(10)))}</pre>")


def table(head, rows):
    line = lambda cell, cells: "<tr>" + "".join(f"<{cell}>{one}</{cell}>" for one in cells) + "</tr>"
    return wide("<table>" + line("th", head) + "".join(line("td", row) for row in rows) + "</table>")


def page(title, contents, body):
    """`contents`: links of the page: (anchor, text)."""
    others = " · ".join(f'<a href="{file}">{name}</a>' for name, file in LANGUAGES)
    links = "".join(f'<li><a href="#{anchor}">{escaped(text)}</a></li>' for anchor, text in contents)
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<title>{escaped(title)}</title><link rel="stylesheet" href="reference.css"></head>\n<body><nav><p><a href="index.html">Lapwing</a><br>{others}</p>'
            f"<ul>{links}</ul></nav>\n<main><h1>{escaped(title)}</h1>\n{body}</main></body></html>\n")


class Names:
    """Names that have an entry, and texts in which they are links."""

    def __init__(self, file, anchors):
        self.file, self.anchors = file, anchors

    def linked(self, text):
        text = re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped(text))
        # A name with brackets, or one of a constant or a type.
        return re.sub(r"\b(lapwing_\w+|LAPWING_\w+)(\(\))?", lambda found: self.link(found[1], found[0]), text)

    def link(self, name, shown):
        return f'<a href="{self.file}#{name}"><code>{shown}</code></a>' if name in self.anchors else f"<code>{shown}</code>"


# --- C ---


def c_constants(path):
    """The enums and macros of a header that programs use: (names, code)."""
    text = path.read_text()
    found = re.findall(r"^(?:enum \{[^\n]*\};|enum \{\n.*?^\};|#define LAPWING_[A-Z0-9_]*[A-Z0-9](?: |\()[^\n]*)", text, re.MULTILINE | re.DOTALL)
    found = [one for one in found if not re.match(r"#define LAPWING_(C_)?\w+_H\b|#define LAPWING_\w*_\(", one)]
    return [(re.findall(r"\b(LAPWING_[A-Z0-9_]*[A-Z0-9])\b(?= =|,|\s*\})", one) if one.startswith("enum") else [one.split()[1].split("(")[0]], one) for one in found]


def c_headers(root):
    return [(path, manual_pages.Header(path)) for path in sorted((root / "include/lapwing/c").glob("*.h"))]


def c_names(headers):
    anchors = set()
    for path, header in headers:
        anchors |= set(header.types) | {name for _, group in header.groups for name, _ in group} | {name for names, _ in c_constants(path) for name in names}
    return Names("c.html", anchors)


def c_section(path, header, names):
    seen, parts = set(), [f'<h2 id="{path.name}">lapwing/c/{path.name}</h2>\n<p>{names.linked(header.about)}</p>']
    for name, (docstring, text) in header.types.items():
        if "Internal:" in " ".join(docstring) or name.endswith("_value"):
            continue
        parts.append(f'<section class="entry" id="{name}"><h3><code>{name}</code></h3>{code(text)}<p>{names.linked(" ".join(docstring))}</p></section>')
    if constants := c_constants(path):
        spans = []
        for group, text in constants:
            new = [name for name in group if name not in seen]
            seen.update(new)
            spans.append("".join(f'<span id="{name}"></span>' for name in new) + code(text))
        parts.append(f'<section class="entry"><h3>Constants</h3>{"".join(spans)}</section>')
    for docstring, group in header.groups:
        shown = "".join(f'<span id="{name}"></span>' for name, _ in group[1:])
        heads = ", ".join(f"<code>{name}</code>" for name, _ in group) if len(group) < 7 else f"<code>{group[0][0]}</code> and {len(group) - 1} others"
        prototypes = "\n".join(manual_pages.wrapped_prototype(text) for _, text in group)
        parts.append(f'<section class="entry" id="{group[0][0]}">{shown}<h3>{heads}</h3>{code(prototypes)}<p>{names.linked(" ".join(line.strip() for line in docstring))}</p></section>')
    return "\n".join(parts)


def c_page(root, headers, names):
    rules = re.search(r"/\*\n(.*?)\*/", (root / "include/lapwing/lapwing.h").read_text(), re.DOTALL)[1]
    paragraphs = ["".join(f"<p>{names.linked(' '.join(line.strip(' *') for line in one.splitlines()))}</p>" for one in re.split(r"\n \*\n", rules))]
    body = code("#include <lapwing/lapwing.h>\n\ncc program.c $(pkg-config --cflags --libs lapwing-c) -o program") + "".join(paragraphs)
    body += "\n".join(c_section(path, header, names) for path, header in headers)
    return page("Lapwing in C", [(path.name, path.name) for path, _ in headers], body)


# --- Fortran ---

NOTES = {
    "wide": "or a default integer", "wides": "or default integers", "index": "or default integers", "list": "or default integers", "patch": "or default integers",
    "any": "any type, shape and stride", "anyin": "any type, shape and stride",
    "comm": "or an integer of mpi", "win": "or an integer of mpi", "datatype": "or an integer of mpi", "op": "or an integer of mpi", "request": "or an integer of mpi",
    "newdatatype": "or an integer of mpi", "out.wide": "or a default integer", "out.wides": "or default integers",
}


def fortran_body(generate, procedure):
    """Dummies of the form with the widest integers, and their declarations."""
    width = procedure.widths[-1]
    body = generate.Body(procedure, width, procedure.mpis[0])
    for argument in procedure.arguments:
        body.add(argument)
    if procedure.result:
        body.add_result(procedure.result)
    declared = {re.match(r"\w+", one.rpartition(" :: ")[2])[0]: one for one in body.declared}
    return [*body.dummies, *body.optional_dummies], declared


def read_meanings(root):
    """What arguments mean, by name and by procedure and name."""
    lines = [line.partition(": ") for line in (root / "bindings/fortran/arguments.txt").read_text().splitlines() if line and not line.startswith("#")]
    return {key: text for key, _, text in lines}


def fortran_rows(procedure, dummies, declared, meanings):
    kinds = {argument.name: argument.kind for argument in procedure.arguments}
    if kinds.get("patch") or kinds.get("parts"):
        kinds.update(dict.fromkeys(("lower", "upper", "stride"), "patch"))
    rows, unknown = [], []
    for name in dummies:
        declaration, _, variable = declared[name].rpartition(" :: ")
        keys = (f"{procedure.thing}%{procedure.name} {name}", name)
        meaning = next((meanings[key] for key in keys if key in meanings), None)
        if meaning is None:
            unknown.append(f"bindings/fortran/arguments.txt: no text for {keys[0]}")
        note = NOTES.get(kinds.get(name))
        rows.append((f"<code>{variable}</code>", f"<code>{escaped(declaration)}</code>" + (f" {note}" if note else ""), escaped(meaning or "")))
    declaration = "<code>integer, intent(out), optional</code>, <code>character(*), intent(inout), optional</code>"
    return [*rows, ("<code>stat</code>, <code>errmsg</code>", declaration, "the error and its text; without stat an error ends the program")], unknown


def fortran_entry(generate, procedure, names, meanings, wrong):
    dummies, declared = fortran_body(generate, procedure)
    thing, name = procedure.thing, procedure.name
    call = f"{thing}%{name}({', '.join([*dummies, 'stat', 'errmsg'])})"
    call = f"result = {call}" if procedure.result else f"call {call}"
    about = " ".join(procedure.headers.texts.get(procedure.c_function, []))
    under = f"<p>In C: {names.link(procedure.c_function, procedure.c_function)}. {names.linked(about)}</p>" if procedure.c_function in names.anchors else f"<p>{names.linked(about)}</p>"
    rows, unknown = fortran_rows(procedure, dummies, declared, meanings)
    wrong += unknown
    if procedure.result:
        rows.insert(0, ("<code>result</code>", f"<code>{escaped(declared['result'].rpartition(' :: ')[0])}</code>", ""))
    return f'<section class="entry" id="{thing}-{name}"><h3><code>{thing}%{name}</code></h3>{code(generate.wrapped(call))}{table(("argument", "declaration", "meaning"), rows)}{under}</section>'


def by_hand(text, names, public):
    """What lapwing.f90.in has: comments, and the heads and declarations below them."""
    entries = []
    for found in re.finditer(r"((?:^    !>[^\n]*\n(?:    !>?[^\n]*\n)*))^    ((?:pure )?(?:function|subroutine) (\w+)\(.*?)\n\n", text, re.MULTILINE | re.DOTALL):
        about = " ".join(line.strip().lstrip("!> ") for line in found[1].splitlines())
        name = public.get(found[3], found[3])
        lines = [line for line in found[2].splitlines() if "::" not in line or re.search(r"intent|result|:: (text|type|count|result)", line)]
        if name in public.values():
            lines = [line for line in lines if "class(lapwing_" not in line]
            shown = code("\n".join(lines).replace(found[3], name).replace("(self, ", "("))
            entries.append((name, f'<section class="entry" id="{name.replace("%", "-")}"><h3><code>{escaped(name)}</code></h3>{shown}<p>{names.linked(about)}</p></section>'))
    return entries


MADE_BY_MACRO = {
    "array": [("local", "own elements as a pointer with the array's indices as its bounds, of any type and 1 to 8 dimensions"),
              ("halo_view", "the rank's own part with the copies around it, of an array that prefetches with LAPWING_STORE_IN_HALO"),
              ("local_address", "where the own elements are, for elements that are structures"),
              ("halo_view_address", "where halo_view is, for elements that are structures")],
    "halo": [("local", "the local block with the elements around it as a pointer"),
             ("local_address", "where that block is, for elements that are structures")],
    "mapped": [("view", "all elements as a pointer with the array's indices as its bounds, of any type and 1 to 8 dimensions; it is for reading"),
               ("view_address", "where the first element is, for elements that are structures")],
    "window": [("memory", "a rank's part of the window as a pointer to numbers of its type, null if this rank cannot load it")],
}


def fortran_page(root, names, wrong):
    sys.path.insert(0, str(root / "bindings/fortran"))
    import generate

    headers = generate.Headers(root)
    headers.structures["lapwing_counters"] = headers.structures.pop("lapwing_statistics")
    for name, (result, arguments) in headers.functions.items():
        headers.functions[name] = (result, [(kind.replace("lapwing_statistics", "lapwing_counters"), one) for kind, one in arguments])
    things, endings = generate.read_description((root / "bindings/fortran/description.txt").read_text(), headers)
    text = (root / "bindings/fortran/lapwing.f90.in").read_text()
    public = {"type_name_of": "lapwing_type_name", "error_name_of": "lapwing_error_name", "type_from_mpi_f08": "lapwing_type_from_mpi", "needed_add_i8": "lapwing_needed_add",
              "settings_count_of": "lapwing_settings_count", "settings_name_of": "lapwing_settings_name",
              **{name: name for name in ("lapwing_bytes", "lapwing_type_of", "lapwing_last_error", "lapwing_version")},
              **{full: f"{thing}%{name}" for thing, hand in generate.HAND.items() for name, full in hand.items()}}  # fmt: skip
    hand = by_hand(text, names, public)
    contents, parts, meanings = [], [], read_meanings(root)
    used = {one for procedures in things.values() for one in procedures}
    known = {f"{one.thing}%{one.name}" for one in used}
    wrong += [f"bindings/fortran/arguments.txt: there is no {key.split()[0]}" for key in meanings if "%" in key and key.split()[0] not in known]
    for thing, procedures in things.items():
        contents.append((thing, f"lapwing_{thing}"))
        parts.append(f'<h2 id="{thing}">type(lapwing_{thing})</h2>')
        parts += [fortran_entry(generate, procedure, names, meanings, wrong) for procedure in procedures]
        for ending in endings[thing]:
            c_name = f"lapwing_{thing}_{ending}"
            parts.append(f'<section class="entry" id="{thing}-{ending}"><h3><code>{thing}%{ending}</code></h3>{code(f"call {thing}%{ending}(stat, errmsg)")}'
                         f'<p>In C: {names.link(c_name, c_name)}. {names.linked(" ".join(headers.texts.get(c_name, [])))}</p></section>')
        for name, about in MADE_BY_MACRO.get(thing, []):
            given = "rank, elements" if thing == "window" else "elements"
            parts.append(f'<section class="entry" id="{thing}-{name}"><h3><code>{thing}%{name}</code></h3>{code(f"call {thing}%{name}({given}, stat, errmsg)")}<p>{names.linked(about)}.</p></section>')
        parts += [entry for name, entry in hand if name.startswith(f"{thing}%")]
        if thing != "statistics":
            parts.append(f'<section class="entry" id="{thing}-c_handle"><h3><code>{thing}%c_handle</code></h3>{code(f"pointer = {thing}%c_handle()")}<p>The object for C, null before it is made.</p></section>')
    contents.append(("module", "functions of the module"))
    parts.append('<h2 id="module">Functions of the module</h2>')
    parts += [entry for name, entry in hand if "%" not in name]
    constants = sorted({*headers.constants, *re.findall(r"public :: (LAPWING_\w+)", text)})
    parts.append('<h2 id="constants">Constants</h2><p>Those of C have C\'s values; types of elements are <code>integer(int64)</code>.</p>' + wide("<p>" + ", ".join(names.link(one, one) for one in constants) + "</p>"))
    contents.append(("constants", "constants"))
    body = ("<p>The module <code>lapwing</code>: <code>use lapwing</code>. Dimension 1 is the contiguous one; arrays begin with index 1, ranks with 0. Integers that count or index are all default integers "
            "or all <code>integer(int64)</code> in a call: the declarations below are those of the second form. The descriptions are C's, whose functions do the work.</p>") + "\n".join(parts)
    return page("Lapwing in Fortran", contents, body)


# --- Python ---


def python_modules(root):
    return {path.stem: ast.parse(path.read_text()) for path in sorted((root / "bindings/python/lapwing").glob("*.py"))}


def python_public(modules):
    """Name, as programs import it, and module, in the order of __init__.py."""
    found = []
    for one in modules["__init__"].body:
        if isinstance(one, ast.ImportFrom) and one.level:
            found += [(alias.asname or alias.name, one.module, alias.name) for alias in one.names if not (alias.asname or alias.name).startswith("_")]
    return found


def docstring_html(node):
    """Paragraphs, and examples as they are."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
        if paragraph.lstrip().startswith(">>>"):
            parts.append(code(paragraph))
        elif paragraph.strip():
            parts.append("<p>" + re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped(" ".join(paragraph.split()))) + "</p>")
    return "".join(parts)


def is_property(node):
    return any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list)


def members_of(name, classes, seen):
    """A class's own members, and those of its bases in the package."""
    node, found = classes[name], []
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_") and one.name not in seen:
            seen.add(one.name)
            found.append(one)
        elif isinstance(one, ast.Assign) and isinstance(one.value, ast.Name) and not one.targets[0].id.startswith("_"):
            same = next((other for other in node.body if isinstance(other, ast.FunctionDef) and other.name == one.value.id), None)
            if same is not None:
                seen.add(one.targets[0].id)
                found.append(ast.FunctionDef(name=one.targets[0].id, args=same.args, decorator_list=[], body=[ast.Expr(ast.Constant(f"The same as {same.name}()."))]))
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes and base.id != name:
            found += members_of(base.id, classes, seen)
    return found


def signature(node, method):
    arguments = ast.unparse(node.args)
    if method and not any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list):
        arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    return f"({arguments})"


def python_class(name, classes, known, fixed):
    """`fixed`: the attributes that cannot be replaced, of which the sources have no definitions."""
    node, seen = classes[known], set()
    init = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    bases = [ast.unparse(base) for base in node.bases if not ast.unparse(base).startswith("_")]
    is_error = bool(bases) and any(base.endswith(("Error", "Exception")) for base in bases)
    head = f"class lapwing.{name}" + (signature(init, True) if init and not is_error else f"({', '.join(bases)})" if is_error else "")
    parts = [f'<h2 id="{name}"><code>lapwing.{name}</code></h2>{code(head)}{docstring_html(node)}']
    for one in members_of(known, classes, seen):
        call = f"{name}.{one.name}" + ("" if is_property(one) else signature(one, True))
        parts.append(f'<section class="entry" id="{name}.{one.name}"><h3><code>{one.name}</code></h3>{code(call)}{docstring_html(one)}</section>')
    parts += [f'<section class="entry" id="{name}.{one}"><h3><code>{one}</code></h3>{code(f"{name}.{one}")}<p>Cannot be replaced.</p></section>' for one in fixed if one not in seen]
    return "\n".join(parts)


def python_page(root):
    modules = python_modules(root)
    stubs = {node.name: node for node in ast.parse((root / "bindings/python/lapwing/__init__.pyi").read_text()).body if isinstance(node, ast.ClassDef)}
    fixed = {name: [one.name for one in node.body if isinstance(one, ast.FunctionDef) and is_property(one)] for name, node in stubs.items()}
    classes = {node.name: node for tree in modules.values() for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {(module, node.name): node for module, tree in modules.items() for node in tree.body if isinstance(node, ast.FunctionDef)}
    contents, of_classes, of_functions = [], [], []
    for name, module, known in python_public(modules):
        if known in classes:
            contents.append((name, name))
            of_classes.append(python_class(name, classes, known, fixed.get(name, [])))
        elif (module, known) in functions:
            node = functions[module, known]
            of_functions.append(f'<section class="entry" id="{name}"><h3><code>lapwing.{name}</code></h3>{code(f"lapwing.{name}{signature(node, False)}")}{docstring_html(node)}</section>')
    body = docstring_html(modules["__init__"]) + '<h2 id="functions">Functions</h2>' + "\n".join(of_functions) + "\n".join(of_classes)
    return page("Lapwing in Python", [("functions", "functions"), *contents], body)


# --- the site ---


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.anchors, self.open, self.faults = [], set(), [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                if name == "id" and value in self.anchors:
                    self.faults.append(f"two elements have the id {value}")
                self.anchors.add(value)
        if tag not in ("meta", "link", "br", "img", "hr", "input", "col", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.faults.append(f"</{tag}> closes <{self.open[-1] if self.open else 'nothing'}>")


def faults_of(directory, own):
    """Broken links of the site, and what is wrong in the pages `own`. Without C++'s pages links to them are not followed."""
    parsed, wrong = {}, []

    def read(path):
        if path not in parsed:
            parsed[path] = Links()
            parsed[path].feed(path.read_text(errors="replace"))
        return parsed[path]

    for path in sorted(directory.rglob("*.html")):
        page_of = read(path)
        name = path.relative_to(directory)
        if str(name) in own:
            wrong += [f"{name}: {fault}" for fault in page_of.faults]
            text = path.read_text()
            wrong += [f"{name}: a {kind} is not in a box that scrolls" for kind in ("table", "pre") if re.search(rf'(?<!<div class="wide">)<{kind}>', text)]
        for link in page_of.links:
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", target) or (target.startswith("api/") and not (directory / "api").exists()):
                continue
            file = (path.parent / target).resolve() if target else path
            if not file.exists():
                wrong.append(f"{name}: the link to {link} leads nowhere")
            elif anchor and file.suffix == ".html" and str(name) in own and anchor not in read(file).anchors:
                wrong.append(f"{name}: {target or name} has no #{anchor}")
    return wrong


def main():
    root, version, directory = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    sys.dont_write_bytecode = True
    headers = c_headers(root)
    names = c_names(headers)
    rows = [(f'<a href="{file}">{name}</a>', about) for (name, file), about in zip(LANGUAGES, (
        "<code>#include &lt;lapwing/lapwing.hpp&gt;</code>, <code>lapwing::GlobalArray</code>", "<code>#include &lt;lapwing/lapwing.h&gt;</code>, <code>lapwing_array</code>",
        "<code>use lapwing</code>, <code>type(lapwing_array)</code>", "<code>import lapwing</code>, <code>lapwing.Array</code>"))]  # fmt: skip
    wrong = []
    pages = {"c.html": c_page(root, headers, names), "fortran.html": fortran_page(root, names, wrong), "python.html": python_page(root)}
    pages["index.html"] = page(f"Lapwing {version}: reference", [], "<p>Global arrays and windows on MPI's one-sided communication. The same calls in four languages:</p>" + table(("language", "begins with"), rows))
    for file, text in pages.items():
        (directory / file).write_text(text)
    (directory / "reference.css").write_text(STYLE)
    wrong += faults_of(directory, pages)
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
