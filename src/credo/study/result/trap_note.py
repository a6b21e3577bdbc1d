"""Traps that a table may hold for whoever judges by it, in sentences."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from credo.data.table.target import Target
from credo.evaluation.order_test import stated_p
from credo.evaluation.traps import imbalance, row_order, seen_rows
from credo.study.split import Split

__all__ = ["trap_notes"]


def trap_notes(split: Split, target: Target, predicted: NDArray[Any]) -> tuple[str, ...]:
    """Return a sentence for each trap found.

    Parameters
    ----------
    split
        The rows learned from and the test rows.
    target
        The classes of all rows, in the order of the table.
    predicted
        The class predicted for each test row.
    """
    train, test = split.train, split.test
    order = row_order(target.y)
    found = [
        seen_rows(train.prepared.X, test.prepared.X, train.y, test.y),
        imbalance(test.y, predicted),
    ]
    notes = [_capital(trap.sentence) for trap in found if trap.is_found]
    if order.is_found:
        notes.append(
            f"The order of rows tells the class ({stated_p(order.value, 1)}): test rows were "
            "drawn at random, which flatters the model if the order has a meaning, such as "
            "time or groups."
        )
    return tuple(notes)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
