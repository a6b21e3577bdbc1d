"""Small changes to documents, arrays and texts, as accidents or attackers make them."""

import copy
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["mutated_array", "mutated_bytes", "mutated_document", "mutated_text"]

ODD_NUMBERS = (
    0,
    -1,
    1,
    2,
    5,
    2**31,
    2**40,
    -(2**63),
    10**400,
    0.5,
    -0.0,
    1e-320,
    1e308,
    -1e308,
)
ODD_VALUES = (
    *(None, True, False, *ODD_NUMBERS, "", "x", "é", "\ud800", "1e999", [], [1, 2], [[]], {}),
    {"$": "float", "value": "nan"},
    {"$": "float", "value": "inf"},
    {"$": "dict", "items": {}},
    {"$": "tuple", "items": []},
    {"$": "array", "place": 0},
    {"$": "array", "place": 10**9},
    {"$": "member", "class": "Status", "name": "CONVERGED"},
)
FLOATS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 1e-320, 0.5, 1e18)
WHOLE = (0, 1, -1, 2, 5, 100, 2**31, 2**40, -(2**40), 2**62)
TOKEN = re.compile(r"[\w.+-]+|[^\w\s]")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?(?![\w.])")
ODD_TOKENS = (
    *(
        "0",
        "-1",
        "1e999",
        "nan",
        "inf",
        "0.5",
        "1e-320",
        "9" * 400,
        "1000000000",
        "{",
        "}",
        "[",
        "]",
    ),
    *(
        "(",
        ")",
        ";",
        "|",
        ",",
        '"',
        "'",
        "\\",
        "//",
        "/*",
        "<",
        ">",
        "&",
        "&amp;",
        "]]>",
        "\x00",
    ),
    *(
        "é",
        "日本",
        "default",
        "table",
        "probability",
        "variable",
        "\r",
        "\n",
        "null",
        "true",
        "<!--",
    ),
)


def mutated_document(random: Random, document: Any) -> Any:
    """Return a copy of a JSON document with one to three changes."""
    document = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = list(_places(document))
        node, key = random.choice(places)
        random.choice((_replace, _replace, _nudge, _remove, _repeat, _swap))(
            random, node, key, places
        )
    return document


def mutated_array(random: Random, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with other values, another shape or another type."""
    change = random.choice(
        (_one_entry, _one_entry, _one_entry, _all_entries, _shape, _type, _order, _length)
    )
    with np.errstate(all="ignore"):
        return np.asarray(change(random, array))


def mutated_bytes(random: Random, raw: bytes) -> bytes:
    """Return bytes with some flipped, cut, doubled or put in."""
    changed = bytearray(raw)
    for _ in range(random.choice((1, 1, 2, 8))):
        place = random.randrange(len(changed) + 1)
        kind = random.randrange(4)
        if kind == 0 and place < len(changed):
            changed[place] = random.randrange(256)
        elif kind == 1:
            del changed[place : place + random.choice((1, 4, 100))]
        elif kind == 2:
            changed[place:place] = changed[place : place + random.choice((1, 8, 200))]
        else:
            changed[place:place] = random.randbytes(random.choice((1, 4)))
    return bytes(changed)


def mutated_text(random: Random, text: str) -> str:
    """Return a text with some of its tokens or numbers changed, removed, doubled or swapped."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        pattern = NUMBER if random.random() < 0.4 else TOKEN
        found = list(pattern.finditer(text))
        if not found:
            return text
        match = random.choice(found)
        text = text[: match.start()] + _token(random, found, match) + text[match.end() :]
    return text


def _token(random: Random, found: list[re.Match[str]], match: re.Match[str]) -> str:
    kind = random.randrange(6)
    if kind == 0:
        return ""
    if kind == 1:
        return f"{match.group()} {match.group()}"
    if kind in (2, 3):
        return random.choice(found).group()
    if kind == 4 and NUMBER.fullmatch(match.group()):
        return repr(float(match.group()) * random.choice((0.0, -1.0, 2.0, 1e-300, 1e300)))
    return random.choice(ODD_TOKENS)


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in items:
        yield node, key
        if isinstance(child, dict | list):
            yield from _places(child)


Place = tuple[Any, Any]


def _replace(random: Random, node: Any, key: Any, places: list[Place]) -> None:
    node[key] = copy.deepcopy(random.choice(ODD_VALUES))


def _nudge(random: Random, node: Any, key: Any, places: list[Place]) -> None:
    value = node[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        node[key] = f"{value}x" if isinstance(value, str) else copy.deepcopy(value)
    else:
        node[key] = value + random.choice((1, -1, 0.5, 1000))


def _remove(random: Random, node: Any, key: Any, places: list[Place]) -> None:
    del node[key]


def _repeat(random: Random, node: Any, key: Any, places: list[Place]) -> None:
    if isinstance(node, list):
        node.insert(key, copy.deepcopy(node[key]))
    else:
        node[f"{key}_"] = copy.deepcopy(node[key])


def _swap(random: Random, node: Any, key: Any, places: list[Place]) -> None:
    other, place = random.choice(places)
    node[key] = copy.deepcopy(other[place])


def _one_entry(random: Random, array: NDArray[Any]) -> Any:
    changed = array.copy()
    if changed.size:
        changed.flat[random.randrange(changed.size)] = _entry(random, array.dtype)
    return changed


def _all_entries(random: Random, array: NDArray[Any]) -> Any:
    if array.dtype.kind in "fiu" and random.random() < 0.5:
        factor = random.choice((0, -1, 2)) if array.dtype.kind != "f" else random.choice(FLOATS)
        return (array * factor).astype(array.dtype)
    return np.full_like(array, _entry(random, array.dtype))


def _entry(random: Random, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "fc":
        return random.choice(FLOATS)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return min(max(random.choice(WHOLE), int(bounds.min)), int(bounds.max))
    if dtype.kind == "b":
        return random.random() < 0.5
    return random.choice(("", "x", "é"))


def _shape(random: Random, array: NDArray[Any]) -> Any:
    makes: tuple[Callable[[], Any], ...] = (
        lambda: array.ravel(),
        lambda: array[None],
        lambda: array[..., None],
        lambda: array.T,
        lambda: array.reshape(array.shape[::-1]),
        lambda: np.zeros((0,), array.dtype),
        lambda: np.zeros((0, 3), array.dtype),
        lambda: array.ravel()[0] if array.size else array,
    )
    return random.choice(makes)()


def _type(random: Random, array: NDArray[Any]) -> Any:
    wanted = random.choice(
        ("<f8", "<f4", "<f2", "<i8", "<i4", "<u1", "?", "<U3", ">f8", "<c16")
    )
    try:
        return array.astype(wanted)
    except (ValueError, TypeError):
        return np.zeros(array.shape, wanted)


def _order(random: Random, array: NDArray[Any]) -> Any:
    return array[::-1] if array.ndim else array


def _length(random: Random, array: NDArray[Any]) -> Any:
    if not array.ndim:
        return array
    axis = random.randrange(array.ndim)
    if random.random() < 0.5:
        return np.take(array, range(max(array.shape[axis] - 1, 0)), axis=axis)
    return np.concatenate([array, np.take(array, range(min(array.shape[axis], 1)), axis)], axis)
