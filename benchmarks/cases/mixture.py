"""Mixtures of normals: steps of EM, variational Dirichlet processes, draws of partitions."""

import warnings
from dataclasses import dataclass
from importlib import import_module

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from sklearn.mixture import GaussianMixture as SklearnMixture

from benchmarks.harness import Case, Contender, Goal
from credo.distributions.class_conditional import ClassConditional
from credo.families import (
    Components,
    DirichletCategorical,
    NormalInverseWishart,
    StickBreakingCategorical,
)
from credo.inference import (
    CollapsedGibbs,
    ExpectationMaximization,
    IncompleteRows,
    LatentClassProblem,
    PartitionLaw,
    PartitionProblem,
    Steps,
    run,
)
from credo.numerics.linear.clustering import nearest

__all__ = ["CASES"]

N_STEPS = 10


@dataclass(frozen=True)
class Groups:
    X: np.ndarray
    centers: np.ndarray
    share: np.ndarray


def groups(n: int, d: int, n_groups: int, k: int) -> Groups:
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(n_groups, d, d)) * 0.3 + np.eye(d)
    label = rng.integers(n_groups, size=n)
    X = np.einsum("nd,nde->ne", rng.normal(size=(n, d)), spread[label])
    X += (3.0 * rng.normal(size=(n_groups, d)))[label]
    centers = X[rng.choice(n, k, replace=False)]
    return Groups(X, centers, np.eye(k)[nearest(X, centers)])


def quietly(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def point_problem(data: Groups) -> LatentClassProblem:
    k, d = data.centers.shape
    rows = NormalInverseWishart(np.zeros(d), 0.01, d + 2.0, np.eye(d))
    prior = Components(DirichletCategorical(np.ones(k)), rows)
    unlabeled = IncompleteRows.unlabeled(data.X, k)
    return LatentClassProblem(unlabeled, prior, is_point=True, share=data.share)


def credo_steps(data: Groups) -> float:
    engine = ExpectationMaximization(0.0, N_STEPS)
    found = quietly(lambda: run(engine, point_problem(data), stop=Steps(N_STEPS)))
    return found.posterior


def sklearn_steps(data: Groups) -> SklearnMixture:
    start = data.share / data.share.sum(axis=0)
    covariance = np.stack([np.cov(data.X.T, aweights=w + 1e-300, ddof=0) for w in data.share.T])
    model = SklearnMixture(
        n_components=len(data.centers),
        tol=0.0,
        reg_covar=0.0,
        max_iter=N_STEPS,
        weights_init=data.share.mean(axis=0),
        means_init=start.T @ data.X,
        precisions_init=np.linalg.inv(covariance),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(data.X)


def pomegranate_steps(data: Groups):
    torch = import_module("torch")
    normal = import_module("pomegranate.distributions").Normal

    def single(values: np.ndarray):
        return torch.tensor(values, dtype=torch.float32)

    start = data.share / data.share.sum(axis=0)
    mean = start.T @ data.X
    covariance = [np.cov(data.X.T, aweights=w + 1e-300, ddof=0) for w in data.share.T]
    parts = [normal(single(m), single(c)) for m, c in zip(mean, covariance, strict=True)]
    weights = single(data.share.mean(axis=0))
    mixture = import_module("pomegranate.gmm").GeneralMixtureModel
    model = mixture(parts, priors=weights, tol=-1e30, max_iter=N_STEPS)
    return model.fit(single(data.X))


def log_likelihood(data: Groups, answer) -> float:
    if isinstance(answer, SklearnMixture):
        return float(answer.score(data.X))
    if isinstance(answer, ClassConditional):
        return float(answer.log_marginal(data.X).mean())
    # In single precision, so that the last digits are not comparable.
    return float(answer.log_probability(data.X.astype(np.float32)).mean())


def process_prior(data: Groups) -> Components:
    k, d = data.centers.shape
    rows = NormalInverseWishart(data.X.mean(axis=0), 1.0, float(d), np.cov(data.X.T))
    return Components(StickBreakingCategorical.of_process(1.0 / k, k), rows)


def process_problem(data: Groups) -> LatentClassProblem:
    unlabeled = IncompleteRows.unlabeled(data.X, len(data.centers))
    return LatentClassProblem(unlabeled, process_prior(data), share=data.share)


def credo_process(data: Groups) -> Components:
    engine = ExpectationMaximization(1e-3 / len(data.X) * 20.0, 2000)
    return quietly(lambda: run(engine, process_problem(data))).posterior


class FromShares(BayesianGaussianMixture):
    """The mixture of scikit-learn, from the shares that credo starts from."""

    def _initialize_parameters(self, X, random_state, xp=None):
        self._initialize(X, self.shares)


def sklearn_process(data: Groups) -> FromShares:
    k, d = data.centers.shape
    model = FromShares(
        n_components=k,
        weight_concentration_prior=1.0 / k,
        mean_precision_prior=1.0,
        degrees_of_freedom_prior=d,
        covariance_prior=np.cov(data.X.T),
        mean_prior=data.X.mean(axis=0),
        reg_covar=0.0,
        tol=1e-3,
        max_iter=2000,
    )
    model.shares = data.share
    return quietly(lambda: model.fit(data.X))


def bound(data: Groups, answer) -> float:
    """Return the bound per row, of any answer by the one formula of credo."""
    problem = process_problem(data)
    if isinstance(answer, Components):
        belief = answer
    else:
        first, rest = answer.weight_concentration_
        df = answer.degrees_of_freedom_
        # Sticks of scikit-learn are as many as components; the last says nothing.
        classes = StickBreakingCategorical(first[:-1], rest[:-1])
        rows = NormalInverseWishart(
            answer.means_,
            answer.mean_precision_,
            df,
            answer.covariances_ * df[:, None, None],
        )
        belief = Components(classes, rows)
    found = problem.expect(belief).log_normalizer - problem.penalty(belief)
    return float(found / len(data.X))


def partition(data: Groups) -> np.ndarray:
    d = data.X.shape[1]
    rows = NormalInverseWishart(data.X.mean(axis=0), 0.05, d + 2.0, np.eye(d))
    law = PartitionLaw.process(1.0, len(data.X))
    start = nearest(data.X, data.centers).astype(np.int64)
    problem = PartitionProblem(data.X, rows, law, start=start)
    # A million moves of rows: ten thousand rows, a hundred sweeps.
    found = run(CollapsedGibbs(100, 0, 1, 1, 2), problem, np.random.default_rng(0))
    return found.posterior.labels[0, -1]


def n_clusters(data: Groups, label: np.ndarray) -> float:
    return float((np.bincount(label) > 20).sum())


CASES = (
    Case(
        name="ten steps of EM, full covariance, N=100,000 D=10 K=10",
        data=lambda: groups(100_000, 10, 10, 10),
        contenders={
            "credo": Contender(credo_steps),
            "scikit-learn": Contender(sklearn_steps, "scikit-learn"),
            "pomegranate, float32": Contender(pomegranate_steps, "pomegranate"),
        },
        quality={"mean log density": log_likelihood},
        goals=(
            Goal("scikit-learn", at_least=8.0),
            Goal("pomegranate, float32", at_least=4.0),
        ),
        repeats=3,
    ),
    Case(
        name="variational Dirichlet process N=20,000 D=5 K=20",
        data=lambda: groups(20_000, 5, 12, 20),
        contenders={
            "credo": Contender(credo_process),
            "scikit-learn": Contender(sklearn_process, "scikit-learn"),
        },
        quality={"bound per row": bound},
        goals=(Goal("scikit-learn", at_least=12.0),),
        repeats=1,
    ),
    Case(
        name="a million moves of collapsed Gibbs N=10,000 D=2",
        data=lambda: groups(10_000, 2, 15, 15),
        contenders={"credo": Contender(partition)},
        quality={"clusters above 20 rows": n_clusters},
        goals=(Goal("credo", at_most=2.0, measure="seconds"),),
        repeats=3,
    ),
)
