"""The program under test: tables are made, recoding functions learned and applied by `albers` alone.

The protocol of section 4.1: the recoding function comes from the training part only; both parts are
recoded by it; a learner sees nothing else.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

ACCEPTED = "target-in-classes,keep-tells-quasi,unique-keep,secret-without-rule,own-value-bounds"


@dataclass(frozen=True)
class Columns:
    """The quasi-identifiers of a table, and the hierarchies of those that have one."""

    quasi: tuple[str, ...]
    hierarchies: dict[str, Path] = field(default_factory=dict)

    def flags(self, kept: list[str]) -> list[str]:
        """The flags that tell the program of the columns."""
        trees = [
            flag
            for name, path in self.hierarchies.items()
            for flag in ("--hierarchy", f"{name}={path}")
        ]
        return ["--quasi", ",".join(self.quasi), "--keep", ",".join(kept), *trees]


@dataclass(frozen=True)
class Program:
    """A build of `albers`."""

    path: Path

    def call(self, *arguments: str | Path) -> None:
        """Runs the program; what it says is shown only if it fails."""
        command = [str(self.path), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")

    def generate(
        self, rows: int, seed: int, labels: list[str], targets: list[str], vary: bool
    ) -> pd.DataFrame:
        """A table of the agrawal generator; constants drawn at random by the seed if `vary`."""
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "table.csv"
            flags = ["--class", ",".join(labels)] if labels else []
            flags += ["--target", ",".join(targets)] if targets else []
            flags += ["--vary-constants", str(seed)] if vary else []
            self.call(
                "generate", "agrawal", "-n", str(rows), "--seed", str(seed), *flags, "-o", table
            )
            # A single label is called `class`, a single number `target`.
            names = {"class": labels, "target": targets}
            alone = {word: own[0] for word, own in names.items() if len(own) == 1}
            return pd.read_csv(table).rename(columns=alone)

    def hierarchies(self, folder: Path) -> dict[str, Path]:
        """The hierarchies of agrawal, written into a folder."""
        table = folder / "table.csv"
        self.call("generate", "agrawal", "-n", "1", "--hierarchies", folder, "-o", table)
        return {name: folder / f"{name}.csv" for name in ("elevel", "car")}


@dataclass(frozen=True)
class Method:
    """How cuts are chosen."""

    name: str
    split: tuple[str, ...]
    follows_targets: bool


MEDIAN = Method("Median", ("--split", "median"), False)
INFO_GAIN = Method("InfoGain", ("--split", "info-gain", "--then", "median"), True)
REGRESSION = Method("Regression", ("--split", "regression", "--then", "median"), True)


def learn_function(
    program: Program,
    train: pd.DataFrame,
    columns: Columns,
    method: Method,
    targets: list[str],
    k: int,
    folder: Path,
) -> Path:
    """The recoding function of a training part; `folder` holds it and the training part."""
    kept = [name for name in train.columns if name not in columns.quasi]
    table, released, model = folder / "train.csv", folder / "out" / "release.csv", folder / "model"
    released.parent.mkdir()
    train.to_csv(table, index=False)
    followed = [flag for target in targets for flag in ("--target", target)]
    program.call(
        "anonymize", table, "-o", released, "--model", model, "-k", str(k),
        *columns.flags(kept), "--method", "mondrian", *method.split,
        *(followed if method.follows_targets else []),
        "--values", "features", "--accept", ACCEPTED, "--threads", "1",
    )  # fmt: skip
    return model


def apply_function(program: Program, model: Path, rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Rows recoded for learning, in their order; `name` tells their files apart."""
    table, recoded = model.parent / f"{name}.csv", model.parent / f"{name}.recoded.csv"
    rows.to_csv(table, index=False)
    program.call("recode", model, table, "-o", recoded, "--for-learning", "--outside", "edge")
    return pd.read_csv(recoded)


def recode(
    program: Program,
    train: pd.DataFrame,
    test: pd.DataFrame,
    columns: Columns,
    method: Method,
    targets: list[str],
    k: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both parts recoded by the function of the training part."""
    with tempfile.TemporaryDirectory() as folder:
        model = learn_function(program, train, columns, method, targets, k, Path(folder))
        parts = [("train", train), ("test", test)]
        recoded = [apply_function(program, model, rows, name) for name, rows in parts]
    return tuple(part.drop(columns=others(part, columns)) for part in recoded)


def others(recoded: pd.DataFrame, columns: Columns) -> list[str]:
    """The columns of a recoded table that show no quasi-identifier."""
    endings = ("_min", "_max", "_missing")
    shown = {name + ending for name in columns.quasi for ending in endings}
    return [name for name in recoded.columns if name not in shown]
