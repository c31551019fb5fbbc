#!/usr/bin/env bash
# Asking a release: times `albers query` of range queries on all eight columns of a release of the
# sales table (k = 10), from start to exit, and DuckDB counting the classes that meet the same
# ranges, on as many threads; prints medians, peaks and ratios.
#
# Usage: bench/query.sh [ROWS] [QUERIES] [ROUNDS]  (4,591,581 rows, 1,000 queries, 3 rounds when not given)
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-4591581}
queries=${2:-1000}
rounds=${3:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cargo build --release --locked --quiet
albers=target/release/albers
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb

quasi=zipcode,order-date,gender,style,price,quantity,cost,shipment
"$albers" generate lands-end -n "$rows" -o "$folder/table.parquet" >/dev/null
cat > "$folder/run.py" <<'PYTHON'
import json, os, random, re, resource, statistics, subprocess, sys, time
import duckdb

albers, folder, quasi, n_queries, rounds = sys.argv[1], sys.argv[2], sys.argv[3].split(","), int(sys.argv[4]), int(sys.argv[5])
threads = os.cpu_count()
connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")
# All columns as ordered numbers, names by their ranks, as the paper has them.
types = {name: kind for name, kind, *_ in connection.execute(f"describe select * from '{folder}/table.parquet'").fetchall()}
ranked = ", ".join(
    f'dense_rank() over (order by "{name}") - 1 as "{name}"' if types[name] == "VARCHAR" else f'"{name}"' for name in quasi
)
connection.execute(f"copy (select {ranked} from '{folder}/table.parquet') to '{folder}/ordered.parquet' (format parquet)")
for ending in ["parquet", "csv"]:
    subprocess.run([albers, "anonymize", f"{folder}/ordered.parquet", "-o", f"{folder}/release.{ending}", "-k", "10",
                    "--quasi", ",".join(quasi), "--values", "bounds", "--json"], check=True, stdout=subprocess.DEVNULL)

random.seed(12)
records = connection.execute(f"select * from '{folder}/ordered.parquet' using sample {2 * n_queries} rows (reservoir, 12)").fetchall()
conditions, counts = [], []
for a, b in zip(records[::2], records[1::2]):
    tests, meets = [], []
    for name, x, y in zip(quasi, a, b):
        lo, hi = sorted((x, y))
        literal = (lambda v: f"'{v}'") if types[name] not in ("VARCHAR",) and not isinstance(lo, (int, float)) else str
        tests.append(f'"{name}" between {literal(lo)} and {literal(hi)}')
        meets.append(f'"{name}_min" <= {literal(hi)} and "{name}_max" >= {literal(lo)}')
    conditions.append(" and ".join(tests))
    counts.append(f"count(*) filter (where {' and '.join(meets)})")
open(f"{folder}/conditions.txt", "w").write("\n".join(conditions) + "\n")

def timed(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(["/usr/bin/env", "time", "-f", "%M", *command], check=True, capture_output=True, text=True)
    wall = time.monotonic() - start
    peak_mb = int(done.stderr.strip().splitlines()[-1]) / 1024
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout, peak_mb

ask = lambda name, more=(): [albers, "query", f"{folder}/{name}", "--conditions", f"{folder}/conditions.txt", "--json", *more]
# As DuckDB would be asked: one pass over the file for a hundred ranges at a time.
scan = "import duckdb, sys; c = duckdb.connect(); c.execute('set threads = %d; set enable_progress_bar = false'); print(sum((list(c.execute(q).fetchone()) for q in open(sys.argv[1]).read().split(';') if q.strip()), []))" % threads
batches = [f"select {', '.join(counts[at:at + 100])} from '{folder}/release.parquet'" for at in range(0, n_queries, 100)]
open(f"{folder}/scan.sql", "w").write(";".join(batches))
runs = {
    "parquet": ask("release.parquet"),
    "parquet, one thread": ask("release.parquet", ["--threads", "1"]),
    "parquet, 256MB": ask("release.parquet", ["--memory", "256MB"]),
    "csv": ask("release.csv"),
    "duckdb": [sys.executable, "-c", scan, f"{folder}/scan.sql"],
}
found = {name: [] for name in runs}
for _ in range(rounds):
    for name, command in runs.items():
        try:
            found[name].append(timed(command))
        except subprocess.CalledProcessError as error:
            found[name].append(None)
            print(name, error.stderr.strip().splitlines()[-1][:200])
overlaps = [answer["overlap"] for answer in json.loads(found["parquet"][0][2])["answers"]]
assert overlaps == json.loads(found["duckdb"][0][2]), "DuckDB counts other rows"
rows = json.loads(found["parquet"][0][2])["rows"]
print(f"{rows} rows, {n_queries} queries on {len(quasi)} columns, {threads} threads, {rounds} rounds, medians; loading included")
for name in runs:
    good = [own for own in found[name] if own]
    if good:
        wall = statistics.median(own[0] for own in good)
        cpu = statistics.median(own[1] for own in good)
        peak = max(own[3] for own in good)
        print(f"{name:22} {wall:7.2f} s  cpu {cpu:7.2f} s  peak {peak:5.0f} MB")
PYTHON
"$folder/venv/bin/python" "$folder/run.py" "$albers" "$folder" "$quasi" "$queries" "$rounds"
