"""A new thing of every kind is one module and one line: shown on a copy of the package.

The copy is a tree of links to the package in which a few folders are real. Each skeleton is
copied into it, and each stub gets one line; then the tests that walk the public names are run
on the copy, as whoever adds a thing would run them.
"""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import credo

ROOT = Path(__file__).resolve().parents[2]
SKELETONS = ROOT / "docs" / "skeletons"
PACKAGE = Path(credo.__file__).parent

ADDED = {
    "distribution": ("distributions/gumbel.py", "distributions", ["Gumbel"]),
    "family": ("families/error.py", "families", ["ErrorStatistics", "GammaError"]),
    "basis": ("features/hinge.py", "features", ["HingeBasis"]),
    "kernel": ("features/kernels/wendland.py", "features", ["Wendland"]),
    "engine": ("inference/density/newton.py", "inference", ["NewtonLaplace"]),
    "method": ("inference/discrete/approximate/fair.py", "inference", ["FairDraws"]),
    "model": ("models/linear/constant.py", "models", ["ConstantRegression"]),
    "node": ("graphs/node/additive.py", "graphs", ["Additive"]),
}
FORMAT = "data/network_file/lines.py"
FORMAT_LINE = '    _in_module("credo.data.network_file.lines", "lines", ".lines"),\n'
EXAMPLE = "data/sets/sprinkler.bif"


def linked(source, target, real):
    """Link a folder, but make those of ``real`` and their parents folders of their own."""
    target.mkdir()
    for child in source.iterdir():
        inside = [place for place in real if place.parts[:1] == (child.name,)]
        if inside:
            rest = [Path(*place.parts[1:]) for place in inside if len(place.parts) > 1]
            linked(child, target / child.name, rest)
        elif child.name != "__pycache__" or not real:
            (target / child.name).symlink_to(child)


def with_line(path, line, after=None):
    """Replace a link by a copy that has one more line."""
    text = path.read_text()
    path.unlink()
    path.write_text(text.replace(after, after + line) if after else text + line)


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """Return a folder with a package to which one thing of every kind was added."""
    folder = tmp_path_factory.mktemp("grown")
    places = [Path(place).parent for place, _, _ in ADDED.values()]
    places += [Path(room) for _, room, _ in ADDED.values()]
    linked(PACKAGE, folder / "credo", [*places, Path(FORMAT).parent, Path(EXAMPLE).parent])
    for kind, (place, room, names) in ADDED.items():
        shutil.copy(SKELETONS / f"{kind}.py", folder / "credo" / place)
        module = "credo." + place.removesuffix(".py").replace("/", ".")
        lines = [f"from {module} import {name} as {name}\n" for name in names]
        with_line(folder / "credo" / room / "__init__.pyi", "".join(lines))
    shutil.copy(SKELETONS / "format.py", folder / "credo" / FORMAT)
    formats = folder / "credo" / "data" / "network_file" / "formats.py"
    with_line(formats, FORMAT_LINE, after="FORMATS = (\n")
    network = runpy.run_path(str(SKELETONS / "example.py"))["SPRINKLER"]
    credo.save_network(network, folder / "credo" / EXAMPLE)
    return folder


def changed(folder):
    """Return the files of the copy that are not links."""
    found = (path for path in (folder / "credo").rglob("*") if path.is_file())
    return {str(p.relative_to(folder / "credo")) for p in found if not p.is_symlink()}


def test_nothing_but_the_modules_and_one_line_each_was_touched(grown):
    modules = {place for place, _, _ in ADDED.values()} | {FORMAT, EXAMPLE}
    stubs = {f"{room}/__init__.pyi" for _, room, _ in ADDED.values()}
    touched = {path for path in changed(grown) if "__pycache__" not in path}
    assert touched == modules | stubs | {"data/network_file/formats.py"}
    for path in [*stubs, "data/network_file/formats.py"]:
        before, after = (
            (folder / path).read_text().splitlines() for folder in (PACKAGE, grown / "credo")
        )
        room = path.split("/")[0]
        n_names = sum(len(names) for _, owner, names in ADDED.values() if owner == room)
        assert len(after) - len(before) == max(n_names, 1)


CHECKED = """
import sys, tempfile
import pytest
import credo
from credo import graphs, inference
from credo.data import NETWORK_EXTENSIONS, example_network_names, load, load_example_network
from credo.data import load_network, save, save_network
assert credo.__file__.startswith({folder!r}), credo.__file__

for room, names in {rooms!r}.items():
    assert set(names) <= set(getattr(credo, room).__all__)

assert "fair_draws" in inference.methods()
assert "fair_draws" not in inference.methods("mode")
assert ".lines" in NETWORK_EXTENSIONS
assert "sprinkler" in example_network_names()

net = load_example_network("sprinkler")
exact = net.query("rain", {{"wet": "yes"}})
for method in ("fair_draws", inference.FairDraws(n_draws=50_000)):
    answer = net.query("rain", {{"wet": "yes"}}, method=method)
    assert abs(answer - exact).max() < 5 * answer.attrs["error"], (answer, exact)
    assert answer.attrs["method"] == "weighted fair draws"

with tempfile.TemporaryDirectory() as folder:
    save_network(net, f"{{folder}}/net.lines.gz")
    assert load_network(f"{{folder}}/net.lines.gz").query("rain").tolist() == [0.8, 0.2]

    spec = graphs.Additive(1.0, {{"flu": 2.0}})
    visits = credo.BayesianNetwork("flu -> visits", {{"flu": [0.5, 0.5], "visits": spec}})
    save_network(visits, f"{{folder}}/visits.json")
    back = load_network(f"{{folder}}/visits.json").conditionals["visits"]
    assert back.rates.tolist() == [2.0] and back.base == 1.0

    for engine in (inference.FairDraws(n_draws=7), inference.NewtonLaplace(start=2.0)):
        save(engine, f"{{folder}}/e.credo")
        assert load(f"{{folder}}/e.credo") == engine
        credo.laws.check_class(type(engine))
print("all found")
off = [word for name in ("randomly", "cacheprovider", "xdist") for word in ("-p", "no:" + name)]
sys.exit(pytest.main([*off, "-vv", "-k", {which!r}, *{tests!r}]))
"""
TESTS = {
    "gives_examples": "evaluation/test_laws.py",
    "obey": "evaluation/test_laws.py",
    "basis_of_the_room_obey": "features/test_laws.py",
    "kernel_of_the_room_obeys": "features/kernels/test_kernel.py",
    "estimator_obey": "models/test_estimator_laws.py",
    "same_in_every_field": "data/model_file/test_registry.py",
    "is_loaded_as_it_was_saved": "data/test_saved_models.py",
    "as_credo_writes_them": "data/sets/test_example_network.py",
    "keeps_the_tables": "data/network_file/test_formats.py",
}
WALKED = {
    "Gumbel": ["gives_examples", "obey", "same_in_every_field"],
    "ErrorStatistics": ["gives_examples", "obey", "same_in_every_field"],
    "GammaError": ["gives_examples", "obey", "same_in_every_field"],
    "HingeBasis": ["gives_examples", "basis_of_the_room_obey", "same_in_every_field"],
    "Wendland": ["gives_examples", "kernel_of_the_room_obeys", "same_in_every_field"],
    "FairDraws": ["gives_examples", "obey"],
    "ConstantRegression": ["gives_examples", "estimator_obey", "is_loaded_as_it_was_saved"],
    "Additive": ["gives_examples", "obey"],
    "lines": ["keeps_the_tables"],
    "sprinkler": ["as_credo_writes_them"],
}


def test_laws_saving_and_listing_find_what_was_added(grown):
    rooms = {}
    for _, room, names in ADDED.values():
        rooms.setdefault(room, []).extend(names)
    which = f"({' or '.join(WALKED)}) and ({' or '.join(TESTS)})"
    files = sorted({f"tests/{name}" for name in TESTS.values()})
    code = CHECKED.format(folder=str(grown), rooms=rooms, which=which, tests=files)
    paths = os.pathsep.join([str(grown), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "all found" in done.stdout
    passed = [line for line in done.stdout.splitlines() if "PASSED" in line]
    for name, tests in WALKED.items():
        for test in tests:
            assert [line for line in passed if name in line and test in line], (name, test)
