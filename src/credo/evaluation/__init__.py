"""Scores, splits, calibration and comparison of answers; the laws every part must obey."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.evaluation import laws as laws
    from credo.evaluation.calibration import CoverageCurve as CoverageCurve
    from credo.evaluation.calibration import coverage_curve as coverage_curve
    from credo.evaluation.calibration import (
        probability_integral_transform as probability_integral_transform,
    )
    from credo.evaluation.class_evaluation import ClassEvaluation as ClassEvaluation
    from credo.evaluation.class_evaluation import evaluate_classes as evaluate_classes
    from credo.evaluation.compare import compare as compare
    from credo.evaluation.comparison import Comparison as Comparison
    from credo.evaluation.confusion import Confusion as Confusion
    from credo.evaluation.cross_validation import CrossValidation as CrossValidation
    from credo.evaluation.cross_validation import cross_validate as cross_validate
    from credo.evaluation.decision_report import DecisionReport as DecisionReport
    from credo.evaluation.decision_report import judge_decisions as judge_decisions
    from credo.evaluation.difference import Difference as Difference
    from credo.evaluation.difference import independent_difference as independent_difference
    from credo.evaluation.difference import needed_rows as needed_rows
    from credo.evaluation.difference import needed_test_rows as needed_test_rows
    from credo.evaluation.difference import paired_difference as paired_difference
    from credo.evaluation.fold_difference import OptimisticTestWarning as OptimisticTestWarning
    from credo.evaluation.fold_difference import PracticalDifference as PracticalDifference
    from credo.evaluation.fold_difference import corrected_resampled_t as corrected_resampled_t
    from credo.evaluation.fold_difference import correlated_t as correlated_t
    from credo.evaluation.fold_difference import five_by_two_f as five_by_two_f
    from credo.evaluation.fold_difference import paired_t as paired_t
    from credo.evaluation.fold_fit import refit_folds as refit_folds
    from credo.evaluation.held_out import predictive_of as predictive_of
    from credo.evaluation.probability_score import BrierDecomposition as BrierDecomposition
    from credo.evaluation.probability_score import brier_decomposition as brier_decomposition
    from credo.evaluation.probability_score import brier_score as brier_score
    from credo.evaluation.proportion import proportion_interval as proportion_interval
    from credo.evaluation.ranking import PrecisionRecallCurve as PrecisionRecallCurve
    from credo.evaluation.ranking import RocCurve as RocCurve
    from credo.evaluation.ranking import precision_recall_curve as precision_recall_curve
    from credo.evaluation.ranking import roc_curve as roc_curve
    from credo.evaluation.rates import accuracy as accuracy
    from credo.evaluation.rates import balanced_accuracy as balanced_accuracy
    from credo.evaluation.rates import class_rates as class_rates
    from credo.evaluation.rates import error_rate as error_rate
    from credo.evaluation.rates import f1_score as f1_score
    from credo.evaluation.rates import macro_f1 as macro_f1
    from credo.evaluation.rates import matthews_correlation as matthews_correlation
    from credo.evaluation.rates import micro_f1 as micro_f1
    from credo.evaluation.reliability import ReliabilityCurve as ReliabilityCurve
    from credo.evaluation.reliability import reliability_curve as reliability_curve
    from credo.evaluation.score import Score as Score
    from credo.evaluation.score import score_table as score_table
    from credo.evaluation.scorer import balanced_accuracy_scorer as balanced_accuracy_scorer
    from credo.evaluation.scorer import brier_scorer as brier_scorer
    from credo.evaluation.scorer import calibration_scorer as calibration_scorer
    from credo.evaluation.scorer import coverage_scorer as coverage_scorer
    from credo.evaluation.scorer import crps_scorer as crps_scorer
    from credo.evaluation.scorer import interval_score_scorer as interval_score_scorer
    from credo.evaluation.scorer import log_score_scorer as log_score_scorer
    from credo.evaluation.scorer import macro_f1_scorer as macro_f1_scorer
    from credo.evaluation.scorer import mcc_scorer as mcc_scorer
    from credo.evaluation.scores import Evaluation as Evaluation
    from credo.evaluation.scores import absolute_error as absolute_error
    from credo.evaluation.scores import crps_score as crps_score
    from credo.evaluation.scores import evaluate as evaluate
    from credo.evaluation.scores import interval_score as interval_score
    from credo.evaluation.scores import is_covered as is_covered
    from credo.evaluation.scores import log_score as log_score
    from credo.evaluation.scores import needed_coverage as needed_coverage
    from credo.evaluation.scores import squared_error as squared_error
    from credo.evaluation.splits import fold_labels as fold_labels
    from credo.evaluation.splits import grouped_fold_labels as grouped_fold_labels
    from credo.evaluation.splits import hold_out as hold_out
    from credo.evaluation.splits import leave_one_out_labels as leave_one_out_labels
    from credo.evaluation.splits import stratified_fold_labels as stratified_fold_labels
    from credo.evaluation.splits import time_splits as time_splits
    from credo.evaluation.splitter import Folds as Folds
    from credo.evaluation.splitter import GroupedFolds as GroupedFolds
    from credo.evaluation.splitter import HoldOut as HoldOut
    from credo.evaluation.splitter import TimeFolds as TimeFolds
    from credo.evaluation.traps import Trap as Trap
    from credo.evaluation.traps import check_traps as check_traps
    from credo.evaluation.traps import imbalance as imbalance
    from credo.evaluation.traps import row_order as row_order
    from credo.evaluation.traps import search_edge as search_edge
    from credo.evaluation.traps import seen_rows as seen_rows
    from credo.evaluation.verdict import Verdict as Verdict
    from credo.evaluation.verdict import holm as holm

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["laws"],
    submod_attrs={
        "calibration": ["CoverageCurve", "coverage_curve", "probability_integral_transform"],
        "compare": ["compare"],
        "comparison": ["Comparison"],
        "cross_validation": ["CrossValidation", "cross_validate"],
        "decision_report": ["DecisionReport", "judge_decisions"],
        "difference": [
            "Difference",
            "independent_difference",
            "needed_rows",
            "needed_test_rows",
            "paired_difference",
        ],
        "fold_difference": [
            "OptimisticTestWarning",
            "PracticalDifference",
            "corrected_resampled_t",
            "correlated_t",
            "five_by_two_f",
            "paired_t",
        ],
        "fold_fit": ["refit_folds"],
        "class_evaluation": ["ClassEvaluation", "evaluate_classes"],
        "confusion": ["Confusion"],
        "probability_score": ["BrierDecomposition", "brier_decomposition", "brier_score"],
        "ranking": ["PrecisionRecallCurve", "RocCurve", "precision_recall_curve", "roc_curve"],
        "rates": [
            "accuracy",
            "balanced_accuracy",
            "error_rate",
            "f1_score",
            "macro_f1",
            "matthews_correlation",
            "micro_f1",
            "class_rates",
        ],
        "reliability": ["ReliabilityCurve", "reliability_curve"],
        "score": ["Score", "score_table"],
        "held_out": ["predictive_of"],
        "proportion": ["proportion_interval"],
        "scorer": [
            "balanced_accuracy_scorer",
            "brier_scorer",
            "calibration_scorer",
            "coverage_scorer",
            "crps_scorer",
            "interval_score_scorer",
            "log_score_scorer",
            "macro_f1_scorer",
            "mcc_scorer",
        ],
        "scores": [
            "Evaluation",
            "absolute_error",
            "crps_score",
            "evaluate",
            "interval_score",
            "is_covered",
            "log_score",
            "needed_coverage",
            "squared_error",
        ],
        "splits": [
            "fold_labels",
            "grouped_fold_labels",
            "hold_out",
            "leave_one_out_labels",
            "stratified_fold_labels",
            "time_splits",
        ],
        "splitter": ["Folds", "GroupedFolds", "HoldOut", "TimeFolds"],
        "traps": ["Trap", "check_traps", "imbalance", "row_order", "search_edge", "seen_rows"],
        "verdict": ["Verdict", "holm"],
    },
)
