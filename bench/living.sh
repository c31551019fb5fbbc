#!/usr/bin/env bash
# A living index: what batches cost, what they lose, how fast single rows are durable, what releases cost.
#
# Usage: bench/living.sh [ROWS] [FOLDER]     (500,000 rows in each of nine batches of lands-end; a folder on the disk that counts)
set -euo pipefail
rows=${1:-500000}
place=${2:-${TMPDIR:-/tmp}}
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet --workspace --bins --example living_inserts
folder=$(mktemp -d -p "$place")
trap 'rm -rf "$folder"' EXIT
target/release/albers generate lands-end -n $((9 * rows)) -o "$folder/named.parquet" >/dev/null
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb
cat > "$folder/run.py" <<'PYTHON'
import duckdb, json, shutil, subprocess, sys, time

albers, folder, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
# As in the paper, styles are numbers; rows have a key.
duckdb.sql(f"""CREATE TABLE t AS SELECT row_number() OVER () - 1 AS id,
    * REPLACE (dense_rank() OVER (ORDER BY style)::INTEGER AS style) FROM '{folder}/named.parquet'""")
for batch in range(9):
    duckdb.sql(f"COPY (FROM t WHERE id // {rows} = {batch}) TO '{folder}/batch{batch}.parquet' (FORMAT parquet)")
duckdb.sql(f"COPY (FROM t) TO '{folder}/all.parquet' (FORMAT parquet)")
duckdb.sql(f"COPY (SELECT id FROM t WHERE hash(id) % 2 = 0) TO '{folder}/gone.parquet' (FORMAT parquet)")
duckdb.sql(f"COPY (FROM t WHERE hash(id) % 2 = 1) TO '{folder}/left.parquet' (FORMAT parquet)")
JOB = ["--quasi", "zipcode,order-date,gender,style,price,quantity,cost,shipment", "--identifier", "id",
       "--type", "zipcode=integer", "-k", "10", "--method", "rtree", "--memory", "256MB"]
index = f"{folder}/index"


def run(*words):
    start = time.time()
    done = subprocess.run([albers, *words, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    report = json.loads(done.stdout)
    report["wall"] = time.time() - start
    return report


def anonymize(name):
    return run("anonymize", f"{folder}/{name}.parquet", "-o", f"{folder}/bulk.parquet", "--force", *JOB)


def release(index, *flags):
    return run("index", "release", index, "-o", f"{folder}/out.parquet", "--force", "--memory", "256MB", *flags)


def told(report):
    own = report["seconds"]
    return f"{own['partition']:8.2f} {own['read']:8.2f} {own['verify']:8.2f} {own['write']:8.2f} {own['total']:8.2f}"


def copied():
    """A copy of the index, in which a plain release may be accepted without a trace in the other."""
    shutil.rmtree(f"{folder}/copy", ignore_errors=True)
    shutil.copytree(index, f"{folder}/copy")
    return f"{folder}/copy"


print(f"batches of {rows} rows, k = 10, 256MB, a release with --batch after each: seconds")
print("batch     rows   insert   settle     scan   verify    write  release  insert+settle  sets s  peak MB of both")
first = run("index", "create", index, f"{folder}/batch0.parquet", "--key", "id", *JOB)
costs = []
for batch in range(9):
    inserted = first if batch == 0 else run("index", "insert", index, f"{folder}/batch{batch}.parquet", "--memory", "256MB")
    own = release(index, "--batch")
    cost = inserted["seconds"] + own["seconds"]["partition"]
    costs.append(cost)
    print(f"{batch:5d} {own['rows']:8d} {inserted['seconds']:8.2f} {told(own)} {cost:14.2f} {own['sets_seconds']:7.2f} {inserted['peak_rss_bytes'] / 1e6:8.0f} {own['peak_rss_bytes'] / 1e6:5.0f}", flush=True)
print(f"last / first batch: {costs[8] / costs[1]:.2f}, most / first: {max(costs[1:]) / costs[1]:.2f}")
bulk = anonymize("all")
plain = release(copied(), "--accept", "linkage")
print(f"anonymize all: {bulk['seconds']}, ncp {bulk['table_loss']['ncp']:.4f}, peak {bulk['peak_rss_bytes'] / 1e6:.0f} MB")
print(f"last batch / anonymize: {costs[8] / bulk['seconds']['total']:.3f}; ncp {plain['table_loss']['ncp']:.4f}, / bulk: {plain['table_loss']['ncp'] / bulk['table_loss']['ncp']:.4f}")
both = bulk["seconds"]["verify"] + bulk["seconds"]["write"]
print(f"a plain release without changes: {told(plain)}, peak {plain['peak_rss_bytes'] / 1e6:.0f} MB; / (verify + write of anonymize): {plain['seconds']['total'] / both:.2f}")
tenth = release(index, "--batch")
print(f"the test of all sets, release {tenth['release']}: {tenth['sets_seconds']:.2f} s, {tenth['sets_seconds'] / tenth['seconds']['total']:.3f} of the release")
info = run("index", "info", index)
print(f"info (opening included): {info['wall']:.2f} s, {info['bytes'] / 1e6:.0f} MB, {info['leaves']} leaves")
gone = run("index", "delete", index, f"{folder}/gone.parquet", "--memory", "256MB")
own, bulk = release(index, "--accept", "linkage"), anonymize("left")
print(f"half deleted in {gone['seconds']:.2f} s, peaks {gone['peak_rss_bytes'] / 1e6:.0f} and {own['peak_rss_bytes'] / 1e6:.0f} MB, settled in {own['seconds']['partition']:.2f} s; ncp {own['table_loss']['ncp']:.4f}, bulk {bulk['table_loss']['ncp']:.4f}: {own['table_loss']['ncp'] / bulk['table_loss']['ncp']:.4f}")
compacted = run("index", "compact", index, "--memory", "256MB")
print(f"compacted in {compacted['wall']:.2f} s")
PYTHON
"$folder/venv/bin/python" "$folder/run.py" target/release/albers "$folder" "$rows"
echo
echo "Durable inserts"
target/release/examples/living_inserts "$folder"
