"""What people write for a node of a network, bound to the node and its parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from credo.distributions.distribution import Distribution
from credo.distributions.normal import Normal
from credo.graphs.node.conditional import Conditional
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.node.distribution_node import DistributionNode
from credo.graphs.node.linear_gaussian import ConditionalLinearGaussian, LinearGaussian
from credo.graphs.node.table_spec import frame_columns, state_columns
from credo.graphs.node.threshold import ConditionalThreshold, Threshold
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float

__all__ = ["ConditionalSpec", "bind", "bind_table", "default_states", "states_of"]


@runtime_checkable
class ConditionalSpec(Protocol):
    """A conditional distribution that does not know yet which variables it is about."""

    def bind(self, child: Variable, parents: Sequence[Variable]) -> Conditional:
        """Return the distribution of this child given these parents."""
        ...

    def child_states(self, parents: Sequence[Variable] = ()) -> tuple[Any, ...] | None:
        """Return the states proposed for the child; None if it is real-valued."""
        ...


def default_states(n: int) -> tuple[Any, ...]:
    """Return the states of a variable where nothing is said: False and True, or 0, 1, 2, ..."""
    return (False, True) if n == 2 else tuple(range(n))


def bind(spec: Any, child: Variable, parents: Sequence[Variable]) -> Conditional:
    """Return the conditional distribution that ``spec`` stands for at this node.

    Parameters
    ----------
    spec
        An array (one axis per parent in order, then the states of the child), a dictionary, a
        DataFrame or a Series (see ``ConditionalTable``); something with a method ``bind`` such
        as ``NoisyOr`` or ``LinearGaussian``; a dictionary of ``LinearGaussian``, ``Probit`` or
        ``Logit`` by setting of the discrete parents; a distribution of `credo.distributions`
        for a node without parents; or a conditional distribution of just this child.

    Examples
    --------
    >>> coin = Variable("coin", ("heads", "tails"))
    >>> bind({"heads": 0.3, "tails": 0.7}, coin, []).probability.tolist()
    [0.3, 0.7]
    """
    spec = _promoted(spec)
    if isinstance(spec, ConditionalSpec):
        return spec.bind(child, tuple(parents))
    if isinstance(spec, Conditional):
        return _same(spec, child, parents)
    return bind_table(spec, child, parents)


def bind_table(spec: Any, child: Variable, parents: Sequence[Variable]) -> ConditionalTable:
    """Return the table that an array, a dictionary, a DataFrame or a Series stands for."""
    if isinstance(spec, Mapping):
        return ConditionalTable.from_dict(child, parents, spec)
    if _is_frame(spec) or isinstance(spec, pd.Series):
        return ConditionalTable.from_frame(child, parents, spec)
    return ConditionalTable(child, parents, _numbers(spec, child))


def states_of(
    spec: Any, parents: Sequence[Variable] = (), child: str = ""
) -> tuple[Any, ...] | None:
    """Return the states of the child that ``spec`` speaks of, or None if it names none.

    Truth values come as (False, True) however they were written, other labels in the order of
    writing, and plain arrays give the default states.

    Parameters
    ----------
    parents, child
        Variables and name of the node, needed only by data frames, to tell the columns of
        parents from those of states, and by functions, to see their values.

    Examples
    --------
    >>> states_of({True: 0.2, False: 0.8}), states_of([[0.1, 0.2, 0.7]])
    ((False, True), (0, 1, 2))
    """
    spec = _promoted(spec)
    if isinstance(spec, Conditional):
        return spec.child.states
    if isinstance(spec, ConditionalSpec):
        return spec.child_states(tuple(parents))
    if isinstance(spec, Mapping):
        return _tidy(_states_of_mapping(spec))
    if isinstance(spec, pd.Series):
        level = child if child in spec.index.names else -1
        return _tidy(list(spec.index.get_level_values(level)))
    if _is_frame(spec):
        return _tidy(_states_of_frame(spec, [v.name for v in parents], child))
    shape = np.shape(spec)
    return default_states(shape[-1]) if shape else None


def _promoted(spec: Any) -> Any:
    """Return the spec that a distribution, or a dictionary of parts, stands for."""
    if isinstance(spec, Normal) and spec.batch_shape == ():
        return LinearGaussian(float(spec.loc), {}, float(spec.scale))
    if isinstance(spec, Distribution):
        return DistributionNode(spec)
    if not isinstance(spec, Mapping) or not spec:
        return spec
    if all(isinstance(part, LinearGaussian) for part in spec.values()):
        return ConditionalLinearGaussian(spec)
    if all(isinstance(part, Threshold) for part in spec.values()):
        return ConditionalThreshold(spec)
    return spec


def _same(
    conditional: Conditional, child: Variable, parents: Sequence[Variable]
) -> Conditional:
    wanted = (child, *parents)
    if (conditional.child, *conditional.parents) == wanted:
        return conditional
    found = [v.name for v in (conditional.child, *conditional.parents)]
    raise ValueError(
        f"conditional of {child.name} must be about {[v.name for v in wanted]} in this order, "
        f"with the same states; found one about {found}. Build it from the variables of the "
        "network."
    )


def _numbers(spec: Any, child: Variable) -> Array:
    if isinstance(spec, int | float):
        raise ValueError(
            f"table of {child.name} must have one probability per state; found the number "
            f"{spec}. Write [{1 - spec:.6g}, {spec}] or a dictionary of states."
        )
    try:
        return as_float(spec)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"table of {child.name} must be an array, a dictionary, a DataFrame or a "
            f"conditional such as NoisyOr; found {type(spec).__name__} that is no array of "
            f"numbers ({error}). Give every setting of the parents one row."
        ) from error


def _is_frame(spec: Any) -> bool:
    return hasattr(spec, "columns") and hasattr(spec, "__getitem__")


def _states_of_mapping(entries: Mapping[Any, Any]) -> list[Any]:
    rows = list(entries.values())
    if not any(isinstance(row, Mapping) or np.ndim(row) for row in rows):
        return list(entries)
    named = [state for row in rows if isinstance(row, Mapping) for state in row]
    return named or list(default_states(max(np.size(row) for row in rows)))


def _states_of_frame(frame: Any, parents: list[str], child: str) -> list[Any]:
    columns = frame_columns(frame)
    if child in columns and "p" in columns:
        return columns[child]
    rest = state_columns(columns, parents)
    if "p" in rest and len(rest) == 2:
        return columns[next(name for name in rest if name != "p")]
    if parents:
        return rest
    # Without names of parents, columns of probabilities are those that hold fractions.
    return [n for n in rest if all(isinstance(v, float) for v in columns[n])]


def _tidy(labels: list[Any]) -> tuple[Any, ...] | None:
    distinct = tuple(dict.fromkeys(labels))
    if distinct and all(isinstance(label, bool | np.bool_) for label in distinct):
        return (False, True)
    return distinct or None
