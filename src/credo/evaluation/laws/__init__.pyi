from credo.evaluation.laws.broken import LawBroken as LawBroken
from credo.evaluation.laws.distribution import check_distribution as check_distribution
from credo.evaluation.laws.estimator import check_estimator as check_estimator
from credo.evaluation.laws.family import check_family as check_family
from credo.evaluation.laws.statistics import check_statistics as check_statistics
