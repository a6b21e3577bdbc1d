"""Pages of the API reference, made while the site is built: one for each room, from its stub.

Every line of a stub ``__init__.pyi`` is a public name and gets an anchor such as
``credo.models.LinearRegression``. A name that several rooms offer is described once, in the
room where it lives, and linked from the others. Methods that come from a public class are
described there.
"""

import dataclasses
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from docstring_text import markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from numpy.typing import ArrayLike

import credo
from credo.exports import stub_lines

__all__ = ["anchors", "on_config", "on_files", "on_post_build", "page", "rooms"]

PACKAGE = Path(credo.__file__).parent
HERE = Path(__file__).parent
SECTION = "API reference"
DESCRIBED = (property, classmethod, cached_property)
OPERATORS = {
    "__call__": "self(...)", "__add__": "self + other", "__sub__": "self - other",
    "__mul__": "self * other", "__matmul__": "self @ other", "__getitem__": "self[...]",
}  # fmt: skip
ENTRY = re.compile(r"@\w+\{(?P<key>\w+),(?P<body>.*?)^\}", flags=re.M | re.S)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*[{\"](.*?)[}\"],?\s*$", flags=re.M | re.S)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the section of the menu that is left empty; mkdocs calls this first."""
    for entry in config.nav or ():
        if SECTION in entry:
            entry[SECTION] = [{room: f"api/{room}.md"} for room in rooms()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages; mkdocs calls this when it has found those that are written by hand."""
    for room in rooms():
        files.append(File.generated(config, f"api/{room}.md", content=page(room)))
    files.append(File.generated(config, "references.md", content=references()))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Keep the index of the search as a script too: pages opened from disk may load no data."""
    folder = Path(config.site_dir) / "search"
    index = json.loads((folder / "search_index.json").read_text(encoding="utf-8"))
    text = json.dumps(index["docs"], ensure_ascii=False, separators=(",", ":"))
    (folder / "documents.js").write_text(f"var documents = {text};\n", encoding="utf-8")
    (folder / "main.js").write_bytes((HERE / "search.js").read_bytes())


@cache
def rooms() -> tuple[str, ...]:
    """Return the packages that have a stub, the front door first."""
    stubs = (path.parent.relative_to(PACKAGE).parts for path in PACKAGE.rglob("__init__.pyi"))
    return tuple(sorted(".".join(("credo", *parts)) for parts in stubs))


@cache
def homes() -> dict[tuple[str, str], str]:
    """Return, for what a line of a stub names, the deepest room that it lives in."""
    found: dict[tuple[str, str], str] = {}
    for room in rooms():
        for name, place in stub_lines(room).items():
            is_inside = place[0].startswith(f"{room}.") or place[0] == room
            if is_inside or place not in found:
                found[place] = f"{room}.{name}"
    return found


def anchors(room: str) -> list[str]:
    """Return the anchors of the public names of a room."""
    return [f"{room}.{name}" for name in stub_lines(room)]


@cache
def _objects() -> dict[Any, str]:
    """Return the anchor of every public class, by the class."""
    named = {}
    for (module, name), anchor in homes().items():
        value = _value(module, name)
        if inspect.isclass(value):
            named[value] = anchor
    return named


def _value(module: str, name: str) -> Any:
    holder = importlib.import_module(module)
    found = getattr(holder, name, None)
    return importlib.import_module(f"{module}.{name}") if found is None else found


def page(room: str) -> str:
    """Return the page of a room: a table of its names, then each name that lives here."""
    names = stub_lines(room)
    package = importlib.import_module(room)
    own = {n: p for n, p in names.items() if homes()[p] == f"{room}.{n}"}
    own = {n: p for n, p in own.items() if not inspect.ismodule(_value(*p))}
    entries = [_entry(room, name, _value(*own[name])) for name in sorted(own, key=str.lower)]
    lead = markdown(inspect.getdoc(package) or "", _Links(room))
    return "\n\n".join([f"# {room}", lead, *_tables(room, own), *entries]) + "\n"


def _tables(room: str, own: dict[str, Any]) -> Iterator[str]:
    """Return a table of names for each subject of a room."""
    groups: dict[str, list[str]] = {}
    for name, (module, _) in sorted(stub_lines(room).items(), key=lambda n: n[0].lower()):
        groups.setdefault(_subject(room, module), []).append(name)
    for subject in sorted(groups):
        sentence = _sentence(importlib.import_module(subject)) if subject else ""
        yield f"*{sentence}*" if sentence and subject != room else ""
        rows = [_row(room, name, name in own) for name in groups[subject]]
        yield "\n".join(["| name | |", "|---|---|", *rows])


def _subject(room: str, module: str) -> str:
    """Return the sub-room of a module, or the room itself."""
    parts, depth = module.split("."), room.count(".") + 1
    if not module.startswith(f"{room}."):
        return ".".join(parts[:2])
    candidate = ".".join(parts[: depth + 1])
    return candidate if hasattr(importlib.import_module(candidate), "__path__") else room


def _row(room: str, name: str, is_own: bool) -> str:
    place = stub_lines(room)[name]
    value = _value(*place)
    said = _cell(_sentence(value))
    if is_own:
        return f"| [`{name}`](#{room}.{name}) | {said} |"
    anchor = f'<a id="{room}.{name}"></a>'
    if inspect.ismodule(value) and value.__name__ not in rooms():
        held = ", ".join(f"`{part}`" for part in getattr(value, "__all__", ()))
        return f"| {anchor}`{name}` | {said} Holds {held}. |"
    is_room = inspect.ismodule(value)
    target = f"{value.__name__}.md" if is_room else _address(homes()[place])
    return f"| {anchor}[`{name}`]({target}) | {said} |"


def _cell(sentence: str) -> str:
    """Return a sentence whose bars end no cell of a table; within code they never do."""
    return re.sub(r"(?P<code>(`+).+?\2)|\|", lambda m: m["code"] or "&#124;", sentence)


def _address(anchor: str) -> str:
    return f"{anchor.rpartition('.')[0]}.md#{anchor}"


def _sentence(value: Any) -> str:
    is_described = inspect.ismodule(value) or inspect.isclass(value) or callable(value)
    doc = (inspect.getdoc(value) or "") if is_described else _comment_of(value)
    return " ".join(doc.split("\n\n")[0].split())


def _comment_of(value: Any) -> str:
    return f"A value: {type(value).__name__}."


class _Links:
    """Where names are described, as seen from a page."""

    def __init__(self, room: str, owner: str = "") -> None:
        self.room, self.owner = room, owner

    def __call__(self, name: str) -> str | None:
        """Return the address of a name written in a docstring, or None."""
        head, _, member = name.removeprefix("credo.").rpartition(".")
        for candidate in (name, head):
            anchor = _by_name().get(candidate.rpartition(".")[2])
            if anchor and candidate == name:
                return _address(anchor)
            if anchor and member:
                return f"{_address(anchor)}.{member}" if _has(anchor, member) else None
        return None


@cache
def _by_name() -> dict[str, str]:
    """Return anchors by the last part of a name; a name that means two things has none."""
    found: dict[str, str | None] = {}
    for (module, name), anchor in homes().items():
        if not inspect.ismodule(_value(module, name)):
            short = anchor.rpartition(".")[2]
            found[short] = None if short in found else anchor
    return {name: anchor for name, anchor in found.items() if anchor}


def _has(anchor: str, member: str) -> bool:
    room, _, name = anchor.rpartition(".")
    value = getattr(importlib.import_module(room), name)
    return inspect.isclass(value) and member in dict(_members(value))


def _entry(room: str, name: str, value: Any) -> str:
    anchor = f"{room}.{name}"
    head = f"## {name} {{: #{anchor} }}"
    links = _Links(room, name)
    if inspect.isclass(value):
        parts = [head, _signature("class", anchor, value), _described(value, links)]
        return "\n\n".join([*parts, *_methods(anchor, value)])
    if callable(value) and not hasattr(value, "__origin__"):
        return "\n\n".join([head, _signature("", anchor, value), _described(value, links)])
    return "\n\n".join([head, f"```python\n{anchor}\n```", _comment_of(value)])


def _described(value: Any, links: _Links) -> str:
    doc = inspect.getdoc(value) or ""
    is_generated = dataclasses.is_dataclass(value) and doc.startswith(f"{value.__name__}(")
    return "" if is_generated else markdown(doc, links)


def _signature(kind: str, name: str, value: Any) -> str:
    """Return a signature in a block of code, one argument to a line if it is long."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return f"```python\n{kind} {name}\n```".replace("\n ", "\n")
    shown = [_argument(p) for p in _separated(signature)]
    returns = _annotation(signature.return_annotation)
    arrow = f" -> {returns}" if returns and kind != "class" else ""
    start = f"{kind} {name}".strip()
    line = f"{start}({', '.join(shown)}){arrow}"
    if len(line) > 88:
        body = "".join(f"    {argument},\n" for argument in shown)
        line = f"{start}(\n{body}){arrow}"
    return f"```python\n{line}\n```"


def _separated(signature: inspect.Signature) -> Iterator[inspect.Parameter | str]:
    """Return the parameters but ``self``, with the marks between kinds of them."""
    has_star = False
    kept = [p for i, p in enumerate(signature.parameters.values()) if i or p.name != "self"]
    for i, parameter in enumerate(kept):
        is_keyword = parameter.kind is parameter.KEYWORD_ONLY
        if is_keyword and not has_star:
            yield "*"
        has_star |= is_keyword or parameter.kind is parameter.VAR_POSITIONAL
        yield parameter
        is_last = i + 1 == len(kept) or kept[i + 1].kind is not parameter.POSITIONAL_ONLY
        if parameter.kind is parameter.POSITIONAL_ONLY and is_last:
            yield "/"


def _argument(parameter: inspect.Parameter | str) -> str:
    if isinstance(parameter, str):
        return parameter
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
    text = stars.get(parameter.kind, "") + parameter.name
    annotation = _annotation(parameter.annotation)
    text += f": {annotation}" if annotation else ""
    if parameter.default is parameter.empty:
        return text
    return f"{text} = {_default(parameter.default)}"


def _default(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = repr(value)
    return "..." if text.startswith("<") or len(text) > 60 else text


def _annotation(annotation: Any) -> str:
    """Return an annotation as it was written, also where only what it means is kept."""
    if annotation is inspect.Signature.empty:
        return ""
    text = _bare(annotation).replace(_array_like(), "ArrayLike").replace("NoneType", "None")
    text = re.sub(r"Union\[(ArrayLike)\]", r"\1", text)
    text = re.sub(r"ndarray\[tuple\[[^\]]*\], dtype\[(\w+)\]\]", r"NDArray[\1]", text)
    return text.replace("NDArray[float64]", "Array")


@cache
def _array_like() -> str:
    """Return the members of the union that ``ArrayLike`` stands for."""
    return _bare(ArrayLike).removeprefix("Union[").removesuffix("]")


def _bare(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:credo|numpy|typing|collections)\.(?:\w+\.)*", "", text)


def _methods(anchor: str, kind: type) -> Iterator[str]:
    """Return the methods of a class: those of public parents by name, the others in full."""
    room = anchor.rpartition(".")[0]
    elsewhere: dict[str, list[str]] = {}
    for name, owner in _members(kind):
        if owner is not kind and owner in _objects():
            elsewhere.setdefault(_objects()[owner], []).append(name)
            continue
        yield _method(anchor, name, kind, _Links(room, kind.__name__))
    for parent, names in elsewhere.items():
        links = ", ".join(f"[`{name}`]({_address(parent)}.{name})" for name in sorted(names))
        yield f"From [`{parent.rpartition('.')[2]}`]({_address(parent)}): {links}"


def _members(kind: type) -> Iterator[tuple[str, type]]:
    """Return the public methods and properties of a class, each with the class it is from."""
    seen = set()
    for owner in kind.__mro__:
        for name, member in vars(owner).items():
            is_wanted = not name.startswith("_") or (name in OPERATORS and owner is kind)
            if name in seen or not is_wanted or not owner.__module__.startswith("credo"):
                continue
            if inspect.isroutine(member) or isinstance(member, DESCRIBED):
                seen.add(name)
                yield name, owner


def _method(anchor: str, name: str, kind: type, links: _Links) -> str:
    member = inspect.getattr_static(kind, name)
    head = f"### {OPERATORS.get(name, name)} {{: #{anchor}.{name} }}"
    doc = markdown(inspect.getdoc(getattr(kind, name)) or "", links)
    if isinstance(member, (property, cached_property)):
        function = member.fget if isinstance(member, property) else member.func
        returns = _annotation(inspect.signature(function).return_annotation)
        return "\n\n".join([head, f"```python\n{kind.__name__}.{name}: {returns}\n```", doc])
    bound = isinstance(member, (classmethod, staticmethod))
    word = f"{kind.__name__}.{name}" if bound else name
    value = getattr(kind, name) if bound else member
    return "\n\n".join([head, _signature("", word, value), doc])


def references() -> str:
    """Return the page of the works that docstrings and pages cite."""
    text = (HERE / "references.bib").read_text(encoding="utf-8")
    entries = sorted(ENTRY.finditer(text), key=lambda match: match["key"])
    shown = [_work(match["key"], dict(FIELD.findall(match["body"]))) for match in entries]
    return "\n\n".join(["# References", *shown]) + "\n"


def _work(key: str, fields: dict[str, str]) -> str:
    plain = {name: " ".join(re.sub(r"[{}]", "", text).split()) for name, text in fields.items()}
    people = plain.get("author", "").replace(" and ", "; ")
    source = next((plain[n] for n in ("journal", "booktitle", "publisher") if n in plain), "")
    place = ", ".join(plain[n] for n in ("volume", "pages") if n in plain).replace("--", "-")
    parts = [
        f"{people} ({plain.get('year', '')}).",
        f"{plain.get('title', '')}.",
        f"*{source}*",
    ]
    tail = f", {place}." if place else "."
    return f'<a id="{key}"></a>**{key}**  \n{" ".join(parts)}{tail}'
