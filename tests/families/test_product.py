import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from credo.evaluation import laws
from credo.families import (
    DirichletCategorical,
    GammaExponential,
    GammaPoisson,
    NormalInverseGamma,
    NormalInverseWishart,
    Product,
)
from credo.families.product import Summarized

NORMAL = NormalInverseGamma([0.3, -1.0], 0.7, 1.5, 2.0)
RNG = np.random.default_rng(0)
ROWS = np.column_stack([RNG.normal(size=8), RNG.poisson(3.0, 8), RNG.normal(size=8)])


def test_a_product_of_three_families_is_a_few_lines():
    prior = Product.by_column(
        {
            0: GammaPoisson(2.0, 0.5),
            1: GammaExponential(2.0, 1.0),
            2: DirichletCategorical([1, 1]),
        }
    )
    rows = np.array([[3, 0.5, 0], [4, 1.5, 1], [np.nan, 0.2, 1]])
    posterior = prior.update(prior.statistics_of(rows))
    found = posterior.predictive().prob([3, 1.0, 1])
    count = stats.nbinom.pmf(3, 9, 2.5 / 3.5)
    time = stats.lomax.pdf(1.0, 5, scale=3.2)
    assert_allclose(found, count * time * 3 / 5)


def test_log_densities_and_evidence_are_sums_over_the_parts():
    prior = Product.by_column({(0, 2): NORMAL, 1: GammaPoisson(2.0, 0.5)})
    seen = prior.statistics_of(ROWS)
    counts = GammaPoisson([2.0], 0.5)
    about = [NORMAL.log_evidence(NORMAL.statistics_of(ROWS[:, [0, 2]])).sum()]
    about += [counts.log_evidence(counts.statistics_of(ROWS[:, [1]])).sum()]
    assert_allclose(prior.log_evidence(seen), sum(about))
    row = ROWS[0]
    each = NORMAL.predictive().log_prob(row[[0, 2]]).sum() + counts.predictive().log_prob(
        row[1]
    )
    assert_allclose(prior.predictive().log_prob(row), each[0])
    posterior = prior.update(seen)
    kl = [
        part.kl(before).sum() for part, before in zip(posterior.parts, prior.parts, strict=True)
    ]
    assert_allclose(posterior.kl(prior), sum(kl))


def test_evidence_matches_integrals_over_the_parameters():
    rows = np.array([[0.4, 2.0], [1.1, 5.0]])
    prior = Product.by_column({0: GammaExponential(2.0, 1.0), 1: GammaPoisson(1.5, 0.5)})

    def both(log_likelihood, shape, rate):
        def density(r):
            return np.exp(log_likelihood(r)) * stats.gamma.pdf(r, shape, scale=1 / rate)

        return integrate.quad(density, 0, np.inf)[0]

    times = both(lambda r: 2 * np.log(r) - 1.5 * r, 2.0, 1.0)
    factorials = special.gammaln([3.0, 6.0]).sum()
    counts = both(lambda r: 7 * np.log(r) - 2 * r - factorials, 1.5, 0.5)
    found = prior.log_evidence(prior.statistics_of(rows))
    assert_allclose(found, np.log(times * counts), rtol=1e-7)


def test_a_missing_number_is_absent_from_its_part_alone():
    prior = Product.by_column({(0, 2): NORMAL, 1: GammaPoisson(2.0, 0.5)})
    gaps = ROWS.copy()
    gaps[[1, 4], 1] = np.nan
    gaps[2, 0] = np.nan
    found = prior.statistics_of(gaps)
    kept = np.delete(ROWS, [1, 4], axis=0)
    assert_allclose(found.parts[1].total, kept[:, 1].sum())
    assert_allclose(found.parts[0].weight, [7.0, 8.0])
    assert_allclose(found.parts[0].mean[1], ROWS[:, 2].mean())
    expected = prior.expected_log_density([0.5, np.nan, 0.1])
    assert_allclose(expected, NORMAL.expected_log_density([0.5, 0.1]).sum())


def test_vectors_among_the_parts_must_be_complete():
    vector = NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.eye(2))
    prior = Product.by_column({(0, 2): vector, 1: GammaPoisson(2.0, 0.5)})
    with pytest.raises(ValueError, match="complete"):
        prior.statistics_of([[0.5, 1.0, np.nan]])


def test_groups_and_entries_of_a_batch_are_those_of_the_parts():
    prior = Product.by_column({(0, 2): NORMAL, 1: GammaPoisson(2.0, 0.5)})
    label = np.arange(8) % 2
    posterior = prior.update(prior.statistics_by_group(ROWS, label, 2))
    assert posterior.batch_shape == (2,)
    alone = prior.update(prior.statistics_of(ROWS[label == 1]))
    assert_allclose(posterior[1].parts[0].location, alone.parts[0].location)
    assert_allclose(posterior[1].predictive().mean(), alone.predictive().mean())
    assert posterior[None].batch_shape == (1, 2)


@pytest.mark.parametrize("columns", [(0, 1), ((0, 1), (1,)), ((0, 3), (1,))])
def test_every_column_must_be_in_one_part(columns):
    parts = (GammaPoisson(1.0, 1.0), GammaPoisson(1.0, 1.0), GammaPoisson(1.0, 1.0))
    with pytest.raises(ValueError, match="columns must name each column of a row"):
        Product(parts[: len(columns) + (columns == (0, 1))], columns)


@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(-100, 100, allow_subnormal=False), st.integers(0, 1000), st.integers(0, 2)
        ),
        min_size=6,
        max_size=12,
    )
)
def test_laws_that_are_exact_hold_for_arbitrary_rows(rows):
    prior = Product.by_column(
        {
            0: NormalInverseGamma(0.3, 0.7, 1.5, 2.0),
            1: GammaPoisson(2.5, 1.3),
            2: DirichletCategorical([0.5, 1.0, 2.5]),
        }
    )
    laws.check_family(
        prior,
        Summarized(prior),
        np.array(rows, dtype=float),
        n_draws=0,
        maximum_likelihood=False,
    )


@pytest.mark.parametrize("n_columns", [1, 3])
def test_a_table_of_another_width_is_refused(n_columns):
    prior = Product.by_column({0: GammaPoisson(1.0, 0.1), 1: GammaPoisson(1.0, 1.0)})
    with pytest.raises(ValueError, match="rows must have the 2 columns that the parts name"):
        prior.statistics_of(np.ones((4, n_columns)))
