from credo.evaluation import laws as laws
from credo.evaluation.calibration import CoverageCurve as CoverageCurve
from credo.evaluation.calibration import coverage_curve as coverage_curve
from credo.evaluation.calibration import (
    probability_integral_transform as probability_integral_transform,
)
from credo.evaluation.classes.class_evaluation import ClassEvaluation as ClassEvaluation
from credo.evaluation.classes.class_evaluation import evaluate_classes as evaluate_classes
from credo.evaluation.classes.confusion import Confusion as Confusion
from credo.evaluation.classes.ranking import PrecisionRecallCurve as PrecisionRecallCurve
from credo.evaluation.classes.ranking import RocCurve as RocCurve
from credo.evaluation.classes.ranking import precision_recall_curve as precision_recall_curve
from credo.evaluation.classes.ranking import roc_curve as roc_curve
from credo.evaluation.classes.rates import accuracy as accuracy
from credo.evaluation.classes.rates import balanced_accuracy as balanced_accuracy
from credo.evaluation.classes.rates import class_rates as class_rates
from credo.evaluation.classes.rates import error_rate as error_rate
from credo.evaluation.classes.rates import f1_score as f1_score
from credo.evaluation.classes.rates import macro_f1 as macro_f1
from credo.evaluation.classes.rates import matthews_corrcoef as matthews_corrcoef
from credo.evaluation.classes.rates import matthews_correlation as matthews_correlation
from credo.evaluation.classes.rates import micro_f1 as micro_f1
from credo.evaluation.classes.rates import precision_score as precision_score
from credo.evaluation.classes.rates import recall_score as recall_score
from credo.evaluation.classes.reliability import BrierDecomposition as BrierDecomposition
from credo.evaluation.classes.reliability import ReliabilityCurve as ReliabilityCurve
from credo.evaluation.classes.reliability import brier_decomposition as brier_decomposition
from credo.evaluation.classes.reliability import reliability_curve as reliability_curve
from credo.evaluation.comparison.compare import compare as compare
from credo.evaluation.comparison.comparison import Comparison as Comparison
from credo.evaluation.comparison.difference import Difference as Difference
from credo.evaluation.comparison.difference import (
    OptimisticTestWarning as OptimisticTestWarning,
)
from credo.evaluation.comparison.difference import (
    PracticalDifference as PracticalDifference,
)
from credo.evaluation.comparison.difference import (
    corrected_resampled_t as corrected_resampled_t,
)
from credo.evaluation.comparison.difference import correlated_t as correlated_t
from credo.evaluation.comparison.difference import five_by_two_f as five_by_two_f
from credo.evaluation.comparison.difference import (
    independent_difference as independent_difference,
)
from credo.evaluation.comparison.difference import needed_rows as needed_rows
from credo.evaluation.comparison.difference import needed_test_rows as needed_test_rows
from credo.evaluation.comparison.difference import paired_difference as paired_difference
from credo.evaluation.comparison.difference import paired_t as paired_t
from credo.evaluation.comparison.verdict import Verdict as Verdict
from credo.evaluation.comparison.verdict import holm as holm
from credo.evaluation.decision_report import DecisionReport as DecisionReport
from credo.evaluation.decision_report import judge_decisions as judge_decisions
from credo.evaluation.scorer import balanced_accuracy_scorer as balanced_accuracy_scorer
from credo.evaluation.scorer import brier_scorer as brier_scorer
from credo.evaluation.scorer import calibration_scorer as calibration_scorer
from credo.evaluation.scorer import coverage_scorer as coverage_scorer
from credo.evaluation.scorer import crps_scorer as crps_scorer
from credo.evaluation.scorer import interval_score_scorer as interval_score_scorer
from credo.evaluation.scorer import log_score_scorer as log_score_scorer
from credo.evaluation.scorer import macro_f1_scorer as macro_f1_scorer
from credo.evaluation.scorer import mcc_scorer as mcc_scorer
from credo.evaluation.traps import Trap as Trap
from credo.evaluation.traps import check_traps as check_traps
from credo.evaluation.traps import imbalance as imbalance
from credo.evaluation.traps import row_order as row_order
from credo.evaluation.traps import search_edge as search_edge
from credo.evaluation.traps import seen_rows as seen_rows
from credo.validation.cross_validation import CrossValidation as CrossValidation
from credo.validation.cross_validation import cross_validate as cross_validate
from credo.validation.predictive import predictive_of as predictive_of
from credo.validation.probability_score import brier_score as brier_score
from credo.validation.proportion import proportion_interval as proportion_interval
from credo.validation.score import Score as Score
from credo.validation.score import score_table as score_table
from credo.validation.scores import Evaluation as Evaluation
from credo.validation.scores import absolute_error as absolute_error
from credo.validation.scores import crps_score as crps_score
from credo.validation.scores import evaluate as evaluate
from credo.validation.scores import interval_score as interval_score
from credo.validation.scores import is_covered as is_covered
from credo.validation.scores import log_score as log_score
from credo.validation.scores import needed_coverage as needed_coverage
from credo.validation.scores import squared_error as squared_error
from credo.validation.splits import fold_labels as fold_labels
from credo.validation.splits import grouped_fold_labels as grouped_fold_labels
from credo.validation.splits import hold_out as hold_out
from credo.validation.splits import leave_one_out_labels as leave_one_out_labels
from credo.validation.splits import refit_folds as refit_folds
from credo.validation.splits import stratified_fold_labels as stratified_fold_labels
from credo.validation.splits import time_splits as time_splits
from credo.validation.splitter import Folds as Folds
from credo.validation.splitter import GroupedFolds as GroupedFolds
from credo.validation.splitter import HoldOut as HoldOut
from credo.validation.splitter import TimeFolds as TimeFolds
