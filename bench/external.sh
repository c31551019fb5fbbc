#!/usr/bin/env bash
# Tables larger than memory: anonymizing an agrawal table within a memory budget against DuckDB's external
# sort of the same file under the same limit, on two threads, Parquet to Parquet; then how the work grows
# with the rows, with a smaller budget and with sorted input.
#
# Usage: bench/external.sh [ROWS] [FOLDER]     (100,000,000 rows; FOLDER for some 10 GB of files)
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-100000000}
folder=$(mktemp -d -p "${2:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$folder"' EXIT

cargo build --release --locked --quiet
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb

cat > "$folder/run.py" <<'PYTHON'
import json, os, subprocess, sys, time

albers, folder, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
quasi = "salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan"
out = f"{folder}/out.parquet"


def table(n_rows):
    path = f"{folder}/table-{n_rows}.parquet"
    if not os.path.exists(path):
        subprocess.run([albers, "generate", "agrawal", "-n", str(n_rows), "-o", path], check=True,
                       stdout=subprocess.DEVNULL)
    return path


def anonymize(path, memory, *flags):
    start = time.time()
    done = subprocess.run([albers, "anonymize", path, "-o", out, "--force", "-k", "10", "--quasi", quasi, "--threads", "2",
                           "--method", "rtree", "--memory", memory, "--json", *flags],
                          check=True, capture_output=True, text=True)
    report = json.loads(done.stdout)
    report["wall"] = time.time() - start
    report["moved"] = report["spilled_bytes"] + report["read_back_bytes"]
    return report


def duckdb(path, order, target, memory="256MB"):
    code = ("import duckdb, resource; c = duckdb.connect(); c.execute('SET threads = 2'); "
            "c.execute('SET enable_progress_bar = false'); "
            "c.execute(\"SET memory_limit = '%s'\"); c.execute(\"SET temp_directory = '%s/duck'\"); "
            "c.execute(\"COPY (SELECT * FROM '%s' ORDER BY %s) TO '%s' (FORMAT parquet)\"); "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)" % (memory, folder, path, order, target))
    start = time.time()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return time.time() - start, int(done.stdout) * 1024


def show(name, report):
    seconds = report["seconds"]
    print("%-28s %7.1f s  %5.0f MB held  %6.2f GB moved  ncp %.4f  (%s)" % (
        name, report["wall"], report["peak_rss_bytes"] / 1e6, report["moved"] / 1e9, report["table_loss"]["ncp"],
        ", ".join(f"{phase} {seconds[phase]:.1f}" for phase in ("read", "partition", "verify", "write"))), flush=True)
    return report


large, small, middle = table(rows), table(rows // 10), table(rows // 5)
seconds, held = duckdb(large, quasi, out)
print("%-28s %7.1f s  %5.0f MB held" % (f"duckdb sort, {rows} rows", seconds, held / 1e6), flush=True)
compact = show(f"compact, {rows} rows", anonymize(large, "256MB"))
median = show(f"median, {rows} rows", anonymize(large, "256MB", "--split", "median"))
tenth = show(f"compact, {rows // 10} rows", anonymize(small, "256MB"))
print("compact / duckdb %.2f, median / duckdb %.2f, %d rows / %d rows %.1f" % (
    compact["wall"] / seconds, median["wall"] / seconds, rows, rows // 10, compact["wall"] / tenth["wall"]))
os.remove(large)

moved = []
for memory in ("512MB", "256MB", "128MB"):
    moved.append(show(f"compact, {rows // 5} rows, {memory}", anonymize(middle, memory))["moved"])
print("bytes moved: " + ", ".join("%.2f x" % (b / max(a, 1)) for a, b in zip(moved, moved[1:])))

shuffled = show(f"shuffled, {rows // 10} rows", anonymize(small, "256MB"))
for order in ("salary, commission, age, hvalue", "salary DESC, commission DESC, age DESC", "zipcode, car, elevel"):
    ordered = f"{folder}/ordered.parquet"
    duckdb(small, order, ordered, memory="4GB")
    report = show(f"ordered by {order.split(',')[0]}", anonymize(ordered, "256MB"))
    print("  time %.2f x, ncp %.3f x" % (report["wall"] / shuffled["wall"],
                                         report["table_loss"]["ncp"] / shuffled["table_loss"]["ncp"]))
PYTHON
"$folder/venv/bin/python" "$folder/run.py" target/release/albers "$folder" "$rows"
