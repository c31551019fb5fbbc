#!/bin/sh
# Full-domain searches and the recoding models, as docs/results/lattice.md tells of them.
#
# usage: bench/lattice.sh FOLDER [ROWS [cube]]
#   FOLDER  holds adult.csv (Census Income, separator ;) and adult_hierarchy_COLUMN.csv for each column
#   ROWS    of the lands-end table, 4591581 when not given; 0 leaves it out
#   cube    also the cube on lands-end, which takes long and much disk
set -eu
[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
data=$1
rows=${2:-4591581}
cd "$(dirname "$0")/.."
cargo build --release --quiet
albers=$PWD/target/release/albers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The fields of a report, one line.
field() { python3 -c "
import json, sys
report = json.load(sys.stdin)
print(*[eval(text, {}, report) for text in sys.argv[1:]], sep='  ')" "$@"; }

# The flags of some columns of adult, in the order of Incognito's figure 9.
columns='age sex race marital-status education native-country workclass occupation salary-class'
flags() {
    n=$1; quasi=; hierarchies=
    for column in $columns; do
        [ "$n" -gt 0 ] || break
        quasi=$quasi,$column
        hierarchies="$hierarchies --hierarchy $column=$data/adult_hierarchy_$column.csv"
        n=$((n - 1))
    done
    echo "--quasi ${quasi#,} $hierarchies"
}

echo '## nodes looked at on adult, k = 2: quasi-identifiers, bottom-up, incognito'
for n in 3 4 5 6 7 8 9; do
    up=$("$albers" lattice "$data/adult.csv" $(flags $n) -k 2 --method bottom-up --json | field checked)
    own=$("$albers" lattice "$data/adult.csv" $(flags $n) -k 2 --json | field checked)
    echo "$n  $up  $own"
done

echo '## all generalizations of adult, 9 quasi-identifiers: k, search, looked at, scans, satisfying, cube s, search s, total s'
for k in 2 10; do
    for search in 'incognito --variant super-roots' 'incognito --variant basic' 'incognito --variant cube' \
        'bottom-up --variant rollup' 'bottom-up --variant scan' samarati; do
        printf '%s  %s  ' "$k" "$search"
        "$albers" lattice "$data/adult.csv" $(flags 9) -k $k --method $search --json |
            field checked scans satisfying "round(seconds['cube'], 3)" "round(seconds['search'], 3)" \
                "round(seconds['total'], 3)"
    done
done

echo '## the best of adult, 8 quasi-identifiers, k = 5: threshold, ncp, suppressed, search and verify s, total s; five runs'
for share in 0 0.02 1; do
    for run in 1 2 3 4 5; do
        printf '%s  ' "$share"
        "$albers" anonymize "$data/adult.csv" -o "$work/best.csv" --force $(flags 8) -k 5 --method incognito \
            --suppress $share --json |
            field "round(table_loss['ncp'], 4)" suppressed "round(seconds['partition'], 3)" "round(seconds['total'], 3)"
    done
done

echo '## the models on adult, 8 quasi-identifiers: k, method, ncp, classes, partition s'
for k in 5 10; do
    for method in attribute-suppression incognito subtree ordered-set mondrian \
        'mondrian --categories set' local 'local --categories set'; do
        printf '%s  %s  ' "$k" "$method"
        "$albers" anonymize "$data/adult.csv" -o "$work/model.csv" --force $(flags 8) -k $k --method $method --json |
            field "round(table_loss['ncp'], 4)" classes "round(seconds['partition'], 2)"
    done
done

echo '## local on 1,000,000 rows of adult, k = 5: ncp, classes, partition s'
"$albers" generate adult -n 1000000 -o "$work/million.csv" --hierarchies "$work/million" > "$work/log"
quasi=; hierarchies=
for column in $(head -n 1 "$work/million.csv" | tr ',;' '  '); do
    [ "$column" != salary-class ] && [ -f "$work/million/$column.csv" ] || continue
    quasi=$quasi,$column
    hierarchies="$hierarchies --hierarchy $column=$work/million/$column.csv"
done
"$albers" anonymize "$work/million.csv" -o "$work/model.csv" --force --quasi ${quasi#,} $hierarchies -k 5 \
    --method local --json | field "round(table_loss['ncp'], 4)" classes "round(seconds['partition'], 2)"

[ "$rows" -gt 0 ] || exit 0
echo "## lands-end, $rows rows, 8 quasi-identifiers, k = 10: search, looked at, scans, satisfying, cube s, search s, peak MB, spilled MB"
"$albers" generate lands-end -n "$rows" -o "$work/lands-end.parquet" --hierarchies "$work/lands" > "$work/log"
quasi=; hierarchies=
for column in zipcode order-date gender style price quantity cost shipment; do
    quasi=$quasi,$column
    hierarchies="$hierarchies --hierarchy $column=$work/lands/$column.csv"
done
searches='super-roots basic'
[ "${3:-}" = cube ] && searches="$searches cube"
for variant in $searches 'super-roots --memory 256MB'; do
    printf '%s  ' "$variant"
    "$albers" lattice "$work/lands-end.parquet" --quasi ${quasi#,} $hierarchies -k 10 --variant $variant \
        --spill-dir "$work" --json |
        field checked scans satisfying "round(seconds['cube'], 1)" "round(seconds['search'], 1)" \
            "peak_rss_bytes // 1000000" "spilled_bytes // 1000000"
done
echo '## the best of lands-end within 256MB, published: ncp, classes, read, partition, write, total s, peak MB'
"$albers" anonymize "$work/lands-end.parquet" -o "$work/best.parquet" --force --quasi ${quasi#,} $hierarchies -k 10 \
    --method incognito --memory 256MB --json |
    field "round(table_loss['ncp'], 4)" classes "round(seconds['read'], 1)" "round(seconds['partition'], 1)" \
        "round(seconds['write'], 1)" "round(seconds['total'], 1)" "peak_rss_bytes // 1000000"
