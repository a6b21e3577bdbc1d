"""A report made by a second process, against the same made in this one."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from credo.app.cli import report_process as module
from credo.app.cli.command_line import command_line
from credo.app.cli.report_process import ReportProcess, report_process
from credo.app.console.flag import with_flags
from credo.study.report.page import page_html
from credo.study.report.report import report_content


class Unpicklable(str):
    """A text that cannot be sent to another process."""

    def __reduce__(self):
        raise TypeError


@pytest.fixture(scope="module")
def content(result):
    return report_content(result)


FLAGS = dict.fromkeys(module._FLAGS.values(), 0)


@pytest.fixture
def elsewhere(monkeypatch):
    """Let no page be made in this process."""
    monkeypatch.setattr(module, "study", None)


@pytest.fixture
def started(monkeypatch):
    """Let a process be started although this one has loaded what draws."""
    monkeypatch.setattr(module, "_is_worth", lambda: True)


@pytest.mark.parametrize("kind", ["result", "sorted_rows"])
def test_another_process_makes_the_same_page(kind, request, started, elsewhere):
    content = report_content(request.getfixturevalue(kind))
    with report_process() as maker:
        maker.begin(content)
        assert maker.page() == page_html(content, wording=with_flags).encode()


def test_files_of_the_current_folder_are_no_modules(content, tmp_path, monkeypatch, started):
    (tmp_path / "numpy.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    with report_process() as maker:
        maker.begin(content)
        assert maker.page() == page_html(content, wording=with_flags).encode()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "code", ["raise SystemExit(1)", "print('half of a p', flush=True); 1/0"]
)
def test_a_process_that_fails_is_made_up_for(code, content):
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    maker = ReportProcess(process)
    maker.begin(content)
    assert maker.page() == page_html(content, wording=with_flags).encode()


def test_a_process_that_cannot_be_started_is_made_up_for(content, monkeypatch, started):
    monkeypatch.setattr(sys, "executable", "/no/such/file")
    with report_process() as maker:
        maker.begin(content)
        assert maker.page() == page_html(content, wording=with_flags).encode()


def test_whatever_stops_the_work_ends_the_other_process(monkeypatch, started):
    processes = []
    start = module._started
    monkeypatch.setattr(module, "_started", lambda: processes.append(start()) or processes[-1])
    with pytest.raises(KeyboardInterrupt), report_process():
        raise KeyboardInterrupt
    assert processes[0].poll() is not None


@pytest.mark.parametrize("report", [("--report", "page.html"), ()])
def test_no_process_is_started_for_no_report(report, csv_file, monkeypatch, started):
    asked = []
    monkeypatch.chdir(csv_file.parent)
    monkeypatch.setattr(module, "_started", lambda: asked.append(1))
    ran = CliRunner().invoke(command_line, ["fit", str(csv_file), "--target", "none", *report])
    assert "target column 'none' must be in clinic.csv" in ran.output
    assert len(asked) == bool(report)


@pytest.mark.parametrize(
    ("n_cores", "loaded", "is_worth"),
    [(2, {}, True), (1, {}, False), (2, {"matplotlib"}, False)],
)
def test_one_core_or_what_draws_being_loaded_make_a_process_useless(
    n_cores, loaded, is_worth, monkeypatch
):
    monkeypatch.setattr("credo.numerics.n_cores", lambda: n_cores, raising=False)
    monkeypatch.setattr(module, "sys", SimpleNamespace(modules=loaded))
    assert module._is_worth() is is_worth


def test_what_others_print_is_no_part_of_the_page(content, tmp_path, monkeypatch, started):
    (tmp_path / "sitecustomize.py").write_text("print('hello')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with report_process() as maker:
        maker.begin(content)
        assert maker.page() == page_html(content, wording=with_flags).encode()


def test_another_credo_than_the_one_that_asks_does_not_answer(tmp_path):
    served = subprocess.run(
        [sys.executable, "-P", "-c", module._COMMAND, str(tmp_path / "credo" / "__init__.py")],
        input=b"",
        capture_output=True,
        check=False,
    )
    assert (served.returncode, served.stdout, served.stderr) == (1, b"", b"")


@pytest.mark.parametrize(("flag", "letter"), [("isolated", "-I"), ("no_user_site", "-s")])
def test_what_this_python_must_not_load_the_other_must_not_either(flag, letter, monkeypatch):
    asked = []
    monkeypatch.setattr(module.sys, "flags", SimpleNamespace(**FLAGS | {flag: 1}))
    monkeypatch.setattr(module.subprocess, "Popen", lambda command, **_: asked.append(command))
    module._started()
    assert letter in asked[0]


@pytest.mark.parametrize("trouble", ["unpicklable", "no thread", "closed"])
def test_whatever_keeps_the_other_from_being_asked_is_made_up_for(
    trouble, content, monkeypatch, started
):
    with report_process() as maker:
        if trouble == "closed":
            maker.close()
        if trouble == "no thread":
            monkeypatch.setattr(module.Thread, "start", None)
        sent = content
        if trouble == "unpicklable":
            sent = dataclasses.replace(content, footer=Unpicklable(content.footer))
        maker.begin(sent)
        assert maker.page() == page_html(content, wording=with_flags).encode()


def failing():
    raise ValueError("once")


LONG = 300_000
SERVED = """
import sys, time
from credo.app.cli.report_process import halves
sys.stdin.buffer.read()
halves([lambda: time.sleep(60) or "a", lambda: "b" * {n_letters}])
"""


@pytest.mark.parametrize("n_parts", [0, 1, 2, 7])
def test_halves_of_a_page_come_in_order(n_parts):
    parts = [lambda i=i: f"{i} " * LONG for i in range(n_parts)]
    assert module.halves(parts) == [part() for part in parts]


def test_a_half_that_fails_in_a_copy_fails_here_too():
    with pytest.raises(ValueError, match="once"):
        module.halves([str, failing])


def test_a_half_that_fails_here_does_not_wait_for_the_copy():
    began = time.monotonic()
    with pytest.raises(ValueError, match="once"):
        module.halves([failing, lambda: time.sleep(60) or "b"])
    assert time.monotonic() - began < 30


def test_a_copy_that_is_killed_is_made_up_for():
    here = os.getpid()

    def dying():
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return "b"

    assert module.halves([lambda: "a", dying]) == ["a", "b"]


def test_without_copies_of_processes_parts_are_made_in_turn(monkeypatch):
    def fork():
        raise BlockingIOError

    monkeypatch.setattr(module.os, "fork", fork)
    assert module.halves([lambda: "a", lambda: "b"]) == ["a", "b"]
    monkeypatch.setattr(module.sys, "platform", "elsewhere")
    assert module.halves([lambda: "a", lambda: "b"]) == ["a", "b"]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
@pytest.mark.parametrize("n_letters", [10, LONG])
def test_closing_ends_the_copy_too(n_letters):
    process = subprocess.Popen(
        [sys.executable, "-c", SERVED.format(n_letters=n_letters)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    maker = ReportProcess(process)
    maker.begin("anything")
    began = time.monotonic()
    while len(group(process.pid)) < 2 and time.monotonic() - began < 60:
        time.sleep(0.05)
    assert len(group(process.pid)) == 2
    time.sleep(0.3)
    maker.close()
    assert set(group(process.pid)) <= {"Z"}


def group(number):
    """Return the states of the processes of a group, "Z" of those that are over."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, owner = path.read_text().rpartition(")")[2].split()[:3]
            found += [state] * (int(owner) == number)
    return found
