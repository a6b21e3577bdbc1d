"""Several networks from different first weights, each with its Gaussian, as one belief."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator
from scipy import special

from credo.inference.engine.engine import Inference, run
from credo.inference.engine.stacking import stacking_weights
from credo.inference.neural.belief import NetworkBelief, NetworkMixture
from credo.inference.neural.problem import NetworkProblem
from credo.inference.neural.training import NetworkLaplace
from credo.numerics.array import Array
from credo.numerics.quotation import quote

__all__ = ["NetworkEnsemble"]

WEIGHTINGS = ("equal", "evidence", "stacking")
HELD_OUT = 5
"""One row of so many is held out to stack by."""


@dataclass(frozen=True)
class NetworkEnsemble:
    """Train networks from several first weights, and mix what they say.

    Attributes
    ----------
    n_members
        Number of networks.
    weighting
        "equal"; "evidence" for shares in proportion to the evidence of each mode; "stacking"
        for those by which networks trained without a fifth of the rows predict these best.
    member
        How each is trained.
    """

    n_members: int = 5
    weighting: str = "equal"
    member: NetworkLaplace = field(default_factory=NetworkLaplace)

    def __post_init__(self) -> None:
        if self.weighting not in WEIGHTINGS or self.n_members < 1:
            raise ValueError(
                f"weighting must be one of {WEIGHTINGS}, of at least one member; found "
                f"{quote(self.weighting)} and {quote(self.n_members)}. Choose from these."
            )

    def learn(
        self, problem: NetworkProblem, rng: Generator
    ) -> tuple[NetworkMixture, Inference]:
        """Return the mixture of the members, and the answer of the best."""
        streams = rng.spawn(self.n_members)
        found = [run(self.member, problem, stream) for stream in streams]
        evidence = np.array([one.log_evidence for one in found])
        best = found[int(evidence.argmax())]
        shares = np.full(self.n_members, 1.0 / self.n_members)
        if self.weighting == "evidence":
            shares = special.softmax(evidence)
        elif self.weighting == "stacking":
            shares = self._stacked(problem, rng)
        # Modes found from equal chances count alike in the evidence of all.
        total = float(special.logsumexp(evidence) - np.log(self.n_members))
        posterior = NetworkMixture(tuple(one.posterior for one in found), shares)
        return posterior, replace(best, posterior=None, state=None, log_evidence=total)

    def _stacked(self, problem: NetworkProblem, rng: Generator) -> Array:
        order = rng.permutation(len(problem.x))
        n_out = max(1, len(order) // HELD_OUT)
        out, kept = np.sort(order[:n_out]), np.sort(order[n_out:])
        part = replace(problem, x=problem.x[kept], outcome=problem.outcome.taken(kept))
        beliefs: list[NetworkBelief] = [
            run(self.member, part, stream).posterior for stream in rng.spawn(self.n_members)
        ]
        held = problem.outcome.taken(out)
        scores = [
            held.log_prob(*belief.moments(problem.x[out]), belief.settings.log_noise)
            for belief in beliefs
        ]
        return np.asarray(stacking_weights(np.stack(scores), weight=held.weight))
