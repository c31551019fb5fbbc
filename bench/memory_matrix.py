#!/usr/bin/env python3
"""What the program takes of memory at most, over tables that were made to take much: docs/results/memory.md tells it.

Usage: target/venv/bin/python3 bench/memory_matrix.py [PROGRAM [PATTERN]] > matrix.md
  PROGRAM  that is measured; target/release/albers when not given
  PATTERN  only runs of tables and commands that hold it

Prints every run, and behind them what came of each table.

Tables are made in a temporary folder, by a process of their own: what a process took before it became another program
counts as the other's peak, so that the one that measures has to stay small. A peak is what the kernel tells when a run
has ended (ru_maxrss). Allowed is the budget and 64 MB beside it. Needs pyarrow for Parquet.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

from memory_tables import TABLES

ALLOWED_BESIDE = 64_000_000
TIMEOUT_SECONDS = 40


# ---- runs ---------------------------------------------------------------------------------------------------------

ACCEPT = [f"--accept={finding}" for finding in
          ["unique-keep", "keep-tells-quasi", "secret-without-rule", "text-list", "person-rules-class", "rows-per-person"]]
FULL_DOMAIN = ["incognito", "samarati", "bottom-up"]
LABELS = FULL_DOMAIN + ["subtree", "tds"]
IN_MEMORY = ["local", "ordered-set", "attribute-suppression", "bang", "grid", "kd-trie", "grid-file"]
BUDGETS = {"long.parquet": 100, "longer.parquet": 100, "huge-cells.parquet": 64, "zeros.parquet": 64}


def anonymize(table, *flags):
    output = table + (".out.parquet" if "--to-parquet" in flags else ".out.csv")
    flags = [flag for flag in flags if flag != "--to-parquet"]
    return ["anonymize", table, "-o", output, "--force", "-k", "5", *ACCEPT, *flags]


def common_runs(table):
    """What is tried with every table."""
    yield "auto, keep", anonymize(table, "--quasi", "age", "--keep", "text")
    yield "auto, sensitive", anonymize(table, "--quasi", "age", "--sensitive", "text")
    yield "auto, quasi", anonymize(table, "--quasi", "age,text")
    yield "rtree, keep", anonymize(table, "--quasi", "age", "--keep", "text", "--method", "rtree")
    yield "check", ["check", table, "--quasi", "age,text"]
    yield "init", ["init", table, "-o", table + ".init.toml", "--force"]


def more_runs(table):
    """The other methods and commands, on some tables."""
    for method in IN_MEMORY + ["mondrian", "rtree"]:
        yield f"{method}, quasi", anonymize(table, "--quasi", "age,text", "--method", method)
    for method in LABELS:
        flags = ["--hierarchy", "text=prefix", "--hierarchy", "age=ranges:5,20"]
        target = ["--target", "age"] if method == "tds" else []
        quasi = "text" if method == "tds" else "age,text"
        flags = flags[:2] if method == "tds" else flags
        keep = ["--keep", "age"] if method == "tds" else []
        yield f"{method}, prefix", anonymize(table, "--quasi", quasi, "--method", method, *flags, *target, *keep)
    yield "auto, prefix", anonymize(table, "--quasi", "age,text", "--hierarchy", "text=prefix")
    yield "auto, subject", anonymize(table, "--quasi", "age", "--subject", "text")
    yield "auto, identifier", anonymize(table, "--quasi", "age", "--identifier", "text")
    yield "auto, to Parquet", anonymize(table, "--quasi", "age", "--keep", "text", "--to-parquet")
    yield "auto, suppress", anonymize(table, "--quasi", "age,text", "--suppress", "0.01")
    yield "auto, l-diversity", anonymize(
        table, "--quasi", "age", "--sensitive", "text", "--l-diversity", "text=distinct:3")
    # A model stays away from what is published.
    model = os.path.join(os.path.dirname(table), "models", "model")
    yield "auto, model", anonymize(table, "--quasi", "age", "--keep", "text", "--model", model)
    yield "recode", ["recode", model, table, "--output", table + ".recoded.csv", "--force", *ACCEPT,
                     "--accept=second-release"]
    yield "check, sensitive", ["check", table, "--quasi", "age", "--sensitive", "text"]
    yield "check, release", ["check", table + ".out.csv", "--quasi", "age"]
    yield "measure", ["measure", table, table + ".out.csv", "--quasi", "age"]
    yield "query", ["query", table + ".out.csv", "age < 30"]
    yield "lattice", ["lattice", table, "--quasi", "age,text", "-k", "5", "--hierarchy", "text=prefix", "--hierarchy",
                      "age=ranges:5,20"]
    yield "hierarchy", ["hierarchy", table, "text", "-o", table + ".levels.csv", "--force"]
    yield "index create", ["index", "create", table + ".index", table, "--key", "text", "--quasi", "age", "-k", "5"]


OTHERS = {
    "leaves.csv": lambda table: [
        (f"{method}, hierarchy file",
         anonymize(table, "--quasi", "age,text", "--method", method, "--hierarchy", f"text={table}.levels", "--hierarchy",
                   "age=ranges:5,20"))
        for method in ["auto", "mondrian", "rtree", "incognito", "subtree"]],
    "beside.csv": lambda table: [
        ("scale file", anonymize(table, "--quasi", "age", "--keep", "text", "--method", "grid", "--scale",
                                 f"age={table}.levels.gz")),
        ("check with manifest", ["check", table, "--manifest", f"{table}.manifest.json"]),
        ("query with conditions", ["query", table + ".out.csv", "--conditions", f"{table}.conditions"]),
        ("hierarchy", ["hierarchy", table, "age", "--check", f"{table}.levels.gz"]),
    ],
    "names.csv": lambda table: [
        ("auto, model of names", anonymize(table, "--quasi", "age,text", "--model",
                                           os.path.join(os.path.dirname(table), "models", "names"))),
        ("recode, names", ["recode", os.path.join(os.path.dirname(table), "models", "names"), table, "--output",
                           table + ".names.csv", "--force", *ACCEPT, "--accept=second-release"]),
    ],
    "huge-job.csv": lambda table: [("job file", anonymize(table, "--job", table + ".toml"))],
    "5000-columns.csv": lambda table: [
        ("keep all", anonymize(table, "--quasi", "age", "--keep", ",".join(f"c{c}" for c in range(5_000)))),
        ("quasi 1000", anonymize(table, "--quasi", ",".join(f"c{c}" for c in range(1_000)))),
    ],
    "wide.parquet": lambda table: [
        ("keep all", anonymize(table, "--quasi", "age", "--keep", ",".join(f"c{c}" for c in range(600))))],
}
THOROUGH = ["long.parquet", "names.csv", "short.csv", "wide-text.csv"]
# Commands without --memory have what others have where nobody says it: a quarter of the machine's.
QUARTER = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4_000_000
LARGE = {"auto, model of names": 1_000}
UNBOUNDED = {"init": QUARTER, "hierarchy": QUARTER}


def runs(folder, table):
    path = f"{folder}/{table}"
    found = list(common_runs(path))
    found += more_runs(path) if table in THOROUGH else []
    found += OTHERS[table](path) if table in OTHERS else []
    for label, arguments in found:
        budget = UNBOUNDED.get(label) or LARGE.get(label) or BUDGETS.get(table, 32)
        memory = [] if label in UNBOUNDED else ["--memory", f"{budget}MB"]
        yield label, [*arguments, *memory], budget


# ---- measuring ----------------------------------------------------------------------------------------------------

def run(program, arguments, folder):
    """The exit code (nothing when it took too long), the peak in bytes, what it said, and how long it took."""
    begin = time.time()
    with open(f"{folder}/log", "w") as log:
        process = subprocess.Popen([program, *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                   env={**os.environ, "TMPDIR": folder})
        code = None
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                code = None if code == "late" else os.waitstatus_to_exitcode(status)
                process.returncode = 0
                break
            if code is None and time.time() - begin > TIMEOUT_SECONDS:
                process.kill()
                code = "late"
            time.sleep(0.01)
    with open(f"{folder}/log", errors="replace") as log:
        said = log.read(200_000)
    return code, usage.ru_maxrss * 1024, said, time.time() - begin


def outcome(code, peak, budget, said):
    if peak > budget * 1_000_000 + ALLOWED_BESIDE:
        kind = "**OVER**"
    elif code is None:
        return f"within, ended after {TIMEOUT_SECONDS} s"
    else:
        kind = {0: "ok", 1: "stopped", 2: "refused"}.get(code, f"**exit {code}**")
    would_do = re.findall(r"--memory (\S+) or more|(\S+ or more)", said) if code == 2 else []
    return f"{kind}, {(would_do[-1][0] or would_do[-1][1])} would do" if would_do else kind


def by_table(done):
    """What came of the runs of each table: how many ended how, and the highest that has a budget."""
    print("\n| table | runs | done | refused | stopped by a finding | ended after "
          f"{TIMEOUT_SECONDS} s | over | highest run | budget MB | peak MB | beside MB |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |")
    for table in dict.fromkeys(one[0] for one in done):
        own = [one for one in done if one[0] == table]
        of = lambda start: sum(told.startswith(start) for *_, told in own)
        _, label, budget, peak, _ = max((one for one in own if one[1] not in UNBOUNDED), key=lambda one: one[3] - one[2],
                                        default=own[0])
        print(f"| {table} | {len(own)} | {of('ok')} | {of('refused')} | {of('stopped')} | {of('within')} | {of('**') or ''} | "
              f"{label} | {budget} | {peak:.0f} | {peak - budget:.0f} |")


def main():
    if sys.argv[1:2] == ["--make"]:
        TABLES[sys.argv[3]](sys.argv[2])
        return
    program = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else "target/release/albers")
    pattern = sys.argv[2] if len(sys.argv) > 2 else ""
    done, n_over, n_unbounded, highest = [], 0, 0, 0
    print("| table | run | budget MB | peak MB | beside MB | outcome |\n| --- | --- | ---: | ---: | ---: | --- |")
    for table in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            wanted = [one for one in runs(folder, table) if pattern in f"{table} {one[0]}"]
            if not wanted:
                continue
            subprocess.run([sys.executable, __file__, "--make", f"{folder}/{table}", table], check=True)
            os.mkdir(f"{folder}/models")
            for label, arguments, budget in wanted:
                code, peak, said, seconds = run(program, arguments, folder)
                told = outcome(code, peak, budget, said)
                done.append((table, label, budget, peak / 1e6, told))
                n_over += "**" in told
                n_unbounded += label in UNBOUNDED
                highest = max(highest, 0 if label in UNBOUNDED else peak / 1e6 - budget)
                print(f"| {table} | {label} | {budget} | {peak / 1e6:.0f} | {peak / 1e6 - budget:.0f} | {told} |",
                      flush=True)
                if "ALBERS_VERBOSE" in os.environ:
                    print(f"    {seconds:.1f} s, exit {code}: {said.strip()[-300:]}", file=sys.stderr)
    by_table(done)
    print(f"\n{len(done)} runs of {len(dict.fromkeys(one[0] for one in done))} tables, {n_over} over; at most {highest:.0f} MB beside the budget. "
          f"{n_unbounded} runs have no budget: they may take a quarter of the machine's memory.")
    sys.exit(bool(n_over))


main()
