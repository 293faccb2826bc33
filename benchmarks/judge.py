"""Judges rows of scripts/bench by benchmarks/bars.json, and makes the tables of docs/bars.md and README.md from the rows that are stored in
benchmarks/measured.json."""

import fnmatch
import functools
import json
import re
from pathlib import Path
from typing import NamedTuple, Optional

FOLDER = Path(__file__).resolve().parent
STORED = FOLDER / "measured.json"


class Verdict(NamedTuple):
    """Of a bar on one row, or on all the rows that it is for together."""
    bar: dict
    rows: list
    met: Optional[bool]  # None: there is nothing to judge
    value: str
    limit: str
    closeness: float  # to the bar: below 1 where a row misses it


def number(value):
    """Four digits, or more before the point."""
    if value is None:
        return "-"
    if value != 0 and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.3g}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:#.4g}"


def error_of(row):
    """Percent by which the prediction is above what was measured: equation 7.1 of Zhang (2007)."""
    return 100 * (row["predicted"] - row["value"]) / row["value"]


def matches(bar, row):
    for field in ("bench", "case", "mpi", "network", "path"):
        patterns = bar.get(field, "*")
        if not any(fnmatch.fnmatchcase(row[field], p) for p in ([patterns] if isinstance(patterns, str) else patterns)):
            return False
    return True


def judge_first(rows, cores):
    """Whether the first advice for each kernel is faster than all other changes that were tried, advised or not, and than
    leaving it as it is. Rows with more ranks than cores are not judged."""
    kernels = {}
    for row in rows:
        if row["ranks"] > cores:
            continue
        if found := re.fullmatch(r"(.*), advice (\d+|-): .*", row["case"]):
            where = (found[1], row["mpi"], row["network"], row["path"], row["ranks"])
            first, others = kernels.setdefault(where, ([], []))
            (first if found[2] == "1" else others).append(row["value"])
            others.append(row["baseline_value"])
    wrong = [f"{where[0]} ({', '.join(str(word) for word in where[1:])})" for where, (first, others) in kernels.items()
             if not first or first[0] > min(others)]
    if not kernels:
        return None, "all rows have more ranks than cores, not judged"
    return not wrong, f"{len(kernels) - len(wrong)} of {len(kernels)} kernels" + (f", not {'; '.join(wrong)}" if wrong else "")


def judge_together(bar, rows, cores):
    """For bars on many rows: whether they meet it, and a text that says how. Rows with more ranks than cores are counted
    apart, and not judged: None, if there are no others."""
    if bar.get("first_is_best"):
        return judge_first(rows, cores)
    if "gain_error_at_most" in bar:
        limit = bar["gain_error_at_most"]

        def error(row):
            measured = row["baseline_value"] - row["value"]
            return 100 * (row["predicted_gain"] - measured) / measured if measured else float("inf")
    else:
        limit, error = bar["error_at_most"], error_of
    judged = [abs(error(row)) for row in rows if row["ranks"] <= cores]
    others = [abs(error(row)) for row in rows if row["ranks"] > cores]
    more = f"; with more ranks than cores, not judged: {sum(e <= limit for e in others)} of {len(others)}, worst {max(others):.1f} %" if others else ""
    if not judged:
        return None, more.removeprefix("; ")
    within = sum(error <= limit for error in judged)
    ok = within >= bar["share"] * len(judged) and max(judged) <= bar.get("worst", float("inf"))
    return ok, f"{within} of {len(judged)} within {limit} %, bar {bar['share']:g} of them, worst {max(judged):.1f} %" + (
        f", bar {bar['worst']} %" if "worst" in bar else "") + more


def is_judged(bar, row):
    """Whether a bar on many rows says something about a row."""
    if "gain_error_at_most" in bar:
        return row.get("predicted_gain") is not None
    return "first_is_best" in bar or row.get("predicted") is not None


@functools.cache
def read_bars():
    return json.loads((FOLDER / "bars.json").read_text())


def judge_row(bar, row):
    if "ratio_at_least" in bar:
        limit, ratio = bar["ratio_at_least"], row["ratio"]
        shown = "no baseline" if ratio is None else f"{ratio:.3f}"
        return Verdict(bar, [row], ratio is not None and ratio >= limit, f"ratio {shown}", f"{limit}", (ratio or 0) / limit)
    value = f"value {number(row['value'])} {row['unit']}"
    if "value_at_most" in bar:
        limit = bar["value_at_most"]
        return Verdict(bar, [row], row["value"] <= limit, value, number(limit), limit / row["value"] if row["value"] else float("inf"))
    limit = bar["value_at_least"]
    return Verdict(bar, [row], row["value"] >= limit, value, number(limit), row["value"] / limit)


def judge(rows, cores):
    """A bar after the other with its verdicts; no verdict where there is no row of it."""
    for bar in read_bars()["bars"]:
        found = [row for row in rows if matches(bar, row)]
        if found and any(word in bar for word in ("error_at_most", "gain_error_at_most", "first_is_best")):
            judged = [row for row in found if is_judged(bar, row)]
            ok, text = judge_together(bar, judged, cores) if judged else (False, "nothing is predicted")
            yield bar, [Verdict(bar, found, ok, text, "", 1.0 if ok else 0.0)]
        else:
            yield bar, [judge_row(bar, row) for row in found]


def names_of(bar):
    return [bar["bench"]] if isinstance(bar["bench"], str) else bar["bench"]


def check(rows, complete, cores):
    """Prints which bars the rows meet; returns whether some are met and none is missed. With `complete`, a bar without a
    row is one that is missed: a benchmark that has another name by now, say."""
    missed = met = 0
    print()
    for bar, verdicts in judge(rows, cores):
        if not verdicts:
            # Optional: beside libraries that need not be installed.
            required = complete and not bar.get("optional", False)
            missed += required
            if required or any(row["bench"] in names_of(bar) for row in rows):
                print(f"{'MISSED, ' if required else ''}not measured  {', '.join(names_of(bar))}: {bar['says']}")
        for verdict in verdicts:
            met, missed = met + bool(verdict.met), missed + (verdict.met is False)
            row = verdict.rows[0]
            said = (f"{row['case']}, {row['mpi']}, {row['network']}, {row['path']}: {verdict.value}, bar {verdict.limit}" if verdict.limit
                    else f"{bar['says']}: {verdict.value}")
            print(f"{'met   ' if verdict.met else 'MISSED' if verdict.met is False else '      '}  {row['bench']}: {said}")
    print(f"{met} met, {missed} missed")
    return missed == 0 and met > 0


def print_bars():
    print("| `scripts/bench …` | where | held to |\n|---|---|---|")
    for bar in read_bars()["bars"]:
        words = {name: [bar[name]] if isinstance(bar.get(name), str) else bar.get(name, []) for name in ("mpi", "network", "path")}
        where = ", ".join([*words["mpi"], *words["network"], *(f"path {path}" for path in words["path"])])
        print(f"| {', '.join(f'`{name}`' for name in names_of(bar))} | {where.replace('*', '')} | {bar['says']} |")


# What is stored


def read_stored():
    return json.loads(STORED.read_text()) if STORED.exists() else {"machine": {}, "rows": []}


def is_stored(row):
    """Whether a bar or the first page is about a row; others are not kept."""
    content = read_bars()
    shown = [one for row_of_page in content["first_page"] for one in (row_of_page, row_of_page.get("beside_row")) if one]
    return any(matches(one, row) for one in [*content["bars"], *shown])


def as_text(machine, rows):
    """A line for each row, so that what another run changes is seen."""
    lines = ",\n".join("  " + json.dumps(row) for row in sorted(rows, key=lambda r: [r[k] for k in ("bench", "mpi", "network", "path", "ranks", "case")]))
    return f'{{"machine": {json.dumps(machine)},\n "rows": [\n{lines}\n]}}\n'


def without_row(bars, rows):
    """How many benchmarks bars are about, how many of those have no row, and their names, those before a slash once: upc/nas, vector."""
    named = {name for bar in bars for name in names_of(bar)}
    missing = sorted(named - {row["bench"] for row in rows})
    families = {}
    for name in missing:
        family, slash, member = name.partition("/")
        families.setdefault(family + slash, []).append(member)
    return len(named), len(missing), "; ".join(family + ", ".join(members) for family, members in families.items())


def print_missed():
    """The bars that the stored rows miss: for each bar, MPI, network and path the row that is furthest from it."""
    stored = read_stored()
    groups, met, unmeasured, machines = {}, 0, 0, []
    for bar, verdicts in judge(stored["rows"], stored["machine"].get("cores", 0)):
        unmeasured += not verdicts
        for verdict in verdicts:
            met += bool(verdict.met)
            row = verdict.rows[0]
            groups.setdefault((bar["says"], row["bench"], row["mpi"], row["network"], row["path"]), []).append(verdict)
    print("| `scripts/bench …` | where | case furthest from the bar | measured | bar | cases that miss it | commit | date | machine | why |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    missed = 0
    for (says, bench, mpi, network, path), verdicts in groups.items():
        worse = [verdict for verdict in verdicts if verdict.met is False]
        if not worse:
            continue
        missed += len(worse)
        worst = min(worse, key=lambda verdict: verdict.closeness)
        row = worst.rows[0]
        if row["machine"] not in machines:
            machines.append(row["machine"])
        case, limit = (row["case"], worst.limit) if worst.limit else ("all together", says)
        print(f"| `{bench}` | {mpi}, {network}, {path} | {case} | {worst.value} | {limit} | {len(worse)} of {len(verdicts)} | "
              f"{row['commit']} | {row['date']} | {machines.index(row['machine']) + 1} | {worst.bar.get('why', '')} |")
    print(f"\nThe stored rows meet a bar {met} times and miss one {missed} times. Machines:")
    for count, machine in enumerate(machines, 1):
        print(f"{count}. {machine}")
    bars = read_bars()["bars"]
    benchmarks, missing, names = without_row(bars, stored["rows"])
    print(f"\n{len(bars) - unmeasured} of {len(bars)} bars have stored rows. {missing} of {benchmarks} benchmarks have none"
          f"{f': {names}' if names else ''}.")


def one_stored(rows, wanted):
    found = [row for row in rows if matches(wanted, row)]
    if len(found) != 1:
        raise SystemExit(f"benchmarks/measured.json has {len(found)} rows of {wanted}, which the first page shows; it needs one")
    return found[0]


def print_first_page():
    """The rows of README.md: gains first. Where another row is shown beside one, there is no ratio of the same run."""
    rows, content = read_stored()["rows"], read_bars()
    print("| workload | without Lapwing | | Lapwing | times as fast | bar | `scripts/bench …` |\n|---|---|---|---|---|---|---|")
    lines = []
    for shown in content["first_page"]:
        row = one_stored(rows, shown)
        beside, times, limit = row["baseline_value"], f"{row['ratio']:.2g}", ""
        bars = [bar for bar in content["bars"] if matches(bar, row) and "ratio_at_least" in bar]
        if bars:
            limit = f"{max(bar['ratio_at_least'] for bar in bars)}"
        if "beside_row" in shown:
            beside, times = one_stored(rows, shown["beside_row"])["value"], ""
            limit = f"{limit} of an idle rank's" if limit else ""
        command = f"`{row['bench']} --mpi {row['mpi']} --network {row['network']} --path {shown['path']}`"
        lines.append((beside / row["value"],
                      f"| {shown['says']} | {shown['beside']} | {number(beside)} {row['unit']} | {number(row['value'])} {row['unit']} | {times} | {limit} | {command} |"))
    print("\n".join(line for _, line in sorted(lines, reverse=True)))
