"""One word per idea: words that the glossary refuses are in no name and no docstring."""

import ast
import re
from pathlib import Path

import pytest

import credo

SOURCE = Path(credo.__file__).parent
GLOSSARY = SOURCE.parents[1] / "docs" / "glossary.md"
ODD = {"told", "untold", "mended", "nobody"}
OTHER_MEANINGS = {
    "beta", "bias", "bounds", "carry", "category", "clique", "cluster", "config", "cost",
    "energy", "eps", "evidence", "example", "expansion", "fitted", "free energy", "gamma",
    "gap", "history", "instance", "log", "marginal likelihood", "masked", "metric", "moderated",
    "moments", "null", "observation", "options", "particle", "partition", "Phi", "potential",
    "regressors", "target", "task", "weights",
}  # fmt: skip
TERMS = {
    "annealed importance sampling": "inference/spins/annealing.py",
    "Bayesian neural networks": "models/neural/neural_network.py",
    "Chinese restaurant": "distributions/dirichlet_process.py",
    "cutset conditioning": "inference/discrete/exact_inference.py",
    "Empirical Bayes": "inference/engine/prior.py",
    "Extrapolation": "features/continued.py",
    "forward-backward": "inference/sequence/hidden_chain.py",
    "Gauss-Newton": "inference/neural/curvature.py",
    "Grid search": "models/ensemble/search.py",
    "junction tree": "inference/discrete/exact/plan.py",
    "Kalman filter": "inference/kernel/series.py",
    "Kernel density estimation": "models/latent/kernel_density.py",
    "likelihood weighting": "inference/hybrid/likelihood_weighting.py",
    "mass matrices": "inference/density/metric.py",
    "Multiple imputation": "models/gaps/row_completion.py",
    "one-hot": "data/table/preparation.py",
    "partial dependence": "study/partial_dependence.py",
    "Platt scaling": "inference/margin/score_probability.py",
    "Radial basis functions": "features/radial.py",
    "Rao-Blackwellized": "inference/discrete/approximate/gibbs.py",
    "Robust regression": "models/linear/student_t_regression.py",
    "sequential minimal optimization": "inference/margin/support_vectors.py",
    "Stacking": "inference/engine/stacking.py",
    "Sugiyama": "plots/layout/layered.py",
}


def spaced(text):
    """The words of a text or of an identifier in lower case, one space around each."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text)
    return f" {' '.join(re.findall(r'[a-z0-9]+', parted.lower()))} "


def refused():
    table = GLOSSARY.read_text(encoding="utf-8").split("## Words with two meanings")[0]
    rows = re.findall(r"^\| (.+?) \| .+? \| (.*?) ?\|$", table, flags=re.M)[1:]
    used = {word.strip() for words, _ in rows for word in re.split(r",| \(noun\)", words)}
    bare = (re.sub(r"\(.*?\)", "", words) for _, words in rows)
    listed = {word.strip() for words in bare for word in words.split(",")}
    return {word for word in (listed | ODD) - used - OTHER_MEANINGS if word}


def texts(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def words_refused_in(source, words):
    held = [spaced(text) for text in texts(ast.parse(source))]
    return {word for word in words if any(spaced(word) in text for text in held)}


def test_words_are_found_in_names_and_docstrings_but_not_inside_other_words():
    words = {"latent", "told", "sigma"}
    assert words_refused_in("class LatentRow:\n    pass", words) == {"latent"}
    assert words_refused_in("def f(is_told):\n    return 1", words) == {"told"}
    assert words_refused_in('def f():\n    """Return Sigma."""', words) == {"sigma"}
    assert words_refused_in('sigmas = 1\n"""latently told."""', words) == set()


def test_the_glossary_refuses_words_and_uses_none_of_them_itself():
    assert {"nugget", "elbo", "told"} <= refused()
    assert not {"draw", "plan", "cutset conditioning"} & refused()


@pytest.mark.parametrize(
    "path",
    sorted(SOURCE.rglob("*.py")),
    ids=lambda path: path.relative_to(SOURCE).as_posix(),
)
def test_no_name_and_no_docstring_has_a_word_that_is_refused(path):
    assert words_refused_in(path.read_text(encoding="utf-8"), refused()) == set()


@pytest.mark.parametrize(("term", "path"), TERMS.items())
def test_the_name_of_a_method_stands_in_the_first_lines_of_its_module(term, path):
    text = ast.get_docstring(ast.parse((SOURCE / path).read_text(encoding="utf-8")))
    assert term.lower() in " ".join(text.lower().split()[:110])
