#!/usr/bin/env bash
# What every method loses on the same tables, of two builds of the program side by side: the normalized
# certainty penalty of each, and by how much the new one differs. Whoever changes how classes are found
# shows with it that nothing loses more.
#
# Usage: bench/loss.sh OLD NEW ADULT FARS [ROWS]
#   OLD, NEW  programs
#   ADULT     a folder with adult.csv and adult_hierarchy_COLUMN.csv (separator ;)
#   FARS      a folder with fars_int.csv and fars_int_hierarchy_COLUMN.csv (separator ;)
#   ROWS      of the generated agrawal table, 20000 when not given
set -euo pipefail
[ $# -ge 4 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/run.py" <<'PYTHON'
import json, os, subprocess, sys

old, new, adult, fars, rows, folder = sys.argv[1:7]


def hierarchies(path, columns):
    return [f"--hierarchy={column}={path}{column}.csv" for column in columns]


def made(path, *arguments):
    subprocess.run([new, "generate", *arguments, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


of_adult = "sex age race marital-status education native-country workclass occupation".split()
of_fars = "iage irace ideathmon ideathday isex ihispanic istatenum iinjury".split()
of_agrawal = "salary commission age elevel car zipcode hvalue hyears loan".split()
names = [f"--type={column}=text" for column in of_fars if column not in ("iage", "ideathmon", "ideathday")]
tables = {
    "adult": (f"{adult}/adult.csv", of_adult, hierarchies(f"{adult}/adult_hierarchy_", of_adult)),
    "fars": (f"{fars}/fars_int.csv", of_fars,
             hierarchies(f"{fars}/fars_int_hierarchy_", of_fars) + names),
    "agrawal": (made(f"{folder}/agrawal.csv", "agrawal", "-n", rows), of_agrawal, []),
}
labels = ["attribute-suppression", "incognito", "subtree"]
sets = ["ordered-set", "mondrian", "mondrian --split median", "mondrian --categories set", "local",
        "local --categories set", "bang", "grid", "bd-tree", "hb-tree", "kd-trie", "kd-b-trie",
        "grid-file", "rtree --also-k 100 --granularity cut",
        "rtree --also-k 100 --granularity leaf-scan",
        "rtree --also-k 100 --granularity hierarchical",
        "rtree --also-k 100 --granularity dendrogram"]
strict = "local --sensitive salary-class --t-closeness salary-class=0.1"


def losses(program, name, k, method):
    path, columns, flags = tables[name]
    if not flags and "--categories" in method:
        return None
    if "ordered-set" in method or not flags:
        flags = []
    out = f"{folder}/out.csv"
    command = [program, "anonymize", path, "-o", out, "--force", "-k", str(k), "--quasi",
               ",".join(columns), *flags, "--method", *method.split(), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None
    report = json.loads(done.stdout)
    coarser = report.get("also", [])
    return [own["table_loss"]["ncp"] for own in [report, *(one["report"] for one in coarser)]][-1]


print(f"| table | k | method | old | new | change |\n| --- | --- | --- | --- | --- | --- |")
for name in tables:
    methods = sets if name == "agrawal" else labels + sets
    for k in (5, 10, 50):
        for method in methods + ([strict] if name == "adult" else []):
            a, b = (losses(program, name, k, method) for program in (old, new))
            if a is None or b is None:
                shown = ["" if one is None else f"{one:.4f}" for one in (a, b)]
                print(f"| {name} | {k} | {method} | {shown[0]} | {shown[1]} | |", flush=True)
                continue
            change = (b - a) / a * 100 if a else 0.0
            print(f"| {name} | {k} | {method} | {a:.4f} | {b:.4f} | {change:+.1f} % |", flush=True)
PYTHON
python3 "$folder/run.py" "$1" "$2" "$(cd "$3" && pwd)" "$(cd "$4" && pwd)" "${5:-20000}" "$folder"
