#!/usr/bin/env bash
# Information loss on the Adult table, by split policy, form of categories and k.
#
# Usage: bench/adult.sh FOLDER     (holds adult.csv and adult_hierarchy_COLUMN.csv)
set -euo pipefail
data=$(cd "${1:?name the folder with adult.csv and its hierarchies}" && pwd)
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
columns="sex age race marital-status education native-country workclass occupation"
flags=(--quasi "${columns// /,}")
for column in $columns; do
    flags+=(--hierarchy "$column=$data/adult_hierarchy_$column.csv")
done
printf '%-10s %-8s %4s %8s %8s %8s\n' categories split k ncp classes seconds
for categories in set label; do
    for split in compact median; do
        for k in 2 5 10 25 50 100; do
            target/release/albers anonymize "$data/adult.csv" -o "$folder/out.csv" --force -k "$k" \
                "${flags[@]}" --categories "$categories" --split "$split" --json |
                python3 -c "
import json, sys
report = json.load(sys.stdin)
print('%-10s %-8s %4d %8.4f %8d %8.2f' % ('$categories', '$split', $k, report['table_loss']['ncp'],
      report['classes'], report['seconds']['total']))"
        done
    done
done
