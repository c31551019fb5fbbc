"""The learners of section 4.1, as scikit-learn has them.

J48 prunes and CART does not: trees are pruned by cost complexity, chosen on a quarter of the training
part. M5 has linear models in its leaves; the regression tree here has constants. SMO scales to the
unit interval, and so does the linear machine here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import MinMaxScaler, OrdinalEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from discretize import cut_points

N_ALPHAS = 40


@dataclass(frozen=True)
class Parts:
    """Both parts as learners see them; columns of text are categories."""

    train: pd.DataFrame
    test: pd.DataFrame

    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers as they are, categories one-hot by those of the training part."""
        text = [name for name in self.train if not _is_number(self.train[name])]
        train = pd.get_dummies(self.train, columns=text, dtype=float)
        test = pd.get_dummies(self.test, columns=text, dtype=float)
        test = test.reindex(columns=train.columns, fill_value=0.0)
        return train.to_numpy(dtype=float), test.to_numpy(dtype=float)


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def _pruned(model, x: np.ndarray, y: np.ndarray, stratified: bool, score: Callable) -> object:
    """A tree pruned as much as an inner quarter of the rows bears."""
    strata = y if stratified and np.bincount(y).min() >= 2 else None
    inner, held, of_inner, of_held = train_test_split(
        x, y, test_size=0.25, random_state=0, stratify=strata
    )
    alphas = np.unique(model.cost_complexity_pruning_path(inner, of_inner).ccp_alphas.clip(0))
    if len(alphas) > N_ALPHAS:
        alphas = alphas[np.linspace(0, len(alphas) - 1, N_ALPHAS).round().astype(int)]
    fitted = [clone(model).set_params(ccp_alpha=alpha).fit(inner, of_inner) for alpha in alphas]
    scores = np.array([score(of_held, own.predict(held)) for own in fitted])
    best = len(scores) - 1 - int(np.argmax(scores[::-1]))
    return clone(model).set_params(ccp_alpha=alphas[best]).fit(x, y)


def _accuracy(truth: np.ndarray, told: np.ndarray) -> float:
    return float((truth == told).mean())


def decision_tree(parts: Parts, y: np.ndarray) -> np.ndarray:
    """For J48."""
    train, test = parts.numbers()
    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)
    return _pruned(tree, train, y, True, _accuracy).predict(test)


def naive_bayes(parts: Parts, y: np.ndarray) -> np.ndarray:
    """Naive Bayes with supervised discretization."""
    train, test = [], []
    for name in parts.train:
        own, other = parts.train[name], parts.test[name]
        if _is_number(own):
            cuts = cut_points(own.to_numpy(dtype=float), y)
            train.append(np.digitize(own.to_numpy(dtype=float), cuts))
            test.append(np.digitize(other.to_numpy(dtype=float), cuts))
        else:
            encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
            train.append(encoder.fit_transform(own.to_frame())[:, 0] + 1)
            test.append(encoder.transform(other.to_frame())[:, 0] + 1)
    x, wanted = np.stack(train, axis=1).astype(int), np.stack(test, axis=1).astype(int)
    n_values = np.maximum(x.max(axis=0), wanted.max(axis=0)) + 1
    return CategoricalNB(min_categories=n_values).fit(x, y).predict(wanted)


def random_forest(parts: Parts, y: np.ndarray) -> np.ndarray:
    """Forty random trees."""
    train, test = parts.numbers()
    n_columns = min(train.shape[1], int(math.log2(train.shape[1]) + 1))
    forest = RandomForestClassifier(n_estimators=40, max_features=n_columns, random_state=0)
    return forest.fit(train, y).predict(test)


def linear_machine(parts: Parts, y: np.ndarray) -> np.ndarray:
    """A support vector machine with a linear kernel."""
    train, test = parts.numbers()
    scaler = MinMaxScaler().fit(train)
    machine = LinearSVC(dual=False, max_iter=5000, random_state=0)
    return machine.fit(scaler.transform(train), y).predict(scaler.transform(test))


def linear_regression(parts: Parts, y: np.ndarray) -> np.ndarray:
    """Least squares."""
    train, test = parts.numbers()
    scaler = MinMaxScaler().fit(train)
    return LinearRegression().fit(scaler.transform(train), y).predict(scaler.transform(test))


def regression_tree(parts: Parts, y: np.ndarray) -> np.ndarray:
    """For M5, without linear leaves."""
    train, test = parts.numbers()
    tree = DecisionTreeRegressor(min_samples_leaf=4, random_state=0)
    error = lambda truth, told: -mean_absolute_error(truth, told)  # noqa: E731
    return _pruned(tree, train, y, False, error).predict(test)


CLASSIFIERS: dict[str, Callable[[Parts, np.ndarray], np.ndarray]] = {
    "tree": decision_tree,
    "bayes": naive_bayes,
    "forest": random_forest,
    "svm": linear_machine,
}
REGRESSORS: dict[str, Callable[[Parts, np.ndarray], np.ndarray]] = {
    "linear": linear_regression,
    "tree": regression_tree,
}


def accuracies(parts: Parts, y: pd.Series, truth: pd.Series, names: list[str]) -> dict[str, float]:
    """The share of the test part that each learner tells."""
    labels, codes = np.unique(y.to_numpy(), return_inverse=True)
    told = {name: labels[CLASSIFIERS[name](parts, codes)] for name in names}
    return {name: _accuracy(truth.to_numpy(), own) for name, own in told.items()}


def errors(parts: Parts, y: pd.Series, truth: pd.Series) -> dict[str, float]:
    """The mean absolute error of each learner on the test part."""
    y, truth = y.to_numpy(dtype=float), truth.to_numpy(dtype=float)
    return {
        name: float(mean_absolute_error(truth, learner(parts, y)))
        for name, learner in REGRESSORS.items()
    }


def majority(y: pd.Series, truth: pd.Series) -> float:
    """The share that the most frequent class of the training part has of the test part."""
    return float((truth == y.mode().iloc[0]).mean())
