"""Pipelines of scikit-learn in model files: the steps that are known, a closed list.

Of a step a file holds its settings and what it learned by the names that scikit-learn gives
them in public, and nothing private, for that differs between versions: the step is built
again from these. A step that is not in the table of known steps is refused before a file is
written, and when one is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType, NoneType
from typing import Any, Literal

import numpy as np

from credo.data.error import ModelFileError
from credo.data.model_file.first_prediction import require_flow
from credo.data.model_file.registry import registered_name
from credo.data.model_file.type_check import fits
from credo.numerics.array import Array
from credo.numerics.form import LARGEST, MAX_FEATURES, SMALLEST, Form, directions

__all__ = [
    "KNOWN_STEPS",
    "OUTPUT",
    "KnownStep",
    "Part",
    "built_step",
    "known_step",
    "step_parts",
]

MAX_DEGREE = 64
MAX_TERMS = 1_000_000
"""Most columns that a polynomial of the inputs may have."""

OUTPUT = "_sklearn_output_config"
"""Where scikit-learn notes whether a step gives frames; no method of it says so."""


@dataclass(frozen=True)
class Part:
    """Type of a setting or of something learned, and the forms of which it has one.

    Attributes
    ----------
    kind
        Type, as it would be annotated.
    forms
        Axes and ranges; any will do if there are none.
    is_optional
        Whether it may be absent.
    """

    kind: Any
    forms: tuple[Form, ...] = ()
    is_optional: bool = False

    def holds(self, value: Any, sizes: dict[str, Any]) -> bool:
        """Whether a value is of the type and of one of the forms."""
        if not fits(value, self.kind):
            return False
        if value is None or isinstance(value, str) or not self.forms:
            return True
        entries = np.asarray(value)
        # Bounds of double precision are infinite in single.
        entries = entries.astype(np.float64) if entries.dtype.kind == "f" else entries
        return any(
            (form.is_text or entries.dtype.kind in "fiu")
            and form.bound(entries.shape, sizes)
            and form.holds(entries, sizes)
            for form in self.forms
        )


Parts = Mapping[str, Part]
Values = Mapping[str, Any]


def _attributes(step: Any, parts: Parts) -> dict[str, Any]:
    return {name: getattr(step, name) for name in parts if hasattr(step, name)}


def _with_attributes(step: Any, fitted: Values) -> None:
    vars(step).update(fitted)


@dataclass(frozen=True)
class KnownStep:
    """A class of scikit-learn that a file may hold, and what it holds of it.

    Attributes
    ----------
    name, home
        Name of the class, and its public module.
    settings, fitted
        Parts by name.
    newer
        Settings that the oldest scikit-learn allowed lacks, and the value it acts by.
    typical
        Attribute that is a row amid those that were learned from; zeros if there is none.
    read
        Returns what was learned, given a fitted step and its parts.
    restore
        Gives a step what was learned.
    """

    name: str
    home: str
    settings: Parts
    fitted: Parts
    newer: Values = field(default_factory=dict)
    typical: str = ""
    read: Callable[[Any, Parts], dict[str, Any]] = _attributes
    restore: Callable[[Any, Values], None] = _with_attributes

    @property
    def cls(self) -> Any:
        """The class itself."""
        return getattr(import_module(self.home), self.name)

    def parameters(self) -> dict[str, Any]:
        """Return the settings that this scikit-learn has, and their defaults."""
        signature = inspect.signature(self.cls)
        return {name: one.default for name, one in signature.parameters.items()}


def known_step(name: object) -> KnownStep:
    """Return the known step of that name; raise a `ModelFileError` if there is none.

    Examples
    --------
    >>> known_step("PCA").home
    'sklearn.decomposition'
    """
    if not isinstance(name, str) or name not in KNOWN_STEPS:
        raise ModelFileError(f"must hold known steps only; found {str(name)[:80]!r}")
    return KNOWN_STEPS[name]


def step_parts(step: Any, path: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return settings of a step of scikit-learn, and what it learned; None if it is no such.

    Parameters
    ----------
    step
        Anything.
    path
        Where it is, for messages.

    Raises
    ------
    ModelFileError
        If it holds what a file cannot: an unknown step, a setting of another type, numbers
        that are not finite.

    Examples
    --------
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> settings, fitted = step_parts(MaxAbsScaler().fit([[2.0], [-4.0]]), "scale")
    >>> fitted["scale_"]
    array([4.])
    >>> step_parts(3, "number") is None
    True
    """
    known = _known(step)
    if known is None:
        return None
    settings = _settings(known, step, path)
    is_fitted = hasattr(step, "n_features_in_") and bool(known.fitted)
    fitted = known.read(step, known.fitted) if is_fitted else _attributes(step, _UNFITTED)
    try:
        _require_parts(known, settings, fitted)
        _require_works(step)
    except ModelFileError as error:
        raise ModelFileError(
            f"{path} {error}; change that step, or leave it out and save credo's model alone."
        ) from error
    return settings, fitted


def built_step(known: KnownStep, settings: Values, fitted: Values) -> Any:
    """Return a step with settings and what it learned, after trying it on some rows.

    Examples
    --------
    >>> step = built_step(known_step("MaxAbsScaler"), {"copy": True, "clip": False}, {})
    >>> step.fit_transform([[2.0], [-4.0]])
    array([[ 0.5],
           [-1. ]])
    """
    _require_parts(known, settings, fitted)
    step = known.cls(**_understood(known, settings))
    try:
        known.restore(step, fitted)
    except ModelFileError:
        raise
    # Whatever numbers that do not agree make scikit-learn raise, the file is at fault.
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise ModelFileError(
            f"must hold a {known.name} whose parts agree; found {reason}"
        ) from error
    _require_works(step)
    return step


def _known(step: Any) -> KnownStep | None:
    cls = type(step)
    known = KNOWN_STEPS.get(cls.__name__)
    is_of_home = known is not None and cls.__module__.startswith(known.home)
    return known if known is not None and is_of_home and known.cls is cls else None


def _settings(known: KnownStep, step: Any, path: str) -> dict[str, Any]:
    """Return the settings of a step that the table lists; others must be at their defaults."""
    defaults, found = known.parameters(), step.get_params(deep=False)
    for name in sorted(set(found) - set(known.settings)):
        if repr(found[name]) != repr(defaults[name]):
            raise ModelFileError(
                f"{path} must leave {name} of {known.name} at its default, for model files do "
                f"not know it; found {str(found[name])[:80]!r}; set it to {defaults[name]!r}."
            )
    settings = {name: found[name] for name in known.settings if name in found}
    if "steps" in settings:
        settings["steps"] = [tuple(pair) for pair in settings["steps"]]
        _require_known_steps(step, path)
    return dict(known.newer) | settings


def _require_known_steps(pipeline: Any, path: str) -> None:
    for name, step in _actual_steps(pipeline):
        if not _is_storable(step):
            raise ModelFileError(
                f"{path} must consist of steps that model files know; found a "
                f"{type(step).__name__} as step {name!r}; use an estimator or transformer of "
                f"credo, 'passthrough', or of scikit-learn {', '.join(KNOWN_STEPS)}."
            )


def _is_storable(step: Any) -> bool:
    if _is_nothing(step) or _known(step) is not None:
        return True
    return registered_name(type(step)) is not None and hasattr(step, "get_params")


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _understood(known: KnownStep, settings: Values) -> dict[str, Any]:
    """Return the settings that this scikit-learn has; it must act by those that it lacks."""
    has = known.parameters()
    for name in set(settings) - set(has):
        if name not in known.newer or settings[name] != known.newer[name]:
            raise ModelFileError(
                f"must have settings that the installed scikit-learn has; found {name} of "
                f"{known.name}"
            )
    return {name: value for name, value in settings.items() if name in has}


def _require_parts(known: KnownStep, settings: Values, fitted: Values) -> None:
    _require_names(known.name, settings, known.settings)
    is_fitted = not set(fitted) <= set(_UNFITTED)
    _require_names(known.name, fitted, known.fitted if is_fitted else _UNFITTED)
    sizes = {"d": fitted["n_features_in_"]} if is_fitted else {}
    listed = {**known.settings, **known.fitted, **_UNFITTED}
    for name, value in (*settings.items(), *fitted.items()):
        if not listed[name].holds(value, sizes):
            raise ModelFileError(
                f"must give {known.name}.{name} the type, axes and range that it has; found "
                f"{_shown(value)}"
            )


def _require_names(owner: str, found: Values, expected: Parts) -> None:
    needed = {name for name, part in expected.items() if not part.is_optional}
    wrong = sorted((set(found) - set(expected)) | (needed - set(found)))
    if wrong:
        raise ModelFileError(
            f"must give {owner} what it has; found {[name[:80] for name in wrong[:5]]} unknown "
            "or absent"
        )


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        has_range = value.dtype.kind in "fiu" and value.size > 0
        entries = f", entries from {value.min():g} to {value.max():g}" if has_range else ""
        return f"an array of {value.dtype}, shape {value.shape}{entries}"
    is_short = value is None or isinstance(value, bool | int | float | str)
    return repr(value)[:80] if is_short else f"a {type(value).__name__}"


def _require_works(step: Any) -> None:
    """Raise a `ModelFileError` unless rows pass through a step, or the steps of a pipeline."""
    if not _is_pipeline(step):
        if hasattr(step, "n_features_in_"):
            require_flow([step], 0.0)
            require_flow([step], _typical(step))
        return
    _require_sound_steps(step.steps)
    steps = [inner for _, inner in _actual_steps(step)]
    n_fitted = sum(hasattr(inner, "n_features_in_") for inner in steps)
    if n_fitted and n_fitted < len(steps):
        raise ModelFileError(
            f"must hold steps that are all fitted, or none; found {n_fitted} of {len(steps)}"
        )
    # A step alone was tried when it was built.
    if n_fitted > 1:
        require_flow(steps, _typical(steps[0]))


def _require_sound_steps(steps: list[tuple[str, Any]]) -> None:
    """Refuse what scikit-learn would refuse when the pipeline is fitted again."""
    names = [name for name, _ in steps]
    if not names or len(set(names)) < len(names) or any("__" in name for name in names):
        raise ModelFileError(
            "must name each step of a Pipeline, once and without '__'; found other names"
        )
    for place, (name, step) in enumerate(steps):
        is_last = place == len(steps) - 1
        if not _is_storable(step) or not (is_last or _is_nothing(step) or _transforms(step)):
            raise ModelFileError(
                "must hold known steps only, and before the last one such as transform; found "
                f"{_shown(step)} as step {name[:80]!r}"
            )


def _transforms(step: Any) -> bool:
    return _is_pipeline(step) or hasattr(step, "transform")


def _is_pipeline(step: Any) -> bool:
    return _known(step) is KNOWN_STEPS["Pipeline"]


def _actual_steps(pipeline: Any) -> Iterator[tuple[str, Any]]:
    """Yield the steps that do something, those of a pipeline in a pipeline in its place."""
    for name, step in pipeline.steps:
        if _is_pipeline(step):
            yield from _actual_steps(step)
        elif not _is_nothing(step):
            yield name, step


def _typical(step: Any) -> Any:
    """Return a row amid those that a step learned from, as far as it knows, or zero."""
    known = _known(step)
    found = getattr(step, known.typical, None) if known else None
    return 0.0 if found is None else found


def _restore_polynomial(step: Any, fitted: Values) -> None:
    """Fit to a row of zeros: what a polynomial notes depends on the number of columns only."""
    if "n_features_in_" in fitted:
        step.fit(np.zeros((1, fitted["n_features_in_"])))
        if step.n_output_features_ > MAX_TERMS:
            raise ModelFileError(
                f"must hold polynomials of at most {MAX_TERMS} terms; found "
                f"{step.n_output_features_}"
            )
    vars(step).update(fitted)


def _restore_components(step: Any, fitted: Values) -> None:
    vars(step).update(fitted)
    if "components_" in fitted:
        step.n_components_ = len(fitted["components_"])


def _read_imputer(step: Any, parts: Parts) -> dict[str, Any]:
    """Return what an imputer learned; the type of its training rows has no public name."""
    indicator = step.indicator_
    gaps = [] if indicator is None else [int(place) for place in indicator.features_]
    statistics = step.statistics_
    is_of_numbers = statistics.dtype != object or all(
        isinstance(one, int | float | np.number) for one in statistics
    )
    return _attributes(step, parts) | {
        "statistics_": statistics.astype(np.float64) if is_of_numbers else statistics,
        "indicator_": gaps,
        "dtype": getattr(step, "_fit_dtype", np.dtype(np.float64)).name,
    }


def _restore_imputer(step: Any, fitted: Values) -> None:
    """Fit to two rows, with gaps where training rows had some, and put in what was learned."""
    learned = dict(fitted)
    if "dtype" in learned:
        other = 1.0 if step.missing_values == 0 else 0.0
        rows = np.full((2, learned["n_features_in_"]), other).astype(learned.pop("dtype"))
        rows[0, learned.pop("indicator_")] = step.missing_values
        dtype = step.fit(rows).statistics_.dtype
        if dtype.kind in "iu" and not np.isfinite(learned["statistics_"]).all():
            raise ModelFileError("must fill gaps in whole numbers by such; found NaN")
        learned["statistics_"] = learned["statistics_"].astype(dtype)
    vars(step).update(learned)


_TRUTH = Part(bool)
_COLUMN = Part(Array | None, (Form("d"),))
_COUNT = Part(Array, (Form(low=0, high=LARGEST), Form("d", low=0, high=LARGEST)))
_DIVISOR = Part(Array | None, (Form("d", low=SMALLEST),))
_SIZE = Part(Array | None, (Form("d", low=0),))
_TEXT = Part(np.ndarray, (Form("d", is_text=True),), is_optional=True)
_NOTHING = Part(NoneType)
_UNFITTED: Parts = MappingProxyType(
    {OUTPUT: Part(dict[str, Literal["default", "pandas", "polars"]], is_optional=True)}
)
_INPUTS: Parts = MappingProxyType(
    {
        "n_features_in_": Part(int, (Form(low=1, high=MAX_FEATURES),)),
        "feature_names_in_": _TEXT,
        **_UNFITTED,
    }
)
_KINDS = Literal[
    "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16"
]

_STEPS = (
    KnownStep(
        "Pipeline",
        "sklearn.pipeline",
        {
            "steps": Part(list[tuple[str, Any]]),
            "transform_input": _NOTHING,
            # A cache is read by unpickling: its place must not come from a file.
            "memory": _NOTHING,
            "verbose": _TRUTH,
        },
        {},
    ),
    KnownStep(
        "StandardScaler",
        "sklearn.preprocessing",
        {"copy": _TRUTH, "with_mean": _TRUTH, "with_std": _TRUTH},
        {
            **_INPUTS,
            "n_samples_seen_": _COUNT,
            "mean_": _COLUMN,
            "var_": _SIZE,
            "scale_": _DIVISOR,
        },
        typical="mean_",
    ),
    KnownStep(
        "MinMaxScaler",
        "sklearn.preprocessing",
        {
            "feature_range": Part(tuple[float, float], (Form("2", is_rising=True),)),
            "copy": _TRUTH,
            "clip": _TRUTH,
        },
        {
            **_INPUTS,
            "n_samples_seen_": _COUNT,
            "min_": _COLUMN,
            "scale_": _SIZE,
            "data_min_": _COLUMN,
            "data_max_": _COLUMN,
            "data_range_": _SIZE,
        },
        typical="data_min_",
    ),
    KnownStep(
        "MaxAbsScaler",
        "sklearn.preprocessing",
        {"copy": _TRUTH, "clip": _TRUTH},
        {**_INPUTS, "n_samples_seen_": _COUNT, "max_abs_": _SIZE, "scale_": _DIVISOR},
        newer={"clip": False},
    ),
    KnownStep(
        "RobustScaler",
        "sklearn.preprocessing",
        {
            "with_centering": _TRUTH,
            "with_scaling": _TRUTH,
            "quantile_range": Part(tuple[float, float], (Form("2", 0.0, 100.0),)),
            "copy": _TRUTH,
            "unit_variance": _TRUTH,
        },
        {**_INPUTS, "center_": _COLUMN, "scale_": _DIVISOR},
        typical="center_",
    ),
    KnownStep(
        "PolynomialFeatures",
        "sklearn.preprocessing",
        {
            "degree": Part(
                int | tuple[int, int],
                (Form(low=0, high=MAX_DEGREE), Form("2", low=0, high=MAX_DEGREE)),
            ),
            "interaction_only": _TRUTH,
            "include_bias": _TRUTH,
            "order": Part(Literal["C", "F"]),
        },
        _INPUTS,
        restore=_restore_polynomial,
    ),
    KnownStep(
        "PCA",
        "sklearn.decomposition",
        {
            "n_components": Part(
                int | float | Literal["mle"] | None, (Form(low=0, high=MAX_FEATURES),)
            ),
            "copy": _TRUTH,
            "whiten": _TRUTH,
            "svd_solver": Part(
                Literal["auto", "full", "covariance_eigh", "arpack", "randomized"]
            ),
            "tol": Part(float, (Form(low=0),)),
            "iterated_power": Part(int | Literal["auto"], (Form(low=0),)),
            "n_oversamples": Part(int, (Form(low=1),)),
            "power_iteration_normalizer": Part(Literal["auto", "QR", "LU", "none"]),
            "random_state": Part(int | None, (Form(low=0, high=2**32 - 1),)),
        },
        {
            **_INPUTS,
            "components_": Part(Array, (directions("k d"),)),
            "mean_": _COLUMN,
            "explained_variance_": Part(Array, (Form("k", low=0),)),
            "explained_variance_ratio_": Part(Array, (Form("k", low=0, has_gaps=True),)),
            "singular_values_": Part(Array, (Form("k", low=0),)),
            "noise_variance_": Part(float, (Form(low=0),)),
            "n_samples_": Part(int, (Form(low=1),)),
        },
        typical="mean_",
        restore=_restore_components,
    ),
    KnownStep(
        "SimpleImputer",
        "sklearn.impute",
        {
            "missing_values": Part(float, (Form(has_gaps=True),)),
            "strategy": Part(Literal["mean", "median", "most_frequent", "constant"]),
            "fill_value": Part(float | None, (Form(),)),
            "copy": _TRUTH,
            "add_indicator": _TRUTH,
            "keep_empty_features": _TRUTH,
        },
        {
            **_INPUTS,
            "statistics_": Part(Array, (Form("d", has_gaps=True),)),
            "indicator_": Part(list[int], (Form("g", low=0, high="d"),)),
            "dtype": Part(_KINDS),
        },
        typical="missing_values",
        read=_read_imputer,
        restore=_restore_imputer,
    ),
)
KNOWN_STEPS: Mapping[str, KnownStep] = MappingProxyType({step.name: step for step in _STEPS})
"""The table of known steps."""
