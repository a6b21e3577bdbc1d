"""What neural networks for numbers and for classes share: settings, units, and learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.density.trajectory import NoUTurnSampling
from credo.inference.density.variational import GaussianVariational
from credo.inference.engine.engine import Inference, run
from credo.inference.neural.belief import NetworkBelief, NetworkMixture
from credo.inference.neural.ensemble import NetworkEnsemble
from credo.inference.neural.outcome import Outcome
from credo.inference.neural.problem import NetworkProblem
from credo.inference.neural.sampling import (
    USUAL_CLIMB,
    USUAL_DRAWS,
    closest_gaussian,
    drawn_networks,
)
from credo.inference.neural.training import NetworkLaplace
from credo.models.contract.inputs import generator, inference_name
from credo.numerics.array import Array, is_constant, merged_rows
from credo.numerics.form import Form
from credo.numerics.layers.activation import activation_named
from credo.numerics.layers.layered_network import LayeredNetwork
from credo.numerics.parallel.threads import threads_for
from credo.numerics.quotation import quote

__all__ = [
    "ENGINES",
    "Learned",
    "Standardized",
    "check_network_settings",
    "learned_network",
    "unit_rows",
]

ENGINES: dict[str, type | None] = {
    "laplace": NetworkLaplace,
    "last_layer": None,
    "ensemble": NetworkEnsemble,
    "variational": GaussianVariational,
    "nuts": NoUTurnSampling,
    "map": None,
}
"""The engine that each way of learning stands for."""


@dataclass(frozen=True, eq=False)
class Standardized:
    """Columns that vary, each less its center and divided by its scale.

    Attributes
    ----------
    used
        Places of the columns that vary.
    center, scale
        Mean and standard deviation of each of these over the training rows.
    """

    used: Annotated[NDArray[np.intp], Form("d", 0)]
    center: Annotated[Array, Form("d")]
    scale: Annotated[Array, Form("d", 0.0)]

    @classmethod
    def of(cls, x: Array, weight: Array) -> Self:
        """Return the units of rows (n, m), each counted with its weight."""
        share = weight / weight.sum()
        # About the first row, so that numbers far from zero lose no digits.
        origin = x[0]
        center = share @ (x - origin)
        spread = np.sqrt(share @ (x - origin - center) ** 2)
        center = center + origin
        is_varying = ~is_constant(center, spread) & (np.ptp(x, axis=0) > 0) & (spread > 0)
        used = np.flatnonzero(is_varying)
        return cls(used, center[used], spread[used])

    def rows(self, x: Array) -> Array:
        """Return rows in these units, shape (n, d)."""
        return np.asarray((x[:, self.used] - self.center) / self.scale)


class Learned(NamedTuple):
    """What is believed of the parameters, and the whole answer of the engine."""

    posterior: NetworkMixture
    inference: Inference


def check_network_settings(hidden: Any, activation: Any, inference: Any) -> None:
    """Refuse settings of a network that cannot be."""
    hidden_sizes(hidden)
    unit, name = activation_named(activation), inference_name(inference, ENGINES)
    if not unit.has_slope and name in ("variational", "nuts"):
        raise ValueError(
            f"inference={name!r} must follow the slope of the units; found {activation!r} "
            "units, which have none. Use activation='sigmoid', or inference='laplace', which "
            "learns the weights of the outputs."
        )


def hidden_sizes(hidden: Any) -> tuple[int, ...]:
    """Return the number of units of each hidden layer; one number stands for one layer."""
    sizes = list(hidden) if isinstance(hidden, Sequence | np.ndarray) else [hidden]
    is_good = all(
        isinstance(n, Integral) and not isinstance(n, bool) and int(n) > 0 for n in sizes
    )
    if isinstance(hidden, str) or not is_good:
        raise ValueError(
            "hidden must hold the number of units of each hidden layer, each at least 1; found "
            f"{quote(hidden)}. Pass a tuple such as (50,), or () for no hidden layer."
        )
    return tuple(int(n) for n in sizes)


def unit_rows(x: Array, y: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return rows that differ, their outcomes (n, k), and the weight of all that are alike.

    They are rounded, and in an order set by their values, so that no answer depends on the
    order of rows, on copies in place of weights, or on units.
    """
    rows, total = merged_rows(np.column_stack([x, y]), weight)
    return np.ascontiguousarray(rows[:, : x.shape[1]]), rows[:, x.shape[1] :], total


def learned_network(
    x: Array,
    outcome: Outcome,
    hidden: Any,
    activation: str,
    inference: Any,
    random_state: Any,
) -> Learned:
    """Return what the rows say of a network, by the way of learning that is asked for."""
    sizes = (x.shape[1], *hidden_sizes(hidden), outcome.n_outputs)
    network = LayeredNetwork(sizes, activation)
    first = 0 if network.unit.has_slope else network.n_layers - 1
    problem = NetworkProblem(network, x, outcome, first)
    with threads_for(float(len(x)) * network.n_parameters**2):
        return _learned(problem, inference, generator(random_state))


def _learned(problem: NetworkProblem, inference: Any, rng: Generator) -> Learned:
    name = inference_name(inference, ENGINES)
    given = None if isinstance(inference, str) else inference
    if name == "ensemble":
        return Learned(*(given or NetworkEnsemble()).learn(problem, rng))
    engine = given if isinstance(given, NetworkLaplace) else NetworkLaplace()
    if name == "last_layer":
        engine = replace(engine, layers="last")
    found = run(engine, problem, rng)
    belief: NetworkBelief = found.posterior
    if name == "map":
        belief = replace(belief, precision=None)
    if name == "variational":
        belief, found = closest_gaussian(problem, belief, given or USUAL_CLIMB, rng)
    if name == "nuts":
        return Learned(*drawn_networks(problem, found, given or USUAL_DRAWS, rng))
    n_draws = getattr(engine, "n_draws", 0)
    parts = belief.points(rng, n_draws) if n_draws else (belief,)
    posterior = NetworkMixture(parts, np.full(len(parts), 1.0 / len(parts)))
    return Learned(posterior, replace(found, posterior=None, state=None))
