"""How far COUNT queries on a release with labels err: its ncp and medians of relative errors, one line.

Usage: frequency-loss.py TABLE PREFIX COLUMNS ORDERED RELEASE

Separators are ;, the hierarchy of a column is in PREFIX + COLUMN + .csv, ORDERED names the columns that are asked for by
ranges. 1,000 queries with a fixed seed, by turns on one column to all of them, drawn at random: categories equal to those
of a random row, ordered values between those of two. Printed: ncp without weights; the median error of rows spread evenly
over the values of their labels, then with one or two predicates only; that of rows spread by how common each value is in
the table; that of all rows whose label meets the query.
"""

import collections
import csv
import random
import statistics
import sys

N_QUERIES = 1_000
SEED = 7


def read(path, columns):
    with open(path, newline="") as file:
        return [tuple(row[column] for column in columns) for row in csv.DictReader(file, delimiter=";")]


def leaves_by_label(path):
    """The values below each label of a hierarchy; `*` stands for all of them."""
    below = collections.defaultdict(set)
    with open(path) as file:
        for line in file:
            leaf, *labels = line.rstrip("\r\n").split(";")
            for label in {leaf, *labels, "*"}:
                below[label].add(leaf)
    return below


def draw(table, is_ordered):
    """Queries: the values that are asked for, by the place of their column."""
    chance = random.Random(SEED)
    domains = [sorted(set(column), key=int) if own else [] for column, own in zip(zip(*table), is_ordered)]
    places = range(len(is_ordered))

    def asked(place, one, other):
        if not is_ordered[place]:
            return {one[place]}
        low, high = sorted((int(one[place]), int(other[place])))
        return {value for value in domains[place] if low <= int(value) <= high}

    queries = []
    for number in range(N_QUERIES):
        chosen = chance.sample(places, number % len(places) + 1)
        one, other = chance.choice(table), chance.choice(table)
        queries.append({place: asked(place, one, other) for place in chosen})
    return queries


def counts(table, queries):
    """How many rows each query is true of; rows are bits of long numbers."""
    having = [collections.defaultdict(bytearray) for _ in table[0]]
    for row_idx, row in enumerate(table):
        for column, value in zip(having, row):
            bits = column[value] = column[value] or bytearray(len(table) // 8 + 1)
            bits[row_idx >> 3] |= 1 << (row_idx & 7)
    having = [{value: int.from_bytes(bits, "little") for value, bits in column.items()} for column in having]
    for query in queries:
        found = (1 << len(table)) - 1
        for place, values in query.items():
            found &= sum(having[place][value] for value in values)
        yield found.bit_count()


def estimate(classes, query, share):
    """The rows of all classes, each times the share of its labels that is asked for."""
    left = classes
    for place, values in query.items():
        shares = {label: share(place, label, values) for label in {shown[place] for shown, _ in left}}
        left = [(shown, n_rows * shares[shown[place]]) for shown, n_rows in left if shares[shown[place]]]
    return sum(n_rows for _, n_rows in left)


def main():
    table_path, prefix, columns, ordered, release_path = sys.argv[1:]
    columns, ordered = columns.split(","), ordered.split(",")
    table = read(table_path, columns)
    classes = list(collections.Counter(read(release_path, columns)).items())
    below = [leaves_by_label(f"{prefix}{column}.csv") for column in columns]
    common = [collections.Counter(column) for column in zip(*table)]

    def evenly(place, label, values):
        leaves = below[place][label]
        return len(leaves & values) / len(leaves)

    def by_frequency(place, label, values):
        leaves, own = below[place][label], common[place]
        return sum(own[leaf] for leaf in leaves & values) / max(sum(own[leaf] for leaf in leaves), 1)

    def whole(place, label, values):
        return 0 if below[place][label].isdisjoint(values) else 1

    queries = draw(table, [column in ordered for column in columns])
    truths = list(counts(table, queries))

    def errors(share):
        return [abs(estimate(classes, query, share) - truth) / truth for query, truth in zip(queries, truths)]

    even = errors(evenly)
    few = [error for error, query in zip(even, queries) if len(query) <= 2]
    lost = sum(
        n_rows * (len(below[place][label]) - 1) / max(len(below[place]["*"]) - 1, 1)
        for shown, n_rows in classes
        for place, label in enumerate(shown)
    )
    ncp = lost / (len(table) * len(columns))
    medians = [statistics.median(own) for own in (even, few, errors(by_frequency), errors(whole))]
    print(f"{ncp:.4f}", *(f"{median:.3f}" for median in medians))


main()
