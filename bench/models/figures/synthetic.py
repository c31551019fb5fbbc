"""Tables of the agrawal generator, and figure 6: classifiers on recoded tables."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd

from learners import CLASSIFIERS, Parts, accuracies, majority
from program import INFO_GAIN, MEDIAN, Columns, Program, recode
from results import Row, in_pool, p_text, paired, table, verdict, write
from specialization import specialize

QUASI = ("salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
N_ROWS = 1000
K = 25
VARIED = ["c2", "c4", "c6"]
FIXED = ["c5", "c7", "c9"]
METHODS = ["Original", "InfoGain", "TDS", "Median", "Majority"]


def parts_of(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The training and the test part of a generated table."""
    return table.iloc[:N_ROWS].reset_index(drop=True), table.iloc[N_ROWS:].reset_index(drop=True)


def labelled(program: Program, seed: int, varied: list[str], fixed: list[str]) -> pd.DataFrame:
    """A table with labels of both kinds: the constants of some are drawn at random."""
    rows = 2 * N_ROWS
    with_varied = program.generate(rows, seed, varied, [], vary=True)
    with_fixed = program.generate(rows, seed, fixed, [], vary=False)
    assert with_varied[list(QUASI)].equals(with_fixed[list(QUASI)]), "the same rows by one seed"
    return with_varied.join(with_fixed[fixed])


def _trial(program: Program, trees: dict[str, Path], trial: int) -> list[Row]:
    """All functions, methods and learners on one table."""
    columns = Columns(QUASI, trees)
    data = labelled(program, trial + 1, VARIED, FIXED)
    train, test = parts_of(data)
    names = list(CLASSIFIERS)
    rows: list[Row] = []
    by_median = None
    for label in sorted(VARIED + FIXED):
        own = [*QUASI, label]
        of_train, of_test = train[own], test[own]
        # Median looks at no label: one function serves all of them.
        if by_median is None:
            by_median = recode(program, of_train, of_test, columns, MEDIAN, [], K)
        recoded = {
            "Original": (train[list(QUASI)], test[list(QUASI)]),
            "InfoGain": recode(program, of_train, of_test, columns, INFO_GAIN, [label], K),
            "TDS": specialize(program, of_train, of_test, columns, label, K),
            "Median": by_median,
        }
        for method, parts in recoded.items():
            told = accuracies(Parts(*parts), train[label], test[label], names)
            rows += [
                {
                    "trial": trial,
                    "function": label,
                    "learner": learner,
                    "method": method,
                    "value": own,
                }
                for learner, own in told.items()
            ]
        share = majority(train[label], test[label])
        rows += [
            {
                "trial": trial,
                "function": label,
                "learner": learner,
                "method": "Majority",
                "value": share,
            }
            for learner in names
        ]
    return rows


def figure6(program: Program, out: Path, repetitions: int) -> None:
    """Accuracy by function, learner and method."""
    with tempfile.TemporaryDirectory() as folder:
        trees = program.hierarchies(Path(folder))
        results = in_pool(_trial, [(program, trees, trial) for trial in range(repetitions)])
    lines = table(results, ["learner", "function"], "method", METHODS)
    lines += [
        "",
        "| learner | function | InfoGain - TDS | InfoGain - Median |",
        "| --- | --- | --- | --- |",
    ]
    missed = []
    for (learner, function), own in results.groupby(["learner", "function"], sort=False):
        texts = []
        for other in ("TDS", "Median"):
            gain, p = paired(own, "InfoGain", other)
            texts.append(f"{gain:+.4f} ({p_text(p)})")
            if not (gain > 0 and p < 0.05):
                missed.append(f"{learner} {function} {other}")
        lines.append(f"| {learner} | {function} | {texts[0]} | {texts[1]} |")
    said = f"not significant at .05, or below: {', '.join(missed)}" if missed else "all at p < .05"
    lines += [
        "",
        f"Claim: InfoGain is better than TDS and than Median on every function: {verdict(not missed)} "
        f"({said}; {repetitions} repetitions, k = {K}, constants of {', '.join(VARIED)} at random).",
    ]
    write(out, "figure6", "Figure 6: accuracy on agrawal tables", results, lines)
