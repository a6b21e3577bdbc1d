"""Interrupts, full disks and readers that leave end in at most one sentence."""

import os
import resource
import signal
import subprocess
import sys

import pandas as pd
import pytest
from click.testing import CliRunner

from credo.app.cli.command_line import command_line
from credo.data import save


def credo(*arguments, **options):
    command = [sys.executable, "-m", "credo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_command_that_is_stopped_says_one_sentence(error, tmp_path, monkeypatch):
    def stop(*_):
        raise error

    monkeypatch.setattr("credo.app.cli.network_job.info", stop)
    ran = CliRunner().invoke(command_line, ["network", "info", "x.bif"])
    is_interrupt = error is KeyboardInterrupt
    assert ran.exit_code == (130 if is_interrupt else 2)
    said = (
        "stopped; each output is whole or as it was before." if is_interrupt else "memory must"
    )
    assert said in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert ran.stdout == ""


INTERRUPTING = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


@pytest.mark.parametrize("module", ["click", "pandas"])
def test_an_interrupt_while_modules_load_is_one_sentence(module, tmp_path):
    (tmp_path / f"{module}.py").write_text(INTERRUPTING)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    ran = credo("predict", "m.credo", "t.csv", env={**os.environ, "PYTHONPATH": path})
    assert ran.returncode == 130
    assert ran.stderr.startswith("credo: stopped")
    assert len(ran.stderr.strip().splitlines()) == 1


def no_more_than_100_bytes():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


@pytest.mark.parametrize("is_unbuffered", [False, True])
def test_a_full_standard_output_is_one_sentence_and_no_success(is_unbuffered, tmp_path):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    if is_unbuffered:
        environment["PYTHONUNBUFFERED"] = "1"
    with open(tmp_path / "out", "wb") as out:
        ran = subprocess.run(
            [sys.executable, "-m", "credo", "--help"],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment,
            preexec_fn=no_more_than_100_bytes,
        )
    assert (tmp_path / "out").stat().st_size == 100
    assert ran.returncode == 2
    assert "standard output must take all that is written; found that it does not" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_table_too_long_for_standard_output_is_one_sentence(result, csv_file, tmp_path):
    save(result.model, tmp_path / "m.credo")
    rows = pd.concat([pd.read_csv(csv_file)] * 20)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    command = ["predict", str(tmp_path / "m.credo"), str(tmp_path / "rows.csv")]
    with open(tmp_path / "out", "wb") as out:
        ran = subprocess.run(
            [sys.executable, "-m", "credo", *command],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=no_more_than_100_bytes,
        )
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert "standard output must take all that is written; found that it does not" in ran.stderr


def test_a_reader_that_leaves_ends_a_command_quietly_as_it_ends_other_tools():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as out:
        command = [sys.executable, "-m", "credo", "--help"]
        ran = subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (ran.returncode, ran.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2)])
def test_closed_standard_streams_are_no_traceback(closed, tmp_path):
    def close():
        for number in closed:
            os.close(number)

    with open(tmp_path / "said", "wb") as said:
        ran = subprocess.run(
            [sys.executable, "-m", "credo", "--version"],
            stdout=said,
            stderr=said,
            check=False,
            preexec_fn=close,
        )
    assert ran.returncode == 0
    assert b"Traceback" not in (tmp_path / "said").read_bytes()


def test_predictions_that_nobody_would_get_are_not_made(result, csv_file, tmp_path):
    save(result.model, tmp_path / "m.credo")
    command = [sys.executable, "-m", "credo", "predict", str(tmp_path / "m.credo"), csv_file]
    ran = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&-', "sh", *map(str, command)],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert (
        "standard output must be open to take the table; found that it is closed" in ran.stderr
    )
    assert len(ran.stderr.strip().splitlines()) == 1
