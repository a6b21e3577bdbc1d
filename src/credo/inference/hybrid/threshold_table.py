"""A threshold node as a table, once the real variables of its score are integrated out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from credo.graphs.node.threshold_node import ThresholdNode, log_shares
from credo.inference.discrete.findings import Findings
from credo.inference.hybrid.real_component import IntegratedComponent
from credo.inference.hybrid.row_factor import RowTable, gathered, spread
from credo.numerics.array import Array

__all__ = ["threshold_table"]

Homes = Mapping[str, IntegratedComponent]


def threshold_table(node: ThresholdNode, homes: Homes, findings: Findings[str]) -> RowTable:
    """Return the probability of the child's states given findings and settings.

    Given a setting the score is normal, so that the mean over it is a normal distribution
    function for a probit, and an integral over one variable for a logit. It is exact if no
    other threshold depends on the same hidden real variables.

    Parameters
    ----------
    homes
        Component of every hidden real parent, by name.
    """
    own = [v.name for v in node.discrete_parents]
    coefficients, left = gathered(node.coefficients, own, findings.codes, n_trailing=1)
    thresholds, _ = gathered(node.thresholds, own, findings.codes, n_trailing=1)
    scale, _ = gathered(node.scale, own, findings.codes)
    linked = [name for part in homes.values() for name in part.scope]
    scope = tuple(dict.fromkeys([*left, *linked]))
    unit = spread(scale, left, scope)
    mean, variance = _score(node, spread(coefficients, left, scope), homes, findings, scope)
    edges = (spread(thresholds, left, scope) - mean[..., None]) / unit[..., None]
    shares = log_shares(edges, np.sqrt(variance) / unit, node.link)
    return _placed(node, shares[..., np.argsort(node.order)], scope, findings)


def _score(
    node: ThresholdNode,
    coefficients: Array,
    homes: Homes,
    findings: Findings[str],
    scope: tuple[str, ...],
) -> tuple[Array, Array]:
    """Return mean and variance of the score for each row and setting of the scope."""
    mean = np.zeros((findings.n_rows, *[1] * len(scope)))
    variance = np.zeros_like(mean)
    weight = {p.name: coefficients[..., j] for j, p in enumerate(node.real_parents)}
    for name, slope in weight.items():
        if name not in homes:
            column = findings.values[name].reshape(-1, *[1] * len(scope))
            mean = mean + slope * column
            continue
        part = homes[name]
        mean = mean + slope * spread(part.mean_of(name), part.scope, scope)
        for other in [n for n, home in homes.items() if home is part]:
            product = spread(part.covariance_of(name, other), part.scope, scope)
            variance = variance + slope * weight[other] * product
    return mean, np.broadcast_to(variance, mean.shape)


def _placed(
    node: ThresholdNode, table: Array, scope: tuple[str, ...], findings: Findings[str]
) -> RowTable:
    """Return the table with its last axis, the child, where it belongs."""
    name = node.child.name
    if name in findings.codes:
        codes = findings.codes[name].reshape(-1, *[1] * (table.ndim - 1))
        return RowTable(scope, np.take_along_axis(table, codes, axis=-1)[..., 0])
    if name not in scope:
        return RowTable((*scope, name), table)
    # The child also chooses parameters below it: its own state is that of the setting.
    rest, axis = tuple(n for n in scope if n != name), 1 + scope.index(name)
    return RowTable((*rest, name), np.diagonal(table, axis1=axis, axis2=-1))
