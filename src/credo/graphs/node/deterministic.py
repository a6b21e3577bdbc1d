"""Nodes that are a function of their parents, in the form of a chain where there is one."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.graphs.factor import Factor
from credo.graphs.node.auxiliary_variable import auxiliary_name, require_storable
from credo.graphs.node.conditional import Values
from credo.graphs.node.parent_state import node_array
from credo.graphs.node.positive_state import present_position
from credo.graphs.node.table_spec import require_discrete
from credo.graphs.variable import Variable, nearest
from credo.numerics.array import Array
from credo.numerics.example import Example

__all__ = ["Deterministic", "FunctionOfParents"]

Positions = NDArray[np.intp]

STEP: Mapping[str, Callable[[Any, Any], Any]] = {
    "or": operator.or_,
    "and": operator.and_,
    "xor": operator.xor,
    "count": operator.add,
    "sum": operator.add,
    "max": max,
    "min": min,
}


@dataclass(frozen=True, eq=False)
class FunctionOfParents:
    """``P(child | parents)`` of a child that is a function of its parents.

    Attributes
    ----------
    child, parents
        Variables.
    running
        States of the running value after each link but the last.
    links
        The first gives the position of the running value for the positions of the first few
        parents, one axis each; every further one for the position of the running value before
        (first axis) and of one more parent. The last running value is the child.
    """

    child: Variable
    parents: tuple[Variable, ...]
    running: tuple[tuple[Any, ...], ...]
    links: tuple[Positions, ...]

    kind = "function"

    def __post_init__(self) -> None:
        require_discrete(self.child, self.parents)
        n_before = len(self.parents) - len(self.running)
        if n_before < 0 or len(self.links) != len(self.running) + 1:
            raise ValueError(
                f"{self.child.name} must have at most one running value per parent and one "
                f"link more; found {len(self.running)} and {len(self.links)} for "
                f"{len(self.parents)} parents. Bind a Deterministic instead."
            )
        states = [len(labels) for labels in self.running]
        shapes = [tuple(p.n_states for p in self.parents[:n_before])]
        shapes += [
            (n, p.n_states) for n, p in zip(states, self.parents[n_before:], strict=True)
        ]
        for link, shape, n in zip(
            self.links, shapes, [*states, self.child.n_states], strict=True
        ):
            node_array(self.child, "a link", link, shape)
            if link.size and not 0 <= link.min() <= link.max() < n:
                raise ValueError(
                    f"links of {self.child.name} must be positions from 0 to {n - 1}; found "
                    f"{link.min()} to {link.max()}. Bind a Deterministic instead."
                )

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: none."""
        return 0

    def log_prob(self, values: Values) -> Array:
        """Return zero where the child's position is the function's value, else -infinity."""
        child = np.asarray(values[self.child.name])
        return np.where(child == self._positions(values), 0.0, -np.inf)

    def sample(self, values: Values, n: int, rng: Generator) -> Positions:
        """Return ``n`` positions of the child given those of its parents; nothing is random."""
        return np.array(np.broadcast_to(self._positions(values), (n,)))

    def table(self) -> Factor:
        """Return the whole table, axes parents then child; exponential in the parents."""
        scope = (*self.parents, self.child)
        require_storable(scope)
        positions = self.links[0]
        for link in self.links[1:]:
            positions = link[positions]
        return Factor(scope, np.eye(self.child.n_states)[positions])

    def factors(self) -> tuple[Factor, ...]:
        """Return one factor per link, joined by auxiliary variables, the running values."""
        first = self.links[0].ndim
        nodes = [
            Variable(auxiliary_name(self.child, first + i), states)
            for i, states in enumerate(self.running)
        ]
        nodes.append(self.child)
        scopes = [(*self.parents[:first], nodes[0])]
        for i, parent in enumerate(self.parents[first:]):
            scopes.append((nodes[i], parent, nodes[i + 1]))
        return tuple(
            Factor(scope, np.eye(scope[-1].n_states)[link])
            for scope, link in zip(scopes, self.links, strict=True)
        )

    def _positions(self, values: Values) -> Positions:
        columns = [np.asarray(values[parent.name]) for parent in self.parents]
        first = self.links[0].ndim
        positions = self.links[0][tuple(columns[:first])]
        for link, column in zip(self.links[1:], columns[first:], strict=True):
            positions = link[positions, column]
        return np.asarray(positions)


@dataclass(frozen=True)
class Deterministic:
    """A node that is a function of its parents.

    Attributes
    ----------
    function
        A function of the parents' states, in their order, that returns a state; or one of
        "or", "and", "xor", "count" (of present parents), "max", "min", "sum" (of parents whose
        states are numbers, or any ordered labels for the first two). The named ones are stored
        as a chain, which stays small for many parents.
    present
        State that means presence, by name, where the two states do not say it themselves.

    Examples
    --------
    >>> dice = [Variable(name, (1, 2, 3, 4, 5, 6)) for name in ("first", "second")]
    >>> total = Variable("total", tuple(range(2, 13)))
    >>> node = Deterministic("sum").bind(total, dice)
    >>> int(node.table().table()[:, :, 5].sum())
    6
    """

    function: str | Callable[..., Any]
    present: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        parents = tuple(Variable(name, (False, True)) for name in "abc")
        ill, count = Variable("ill", (False, True)), Variable("count", (0, 1, 2, 3))
        return (
            Example(cls("or"), child=ill, parents=parents),
            Example(cls("count"), child=count, parents=parents),
            Example(cls(lambda a, b, c: a and not (b and c)), child=ill, parents=parents),
        )

    def __post_init__(self) -> None:
        known = list(STEP)
        if not callable(self.function) and self.function not in known:
            raise ValueError(
                f"function must be callable or one of {known}; found {self.function!r}."
                f"{nearest(self.function, known)}"
            )

    def child_states(self, parents: Sequence[Variable] = ()) -> tuple[Any, ...]:
        """Return the states proposed for the child: the values the function can have."""
        if self.function in ("or", "and", "xor"):
            return (False, True)
        values = list(dict.fromkeys(self._values(parents)))
        try:
            return tuple(sorted(values))
        except TypeError:
            return tuple(values)

    def bind(self, child: Variable, parents: Sequence[Variable]) -> FunctionOfParents:
        """Return the distribution of this child given these parents."""
        require_discrete(child, parents)
        if callable(self.function):
            require_storable((*parents, child))
            positions = [child.index(value) for value in self._values(parents)]
            shape = [parent.n_states for parent in parents]
            link = np.array(positions, dtype=np.intp).reshape(shape)
            return FunctionOfParents(child, tuple(parents), (), (link,))
        running, links = self._chain(parents)
        last = np.array([self._position(child, value) for value in running[-1]], dtype=np.intp)
        links = [*links[:-1], last[links[-1]]]
        return FunctionOfParents(child, tuple(parents), tuple(running[:-1]), tuple(links))

    def _values(self, parents: Sequence[Variable]) -> Sequence[Any]:
        if callable(self.function):
            _check_arguments(self.function, parents)
            return [self.function(*setting) for setting in product(*_labels(parents))]
        return self._chain(parents)[0][-1]

    def _chain(
        self, parents: Sequence[Variable]
    ) -> tuple[list[tuple[Any, ...]], list[Positions]]:
        """Return the running values after each parent, and the links between them."""
        if not parents:
            raise ValueError(
                f"node that is the {self.function!r} of its parents must have one; found "
                "none. Add parents or write a table."
            )
        step = STEP[str(self.function)]
        values = self._numbers(parents[0])
        running, link = _distinct(values)
        states, links = [running], [link]
        for parent in parents[1:]:
            numbers = self._numbers(parent)
            running, link = _distinct([step(a, b) for a in running for b in numbers])
            states.append(running)
            links.append(link.reshape(-1, len(numbers)))
        return states, links

    def _numbers(self, parent: Variable) -> Sequence[Any]:
        """Return what each state of a parent stands for in the running value."""
        if self.function in ("max", "min", "sum"):
            return parent.labels
        top = present_position(parent, self.present)
        as_value = int if self.function == "count" else bool
        return [as_value(i == top) for i in range(2)]

    def _position(self, child: Variable, value: Any) -> int:
        if self.function in ("or", "and", "xor"):
            top = present_position(child, self.present)
            return top if value else 1 - top
        return child.index(value)


def _check_arguments(function: Callable[..., Any], parents: Sequence[Variable]) -> None:
    """Refuse a function that does not take one state of each parent."""
    try:
        inspect.signature(function).bind(*parents)
    except TypeError as error:
        raise ValueError(
            f"function must take the states of its parents {[v.name for v in parents]} as "
            f"arguments in this order; found one that does not ({error}). Give it "
            f"{len(parents)} arguments."
        ) from error
    except ValueError:
        # Some functions written in C do not tell their arguments.
        return


def _labels(parents: Sequence[Variable]) -> list[tuple[Any, ...]]:
    return [parent.labels for parent in parents]


def _distinct(values: Sequence[Any]) -> tuple[tuple[Any, ...], Positions]:
    """Return the distinct values and the position of each value among them."""
    place = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return tuple(place), np.array([place[value] for value in values], dtype=np.intp)
