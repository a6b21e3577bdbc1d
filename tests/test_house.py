"""Where things stand: folders, sub-rooms, public names and loops."""

import ast
import importlib
import re
import sys
import tomllib
import warnings
from collections import defaultdict
from pathlib import Path

import pytest

import credo

SOURCE = Path(credo.__file__).parent
DOCS = SOURCE.parents[1] / "docs"
MOST_MODULES = 25
# One module for each distribution, until there are forty of them.
LONG_LISTS = {"distributions"}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py"))


def dotted(path):
    return ".".join(("credo", *path.relative_to(SOURCE).parts))


def sub_rooms():
    return [folder for folder in PACKAGES if len(folder.relative_to(SOURCE).parts) > 1]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


@pytest.mark.parametrize("folder", PACKAGES, ids=dotted)
def test_no_folder_is_a_heap(folder):
    if folder.name not in LONG_LISTS:
        assert len([path for path in MODULES if path.parent == folder]) <= MOST_MODULES


def test_loops_alone_import_numba():
    users = {p for p in MODULES if any(name.split(".")[0] == "numba" for name in imported(p))}
    assert users
    assert {path for path in users if not path.name.startswith("_loops")} == set()


def test_every_library_that_is_imported_is_declared():
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]["parquet"]
    declared = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"] + optional}
    used = {name.split(".")[0] for path in MODULES for name in imported(path)}
    known = {"credo", "__future__", *sys.stdlib_module_names}
    assert {"scikit-learn" if one == "sklearn" else one for one in used - known} <= declared


def test_every_sub_room_stands_on_the_architecture_page_with_its_sentence():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = text.split("## Two coordinates")[1].split("Loops that")[0]
    shown = dict(re.findall(r"^\| `([\w/]+)` \| (.*) \|$", table, flags=re.M))
    held = {}
    for folder in sub_rooms():
        doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8")))
        held["/".join(folder.relative_to(SOURCE).parts)] = doc.splitlines()[0]
    assert shown == held


@pytest.mark.parametrize("folder", [f for f in PACKAGES if (f / "__init__.pyi").exists()])
def test_every_line_of_a_stub_is_a_public_name_and_hides_no_module(folder):
    package = importlib.import_module(dotted(folder))
    stub = ast.parse((folder / "__init__.pyi").read_text(encoding="utf-8"))
    names = [
        a.asname for line in stub.body if isinstance(line, ast.ImportFrom) for a in line.names
    ]
    assert sorted(names) == package.__all__ == dir(package)
    for name in names:
        found = getattr(package, name)
        hidden = folder / f"{name}.py", folder / name / "__init__.py"
        assert found.__class__.__name__ == "module" or not any(p.exists() for p in hidden), name


def test_a_name_that_has_moved_is_found_with_a_warning():
    with pytest.warns(FutureWarning, match=r"is now credo\.plots\.layout\.layered_layout"):
        old = credo.graphs.layered_layout
    assert old is credo.plots.layout.layered_layout


@pytest.mark.parametrize(
    "statement", ["from credo.graphs import layered_layout", "credo.graphs.layered_layout"]
)
def test_a_name_that_has_moved_warns_once_at_the_line_that_asks(statement):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(statement, "<asking>", "exec"), {"credo": credo})
    assert [(one.category, one.filename) for one in caught] == [(FutureWarning, "<asking>")]


@pytest.mark.parametrize(
    ("room", "old", "new"),
    [
        ("families", "LinearGaussian", "LinearGaussianBelief"),
        ("inference", "HybridProblem", "HybridInference"),
        ("numerics.optimize", "MinimumStatus", "Status"),
        ("plots", "coverage_curve", "coverage_plot"),
        ("plots", "precision_recall_curve", "precision_recall_plot"),
        ("plots", "reliability_curve", "reliability_plot"),
        ("plots", "roc_curve", "roc_plot"),
    ],
)
def test_a_name_that_was_changed_is_found_with_a_warning(room, old, new):
    package = importlib.import_module(f"credo.{room}")
    with pytest.warns(FutureWarning, match=rf"{old} is now credo\.{room}\.{new}; the old"):
        found = getattr(package, old)
    assert found is getattr(package, new)
    assert old not in dir(package)


def test_two_things_never_share_a_public_name():
    things = defaultdict(set)
    for folder in PACKAGES:
        if (folder / "__init__.pyi").exists():
            package = importlib.import_module(dotted(folder))
            for name in package.__all__:
                things[name].add(id(getattr(package, name)))
    assert len(things) > 300
    assert [name for name, found in things.items() if len(found) > 1] == []


def test_a_name_that_is_nowhere_is_no_attribute():
    with pytest.raises(AttributeError, match=r"'credo\.graphs' has no attribute 'nowhere'"):
        _ = credo.graphs.nowhere
