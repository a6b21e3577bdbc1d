"""Shape and range of what each class holds, so that a file cannot say otherwise.

The parts of one object agree: an axis of the same letter has the same length in all of them.
Distributions and beliefs check their parameters themselves and are not listed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from credo.data.error import ModelFileError
from credo.models.neighbors.neighborhood import FARTHEST

__all__ = ["FORMS", "Form", "require_forms"]

LARGEST = 1e300
SMALLEST = 1e-300
"""Numbers beyond these leave no room for sums and quotients in a prediction."""

SMALLEST_SPREAD = 1e-170
"""Columns that vary less count as constant, for the squares of their deviations vanish."""

MOST_COUNTED = 1e150
"""Logarithms of factorials of more than this have no digits left to compare."""

FINITE = float(np.finfo(np.float64).max)
MAX_FEATURES = 10_000_000


@dataclass(frozen=True)
class Form:
    """Axes and range of an array, a list or a number.

    Attributes
    ----------
    axes
        A letter for each axis, such as "n d"; "..." first stands for any number of axes, the
        same in all parts of an object. A number is an axis of that length.
    low, high
        Least and largest entry; as a letter, the length of an axis that entries are below.
    has_gaps
        Whether entries may be NaN.
    is_rising
        Whether each entry is above the one before.
    above
        Name of another part of the object, of the same axes, whose entries are at most these.
    """

    axes: str = ""
    low: float = -LARGEST
    high: float | str = LARGEST
    has_gaps: bool = False
    is_rising: bool = False
    above: str | None = None

    def bound(self, shape: tuple[int, ...], sizes: dict[str, Any]) -> bool:
        """Whether a shape has these axes, whose lengths are noted in ``sizes`` when new."""
        letters = self.axes.split()
        if letters[:1] == ["..."]:
            letters = letters[1:]
            n_batch = len(shape) - len(letters)
            if n_batch < 0 or sizes.setdefault("...", shape[:n_batch]) != shape[:n_batch]:
                return False
            shape = shape[n_batch:]
        return len(shape) == len(letters) and all(
            size == (int(letter) if letter.isdigit() else sizes.setdefault(letter, size))
            for letter, size in zip(letters, shape, strict=True)
        )

    def holds(self, value: Any, sizes: Mapping[str, Any]) -> bool:
        """Whether all entries are in range, and rise if they must."""
        entries = np.asarray(value)
        if self.is_rising and not np.array_equal(np.unique(entries), entries):
            return False
        if entries.dtype.kind not in "fiub":
            return True
        with np.errstate(invalid="ignore"):
            if isinstance(self.high, str):
                is_in = (entries >= self.low) & (entries < sizes[self.high])
            else:
                is_in = (entries >= self.low) & (entries <= self.high)
        return bool(np.all(is_in | (np.isnan(entries) & self.has_gaps)))


def require_forms(name: str, parts: Mapping[str, Any]) -> None:
    """Raise a `ModelFileError` unless the parts of an object are of their forms and agree.

    Parameters
    ----------
    name
        The class of the object; one that is not in `FORMS` has nothing to check here.
    parts
        Its fields, or settings and fitted attributes, by name; None is not checked.
    """
    sizes = _known_sizes(parts)
    for field, form in FORMS.get(name, {}).items():
        value = parts.get(field)
        if value is None or isinstance(value, str):
            continue
        shape = (len(value),) if isinstance(value, list | tuple) else np.shape(value)
        if not form.bound(shape, sizes):
            raise ModelFileError(
                f"must give {name}.{field} the axes ({form.axes or 'none'}) that its other "
                f"parts have; found shape {shape}"
            )
        if not isinstance(value, list | tuple):
            _require_entries(f"{name}.{field}", value, form, sizes)
        other = parts.get(form.above) if form.above else None
        if other is not None and not np.all(np.asarray(value) >= other):
            raise ModelFileError(
                f"must give {name}.{field} no entry below that of {form.above}; found one"
            )


def _require_entries(name: str, value: Any, form: Form, sizes: Mapping[str, Any]) -> None:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.dtype != np.float64:
        raise ModelFileError(f"must give {name} as float64; found {value.dtype}")
    if not form.holds(value, sizes):
        raise ModelFileError(
            f"must give {name} entries from {form.low:g} to {form.high}; found others"
        )


def _known_sizes(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lengths that several parts of a fitted estimator are about."""
    sizes: dict[str, Any] = {}
    if "n_features_in_" in parts:
        sizes["d"] = parts["n_features_in_"]
    if "neighborhood_" in parts:
        sizes["n"] = len(parts["neighborhood_"].points)
    if isinstance(parts.get("classes_"), np.ndarray):
        n_classes = len(np.atleast_1d(parts["classes_"]))
        # One score tells two classes apart, and none is needed for a single one.
        sizes |= {"K": n_classes, "s": n_classes if n_classes > 2 else n_classes - 1}
    return sizes


def _directions(axes: str) -> Form:
    """Return the form of orthonormal columns, with room for rounding."""
    return Form(axes, -1.01, 1.01)


_LABELS = Form("K", is_rising=True)
_ANYTHING = Form("...", -np.inf, np.inf, has_gaps=True)
_FEATURES: Mapping[str, Form] = {
    "n_features_in_": Form(low=1, high=MAX_FEATURES),
    "feature_names_in_": Form("d"),
}
_CLASSES: Mapping[str, Form] = {**_FEATURES, "classes_": _LABELS}
_LINEAR: Mapping[str, Form] = {**_CLASSES, "coef_": Form("s c"), "intercept_": Form("s")}
_PLACED: Mapping[str, Form] = {
    "placed_origin": Form("d"),
    "placed_extent": Form("d", SMALLEST),
    "placed_knots": Form("d m", has_gaps=True),
}
_NEIGHBORS: Mapping[str, Form] = {
    **_FEATURES,
    "counts_tried_": Form("m"),
    "leave_one_out_scores_": Form("w m", -np.inf, np.inf, has_gaps=True),
    "n_neighbors_": Form(low=1),
    "prior_strength": Form(low=0.0),
    "width_": Form(low=SMALLEST, high=np.inf),
    "widths_tried_": Form("w", SMALLEST, np.inf),
}

FORMS: Mapping[str, Mapping[str, Form]] = MappingProxyType(
    {
        "AdaBoost": {
            **_CLASSES,
            "estimator_errors_": Form("m", 0.0, 1.0),
            "estimator_weights_": Form("m", 0.0),
            "exponential_loss_": Form("m", 0.0, np.inf),
            "held_out_errors_": Form("r", 0.0, 1.0),
            "n_rounds_": Form(low=0),
            "temperature_": Form(low=SMALLEST, high=np.inf),
        },
        "BaselineClassifier": _CLASSES,
        "BaselineRegressor": _FEATURES,
        "BasisTransformer": _FEATURES,
        "BernoulliStatistics": {
            "successes": Form("...", 0.0),
            "failures": Form("...", 0.0),
        },
        "Brackets": dict.fromkeys(
            ("left", "right", "left_slope", "right_slope", "best", "side"), _ANYTHING
        ),
        "CategoricalStatistics": {"counts": Form("... m", 0.0)},
        "CategoryCount": {"states": Form("m", is_rising=True)},
        "ClassConditional": {"log_weight": Form("k", -np.inf)},
        "ContinuedBasis": {
            "placed_lowest": Form("d"),
            "placed_highest": Form("d", above="placed_lowest"),
            "placed_center": Form("2 d"),
            "placed_trend": Form("d m"),
            "placed_bends": Form("n m"),
        },
        "DecisionStump": {
            **_CLASSES,
            "class_weight_": Form("2 K", 0.0),
            "concentration": Form(low=SMALLEST),
            "error_": Form(low=0.0, high=1.0),
            "feature_": Form(low=0, high="d"),
            "threshold_": Form(low=-np.inf),
        },
        "DenseCovariance": {"matrix": Form("... d d", -FINITE, FINITE)},
        "DirichletCategorical": {"concentration": Form("... m", SMALLEST, MOST_COUNTED)},
        "Estimate": dict.fromkeys(("value", "standard_error"), _ANYTHING),
        "EvidenceSearch": _FEATURES,
        "ExponentialStatistics": {"weight": Form("...", 0.0), "total": Form("...", 0.0)},
        "FourierBasis": _PLACED,
        "GaussianClassConditional": {
            **_CLASSES,
            "class_count_": Form("K", 0.0),
            "constant_": Form("d"),
        },
        "IncompleteRows": {
            "x": Form("n d", has_gaps=True),
            "label": Form("n", -1),
            "weight": Form("n", 0.0),
            "n_classes": Form(low=1),
        },
        "LeastSquaresClassifier": _LINEAR,
        "LinearGaussian": {"location": Form("d"), "precision": Form("d d", -FINITE, FINITE)},
        "LinearGaussianGamma": {
            "location": Form("d"),
            "precision": Form("d d", -FINITE, FINITE),
        },
        "LinearRegression": {
            **_FEATURES,
            "coef_": Form("... c"),
            "intercept_": Form("..."),
            "n_effective_parameters_": Form("...", -np.inf, np.inf, has_gaps=True),
            "noise_precision_": Form("...", 0.0, FINITE),
            "weight_precision_": Form("... p", 0.0, np.inf),
        },
        "LinearResponse": {"weights": Form("... d"), "noise_precision": Form("...", 0.0)},
        "LinearStatistics": {"n_features": Form(low=0, high=MAX_FEATURES)},
        "LogisticBelief": {
            "mean": Form("j m"),
            "coding": Form("k j"),
            "center": Form("c"),
            "scale": Form("c", 0.0, 1 / SMALLEST_SPREAD),
            "axes": _directions("c a"),
            "precision": Form(low=0.0),
        },
        "LogisticRegression": {
            **_LINEAR,
            "class_weight_": Form("K", 0.0),
            "weight_precision_": Form("c", 0.0, np.inf),
        },
        "LowRankCovariance": {"factor": Form("... d r"), "noise": Form("... d", SMALLEST)},
        "MixedStatistics": {"class_weight": Form("k", 0.0), "log_arrangements": Form("k")},
        "ModelAverage": {
            **_FEATURES,
            "classes_": _LABELS,
            "estimators_": Form("m"),
            "log_evidences_": Form("m"),
            "names_": Form("m"),
            "probability_": Form("m", 0.0, 1.0),
        },
        "Moments": {
            "weight": Form(low=0.0),
            "mean": Form("c"),
            "scatter": Form("c c", -FINITE, FINITE),
        },
        "MultivariateNormalStatistics": {
            "weight": Form("...", 0.0),
            "mean": Form("... d"),
            "scatter": Form("... d d", -FINITE, FINITE),
        },
        "NaiveBayes": {
            **_CLASSES,
            "class_pseudo_count": Form(low=SMALLEST),
            "kinds_": Form("d"),
            "pseudo_count": Form(low=SMALLEST),
        },
        "NearestNeighborsClassifier": {
            **_NEIGHBORS,
            "classes_": _LABELS,
            "codes_": Form("n", 0, "K"),
            "prior_probability_": Form("K", 0.0, 1.0),
        },
        "NearestNeighborsRegressor": {**_NEIGHBORS, "outcomes_": Form("n k")},
        "Neighborhood": {
            "points": Form("n d", -FARTHEST, FARTHEST),
            "weight": Form("n", SMALLEST),
            "center": Form("d"),
            "scale": Form("d", SMALLEST),
        },
        "NormalStatistics": {
            "weight": Form("...", 0.0),
            "mean": Form("..."),
            "scatter": Form("...", 0.0, FINITE),
        },
        "Perceptron": _LINEAR,
        "PoissonStatistics": {
            "weight": Form("...", 0.0),
            "total": Form("...", 0.0),
            "log_factorial": Form("...", 0.0),
        },
        "PolynomialBasis": {
            "placed_shift": Form("d m", has_gaps=True),
            "placed_norm": Form("d m", SMALLEST, has_gaps=True),
        },
        "PrecisionForm": {"precision": Form("... d d", -FINITE, FINITE)},
        "RadialBasis": {
            "placed_centers": Form("m d"),
            "placed_widths": Form("...", SMALLEST),
            "placed_scale": Form("d", SMALLEST),
        },
        "RegularizedRisk": {
            **_LINEAR,
            "duality_gap_": Form("s", -np.inf, np.inf, has_gaps=True),
            "objective_": Form("s", 0.0, FINITE),
        },
        "Relevances": {"ratio": Form("c", 0.0, np.inf), "working": Form("m", 0)},
        "RidgeBelief": {
            "ratio": Form("k", 0.0),
            "noise_precision": Form("k", SMALLEST, FINITE),
            "noise_shape": Form("k", SMALLEST, np.inf),
        },
        "RowCompletion": {
            "center": Form("e"),
            "scale": Form("e", SMALLEST),
            "lowest": Form("d"),
            "highest": Form("d", above="lowest"),
            "levels": Form("g 2", 0, "d"),
            "is_binary": Form("d"),
            "log_share": Form("2 k d", high=0.0),
        },
        "Rows": {"x": Form("n d"), "y": Form("n k"), "weight": Form("n", 0.0)},
        "SigmoidBasis": _PLACED,
        "Spectrum": {
            "eigenvalues": Form("r", SMALLEST),
            "vectors": _directions("c r"),
            "projection": Form("k r"),
            "total": Form("k", 0.0, FINITE),
            "scale": Form("c", 0.0),
            "center": Form("d"),
            "origin": Form("k"),
            "weight": Form(low=0.0),
            "resolution": Form("k", SMALLEST),
        },
        "SplineBasis": _PLACED,
        "Stack": {
            **_FEATURES,
            "classes_": _LABELS,
            "estimators_": Form("m"),
            "fold_": Form("n", -1),
            "held_out_": _ANYTHING,
            "log_scores_": Form("m n", -np.inf, has_gaps=True),
            "names_": Form("m"),
            "weights_": Form("m", 0.0, 1.0),
        },
        "Stumps": {
            "feature": Form("m", 0),
            "threshold": Form("m", -np.inf),
            "left": Form("m", 0),
            "right": Form("m", 0),
        },
        "TrainingRange": {
            "names": Form("c"),
            "lowest": Form("c"),
            "highest": Form("c", above="lowest"),
        },
        "VotedPerceptron": {
            **_CLASSES,
            "coef_": Form("m s c"),
            "intercept_": Form("m s"),
            "votes_": Form("m", 0.0, 1.0),
        },
    }
)
"""Forms by class and name of field, setting or fitted attribute."""
