"""What boosting learns from, and the votes of what it learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from credo.inference.margin.boosting import Round, boosting_rounds
from credo.inference.margin.presorted import Presorted
from credo.inference.margin.stumps import Stump, Stumps, best_stump
from credo.numerics.array import Array

__all__ = ["BoostingData", "Members", "member_codes", "require_weak_learner", "votes"]

Codes = NDArray[np.intp]
Members = Stumps | list[Any]


@dataclass(frozen=True, eq=False)
class BoostingData:
    """Rows of positive weight, sorted once, and the weak learner that sees them.

    Attributes
    ----------
    x, codes, weight
        Inputs (n, d), class codes (n,) and weights (n,).
    rows
        The inputs in the order of each feature.
    weak_learner, seed
        An unfitted classifier, or None for stumps, and what its random states start from.
    """

    x: Array
    codes: Codes
    weight: Array
    n_classes: int
    rows: Presorted
    weak_learner: Any = None
    seed: int = 0

    def part(self, is_kept: NDArray[np.bool_]) -> BoostingData:
        """Return the rows that are kept."""
        return replace(
            self,
            x=self.x[is_kept],
            codes=self.codes[is_kept],
            weight=self.weight[is_kept],
            rows=self.rows.take(is_kept),
        )

    def rounds(self) -> Iterator[Round]:
        """Yield rounds of AdaBoost on these rows."""
        learn = self._stump if self.weak_learner is None else self._learner()
        return boosting_rounds(learn, self.codes, self.weight, self.n_classes)

    def _stump(self, weight: Array) -> tuple[Stump, Codes]:
        stump = best_stump(self.rows, self.codes, self.n_classes, weight)
        return stump, stump.codes(self.rows.columns[stump.feature])

    def _learner(self) -> Any:
        rng = np.random.default_rng(self.seed)
        is_random = "random_state" in self.weak_learner.get_params()

        def learn(weight: Array) -> tuple[Any, Codes]:
            member = clone(self.weak_learner)
            if is_random:
                member.set_params(random_state=int(rng.integers(2**31)))
            # Some learners treat a weight of zero as a row, so what underflowed is left out.
            heavy = weight > 0
            member.fit(self.x[heavy], self.codes[heavy], sample_weight=weight[heavy])
            return member, member_codes(member, self.x)

        return learn


def require_weak_learner(learner: Any) -> None:
    """Refuse what cannot learn from weighted rows."""
    can_learn = hasattr(learner, "fit") and hasattr(learner, "get_params")
    if learner is None or (
        can_learn and is_classifier(learner) and has_fit_parameter(learner, "sample_weight")
    ):
        return
    raise TypeError(
        "weak_learner must be None or a classifier whose fit takes sample_weight; found "
        f"{learner!r}. Pass such as DecisionTreeClassifier(max_depth=2)."
    )


def member_codes(member: Any, x: Array) -> Codes:
    """Return the class code that one weak classifier gives each row."""
    if isinstance(member, Stump):
        return member.codes(x[:, member.feature])
    return np.asarray(member.predict(x), dtype=np.intp)


def votes(members: Members | Sequence[Any], weight: Array, x: Array, n_classes: int) -> Array:
    """Return the votes for each class, shape (n, n_classes)."""
    if isinstance(members, Stumps):
        return members.votes(x, weight, n_classes)
    total = np.zeros((len(x), n_classes))
    every = np.arange(len(x))
    for member, vote in zip(members, weight, strict=True):
        total[every, member_codes(member, x)] += vote
    return total
