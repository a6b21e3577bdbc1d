"""AdaBoost: a weighted vote of weak classifiers, with honest probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, has_fit_parameter

from credo.distributions.categorical import Categorical
from credo.inference.margin.boosting import (
    Round,
    boosting_rounds,
    content_parts,
    vote_sharpness,
)
from credo.inference.margin.presorted import Presorted
from credo.inference.margin.stumps import Stump, Stumps, best_stump
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import first_labeled_rows, generator, label_codes, validated
from credo.numerics.array import Array
from credo.numerics.form import SMALLEST, Form
from credo.numerics.optimize.minimum import early_stop
from credo.numerics.special.log_domain import softmax
from credo.validation.predictive import HasPredictive

__all__ = [
    "AdaBoost",
    "BoostingData",
    "Members",
    "member_codes",
    "require_weak_learner",
    "votes",
]


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


# Parts that are held out in turn to fit the temperature, until this many rows were held out.
_N_PARTS = 5
_ENOUGH_ROWS = 1000
# One number needs no more rows to learn from: with 50,000 rows of rings, 100 and 400 rounds, a
# row lost less than 0.0003 of log score to the best temperature.
_MOST_TAUGHT = 20_000
# Votes closer than this share of all votes differ by rounding alone.
_TIE = 1e-12


class AdaBoost(PredictiveClassifier):
    """Many weak classifiers, each learned on what the ones before got wrong, that vote.

    Round m learns a member on weighted rows, with weighted error e; its vote is
    ``log((1 - e) / e) + log(K - 1)`` for K classes, and the weight of each row it misclassifies
    grows by exp(vote). The answer is the class with the most votes.

    Parameters
    ----------
    n_rounds
        Weak classifiers at most. Fewer if one makes no error, or none beats chance.
    weak_learner
        A scikit-learn classifier that takes ``sample_weight``; decision stumps if None, which
        are searched exhaustively, features sorted once. Such a model of another library can
        be pickled but not written to a model file.
    validation_share
        Share of the rows of each class to hold out for early stopping: the number of rounds
        with the least held-out error is kept, later rounds are discarded. If None, all rows
        teach and no round is discarded.
    random_state
        Seed of what is held out, and of the weak learners.
    temperature
        What votes are divided by before the softmax; found on rows held out if None.

    Attributes
    ----------
    members_
        The weak classifiers kept, as arrays of stumps or as a list of estimators.
    n_rounds_, status_
        How many are kept, and why there are no more.
    estimator_weights_, estimator_errors_
        Vote and weighted error of each.
    exponential_loss_
        ``sum of exp(-y F(x) / 2)`` over the training rows after each round; falls by the factor
        ``2 sqrt(e (1 - e))`` (two classes). Below the weight of one row, no row is wrong.
    temperature_
        Votes are divided by it before the softmax.
    held_out_errors_
        Error on the rows held out after every round tried; None without early stopping.

    Notes
    -----
    Probabilities are ``softmax(votes / temperature)``, one number for all classes, so that the
    most probable class is the one voted for. Margins of training rows are far too sure; unless
    it is given, the temperature is fitted to rows held out: those of early stopping, else up to
    five parts held out in turn and learned anew without, as many as hold a thousand rows. At
    most 20,000 distinct rows are learned from anew: fewer rows overfit a little more, so that
    with more data the probabilities are slightly less sure than they could be. What is held
    out depends on the values in a row and the seed alone, not on the order of rows.

    Examples
    --------
    >>> x, y = np.arange(1.0, 7.0)[:, None], np.array([1, 1, -1, -1, 1, -1])
    >>> model = AdaBoost(n_rounds=3).fit(x, y)
    >>> model.exponential_loss_.round(6)
    array([4.472136, 3.577709, 2.792848])
    >>> model.predict(x).tolist()
    [1, 1, -1, -1, 1, -1]
    """

    estimator_errors_: Annotated[Array, Form("m", 0.0, 1.0)]
    estimator_weights_: Annotated[Array, Form("m", 0.0)]
    exponential_loss_: Annotated[Array, Form("m", 0.0, np.inf)]
    held_out_errors_: Annotated[Array | None, Form("r", 0.0, 1.0)]
    members_: Stumps | list[HasPredictive]
    n_rounds_: Annotated[int, Form(low=0)]
    status_: str
    temperature_: Annotated[float, Form(low=SMALLEST, high=np.inf)]

    def __init__(
        self,
        n_rounds: int = 100,
        weak_learner: Any = None,
        validation_share: float | None = None,
        random_state: Any = 0,
        temperature: float | None = None,
    ):
        self.n_rounds = n_rounds
        self.weak_learner = weak_learner
        self.validation_share = validation_share
        self.random_state = random_state
        self.temperature = temperature

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return cls(), cls(30, validation_share=0.3, random_state=1)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and classes ``y``; a weight of two is the row twice."""
        self._check_settings()
        rows = first_labeled_rows(self, X, y, sample_weight)
        kept = rows.weight > 0
        x = rows.x[kept]
        rng = generator(self.random_state)
        data = BoostingData(
            x,
            rows.code[kept],
            rows.weight[kept],
            len(self.classes_),
            Presorted.of(x),
            self.weak_learner,
            int(rng.integers(2**31)),
        )
        place, is_opening = content_parts(data.rows.keys(rng), data.codes)
        if self.validation_share is None:
            return self._fit_all(data, place)
        share = self.validation_share
        is_held = np.floor((place + 1) * share) > np.floor(place * share)
        return self._fit_early(data, is_held & ~is_opening)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return votes: for the second class less the first, (n,); of each class, (n, K)."""
        return self._decision(self._votes(X))

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, one entry per row."""
        return Categorical(self._probability(self._votes(X)), self.classes_)

    def staged_decision_function(self, X: ArrayLike) -> Iterator[Array]:
        """Yield the `decision_function` after each round."""
        for total in self._staged_votes(X):
            yield self._decision(total)

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[Array]:
        """Yield probabilities after each round, all at the temperature of the whole."""
        for total in self._staged_votes(X):
            yield self._probability(total)

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Yield the predicted class after each round."""
        for total in self._staged_votes(X):
            yield self.classes_[self._probability(total).argmax(axis=1)]

    def margins(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Return the votes for the right class less those for the best other, over all votes.

        From -1 to 1, negative where the answer is wrong; they tend to grow after no training
        row is wrong any more.
        """
        total = self._votes(X)
        codes = label_codes(y, self.classes_)[:, None]
        own = np.take_along_axis(total, codes, axis=1)[:, 0]
        np.put_along_axis(total, codes, -np.inf, axis=1)
        return np.asarray((own - total.max(axis=1)) / max(self._all_votes, 1e-300))

    def rounds(self) -> pd.DataFrame:
        """Return a table of the rounds: the stump where there is one, error, vote, loss."""
        check_is_fitted(self)
        columns: dict[str, Any] = {}
        if isinstance(self.members_, Stumps):
            names = _check_feature_names_in(self)
            columns["feature"] = names[self.members_.feature]
            columns["threshold"] = self.members_.threshold
            columns["not above"] = self.classes_[self.members_.left]
            columns["above"] = self.classes_[self.members_.right]
        columns["error"] = self.estimator_errors_
        columns["vote"] = self.estimator_weights_
        columns["exponential loss"] = self.exponential_loss_
        index = pd.Index(np.arange(1, self.n_rounds_ + 1), name="round")
        return pd.DataFrame(columns, index=index)

    def settled(self) -> Self:
        """Return an unfitted copy at the temperature found, which takes a part of the time."""
        check_is_fitted(self)
        again: Self = clone(self).set_params(temperature=self.temperature_)
        return again

    def _check_settings(self) -> None:
        require_weak_learner(self.weak_learner)
        if not (isinstance(self.n_rounds, int | np.integer) and self.n_rounds >= 1):
            raise ValueError(
                f"n_rounds must be a whole number, 1 or more; found {self.n_rounds!r}. Pass "
                "the number of weak classifiers."
            )
        share = self.validation_share
        if share is not None and not 0 < share < 1:
            raise ValueError(
                f"validation_share must be above 0 and below 1, or None; found {share!r}. Pass "
                "a part of the rows, such as 0.2."
            )
        if self.temperature is not None and not 0 < self.temperature < np.inf:
            raise ValueError(
                f"temperature must be above 0 and finite, or None; found {self.temperature!r}. "
                "Pass None to find it on rows held out."
            )

    def _fit_all(self, data: BoostingData, place: NDArray[np.intp]) -> Self:
        """Learn from all rows; the temperature from parts learned anew without each."""
        self.held_out_errors_: Array | None = None
        self._set_rounds(list(islice(data.rounds(), self.n_rounds)))
        if self.temperature is not None:
            self.temperature_ = self.temperature
            return self
        n_places = int(place.max()) + 1
        n_parts = min(_N_PARTS, n_places)
        n_used = min(n_parts, -(-_ENOUGH_ROWS * n_parts // n_places))
        held = [place % n_parts == part for part in range(n_used)]
        taught = [_taught(place, part, n_parts) for part in range(n_used)]
        judged = [
            self._held_out_votes(data.part(kept), data.x[rows])
            for kept, rows in zip(taught, held, strict=True)
        ]
        self.temperature_ = 1.0 / vote_sharpness(
            np.vstack(judged),
            np.concatenate([data.codes[rows] for rows in held]),
            np.concatenate([data.weight[rows] for rows in held]),
        )
        return self

    def _held_out_votes(self, taught: BoostingData, x: Array) -> Array:
        """Return the votes for held-out rows of members that did not see them."""
        rounds = list(islice(taught.rounds(), self.n_rounds))
        weight = np.array([r.vote for r in rounds])
        return votes(_members(rounds), weight, x, len(self.classes_))

    def _fit_early(self, data: BoostingData, is_held: NDArray[np.bool_]) -> Self:
        """Learn from the rows not held out, and go back to the best round on those held out."""
        if not is_held.any():
            raise ValueError(
                "validation_share must hold out at least one row and leave one of each class; "
                f"found {len(is_held)} rows and a share of {self.validation_share:g}. Raise "
                "it, or pass None to learn from all rows."
            )
        x, codes, weight = data.x[is_held], data.codes[is_held], data.weight[is_held]
        rounds = list(islice(data.part(~is_held).rounds(), self.n_rounds))
        total = np.zeros((len(codes), len(self.classes_)))
        every = np.arange(len(total))

        def error(latest: Round) -> float:
            total[every, member_codes(latest.member, x)] += latest.vote
            return float(weight @ (total.argmax(axis=1) != codes) / weight.sum())

        self.held_out_errors_ = np.zeros(0)
        n_kept = 0
        if rounds:
            stopped = early_stop(rounds, error)
            self.held_out_errors_, n_kept = stopped.errors, stopped.n_steps
        self._set_rounds(rounds[:n_kept])
        found = votes(self.members_, self.estimator_weights_, x, len(self.classes_))
        self.temperature_ = float(
            self.temperature or 1.0 / vote_sharpness(found, codes, weight)
        )
        return self

    def _set_rounds(self, rounds: list[Round]) -> None:
        self.members_ = _members(rounds)
        self.n_rounds_ = len(rounds)
        self.estimator_weights_ = np.array([r.vote for r in rounds])
        self.estimator_errors_ = np.array([r.error for r in rounds])
        self.exponential_loss_ = np.exp([r.log_loss for r in rounds])
        if rounds and rounds[-1].is_perfect:
            self.status_ = "a weak classifier makes no error"
        elif self.held_out_errors_ is not None and len(rounds) < len(self.held_out_errors_):
            self.status_ = "went back to the least held-out error"
        elif len(rounds) < self.n_rounds:
            self.status_ = "no weak classifier is better than chance"
        else:
            self.status_ = "all rounds were run"
        if not rounds:
            warnings.warn(
                "a weak classifier must be better than chance to vote; found none, so all "
                "classes are equally probable. Add features, or pass a stronger weak_learner.",
                stacklevel=4,
            )

    @property
    def _all_votes(self) -> float:
        return float(self.estimator_weights_.sum())

    def _votes(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        x = validated(self, X, reset=False, dtype=np.float64)
        return self._votes_with_ties(
            votes(self.members_, self.estimator_weights_, x, len(self.classes_))
        )

    def _staged_votes(self, X: ArrayLike) -> Iterator[Array]:
        check_is_fitted(self)
        x = validated(self, X, reset=False, dtype=np.float64)
        total = np.zeros((len(x), len(self.classes_)))
        every = np.arange(len(x))
        for m in range(self.n_rounds_):
            total[every, member_codes(self.members_[m], x)] += self.estimator_weights_[m]
            yield self._votes_with_ties(total)

    def _votes_with_ties(self, total: Array) -> Array:
        """Return votes in which a tie is a tie, whatever rounding made of it."""
        most = total.max(axis=1, keepdims=True)
        return np.where(total >= most - _TIE * self._all_votes, most, total)

    def _decision(self, total: Array) -> Array:
        return total[:, 1] - total[:, 0] if total.shape[1] == 2 else total

    def _probability(self, total: Array) -> Array:
        return softmax(total / self.temperature_)


def _members(rounds: list[Round]) -> Members:
    found = [r.member for r in rounds]
    return Stumps.of(found) if all(isinstance(m, Stump) for m in found) else found


def _taught(place: NDArray[np.intp], part: int, n_parts: int) -> NDArray[np.bool_]:
    """Return rows outside the part held out, evenly thinned if there are very many."""
    is_outside = place % n_parts != part
    rank = place - (place - part + n_parts - 1) // n_parts
    n_outside = int(rank[is_outside].max()) + 1 if is_outside.any() else 0
    share = min(1.0, _MOST_TAUGHT / max(n_outside, 1))
    return np.asarray(is_outside & (np.floor((rank + 1) * share) > np.floor(rank * share)))
