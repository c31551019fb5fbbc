"""Figure 10: one recoding for several models, included and not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from figures.synthetic import QUASI, K, labelled, parts_of
from learners import Parts, accuracies
from program import INFO_GAIN, Columns, Program, recode
from results import Row, in_pool, p_text, paired, verdict, write

VARIED = ["c2", "c3", "c4", "c5", "c6"]
FIXED = ["c7", "c9"]
LEARNERS = ["tree", "bayes"]


def _trial(program: Program, trees: dict[str, Path], trial: int) -> list[Row]:
    """One table and one permutation of its labels: model A is the first of them."""
    columns = Columns(QUASI, trees)
    labels = VARIED + FIXED
    train, test = parts_of(labelled(program, trial + 1, VARIED, FIXED))
    order = [labels[at] for at in np.random.default_rng(trial).permutation(len(labels))]
    rows: list[Row] = []
    for n_included in range(1, len(order) + 1):
        included = order[:n_included]
        parts = Parts(*recode(program, train, test, columns, INFO_GAIN, included, K))
        for place, label in enumerate(order):
            told = accuracies(parts, train[label], test[label], LEARNERS)
            rows += [
                {"trial": trial, "included": n_included, "model": chr(ord("A") + place),
                 "function": label, "learner": learner, "value": value}
                for learner, value in told.items()
            ]  # fmt: skip
    return rows


def figure10(program: Program, out: Path, repetitions: int) -> None:
    """Accuracy of each model by how many are included."""
    with tempfile.TemporaryDirectory() as folder:
        trees = program.hierarchies(Path(folder))
        results = in_pool(_trial, [(program, trees, trial) for trial in range(repetitions)])
    place = results["model"].map(lambda model: ord(model) - ord("A") + 1)
    results["is_included"] = place <= results["included"]
    lines = []
    for learner in LEARNERS:
        own = results[results["learner"] == learner]
        means = own.pivot_table(index="included", columns="model", values="value")
        lines += ["| " + learner + ": models included | " + " | ".join(means.columns) + " |"]
        lines += ["|" + " --- |" * (len(means.columns) + 1)]
        for n_included, cells in means[::-1].iterrows():
            bold = [ord(model) - ord("A") + 1 <= n_included for model in means.columns]
            texts = [
                f"**{x:.4f}**" if own else f"{x:.4f}" for x, own in zip(cells, bold, strict=True)
            ]
            lines.append(f"| {n_included} | " + " | ".join(texts) + " |")
        # Models B to F are included in some recodings and not in others.
        both = own[own["model"].isin(list("BCDEF"))].assign(
            method=lambda rows: np.where(rows["is_included"], "in", "out")
        )
        means = both.groupby(["trial", "method"], as_index=False)["value"].mean()
        gain, p = paired(means, "in", "out")
        falls = own[own["is_included"]].groupby(["trial", "included"])["value"].mean().unstack()
        slopes = np.polyfit(falls.columns, falls.to_numpy().T, 1)[0]
        lines += [
            "",
            f"Claim ({learner}): included models are more accurate than excluded ones: "
            f"{verdict(gain > 0 and p < 0.05)} ({gain:+.4f}, {p_text(p)}); accuracy falls as models "
            f"are included: {verdict(slopes.mean() < 0)} (slope {slopes.mean():+.4f} a model; "
            f"{repetitions} tables, one permutation each, k = {K}).",
            "",
        ]
    write(out, "figure10", "Figure 10: several models (bold: included)", results, lines)
