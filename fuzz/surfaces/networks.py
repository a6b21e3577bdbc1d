"""Small networks with findings of every kind, against sums over the joint distribution."""

import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from credo.inference.engine.error import ImpossibleFindings
from fuzz.outcome import Fault, Outcome, Verdict, judged
from fuzz.small_network import SmallNetwork, small_network
from fuzz.worker import Limits, Surface

__all__ = ["SURFACE"]

TOLERANCE = 1e-9


def prepare() -> None:
    """Ask some networks, so that what answers is compiled."""
    for seed in range(30):
        run_case(None, Random(seed), Path())


def run_case(_: None, random: Random, folder: Path) -> Verdict:
    """Ask a network and compare every answer with brute force."""
    small = small_network(random, has_odd_names=random.random() < 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judged("query", lambda: _compared(random, small), ())


def _compared(random: Random, small: SmallNetwork) -> tuple[str, ...]:
    net, names, joint = small.network(), list(small.states), small.log_joint()
    given: dict[str, Any] = {}
    for name in random.sample(names, random.randint(0, len(names) - 1)):
        given[name], likelihood = _finding(random, small.states[name])
        shape = [1] * len(names)
        shape[names.index(name)] = -1
        with np.errstate(divide="ignore"):
            joint = joint + np.log(np.reshape(likelihood, shape))
    asked = random.choice([name for name in names if name not in given])
    total = float(logsumexp(joint))
    try:
        answer = net.query(asked, given=given).to_numpy()
    except ImpossibleFindings:
        if total > -np.inf:
            said = f"{given} called impossible, but has log probability {total}"
            raise Fault(Outcome.WRONG, said) from None
        return ("impossible",)
    log_prob = net.log_prob(given)
    axes = tuple(i for i, name in enumerate(names) if name != asked)
    expected = np.exp(logsumexp(joint, axis=axes) - total)
    _require_close(answer, expected, f"query of {asked!r} given {given}")
    _require_close(np.array(log_prob), np.array(total), f"log_prob of {given}")
    best = net.most_probable(given=given).log_prob
    _require_close(np.array(best), joint.max(), f"most_probable given {given}")
    return ()


def _finding(random: Random, states: tuple[str, ...]) -> tuple[Any, list[float]]:
    kind = random.randrange(3)
    if kind == 0:
        state = random.choice(states)
        return state, [float(other == state) for other in states]
    if kind == 1:
        chosen = set(random.sample(states, random.randint(1, len(states))))
        return chosen, [float(other in chosen) for other in states]
    likelihood = [random.choice((0.0, 1.0, random.random(), 1e-12)) for _ in states]
    likelihood[0] = likelihood[0] or 0.5
    return dict(zip(states, likelihood, strict=True)), likelihood


def _require_close(
    found: NDArray[np.float64], expected: NDArray[np.float64], what: str
) -> None:
    if not np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE):
        raise Fault(Outcome.WRONG, f"{what} is {found}, by brute force {expected}")


SURFACE = Surface("networks", prepare, run_case, Limits(seconds=20.0, batch=200))
