"""Supervised discretization by minimum description length (Fayyad & Irani 1993)."""

from __future__ import annotations

import numpy as np


def entropy(counts: np.ndarray) -> np.ndarray:
    """The entropy in bits of class counts, along the last axis."""
    total = counts.sum(axis=-1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return -(shares * logs).sum(axis=-1)


def cut_points(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The cuts of a number that tell enough of the class to be worth their description."""
    order = np.argsort(values, kind="stable")
    one_hot = np.eye(classes.max() + 1)[classes[order]]
    return np.array(sorted(_cuts(values[order], one_hot)))


def _cuts(values: np.ndarray, one_hot: np.ndarray) -> list[float]:
    n_rows = len(values)
    places = np.flatnonzero(values[1:] > values[:-1]) + 1
    if len(places) == 0:
        return []
    total = one_hot.sum(axis=0)
    left = one_hot.cumsum(axis=0)[places - 1]
    right = total - left
    of_left, of_right, whole = entropy(left), entropy(right), float(entropy(total))
    after = (places * of_left + (n_rows - places) * of_right) / n_rows
    best = int(np.argmin(after))
    k, k_left, k_right = ((part > 0).sum() for part in (total, left[best], right[best]))
    delta = np.log2(3.0**k - 2) - (k * whole - k_left * of_left[best] - k_right * of_right[best])
    if whole - after[best] <= (np.log2(n_rows - 1) + delta) / n_rows:
        return []
    place = places[best]
    cut = (values[place - 1] + values[place]) / 2
    return [
        *_cuts(values[:place], one_hot[:place]),
        cut,
        *_cuts(values[place:], one_hot[place:]),
    ]


def information_gain(values: np.ndarray, classes: np.ndarray, is_number: bool) -> float:
    """What a column tells of the class, in bits; numbers are discretized first."""
    if is_number:
        codes = np.digitize(values, cut_points(values, classes))
    else:
        codes = np.unique(values, return_inverse=True)[1]
    counts = np.zeros((codes.max() + 1, classes.max() + 1))
    np.add.at(counts, (codes, classes), 1)
    weights = counts.sum(axis=1) / len(classes)
    return float(entropy(counts.sum(axis=0)) - (weights * entropy(counts)).sum())
