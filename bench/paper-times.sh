#!/bin/sh
# The figures of papers that are seconds, as docs/results/figures.md tells of them: what experiments count in rows,
# tuples and bytes, on the same made-up tables, timed.
#
# usage: bench/paper-times.sh [SALES [PEOPLE [SEARCHED]]]
#   SALES     rows of the lands-end table that is cut, 4591581 when not given
#   PEOPLE    most rows of the agrawal table that does not fit in memory, 20000000 when not given
#   SEARCHED  rows of the lands-end table whose lattice is searched, 200000 when not given
set -eu
sales=${1:-4591581}
people=${2:-20000000}
searched=${3:-200000}
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

# As in the paper, names are numbers.
"$albers" generate lands-end -n "$sales" -o "$work/named.csv" > "$work/log"
python3 - "$work/named.csv" > "$work/sales.csv" <<'PYTHON'
import csv, sys

rows = csv.reader(open(sys.argv[1], newline=""))
print(",".join(header := next(rows)))
gender, style, shipment = (header.index(name) for name in ("gender", "style", "shipment"))
numbers = {gender: {}, shipment: {}}
for row in rows:
    row[style] = str(int(row[style].rsplit("-", 1)[1]))
    for at, known in numbers.items():
        row[at] = str(known.setdefault(row[at], len(known)))
    print(",".join(row))
PYTHON
rm "$work/named.csv"
cut() {
    "$albers" anonymize "$work/sales.csv" -o "$work/release.csv" --force --json \
        --quasi zipcode,order-date,gender,style,price,quantity,cost,shipment \
        --type zipcode=integer --type gender=integer --type style=integer --type shipment=integer "$@"
}
echo "## Iwuchukwu & Naughton 2007, figure 7(a), $sales rows: k, index and leaf scan s, from the top s (finding classes)"
for k in 5 10 25 50 100 250 500 1000; do
    also=; [ $k = 5 ] || also="--also-k $k --granularity leaf-scan"
    own=$(cut --method rtree -k 5 $also | field "round(seconds['partition'], 2)")
    top=$(cut --method mondrian --split median -k $k | field "round(seconds['partition'], 2)")
    echo "$k  $own  $top"
done

load() {
    "$albers" anonymize "$work/people.parquet" -o "$work/release.parquet" --force --json --method rtree -k 10 \
        --quasi salary,commission,age,elevel,car,zipcode,hvalue,hyears,loan --memory "$1" --threads 2 |
        field "round(seconds['total'], 1)" "round((spilled_bytes + read_back_bytes) / 1e9, 3)"
}
echo '## figure 8(a), 256MB of memory: rows, s, GB moved'
for part in 20 10 4 2 1; do
    "$albers" generate agrawal -n $((people / part)) -o "$work/people.parquet" > "$work/log"
    echo "$((people / part))  $(load 256MB)"
done
echo "## figure 8(b), $people rows: memory, s, GB moved"
for memory in 512MB 256MB 128MB 64MB; do
    echo "$memory  $(load $memory)"
done
rm "$work/people.parquet"

# What searches cost: table, its hierarchies, k, and how many of the columns that follow.
search() {
    table=$1; k=$2; n=$3; shift 3; quasi=; hierarchies=
    for column in "$@"; do
        [ "$n" -gt 0 ] || break
        quasi=$quasi,$column
        hierarchies="$hierarchies --hierarchy $column=$work/$table/$column.csv"
        n=$((n - 1))
    done
    for way in 'incognito --variant basic' 'incognito --variant super-roots' 'incognito --variant cube' \
        'bottom-up --variant rollup' 'bottom-up --variant scan' samarati; do
        "$albers" lattice "$work/$table.csv" --quasi "${quasi#,}" $hierarchies -k "$k" --method $way --json |
            field "round(seconds['cube'], 3)" "round(seconds['search'], 3)"
    done | tr '\n' '|'
}
adult='age sex race marital-status education native-country workclass occupation salary-class'
lands_end='zipcode order-date gender style price quantity cost shipment'
"$albers" generate adult -n 45222 -o "$work/adult.csv" --hierarchies "$work/adult" > "$work/log"
"$albers" generate lands-end -n "$searched" -o "$work/lands-end.csv" --hierarchies "$work/lands-end" > "$work/log"
echo '## LeFevre, DeWitt & Ramakrishnan 2005, figures 10 and 12: table, k, columns, and the s of the cube and of the search'
echo '## of basic, super-roots, cube, bottom-up rollup, bottom-up scan, binary search'
for k in 2 10; do
    for n in 3 4 5 6 7 8 9; do echo "adult  $k  $n  $(search adult $k $n $adult)"; done
    for n in 3 4 5 6 7 8; do echo "lands-end  $k  $n  $(search lands-end $k $n $lands_end)"; done
done
echo '## figure 11: the same by k'
for k in 2 5 10 25 50; do
    echo "adult  $k  8  $(search adult $k 8 $adult)"
    echo "lands-end  $k  6  $(search lands-end $k 6 $lands_end)"
done
