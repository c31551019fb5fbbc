#!/usr/bin/env bash
# What following a target costs and gains: times `albers anonymize` of an agrawal table, Parquet to
# Parquet, with the splits compact, median and info-gain in turns, and prints the ratios of the median
# times to that of compact, and how much is left to know of the class (bits).
#
# Usage: bench/workload.sh [ROWS] [ROUNDS]     (10,000,000 rows and 3 rounds when not given)
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
"$albers" generate agrawal -n "$rows" --class c2 -o "$folder/table.parquet" >/dev/null

cat > "$folder/run.py" <<'PYTHON'
import json, os, statistics, subprocess, sys, time

import duckdb

albers, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
table, out = f"{folder}/table.parquet", f"{folder}/out.parquet"
quasi = "salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan"
base = [albers, "anonymize", table, "-o", out, "--force", "--json", "-k", "10", "--quasi", quasi,
        "--keep", "class", "--accept", "target-in-classes,keep-tells-quasi,unique-keep"]
runs = {
    "compact": ["--split", "compact"],
    "median": ["--split", "median"],
    "info-gain": ["--split", "info-gain", "--target", "class"],
    "info-gain, then median": ["--split", "info-gain", "--target", "class", "--then", "median"],
}
entropy = """
    WITH counted AS (SELECT * EXCLUDE class, class, count(*) AS n FROM '%s' GROUP BY ALL),
    classes AS (SELECT * EXCLUDE (class, n), sum(n) AS rows,
                       sum(n) * log2(sum(n)) - sum(n * log2(n)) AS bits FROM counted GROUP BY ALL)
    SELECT sum(bits) / sum(rows) FROM classes"""
seconds = {name: [] for name in runs}
told = {}
for turn in range(rounds):
    for name, flags in runs.items():
        start = time.monotonic()
        done = subprocess.run(base + flags, check=True, capture_output=True, text=True)
        seconds[name].append(time.monotonic() - start)
        if turn == 0:
            report = json.loads(done.stdout)
            bits = duckdb.execute(entropy % out).fetchone()[0]
            told[name] = (report["table_loss"]["ncp"], bits, report["seconds"]["partition"])
first = statistics.median(seconds["compact"])
print(f"{'':24} {'seconds':>8} {'ratio':>6} {'partition s':>12} {'ncp':>8} {'bits left':>10}")
for name in runs:
    wall = statistics.median(seconds[name])
    ncp, bits, partition = told[name]
    print(f"{name:24} {wall:8.2f} {wall / first:6.2f} {partition:12.2f} {ncp:8.4f} {bits:10.4f}")
PYTHON
"$folder/venv/bin/python" "$folder/run.py" "$albers" "$folder" "$rounds"
