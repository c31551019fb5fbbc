"""Figure 9: regression on recoded tables, with the numeric targets of the agrawal generator."""

from __future__ import annotations

import tempfile
from pathlib import Path

from figures.synthetic import N_ROWS, QUASI, parts_of
from learners import REGRESSORS, Parts, errors
from program import MEDIAN, REGRESSION, Columns, Program, recode
from results import Row, in_pool, p_text, paired, table, verdict, write

TARGETS = ["r7", "r10"]
KS = [10, 25, 100]


def _trial(program: Program, trees: dict[str, Path], trial: int) -> list[Row]:
    columns = Columns(QUASI, trees)
    train, test = parts_of(program.generate(2 * N_ROWS, trial + 1, [], TARGETS, vary=False))
    rows: list[Row] = []
    for target in TARGETS:
        own = [*QUASI, target]
        y, truth = train[target], test[target]
        mean = float((truth - y.mean()).abs().mean())
        plain = errors(Parts(train[list(QUASI)], test[list(QUASI)]), y, truth)
        for k in KS:
            told = {"Original": plain, "Mean": dict.fromkeys(REGRESSORS, mean)}
            for method in (REGRESSION, MEDIAN):
                parts = recode(program, train[own], test[own], columns, method, [target], k)
                told[method.name] = errors(Parts(*parts), y, truth)
            rows += [
                {"trial": trial, "target": target, "k": k, "learner": learner, "method": method,
                 "value": value}
                for method, values in told.items()
                for learner, value in values.items()
            ]  # fmt: skip
    return rows


def figure9(program: Program, out: Path, repetitions: int) -> None:
    """Mean absolute error by target, k, learner and method."""
    with tempfile.TemporaryDirectory() as folder:
        trees = program.hierarchies(Path(folder))
        results = in_pool(_trial, [(program, trees, trial) for trial in range(repetitions)])
    keys = ["learner", "target", "k"]
    lines = table(results, keys, "method", ["Original", "Regression", "Median", "Mean"])
    lines += ["", "| learner | target | k | Median - Regression |", "| --- | --- | --- | --- |"]
    missed = []
    for (learner, target, k), own in results.groupby(keys, sort=False):
        gain, p = paired(own, "Median", "Regression")
        lines.append(f"| {learner} | {target} | {k} | {gain:+.1f} ({p_text(p)}) |")
        if not (gain > 0 and p < 0.05):
            missed.append(f"{learner} {target} k={k}")
    said = f"not so, or not at .05: {', '.join(missed)}" if missed else "all at p < .05"
    n_all = len(TARGETS) * len(KS) * len(REGRESSORS)
    lines += [
        "",
        "Claim: Regression generally leads to better models than Median (mean absolute error): "
        f"{verdict(2 * len(missed) < n_all)} ({said}; {repetitions} repetitions; the paper has the census "
        "here, and M5 with linear leaves).",
    ]
    write(out, "figure9", "Figure 9: mean absolute error on agrawal tables", results, lines)
