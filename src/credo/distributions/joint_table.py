"""A finite joint distribution of named variables: a table that answers every question."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import special

from credo.distributions.categorical import random_index
from credo.distributions.parameter import non_negative, simplex
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = ["JointTable"]

State = Any
Names = str | Sequence[str]

ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class JointTable:
    """Probability of every combination of states of a few named variables.

    The table is the whole knowledge base: any query partitions the variables into asked,
    given and summed out. Its size is the product of the numbers of states.

    Attributes
    ----------
    probability
        Non-negative entries that sum to one, one axis per variable.
    states
        States of each variable in the order of the axes.

    Examples
    --------
    >>> boxes = JointTable.from_conditional(
    ...     prior=JointTable([0.4, 0.6], {"box": ["red", "blue"]}),
    ...     name="ball", states=["green", "yellow"], conditional=[[0.25, 0.75], [0.75, 0.25]])
    >>> round(boxes.prob({"ball": "green"}), 10)
    0.55
    >>> round(boxes.prob({"box": "blue"}, given={"ball": "yellow"}), 10)
    0.3333333333
    """

    probability: Array
    states: dict[str, tuple[State, ...]]

    def __init__(self, probability: ArrayLike, states: Mapping[str, Sequence[State]]) -> None:
        ordered = {name: tuple(values) for name, values in states.items()}
        table, shape = as_float(probability), tuple(len(v) for v in ordered.values())
        if table.shape != shape or any(len(set(v)) < len(v) for v in ordered.values()):
            raise ValueError(
                "probability must have one axis per variable and one entry per distinct "
                f"state, {shape} for {quote(list(ordered))}; found shape {table.shape}. "
                "List every state once."
            )
        flat = simplex("probability", table.ravel())
        object.__setattr__(self, "probability", flat.reshape(shape))
        object.__setattr__(self, "states", ordered)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        return (cls([[0.1, 0.2], [0.3, 0.4]], {"a": ["x", "y"], "b": [0, 1]}),)

    @classmethod
    def from_mapping(
        cls, names: Sequence[str], entries: Mapping[tuple[State, ...], float]
    ) -> Self:
        """Return the table with these entries; combinations that are left out have zero.

        Examples
        --------
        >>> table = JointTable.from_mapping(["a", "b"], {(0, 0): 0.5, (1, 1): 0.5})
        >>> table.probability.tolist()
        [[0.5, 0.0], [0.0, 0.5]]
        """
        rows = [dict(zip(names, key, strict=True)) for key in entries]
        return cls._of_rows(rows, list(entries.values()))

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, State]]) -> Self:
        """Return the relative frequencies of observed rows, each a mapping of name to state."""
        rows = list(records)
        return cls._of_rows(rows, [1.0 / max(len(rows), 1)] * len(rows))

    @classmethod
    def _of_rows(cls, rows: Sequence[Mapping[str, State]], shares: list[float]) -> Self:
        if not rows:
            raise ValueError("a table needs at least one row; found none. Pass some rows.")
        # A dictionary keeps the order of first appearance, a set would not.
        states = {name: list(dict.fromkeys(row[name] for row in rows)) for name in rows[0]}
        table = np.zeros([len(values) for values in states.values()])
        for row, share in zip(rows, shares, strict=True):
            table[tuple(states[name].index(row[name]) for name in states)] += share
        return cls(table, states)

    @classmethod
    def from_conditional(
        cls, prior: "JointTable", name: str, states: Sequence[State], conditional: ArrayLike
    ) -> Self:
        """Return the joint ``P(name | variables of prior) P(variables of prior)``.

        Parameters
        ----------
        conditional
            Axes of ``prior`` followed by one for the new variable, along which it sums to one.
        """
        rows = simplex("conditional", conditional)
        shape = (*prior.probability.shape, len(states))
        if rows.shape != shape:
            raise ValueError(
                f"conditional must have shape {shape}, the states of "
                f"{quote(list(prior.states))} and "
                f"then of {name}; found {rows.shape}. Put the new variable on the last axis."
            )
        return cls(prior.probability[..., None] * rows, {**prior.states, name: tuple(states)})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the axes."""
        return tuple(self.states)

    def prob(
        self, event: Mapping[str, State], given: Mapping[str, State] | None = None
    ) -> float:
        """Return the probability of an event, a partial assignment, once some is given."""
        table = self.condition(given) if given else self
        clash = {name: given[name] for name in event if given and name in given}
        if any(clash[name] != event[name] for name in clash):
            return 0.0
        rest = {name: state for name, state in event.items() if name not in clash}
        return float(table.probability[table._cell(rest)].sum())

    def marginal(self, names: Names) -> "JointTable":
        """Return the table of some variables, in this order, the others summed out."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        axes = [self._axis(name) for name in wanted]
        others = tuple(i for i in range(len(self.states)) if i not in axes)
        kept = np.argsort(np.argsort(axes))
        table = self.probability.sum(axis=others).transpose(kept)
        return JointTable(table, {name: self.states[name] for name in wanted})

    def condition(self, given: Mapping[str, State]) -> "JointTable":
        """Return the table of the other variables once some are known."""
        part = self.probability[self._cell(given)]
        total = part.sum()
        if total <= 0:
            raise ValueError(
                f"given must be possible; found {dict(given)} with probability zero. "
                "Nothing follows from an impossible event."
            )
        rest = {name: values for name, values in self.states.items() if name not in given}
        return JointTable(part / total, rest)

    def query(self, names: Names, given: Mapping[str, State] | None = None) -> "JointTable":
        """Return the table of ``names`` given what is known, everything else summed out."""
        table = self.condition(given) if given else self
        return table.marginal(names)

    def update(self, name: str, likelihood: Mapping[State, float]) -> "JointTable":
        """Return the belief after an observation about one variable, by Bayes' rule.

        Parameters
        ----------
        likelihood
            Probability of what was observed under each state of ``name``; only ratios matter.
            Independent observations may be given one after the other or multiplied.
        """
        values = [likelihood[state] for state in self.states[self._known(name)]]
        factor = non_negative("likelihood", values, "Pass probabilities of what was observed.")
        axis = self._axis(name)
        shape = [-1 if i == axis else 1 for i in range(self.probability.ndim)]
        table = self.probability * (factor / max(factor.max(), 1e-300)).reshape(shape)
        if table.sum() <= 0:
            raise ValueError(
                "likelihood must allow some possible state; found none. What was "
                "observed contradicts the belief."
            )
        return JointTable(table / table.sum(), self.states)

    def is_independent(self, a: Names, b: Names, given: Names = (), tol: float = 1e-9) -> bool:
        """Return whether ``P(a, b | given) = P(a | given) P(b | given)``, cell by cell.

        Parameters
        ----------
        tol
            Largest relative difference of the two sides; rare events count as much as
            frequent ones. Differences below the rounding of a probability are none.
        """
        first, second, known = (
            (group,) if isinstance(group, str) else tuple(group) for group in (a, b, given)
        )
        sizes = [
            int(np.prod([len(self.states[self._known(n)]) for n in group]))
            for group in (first, second, known)
        ]
        joint = self.marginal((*first, *second, *known)).probability.reshape(sizes)
        # Multiplied out by P(given), so that impossible conditions need no division.
        total = joint.sum(axis=(0, 1))
        left, right = joint * total, joint.sum(axis=1)[:, None] * joint.sum(axis=0)
        allowed = tol * np.maximum(left, right) + ROUNDING * total**2
        return bool(np.all(np.abs(left - right) <= allowed))

    def implication(
        self, antecedent: Mapping[str, State], consequent: Mapping[str, State]
    ) -> float:
        """Return the probability of "not antecedent, or consequent".

        That is ``1 - P(A) + P(A, B)``, near one whenever the antecedent is rare, and not the
        conditional probability ``P(B | A)``.
        """
        certain = self.prob(antecedent)
        return 1.0 - certain + certain * (self.prob(consequent, antecedent) if certain else 0.0)

    def expectation(
        self, function: Callable[..., float], given: Mapping[str, State] | None = None
    ) -> float:
        """Return the mean of ``function(name=state, ...)`` over all combinations."""
        table = self.condition(given) if given else self
        fixed = dict(given or {})
        terms = [
            share * function(**cell, **fixed) for cell, share in table.cells() if share > 0
        ]
        return float(np.sum(terms))

    def covariance(self, f: Callable[..., float], g: Callable[..., float]) -> float:
        """Return ``E[(f - E f)(g - E g)]``, by two passes."""
        mean_f, mean_g = self.expectation(f), self.expectation(g)
        return self.expectation(lambda **cell: (f(**cell) - mean_f) * (g(**cell) - mean_g))

    def variance(self, function: Callable[..., float]) -> float:
        """Return ``E[(f - E f)^2]``, by two passes."""
        return self.covariance(function, function)

    def entropy(self) -> float:
        """Return the expectation of minus the log probability, in nats."""
        return float(special.entr(self.probability).sum())

    def cells(self) -> Iterable[tuple[dict[str, State], float]]:
        """Yield every combination of states with its probability."""
        for combination, share in zip(
            product(*self.states.values()), self.probability.ravel(), strict=True
        ):
            yield dict(zip(self.states, combination, strict=True)), float(share)

    def sample(self, rng: Generator, n: int) -> list[dict[str, State]]:
        """Return ``n`` random combinations of states."""
        flat = random_index(rng, self.probability.ravel(), (n,))
        cells = [cell for cell, _ in self.cells()]
        return [dict(cells[i]) for i in flat]

    def _known(self, name: str) -> str:
        if name not in self.states:
            raise ValueError(
                f"variable must be one of {quote(list(self.states))}; found {quote(name)}. "
                "Check the name."
            )
        return name

    def _axis(self, name: str) -> int:
        return self.names.index(self._known(name))

    def _cell(self, assignment: Mapping[str, State]) -> tuple[Any, ...]:
        index: list[Any] = [slice(None)] * len(self.states)
        for name, state in assignment.items():
            values = self.states[self._known(name)]
            if state not in values:
                raise ValueError(
                    f"state of {name} must be one of {quote(list(values))}; found "
                    f"{quote(state)}. Check the spelling."
                )
            index[self._axis(name)] = values.index(state)
        return tuple(index)
