"""Network files, changed: refused by ``load_network``, or asked and answered."""

import warnings
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import credo
from credo.data.error import NetworkFileError
from credo.inference.engine.error import (
    ImpossibleFindings,
    InferenceTooLarge,
    NoExactAnswer,
)
from fuzz.mutation import mutated_bytes, mutated_text
from fuzz.outcome import Fault, Outcome, Verdict, judged, require_finite
from fuzz.small_network import small_network
from fuzz.worker import Limits, Surface

__all__ = ["SURFACE"]

EXTENSIONS = (".bif", ".xmlbif", ".uai", ".json")


def prepare() -> None:
    """Ask some networks, so that what answers is compiled."""
    with TemporaryDirectory() as folder:
        for seed in range(40):
            run_case(None, Random(seed), Path(folder))


def run_case(_: None, random: Random, folder: Path) -> Verdict:
    """Write a network, change the file, load it, and ask it if it loads."""
    extension = random.choice(EXTENSIONS)
    path = folder / f"n{extension}"
    has_odd_names = extension == ".json" and random.random() < 0.3
    small = small_network(random, has_odd_names=has_odd_names)
    is_field = extension in (".uai", ".json") and random.random() < 0.5
    credo.save_network(small.field() if is_field else small.network(), path)
    change = random.random()
    if change < 0.15:
        path.write_bytes(mutated_bytes(random, path.read_bytes()))
    elif change < 0.85:
        text = mutated_text(random, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    loaded: list[Any] = []

    def load() -> tuple[str, ...]:
        loaded.append(credo.load_network(path))
        return ("loaded",)

    def query() -> tuple[str, ...]:
        ask(loaded[0], random)
        return ("loaded",)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = judged(extension, load, (NetworkFileError,))
        refusals = (ImpossibleFindings, InferenceTooLarge, NoExactAnswer)
        return judged(extension, query, refusals) if loaded else verdict


def ask(net: Any, random: Random) -> None:
    """Ask for the distribution of some variables, with and without something known."""
    names = list(net.variables)
    if not getattr(net, "conditionals", True):
        return
    known, asked = random.choice(names), random.choice(names)
    _require_distribution(net.query(asked))
    states = net.variables[known].labels
    given = {known: random.choice(states)}
    require_finite(net.log_partition(), "log_partition")
    net.log_prob(given)
    _require_distribution(net.query(asked, given=given))


def _require_distribution(answer: Any) -> None:
    require_finite(answer.to_numpy(), "a distribution")
    if answer.min() < 0 or abs(answer.sum() - 1) > 1e-9:
        raise Fault(Outcome.WRONG, f"a distribution sums to {answer.sum()!r}")


SURFACE = Surface("network_files", prepare, run_case, Limits(seconds=20.0, batch=100))
