#!/usr/bin/env bash
# Fuzzes everything that reads bytes from outside, and prints a table of what came of it:
# docs/results/faults.md tells it. Inputs that panic, hang or take too much are kept in the folder
# of corpora, and belong into fuzz/seeds/ once they are mended.
#
# Usage: bench/fuzz.sh [INPUTS] [CORPORA] [READER...]
#   INPUTS   how many inputs each reader is given; 1,000,000 when not given
#   CORPORA  a folder in which inputs are kept that reach new code; a temporary one when not given
#   READER   only these; all when not given
#
# Coverage is told by the compiler that builds everything else: RUSTC_BOOTSTRAP lets it take the
# flags that cargo-fuzz gives to a nightly one.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
inputs=${1:-1000000}
corpora=${2:-$(mktemp -d)}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- csv parquet json_lines sheet hierarchy job cell manifest condition
target=${CARGO_TARGET_DIR:-target}

coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares"
# shellcheck disable=SC2086
RUSTC_BOOTSTRAP=1 RUSTFLAGS="$(echo $coverage) --cfg fuzzing -Cdebug-assertions" \
    cargo build --release --locked --quiet --target "$(rustc -vV | sed -n 's/^host: //p')" --target-dir "$target"
programs=$(dirname "$(find "$target" -path '*/release/condition' -type f | head -1)")

echo "| reader | inputs | seconds | code reached | what was found |"
echo "| --- | ---: | ---: | ---: | --- |"
for reader in "$@"; do
    kept="$corpora/$reader"
    mkdir -p "$kept"
    log="$corpora/$reader.log"
    # An input may take as long and as much as a small table; seeds are at most so long.
    "$programs/$reader" -runs="$inputs" -max_len=4096 -timeout=20 -rss_limit_mb=1024 \
        -print_final_stats=1 -artifact_prefix="$corpora/$reader-" "$kept" "seeds/$reader" \
        >"$log" 2>&1 || true
    ran=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    seconds=$(sed -n 's/^Done .* runs in \([0-9]*\) second.*/\1/p' "$log")
    reached=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    found=$(sed -n "s/^.*Test unit written to .*\/\($reader-[a-z]*\).*/\1/p" "$log" | tail -1)
    echo "| $reader | ${ran:-?} | ${seconds:-?} | ${reached:-?} | ${found:-nothing} |"
done
