"""What fitting gives each estimator: the only attributes that a model file may set."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from credo.distributions.class_conditional import ClassConditional
from credo.families.categorical import CategoricalStatistics, DirichletCategorical
from credo.families.class_conditional import ClassConditionalBelief
from credo.families.class_statistics import ClassConditionalStatistics
from credo.families.linear import LinearStatistics
from credo.families.normal import NormalInverseGamma, NormalStatistics
from credo.families.ridge_belief import RidgeBelief
from credo.features.basis import Basis
from credo.inference.engine.engine import Inference
from credo.inference.latent.latent_class import IncompleteRows
from credo.inference.logistic.belief import LogisticBelief
from credo.inference.margin.stumps import Stumps
from credo.models.generative.mixed_belief import MixedBelief
from credo.models.generative.mixed_statistics import MixedStatistics
from credo.models.neighbors.neighborhood import Neighborhood
from credo.numerics.array import Array

__all__ = ["FITTED", "NOT_KEPT", "Text"]

NOT_KEPT = frozenset(["_metadata_request"])
"""How scikit-learn routes arguments to an estimator is a matter of the pipeline around it."""


class _ArrayOfText(type):
    def __instancecheck__(cls, value: Any) -> bool:
        is_array = isinstance(value, np.ndarray)
        return is_array and (value.dtype.kind == "U" or all(type(v) is str for v in value.flat))


class Text(metaclass=_ArrayOfText):
    """An array of text, whether NumPy's or of Python strings."""


@runtime_checkable
class _Part(Protocol):
    def predict_dist(self, X: Any) -> Any: ...


_COMMON: Mapping[str, Any] = {
    "n_features_in_": int,
    "feature_names_in_": Text,
    "fingerprint_": str,
}

_NEIGHBORS: Mapping[str, Any] = {
    "counts_tried_": NDArray[np.intp],
    "leave_one_out_scores_": NDArray[np.float64],
    "n_neighbors_": int,
    "neighborhood_": Neighborhood,
    "notes_": tuple[str, ...],
    "width_": float,
    "widths_tried_": NDArray[np.float64],
}

FITTED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "BaselineClassifier": {
            **_COMMON,
            "classes_": NDArray[Any],
            "evidence_method_": str,
            "evidence_of_": str,
            "log_evidence_": float,
            "posterior_": DirichletCategorical,
            "statistics_": CategoricalStatistics,
        },
        "BaselineRegressor": {
            **_COMMON,
            "evidence_flat_": tuple[str, ...],
            "evidence_method_": str,
            "evidence_of_": str,
            "log_evidence_": float,
            "posterior_": NormalInverseGamma,
            "statistics_": NormalStatistics,
        },
        "AdaBoost": {
            **_COMMON,
            "classes_": NDArray[Any],
            "estimator_errors_": Array,
            "estimator_weights_": Array,
            "exponential_loss_": Array,
            "held_out_errors_": Array | None,
            "members_": Stumps | list[_Part],
            "n_rounds_": int,
            "status_": str,
            "temperature_": float,
        },
        "BasisTransformer": {
            **_COMMON,
            "basis_": Basis,
            "_sklearn_output_config": dict[str, str],
        },
        "GaussianClassConditional": {
            **_COMMON,
            "class_count_": Array,
            "classes_": NDArray[Any],
            "constant_": NDArray[Any],
            "evidence_method_": str,
            "evidence_of_": str,
            "inference_": Inference,
            "joint_": ClassConditional,
            "log_evidence_": float,
            "posterior_": ClassConditionalBelief | None,
            "statistics_": ClassConditionalStatistics | IncompleteRows,
        },
        "DecisionStump": {
            **_COMMON,
            "class_weight_": Array,
            "classes_": NDArray[Any],
            "error_": float,
            "feature_": int,
            "threshold_": float,
        },
        "LeastSquaresClassifier": {
            **_COMMON,
            "basis_": Basis | None,
            "classes_": NDArray[Any],
            "coef_": Array,
            "intercept_": Array,
            "statistics_": LinearStatistics,
        },
        "EvidenceSearch": {
            **_COMMON,
            "best_estimator_": _Part,
            "best_index_": int,
            "best_params_": dict[str, Any],
            "best_score_": float,
            "criterion_": str,
            "cv_results_": dict[str, list[Any]],
            "disagreement_": str,
            "edges_": list[str],
            "reason_": str,
        },
        "LinearRegression": {
            **_COMMON,
            "_is_single": bool,
            "basis_": Basis | None,
            "coef_": Array,
            "evidence_flat_": tuple[str, ...],
            "evidence_method_": str,
            "inference_": Inference,
            "intercept_": Array,
            "log_evidence_": float,
            "n_effective_parameters_": Array,
            "noise_precision_": Array,
            "posterior_": RidgeBelief,
            "statistics_": LinearStatistics,
            "weight_precision_": Array,
        },
        "LogisticRegression": {
            **_COMMON,
            "basis_": Basis | None,
            "class_weight_": Array,
            "classes_": NDArray[Any],
            "coef_": Array,
            "evidence_flat_": tuple[str, ...],
            "evidence_method_": str,
            "evidence_of_": str,
            "inference_": Inference,
            "intercept_": Array,
            "log_evidence_": float,
            "n_effective_parameters_": float,
            "posterior_": LogisticBelief,
            "weight_precision_": Array,
        },
        "ModelAverage": {
            **_COMMON,
            "classes_": NDArray[Any],
            "estimators_": list[_Part],
            "evidence_method_": str,
            "log_evidence_": float,
            "log_evidences_": NDArray[np.float64],
            "names_": list[str],
            "probability_": NDArray[np.float64],
        },
        "NaiveBayes": {
            **_COMMON,
            "classes_": NDArray[Any],
            "evidence_method_": str,
            "evidence_of_": str,
            "kinds_": tuple[str, ...],
            "log_evidence_": float,
            "posterior_": MixedBelief,
            "prior_": MixedBelief,
            "statistics_": MixedStatistics,
        },
        "Perceptron": {
            **_COMMON,
            "basis_": Basis | None,
            "classes_": NDArray[Any],
            "coef_": Array,
            "intercept_": Array,
            "is_separated_": bool,
            "n_epochs_": int,
            "n_mistakes_": int,
        },
        "RegularizedRisk": {
            **_COMMON,
            "basis_": Basis | None,
            "classes_": NDArray[Any],
            "coef_": Array,
            "duality_gap_": Array,
            "intercept_": Array,
            "objective_": Array,
        },
        "Stack": {
            **_COMMON,
            "classes_": NDArray[Any],
            "estimators_": list[_Part],
            "fold_": NDArray[np.intp],
            "held_out_": Array,
            "log_scores_": Array,
            "names_": list[str],
            "weights_": Array,
        },
        "VotedPerceptron": {
            **_COMMON,
            "basis_": Basis | None,
            "classes_": NDArray[Any],
            "coef_": Array,
            "intercept_": Array,
            "votes_": Array,
        },
        "NearestNeighborsClassifier": {
            **_COMMON,
            **_NEIGHBORS,
            "classes_": NDArray[Any],
            "codes_": NDArray[np.intp],
            "prior_probability_": NDArray[np.float64],
        },
        "NearestNeighborsRegressor": {
            **_COMMON,
            **_NEIGHBORS,
            "_is_single": bool,
            "outcomes_": NDArray[np.float64],
            "prior_": NormalInverseGamma,
        },
    }
)
"""Type of each fitted attribute, by class and name."""
