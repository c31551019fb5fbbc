#!/usr/bin/env bash
# Rothko: agrawal tables that are larger than memory, cut by a tested sample and by counts of values, in turns:
# time, memory and bytes moved as the rows grow (figures 18 and 19), by k (20) and following a class (21). Then what
# it costs to recode rows by a stored function, beside reading and writing them for a release.
#
# Usage: bench/rothko.sh [ROWS] [FOLDER]     (50,000,000 rows; FOLDER for some 15 GB of files)
# ALBERS names another program than that of this folder.
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-50000000}
folder=$(mktemp -d -p "${2:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$folder"' EXIT

if [ -z "${ALBERS:-}" ]; then
    cargo build --release --locked --quiet
    ALBERS=target/release/albers
fi
cat > "$folder/run.py" <<'PYTHON'
import json, os, subprocess, sys, time

albers, folder, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
quasi = "salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan"
out = f"{folder}/out.parquet"
accept = "target-in-classes,keep-tells-quasi,unique-keep"


def table(n_rows):
    path = f"{folder}/table-{n_rows}.parquet"
    if not os.path.exists(path):
        subprocess.run([albers, "generate", "agrawal", "-n", str(n_rows), "--class", "c2", "-o", path], check=True,
                       stdout=subprocess.DEVNULL)
    return path


def run(*words):
    """A run, its report, and what it took: wall and processor seconds."""
    start = time.time()
    with open(f"{folder}/report.json", "w") as report, open(f"{folder}/errors.txt", "w") as errors:
        process = subprocess.Popen([albers, *words, "--json"], stdout=report, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(open(f"{folder}/errors.txt").read())
    report = json.load(open(f"{folder}/report.json"))
    report["wall"], report["processor"] = time.time() - start, usage.ru_utime + usage.ru_stime
    report["held"] = usage.ru_maxrss * 1024
    return report


def anonymize(n_rows, external, k=1000, split=("--split", "median")):
    path = table(n_rows)
    report = run("anonymize", path, "-o", out, "--force", "-k", str(k), "--quasi", quasi, "--keep", "class", "--accept", accept,
                 "--threads", "2", "--method", "mondrian", "--memory", "128MB", "--external", external, *split)
    report["source_passes"] = report["bytes"]["source"] / os.path.getsize(path)
    return report


def show(name, report):
    moved = report["bytes"]
    told = {key: value for key, value in (report.get("samples") or report.get("passes") or {}).items() if value}
    print("%-34s %7.1f s %7.1f s processor %5.0f MB  source x %.2f  parts %6.2f GB written %6.2f GB read  ncp %.4f  %s" % (
        name, report["wall"], report["processor"], report["held"] / 1e6, report["source_passes"],
        moved["partition_spilled"] / 1e9, moved["partition_read_back"] / 1e9, report["table_loss"]["ncp"],
        json.dumps(told)), flush=True)


def compare(name, *words, **more):
    sample, tree = (anonymize(*words, external, **more) for external in ("sample", "tree"))
    show(f"{name}, sample", sample)
    show(f"{name}, tree", tree)
    print("%-34s %.2f times the time of tree, %.2f times its processor time" % (
        "", sample["wall"] / tree["wall"], sample["processor"] / tree["processor"]), flush=True)


for share in (5, 2, 1):
    compare(f"{rows // share} rows, k = 1000", rows // share)
for k in (100, 10000):
    compare(f"{rows // 5} rows, k = {k}", rows // 5, k=k)
gain = ("--split", "info-gain", "--target", "class", "--then", "median")
for share in (5, 2):
    compare(f"{rows // share} rows, info-gain", rows // share, split=gain)

path = table(rows // 5)
os.mkdir(f"{folder}/models")
base = run("anonymize", path, "-o", out, "--force", "-k", "1000", "--quasi", quasi, "--keep", "class", "--accept", accept,
           "--threads", "2", "--split", "median", "--model", f"{folder}/models/model")
print("anonymize with a model of %.1f MB: %s" % (os.path.getsize(f"{folder}/models/model") / 1e6, base["seconds"]))
read_write = base["seconds"]["read"] + base["seconds"]["write"]
for mode in ([], ["--for-learning"]):
    start = time.time()
    subprocess.run([albers, "recode", f"{folder}/models/model", path, "-o", f"{folder}/recoded{len(mode)}.parquet", "--threads", "2",
                    *([] if mode else ["--accept", accept]), *mode], check=True, stdout=subprocess.DEVNULL)
    took = time.time() - start
    print("recode %-15s %7.1f s, %.2f times anonymize, %.2f times its reading and writing" % (
        *(mode or ["as a release"]), took, took / base["wall"], took / read_write), flush=True)
PYTHON
python3 "$folder/run.py" "$ALBERS" "$folder" "$rows"
