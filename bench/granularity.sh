#!/usr/bin/env bash
# Releases of many granularities from one index: the loss against Mondrian's median split, and the time.
#
# Usage: bench/granularity.sh FOLDER [ROWS]     (FOLDER holds adult.csv; 4,591,581 rows of lands-end)
set -euo pipefail
data=$(cd "${1:?name the folder with adult.csv}" && pwd)
rows=${2:-4591581}
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
target/release/albers generate lands-end -n "$rows" -o "$folder/named.parquet" >/dev/null
# As in the paper, styles are numbers.
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import duckdb, sys

folder = sys.argv[1]
numbers = "SELECT * REPLACE (dense_rank() OVER (ORDER BY style)::INTEGER AS style)"
duckdb.sql(f"COPY ({numbers} FROM '{folder}/named.parquet') TO '{folder}/lands-end.parquet' (FORMAT parquet)")
PYTHON

cat > "$folder/run.py" <<'PYTHON'
import json, subprocess, sys

albers, data, folder = sys.argv[1:4]
ks = [5, 10, 25, 50, 100, 250, 500, 1000]


def run(table, *flags):
    done = subprocess.run([albers, "anonymize", *table, "-o", f"{folder}/out.parquet", "--force", "--json", *flags],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def losses(report):
    return {5: report["table_loss"]["ncp"], **{own["k"]: own["report"]["table_loss"]["ncp"] for own in report.get("also", [])}}


def quality(name, table):
    also = ["-k", "5", "--also-k", ",".join(map(str, ks[1:])), "--method", "rtree", "--granularity"]
    cut, scan, nodes = (losses(run(table, *also, way)) for way in ("cut", "leaf-scan", "hierarchical"))
    print(f"{name}: ncp of")
    print("    k  median, regions   median    rtree -k k    cut   leaf-scan  hierarchical  cut/regions  cut/median")
    for k in ks:
        median = ["--method", "mondrian", "--split", "median", "-k", str(k)]
        regions, compacted = (run(table, *median, *flags)["table_loss"]["ncp"] for flags in (["--no-compact"], []))
        direct = run(table, "--method", "rtree", "-k", str(k))["table_loss"]["ncp"]
        print("%5d %16.4f %8.4f %13.4f %6.4f %11.4f %13.4f %12.2f %11.2f" % (
            k, regions, compacted, direct, cut[k], scan[k], nodes[k], cut[k] / regions, cut[k] / compacted),
            flush=True)


def times(name, table):
    print(f"{name}: seconds of partitioning")
    for flags in (["--method", "mondrian", "--split", "median", "-k", "5"], ["--method", "mondrian", "-k", "5"],
                  ["--method", "rtree", "--split", "median", "-k", "5"], ["--method", "rtree", "-k", "5"],
                  *(["--method", "rtree", "-k", "5", "--also-k", str(k)] for k in ks[1:])):
        seconds = min(run(table, *flags)["seconds"]["partition"] for _ in range(3))
        print("  %-45s %6.2f" % (" ".join(flags), seconds), flush=True)


adult = [f"{data}/adult.csv", "--quasi",
         "sex,age,race,marital-status,education,native-country,workclass,occupation", "--categories", "set"]
lands_end = [f"{folder}/lands-end.parquet", "--quasi",
             "zipcode,order-date,gender,style,price,quantity,cost,shipment", "--type", "zipcode=integer"]
quality("adult", adult)
quality("lands-end", lands_end)
times("lands-end", lands_end)
PYTHON
python3 "$folder/run.py" target/release/albers "$data" "$folder"
