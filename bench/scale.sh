#!/usr/bin/env bash
# How the engine scales, each figure beside its peer in the same run: docs/results/engine.md tells it.
#
#   threads    agrawal, 9 quasi-identifiers, k = 10: one thread against all, beside DuckDB's sort
#   methods    the R+-tree in memory against Mondrian, by the same split
#   columns    a tenth of the rows: 9 and 60 quasi-identifiers, and 9 with 40 kept columns
#   local      a tenth of the rows by local recoding, beside cuts
#   memory     so many rows in 256 MB, beside DuckDB's sort in as much; only where MANY is given
#
# Usage: bench/scale.sh [ROWS] [ROUNDS] [MANY]     (10,000,000 rows, 3 rounds and none when not given)
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-10000000}
rounds=${2:-3}
many=${3:-0}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cargo build --release --locked --quiet
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.0

cat > "$folder/run.py" <<'PYTHON'
import json, os, statistics, subprocess, sys, time

import duckdb

program, folder = sys.argv[1:3]
rows, rounds, many = map(int, sys.argv[3:6])
quasi = "salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan"
threads = os.cpu_count()
accept = ["--accept", "unique-keep,unique-keeps,keep-tells-quasi"]


def table(name, n_rows):
    path = f"{folder}/{name}.parquet"
    subprocess.run([program, "generate", "agrawal", "-n", str(n_rows), "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def widened(path):
    """The same rows with 51 more columns: small and large numbers, floats, texts and days."""
    kinds = {
        "small": ("CAST(hash(a, {n}) % 50 AS INTEGER)", 11),
        "large": ("CAST(hash(a, {n}) % 1000000000 AS BIGINT)", 10),
        "float": ("(hash(a, {n}) % 1000000) / 7.0", 10),
        "text": ("'value ' || (hash(a, {n}) % 1000)", 10),
        "day": ("DATE '2000-01-01' + CAST(hash(a, {n}) % 9000 AS INTEGER)", 10),
    }
    more = {f"{kind}_{n}": sql.format(n=n) for kind, (sql, count) in kinds.items() for n in range(count)}
    wide = path.replace(".parquet", "-wide.parquet")
    shown = ", ".join(f"{sql} AS {name}" for name, sql in more.items())
    duckdb.sql(f"""COPY (SELECT * EXCLUDE a, {shown} FROM (SELECT *, row_number() OVER () AS a FROM '{path}'))
        TO '{wide}' (FORMAT parquet)""")
    return wide, list(more)


def run(command):
    """Seconds from start to exit, processor seconds and the peak in MB."""
    for name in os.listdir(folder):
        if name.startswith("out."):
            os.remove(f"{folder}/{name}")
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(said.decode())
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def anonymize(path, *flags, columns=quasi, n_threads=threads):
    return [program, "anonymize", path, "-o", f"{folder}/out.parquet", "-k", "10", "--quasi", columns,
            "--threads", str(n_threads), "--quiet", *flags]


def sort(path, n_threads=threads, settings=""):
    sql = f"COPY (SELECT * FROM '{path}' ORDER BY {quasi}) TO '{folder}/out.parquet' (FORMAT parquet)"
    return [sys.executable, "-c", f"import duckdb; c = duckdb.connect(); c.execute('SET threads = {n_threads}; {settings}'); "
            f"c.execute(\"{sql}\")"]


def medians(runs):
    figures = {name: [] for name in runs}
    for _ in range(rounds):
        for name, command in runs.items():
            figures[name].append(run(command))
    return {name: [statistics.median(column) for column in zip(*own)] for name, own in figures.items()}


def told(title, figures, peer):
    print(f"\n{title}\n\n| | seconds | CPU s | peak MB | to {peer} |\n| --- | ---: | ---: | ---: | ---: |")
    for name, (wall, cpu, peak) in figures.items():
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {peak:.0f} | {wall / figures[peer][0]:.2f} |", flush=True)


large, tenth = table("large", rows), table("tenth", rows // 10)
one_many = {}
for name, make in {
    "DuckDB's sort": lambda n: sort(large, n),
    "median": lambda n: anonymize(large, "--split", "median", n_threads=n),
    "compact": lambda n: anonymize(large, "--split", "compact", n_threads=n),
}.items():
    one_many |= {f"{name}, 1 thread": make(1), f"{name}, {threads} threads": make(threads)}
figures = medians(one_many)
told(f"threads, {rows:,} rows", figures, f"DuckDB's sort, {threads} threads")
for name in ["DuckDB's sort", "median", "compact"]:
    print(f"speed-up of {name}: {figures[f'{name}, 1 thread'][0] / figures[f'{name}, {threads} threads'][0]:.2f}")

methods = {f"{method}, {split}": anonymize(large, "--method", method, "--split", split)
           for split in ["median", "compact"] for method in ["mondrian", "rtree"]}
figures = medians(methods)
for split in ["median", "compact"]:
    told(f"methods, {rows:,} rows", {name: own for name, own in figures.items() if split in name}, f"mondrian, {split}")

wide, more = widened(tenth)
figures = medians({
    "9 quasi-identifiers": anonymize(wide, "--split", "compact"),
    "60 quasi-identifiers": anonymize(wide, "--split", "compact", columns=",".join([quasi, *more])),
    "9 and 40 kept columns": anonymize(wide, "--split", "compact", "--keep", ",".join(more[:40]), *accept),
    "DuckDB's sort of all": sort(wide),
})
told(f"columns, {rows // 10:,} rows", figures, "9 quasi-identifiers")

figures = medians({"auto, fast": anonymize(tenth, "--effort", "fast"), "auto": anonymize(tenth),
                   "local": anonymize(tenth, "--method", "local")})
told(f"local, {rows // 10:,} rows", figures, "auto, fast")

if many:
    huge = table("huge", many)
    limit = f"SET memory_limit = \\'256MB\\'; SET temp_directory = \\'{folder}/spilled\\'; SET preserve_insertion_order = false"
    figures = medians({
        "DuckDB's sort": sort(huge, settings=limit),
        "median": anonymize(huge, "--split", "median", "--memory", "256MB"),
        "compact": anonymize(huge, "--split", "compact", "--memory", "256MB"),
    })
    told(f"memory, {many:,} rows in 256 MB", figures, "DuckDB's sort")
PYTHON
"$folder/venv/bin/python" "$folder/run.py" "$(realpath target/release/albers)" "$folder" "$rows" "$rounds" "$many"
