import io
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

import credo
from credo.numerics import _loops_compilation as module
from credo.numerics._loops_compilation import compiled, compiled_part, direct

TOTALS = """
import numpy as np
from credo.numerics.linear._loops_grouped import totals
x, label, weight = np.array([[2.0, np.nan], [3.0, 5.0]]), np.zeros(2, int), np.array([1.0, 2.0])
sums = np.zeros((2, 1, 2))
totals(x, label, weight, *sums)
assert sums.tolist() == [[[3.0, 2.0]], [[8.0, 10.0]]], sums
print(totals.stats.cache_hits[totals.signatures[0]])
"""


def alternating(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] if i % 2 == 0 else -x[i]
    return total


def answer(loop):
    return loop(np.array([5.0, 2.0, 1.0]))


def n_read(loop):
    return sum(loop.stats.cache_hits.values())


def use_folder(monkeypatch, folder):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    module._folders.cache_clear()


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """Function that returns the files of loops."""
    use_folder(monkeypatch, tmp_path)
    yield lambda: sorted(tmp_path.glob("*/*"))
    module._folders.cache_clear()


def test_a_loop_is_compiled_once_and_then_read(kept):
    first, second = compiled()(alternating), compiled()(alternating)
    assert (answer(first), n_read(first)) == (4.0, 0)
    assert [path.suffix for path in kept()] == [".loop"]
    assert (answer(second), n_read(second)) == (4.0, 1)


def test_a_loop_of_one_form_is_called_directly(kept):
    loop = compiled()(alternating)
    assert direct(loop) is loop
    answer(loop)
    assert direct(loop) is not loop
    assert answer(direct(loop)) == 4.0
    assert direct(alternating) is alternating


def test_a_loop_carries_the_parts_it_calls(kept):
    part = compiled_part()(alternating)

    def twice(x):
        return 2.0 * part(x)

    assert answer(compiled()(twice)) == 8.0
    assert len(kept()) == 1


@pytest.mark.parametrize(
    "damaged",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content[:3000] + bytes([content[3000] ^ 1]) + content[3001:],
        lambda content: b"\x80\x04K\x01." * 100,
    ],
    ids=["empty", "half", "cut", "flipped bit", "another pickle"],
)
def test_a_damaged_file_is_compiled_anew(kept, damaged):
    answer(compiled()(alternating))
    (path,) = kept()
    whole = path.read_bytes()
    path.write_bytes(damaged(whole))
    anew, after = compiled()(alternating), compiled()(alternating)
    assert (answer(anew), n_read(anew)) == (4.0, 0)
    assert (answer(after), n_read(after)) == (4.0, 1)
    assert kept() == [path]


def test_files_of_other_sources_are_swept_when_a_loop_is_kept(kept, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(module, "_source_stamp", lambda: "older")
        answer(compiled()(alternating))
    answer(compiled()(alternating))
    (path,) = kept()
    assert "older" not in path.name


def test_where_nothing_can_be_kept_loops_are_compiled_in_memory(kept, monkeypatch):
    monkeypatch.setattr(module, "_can_write", lambda folder, mode: False)
    loop = compiled()(alternating)
    assert (answer(loop), kept()) == (4.0, [])


def test_a_disk_that_is_full_does_not_matter(kept, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert (answer(compiled()(alternating)), kept()) == (4.0, [])


def test_only_a_folder_that_is_the_users_alone_is_read(tmp_path, monkeypatch):
    own, open_to_all, link = tmp_path / "own", tmp_path / "open", tmp_path / "link"
    own.mkdir(mode=0o700)
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    link.symlink_to(own)
    assert [module._is_own(folder) for folder in (own, open_to_all, link)] == [1, 0, 0]
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    assert not module._is_own(own)


def test_a_package_and_home_that_cannot_be_written_leave_a_private_temporary_folder(tmp_path):
    package = tmp_path / "site" / "credo"
    ignored = shutil.ignore_patterns("__pycache__", "sets")
    shutil.copytree(Path(credo.__file__).parent, package, ignore=ignored)
    (package / "numerics" / "__pycache__").touch()
    (tmp_path / "home").touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    places = {
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "home"),
        "LOCALAPPDATA": str(tmp_path / "home"),
        "TMPDIR": str(temporary),
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": "",
    }

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", TOTALS],
            env=os.environ | places,
            stdout=subprocess.PIPE,
            text=True,
        )

    at_once = [start(), start()]
    found = sorted(process.communicate()[0] for process in at_once)
    # One that is late finds what the other has kept.
    assert found in (["0\n", "0\n"], ["0\n", "1\n"])
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.suffix for path in folder.iterdir()] == [".loop"]
    assert start().communicate()[0] == "1\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_who_waits_for_the_compiler_in_a_terminal_is_told_once(kept, monkeypatch):
    monkeypatch.setattr(module, "_waiting", module._Waiting())
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    for stream, said in ((Terminal(), "credo: compiling, once ...\n"), (Terminal(), "")):
        monkeypatch.setattr(sys, "stderr", stream)
        answer(compiled()(alternating))
        for path in kept():
            path.unlink()
        assert stream.getvalue() == said


def test_who_waits_for_a_single_long_loop_is_told_while_it_is_compiled(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    monkeypatch.setattr(sys, "stderr", Terminal())
    spoken = threading.Event()
    monkeypatch.setattr(sys.stderr, "flush", spoken.set)
    compiling = module._Waiting().during(lambda: spoken.wait(10.0))
    assert compiling()
    assert sys.stderr.getvalue() == "credo: compiling, once ...\n"


def test_at_a_prompt_or_in_a_notebook_people_are_told_as_well(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not module._is_watched()
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert module._is_watched()


def test_who_cannot_keep_what_is_compiled_is_told_what_to_do(kept, monkeypatch):
    monkeypatch.setattr(module, "_waiting", module._Waiting())
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(module, "_can_write", lambda folder, mode: False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    answer(compiled()(alternating))
    assert "set NUMBA_CACHE_DIR" in sys.stderr.getvalue()


def test_nobody_is_told_where_nobody_looks(kept, monkeypatch, capsys):
    monkeypatch.setattr(module, "_waiting", module._Waiting())
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    answer(compiled()(alternating))
    assert capsys.readouterr().err == ""


def test_the_time_after_a_loop_that_cannot_be_compiled_is_not_waited_for(kept, monkeypatch):
    monkeypatch.setattr(module, "_waiting", module._Waiting())
    monkeypatch.setattr(module, "PATIENCE", 1e5)
    with pytest.raises(numba.TypingError):
        compiled()(alternating)("no numbers")
    now = module.time.monotonic()
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 1e6)
    monkeypatch.setattr(sys, "stderr", Terminal())
    answer(compiled()(alternating))
    assert sys.stderr.getvalue() == ""


CHAINS = """
import numpy as np
from credo import LogisticRegression
x = np.random.default_rng(0).normal(size=(30, 2))
model = LogisticRegression(inference="nuts", random_state=0).fit(x, np.arange(30) % 3)
print(model.posterior_.draws["parameters"].sum().hex())
"""


@pytest.mark.slow
def test_chains_of_one_seed_are_the_same_whether_loops_are_compiled_or_read(tmp_path):
    found = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CHAINS],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert found[0] == found[1] != ""
