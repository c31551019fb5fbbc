#!/usr/bin/env bash
# The point access methods side by side: loss, classes and time of each on the Adult table (all 8
# quasi-identifiers, and 5 of them) and on 100,000 generated customers, k = 10, in turns. Prints a
# table of each in Markdown, with the ratio of every loss to that of mondrian with median cuts, which
# is the kd-tree, in the same run.
#
# Usage: bench/access-methods.sh FOLDER [ROUNDS]     (FOLDER holds adult.csv and
# adult_hierarchy_COLUMN.csv; 3 rounds when not given)
set -euo pipefail
data=$(cd "${1:?name the folder with adult.csv and its hierarchies}" && pwd)
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
target/release/albers generate customer -n 100000 -o "$folder/customer.csv" >/dev/null
cat > "$folder/run.py" <<'PYTHON'
import collections, csv, json, statistics, subprocess, sys

albers, data, folder, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
out = f"{folder}/out.csv"
methods = ["mondrian --split median", "mondrian", "rtree", "kd-trie", "pr-quadtree", "kd-b-trie",
           "grid-file", "bd-tree", "hb-tree", "bang"]
adult = "sex,age,race,marital-status,education,native-country,workclass,occupation"
few = "age,race,education,workclass,occupation"
ordered = "birth-date,income,customer-since,household-size,balance"


def hierarchies(columns):
    return [flag for name in columns.split(",")
            for flag in ("--hierarchy", f"{name}={data}/adult_hierarchy_{name}.csv")]


tables = [
    ("adult, 8 quasi-identifiers", f"{data}/adult.csv", adult,
     hierarchies(adult) + ["--categories", "set"]),
    ("adult, 5 quasi-identifiers", f"{data}/adult.csv", few,
     hierarchies(few) + ["--categories", "set"]),
    ("customer, 5 ordered quasi-identifiers", f"{folder}/customer.csv", ordered, []),
]
for title, table, quasi, flags in tables:
    seconds, figures = collections.defaultdict(list), {}
    for turn in range(rounds):
        for method in methods:
            done = subprocess.run(
                [albers, "anonymize", table, "-o", out, "--force", "--json", "-k", "10",
                 "--quasi", quasi, *flags, "--method", *method.split()],
                capture_output=True, text=True)
            if done.returncode != 0:
                figures[method] = done.stderr.strip()
                continue
            report = json.loads(done.stdout)
            seconds[method].append(report["seconds"]["total"])
            if turn == 0:
                with open(out, newline="") as file:
                    start = file.readline()
                    delimiter = ";" if ";" in start else ","
                    sizes = collections.Counter(tuple(row) for row in csv.reader(file, delimiter=delimiter))
                assert len(sizes) == report["classes"], "a release holds nothing but its classes"
                figures[method] = (report["table_loss"]["ncp"], report["classes"],
                                   min(sizes.values()), statistics.median(sizes.values()),
                                   max(sizes.values()))
    base = figures[methods[0]][0]
    print(f"\n{title}\n")
    print("| method | ncp | ratio | classes | least | median | greatest | seconds |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for method in methods:
        if isinstance(figures[method], str):
            print(f"| `{method}` | refused: {figures[method]} | | | | | | |")
            continue
        ncp, classes, least, median, greatest = figures[method]
        wall = statistics.median(seconds[method])
        print(f"| `{method}` | {ncp:.4f} | {ncp / base:.2f} | {classes:,} | {least} | {median:g} | "
              f"{greatest:,} | {wall:.2f} |")
PYTHON
python3 "$folder/run.py" target/release/albers "$data" "$folder" "${2:-3}"
