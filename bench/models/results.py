"""Raw results as CSV, and tables with what holds as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

N_PROCESSES = 2

Row = dict[str, object]


def in_pool(trial: Callable[..., list[Row]], arguments: Iterable[tuple]) -> pd.DataFrame:
    """All rows of some trials, in the order of the trials."""
    with ProcessPoolExecutor(N_PROCESSES) as pool:
        futures = [pool.submit(trial, *own) for own in arguments]
        return pd.DataFrame([row for future in futures for row in future.result()])


def spread(values: pd.Series) -> str:
    """A mean and its standard deviation over trials."""
    return f"{values.mean():.4f} ± {values.std():.4f}"


def paired(
    results: pd.DataFrame, better: str, worse: str, value: str = "value"
) -> tuple[float, float]:
    """The mean difference of two methods over the same trials, and the one-tailed p of a paired t-test
    that the first is greater.
    """
    wide = results.pivot(index="trial", columns="method", values=value)
    differences = wide[better] - wide[worse]
    if np.allclose(differences, differences.iloc[0]):
        return float(differences.mean()), 0.5 if differences.mean() == 0 else 0.0
    test = stats.ttest_rel(wide[better], wide[worse], alternative="greater")
    return float(differences.mean()), float(test.pvalue)


def p_text(p: float) -> str:
    """A p-value as it is read."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}"


def verdict(holds: bool) -> str:
    """What a claim came to."""
    return "**holds**" if holds else "**does not hold**"


def table(results: pd.DataFrame, rows: list[str], columns: str, order: list[str]) -> list[str]:
    """The spread of each method, in Markdown."""
    names = [name for name in order if name in set(results[columns])]
    lines = ["| " + " | ".join([*rows, *names]) + " |", "|" + " --- |" * (len(rows) + len(names))]
    for keys, own in results.groupby(rows, sort=False):
        keys = keys if isinstance(keys, tuple) else (keys,)
        cells = [own.loc[own[columns] == name, "value"] for name in names]
        texts = [spread(cell) if len(cell) else "" for cell in cells]
        lines.append("| " + " | ".join([*map(str, keys), *texts]) + " |")
    return lines


def write(out: Path, name: str, title: str, results: pd.DataFrame, lines: list[str]) -> None:
    """A figure's raw results and its table."""
    out.mkdir(parents=True, exist_ok=True)
    results.to_csv(out / f"{name}.csv", index=False)
    (out / f"{name}.md").write_text("\n".join([f"### {title}", "", *lines, ""]))
