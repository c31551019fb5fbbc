"""Figures 7 and 13 on adult: accuracy by k, random groups, and features that are dropped."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from discretize import information_gain
from learners import Parts, accuracies, majority
from program import (
    INFO_GAIN,
    MEDIAN,
    Columns,
    Method,
    Program,
    apply_function,
    learn_function,
    others,
    recode,
)
from results import Row, in_pool, p_text, paired, table, verdict, write
from specialization import specialize

LABEL = "salary-class"
N_FOLDS = 10
KS = [5, 25, 100]
LEARNERS = ["tree", "bayes", "forest"]


def _adult(folder: Path) -> tuple[pd.DataFrame, Columns]:
    """The table, and the hierarchies of all its columns but age."""
    rows = pd.read_csv(folder / "adult.csv", sep=";")
    quasi = tuple(name for name in rows.columns if name != LABEL)
    trees = {name: folder / f"adult_hierarchy_{name}.csv" for name in quasi if name != "age"}
    return rows, Columns(quasi, trees)


def _fold(folder: Path, fold: int) -> tuple[pd.DataFrame, pd.DataFrame, Columns]:
    rows, columns = _adult(folder)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(rows, rows[LABEL])
    train, test = list(folds)[fold]
    return rows.iloc[train].reset_index(drop=True), rows.iloc[test].reset_index(drop=True), columns


def _rows(fold: int, facts: Row, method: str, told: dict[str, float]) -> list[Row]:
    return [
        {"trial": fold, **facts, "learner": learner, "method": method, "value": value}
        for learner, value in told.items()
    ]


def _trial7(program: Program, folder: Path, fold: int) -> list[Row]:
    train, test, columns = _fold(folder, fold)
    quasi = list(columns.quasi)
    y, truth = train[LABEL], test[LABEL]
    plain = accuracies(Parts(train[quasi], test[quasi]), y, truth, LEARNERS)
    share = dict.fromkeys(LEARNERS, majority(y, truth))
    rows: list[Row] = []
    for k in KS:
        facts: Row = {"k": k}
        rows += _rows(fold, facts, "Original", plain) + _rows(fold, facts, "Majority", share)
        for method in (INFO_GAIN, MEDIAN):
            parts = recode(program, train, test, columns, method, [LABEL], k)
            rows += _rows(fold, facts, method.name, accuracies(Parts(*parts), y, truth, LEARNERS))
        parts = specialize(program, train, test, columns, LABEL, k)
        rows += _rows(fold, facts, "TDS", accuracies(Parts(*parts), y, truth, LEARNERS))
    return rows


def figure7(program: Program, out: Path, folder: Path) -> None:
    """Accuracy by k, learner and method."""
    results = in_pool(_trial7, [(program, folder, fold) for fold in range(N_FOLDS)])
    order = ["Original", "InfoGain", "TDS", "Median", "Majority"]
    lines = table(results, ["learner", "k"], "method", order)
    lines += [
        "",
        "| learner | k | InfoGain - TDS | InfoGain - Median |",
        "| --- | --- | --- | --- |",
    ]
    missed = []
    for (learner, k), own in results.groupby(["learner", "k"], sort=False):
        texts = []
        for other in ("TDS", "Median"):
            gain, p = paired(own, "InfoGain", other)
            texts.append(f"{gain:+.4f} ({p_text(p)})")
            if not (gain > 0 and p < 0.02):
                missed.append(f"{learner} k={k} {other}")
        lines.append(f"| {learner} | {k} | {texts[0]} | {texts[1]} |")
    said = f"not so, or not at .02: {', '.join(missed)}" if missed else "all at p < .02"
    lines += [
        "",
        f"Claim: InfoGain is better than TDS and than Median at every k: {verdict(not missed)} ({said}; "
        f"{N_FOLDS} folds of 30,162 rows of adult, where the paper has another census).",
    ]
    write(out, "figure7", "Figure 7: accuracy on adult", results, lines)


GROUPS = [1, 2, 4, 8, 16]


def _in_groups(
    program: Program,
    parts: tuple[pd.DataFrame, pd.DataFrame],
    columns: Columns,
    method: Method,
    n_groups: int,
    dice: np.random.Generator,
) -> tuple[Parts, pd.Series, pd.Series]:
    """Both parts, each row recoded by the function of a group drawn at random, and their labels."""
    drawn = [dice.integers(n_groups, size=len(part)) for part in parts]
    recoded: list[list[pd.DataFrame]] = [[], []]
    labels: list[list[pd.Series]] = [[], []]
    for group in range(n_groups):
        own = [part[at == group] for part, at in zip(parts, drawn, strict=True)]
        with tempfile.TemporaryDirectory() as folder:
            model = learn_function(program, own[0], columns, method, [LABEL], 50, Path(folder))
            for at, name in enumerate(("train", "test")):
                told = apply_function(program, model, own[at], name)
                recoded[at].append(told.drop(columns=others(told, columns)))
                labels[at].append(own[at][LABEL])
    whole = [pd.concat(own, ignore_index=True) for own in recoded]
    y, truth = (pd.concat(own, ignore_index=True) for own in labels)
    return Parts(whole[0], whole[1]), y, truth


def _trial13_left(program: Program, folder: Path, fold: int) -> list[Row]:
    train, test, columns = _fold(folder, fold)
    rows: list[Row] = []
    for n_groups in GROUPS:
        for method in (INFO_GAIN, MEDIAN):
            dice = np.random.default_rng([fold, n_groups])
            told = _in_groups(program, (train, test), columns, method, n_groups, dice)
            rows += _rows(fold, {"groups": n_groups}, method.name, accuracies(*told, ["tree"]))
    return rows


def _slopes(results: pd.DataFrame, along: str, method: str) -> pd.Series:
    """The fall of accuracy in each fold, by the binary logarithm of groups or by features."""
    own = results[results["method"] == method].pivot(index="trial", columns=along, values="value")
    x = np.log2(own.columns) if along == "groups" else np.asarray(own.columns, dtype=float)
    return own.apply(lambda row: np.polyfit(x, row, 1)[0], axis=1)


def figure13_left(program: Program, out: Path, folder: Path) -> None:
    """Accuracy by random groups that are recoded apart."""
    results = in_pool(_trial13_left, [(program, folder, fold) for fold in range(N_FOLDS)])
    lines = table(results, ["groups"], "method", ["InfoGain", "Median"])
    slope = {method: _slopes(results, "groups", method).mean() for method in ("InfoGain", "Median")}
    means = results[results["method"] == "InfoGain"].groupby("groups")["value"].mean()
    fall = means.iloc[0] - means.iloc[-1]
    lines += [
        "",
        "Claim: accuracy falls slightly with the number of groups, without large effects of several: "
        f"{verdict(slope['InfoGain'] < 0 and fall < 0.03)} (InfoGain {-fall:+.4f} from 1 to {GROUPS[-1]} "
        f"groups; slope per doubling: InfoGain {slope['InfoGain']:+.5f}, Median "
        f"{slope['Median']:+.5f}; {N_FOLDS} folds, k = 50).",
    ]
    write(
        out, "figure13-left", "Figure 13, left: groups recoded apart (adult, tree)", results, lines
    )


def _ranked(train: pd.DataFrame, columns: Columns) -> list[str]:
    """The columns by what they tell of the label, most first."""
    y = np.unique(train[LABEL], return_inverse=True)[1]
    gain = {
        name: information_gain(train[name].to_numpy(), y, name not in columns.hierarchies)
        for name in columns.quasi
    }
    return sorted(gain, key=gain.__getitem__, reverse=True)


def _trial13_right(program: Program, folder: Path, fold: int) -> list[Row]:
    train, test, columns = _fold(folder, fold)
    recoded = {
        method.name: recode(program, train, test, columns, method, [LABEL], 100)
        for method in (INFO_GAIN, MEDIAN)
    }
    recoded["TDS"] = specialize(program, train, test, columns, LABEL, 100)
    ranked = _ranked(train, columns)
    rows: list[Row] = []
    for n_dropped in range(len(ranked)):
        left = set(ranked[n_dropped:])
        shown = {name + ending for name in left for ending in ("", "_min", "_max", "_missing")}
        for method, parts in recoded.items():
            kept = [name for name in parts[0].columns if name in shown]
            told = accuracies(
                Parts(parts[0][kept], parts[1][kept]), train[LABEL], test[LABEL], ["tree"]
            )
            rows += _rows(fold, {"dropped": n_dropped}, method, told)
        share = {"tree": majority(train[LABEL], test[LABEL])}
        rows += _rows(fold, {"dropped": n_dropped}, "Majority", share)
    return rows


def figure13_right(program: Program, out: Path, folder: Path) -> None:
    """Accuracy by how many of the most telling features are dropped."""
    results = in_pool(_trial13_right, [(program, folder, fold) for fold in range(N_FOLDS)])
    write_figure13_right(out, results)


def write_figure13_right(out: Path, results: pd.DataFrame) -> None:
    """The claim is read in two ways: by the slope over all features, and by the first one dropped."""
    methods = ["InfoGain", "Median", "TDS"]
    lines = table(results, ["dropped"], "method", [*methods, "Majority"])
    slopes = pd.DataFrame({method: _slopes(results, "dropped", method) for method in methods})
    first = results[results["dropped"] < 2].pivot_table(
        index="trial", columns=["method", "dropped"], values="value"
    )
    falls = pd.DataFrame({method: first[method][1] - first[method][0] for method in methods})
    for name, own in (("slope over all features", slopes), ("change by the first", falls)):
        long = own.reset_index().melt("trial", var_name="method")
        tests = [f"{other} {p_text(paired(long, other, 'TDS')[1])}" for other in methods[:2]]
        means = ", ".join(f"{method} {value:+.5f}" for method, value in own.mean().items())
        lines += [
            "",
            "Claim: accuracy decays fastest for TDS as the most telling features are dropped, by the "
            f"{name}: {verdict(own.mean().idxmin() == 'TDS')} ({means}; TDS steeper than "
            f"{' and '.join(tests)}; {N_FOLDS} folds, k = 100).",
        ]
    title = "Figure 13, right: features dropped (adult, tree)"
    write(out, "figure13-right", title, results, lines)
