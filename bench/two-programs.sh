#!/usr/bin/env bash
# Two builds of the program side by side, in turns, on the same tables: the seconds of each from start
# to exit, its peak memory, and the ratio of the medians. Whoever changes how things are done shows
# with it that nothing became slower.
#
# Usage: bench/two-programs.sh OLD NEW [ROUNDS] [ADULT]
#   OLD, NEW  programs
#   ROUNDS    3 when not given
#   ADULT     a folder with adult.csv and adult_hierarchy_COLUMN.csv, for the lattice
set -euo pipefail
old=$1
new=$2
rounds=${3:-3}
adult=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/run.py" <<'PYTHON'
import glob, os, resource, statistics, subprocess, sys, time

old, new, rounds, folder, adult = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
quasi = "salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan"


def table(n_rows, ending):
    path = f"{folder}/agrawal-{n_rows}.{ending}"
    subprocess.run([new, "generate", "agrawal", "-n", str(n_rows), "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def anonymize(path, *flags):
    ending = path.rsplit(".", 1)[1]
    return ["anonymize", path, "-o", f"{folder}/out.{ending}", "-k", "10", "--quasi", quasi,
            "--threads", "2", *flags]


large, larger, text = table(10_000_000, "parquet"), table(20_000_000, "parquet"), table(2_000_000, "csv")
jobs = {
    "compact, 10 M in memory": anonymize(large, "--split", "compact"),
    "median, 10 M in memory": anonymize(large, "--split", "median"),
    "compact, 2 M, CSV to CSV": anonymize(text, "--split", "compact"),
    "rtree, 10 M, 4 GB": anonymize(large, "--method", "rtree", "--memory", "4GB"),
    "rtree, 20 M in 256 MB": anonymize(larger, "--method", "rtree", "--memory", "256MB"),
}
if adult:
    columns = "age sex race marital-status education native-country workclass occupation".split()
    flags = [f"--hierarchy={c}={adult}/adult_hierarchy_{c}.csv" for c in columns]
    jobs["lattice, adult, 8 columns"] = ["lattice", f"{adult}/adult.csv", "-k", "10",
                                         "--quasi", ",".join(columns), *flags]
    jobs["incognito, adult, 8 columns"] = ["anonymize", f"{adult}/adult.csv", "-o", f"{folder}/a.csv",
                                           "-k", "10", "--method", "incognito",
                                           "--quasi", ",".join(columns), *flags]
print(f"{'':28} {'old s':>7} {'new s':>7} {'ratio':>6} {'old MB':>7} {'new MB':>7}")
for name, arguments in jobs.items():
    seconds, peaks = {old: [], new: []}, {old: [], new: []}
    for _ in range(rounds):
        for program in (old, new):
            # An older program replaces without being asked, a newer one never.
            for output in glob.glob(f"{folder}/out.*") + glob.glob(f"{folder}/a.csv*"):
                os.remove(output)
            start = time.monotonic()
            child = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            assert status == 0, (program, arguments)
            seconds[program].append(time.monotonic() - start)
            peaks[program].append(usage.ru_maxrss / 1000)
    a, b = statistics.median(seconds[old]), statistics.median(seconds[new])
    print(f"{name:28} {a:7.2f} {b:7.2f} {b / a:6.2f} {max(peaks[old]):7.0f} {max(peaks[new]):7.0f}",
          flush=True)
PYTHON
python3 "$folder/run.py" "$old" "$new" "$rounds" "$folder" "$adult"
