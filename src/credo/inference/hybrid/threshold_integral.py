"""Posteriors given on which side of one probit threshold a noisy score fell.

The score with its noise, ``z = coefficients . parents + scale * noise``, is itself a normal
node. Given the other findings it is a mixture of normals, the finding cuts that off at the
threshold, and given its value all is conditionally Gaussian: one integral over ``z`` is left,
which a quadrature over panels no wider than the noise does to many digits, however far out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

from credo.distributions.quadrature import panels
from credo.graphs.node.gaussian_node import GaussianNode
from credo.graphs.node.threshold_node import ThresholdNode
from credo.graphs.variable import Variable
from credo.inference.discrete.findings import Findings
from credo.inference.engine.error import NoExactAnswer
from credo.inference.hybrid.real_posterior import RealPosterior
from credo.numerics.array import Array

__all__ = ["is_integrable", "posterior_beyond", "score_node"]

Posteriors = dict[str, Array | RealPosterior]
Solve = Callable[[Findings[str], Sequence[str]], tuple[Posteriors, Array]]

_ORDER = 6
_NEGLIGIBLE = 1e-18
_FEWEST_PANELS, _MOST_PANELS = 40, 1024
# What is left out at the ends has a share of e^-38 of what is left in.
_DEPTH = 38.0


def is_integrable(node: object, findings: Findings[str]) -> bool:
    """Return whether all rows say that a probit score was below, or above, all thresholds."""
    if not isinstance(node, ThresholdNode) or node.link != "probit" or node.discrete_parents:
        return False
    codes = findings.codes.get(node.child.name, np.array([-1]))
    return bool(np.isin(codes, [node.order[0], node.order[-1]]).all())


def score_node(node: ThresholdNode) -> GaussianNode:
    """Return the score of a threshold with its noise, as a normal node."""
    score = Variable(f"score of {node.child.name}")
    return GaussianNode(score, node.parents, np.zeros(()), node.coefficients, node.scale)


def posterior_beyond(
    node: ThresholdNode, findings: Findings[str], targets: Sequence[str], solve: Solve
) -> tuple[Posteriors, Array]:
    """Return the posterior of each target and the log density of one row of findings.

    Parameters
    ----------
    solve
        Gives both for a network in which `score_node` stands in the place of ``node``.
    """
    score, rest = f"score of {node.child.name}", findings.without([node.child.name])
    found, log_prob = solve(rest, [score])
    prior = found[score]
    if not isinstance(prior, RealPosterior) or np.isneginf(log_prob[0]):
        return solve(rest, targets)
    is_low = findings.codes[node.child.name][0] == node.order[0]
    nodes, share, log_mass = _cut(prior, node, bool(is_low))
    rows = rest.take(np.zeros(len(nodes), dtype=np.intp))
    known = Findings(rows.n_rows, rows.codes, rows.likelihood, {**rows.values, score: nodes})
    parts, _ = solve(known, targets)
    mixed = {name: _mixed(part, share) for name, part in parts.items()}
    return mixed, log_prob + log_mass


def _cut(prior: RealPosterior, node: ThresholdNode, is_low: bool) -> tuple[Array, Array, float]:
    """Return nodes and shares for means over a cut mixture, and the log of what is left.

    What lies above the last threshold is mirrored, so that every cut keeps the lower tail.

    Raises
    ------
    NoExactAnswer
        If the noise is so small beside the score that its density would need too many nodes.
    """
    sign, threshold = (1.0, node.thresholds[0]) if is_low else (-1.0, -node.thresholds[-1])
    used = prior.weight[0] > 0
    mean, sd = sign * prior.mean[0, used], np.sqrt(prior.variance[0, used])
    edge = (threshold - mean) / sd
    log_left = special.log_ndtr(edge)
    log_share = np.log(prior.weight[0, used]) + log_left
    log_mass = float(special.logsumexp(log_share))
    low = special.ndtri_exp(log_left - _DEPTH)
    high = np.minimum(edge, np.sqrt(2.0 * _DEPTH))
    # Panels of two standard deviations of the noise leave no gaps in the mixture of normals.
    n_panels = int(np.max((high - low) * sd) / (2.0 * float(node.scale))) + _FEWEST_PANELS
    if n_panels > _MOST_PANELS:
        raise NoExactAnswer([node.child.name])
    standard, weights = panels(np.linspace(low, high, n_panels + 1), _ORDER)
    log_normal = -0.5 * standard**2 - 0.5 * np.log(2.0 * np.pi)
    share = np.exp(log_share - log_mass - log_left + log_normal) * weights
    kept = share > _NEGLIGIBLE
    nodes = sign * (mean + sd * standard)
    return nodes[kept], share[kept] / share[kept].sum(), log_mass


def _mixed(part: Array | RealPosterior, share: Array) -> Array | RealPosterior:
    """Return the mixture of posteriors in all rows, as one row."""
    if not isinstance(part, RealPosterior):
        return (share @ part)[None]
    weight = share[:, None] * part.weight
    columns = (np.broadcast_to(c, weight.shape) for c in (part.mean, part.variance))
    return RealPosterior(weight.reshape(1, -1), *(c.reshape(1, -1) for c in columns))
