"""Top-down specialization, which has no model: its recoding of columns is read off its release.

Every column's cells partition its domain into intervals and labels, since equal values are shown
alike in all rows. A value of the test part gets the cell of the training value that it is equal to,
else the label of the hierarchy above it that occurs, else the interval that holds it or lies nearest.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from program import ACCEPTED, Columns, Program


def specialize(
    program: Program,
    train: pd.DataFrame,
    test: pd.DataFrame,
    columns: Columns,
    target: str,
    k: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both parts as texts, by the recoding of the training part."""
    with tempfile.TemporaryDirectory() as folder:
        table, released = Path(folder) / "train.csv", Path(folder) / "release.csv"
        numbered = train.assign(row=range(len(train)))
        numbered.to_csv(table, index=False)
        kept = [name for name in numbered.columns if name not in columns.quasi]
        program.call(
            "anonymize", table, "-o", released, "-k", str(k), *columns.flags(kept),
            "--method", "tds", "--target", target, "--values", "interval",
            "--accept", ACCEPTED, "--threads", "1",
        )  # fmt: skip
        cells = pd.read_csv(released, dtype=str, keep_default_na=False)
    cells = cells.sort_values("row", key=lambda rows: rows.astype(int)).reset_index(drop=True)
    shown = {
        name: _cells_of(name, train, test, cells[name], columns.hierarchies.get(name))
        for name in columns.quasi
    }
    recoded = [pd.DataFrame({name: parts[at] for name, parts in shown.items()}) for at in (0, 1)]
    return recoded[0], recoded[1]


def _cells_of(
    name: str,
    train: pd.DataFrame,
    test: pd.DataFrame,
    cells: pd.Series,
    hierarchy: Path | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The cells of one column, of both parts."""
    known = dict(zip(train[name].astype(str), cells, strict=True))
    if hierarchy is not None:
        above = _labels_above(hierarchy)
        shown = set(cells)
        found = [
            known.get(value) or next((own for own in above.get(value, ()) if own in shown), "*")
            for value in test[name].astype(str)
        ]
        return cells.to_numpy(), np.array(found, dtype=object)
    if not pd.api.types.is_numeric_dtype(train[name]):
        found = [known.get(value, "*") for value in test[name].astype(str)]
        return cells.to_numpy(), np.array(found, dtype=object)
    return cells.to_numpy(), _nearest(train[name], cells, test[name])


def _labels_above(path: Path) -> dict[str, list[str]]:
    """Each value of a hierarchy file with its labels, from itself to the top."""
    lines = path.read_text().splitlines()
    delimiter = ";" if ";" in lines[0] else ","
    rows = [line.split(delimiter) for line in lines]
    return {row[0]: row for row in rows}


def _nearest(values: pd.Series, cells: pd.Series, wanted: pd.Series) -> np.ndarray:
    """The cell whose training values hold each wanted number, or lie nearest to it."""
    ends = values.groupby(cells.to_numpy()).agg(["min", "max"]).sort_values("min")
    distance = np.maximum(
        ends["min"].to_numpy()[None, :] - wanted.to_numpy()[:, None],
        wanted.to_numpy()[:, None] - ends["max"].to_numpy()[None, :],
    )
    return ends.index.to_numpy()[np.argmin(np.maximum(distance, 0), axis=1)]
