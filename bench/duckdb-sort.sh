#!/usr/bin/env bash
# Anonymizing against sorting: times `albers anonymize` of an agrawal table, Parquet to Parquet, and
# DuckDB's sort of the same file into Parquet on as many threads, in turns, and prints the ratios of
# the median times.
#
# Usage: bench/duckdb-sort.sh [ROWS] [ROUNDS]     (10,000,000 rows and 3 rounds when not given)
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-10000000}
rounds=${2:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cargo build --release --locked --quiet
albers=target/release/albers
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb

quasi=salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan
"$albers" generate agrawal -n "$rows" -o "$folder/table.parquet" >/dev/null

cat > "$folder/run.py" <<'PYTHON'
import json, os, resource, statistics, subprocess, sys, time

albers, folder, quasi, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
threads = os.cpu_count()
table, out = f"{folder}/table.parquet", f"{folder}/out.parquet"
sort = (
    "import duckdb; c = duckdb.connect(); c.execute('SET threads = %d'); "
    "c.execute(\"COPY (SELECT * FROM '%s' ORDER BY %s) TO '%s' (FORMAT parquet)\")"
    % (threads, table, quasi, out)
)
anonymize = [albers, "anonymize", table, "-o", out, "--force", "-k", "10", "--quasi", quasi,
             "--threads", str(threads), "--json", "--split"]
runs = {
    "duckdb": [sys.executable, "-c", sort],
    "compact": anonymize + ["compact"],
    "median": anonymize + ["median"],
}
seconds = {name: [] for name in runs}
cpu = {name: [] for name in runs}
reports = {}
for _ in range(rounds):
    for name, command in runs.items():
        if os.path.exists(out):
            os.remove(out)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds[name].append(time.monotonic() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if name != "duckdb":
            reports[name] = json.loads(done.stdout)

base = statistics.median(seconds["duckdb"])
print(f"{threads} threads, {rounds} rounds, median seconds from start to exit")
print(f"{'':10} {'seconds':>8} {'ratio':>6} {'cpu s':>6} {'ncp':>8} {'peak MB':>8} {'x table':>8}")
for name in runs:
    wall = statistics.median(seconds[name])
    line = f"{name:10} {wall:8.2f} {wall / base:6.2f} {statistics.median(cpu[name]):6.2f}"
    if name in reports:
        report = reports[name]
        encoded = report["rows"] * len(quasi.split(",")) * 4
        peak = report["peak_rss_bytes"]
        line += f" {report['table_loss']['ncp']:8.4f} {peak / 1e6:8.0f} {peak / encoded:8.2f}"
    print(line)
    if name in reports:
        phases = reports[name]["seconds"]
        print(f"{'':10} " + ", ".join(f"{phase} {value:.2f}" for phase, value in phases.items()))
PYTHON
"$folder/venv/bin/python" "$folder/run.py" "$albers" "$folder" "$quasi" "$rounds"
