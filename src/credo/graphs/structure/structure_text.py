"""The structure of a network written as one line of text."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from credo.numerics.quotation import quote

__all__ = ["parse_structure"]

IN_BRACES = r"\{[^{}]*+\}"
STATEMENT = re.compile(rf"{IN_BRACES}|([;\n])")
ARROW = re.compile(rf"{IN_BRACES}|(->|<-)")
COMMA = re.compile(rf"{IN_BRACES}|(,)")
NODE = re.compile(r"([^{}<>|]*+)(?:\{([^{}]*+)\}\s*+)?")
# A dash at the edge of a word is an arrow that lost its head, never part of a name.
BROKEN_ARROW = re.compile(r"(^|\s)[-=]|[-=](\s|$)")

Node = tuple[str, tuple[str, ...] | None]


def parse_structure(
    text: str,
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return the parents of every node, and the states of those that list them.

    Statements are separated by semicolons or line ends. A statement is a node alone, or groups
    of nodes, divided by commas, joined by arrows in either direction; a chain of arrows joins
    each group to the next. States follow a name in braces, divided by bars, and stay text.

    Raises
    ------
    ValueError
        If a name is missing or looks like an arrow, or states are given twice.

    Notes
    -----
    Nodes come in the order of their first mention, parents in the order in which they are
    attached. An edge that is written twice counts once.

    Examples
    --------
    >>> parents, states = parse_structure("cloud -> rain{no|yes}; rain, hose -> wet; moon")
    >>> parents["wet"], parents["moon"], states
    (('rain', 'hose'), (), {'rain': ('no', 'yes')})
    >>> parse_structure("a -> b <- c -> d")[0]
    {'a': (), 'b': ('a', 'c'), 'c': (), 'd': ('c',)}
    """
    parents: dict[str, dict[str, None]] = {}
    states: dict[str, tuple[str, ...]] = {}
    for statement in _divided(STATEMENT, text)[::2]:
        if not statement.strip():
            continue
        pieces = _divided(ARROW, statement)
        groups = [_nodes(piece, statement) for piece in pieces[::2]]
        _check_divided(groups, pieces[1::2], statement)
        for name, labels in (node for part in groups for node in part):
            parents.setdefault(name, {})
            _tell(states, name, labels)
        for (left, right), arrow in zip(pairwise(groups), pieces[1::2], strict=True):
            tails, heads = (left, right) if arrow == "->" else (right, left)
            for head, _ in heads:
                parents[head].update(dict.fromkeys(tail for tail, _ in tails))
    return {name: tuple(tails) for name, tails in parents.items()}, states


def _divided(mark: re.Pattern[str], text: str) -> list[str]:
    """Return what stands between marks outside braces, with the marks in turn."""
    pieces, start = [], 0
    for found in mark.finditer(text):
        if found[1] is not None:
            pieces += [text[start : found.start()], found[1]]
            start = found.end()
    return [*pieces, text[start:]]


def _nodes(piece: str, statement: str) -> list[Node]:
    return [_node(word, statement) for word in _divided(COMMA, piece)[::2]]


def _check_divided(groups: list[list[Node]], arrows: list[str], statement: str) -> None:
    """Refuse commas that were meant to divide statements, known by arrows back to a name."""
    names = [name for group in groups for name, _ in group]
    counts = Counter(names)
    again = next((name for name in names if counts[name] > 1), None)
    if again is None or len(groups) == len(names) or len(arrows) < 2 or len(set(arrows)) > 1:
        return
    raise ValueError(
        f"a chain of arrows must name each node once; found {quote(again)} again in "
        f"{quote(statement.strip())}. Divide statements by semicolons, for commas list nodes: "
        "'a -> b; a -> c' or 'a -> b, c'."
    )


def _node(word: str, statement: str) -> Node:
    match = NODE.fullmatch(word)
    name = "" if match is None else match[1].strip()
    if match is None or not name or BROKEN_ARROW.search(name):
        raise ValueError(
            "structure must be names joined by -> or <- and divided by commas and semicolons; "
            f"found {word.strip()!r:.80} where a name should be, in {statement.strip()!r:.80}. "
            "Write "
            "for example 'cloud -> sprinkler, rain; sprinkler, rain -> wet{no|yes}'."
        )
    if match[2] is None:
        return name, None
    return name, tuple(label.strip() for label in match[2].split("|"))


def _tell(
    states: dict[str, tuple[str, ...]], name: str, labels: tuple[str, ...] | None
) -> None:
    if labels is None:
        return
    if len(set(labels)) < len(labels) or "" in labels:
        raise ValueError(
            f"states of {name} must be distinct words divided by bars; found "
            f"{quote(list(labels))}. Write for example 'rain{{no|yes}}'."
        )
    if states.setdefault(name, labels) != labels:
        raise ValueError(
            f"states of {name} must be given once; found {quote(list(states[name]))} and "
            f"{quote(list(labels))}. Keep one of them."
        )
