"""What the pages say about the code is so."""

import importlib
import re
import runpy
import tomllib
from pathlib import Path

import pytest

from credo.app.cli.command_line import command_line

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "credo"
KINDS = {"added", "changed", "fixed", "removed", "faster"}


def existing_rooms():
    return {path.relative_to(SOURCE).parts[0] for path in SOURCE.glob("*/**/*.py")}


def rooms_in_the_table():
    """Return the rooms of the architecture page, each with whether it is marked as coming."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = text.split("## The rooms")[1].split("```")[0]
    return {
        name: bool(mark)
        for name, mark in re.findall(r"^\| `(\w+)`( \*\(coming\)\*)? \|", table, flags=re.M)
    }


def test_every_existing_room_is_named_on_the_architecture_page():
    open_rooms = {name for name, coming in rooms_in_the_table().items() if not coming}
    assert existing_rooms() <= open_rooms


def test_every_room_named_on_the_architecture_page_exists_or_is_marked_as_coming():
    missing = {name for name in rooms_in_the_table() if name not in existing_rooms()}
    assert missing == {name for name, coming in rooms_in_the_table().items() if coming}


def test_the_diagram_shows_the_rooms_of_the_table():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    diagram = text.split("```text")[1].split("```")[0]
    shown = [word for line in diagram.splitlines() for word in re.findall(r"\w+", line[:32])]
    assert set(rooms_in_the_table()) <= set(shown)


def test_every_key_that_is_cited_is_in_the_bibliography():
    keys = set(re.findall(r"@\w+\{(\w+),", (DOCS / "references.bib").read_text("utf-8")))
    texts = [*DOCS.rglob("*.md"), *SOURCE.rglob("*.py")]
    cited = {
        key
        for path in texts
        for key in re.findall(r"\[([a-z]+(?:19|20)\d\d[a-z]*)\]", path.read_text("utf-8"))
    }
    assert cited <= keys, f"add to docs/references.bib: {sorted(cited - keys)}"


def test_every_decision_says_its_status_why_what_else_and_what_would_change_it():
    records = sorted((DOCS / "decisions").glob("*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(path.name[:4])}. ")
        assert re.findall(r"^## (.*)$", text, flags=re.M) == [
            "Status",
            "Context",
            "Decision",
            "Alternatives",
            "Consequences",
            "What would change it",
        ], path.name


def test_no_word_of_the_glossary_is_defined_twice():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    words = [
        word.strip()
        for cell in re.findall(r"^\| ([^|]+) \|", text, flags=re.M)[2:]
        for word in cell.split(",")
    ]
    assert len(words) > 40
    assert sorted(words) == sorted(set(words))


def test_changelog_fragments_are_one_sentence_of_a_known_kind():
    for path in (ROOT / "changes").glob("*.md"):
        if path.name == "README.md":
            continue
        _, kind, suffix = path.name.split(".")
        assert (kind in KINDS, suffix) == (True, "md"), path.name
        text = path.read_text(encoding="utf-8")
        assert re.fullmatch(r"[^\n]+\.\n", text), f"{path.name} must be one line"


def test_the_page_of_installation_lists_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = (DOCS / "install.md").read_text(encoding="utf-8")
    table = text.split("## Extras")[1].split("##")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, flags=re.M)
    assert sorted(listed) == sorted(extras["optional-dependencies"])


def test_the_vision_has_five_lines():
    assert len((ROOT / "VISION.md").read_text(encoding="utf-8").splitlines()) == 5


@pytest.mark.parametrize("page", ["choose.md", "notation.md", "architecture.md", "index.md"])
def test_every_class_named_on_a_page_is_exported_by_a_room(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z][a-z]+[A-Z]?[A-Za-z]*)(?=[(`])", text))
    rooms = [importlib.import_module(f"credo.{name}") for name in sorted(existing_rooms())]
    exported = {name for room in rooms for name in getattr(room, "__all__", ())}
    theirs = {"None", "Pipeline", "GridSearchCV", "TransformedTargetRegressor"}
    assert named - exported - theirs == set()


def test_the_command_line_page_lists_every_option_of_every_command():
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    commands = command_line.commands
    sections = dict(re.findall(r"^## `credo (\w+)`\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S))
    assert set(sections) == set(commands)
    for name, command in commands.items():
        options = {o for p in command.params for o in p.opts if o.startswith("--")}
        listed = set(re.findall(r"^\| `(--[\w-]+)` \|", sections[name], flags=re.M))
        assert listed == options - {"--help"}, name


def test_the_page_of_published_sets_is_what_the_script_writes_from_what_is_stored():
    script = runpy.run_path(str(DOCS / "write_sets.py"))
    text = (DOCS / "published_sets.md").read_text(encoding="utf-8")
    stored = [script["read_sets"](name) for name in script["STORED"]]
    assert text == script["page"](*stored), "run: python docs/write_sets.py"
    toy = {"yacht": {"rows": 9, "columns": 2, "rmse": [0.5, 0.1], "log density": [-1.0, 0.2]}}
    toy["yacht"] |= {"inside": [0.91, 0.01], "commit": "abc"}
    expected = "| yacht | 9 | 2 | **credo** | 0.500 ± 0.100 | -1.000 ± 0.200 | 91.0% | abc |"
    assert expected in script["page"](toy, {})


def test_the_page_of_engines_is_what_the_script_writes_from_what_is_stored():
    script = runpy.run_path(str(DOCS / "write_engines.py"))
    text = (DOCS / "engines_compared.md").read_text(encoding="utf-8")
    assert text == script["page"](script["read_models"]()), "run: python docs/write_engines.py"
    toy = {"judge": "grid", "unit": "sd", "engines": {"ep": [0.25, 1.5]}, "commit": "abc"}
    cells = ["coin", "grid", "of a mean, in posterior sds", "", "0.2500 in 1.500 s", "", ""]
    expected = f"| {' | '.join([*cells, 'abc', '2'])} |"
    assert expected in script["page"]({"coin": toy | {"load": 2.0}})
