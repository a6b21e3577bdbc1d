"""A report made by a second process, against the same made in this one."""

import subprocess
import sys

import pytest

from credo.app import report_process as module
from credo.app.report import report_page
from credo.app.report_process import ReportProcess, report_process


@pytest.fixture
def elsewhere(monkeypatch):
    """Let no page be made in this process."""
    monkeypatch.setattr(module, "app", None)


@pytest.fixture
def started(monkeypatch):
    """Let a process be started although this one has loaded what draws."""
    monkeypatch.delitem(sys.modules, "matplotlib")
    monkeypatch.setattr(module, "n_cores", lambda: 2)


@pytest.mark.parametrize("kind", ["result", "sorted_rows"])
def test_another_process_makes_the_same_page(kind, request, started, elsewhere):
    judged = request.getfixturevalue(kind)
    with report_process(is_wanted=True) as maker:
        maker.begin(judged)
        assert maker.page(judged) == report_page(judged).encode()


def test_files_of_the_current_folder_are_no_modules(result, tmp_path, monkeypatch, started):
    (tmp_path / "numpy.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path)
    with report_process(is_wanted=True) as maker:
        maker.begin(result)
        assert maker.page(result) == report_page(result).encode()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "code", ["raise SystemExit(1)", "print('half of a p', flush=True); 1/0"]
)
def test_a_process_that_fails_is_made_up_for(code, result):
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    maker = ReportProcess(process)
    maker.begin(result)
    assert maker.page(result) == report_page(result).encode()


def test_a_process_that_cannot_be_started_is_made_up_for(result, monkeypatch, started):
    monkeypatch.setattr(sys, "executable", "/no/such/file")
    with report_process(is_wanted=True) as maker:
        maker.begin(result)
        assert maker.page(result) == report_page(result).encode()


def test_whatever_stops_the_work_ends_the_other_process(monkeypatch, started):
    processes = []
    start = module._started
    monkeypatch.setattr(module, "_started", lambda: processes.append(start()) or processes[-1])
    with pytest.raises(KeyboardInterrupt), report_process(is_wanted=True):
        raise KeyboardInterrupt
    assert processes[0].poll() is not None


@pytest.mark.parametrize(("is_wanted", "n_cores"), [(False, 2), (True, 1)])
def test_no_process_is_started_for_nothing(is_wanted, n_cores, monkeypatch, started):
    monkeypatch.setattr(module, "n_cores", lambda: n_cores)
    monkeypatch.setattr(module, "_started", None)
    with report_process(is_wanted):
        pass


def test_what_has_loaded_pictures_already_draws_them_itself(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", module)
    monkeypatch.setattr(module, "_started", None)
    with report_process(is_wanted=True):
        pass
