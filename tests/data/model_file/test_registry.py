import dataclasses
import importlib
import inspect
from enum import Enum

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo import distributions as d
from credo import families as f
from credo import features as b
from credo.data import ModelFileError, load, save
from credo.data.model_file import registry
from credo.data.model_file.codec import Encoder
from credo.data.model_file.registry import (
    named_parts,
    registered_class,
    registered_classes,
    registered_name,
)
from credo.exports import stub_lines
from resealing import seal, storable_classes, unseal
from rooms import every_example

ROOMS = ["distributions", "families", "features", "inference", "models"]
# What an engine found for one question is asked for again, never kept in a file; networks
# themselves are kept by save_network.
ANSWERS = ("Marginals", "Posterior", "Draws", "Elimination")
# What states a problem may be any function.
STATED = ("engine.problem", "density.posterior", "density.compiled")
X = np.random.default_rng(0).normal(size=(30, 2))


def public_classes():
    for room in ROOMS:
        module = importlib.import_module(f"credo.{room}")
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isclass(found):
                yield found


def holds_state(cls):
    """Whether objects of a class can be part of something that was learned."""
    is_value = dataclasses.is_dataclass(cls) or issubclass(cls, Enum)
    is_stated = cls.__module__.removeprefix("credo.inference.") in STATED
    is_problem = cls.__name__.endswith("Problem") or is_stated
    is_answer = cls.__name__.endswith(ANSWERS)
    is_open = inspect.isabstract(cls) or getattr(cls, "_is_protocol", False)
    return (is_value or hasattr(cls, "get_params")) and not (is_open or is_problem or is_answer)


@pytest.mark.parametrize("name", list(storable_classes()))
def test_every_entry_is_the_class_it_names(name):
    cls = registered_class(name)
    assert (cls.__name__, cls.__module__) == (name, registered_classes()[name])
    assert registered_name(cls) == name


@pytest.mark.parametrize("name", sorted(named_parts()))
def test_every_part_that_is_named_is_there_and_not_public_as_a_value_anyway(name):
    cls = registered_class(name)
    assert cls.__module__ == named_parts()[name][0]
    is_public = any(name in stub_lines(f"credo.{room}") for room in registry.ROOMS)
    assert not (is_public and registry._is_stored(cls))


@pytest.mark.parametrize("name", ["run", "Engine", "FactorProblem", "Distribution", "laws"])
def test_functions_problems_and_what_is_abstract_are_in_no_file(name):
    with pytest.raises(ModelFileError, match=f"found '{name}'"):
        registered_class(name)


@pytest.mark.parametrize(
    "cls", [c for c in public_classes() if holds_state(c)], ids=lambda c: c.__name__
)
def test_every_public_class_that_holds_state_can_be_saved(cls):
    assert registered_name(cls) == cls.__name__, (
        f"add {cls.__name__} of {cls.__module__} to credo/data/model_file/parts.pyi"
    )


def test_a_kernel_of_ones_own_is_refused_before_a_file_is_written(tmp_path):
    with pytest.raises(ModelFileError, match="found an object of class function"):
        save(b.FunctionKernel.examples()[0], tmp_path / "k.credo")
    assert not list(tmp_path.iterdir())


def test_a_class_of_the_same_name_elsewhere_is_not_ours():
    stranger = type("Normal", (), {})
    assert registered_name(stranger) is None
    with pytest.raises(ModelFileError, match="found 'Stranger'"):
        registered_class("Stranger")


# A kernel of one's own holds a function, which no file can.
EXAMPLES = [
    example.it
    for example in every_example("distributions", "families", "features")
    if not isinstance(example.it, b.FunctionKernel)
]
VALUES = [
    *EXAMPLES,
    *(value.place(X) for value in EXAMPLES if isinstance(value, b.Basis)),
    *d.JointTable.examples(),
    f.NormalInverseGamma(0.3, 0.7, 1.5, 2.0).update(f.NormalStatistics.of(X)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: str(v)[:60])
def test_a_value_and_its_loaded_copy_are_the_same_in_every_field(value, tmp_path):
    save(value, tmp_path / "v.credo")
    copy = load(tmp_path / "v.credo")
    before, after = Encoder(), Encoder()
    assert type(copy) is type(value)
    assert after.encode(copy) == before.encode(value)
    for left, right in zip(before.arrays, after.arrays, strict=True):
        assert_array_equal(left, right)
        assert left.dtype == right.dtype


@pytest.mark.parametrize(
    "value",
    [v for v in VALUES if isinstance(v, d.Distribution)],
    ids=lambda v: str(v)[:60],
)
def test_a_loaded_distribution_draws_the_same(value, tmp_path):
    save(value, tmp_path / "v.credo")
    copy = load(tmp_path / "v.credo")
    left = value.sample(np.random.default_rng(0), 3)
    assert_array_equal(left, copy.sample(np.random.default_rng(0), 3))
    assert_array_equal(value.log_prob(left), copy.log_prob(left))


@pytest.mark.parametrize(
    "value", [v for v in VALUES if isinstance(v, b.Basis)], ids=lambda v: str(v)[:60]
)
def test_a_loaded_basis_gives_the_same_design(value, tmp_path):
    save(value, tmp_path / "v.credo")
    copy = load(tmp_path / "v.credo")
    assert_array_equal(copy.place(X).design(X), value.place(X).design(X))


def test_a_file_whose_head_has_a_former_name_opens(tmp_path):
    belief = f.LinearGaussianBelief.examples()[0].it
    save(belief, tmp_path / "m.credo")
    document, arrays = unseal(tmp_path / "m.credo")
    document["class"] = document["value"]["class"] = "LinearGaussian"
    assert type(load(seal(tmp_path / "old.credo", document, arrays))) is type(belief)


def test_a_former_belief_about_classes_of_known_probability_opens(tmp_path):
    belief = f.Components(d.Categorical([0.3, 0.7]), f.NormalInverseGamma([0.0], 1.0, 1.0, 1.0))
    save(belief, tmp_path / "m.credo")
    document, arrays = unseal(tmp_path / "m.credo")
    document["class"] = document["value"]["class"] = "ClassConditionalBelief"
    fields = document["value"]["fields"]
    fields["classes"] = fields["classes"]["fields"]["distribution"]
    found = load(seal(tmp_path / "old.credo", document, arrays))
    assert isinstance(found.classes, f.Known)
    assert_array_equal(found.classes.distribution.probability, [0.3, 0.7])
