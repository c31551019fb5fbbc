#!/usr/bin/env bash
# What writing costs: a program before and one after a change, in turns, on the same tables.
#
#   parquet    agrawal, 9 quasi-identifiers, k = 10, `median`, Parquet to Parquet
#   kept       the same of a tenth of the rows, with 40 columns kept as they are
#   csv        agrawal, half of the rows, `compact`, CSV to CSV, beside DuckDB's sort of the same file
#
# Prints CPU seconds, seconds from start to exit, the seconds that the report has for writing, and the
# size of the release: medians.
#
# Usage: bench/writing.sh OLD [ROWS] [ROUNDS]     (10,000,000 rows and 3 rounds when not given)
set -euo pipefail
cd "$(dirname "$0")/.."
old=$(realpath "$1")
rows=${2:-10000000}
rounds=${3:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cargo build --release --locked --quiet
new=$(realpath target/release/albers)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb

"$new" generate agrawal -n "$rows" -o "$folder/table.parquet" >/dev/null
"$new" generate agrawal -n $((rows / 2)) -o "$folder/table.csv" >/dev/null
"$folder/venv/bin/python" - "$folder" $((rows / 10)) <<'PYTHON'
import duckdb, sys
folder, n_rows = sys.argv[1], int(sys.argv[2])
# Small and large numbers, floats, short and long texts, days: eight of each kind.
kinds = {
    "small": "CAST(hash(a, {n}) % 50 AS INTEGER)",
    "large": "CAST(hash(a, {n}) % 1000000000 AS BIGINT)",
    "float": "(hash(a, {n}) % 1000000) / 7.0",
    "text": "'value ' || (hash(a, {n}) % 1000)",
    "day": "DATE '2000-01-01' + CAST(hash(a, {n}) % 9000 AS INTEGER)",
}
kept = ", ".join(f"{sql.format(n=n)} AS {kind}_{n}" for kind, sql in kinds.items() for n in range(8))
duckdb.sql(f"""COPY (SELECT * EXCLUDE a, {kept} FROM (SELECT *, row_number() OVER () AS a
    FROM '{folder}/table.parquet' LIMIT {n_rows})) TO '{folder}/kept.parquet' (FORMAT parquet)""")
PYTHON

cat > "$folder/run.py" <<'PYTHON'
import json, os, resource, statistics, subprocess, sys, time

folder, rounds = sys.argv[1], int(sys.argv[2])
programs = {"before": sys.argv[3], "after": sys.argv[4]}
quasi = "salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan"
kept = ",".join(f"{kind}_{n}" for kind in ("small", "large", "float", "text", "day") for n in range(8))
jobs = {
    "parquet": ["table.parquet", "out.parquet", "--split", "median"],
    "kept": ["kept.parquet", "out.parquet", "--split", "median", "--keep", kept,
             "--accept", "unique-keep,unique-keeps,keep-tells-quasi"],
    "csv": ["table.csv", "out.csv", "--split", "compact"],
}
sort = (
    "import duckdb; c = duckdb.connect(); c.execute('SET threads = %d'); "
    "c.execute(\"COPY (SELECT * FROM '%s/table.csv' ORDER BY %s) TO '%s/sorted.csv'\")"
    % (os.cpu_count(), folder, quasi, folder)
)

def timed(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, done.stdout

figures = {}
for _ in range(rounds):
    for job, (table, out, *flags) in jobs.items():
        for name, program in programs.items():
            out_path = f"{folder}/{out}"
            command = [program, "anonymize", f"{folder}/{table}", "-o", out_path, "--force", "-k", "10",
                       "--quasi", quasi, "--json", *flags]
            cpu, wall, report = timed(command)
            report = json.loads(report)
            figures.setdefault((job, name), []).append(
                (cpu, wall, report["seconds"]["write"], os.path.getsize(out_path) / 1e6,
                 report["peak_rss_bytes"] / 1e6))
    cpu, wall, _ = timed([sys.executable, "-c", sort])
    figures.setdefault(("csv", "duckdb"), []).append((cpu, wall, 0, 0, 0))
print(f"{'':18} {'cpu s':>7} {'wall s':>7} {'write s':>8} {'MB':>7} {'peak MB':>8}")
for (job, name), rows in figures.items():
    cpu, wall, write, size, peak = (statistics.median(column) for column in zip(*rows))
    print(f"{job:9} {name:8} {cpu:7.2f} {wall:7.2f} {write:8.2f} {size:7.1f} {peak:8.0f}")
PYTHON
"$folder/venv/bin/python" "$folder/run.py" "$folder" "$rounds" "$old" "$new"
