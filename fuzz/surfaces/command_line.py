"""Whole jobs on the command line: fit, inspect, predict, compare; query and draw networks."""

import csv
import io
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import credo
from credo.app.cli.command_line import main
from credo.data.table.table import read_table
from fuzz.messy_table import (
    MISSING,
    MessyTable,
    TextFormat,
    broken_bytes,
    later_table,
    messy_table,
    text_format,
    write_parquet,
)
from fuzz.outcome import WHOLE_JOB, Fault, Outcome, Verdict, judged
from fuzz.small_network import small_network
from fuzz.worker import Limits, Surface

__all__ = ["SURFACE"]

SUBPROCESS_SHARE = 0.01
LARGE_SHARE = 0.005
LARGE = (1_500, 3_000, 4_000)
"""Rows of the few tables that are large, since these take most of the time."""

PYTHON_WARNING = "python warning"
COSTS = ("0", "1", "20", "-3", "1e-9", "1e30")
WARNING = re.compile(r"\b\w+Warning: .*")
NOT_A_NUMBER = re.compile(r"(?<![\w-])-?(nan|inf)(?!\w)")
TAGS = re.compile(r"<(script|style|svg)\b.*?</\1>|<[^>]*>", re.DOTALL)


@dataclass(frozen=True)
class _Ran:
    code: object
    out: str
    err: str


def prepare() -> None:
    """Fit numbers and classes once, so that what most jobs need is imported and compiled."""
    with tempfile.TemporaryDirectory() as folder, _working_in(Path(folder)):
        for case, target in enumerate(("c0", "c1")):
            random = Random(case)
            cells = [(str(random.random()), random.choice("ab"), str(i % 7)) for i in range(30)]
            table = MessyTable(("c0", "c1", "c2"), tuple(cells), (), target)
            Path("t.csv").write_bytes(TextFormat().bytes_of(table))
            for arguments in (
                ["fit", "t.csv", "--target", target, "--out", "m.credo"],
                ["inspect", "m.credo"],
                ["predict", "m.credo", "t.csv", "--out", "p.csv"],
            ):
                ran = _in_process(arguments)
                if ran.code != 0:
                    raise RuntimeError(f"{arguments} must work; found {ran.err}")


def run_case(_: None, random: Random, folder: Path) -> Verdict:
    """Run one job and look at everything that it wrote and left."""
    job = random.choices((_fit_job, _compare_job, _network_job), (0.84, 0.06, 0.1))[0]
    command = _in_subprocess if random.random() < SUBPROCESS_SHARE else _in_process
    seen: list[str] = []
    warned: list[str] = []

    def run(*arguments: str) -> str:
        seen.append(shlex.join(["credo", *arguments]))
        before = {path.name for path in folder.iterdir()}
        ran = command(list(arguments))
        warned.extend(f"{seen[-1]}: {text}" for text in WARNING.findall(ran.err))
        left = {path.name for path in folder.iterdir()} - before
        if ran.code != 0 and left:
            raise Fault(Outcome.LEFT_OVER, f"exit {ran.code} with {sorted(left)} written")
        return _checked(ran)

    def work() -> tuple[str, ...]:
        tags = job(random, run)
        _require_no_parts(folder)
        return (*tags, *([PYTHON_WARNING] if warned else []))

    kind = job.__name__.strip("_").replace("_", " ")
    verdict = judged(kind, work, ())
    if verdict.outcome is Outcome.WORKED:
        return replace(verdict, detail="; ".join(warned))
    return Verdict(verdict.outcome, kind, verdict.tags, f"{seen[-1]}: {verdict.detail}")


SURFACE = Surface("command_line", prepare, run_case, Limits(seconds=60.0, batch=10))

Run = Callable[..., str]


def _fit_job(random: Random, run: Run) -> tuple[str, ...]:
    if random.random() < LARGE_SHARE:
        table = messy_table(random, random.choice(LARGE), has_gaps=True)
    else:
        table = messy_table(random)
    name = _written(random, table, "train", broken=0.04)
    has_report = random.random() < 0.06
    outputs = ["--out", "m.credo", *(["--report", "r.html"] if has_report else [])]
    costs = _written_costs(random, table) if random.random() < 0.06 else None
    options = [*_fit_options(random, table), *(["--loss", costs] if costs else [])]
    told = run("fit", name, "--target", table.target, *outputs, *options)
    _require_numbers(told, "what fit printed")
    if has_report:
        page = TAGS.sub(" ", Path("r.html").read_text(encoding="utf-8"))
        _require_numbers(page, "the report")
    _require_numbers(run("inspect", "m.credo"), "what inspect printed")
    later = later_table(random, table)
    new = _written(random, later, "new", broken=0.03)
    wanted = ["--coverage", "0.5"] if random.random() < 0.05 else []
    wanted += ["--decide", costs] if costs else []
    if random.random() < 0.8:
        run("predict", "m.credo", new, "--out", "p.csv", *wanted)
        text = Path("p.csv").read_bytes().decode()
    else:
        text = run("predict", "m.credo", new, *wanted)
    _require_predictions(text, Path(new))
    return (WHOLE_JOB,)


def _compare_job(random: Random, run: Run) -> tuple[str, ...]:
    table = messy_table(random)
    name = _written(random, table, "train", broken=0.03)
    models = random.choice(((), (), ("--models", "linear,spline"), ("--models", "linear,odd")))
    told = run("compare", name, "--target", table.target, *models)
    _require_numbers(told, "what compare printed")
    return (WHOLE_JOB,)


def _network_job(random: Random, run: Run) -> tuple[str, ...]:
    network = small_network(random)
    path = f"net{random.choice(('.bif', '.xmlbif', '.json', '.bif.gz'))}"
    credo.save_network(network.network(), path)
    names = list(network.states)
    _require_numbers(run("network", "info", path), "what info printed")
    known, asked = random.sample(names, 2)
    given = f"{known}={random.choice(network.states[known])}"
    told = run("query", path, "--of", asked, "--given", given)
    _require_numbers(told, "what query printed")
    names = [name for name in names if name != asked]
    rows = [[random.choice(("", *network.states[n])) for n in names] for _ in range(3)]
    cases = MessyTable(tuple(names), tuple(map(tuple, rows)), (), names[0])
    Path("cases.csv").write_bytes(text_format(random).bytes_of(cases))
    told = run("query", path, "--data", "cases.csv", "--of", asked, "--out", "q.csv")
    run("network", "convert", path, random.choice(("o.bif", "o.xmlbif", "o.uai", "o.json")))
    if random.random() < 0.05:
        run("network", "draw", path, "--out", "n.svg", "--given", given)
    return (WHOLE_JOB,)


def _fit_options(random: Random, table: MessyTable) -> list[str]:
    options: list[str] = []
    for chance, made in (
        (
            0.1,
            lambda: [
                "--test-share",
                random.choice(("0.5", "0.3", "0.1", "0.9", "0.01", "1.5")),
            ],
        ),
        (0.2, lambda: ["--seed", str(random.randrange(1000))]),
        (0.1, lambda: ["--coverage", random.choice(("0.5", "0.999", "0.001", "0"))]),
        (0.06, lambda: ["--task", random.choice(("auto", "classification", "regression"))]),
        (0.05, lambda: ["--ignore", random.choice((*table.names, "absent"))]),
        (0.02, lambda: ["--reject", random.choice(("0.2", "1e-300", "1e300"))]),
    ):
        if random.random() < chance:
            options += made()
    return options


def _written(random: Random, table: MessyTable, stem: str, broken: float) -> str:
    if random.random() < 0.08 and len(set(table.names)) == len(table.names):
        name = f"{stem}.parquet"
        write_parquet(random, table, Path(name))
    else:
        form = text_format(random)
        name = f"{stem}.{'tsv' if form.separator == chr(9) else 'csv'}"
        name += ".gz" if form.is_packed else ""
        Path(name).write_bytes(form.bytes_of(table))
    if random.random() < broken:
        Path(name).write_bytes(broken_bytes(random, Path(name).read_bytes()))
    return name


def _written_costs(random: Random, table: MessyTable) -> str:
    """Write what two actions cost in each class that the target may have."""
    place = table.names.index(table.target)
    words = sorted({row[place].strip() for row in table.rows} - set(MISSING))
    actions = [("act", *(random.choice(COSTS) for _ in words)), ("wait", *("1" for _ in words))]
    costs = MessyTable(("action", *words), tuple(actions), (), "action")
    Path("costs.csv").write_bytes(TextFormat().bytes_of(costs))
    return "costs.csv"


def _checked(ran: _Ran) -> str:
    """Return what a command printed; raise what its end and its words say."""
    lines = [line for line in ran.err.splitlines() if line.startswith("credo: ")]
    if "Traceback" in ran.err or ran.code not in (0, 2):
        raise Fault(Outcome.TRACEBACK, f"exit {ran.code}: {_last_words(ran.err)}")
    if ran.code == 0:
        return ran.out
    if len(lines) != 1 or not ran.err.rstrip("\n").endswith(lines[0]):
        raise Fault(Outcome.TRACEBACK, f"exit 2 without one sentence: {ran.err[-300:]}")
    raise Fault(Outcome.REFUSED, lines[0][:300])


def _last_words(text: str) -> str:
    lines = text.strip().splitlines()
    places = [line.strip() for line in lines if line.strip().startswith("File ")][-3:]
    return " < ".join([*(lines[-1:]), *reversed(places)])[:700]


def _require_no_parts(folder: Path) -> None:
    known = re.compile(
        r"(train|new)\.(csv|tsv|parquet)(\.gz)?|m\.credo|r\.html|[pq]\.csv|(cases|costs)\.csv"
        r"|n\.svg|o\.\w+|net\.\w+(\.gz)?"
    )
    strange = [path.name for path in folder.iterdir() if not known.fullmatch(path.name)]
    if strange:
        raise Fault(Outcome.LEFT_OVER, f"found {strange}")


def _require_numbers(text: str, what: str) -> None:
    found = NOT_A_NUMBER.search(text)
    if found:
        near = " ".join(text[max(found.start() - 80, 0) : found.end() + 40].split())
        raise Fault(Outcome.SILENT, f"{what} has '{found.group()}': {near}")


def _require_predictions(text: str, table: Path) -> None:
    """Raise a `Fault` unless there is one whole prediction for each row of the table."""
    header, *rows = csv.reader(io.StringIO(text))
    n_rows = len(read_table(table))
    if len(rows) != n_rows:
        raise Fault(Outcome.WRONG, f"{len(rows)} predictions of {n_rows} rows")
    has_classes = "class" in header
    places = [i for i, name in enumerate(header) if name.startswith("probability of ")]
    places = places if has_classes else list(range(len(header) - 4, len(header)))
    for row in rows:
        numbers = [float(row[i] or "nan") for i in places]
        if not all(map(math.isfinite, numbers)):
            raise Fault(Outcome.SILENT, f"a prediction is {row}")
        if not has_classes and not numbers[2] <= numbers[3]:
            raise Fault(Outcome.WRONG, f"an interval is {row}")
        if has_classes and abs(sum(numbers) - 1) > 1e-6:
            raise Fault(Outcome.WRONG, f"probabilities are {row}")


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _in_process(arguments: list[str]) -> _Ran:
    """Run a command in this process as a new interpreter would."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    before = sys.argv, sys.stdout, sys.stderr
    sys.argv, sys.stdout, sys.stderr = ["credo", *arguments], *streams
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    except Exception:
        code = 1
        sys.stderr.write(traceback.format_exc())
    finally:
        sys.argv, sys.stdout, sys.stderr = before
    out, err = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams)
    return _Ran(code, out, err)


def _in_subprocess(arguments: list[str]) -> _Ran:
    line = [
        sys.executable,
        "-c",
        "from credo.app.cli.command_line import main; main()",
        *arguments,
    ]
    ran = subprocess.run(line, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return _Ran(
        ran.returncode,
        ran.stdout.decode("utf-8", "replace"),
        ran.stderr.decode("utf-8", "replace"),
    )
