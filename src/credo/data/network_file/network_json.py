"""Credo's own format of networks: JSON that keeps types, counts and every kind of node.

A document has ``format``, ``version``, ``kind``, ``variables`` (name and states, null if
real-valued) and either ``nodes`` (see `node_json` beside this module) or ``factors``. States
are JSON truth values, whole numbers, numbers with a point, or text, and come back as such.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from credo.data.error import NetworkFileError
from credo.data.network_file.json_field import array_of, field_of, state_labels
from credo.data.network_file.network_content import text_of
from credo.data.network_file.node_json import document_of_node, node_of_document, require_states
from credo.graphs.factor import Factor
from credo.graphs.variable import UnknownVariable, Variable, nearest
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.factor_graph import FactorGraph
from credo.models.network.markov_random_field import MarkovRandomField

__all__ = ["VERSION", "json_text", "read", "read_json", "write"]

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
