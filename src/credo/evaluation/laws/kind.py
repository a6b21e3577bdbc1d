"""Every kind of class that has laws, and the laws run on the examples that a class gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import isabstract
from types import MappingProxyType
from typing import Any

import numpy as np

from credo.distributions.distribution import Distribution
from credo.evaluation.laws.basis import check_basis
from credo.evaluation.laws.distribution import check_distribution
from credo.evaluation.laws.engine import check_engine
from credo.evaluation.laws.estimator import check_estimator
from credo.evaluation.laws.family import check_family
from credo.evaluation.laws.kernel import check_kernel
from credo.evaluation.laws.node import check_node
from credo.evaluation.laws.statistics import check_statistics
from credo.features.basis import Basis
from credo.features.kernels.kernel import Kernel
from credo.numerics.example import Example

__all__ = ["KINDS", "Kind", "check_class", "check_example", "examples_of", "kind_of"]


@dataclass(frozen=True)
class Kind:
    """Classes that obey the same laws.

    Attributes
    ----------
    name
        What such a class is called.
    has
        Whether a class is one.
    check
        Runs the laws on an example; its second argument holds those of the laws.
    advice
        What ``examples()`` of such a class returns.
    """

    name: str
    has: Callable[[type], bool]
    check: Callable[[Any, dict[str, Any]], list[str]]
    advice: str


def kind_of(cls: type) -> Kind | None:
    """Return the kind of a class; None of one that has no laws, or is abstract.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> kind_of(Normal).name, kind_of(dict)
    ('distribution', None)
    """
    if isabstract(cls) or getattr(cls, "_is_protocol", False):
        return None
    return next((kind for kind in KINDS.values() if kind.has(cls)), None)


def examples_of(cls: type) -> tuple[Example, ...]:
    """Return the examples that a class gives of itself.

    Raises
    ------
    TypeError
        If it gives none, or objects of another class.

    Examples
    --------
    >>> from credo.distributions import Normal
    >>> examples_of(Normal)[1].it
    Normal(loc=1., scale=1.)
    """
    kind = kind_of(cls)
    advice = "a tuple of objects of the class" if kind is None else kind.advice
    give = getattr(cls, "examples", None)
    found = () if give is None else tuple(map(_as_example, give()))
    if not found or not all(isinstance(example.it, cls) for example in found):
        what = "none" if not found else f"{type(found[0].it).__name__}"
        raise TypeError(
            f"{cls.__name__} must have examples for the laws to check; found {what}. Add a "
            f"classmethod examples() that returns {advice}."
        )
    return _compared(found) if kind is KINDS["distribution"] else found


def check_example(example: Example) -> list[str]:
    """Check the laws on one example; return the names of the laws that were run."""
    kind = kind_of(type(example.it))
    if kind is None:
        raise TypeError(
            f"an example must be of a kind that has laws, {', '.join(KINDS)}; found a "
            f"{type(example.it).__name__}. Derive its class from one of these."
        )
    return kind.check(example.it, dict(example.arguments))


def check_class(cls: type) -> list[str]:
    """Check the laws on every example of a class; return the names of the laws that were run.

    Parameters
    ----------
    cls
        A distribution, belief, statistics, basis, kernel, estimator, node or engine, yours too,
        with a classmethod ``examples()``. It returns a tuple of objects, or of
        `credo.numerics.Example` where the laws take more: the rows of statistics, the
        variables of a node, the problem of an engine.

    Raises
    ------
    LawBroken
        With the law, what was expected and what was found.
    TypeError
        If the class gives no examples.

    Examples
    --------
    >>> from credo.features import SplineBasis
    >>> "far_inputs_stay_finite" in check_class(SplineBasis)
    True
    """
    names = [name for example in examples_of(cls) for name in check_example(example)]
    return list(dict.fromkeys(names))


def _as_example(one: Any) -> Example:
    return one if isinstance(one, Example) else Example(one)


def _compared(found: tuple[Example, ...]) -> tuple[Example, ...]:
    """Return distributions of which the first is compared with the second, for ``kl``."""
    first, *rest = found
    return Example(first.it, other=rest[0].it) if rest else first, *rest


def _has(*names: str) -> Callable[[type], bool]:
    return lambda cls: all(hasattr(cls, name) for name in names)


def _is_node(cls: type) -> bool:
    fields = getattr(cls, "__dataclass_fields__", {})
    is_spec = hasattr(cls, "bind") and hasattr(cls, "child_states")
    return is_spec or {"child", "parents"} <= set(fields)


def _statistics(it: Any, arguments: dict[str, Any]) -> list[str]:
    return check_statistics(arguments.pop("statistics", type(it)), **arguments)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind(
                "engine",
                _has("init", "step", "posterior"),
                lambda it, arguments: check_engine(it, **arguments),
                "engines, or Example(engine, problem=...) if it is not for tables",
            ),
            Kind(
                "estimator",
                _has("get_params", "fit"),
                lambda it, arguments: check_estimator(it, **arguments),
                "unfitted estimators, one for each way to set it",
            ),
            Kind(
                "distribution",
                lambda cls: issubclass(cls, Distribution),
                lambda it, arguments: check_distribution(
                    it, np.random.default_rng(0), **arguments
                ),
                "distributions, of which kl compares the first with the second",
            ),
            Kind(
                "belief",
                _has("update", "log_evidence"),
                lambda it, arguments: check_family(it, **arguments),
                "Example(prior, statistics=..., rows=...)",
            ),
            Kind(
                "statistics",
                _has("of", "__sub__"),
                _statistics,
                "Example(statistics, rows=...) with the rows that they summarize",
            ),
            Kind(
                "basis",
                lambda cls: issubclass(cls, Basis),
                lambda it, arguments: check_basis(it, **arguments),
                "bases that are not placed",
            ),
            Kind(
                "kernel",
                lambda cls: issubclass(cls, Kernel),
                lambda it, arguments: check_kernel(it, **arguments),
                "kernels of two columns, or Example(kernel, n_columns=..., n_categories=...)",
            ),
            Kind(
                "node",
                _is_node,
                lambda it, arguments: check_node(it, **arguments),
                "Example(spec, child=..., parents=...), or nodes that know their variables",
            ),
        )
    }
)
