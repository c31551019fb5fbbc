#!/usr/bin/env bash
# The slow corners of the engine, as docs/results/engine.md tells of them: two builds of the
# program side by side, in turns, on the same tables; processor seconds of both, their ratio and the
# most resident memory.
#
# Usage: bench/corners.sh OLD NEW [ROUNDS] [FARS] [ADULT]
#   OLD, NEW  programs
#   ROUNDS    3 when not given
#   FARS      a folder with fars_int.csv and fars_int_hierarchy_COLUMN.csv, for searches in little memory
#   ADULT     a folder with adult.csv and adult_hierarchy_COLUMN.csv, for Incognito
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/run.py" <<'PYTHON'
import glob, os, statistics, subprocess, sys

folder, old, new, rounds, fars, adult = sys.argv[1:7]
rounds = int(rounds)
quasi = "salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan"
others = quasi.replace("salary,", "")


def run(program, arguments):
    """Processor seconds and the peak in MB; a release is removed before it is made again."""
    if arguments[0] == "anonymize":
        for path in glob.glob(arguments[arguments.index("-o") + 1] + "*"):
            os.remove(path)
    process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    # A check ends with 1 where it finds something.
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(said.decode())
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def made(path, *arguments):
    run(new, [*arguments, "-o", path])
    return path


def anonymize(table, name, *flags):
    return ["anonymize", table, "-o", f"{folder}/{name}", "-k", "10", "--threads", "2", "--split", "median", *flags]


def generalized(data, table, columns):
    return ["--quasi", ",".join(columns), *[f"--hierarchy={c}={data}/{table}_hierarchy_{c}.csv" for c in columns]]


million = made(f"{folder}/million.parquet", "generate", "agrawal", "-n", "1000000")
large = made(f"{folder}/large.parquet", "generate", "agrawal", "-n", "10000000")
by_roles = ["--quasi", quasi]
close = ["--split", "compact", "--quasi", others, "--sensitive", "salary", "--accept", "keep-tells-quasi"]
release = f"{folder}/release.parquet"
run(new, anonymize(large, "release.parquet", *by_roles))
jobs = {
    "1 M, distinct 5-diversity of salary": [*anonymize(million, "l.parquet"), *close, "--l-diversity", "salary=distinct:5"],
    "1 M, 0.2-closeness of salary": [*anonymize(million, "t.parquet"), *close, "--t-closeness", "salary=0.2"],
    "1 M, 0.1-closeness of salary": [*anonymize(million, "t.parquet"), *close, "--t-closeness", "salary=0.1"],
    "10 M, anonymize --split median": anonymize(large, "m.parquet", *by_roles),
    "10 M, check": ["check", release],
    "10 M, check --original": ["check", release, "--original", large],
    "10 M, measure": ["measure", large, release, *by_roles],
}
if fars:
    columns = "iage irace ideathmon ideathday isex ihispanic istatenum iinjury".split()
    flags = generalized(fars, "fars_int", columns)
    for variant in ["basic", "super-roots"]:
        jobs[f"fars in 20 MB, {variant}"] = ["lattice", f"{fars}/fars_int.csv", "-k", "5", *flags, "--memory", "20MB",
                                             "--variant", variant]
    jobs["fars in 20 MB, bottom-up"] = ["lattice", f"{fars}/fars_int.csv", "-k", "5", *flags, "--memory", "20MB",
                                        "--method", "bottom-up"]
if adult:
    columns = "age sex race marital-status education native-country workclass occupation".split()
    jobs["adult, incognito, 8 columns"] = ["anonymize", f"{adult}/adult.csv", "-o", f"{folder}/a.csv", "-k", "5",
                                           "--method", "incognito", *generalized(adult, "adult", columns)]
print(f"{'':36} {'old s':>7} {'new s':>7} {'ratio':>6} {'old MB':>7} {'new MB':>7}")
for name, arguments in jobs.items():
    seconds, peaks = {old: [], new: []}, {old: [], new: []}
    for _ in range(rounds):
        for program in (old, new):
            own, peak = run(program, arguments)
            seconds[program].append(own)
            peaks[program].append(peak)
    before, after = statistics.median(seconds[old]), statistics.median(seconds[new])
    print(f"{name:36} {before:7.2f} {after:7.2f} {after / before:6.2f} {max(peaks[old]):7.0f} {max(peaks[new]):7.0f}",
          flush=True)
PYTHON
python3 "$folder/run.py" "$folder" "$(realpath "$1")" "$(realpath "$2")" "${3:-3}" "${4:-}" "${5:-}"
