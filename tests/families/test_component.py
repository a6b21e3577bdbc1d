import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo import families
from credo.distributions import Categorical, Poisson, StudentT
from credo.families import (
    Components,
    DirichletCategorical,
    GammaExponential,
    GammaPoisson,
    Known,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalStatistics,
    PoissonStatistics,
    Product,
    TiedNormalInverseWishart,
)

X = np.random.default_rng(0).poisson(4.0, size=(12, 2)).astype(float)
LABEL = np.arange(12) % 3
CLASSES = DirichletCategorical([1.0, 2.0, 0.5])
FAMILIES = {
    "poisson": GammaPoisson(2.0, 0.5),
    "exponential": GammaExponential(2.0, 0.5),
    "normal": NormalInverseGamma([0.0, 1.0], 1.0, 1.5, 2.0),
    "vector": NormalInverseWishart([0.0, 1.0], 1.0, 4.0, np.eye(2)),
    "tied": TiedNormalInverseWishart(np.zeros((3, 2)), 1.0, 4.0, np.eye(2)),
    "states": DirichletCategorical(np.ones(20)),
    "known": Known(StudentT(4.0, [[0.0], [2.0], [4.0]], 1.0)),
    "product": Product.by_column({0: GammaPoisson(2.0, 0.5), 1: GammaExponential(2.0, 0.5)}),
}


def fields_of(value):
    if isinstance(value, np.ndarray):
        return [value]
    parts = value if isinstance(value, tuple) else vars(value).values()
    return [array for part in parts if not isinstance(part, int) for array in fields_of(part)]


@pytest.mark.parametrize("family", FAMILIES)
def test_whole_shares_are_groups(family):
    belief = Components(CLASSES, FAMILIES[family])
    weight = 0.5 + np.arange(12) / 10
    grouped = belief.statistics_of(X, LABEL, weight)
    share = np.where(LABEL[:, None] == np.arange(3), weight[:, None], 0.0)
    shared = belief.statistics_by_share(X, share)
    for found, expected in zip(fields_of(shared), fields_of(grouped), strict=True):
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_evidence_is_that_of_each_class_by_itself(family):
    prior = Components(CLASSES, FAMILIES[family])
    found = prior.log_evidence(prior.statistics_of(X, LABEL))
    about_classes = float(CLASSES.log_evidence(CLASSES.statistics_of(LABEL)))
    if family == "tied":
        rows = FAMILIES[family].statistics_by_group(X, LABEL, 3)
        assert_allclose(found, about_classes + float(FAMILIES[family].log_evidence(rows)))
        return
    alone = [
        float(np.sum(one.log_evidence(one.statistics_of(X[c == LABEL]))))
        for c in range(3)
        for one in [prior.rows[c]]
    ]
    assert_allclose(found, about_classes + sum(alone))


def test_the_density_of_a_row_is_a_sum_over_classes():
    posterior = Components(CLASSES, GammaPoisson(2.0, 0.5))
    posterior = posterior.update(posterior.statistics_of(X, LABEL))
    joint = posterior.predictive()
    # All that probability can be on, but for 1e-9 or so.
    grid = np.array(list(itertools.product(range(80), repeat=2)), dtype=float)
    assert_allclose(
        np.exp(joint.log_joint(grid)).sum(axis=0), np.exp(joint.log_weight), rtol=1e-6
    )
    assert_allclose(np.exp(joint.log_marginal(grid)).sum(), 1.0, rtol=1e-6)


def test_gaps_are_summed_out_of_counts():
    joint = Components(
        CLASSES, Known(Poisson([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    ).predictive()
    counts = np.arange(60.0)
    rows = np.column_stack([np.full(60, 2.0), counts])
    summed = special.logsumexp(joint.log_joint(rows), axis=0)
    assert_allclose(joint.log_joint(np.array([[2.0, np.nan]]))[0], summed)


def test_known_class_probabilities_stay_as_they_are():
    prior = Components(Categorical([0.2, 0.3, 0.5]), GammaPoisson(2.0, 0.5))
    seen = prior.statistics_of(X, LABEL)
    posterior = prior.update(seen)
    assert_allclose(np.exp(posterior.predictive().log_weight), [0.2, 0.3, 0.5])
    learned = Components(CLASSES, GammaPoisson(2.0, 0.5))
    about_classes = float(CLASSES.log_evidence(seen.classes))
    expected = learned.log_evidence(seen) - about_classes + 4 * np.log([0.2, 0.3, 0.5]).sum()
    assert_allclose(prior.log_evidence(seen), expected)
    assert np.isfinite(posterior.kl(prior))


@pytest.mark.parametrize("family", FAMILIES)
def test_expected_log_densities_of_many_rows_are_those_of_each(family):
    belief = Components(CLASSES, FAMILIES[family])
    belief = belief.update(belief.statistics_of(X, LABEL))
    found = belief.expected_log_joint(X)
    each = np.stack([belief.expected_log_density(row) for row in X])
    assert_allclose(found, each)
    assert_allclose(belief.expected_log_own(X, LABEL), each[np.arange(12), LABEL])


def test_a_belief_about_every_class_is_one_for_each():
    same = Components(CLASSES, NormalInverseGamma([0.0, 1.0], 1.0, 1.5, 2.0))
    each = Components(CLASSES, NormalInverseGamma(np.tile([0.0, 1.0], (3, 1)), 1.0, 1.5, 2.0))
    assert same.rows.batch_shape == each.rows.batch_shape == (3, 2)
    assert same.kl(each) == 0.0
    with pytest.raises(
        ValueError, match=r"one for each of 3 classes .* found batch shape \(4, 2\)"
    ):
        Components(CLASSES, GammaPoisson(np.ones((4, 2)), 1.0))


def test_shares_of_gaps_carry_no_weight():
    x = np.array([[1.0, np.nan], [3.0, 2.0]])
    share = np.array([[0.25, 0.75], [1.0, 0.0]])
    found = NormalStatistics.by_share(x, share)
    assert_allclose(found.weight, [[1.25, 1.0], [0.75, 0.0]])
    assert_allclose(found.mean, [[2.6, 2.0], [1.0, 0.0]])
    assert_allclose(found.scatter, [[0.25 * 1.6**2 + 0.4**2, 0.0], [0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("share", [np.ones(2), np.ones((3, 2)), -np.ones((2, 2))])
def test_shares_are_checked(share):
    with pytest.raises(ValueError, match="share must"):
        NormalStatistics.by_share([[1.0], [2.0]], share)


class Grouped:
    """Statistics of counts that know groups and no shares."""

    of = PoissonStatistics.of
    by_group = PoissonStatistics.by_group


class Plain(GammaPoisson):
    """A belief of somebody else, whose statistics have no `by_share`."""

    learns_from = Grouped


class Silent(GammaPoisson):
    """A belief that does not say what it learns from."""

    learns_from = None


def test_a_family_that_knows_groups_alone_has_shares_too():
    share = np.random.default_rng(1).uniform(size=(12, 3))
    found = Components(CLASSES, Plain(2.0, 0.5)).statistics_by_share(X, share)
    expected = Components(CLASSES, GammaPoisson(2.0, 0.5)).statistics_by_share(X, share)
    assert_allclose(found.rows.total, expected.rows.total)
    assert_allclose(found.rows.log_factorial, expected.rows.log_factorial)


def test_a_belief_without_statistics_is_told_what_to_add():
    with pytest.raises(TypeError, match=r"Silent must say from which statistics it learns"):
        Components(CLASSES, Silent(2.0, 0.5)).statistics_of(X, LABEL)


def test_every_family_of_rows_takes_shares_in_one_pass():
    public = [getattr(families, name) for name in families.__all__]
    learners = [cls for cls in public if getattr(cls, "learns_from", None) is not None]
    assert len(learners) >= 10
    assert all(hasattr(cls.learns_from, "by_share") for cls in learners)
