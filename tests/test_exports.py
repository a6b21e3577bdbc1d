"""The public names of a room are those that Python itself reads in its stub."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import credo
from credo.exports import public_names, stub_lines

SOURCE = Path(str(credo.__file__)).parent
STUBS = sorted(path.relative_to(SOURCE.parent) for path in SOURCE.rglob("*.pyi"))


def parsed(text):
    return {
        alias.asname or alias.name: (line.module, alias.name)
        for line in ast.parse(text).body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


@pytest.mark.parametrize("stub", STUBS, ids=str)
def test_every_stub_is_read_as_by_the_parser_of_python(stub):
    found = stub_lines(".".join(stub.parent.parts), stub.name)
    assert dict(found) == parsed((SOURCE.parent / stub).read_text(encoding="utf-8"))
    assert len(found) > 0


def test_a_name_that_the_stub_lacks_is_no_attribute():
    load, listed, names = public_names("credo.features")
    assert listed() == names == sorted(names)
    with pytest.raises(AttributeError, match=r"'credo\.features' has no attribute 'nothing'"):
        load("nothing")


def test_import_credo_loads_no_parser():
    code = "import sys, credo; print({'ast', 'inspect', 'pkgutil', 'numpy'} & {*sys.modules})"
    # Without `site`, which may load anything; credo is found where it is.
    command = [
        sys.executable,
        "-S",
        "-c",
        f"import sys; sys.path.append({str(SOURCE.parent)!r}); {code}",
    ]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "set()\n"
