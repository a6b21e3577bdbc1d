"""Diagnosis of fitted models: a verdict on each kind of posterior, and what it rests on."""

from __future__ import annotations

import numpy as np

from credo.inference.engine.diagnosis import Diagnosis, diagnose_draws
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Inference
from credo.numerics.array import Array

__all__ = ["diagnose_classes", "diagnose_drawn", "diagnose_linear", "diagnose_logistic"]

NOT_CONVERGED = (
    "The search for precisions did not converge: raise its limit or read inference_.trace."
)
NO_NOISE = (
    "The noise is down at rounding error: the outputs are constant or exactly determined."
)
SCARCE = (
    "There are fewer than two rows for each parameter that the data determine: intervals may "
    "be too narrow where precisions were learned."
)
SCARCE_CLASS = (
    "The rarest class has fewer than two rows for each parameter that the data determine: the "
    "Gaussian shape of the posterior is rough, and so are probabilities near 0 and 1."
)
NOT_FILLED = (
    "Expectation maximization stopped before it converged: raise its limit or read "
    "inference_.trace."
)
FEW_ROWS = (
    "The rarest class, or all together where they share a covariance, have fewer than two "
    "values for each parameter: probabilities lean on the prior, and without one on chance."
)
WIDE = (
    "There are more columns than rows: about most weights nothing was learned, and averaged "
    "probabilities may stay modest. Compare fewer columns on held-out rows."
)
COLLINEAR = (
    "Columns nearly repeat each other: single weights mean little, predictions are fine."
)


def diagnose_linear(inference: Inference) -> Diagnosis:
    """Return the verdict on the posterior of a linear regression."""
    belief = inference.posterior
    spectrum = belief.spectra[0]
    values = spectrum.eigenvalues
    numbers = {
        "steps": float(len(inference.trace)),
        "condition": float(np.sqrt(values.max() / values.min())) if len(values) else 1.0,
        "rows": spectrum.weight,
        "effective_parameters": float(np.max(belief.effective_parameters)),
        "noise_std": float(np.max(1 / np.sqrt(belief.noise_precision))),
    }
    rounding = spectrum.weight / spectrum.resolution
    # One precision per weight is a choice among all columns, also those it drops.
    n_free = numbers["effective_parameters"]
    if inference.evidence_method == "laplace":
        n_free = float(len(spectrum.center))
    is_scarce = numbers["rows"] < 2 * n_free
    checks = (
        (not inference.status.has_converged, NOT_CONVERGED),
        (bool((belief.noise_precision > 1e-4 * rounding).any()), NO_NOISE),
        (is_scarce, SCARCE),
        (numbers["condition"] > 1e6, COLLINEAR),
    )
    findings = tuple(text for is_found, text in checks if is_found)
    return Diagnosis(not findings, findings, numbers)


def diagnose_logistic(inference: Inference, weight: float) -> Diagnosis:
    """Return the verdict on the posterior of a logistic regression.

    Parameters
    ----------
    weight
        Total weight of the rows of the rarest class.
    """
    belief = inference.posterior
    if belief.draws is not None:
        return diagnose_drawn(inference, belief.draws, ("parameters", "precision"))
    factor = None if belief.gaussian is None else belief.gaussian.form.factor
    numbers = {
        "steps": float(len(inference.trace)),
        "rows_of_rarest_class": weight,
        "effective_parameters": belief.n_effective_parameters(),
        "largest_weight": float(np.abs(belief.mean[:, :-1]).max(initial=0.0)),
        "jitter": 0.0 if factor is None else factor.jitter,
    }
    checks = (
        (not inference.status.has_converged, NOT_CONVERGED),
        (weight <= 2 * numbers["effective_parameters"] / len(belief.mean), SCARCE_CLASS),
        (belief.axes is not None and belief.gaussian is not None, WIDE),
        (numbers["jitter"] > 0, COLLINEAR),
    )
    findings = tuple(text for is_found, text in checks if is_found)
    return Diagnosis(not findings, findings, numbers)


def diagnose_drawn(inference: Inference, kept: Draws, names: tuple[str, ...]) -> Diagnosis:
    """Return the verdict on draws of ``names``; the rest is what the engine says of each."""
    # What does not vary, such as a precision that is known, is no cause for doubt.
    values = {name: _varying(kept[name]) for name in names}
    facts = {name: kept[name] for name in kept if name not in names}
    found = diagnose_draws(Draws({n: x for n, x in values.items() if x.size}), facts)
    if inference.status.has_converged:
        return found
    return Diagnosis(False, (NOT_CONVERGED, *found.findings), found.numbers)


def _varying(x: Array) -> Array:
    flat = x.reshape(*x.shape[:2], -1)
    return np.asarray(flat[..., np.ptp(flat, axis=(0, 1)) > 0])


def diagnose_classes(
    class_weight: Array, n_own: float, inference: Inference | None = None, n_shared: float = 0.0
) -> Diagnosis:
    """Return the verdict on what a generative classifier learned.

    Parameters
    ----------
    class_weight
        Total weight of the rows of each class.
    n_own, n_shared
        Parameters that each class has for itself, and that all share, for each column.
    inference
        The answer of the engine, if there was one.
    """
    numbers = {
        "steps": 0.0 if inference is None else float(len(inference.trace)),
        "rows": float(class_weight.sum()),
        "rows_of_rarest_class": float(class_weight.min()),
        "parameters_per_column": n_own * len(class_weight) + n_shared,
    }
    is_stopped = inference is not None and not inference.status.has_converged
    is_scarce = (
        numbers["rows_of_rarest_class"] < 2 * n_own
        or numbers["rows"] < 2 * numbers["parameters_per_column"]
    )
    checks = ((is_stopped, NOT_FILLED), (is_scarce, FEW_ROWS))
    findings = tuple(text for is_found, text in checks if is_found)
    return Diagnosis(not findings, findings, numbers)
