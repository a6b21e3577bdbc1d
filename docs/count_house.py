"""Print how large the house is and how far one must walk in it: counts of modules and files.

A fragment is a module that one other module imports and that no stub names: a module with a
public name has users for importers. A file is opened by a call that runs in it; to follow
``credo fit`` one opens files until the first engine runs: ``run``, or the search for the
settings of a process. Each flow runs once before it is counted, so that what a first import
calls is left out.
"""

import ast
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import redirect_stdout
from functools import cache, partial
from io import StringIO
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np

import credo
from credo.app.cli.command_line import main as command_line
from credo.inference.engine import engine
from credo.inference.kernel import search
from credo.numerics.parallel import threads

__all__ = ["Counts", "files_opened", "importers", "modules", "public_modules"]

SOURCE = Path(credo.__file__).parent
ENGINES = (engine.run, search.learn)
Counts = dict[str, str]


@cache
def modules() -> dict[str, Path]:
    """Return the file of each module by its dotted name; ``__init__`` is none."""
    paths = (path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    return {_dotted(path.with_suffix("")): path for path in sorted(paths)}


def importers() -> dict[str, set[str]]:
    """Return for each module the modules that import something of it, also through a stub."""
    known = modules()
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for module, part in _imports(path):
            holder = _holder(module, part)
            if holder in found and holder != name:
                found[holder].add(name)
    return found


def public_modules() -> set[str]:
    """Return modules that the stub of a package names."""
    stubs = (_stub(_dotted(path.parent)) for path in SOURCE.rglob("__init__.pyi"))
    return {module for stub in stubs for module, _ in stub.values()}


def files_opened(
    flow: Callable[[], Any], until: Collection[Callable[..., Any]] = ()
) -> set[str]:
    """Return the files of the package in which calls ran, up to the first call of ``until``.

    On one core: of work that is done side by side, the order would be that of chance.
    """
    found: set[str] = set()
    ends = {end.__code__ for end in until}
    is_over = Event()

    def see(frame: FrameType, event: str, _: Any) -> None:
        if frame.f_code in ends:
            is_over.set()
        if is_over.is_set():
            sys.setprofile(None)
            return
        path = Path(frame.f_code.co_filename)
        is_call = event == "call" and frame.f_code.co_name != "<module>"
        if is_call and SOURCE in path.parents:
            found.add(path.relative_to(SOURCE).as_posix())

    with mock.patch.object(threads, "n_cores", return_value=1):
        sys.setprofile(see)
        try:
            flow()
        finally:
            sys.setprofile(None)
    return found


def _dotted(path: Path) -> str:
    return ".".join((SOURCE.name, *path.relative_to(SOURCE).parts))


def _imports(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)


@cache
def _stub(package: str) -> dict[str, tuple[str, str]]:
    path = SOURCE.joinpath(*package.split(".")[1:], "__init__.pyi")
    if not path.exists():
        return {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = (line for line in tree.body if isinstance(line, ast.ImportFrom))
    return {
        str(a.asname): (str(line.module), a.name)
        for line in lines
        for a in line.names
        if line.module != package
    }


def _holder(module: str, part: str) -> str:
    """Return the module that a name is imported from: itself, a part, or a line of a stub."""
    if part in _stub(module):
        return _holder(*_stub(module)[part])
    whole = f"{module}.{part}"
    return whole if whole in modules() else module


def _query() -> Callable[[], Any]:
    first, second = (credo.data.load_example_network("asia") for _ in range(2))
    first.query("dysp", given={"smoke": "yes"})
    return partial(second.query, "dysp", given={"smoke": "yes"})


def _classification() -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(569, 30))
    y = (x[:, 0] + rng.normal(size=569) > 0).astype(int)
    credo.LogisticRegression().fit(x, y)
    return partial(credo.LogisticRegression().fit, x, y)


def _command(folder: str) -> Callable[[], Any]:
    path = Path(folder) / "table.csv"
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{2 * x + rng.normal():.3f}" for x in rng.uniform(0, 9, 60)]
    path.write_text("\n".join(["dose,outcome", *rows]), encoding="utf-8")
    sys.argv = ["credo", "fit", str(path), "--target", "outcome"]

    def fit() -> None:
        try:
            with redirect_stdout(StringIO()):
                command_line()
        except SystemExit as end:
            if end.code:
                raise

    fit()
    return fit


def _house() -> Counts:
    known, public = modules(), public_modules()
    one = [name for name, users in importers().items() if len(users) == 1]
    fragments = [name for name in one if name not in public]
    folders = [path.parent for path in known.values()]
    largest = max(folders, key=folders.count)
    return {
        "modules": str(len(known)),
        "largest folder": f"{folders.count(largest)} in {largest.relative_to(SOURCE)}",
        "modules with one importer": f"{len(one)}, {len(one) / len(known):.1%}",
        "of these fragments": f"{len(fragments)}, {len(fragments) / len(known):.1%}",
    }


def _flows() -> Counts:
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "files opened by net.query": files_opened(_query()),
            "files opened by LogisticRegression.fit": files_opened(_classification()),
            "files opened by credo fit": files_opened(_command(folder), until=ENGINES),
        }
    return {name: str(len(files)) for name, files in found.items()}


if __name__ == "__main__":
    for name, count in (_house() | _flows()).items():
        print(f"{name:40s} {count}")
