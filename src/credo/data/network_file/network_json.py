"""Credo's own format of networks: JSON that keeps types, counts and every kind of node.

A document has ``format``, ``version``, ``kind``, ``variables`` (name and states, null if
real-valued) and either ``nodes`` or ``factors``. States are JSON truth values, whole numbers,
numbers with a point, or text, and come back as such.

A node is a frozen dataclass; its fields other than ``child`` and ``parents`` are written as
lists, numbers, truth values and text, a distribution as a tree of classes and fields. Which
classes there are follows from the stub of `credo.graphs`, and ``kind`` in the body of a class
is its word in files. What a field must be is read off its type; the rest the class checks.

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

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType, NoneType
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from credo.data.error import ModelFileError, NetworkFileError
from credo.data.model_file.codec import Decoder, Encoder
from credo.data.model_file.registry import registered_classes
from credo.data.model_file.type_check import fits
from credo.data.network_file.network_content import text_of
from credo.distributions.distribution import Distribution
from credo.exports import stub_lines
from credo.graphs.factor import Factor
from credo.graphs.node.conditional import Conditional
from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.factor_graph import FactorGraph
from credo.models.network.markov_random_field import MarkovRandomField
from credo.numerics.array import Array

__all__ = [
    "VERSION",
    "array_of",
    "distribution_of_document",
    "document_of_distribution",
    "document_of_node",
    "field_of",
    "json_text",
    "node_classes",
    "node_of_document",
    "read",
    "read_json",
    "require_states",
    "state_labels",
    "write",
]

VERSION = 1

_FORMAT = "credo network"
_DIRECTED = "bayesian network"
_FIELD, _FACTOR_GRAPH = "markov random field", "factor graph"


def read(content: bytes) -> BayesianNetwork | MarkovRandomField:
    """Return the network in a file."""
    return read_json(text_of(content))


def write(net: BayesianNetwork | MarkovRandomField) -> str:
    """Return the text of a file."""
    return json_text(net)


def json_text(net: BayesianNetwork | MarkovRandomField) -> str:
    """Return the document, one variable, node or factor per line.

    Raises
    ------
    NetworkFileError
        If a state is of a type that JSON does not have, or a node is a function of Python.
    """
    head: dict[str, Any] = {"format": _FORMAT, "version": VERSION}
    variables = [
        {"name": name, "states": _state_list(variable)}
        for name, variable in net.variables.items()
    ]
    if isinstance(net, BayesianNetwork):
        head["kind"] = _DIRECTED
        rest = {"variables": variables, "nodes": _nodes(net)}
    elif isinstance(net, FactorGraph):
        head["kind"] = _FACTOR_GRAPH
        named = [{"name": n, **_factor(f)} for n, f in net.named_factors.items()]
        rest = {"variables": variables, "factors": named}
    else:
        head["kind"] = _FIELD
        rest = {"variables": variables, "factors": [_factor(f) for f in net.factors]}
    parts = [_line(head)[1:-1], *(f"{_line(key)}: {_lines(rest[key])}" for key in rest)]
    return "{" + ",\n".join(parts) + "}\n"


def read_json(text: str) -> BayesianNetwork | MarkovRandomField:
    """Return the network that a document describes.

    Raises
    ------
    NetworkFileError
        If the text is cut, is not a network of credo, or is of another version.
    """
    document = _document(text)
    variables, kind = _variables(document), document.get("kind")
    if kind == _DIRECTED:
        return _network(field_of(document, "nodes", list), variables)
    if kind not in (_FIELD, _FACTOR_GRAPH):
        raise NetworkFileError(
            f"kind must be {_DIRECTED!r}, {_FIELD!r} or {_FACTOR_GRAPH!r}; found {kind!r}. "
            "Read it with the version of credo that wrote it."
        )
    parts = field_of(document, "factors", list)
    factors = [_factor_of(part, variables) for part in parts]
    known = tuple(variables.values())
    if kind == _FIELD:
        return MarkovRandomField(factors, known)
    names = [field_of(part, "name", str) for part in parts]
    return FactorGraph(dict(zip(names, factors, strict=True)), known)


def _network(nodes: list[Any], variables: dict[str, Variable]) -> BayesianNetwork:
    parents, cpts = {}, {}
    for node in nodes:
        child = _known(field_of(node, "child", str), variables)
        if child.name in parents:
            raise NetworkFileError(
                f"nodes must be there once; found {child.name!r} twice. Remove one of them."
            )
        scope = [_known(name, variables) for name in field_of(node, "parents", list)]
        parents[child.name] = tuple(parent.name for parent in scope)
        if "kind" in node:
            cpts[child.name] = node_of_document(node, child, scope)
    absent = [name for name in variables if name not in parents]
    if absent:
        raise NetworkFileError(
            f"every variable must have a node; found none for {absent[0]!r}. Add it."
        )
    states = {n: v.labels for n, v in variables.items() if v.is_discrete}
    structure = {name: parents[name] for name in variables}
    return BayesianNetwork(structure, cpts or None, states)


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise NetworkFileError(
            f"line {error.lineno}: the file must be whole JSON; found that it is not "
            f"({error.msg}). If the file was cut, copy it again."
        ) from error
    except RecursionError as error:
        raise NetworkFileError(
            "the file must hold lists as deep as its tables; found lists without end. Check "
            "that credo wrote the file."
        ) from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise NetworkFileError(
            f'the file must be a JSON object with "format": "{_FORMAT}"; found none. Save the '
            "network with credo, or read it with the program that wrote it."
        )
    version = document.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise NetworkFileError(
            f"version must be {VERSION}, which this credo reads; found "
            f"{version!r}. Update credo."
        )
    return document


def _no_constant(word: str) -> NoReturn:
    raise NetworkFileError(f"numbers must be finite; found {word}. Correct that entry.")


def _variables(document: dict[str, Any]) -> dict[str, Variable]:
    variables: dict[str, Variable] = {}
    for part in field_of(document, "variables", list):
        name = field_of(part, "name", str)
        if name in variables:
            raise NetworkFileError(
                f"a variable must be declared once; found {name!r} again. Rename one of them."
            )
        states = part.get("states")
        if states is None:
            variables[name] = Variable(name)
        else:
            variables[name] = Variable(name, state_labels(field_of(part, "states", list), name))
    if not variables:
        raise NetworkFileError(
            "the file must declare variables; found none. Check that it holds a network."
        )
    return variables


def _known(name: Any, variables: dict[str, Variable]) -> Variable:
    if not isinstance(name, str) or name not in variables:
        raise UnknownVariable(
            f"a node must be about declared variables; found {name!r}."
            f"{nearest(name, variables)}"
        )
    return variables[name]


def _nodes(net: BayesianNetwork) -> list[dict[str, Any]]:
    return [
        {"child": name, "parents": list(net.graph.parents(name))}
        | (document_of_node(net.conditionals[name]) if net.conditionals else {})
        for name in net.variables
    ]


def _factor(factor: Factor) -> dict[str, Any]:
    return {
        "variables": list(factor.names),
        "values": factor.values.tolist(),
        "log_scale": float(factor.log_scale),
    }


def _factor_of(part: Any, variables: dict[str, Variable]) -> Factor:
    scope = [_known(name, variables) for name in field_of(part, "variables", list)]
    require_states(scope, "a factor")
    shape = tuple(variable.n_states for variable in scope)
    values = array_of(
        part.get("values"), shape, f"values of the factor over {part['variables']}"
    )
    return Factor(scope, values, float(field_of(part, "log_scale", float)))


def _state_list(variable: Variable) -> list[Any] | None:
    if not variable.is_discrete:
        return None
    states = [s.item() if isinstance(s, np.generic) else s for s in variable.labels]
    for state in states:
        is_finite = not isinstance(state, float) or math.isfinite(state)
        if not isinstance(state, bool | int | float | str | None) or not is_finite:
            raise NetworkFileError(
                f"states must be text, truth values or finite numbers to be written; found "
                f"{state!r} of {variable.name!r}. Use one of these as label."
            )
    return states


def _lines(parts: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(_indented(parts)) + "\n]" if parts else "[]"


def _indented(parts: Iterable[Any]) -> Iterable[str]:
    return (f"  {_line(part)}" for part in parts)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


PLACES = ("child", "parents")
NODES = "credo.graphs.node."


@cache
def node_classes() -> Mapping[str, type]:
    """Return the classes of nodes that a file may hold, by their kind.

    They are defined in the modules of nodes that the stub of `credo.graphs` names.

    Examples
    --------
    >>> node_classes()["gaussian"].__name__
    'GaussianNode'
    """
    modules = {module for module, _ in stub_lines("credo.graphs").values()}
    named = [m for m in sorted(modules) if m.startswith(NODES)]
    found = {
        kind_of(cls): cls
        for module in map(import_module, named)
        for cls in vars(module).values()
        if isinstance(cls, type) and cls.__module__ == module.__name__ and _is_node(cls)
    }
    return MappingProxyType(found)


def kind_of(cls: type) -> str:
    """Return the word for a class of nodes in files: what it says, or its name."""
    return str(getattr(cls, "kind", cls.__name__))


def document_of_node(node: Conditional) -> dict[str, Any]:
    """Return the kind and the fields of a node, without its variables.

    Raises
    ------
    NetworkFileError
        If the node is of a kind that a file cannot hold, such as a function of Python.
    """
    cls = type(node)
    if node_classes().get(kind_of(cls)) is not cls:
        raise _unwritable(node, f"a {cls.__name__}")
    values = {f.name: getattr(node, f.name) for f in _fields(cls)}
    written = {n: _plain(value, node) for n, value in values.items() if value is not None}
    return {"kind": kind_of(cls), **written}


def node_of_document(
    record: Mapping[str, Any], child: Variable, parents: Sequence[Variable]
) -> Any:
    """Return the node that a record describes.

    Raises
    ------
    NetworkFileError
        If the kind is unknown, or a field is absent or of another type.
    ValueError
        If the fields do not fit the variables.
    """
    kind, known = field_of(record, "kind", str), node_classes()
    if kind not in known:
        raise NetworkFileError(
            f"kind of node {child.name!r} must be one of {list(known)}; found "
            f"{kind!r}.{nearest(kind, known)}"
        )
    hints = get_type_hints(known[kind])
    parts = {
        f.name: _read(record.get(f.name), hints[f.name], f"{f.name} of {child.name!r}")
        for f in _fields(known[kind])
    }
    return known[kind](child, tuple(parents), **parts)


def require_states(variables: Sequence[Variable], what: str) -> None:
    """Raise a `NetworkFileError` if a variable is real-valued where states are needed."""
    real = [variable.name for variable in variables if not variable.is_discrete]
    if real:
        raise NetworkFileError(
            f"{what} must be about variables with states; found {real[0]!r}, which has none. "
            "Add its states."
        )


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


def _is_node(cls: type) -> bool:
    names = [f.name for f in fields(cls)] if is_dataclass(cls) else []
    return tuple(names[:2]) == PLACES


def _fields(cls: Any) -> list[Any]:
    return [f for f in fields(cls) if f.name not in PLACES]


def _plain(value: Any, node: Conditional) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(item, node) for item in value]
    if isinstance(value, Distribution):
        return document_of_distribution(value)
    if callable(value):
        raise _unwritable(node, "a function of its parents in Python")
    return value


def _unwritable(node: Conditional, found: str) -> NetworkFileError:
    return NetworkFileError(
        f"nodes must be of the kinds {', '.join(node_classes())} to be written; found that "
        f"{node.child.name!r} is {found}. Replace it by one of these, or keep the program that "
        "builds the network."
    )


def _read(value: Any, hint: Any, what: str) -> Any:
    """Return a field of a node from JSON, as its declared type wants it."""
    parts, kind = get_args(hint), get_origin(hint) or hint
    if value is None:
        if NoneType in parts:
            return None
        raise _unfit(what, "there", "none")
    if Distribution in parts:
        return distribution_of_document(value)
    if kind is np.ndarray:
        return _array(value, parts, what)
    if kind is tuple:
        return _tuple(value, parts[0], what)
    arrays = [part for part in parts if get_origin(part) is np.ndarray]
    if arrays:
        return _read(value, arrays[0], what)
    if not fits(value, hint):
        raise _unfit(what, _FIELD_WORDS.get(hint, "what credo writes"), value)
    return value


def _array(value: Any, parts: tuple[Any, ...], what: str) -> NDArray[Any]:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise _unfit(what, "numbers", value) from None
    except OverflowError:
        raise _unfit(what, "finite numbers", value) from None
    array = array_of(numbers, numbers.shape, what)
    item = get_args(parts[1])[0]
    if not issubclass(item, np.integer):
        return array
    if not np.array_equal(array, np.floor(array)) or np.abs(array).max(initial=0) > 1e15:
        raise _unfit(what, "positions, which are whole numbers", value)
    return array.astype(item)


def _tuple(value: Any, part: Any, what: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _unfit(what, "a list", value)
    if part is Any:
        return state_labels(value, what)
    return tuple(_read(item, part, what) for item in value)


def _unfit(what: str, wanted: str, found: Any) -> NetworkFileError:
    return NetworkFileError(
        f"{what} must be {wanted}; found {str(found)[:40]}. Check that credo wrote the file."
    )


def field_of(record: Any, key: str, kind: type) -> Any:
    """Return the value of a key of a JSON object, which must be of a type.

    Examples
    --------
    >>> field_of({"scale": 2}, "scale", float)
    2
    """
    if not isinstance(record, dict):
        raise NetworkFileError(
            f"entries must be JSON objects with {key!r}; found {str(record)[:40]!r}. Check "
            "that credo wrote the file."
        )
    value = record.get(key)
    is_number = not isinstance(value, bool) and _is_finite(value)
    if not (is_number if kind is float else isinstance(value, kind)):
        found = "none" if key not in record else repr(value)[:40]
        raise NetworkFileError(
            f"{key!r} must be {_KIND_WORDS[kind]}; found {found} in {str(record)[:60]}. "
            "Check that credo wrote the file."
        )
    return value


def array_of(value: Any, shape: tuple[int, ...], what: str) -> Array:
    """Return nested lists as an array, which must be of numbers and of a shape."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except OverflowError as error:
        raise _too_large(what) from error
    except (TypeError, ValueError):
        array = np.empty(0)
    # A list without entries cannot tell its own shape.
    if array.size == 0 == math.prod(shape):
        return np.empty(shape)
    if array.shape != shape:
        raise NetworkFileError(
            f"{what} must be numbers of shape {shape}; found another shape, {array.shape}. "
            "Check that credo wrote the file."
        )
    if not np.isfinite(array).all():
        raise _too_large(what)
    return array


def _too_large(what: str) -> NetworkFileError:
    return NetworkFileError(
        f"{what} must be finite; found numbers too large to hold. Correct them."
    )


def _is_finite(value: Any) -> bool:
    """Whether a value is a number that a float can hold."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def state_labels(states: Any, name: str) -> tuple[Any, ...]:
    """Return the states of a variable, which must be a list of plain values."""
    is_list = isinstance(states, list)
    odd = [s for s in states if isinstance(s, list | dict)] if is_list else [states]
    if odd:
        raise NetworkFileError(
            f"states of {name!r} must be a list of text, truth values or numbers; found "
            f"{str(odd[0])[:40]}. Check that credo wrote the file."
        )
    return tuple(states)


_FIELD_WORDS = {bool: "a truth value", str: "text", int: "a whole number", float: "a number"}
_KIND_WORDS = {
    list: "a list",
    str: "text",
    float: "a finite number",
    dict: "an object",
    bool: "a truth value",
}
