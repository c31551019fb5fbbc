"""A poisoned fold changes no model: `python test_folds.py ALBERS` in the environment of `run`.

Only the test part is changed, by outliers, new categories and missing values. The model and the recoded
training part must keep every byte, and so must the recoded rows that were not changed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas as pd

from figures.synthetic import QUASI, labelled, parts_of
from program import INFO_GAIN, Columns, Program, apply_function, learn_function


def poisoned(test: pd.DataFrame) -> pd.DataFrame:
    """The test part with every third row changed."""
    test = test.astype(object)
    test.loc[::3, "salary"] = 10**9
    test.loc[1::6, "age"] = None
    test.loc[::6, "car"] = 77
    return test


def recoded(
    program: Program, train: pd.DataFrame, test: pd.DataFrame
) -> tuple[bytes, bytes, pd.DataFrame]:
    """The model, the recoded training part, and the recoded test part."""
    with tempfile.TemporaryDirectory() as folder:
        trees = program.hierarchies(Path(folder))
        (Path(folder) / "fold").mkdir()
        columns = Columns(QUASI, trees)
        model = learn_function(
            program, train, columns, INFO_GAIN, ["c2"], 25, Path(folder) / "fold"
        )
        before = model.read_bytes()
        apply_function(program, model, train, "train")
        told = apply_function(program, model, test, "test")
        assert model.read_bytes() == before, "recoding never changes the model"
        return before, (model.parent / "train.recoded.csv").read_bytes(), told


def main() -> None:
    """Compares a fold with its poisoned form."""
    program = Program(Path(sys.argv[1]).resolve())
    train, test = parts_of(labelled(program, 1, ["c2"], ["c7"]))
    model, of_train, of_test = recoded(program, train, test)
    bad = poisoned(test)
    again, of_train_again, of_bad = recoded(program, train, bad)
    assert again == model, "the test part has no part in the model"
    assert of_train_again == of_train, "nor in the recoded training part"
    same = (bad.astype(str) == test.astype(object).astype(str)).all(axis=1)
    assert 0 < same.sum() < len(test)
    assert of_bad[same].astype(str).equals(of_test[same].astype(str)), (
        "nor in rows that were not changed"
    )
    print(
        f"a poisoned fold of {(~same).sum()} rows changes no model, and none of {same.sum()} others"
    )


if __name__ == "__main__":
    main()
