"""Write docs/published_sets.md: models on published data sets, beside published results."""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import gp_sets, gp_splits, neural_splits, relevance_sets  # noqa: E402

__all__ = ["page", "read_sets"]

PAGE = ROOT / "docs" / "published_sets.md"

INTRODUCTION = """# Processes and networks on published data sets

<!-- Written by docs/write_sets.py from benchmarks/sets. -->

## Numbers: 20 standard splits

`GaussianProcessRegressor()` with nothing set, on the splits that were published with
probabilistic back-propagation. Root mean squared error (lower is better) and mean log density
of the test rows (higher is better), with standard errors over splits, and the share of test
rows inside 90 % intervals. Beside them, as published: Monte Carlo dropout (Gal's corrected run
of 2018, same splits), deep ensembles (Lakshminarayanan and others 2017, table 1, same splits),
and a sparse variational Gaussian process (Salimbeni's `bayesian_benchmarks`: 10 other random
splits of the same sizes, and perhaps other columns of energy, so a guide).

`python -m benchmarks.gp_splits FOLDER --store` runs it again.
"""

NETWORKS = """## Numbers: neural networks on the same splits

`NeuralNetworkRegressor(random_state=0)` with nothing else set: 50 units, Laplace's method, and
precisions and noise learned from the evidence. What had to be chosen was chosen on other
tables. Beside it probabilistic back-propagation (Hernandez-Lobato and Adams 2015, as reprinted
by Lakshminarayanan and others 2017), dropout and deep ensembles as above, and laplace-torch
0.3, run on these splits: 50 tanh units, 300 steps of Adam, a full Laplace approximation, and
100 steps of its marginal likelihood.

`python -m benchmarks.neural_splits FOLDER --store` runs it again.
"""

CLASSES = """## Classes: crabs, ionosphere, Pima

`GaussianProcessClassifier` by expectation propagation and by Laplace's method, with one length
scale for all columns as in published experiments (Kuss and Rasmussen 2005), and with the
kernel it takes by itself. Errors of 10 folds in percent, and what the probabilities tell in
bits for each row. Of Pima as Ripley split it, wrong answers of 332. Beside them stand published
errors. Those of processes (Kuss and Rasmussen 2005, 10 other folds; for Ripley's split Williams
and Barber 1998, the same rows) were quoted before and not read again: they are a guide. That of
nearest neighbors is in the notes that come with ionosphere (one split, not these folds).

`python -m benchmarks.gp_sets FOLDER --store` runs it again.
"""


VECTORS = """## Classes: relevance and support vectors

`RelevanceVectorClassifier()` with nothing set, and `SupportVectorClassifier` whose C and width
of a Gaussian kernel are chosen by folds of the training rows, on the first of the splits
that Rätsch published. Errors of the test rows in percent, with standard errors over splits, and
the mean number of vectors. Published figures (Tipping 2001) were quoted before and not
read again: they are a guide.

`python -m benchmarks.relevance_sets FOLDER --store` runs it again.
"""


def read_sets(name: str, folder: Path = gp_splits.FOLDER) -> dict[str, Any]:
    """Return what is stored of the sets of a benchmark."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found["sets"]


def page(
    splits: dict[str, Any],
    classes: dict[str, Any],
    networks: dict[str, Any] | None = None,
    vectors: dict[str, Any] | None = None,
) -> str:
    """Return the whole Markdown page."""
    numbers = _numbers(splits, gp_splits.PUBLISHED)
    layers = _numbers(networks or {}, neural_splits.PUBLISHED)
    kinds, few = _classes(classes), _vectors(vectors or {})
    parts = [INTRODUCTION, *numbers, "", NETWORKS, *layers, "", CLASSES, *kinds, "", VECTORS]
    return "\n".join([*parts, *few, ""])


def _numbers(sets: dict[str, Any], others: dict[str, Any]) -> list[str]:
    lines = [
        "| set | rows | columns | who | RMSE | log density | inside 90 % | commit |",
        "|---|---:|---:|---|---:|---:|---:|---|",
    ]
    for name, published in others.items():
        if name not in sets:
            continue
        own = sets[name]
        rmse, density = (f"{m:.3f} ± {s:.3f}" for m, s in (own["rmse"], own["log density"]))
        lines.append(
            f"| {name} | {own['rows']} | {own['columns']} | **credo** | {rmse} | {density} | "
            f"{own['inside'][0]:.1%} | {own['commit']} |"
        )
        for who, (error, score) in published.items():
            lines.append(f"| | | | {who} | {error:.2f} | {score:.2f} | | |")
    return lines


def _classes(sets: dict[str, Any]) -> list[str]:
    lines = ["| set | rows | who | error | bits | commit |", "|---|---:|---|---:|---:|---|"]
    for name, published in gp_sets.PUBLISHED.items():
        if name not in sets:
            continue
        own, first = sets[name], f"{name} | {sets[name]['rows']}"
        for kind, found in own.items():
            if isinstance(found, dict):
                error = (
                    f"{found['wrong']} of 332" if "wrong" in found else f"{found['error']:.1f}"
                )
                bits = f"{found['bits']:.3f}" if "bits" in found else ""
                lines.append(
                    f"| {first} | **credo**, {kind} | {error} | {bits} | {own['commit']} |"
                )
                first = " | "
        if published:
            lines.append(f"| | | published: {published} | | | |")
    return lines


def _vectors(sets: dict[str, Any]) -> list[str]:
    lines = [
        "| set | splits | who | error | vectors | commit |",
        "|---|---:|---|---:|---:|---|",
    ]
    for name, published in relevance_sets.PUBLISHED.items():
        if name not in sets:
            continue
        own, first = sets[name], f"{name} | {sets[name]['splits']}"
        for machine in ("RVM", "SVM"):
            error, doubt = own[machine]["error"]
            lines.append(
                f"| {first} | **credo**, {machine} | {error:.1f} ± {doubt:.1f} | "
                f"{own[machine]['vectors']:.1f} | {own['commit']} |"
            )
            first = " | "
        lines.append(f"| | | published: {published} | | | |")
    return lines


STORED = ("gp_splits", "gp_sets", "neural_splits", "relevance_sets")


if __name__ == "__main__":
    stored = [read_sets(name) for name in STORED]
    PAGE.write_text(page(*stored), encoding="utf-8")
