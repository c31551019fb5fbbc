#!/usr/bin/env bash
# How far COUNT queries on releases with labels err, by method, k and weights, as docs/results/frequency-loss.md tells.
#
# Usage: bench/frequency-loss.sh ADULT [FARS [PROGRAM]]
#   ADULT    holds adult.csv and adult_hierarchy_COLUMN.csv
#   FARS     holds fars_int.csv and fars_int_hierarchy_COLUMN.csv, left out when empty
#   PROGRAM  that is measured, to compare one with another loss; when not given, this one is built
set -euo pipefail
adult=$(cd "${1:?name the folder with adult.csv and its hierarchies}" && pwd)
fars=${2:+$(cd "$2" && pwd)}
program=${3:+$(realpath "$3")}
cd "$(dirname "$0")/.."
[ -n "$program" ] || { cargo build --release --locked --quiet && program=$PWD/target/release/albers; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# measure NAME TABLE PREFIX COLUMNS ORDERED METHOD K [WEIGHT]
measure() {
    local flags=(--quasi "$4" --method "$6" -k "$7" ${8:+--weight "$8"}) column
    for column in ${4//,/ }; do
        flags+=(--hierarchy "$column=$3$column.csv")
    done
    "$program" anonymize "$2" -o "$folder/out.csv" --force "${flags[@]}" > "$folder/log" 2>&1
    printf '%-6s %-10s %3s %-18s ' "$1" "$6" "$7" "${8:--}"
    python3 bench/frequency-loss.py "$2" "$3" "$4" "$5" "$folder/out.csv"
}

on_adult() {
    measure adult "$adult/adult.csv" "$adult/adult_hierarchy_" \
        sex,age,race,marital-status,education,native-country,workclass,occupation age "$@"
}
on_fars() {
    measure fars "$fars/fars_int.csv" "$fars/fars_int_hierarchy_" \
        iage,irace,ideathmon,ideathday,isex,ihispanic,istatenum,iinjury iage,ideathmon,ideathday "$@"
}

echo 'table method k weight ncp even even:1-2 by-frequency overlap'
for method in mondrian local incognito; do
    for k in 5 10 50; do
        on_adult $method $k
        on_adult $method $k native-country=4
        [ -z "$fars" ] || on_fars $method $k
    done
done
