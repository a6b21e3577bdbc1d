"""Networks as lines of JSON: a skeleton for a new format of network files.

Copy it to ``src/credo/data/network_file/<name>.py`` and add one line to ``FORMATS`` in
``formats.py`` beside it: ``_in_module("credo.data.network_file.<name>", "lines", ".lines")``.
A format that stays in a package of yours is ``Format("lines", (".lines",), read, write)``,
which `credo.load_network` and `credo.save_network` take as ``format=``.

A line ``["rain", ["no", "yes"], [], [0.8, 0.2]]`` holds a variable, its states, its parents and
its table, axes parents then child.
"""

from __future__ import annotations

import json
from typing import Any

from credo.data.network_file.network_assembly import (
    Network,
    network_of_parts,
    parts_of_network,
)
from credo.data.network_file.network_content import text_of
from credo.data.network_file.network_json import array_of
from credo.data.network_file.network_part import (
    NetworkParts,
    TablePart,
    VariablePart,
    by_name,
    fault,
    scope_shape,
)

__all__ = ["read", "write"]


def read(content: bytes) -> Network:
    """Return the network in a file.

    Examples
    --------
    >>> read(b'["rain", ["no", "yes"], [], [0.8, 0.2]]').query("rain").tolist()
    [0.8, 0.2]
    """
    lines = enumerate(text_of(content).splitlines(), start=1)
    records = [(number, _record(number, line)) for number, line in lines if line.strip()]
    variables = tuple(VariablePart(r[0], tuple(r[1]), number) for number, r in records)
    known = by_name(variables)
    tables = []
    for number, (child, _, parents, values) in records:
        shape = scope_shape(known, parents, child, number)
        table = array_of(values, shape, f"the table of {child!r}")
        tables.append(TablePart(child, tuple(parents), table, number))
    return network_of_parts(NetworkParts(variables, tuple(tables)))


def write(net: Network) -> str:
    """Return the text of a file; a network that is not one of tables is refused."""
    parts = parts_of_network(net)
    states = {part.name: part.states for part in parts.variables}
    records = [[t.child, states[t.child], t.parents, t.values.tolist()] for t in parts.tables]
    return "".join(json.dumps(record) + "\n" for record in records)


def _record(line: int, text: str) -> Any:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise fault(line, f"a line must be JSON; found that it is not ({error})") from error
    kinds = [type(item) for item in record] if isinstance(record, list) else []
    if kinds[:3] != [str, list, list] or len(kinds) != 4:
        raise fault(
            line,
            f"a line must be a variable, its states, parents and table; found {text[:40]!r}. "
            "Correct it",
        )
    return record
