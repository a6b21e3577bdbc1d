"""Connected real variables of a hybrid network, integrated out by one QR per setting.

They are linear equations with unit noise, one set for each group of rows and setting.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.distributions.normal import LOG_ROOT_TWO_PI
from credo.graphs.node.linear_gaussian import GaussianNode
from credo.graphs.variable import Variable
from credo.inference.engine.findings import distinct_columns
from credo.inference.hybrid.row_factor import Codes, gathered, spread
from credo.numerics.array import Array

__all__ = [
    "IntegratedComponent",
    "RealComponent",
    "applied",
    "cleared",
    "joined_moments",
    "real_components",
    "reduced",
]


def cleared(
    matrix: Array, target: Array, columns: Sequence[int], seen: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return equations of each group in which what it knows has an equation of its own.

    Parameters
    ----------
    matrix, target
        Equations ``A z = t``, shapes (n_groups or 1, *sizes, m, n) and (..., k, m), where the
        ``k`` targets are weights of given numbers.
    columns
        Columns of ``A`` that only some groups know.
    seen
        Whether each group knows each of them, (n_groups, n_columns).
    """
    if not columns:
        return matrix, target
    *sizes, m, n = matrix.shape
    n_groups, n_given = seen.shape
    full = np.zeros((n_groups, *sizes[1:], m + n_given, n))
    full[..., :m, :] = matrix
    axes = (n_groups, *[1] * len(sizes[1:]))
    for j, column in enumerate(columns):
        full[..., :m, column] *= ~seen[:, j].reshape(*axes, 1)
        full[..., m + j, column] = seen[:, j].reshape(axes)
    wide = np.zeros((n_groups, *sizes[1:], target.shape[-2], m + n_given))
    wide[..., :m] = target
    return full, wide


def reduced(matrix: Array, target: Array) -> tuple[Array, Array, Array]:
    """Return ``t Q``, ``R^-1`` and ``-log |det R|`` of every matrix ``A = Q R``.

    Entries of ``t Q`` beyond the rank of ``A`` keep their length, not their direction.
    """
    n = matrix.shape[-1]
    if n == 0:
        return target, np.zeros((*matrix.shape[:-2], 0, 0)), np.zeros(matrix.shape[:-2])
    # Householder reflections lose small rows below large ones, but not the other way round.
    order = np.argsort(-np.abs(matrix).max(axis=-1), axis=-1, kind="stable")
    matrix = np.take_along_axis(matrix, order[..., None], axis=-2)
    target = np.take_along_axis(target, order[..., None, :], axis=-1)
    # The rotation of the target is all that is needed of it, up to a turn of what is left.
    both = np.concatenate([matrix, target.swapaxes(-1, -2)], axis=-1)
    triangle = np.asarray(np.linalg.qr(both, mode="r"))
    upper, rotated = triangle[..., :n, :n], triangle[..., n:].swapaxes(-1, -2)
    log_volume = -np.log(np.abs(np.diagonal(upper, axis1=-2, axis2=-1))).sum(axis=-1)
    return rotated, np.linalg.inv(upper), log_volume


def applied(columns: Array, weights: Array, group: NDArray[np.intp]) -> Array:
    """Return ``columns @ weights[group]`` for each row, shape (n_rows, *sizes, m)."""
    n_groups, *sizes, k, m = weights.shape
    flat = np.moveaxis(weights, -2, 1).reshape(n_groups, k, -1)
    result = np.empty((len(columns), flat.shape[-1]))
    for g, rows in enumerate(_rows_by_group(group, n_groups)):
        result[rows] = columns[rows] @ flat[g]
    return result.reshape(len(columns), *sizes, m)


def _rows_by_group(group: NDArray[np.intp], n_groups: int) -> list[NDArray[np.intp]]:
    ends = np.cumsum(np.bincount(group, minlength=n_groups))[:-1]
    return np.split(np.argsort(group, kind="stable"), ends)


@dataclass(frozen=True, eq=False)
class IntegratedComponent:
    """What is left of the real variables of a component: a table, and normals per setting.

    Attributes
    ----------
    hidden
        Names of the real variables that were integrated out, ``n`` of them.
    scope
        Hidden discrete variables that the parameters depend on.
    log_density
        Log density of the given values, shape (n_rows, *sizes of scope).
    image
        Means of the hidden variables, rotated: they are ``root image``; (n_rows, *sizes, n).
    root
        Matrices with ``root root'`` the covariance, shape (n_groups, *sizes, n, n).
    group
        Which of the roots belongs to each row, shape (n_rows,).
    given
        Values of variables that only some rows hide, NaN where hidden, each (n_rows,).
    """

    hidden: tuple[str, ...]
    scope: tuple[str, ...]
    log_density: Array
    image: Array
    root: Array
    group: NDArray[np.intp]
    given: Mapping[str, Array]

    def mean_of(self, name: str) -> Array:
        """Return the mean of one hidden variable, shape (n_rows, *sizes)."""
        row = self.root[..., self.hidden.index(name), :]
        # Rows of one group broadcast; gathering would copy the roots for each of them.
        own = row if len(row) == 1 else row[self.group]
        mean = np.asarray(np.einsum("r...j,r...j->r...", self.image, own))
        return _unless_given(mean, self.given.get(name))

    def covariance_of(self, name: str, other: str) -> Array:
        """Return the covariance of two hidden variables, shape (n_rows, *sizes)."""
        i, j = self.hidden.index(name), self.hidden.index(other)
        product = np.sum(self.root[..., i, :] * self.root[..., j, :], axis=-1)
        found = np.asarray(product[self.group])
        # A given variable is uncorrelated already; only its own variance is not yet zero.
        value = self.given[name] * 0.0 if name == other and name in self.given else None
        return _unless_given(found, value)

    def sample(
        self, rows: NDArray[np.intp], setting: tuple[NDArray[np.intp], ...], rng: Generator
    ) -> dict[str, Array]:
        """Return draws of the hidden variables, one per entry of ``rows`` and setting."""
        image, root = self.image[(rows, *setting)], self.root[(self.group[rows], *setting)]
        standard = image + rng.standard_normal(image.shape)
        draws = np.einsum("nij,nj->ni", root, standard)
        known = {name: values[rows] for name, values in self.given.items()}
        return {
            name: _unless_given(draws[:, i], known.get(name))
            for i, name in enumerate(self.hidden)
        }


@dataclass(frozen=True, eq=False)
class RealComponent:
    """Equations ``(child - intercept - coefficients . parents) / scale ~ N(0, 1)``.

    Attributes
    ----------
    nodes
        One equation each.
    hidden
        Real variables that some row does not know; every one is the child of one of the nodes.
    discrete
        Discrete parents of any node.
    """

    nodes: tuple[GaussianNode, ...]
    hidden: tuple[str, ...]
    discrete: tuple[Variable, ...]

    def scope(self, codes: Codes) -> tuple[str, ...]:
        """Return the discrete variables whose states are not given."""
        return tuple(v.name for v in self.discrete if v.name not in codes)

    def n_settings(self, codes: Container[str]) -> int:
        """Return the number of joint states of the discrete variables that are not given."""
        return math.prod(v.n_states for v in self.discrete if v.name not in codes)

    def integrated(
        self, n_rows: int, codes: Codes, values: Mapping[str, Array]
    ) -> IntegratedComponent:
        """Return the density of the given values, and the hidden ones given them.

        With standardized residuals ``A z - t`` and ``A = Q R``, the integral of
        ``exp(-|A z - t|^2 / 2)`` over the hidden ``z`` leaves the entries of ``Q' t`` beyond
        the rank of ``A``; ``z`` has mean ``R^-1 Q' t`` and root ``R^-1``. Nothing is squared
        before it is small, so offsets and units cost no digits.

        In rows that know a variable which others hide, its column of ``A`` is cleared and an
        equation added that is orthogonal to all others; so rows with different gaps are one
        batch.
        """
        known = self._known(values)
        given = {name: values[name] for name in self.hidden if name in values}
        group, few, seen = _groups(n_rows, codes, self.discrete, [*given.values()])
        matrix, target, log_scale = self._equations(few, known)
        matrix, target = cleared(matrix, target, [self.hidden.index(k) for k in given], seen)
        rotated, root, log_volume = reduced(matrix, target)
        columns = np.column_stack([np.ones(n_rows), *(values[name] for name in known)])
        image = applied(np.where(np.isnan(columns), 0.0, columns), rotated, group)
        n = len(self.hidden)
        rest = image[..., n:]
        with np.errstate(over="ignore"):
            distance = np.einsum("...i,...i->...", rest, rest)
        n_free = len(self.nodes) - n + seen.sum(axis=1)
        free = n_free.reshape(-1, *[1] * (log_scale.ndim - 1))
        constant = (log_scale + log_volume - free * LOG_ROOT_TWO_PI)[group]
        density = constant - 0.5 * distance
        part, scope = np.ascontiguousarray(image[..., :n]), self.scope(codes)
        return IntegratedComponent(self.hidden, scope, density, part, root, group, given)

    def _known(self, values: Mapping[str, Array]) -> tuple[str, ...]:
        names = [n for node in self.nodes for n in node.real_names if n in values]
        return tuple(dict.fromkeys(names))

    def _equations(self, codes: Codes, known: tuple[str, ...]) -> tuple[Array, Array, Array]:
        """Return ``A`` (..., m, n), ``t`` by known column (..., 1 + k, m), and ``-sum log s``.

        Leading axes are the groups of rows and the settings of the hidden discrete variables.
        """
        scope = self.scope(codes)
        sizes = tuple(v.n_states for v in self.discrete if v.name in scope)
        n_groups = max([1, *(len(codes[v.name]) for v in self.discrete if v.name in codes)])
        shape = (n_groups, *sizes)
        matrix = np.zeros((*shape, len(self.nodes), len(self.hidden)))
        target = np.zeros((*shape, 1 + len(known), len(self.nodes)))
        log_scale = np.zeros(shape)
        for i, node in enumerate(self.nodes):
            intercept, coefficients, scale = _parameters(node, codes, scope)
            log_scale -= np.log(scale)
            target[..., 0, i] = intercept / scale
            terms = [(node.child.name, np.ones(()))]
            terms += [(p.name, -coefficients[..., j]) for j, p in enumerate(node.real_parents)]
            for name, weight in terms:
                if name in known:
                    target[..., 1 + known.index(name), i] = -weight / scale
                if name in self.hidden:
                    matrix[..., i, self.hidden.index(name)] = weight / scale
        return matrix, target, log_scale


def real_components(
    nodes: Sequence[GaussianNode], given: Container[str]
) -> list[RealComponent]:
    """Return the equations in groups that share no hidden real variable."""
    groups: list[tuple[list[GaussianNode], set[str]]] = []
    for node in nodes:
        hidden = {name for name in node.real_names if name not in given}
        joined = [group for group in groups if group[1] & hidden]
        groups = [group for group in groups if not group[1] & hidden]
        members = [member for group in joined for member in group[0]] + [node]
        groups.append((members, hidden.union(*(group[1] for group in joined))))
    return [_component(members, given) for members, _ in groups]


def joined_moments(
    names: Sequence[str],
    homes: Sequence[IntegratedComponent],
    scope: tuple[str, ...],
    shape: tuple[int, ...],
) -> tuple[Array, Array]:
    """Return mean and covariance of real variables of several components.

    Parameters
    ----------
    homes
        Component of each of ``names``; given the setting, components are independent.
    scope
        Discrete variables of all of them, whose axes follow the rows in ``shape``.
    """
    mean = np.zeros((*shape, len(names)))
    covariance = np.zeros((*shape, len(names), len(names)))
    for i, (name, part) in enumerate(zip(names, homes, strict=True)):
        mean[..., i] = spread(part.mean_of(name), part.scope, scope)
        for j, (other, home) in enumerate(zip(names, homes, strict=True)):
            if home is part:
                product = part.covariance_of(name, other)
                covariance[..., i, j] = spread(product, part.scope, scope)
    return mean, covariance


def _component(members: Sequence[GaussianNode], given: Container[str]) -> RealComponent:
    hidden = [node.child.name for node in members if node.child.name not in given]
    discrete = dict.fromkeys(v for node in members for v in node.discrete_parents)
    return RealComponent(tuple(members), tuple(hidden), tuple(discrete))


def _groups(
    n_rows: int, codes: Codes, discrete: Sequence[Variable], given: Sequence[Array]
) -> tuple[NDArray[np.intp], dict[str, NDArray[np.intp]], NDArray[np.bool_]]:
    """Return the group of each row, and what each group has in common.

    That is the state of every given discrete variable, (n_groups,), and which of the real
    variables that only some rows hide is known, (n_groups, n_given).
    """
    known = [v.name for v in discrete if v.name in codes]
    if not known and not given:
        return np.zeros(n_rows, dtype=np.intp), {}, np.zeros((1, 0), dtype=np.bool_)
    rows = [*(codes[name] for name in known), *(~np.isnan(column) for column in given)]
    distinct, group = distinct_columns(np.array(rows, dtype=np.intp))
    few = dict(zip(known, distinct, strict=False))
    return group, few, distinct[len(known) :].T.astype(np.bool_)


def _unless_given(found: Array, value: Array | None) -> Array:
    """Return what was found, or the value in rows that have one."""
    if value is None:
        return found
    column = value.reshape(-1, *[1] * (found.ndim - 1))
    return np.where(np.isnan(column), found, column)


def _parameters(
    node: GaussianNode, codes: Codes, scope: tuple[str, ...]
) -> tuple[Array, Array, Array]:
    """Return intercept, coefficients and scale for each group and setting of the scope."""
    own = [v.name for v in node.discrete_parents]
    intercept, left = gathered(node.intercept, own, codes)
    scale, _ = gathered(node.scale, own, codes)
    coefficients, _ = gathered(node.coefficients, own, codes, n_trailing=1)
    first, second = spread(intercept, left, scope), spread(scale, left, scope)
    return first, spread(coefficients, left, scope), second
