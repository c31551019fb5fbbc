#!/usr/bin/env bash
# The two ways to choose the first cuts of a large table: the top of the house, which ends at cells that are large enough
# to be safe, and the tested one (`--external sample`), which goes on as far as its sample supports it. Times `albers
# anonymize` of agrawal tables in memory, in turns, and prints time, loss and what became of the samples, and the ratios of
# processor time and of loss.
#
# Usage: bench/tops.sh [ROUNDS] [ROWS ...]     (3 rounds, 1,000,000 and 10,000,000 rows when not given)
# ALBERS names another program than that of this folder.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3}
shift || true
sizes=("$@")
[ ${#sizes[@]} -gt 0 ] || sizes=(1000000 10000000)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -z "${ALBERS:-}" ]; then
    cargo build --release --locked --quiet
    ALBERS=target/release/albers
fi

cat > "$folder/run.py" <<'PYTHON'
import json, os, statistics, subprocess, sys, time

albers, folder, rounds, sizes = sys.argv[1], sys.argv[2], int(sys.argv[3]), [int(own) for own in sys.argv[4:]]
quasi = "salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan"
tops = {"house": [], "tested": ["--external", "sample"]}
print(f"{'rows':>10} {'split':>8} {'k':>5} {'top':>7} {'seconds':>8} {'processor':>9} {'ratio':>6} {'ncp':>8} {'ratio':>6}"
      f" {'discernibility':>15} {'splits':>7} {'pruned':>7}")
for n_rows in sizes:
    table = f"{folder}/table.parquet"
    subprocess.run([albers, "generate", "agrawal", "-n", str(n_rows), "-o", table], check=True, stdout=subprocess.DEVNULL)
    for split in ["median", "compact"]:
        for k in [10, 1000]:
            seconds, reports = {name: [] for name in tops}, {}
            processor = {name: [] for name in tops}
            for _ in range(rounds):
                for name, flags in tops.items():
                    start = time.monotonic()
                    process = subprocess.Popen(
                        [albers, "anonymize", table, "-o", f"{folder}/out.parquet", "--force", "--json", "-k", str(k),
                         "--quasi", quasi, "--method", "mondrian", "--split", split, *flags], stdout=subprocess.PIPE)
                    reports[name] = json.load(process.stdout)
                    _, status, usage = os.wait4(process.pid, 0)
                    assert status == 0, status
                    seconds[name].append(time.monotonic() - start)
                    processor[name].append(usage.ru_utime + usage.ru_stime)
            cut = {name: statistics.median(own) for name, own in processor.items()}
            ncp = {name: own["table_loss"]["ncp"] for name, own in reports.items()}
            for name in tops:
                samples = reports[name]["samples"]
                print(f"{n_rows:>10} {split:>8} {k:>5} {name:>7} {statistics.median(seconds[name]):8.2f} {cut[name]:9.2f}"
                      f" {cut[name] / cut['house']:6.2f} {ncp[name]:8.5f} {ncp[name] / ncp['house']:6.3f}"
                      f" {reports[name]['table_loss']['discernibility']:15.0f} {samples['splits']:>7} {samples['pruned']:>7}",
                      flush=True)
PYTHON
python3 "$folder/run.py" "$ALBERS" "$folder" "$rounds" "${sizes[@]}"
