#!/usr/bin/env bash
# The BANG file beside the R+-tree: how long both take to build, and what they lose at every k.
#
# Usage: bench/bang.sh FOLDER [ROWS]     (FOLDER holds adult/adult.csv and fars/fars_int.csv; 1,000,000 rows of made-up tables)
set -euo pipefail
data=$(cd "${1:?name the folder with adult and fars}" && pwd)
rows=${2:-1000000}
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet --workspace --bins --example bang_build
echo "Build, M = 5"
target/release/examples/bang_build 5
echo
echo "Build, M = 100"
target/release/examples/bang_build 100
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/run.py" <<'PYTHON'
import json, math, subprocess, sys

albers, data, folder, rows = sys.argv[1:5]
KS = [5, 10, 20, 50, 100, 1000, 10000]


def generate(kind, *flags):
    path = f"{folder}/{kind}.csv"
    subprocess.run([albers, "generate", kind, "-n", rows, "-o", path, *flags], check=True, capture_output=True)
    return path


def ranked(path, columns, name):
    """A copy in which names are their ranks, so that every column is ordered."""
    import csv
    with open(path, newline="") as file:
        delimiter = ";" if ";" in file.readline() else ","
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter)
        header = next(reader)
        places = [header.index(column) for column in columns]
        table = [[row[place] for place in places] for row in reader]
    table = [row for row in table if all(cell not in ("", "?") for cell in row)]
    for at in range(len(columns)):
        values = [row[at] for row in table]
        try:
            [int(value) for value in values]
        except ValueError:
            rank = {value: place for place, value in enumerate(sorted(set(values)))}
            for row in table:
                row[at] = rank[row[at]]
    out = f"{folder}/{name}.csv"
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(table)
    return out, len(table)


def run(path, columns, k, also, *flags):
    types = [word for column in columns for word in ("--type", f"{column}=integer")]
    done = subprocess.run([albers, "anonymize", path, "-o", f"{folder}/out.parquet", "--force", "--json", "-k", str(k),
                           *(["--also-k", ",".join(map(str, also))] if also else []),
                           "--quasi", ",".join(columns), *types, "--accept", "own-value-bounds", *flags],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    report = json.loads(done.stdout)
    releases = {k: report, **{own["k"]: own["report"] for own in report.get("also", [])}}
    return releases


def figures(report, k, n):
    loss = report["table_loss"]
    kl = report.get("kl")
    text = "%.3f" % kl if kl is not None else "<= %.3f" % report["kl_at_most"]
    return "%.4f | %.3f | %s" % (loss["ncp"], loss["discernibility"] / (k * n), text)


WAYS = [
    ("rtree, leaf-scan", ["--method", "rtree", "--granularity", "leaf-scan"]),
    ("rtree, cut", ["--method", "rtree", "--granularity", "cut"]),
    ("rtree, dendrogram", ["--method", "rtree", "--granularity", "dendrogram"]),
    ("bang, nested", ["--method", "bang", "--granularity", "nested"]),
    ("bang, dendrogram", ["--method", "bang", "--granularity", "dendrogram"]),
    ("bang, dendrogram-cut", ["--method", "bang", "--granularity", "dendrogram-cut"]),
    ("bang, cut", ["--method", "bang", "--granularity", "cut"]),
]


def quality(name, path, columns, n):
    ks = [k for k in KS if 2 * k <= n]
    for form, flags in (("bounds", []), ("regions", ["--no-compact"])):
        print(f"\n{name}, {n} rows x {len(columns)}, {form}: ncp | DP / (k N) | KL\n")
        print("| k | " + " | ".join(f"{way} | | " for way, _ in WAYS) + "|")
        print("| --- |" + " --- | --- | --- |" * len(WAYS))
        releases = [run(path, columns, 5, ks[1:], *way, *flags) for _, way in WAYS]
        for k in ks:
            print(f"| {k} | " + " | ".join(figures(own[k], k, n) for own in releases) + " |", flush=True)


def by_base(name, path, columns, n):
    print(f"\n{name}: k = 100 of blocks of at least 5 and 100 rows, ncp and seconds of partitioning")
    fine = run(path, columns, 5, [100], "--method", "bang", "--granularity", "dendrogram-cut")
    coarse = run(path, columns, 100, [], "--method", "bang")
    for base, releases in ((5, fine), (100, coarse)):
        seconds = releases[base]["seconds"]["partition"]
        print("M = %d: ncp %.4f, %.2f s" % (base, releases[100]["table_loss"]["ncp"], seconds))


seven = ["gender", "birth-date", "postal-code", "income", "household-size", "profession", "marital-status"]
adult = ranked(generate("adult", "--zipcode"), ["age", "zipcode", "education"], "adult3")
customer = ranked(generate("customer"), seven, "customer7")
of_census = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
census = ranked(f"{data}/adult/adult.csv", of_census, "census")
of_fars = ["iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "istatenum"]
fars = ranked(f"{data}/fars/fars_int.csv", of_fars, "fars")
for name, (path, n), columns in (("adult", adult, ["age", "zipcode", "education"]), ("customer", customer, seven),
                                 ("census, real", census, of_census), ("fars, real", fars, of_fars)):
    quality(name, path, columns, n)
by_base("adult", adult[0], ["age", "zipcode", "education"], adult[1])
PYTHON
python3 "$folder/run.py" target/release/albers "$data" "$folder" "$rows"
