"""Every command in a new process on small data, and first answers with nothing compiled."""

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.harness import Case, Contender

__all__ = ["CASES"]

RUNS_COMMANDS = True

N_SAMPLES = 150

CREDO = (str(Path(sys.executable).with_name("credo")),)

COMMANDS = {
    "--help": "--help",
    "fit --help": "fit --help",
    "network --help": "network --help",
    "fit, a number": "fit number.csv --target resistance --out a.credo --report a.html",
    "fit, classes": "fit class.csv --target diagnosis --out b.credo --report b.html",
    "predict": "predict model.credo number.csv --out predicted.csv",
    "inspect": "inspect model.credo",
    "compare": "compare number.csv --target resistance",
    "demo": "demo --folder demo",
    "query": "query asia.bif --of lung --given smoke=yes",
    "query of rows": "query asia.bif --data rows.csv --of lung --out answers.csv",
    "network info": "network info asia.bif",
    "network convert": "network convert asia.bif asia.xmlbif",
    "network draw": "network draw asia.bif --out asia.svg",
}

COMPILING = ("fit, a number", "fit, classes", "query", "query of rows")

BOOST = """
import credo, numpy
X = numpy.random.default_rng(0).normal(size=(200, 3))
credo.AdaBoost(10).fit(X, X[:, 0] > 0).predict_proba(X)
"""


def folder() -> Path:
    """Return a folder with small tables, a network and a fitted model."""
    made = Path(tempfile.mkdtemp())
    sets = Path(str(find_spec("credo").origin)).parent / "data" / "sets"
    for source, name in (("yacht", "number"), ("biopsy", "class")):
        lines = (sets / f"{source}.csv").read_text(encoding="utf-8").splitlines()
        text = "\n".join(lines[: N_SAMPLES + 1]) + "\n"
        (made / f"{name}.csv").write_text(text, encoding="utf-8")
    (made / "asia.bif").write_bytes((sets / "asia.bif").read_bytes())
    (made / "rows.csv").write_text("smoke,dysp\n" + "yes,no\nno,yes\n" * 20, encoding="utf-8")
    fit = "fit number.csv --target resistance --out model.credo"
    in_new_process(*CREDO, *fit.split()).run(made)
    return made


def in_new_process(*command: str) -> Contender:
    def run(where: Path) -> None:
        subprocess.run(command, cwd=where, capture_output=True, check=True)

    return Contender(run)


def with_nothing_compiled(*command: str) -> Contender:
    def run(where: Path) -> None:
        fresh = os.environ | {"NUMBA_CACHE_DIR": tempfile.mkdtemp(dir=where)}
        subprocess.run(command, cwd=where, capture_output=True, check=True, env=fresh)

    return Contender(run)


CASES = (
    Case(
        name=f"new process; networks of 8 variables, tables of at most {N_SAMPLES} rows",
        data=folder,
        contenders={
            f"credo {name}": in_new_process(*CREDO, *words.split())
            for name, words in COMMANDS.items()
        },
        reference="credo --help",
    ),
    Case(
        name="new process, with nothing compiled",
        data=folder,
        contenders={
            **{
                f"credo {name}": with_nothing_compiled(*CREDO, *COMMANDS[name].split())
                for name in COMPILING
            },
            "AdaBoost": with_nothing_compiled(sys.executable, "-c", BOOST),
        },
        reference="credo query",
        repeats=2,
    ),
)
