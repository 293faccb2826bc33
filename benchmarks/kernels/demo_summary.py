#!/usr/bin/env python3
"""Makes the table and the pictures of scripts/demo from what lapwing-demo has written on each path.

usage: demo_summary.py DIRECTORY PATH…    reads DIRECTORY/PATH.json of each path
Exit code 1 when a result was wrong or a path has none.
"""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path


def short(milliseconds):
    return f"{milliseconds:.3g}" if milliseconds < 1000 else f"{milliseconds:.0f}"


def times(ratio):
    return f"{ratio:.1f} times" if ratio < 100 else f"{ratio:.0f} times"


def gained(ratio):
    if ratio >= 1.05:
        return f"{times(ratio)} faster"
    if ratio > 0.95:
        return "the same"
    return f"{times(1 / ratio)} slower"


def lines_of(rows):
    """The lines of the table: a kernel's serial time, then each path's techniques."""
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    for kernel in kernels:
        of_kernel = [row for row in rows if row["kernel"] == kernel]
        first = of_kernel[0]
        yield (f"{kernel}, {first['input']}", "", "", "", "", "")
        serial = sorted(row["serial_value"] for row in of_kernel)[0]
        yield ("", "one rank", "serial", short(serial), str(first["checked_iterations"]), "")
        for path, technique, value, iterations, verified, gain in results_of(of_kernel):
            yield ("", path, technique, short(value), str(iterations), gain if verified else "WRONG RESULT " + gain)


def results_of(rows):
    """Each technique of each path of a kernel, the one that the others are compared with first."""
    paths = set()
    for row in rows:
        if row["path"] not in paths:
            paths.add(row["path"])
            yield (row["path"], row["baseline"], row["baseline_value"], row["baseline_iterations"], row["baseline_verified"], "")
        yield row["path"], row["technique"], row["value"], row["iterations"], row["verified"], gained(row["ratio"])


def table(rows):
    header = ("kernel, one iteration", "path", "technique", "ms", "iterations", "gained over naive on this path")
    lines = [header, *lines_of(rows)]
    # A kernel's own line may run across the columns.
    widths = [max(len(line[i]) for line in lines if line[1] or line is header) for i in range(len(header))]
    widths[0] = 4
    text = []
    for line in lines:
        if not line[1]:
            text.append("\n" + line[0])
            continue
        first = "" if line is header else line[0]
        cells = [cell.rjust(width) if name in ("ms", "iterations") else cell.ljust(width)
                 for cell, width, name in zip((first, *line[1:]), widths, header)]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def gnuplot(directory, commands):
    result = subprocess.run(["gnuplot"], input="\n".join(commands) + "\n", text=True, cwd=directory,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        raise SystemExit(f"gnuplot failed:\n{result.stdout}")


def image_picture(directory, name):
    """A PNG beside a PGM, for viewers and browsers that do not know the latter."""
    magic, size, levels = [], [], []
    data = (directory / f"{name}.pgm").read_bytes()
    magic, size, levels = data.split(b"\n", 3)[:3]
    columns, rows = (int(side) for side in size.split())
    header = len(magic) + len(size) + len(levels) + 3
    gnuplot(directory, [
        f"set terminal pngcairo size {columns},{rows}", f"set output '{name}.png'", "unset tics", "unset border",
        "unset colorbox", "unset key", "set margins 0,0,0,0", "set palette gray", "set cbrange [0:255]",
        f"set xrange [-0.5:{columns - 0.5}]", f"set yrange [-0.5:{rows - 0.5}]",
        f"plot '{name}.pgm' binary skip={header} array=({columns},{rows}) flipy format='%uint8' with image"])
    return directory / f"{name}.png"


def heat_picture(directory):
    gnuplot(directory, [
        "set terminal pngcairo size 720,600 font 'DejaVu Sans,12'", "set output 'heat.png'",
        "set title 'temperature in the middle plane of the cube'", "set size ratio -1", "unset key", "set tics nomirror",
        "set xlabel 'j'", "set ylabel 'i'", "set autoscale xfix", "set autoscale yfix", "set cbrange [0:100]",
        "set palette defined (0 '#000004', 25 '#51127c', 50 '#b73779', 75 '#fc8961', 100 '#fcfdbf')",
        "plot 'heat-slice.txt' matrix with image"])
    return directory / "heat.png"


# Okabe and Ito's colours, which stay apart for colour-blind readers and in grey.
COLOURS = ("#b0b0b0", "#56b4e9", "#e69f00", "#009e73", "#0072b2", "#d55e00", "#cc79a7")


def gains_picture(file, rows, machine):
    """For each kernel the techniques side by side: how many times as fast as naive access, on one path."""
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    techniques = [rows[0]["baseline"], *dict.fromkeys(row["technique"] for row in rows)]
    gains = {(row["kernel"], row["technique"]): row["ratio"] for row in rows}
    gains.update({(kernel, rows[0]["baseline"]): 1 for kernel in kernels})
    width, bar, gap, left, top, height = 640, 26, 36, 44, 52, 170
    top_decade = max(1, math.ceil(math.log10(max(gains.values()))))
    low_decade = min(0, math.floor(math.log10(min(gains.values()))))

    def y(gain):
        return top + height * (top_decade - math.log10(gain)) / (top_decade - low_decade)

    bottom, x = top + height, left + gap
    marks = []
    for decade in range(low_decade, top_decade + 1):
        marks.append(f'<path d="M{left} {y(10.0**decade):.1f}H{width}" stroke="#ddd"/><text x="{left - 4}" y="{y(10.0**decade) + 4:.1f}" '
                     f'text-anchor="end">{10.0**decade:g}</text>')
    for kernel in kernels:
        start = x
        for technique, colour in zip(techniques, COLOURS):
            gain = gains.get((kernel, technique))
            if gain is not None:
                upper, lower = sorted((y(gain), y(1)))
                shown = f"{gain:.0f}" if gain >= 10 else f"{gain:.2g}"
                marks.append(f'<rect x="{x}" y="{upper:.1f}" width="{bar - 2}" height="{max(lower - upper, 1):.1f}" fill="{colour}">'
                             f"<title>{kernel}, {technique}: {shown}</title></rect>"
                             f'<text x="{x + bar // 2 - 1}" y="{upper - 3:.1f}" text-anchor="middle" font-size="9">{shown}</text>')
                x += bar
        marks.append(f'<text x="{(start + x) // 2}" y="{bottom + 16}" text-anchor="middle">{kernel}</text>')
        x += gap
    width = max(width, x)
    x = left
    for technique, colour in zip(techniques, COLOURS):
        marks.append(f'<rect x="{x}" y="24" width="10" height="10" fill="{colour}"/><text x="{x + 14}" y="33">{technique}</text>')
        x += 28 + 7 * len(technique)
    first = rows[0]
    title = f"Times as fast as single uncached accesses: {first['ranks']} ranks, path {first['path']}, {first['mpi']}, {machine['cpu']}, {machine['cores']} cores"
    file.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(width, x)} {bottom + 24}" font-family="sans-serif" font-size="11">'
                    f'<rect width="100%" height="100%" fill="#fff"/><text x="{left}" y="14" font-size="12">{title}</text>{"".join(marks)}</svg>\n')
    return file


def main():
    directory, paths = Path(sys.argv[1]), sys.argv[2:]
    rows, missing, machine = [], [], {}
    for path in paths:
        try:
            content = json.loads((directory / f"{path}.json").read_text())
        except (OSError, ValueError):
            missing.append(path)
            continue
        machine = content["machine"]
        for row in content["rows"]:
            if row["path"] != path:
                row["path"] += f" ({path} asked for)"
        rows += content["rows"]
    if not rows:
        print("There are no results.", file=sys.stderr)
        return 1
    measurements = directory / "times.json"
    measurements.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")

    text = table(rows)
    ranks, cores = rows[0]["ranks"], machine["cores"]
    shared = f", so that {ranks} ranks share {cores}" if cores < ranks else ""
    text += f"""

{ranks} ranks, {rows[0]['mpi']}, network {rows[-1]['network']}; {machine['cpu']}, {cores} cores{shared}.
Times are milliseconds for one iteration, medians of {rows[0]['repetitions']} measurements of as many iterations as the table says; the serial one
is a single measurement. The gain is the median ratio of neighbouring measurements of a technique and naive access.
direct: ranks of one node read each other's memory. rma, service: every rank is treated as a node of its own, so
everything but its own part goes through MPI windows (rma) or messages to the owner's progress thread (service)."""
    (directory / "table.txt").write_text(text.lstrip("\n") + "\n")
    print(text)

    results = [(kernel, *result) for kernel in dict.fromkeys(row["kernel"] for row in rows)
               for result in results_of([row for row in rows if row["kernel"] == kernel])]
    wrong = [f"{kernel}, {technique}, path {path}" for kernel, path, technique, _, _, verified, _ in results if not verified]
    print(f"\n{len(results) - len(wrong)} of {len(results)} results are the same as those of the serial computation, to the bit.")

    of_last_path = [row for row in rows if row["path"] == rows[-1]["path"]]
    pictures = [gains_picture(directory / "gains.svg", of_last_path, machine)]
    if shutil.which("gnuplot"):
        for name in ("edges", "moon-transposed"):
            if (directory / f"{name}.pgm").exists():
                pictures.append(image_picture(directory, name))
        if (directory / "heat-slice.txt").exists():
            pictures.append(heat_picture(directory))
    else:
        print("No pictures of results: gnuplot is missing; scripts/install-deps installs it.")
    print("Pictures:")
    for picture in pictures:
        print(f"  {picture}")
    for path in missing:
        print(f"There is no result of path {path}.", file=sys.stderr)
    for where in wrong:
        print(f"Wrong result: {where}", file=sys.stderr)
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
