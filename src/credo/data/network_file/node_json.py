"""Nodes of networks as JSON objects: one record of fields for each kind there is.

=============  ==========================================================================
``table``      ``probability`` (axes parents, child), and ``counts`` if it was learned
``noisy``      ``effects`` (a table per parent), ``leak``, ``is_descending``
``function``   ``running`` (states of running values), ``links`` (tables of positions)
``gaussian``   ``intercept``, ``coefficients``, ``scale``, by setting of discrete parents
``threshold``  ``thresholds``, ``coefficients``, ``scale``, ``link``, ``order``
``fixed``      ``distribution``, of a node without parents: class and parameters
=============  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from credo.data.error import ModelFileError, NetworkFileError
from credo.data.model_file.codec import Decoder, Encoder
from credo.data.model_file.registry import registered_classes
from credo.data.network_file.json_field import array_of, field_of, state_labels
from credo.distributions.distribution import Distribution
from credo.graphs.node.conditional import Conditional
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.node.deterministic import FunctionOfParents
from credo.graphs.node.distribution_node import BoundDistribution, DistributionNode
from credo.graphs.node.gaussian_node import GaussianNode
from credo.graphs.node.noisy import LargestEffect
from credo.graphs.node.parent_state import real_parents, setting_shape
from credo.graphs.node.threshold import Logit, Probit
from credo.graphs.node.threshold_node import ThresholdNode
from credo.graphs.variable import Variable, nearest
from credo.numerics.array import Array

__all__ = [
    "distribution_of_document",
    "document_of_distribution",
    "document_of_node",
    "node_of_document",
    "require_states",
]


def document_of_distribution(distribution: Distribution) -> dict[str, Any]:
    """Return a distribution of credo as a tree of classes and fields, and its arrays as lists.

    Raises
    ------
    NetworkFileError
        If the distribution, or a part of it, is not one of credo.

    Examples
    --------
    >>> from credo.distributions.normal import Normal
    >>> document_of_distribution(Normal(0.5, 2.0))["tree"]["class"]
    'Normal'
    """
    encoder = Encoder()
    try:
        tree = encoder.encode(distribution, type(distribution).__name__)
    except ModelFileError as error:
        raise NetworkFileError(str(error)) from error
    return {"tree": tree, "arrays": [array.tolist() for array in encoder.arrays]}


def distribution_of_document(record: Mapping[str, Any]) -> Distribution:
    """Return the distribution that a document describes.

    Raises
    ------
    NetworkFileError
        If it is none of credo's distributions.
    """
    tree = field_of(record, "tree", dict)
    module = registered_classes().get(str(tree.get("class")), "")
    try:
        if not module.startswith("credo.distributions."):
            raise ModelFileError(f"must be of credo.distributions; found {tree.get('class')!r}")
        arrays = [np.asarray(item) for item in field_of(record, "arrays", list)]
        made = Decoder(arrays).decode(tree)
    except (ModelFileError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NetworkFileError(
            "a distribution must be written as credo writes it; found that it is not "
            f"({error}). Check that credo wrote the file."
        ) from error
    if not isinstance(made, Distribution):
        raise NetworkFileError(
            f"a distribution must be one of credo's; found a {type(made).__name__}. Check that "
            "credo wrote the file."
        )
    return made


Parents = Sequence[Variable]
_LINKS = (Probit.link, Logit.link)
_OF_STATES = ("table", "noisy", "function")


def document_of_node(node: Conditional) -> dict[str, Any]:
    """Return the kind and the fields of a node, without its variables.

    Raises
    ------
    NetworkFileError
        If the node is of a kind that a file cannot hold, such as a function of Python.
    """
    if isinstance(node, ConditionalTable):
        counts = {} if node.counts is None else {"counts": node.counts.tolist()}
        return {"kind": "table", "probability": node.probability.tolist(), **counts}
    if isinstance(node, LargestEffect):
        return _record("noisy", node, "effects", "leak", "is_descending")
    if isinstance(node, FunctionOfParents):
        return _record("function", node, "running", "links")
    if isinstance(node, GaussianNode):
        return _record("gaussian", node, "intercept", "coefficients", "scale")
    if isinstance(node, ThresholdNode):
        fields = ("thresholds", "coefficients", "scale", "link", "order")
        return _record("threshold", node, *fields)
    if isinstance(node, BoundDistribution) and isinstance(node.distribution, Distribution):
        return {"kind": "fixed", "distribution": document_of_distribution(node.distribution)}
    found = "a function of its parents in Python"
    if not isinstance(node, BoundDistribution):
        found = f"a {type(node).__name__}"
    raise NetworkFileError(
        f"nodes must be tables, noisy, deterministic, Gaussian, thresholds or fixed "
        f"distributions to be written; found that {node.child.name!r} is {found}. Replace it "
        "by one of these, or keep the program that builds the network."
    )


def node_of_document(record: Mapping[str, Any], child: Variable, parents: Parents) -> Any:
    """Return the node that a record describes.

    Raises
    ------
    NetworkFileError
        If the kind is unknown, or a field is absent or of another shape than the parents say.
    """
    kind = field_of(record, "kind", str)
    make = _KINDS.get(kind)
    if make is None:
        raise NetworkFileError(
            f"kind of node {child.name!r} must be one of {list(_KINDS)}; found "
            f"{kind!r}.{nearest(kind, _KINDS)}"
        )
    if kind in _OF_STATES:
        require_states((*parents, child), f"a node of kind {kind!r}")
    return make(record, child, tuple(parents))


def require_states(variables: Sequence[Variable], what: str) -> None:
    """Raise a `NetworkFileError` if a variable is real-valued where states are needed."""
    real = [variable.name for variable in variables if not variable.is_discrete]
    if real:
        raise NetworkFileError(
            f"{what} must be about variables with states; found {real[0]!r}, which has none. "
            "Add its states."
        )


def _record(kind: str, node: object, *names: str) -> dict[str, Any]:
    return {"kind": kind} | {name: _plain(getattr(node, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _table(record: Mapping[str, Any], child: Variable, parents: Parents) -> ConditionalTable:
    shape = tuple(v.n_states for v in (*parents, child))
    what = f"of {child.name!r}"
    table = array_of(record.get("probability"), shape, f"probability {what}")
    counts = record.get("counts")
    kept = None if counts is None else array_of(counts, shape, f"counts {what}")
    return ConditionalTable(child, parents, table, kept)


def _noisy(record: Mapping[str, Any], child: Variable, parents: Parents) -> LargestEffect:
    n = child.n_states
    written = _each(record, "effects", len(parents), child)
    effects = tuple(
        array_of(effect, (parent.n_states, n), f"effects of {parent.name!r}")
        for effect, parent in zip(written, parents, strict=True)
    )
    leak = array_of(record.get("leak"), (n,), f"leak of {child.name!r}")
    is_descending = field_of(record, "is_descending", bool)
    return LargestEffect(child, tuple(parents), effects, leak, is_descending)


def _function(
    record: Mapping[str, Any], child: Variable, parents: Parents
) -> FunctionOfParents:
    written = field_of(record, "running", list)
    running = tuple(state_labels(states, child.name) for states in written)
    written = _each(record, "links", len(running) + 1, child)
    n_first = len(parents) - len(running)
    if n_first < 0:
        raise NetworkFileError(
            f"running of {child.name!r} must have fewer parts than its {len(parents)} parents; "
            f"found {len(running)}. Check that credo wrote the file."
        )
    states = [len(labels) for labels in running]
    before = [tuple(p.n_states for p in parents[:n_first])]
    before += [(n, p.n_states) for n, p in zip(states, parents[n_first:], strict=True)]
    links = []
    for link, shape, n in zip(written, before, [*states, child.n_states], strict=True):
        positions = array_of(link, shape, f"links of {child.name!r}")
        is_place = (positions >= 0) & (positions < n) & (positions == np.floor(positions))
        if not is_place.all():
            raise NetworkFileError(
                f"links of {child.name!r} must be positions below {n}; found "
                f"{positions[~is_place][0]:g}. Check that credo wrote the file."
            )
        links.append(positions.astype(np.intp))
    return FunctionOfParents(child, tuple(parents), running, tuple(links))


def _gaussian(record: Mapping[str, Any], child: Variable, parents: Parents) -> GaussianNode:
    shape, what = setting_shape(parents), f"of {child.name!r}"
    if child.is_discrete:
        raise NetworkFileError(
            f"a node of kind 'gaussian' must be real-valued; found states {what}. Remove them."
        )
    wide = (*shape, len(real_parents(parents)))
    return GaussianNode(
        child,
        tuple(parents),
        array_of(record.get("intercept"), shape, f"intercept {what}"),
        array_of(record.get("coefficients"), wide, f"coefficients {what}"),
        _positive(array_of(record.get("scale"), shape, f"scale {what}"), child),
    )


def _threshold(record: Mapping[str, Any], child: Variable, parents: Parents) -> ThresholdNode:
    require_states([child], "a node of kind 'threshold'")
    shape, what, n = setting_shape(parents), f"of {child.name!r}", child.n_states
    wide = (*shape, len(real_parents(parents)))
    order = array_of(record.get("order"), (n,), f"order {what}")
    link = field_of(record, "link", str)
    if link not in _LINKS or sorted(order) != list(range(n)):
        raise NetworkFileError(
            f"link {what} must be one of {list(_LINKS)} and its order list every state once; "
            f"found {link!r} and {order.tolist()}. Check that credo wrote the file."
        )
    return ThresholdNode(
        child,
        tuple(parents),
        array_of(record.get("thresholds"), (*shape, n - 1), f"thresholds {what}"),
        array_of(record.get("coefficients"), wide, f"coefficients {what}"),
        _positive(array_of(record.get("scale"), shape, f"scale {what}"), child),
        link,
        tuple(int(i) for i in order),
    )


def _fixed(record: Mapping[str, Any], child: Variable, parents: Parents) -> BoundDistribution:
    distribution = distribution_of_document(field_of(record, "distribution", dict))
    return DistributionNode(distribution, child.states).bind(child, parents)


def _positive(scale: Array, child: Variable) -> Array:
    if not np.all(scale > 0):
        raise NetworkFileError(
            f"scale of {child.name!r} must be positive; found {scale.min()}. Correct it."
        )
    return scale


def _each(record: Mapping[str, Any], key: str, n: int, child: Variable) -> list[Any]:
    written: list[Any] = field_of(record, key, list)
    if len(written) != n:
        raise NetworkFileError(
            f"{key} of {child.name!r} must have {n} parts; found {len(written)}. Check that "
            "credo wrote the file."
        )
    return written


_KINDS: Mapping[str, Callable[[Mapping[str, Any], Variable, Parents], Any]] = {
    "table": _table,
    "noisy": _noisy,
    "function": _function,
    "gaussian": _gaussian,
    "threshold": _threshold,
    "fixed": _fixed,
}
