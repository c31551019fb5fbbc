"""A poisoned fold changes no model: `python test_folds.py ALBERS` in the environment of `run`.

Only the test part is changed, by outliers, new categories and missing values. The model and the recoded
training part must keep every byte, and so must the recoded rows that were not changed.
"""

from __future__ import annotations

import shutil
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
    program: Program, train: pd.DataFrame, test: pd.DataFrame, folder: Path
) -> tuple[bytes, bytes, pd.DataFrame]:
    """The model, the recoded training part, and the recoded test part."""
    columns = Columns(QUASI, program.hierarchies(folder))
    fold = folder / "fold"
    fold.mkdir()
    model = learn_function(program, train, columns, INFO_GAIN, ["c2"], 25, fold)
    before = model.read_bytes()
    apply_function(program, model, train, "train")
    apply_function(program, model, test, "test")
    # As text: a missing cell elsewhere makes a column of numbers one of floats.
    told = pd.read_csv(fold / "test.recoded.csv", dtype=str, keep_default_na=False)
    assert model.read_bytes() == before, "recoding never changes the model"
    of_train = (fold / "train.recoded.csv").read_bytes()
    shutil.rmtree(fold)
    return before, of_train, told


def main() -> None:
    """Compares a fold with its poisoned form."""
    program = Program(Path(sys.argv[1]).resolve())
    train, test = parts_of(labelled(program, 1, ["c2"], ["c7"]))
    bad = poisoned(test)
    with tempfile.TemporaryDirectory() as folder:
        model, of_train, of_test = recoded(program, train, test, Path(folder))
        again, of_train_again, of_bad = recoded(program, train, bad, Path(folder))
    assert again == model, "the test part has no part in the model"
    assert of_train_again == of_train, "nor in the recoded training part"
    same = (bad.astype(str) == test.astype(object).astype(str)).all(axis=1)
    assert 0 < same.sum() < len(test)
    unchanged = of_bad[same].equals(of_test[same])
    assert unchanged, "nor in rows that were not changed"
    print(f"{(~same).sum()} poisoned rows change no model, and none of {same.sum()} other rows")


if __name__ == "__main__":
    main()
