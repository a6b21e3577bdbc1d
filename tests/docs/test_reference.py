"""Every public name is described in the API reference, and found by its search."""

import importlib.util
import sys
from pathlib import Path

import markdown
import pytest

from credo.exports import stub_lines

DOCS = Path(__file__).resolve().parents[2] / "docs"


def loaded(name):
    """Import a module of the folder ``docs``, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


text = loaded("docstring_text")
reference = loaded("reference")


@pytest.mark.parametrize("room", reference.rooms())
def test_every_public_name_of_a_room_has_one_anchor_on_its_page(room):
    page = reference.page(room)
    for name in stub_lines(room):
        anchor = f"{room}.{name}"
        here = page.count(f"{{: #{anchor} }}") + page.count(f'<a id="{anchor}"></a>')
        assert here == 1, anchor


def test_every_stub_of_the_package_has_a_page():
    stubs = {
        ".".join(("credo", *path.parent.relative_to(reference.PACKAGE).parts))
        for path in reference.PACKAGE.rglob("__init__.pyi")
    }
    assert set(reference.rooms()) == stubs


def test_a_name_of_two_rooms_is_described_where_it_lives():
    front, room = reference.page("credo"), reference.page("credo.models")
    assert "[`LinearRegression`](credo.models.md#credo.models.LinearRegression)" in front
    assert "## LinearRegression {: #credo.models.LinearRegression }" in room
    assert "### predict_dist {: #credo.models.LinearRegression.predict_dist }" in room


def test_a_signature_shows_names_annotations_and_defaults():
    def scaled(x: float, *rest: int, by: float = 2.0) -> float:
        return x * by

    shown = reference._signature("", "credo.scaled", scaled)
    assert shown == (
        "```python\ncredo.scaled(x: float, *rest: int, by: float = 2.0) -> float\n```"
    )


def test_long_annotations_have_their_short_names():
    assert "a: Array,\n" in reference.page("credo.numerics")
    assert "as_float(values: ArrayLike) -> Array" in reference.page("credo.numerics")
    assert "dtype[" not in reference.page("credo.numerics")


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("Density ``exp(-|x|)``.", "<td>Density <code>exp(-|x|)</code>.</td>"),
        ("Density `exp(-|x|)`.", "<td>Density <code>exp(-|x|)</code>.</td>"),
        ("One | two, ``P(a | b)``.", "<td>One &#124; two, <code>P(a | b)</code>.</td>"),
    ],
)
def test_bars_of_a_sentence_are_shown_in_a_table_as_they_are(sentence, shown):
    row = f"| `name` | {reference._cell(sentence)} |"
    page = markdown.markdown(f"| name | |\n|---|---|\n{row}", extensions=["tables"])
    assert shown in page


DOC = """Return a `Normal` scaled, as [bishop2006]_ has it::

    y = a x

Parameters
----------
a, b
    Both at once, ``positive``.
c
    Another.

Examples
--------
>>> 1 + 1
2
"""


def test_a_docstring_becomes_headings_definitions_and_code():
    shown = text.markdown(DOC, {"Normal": "x.md#Normal"}.get)
    assert (
        shown
        == """\
Return a [`Normal`](x.md#Normal) scaled, as [bishop2006](../references.md#bishop2006) has it:

```text
y = a x
```

**Parameters**

`a`, `b`
:   Both at once, ``positive``.

`c`
:   Another.

**Examples**

```pycon
>>> 1 + 1
2
```"""
    )


def test_the_page_of_references_has_every_entry_of_the_bibliography():
    page = reference.references()
    keys = [m["key"] for m in reference.ENTRY.finditer((DOCS / "references.bib").read_text())]
    assert len(keys) > 20
    assert [key for key in keys if f'<a id="{key}"></a>**{key}**' not in page] == []
    assert "Bishop, Christopher M. (2006). Pattern Recognition and Machine Learning." in page
