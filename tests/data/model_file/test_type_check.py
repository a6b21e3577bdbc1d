""""""

import dataclasses
import io
import warnings
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from credo.data import ModelFileError, load, save
from credo.data.model_file.type_check import (
    declared_forms,
    declared_types,
    fits,
    fitted_types,
    require_forms,
)
from credo.distributions import Gamma, Normal
from credo.distributions.elliptical import DenseCovariance
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.features import RadialBasis, SplineBasis
from credo.models import (
    AdaBoost,
    BaselineClassifier,
    DecisionStump,
    GaussianClassConditional,
    LinearRegression,
    LogisticRegression,
    ModelAverage,
    NaiveBayes,
    NearestNeighborsClassifier,
    NearestNeighborsRegressor,
    Perceptron,
    Stack,
    VotedPerceptron,
)
from credo.models.gaps.row_completion import RowCompletion
from credo.numerics.form import Form
from resealing import seal, storable_classes, unseal

Floats = NDArray[np.float64]


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (float, [1, 1.5, np.float64(2), np.array(3.0), np.int8(1)], [True, "1", None, [1.0]]),
        (int, [1, np.int64(2)], [1.0, True, "1"]),
        (bool, [True, np.False_], [1, None]),
        (str, ["", np.str_("a")], [1, None, b"a"]),
        (float | str | Gamma, [1.0, "a", Gamma(1.0, 1.0)], [{}, None, Normal(0.0, 1.0)]),
        (Floats, [np.zeros((2, 2)), np.arange(3), 1.5], [[1.0], np.array(["a"]), "a", None]),
        (Floats | None, [None, np.zeros(1)], ["a"]),
        (NDArray[Any], [np.array(["a"]), np.zeros(1)], ["a", None]),
        (tuple[str, ...], [(), ("a", "b")], [["a"], ("a", 1), "ab"]),
        (tuple[str, int], [("a", 1)], [("a",), ("a", 1, 2), (1, "a")]),
        (list[tuple[str, Any]], [[("a", object)]], [[("a",)], [(1, 2)], ()]),
        (dict[str, float], [{"a": 1.0}], [{"a": "b"}, {1: 1.0}, []]),
        (Literal["a", "b"], ["a"], ["c", 1, None, np.zeros(2)]),
        (Any, [1, None, object], []),
        (ArrayLike, [1.0, [1.0], np.zeros(2)], []),
    ],
    ids=str,
)
def test_values_fit_exactly_the_types_they_are_of(hint, good, bad):
    assert all(fits(value, hint) for value in good)
    assert not any(fits(value, hint) for value in bad)


@pytest.mark.parametrize("cls", storable_classes().values())
def test_the_types_of_every_registered_class_can_be_read(cls):
    if not hasattr(cls, "__members__"):
        assert set(getattr(cls, "__dataclass_fields__", ())) <= set(declared_types(cls))


RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(30, 3)), columns=["a", "b", "c"])
Y = X["a"] + 0.3 * X["b"] ** 2
K = np.digitize(Y, [-0.3, 0.6])
MODELS = {
    "ada": AdaBoost(6),
    "learners": AdaBoost(2, DecisionStump()),
    "average": ModelAverage([("a", LinearRegression()), ("b", LinearRegression())]),
    "base": BaselineClassifier(),
    "gauss": GaussianClassConditional(),
    "linear": LinearRegression(),
    "logistic": LogisticRegression(),
    "naive": NaiveBayes(),
    "near": NearestNeighborsClassifier(),
    "near_number": NearestNeighborsRegressor(),
    "perceptron": Perceptron(max_epochs=3),
    "radial": LinearRegression(RadialBasis(4)),
    "spline": LinearRegression(SplineBasis(4)),
    "stack": Stack([("a", LogisticRegression()), ("b", BaselineClassifier())], cv=2),
    "stump": DecisionStump(),
    "voted": VotedPerceptron(n_epochs=2),
}


NUMBERS = ("average", "linear", "near_number", "radial", "spline")
"""Models of a number, not of classes."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return a function from the name of a model to its file, fitted once."""
    folder = tmp_path_factory.mktemp("models")

    def file(name):
        path = folder / f"{name}.credo"
        if not path.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                save(clone(MODELS[name]).fit(X, Y if name in NUMBERS else K), path)
        return path

    return file


def holder(document, path):
    node = document["value"]
    *places, last = path.split(".")
    for place in places:
        node = node[int(place) if isinstance(node, list) else place]
    return node, last


def changed(file, path, change):
    """Return a copy of a model file with one array or entry changed, checksums right."""
    document, arrays = unseal(file)
    node, last = holder(document, path)
    if isinstance(node[last], dict) and "place" in node[last]:
        place = node[last]["place"]
        arrays[place] = change(arrays[place])
    else:
        node[last] = change(node[last])
    return seal(file.with_name("changed.credo"), document, arrays)


def entry(value, *index):
    def change(array):
        array = array.copy()
        array[index or 0] = value
        return array

    return change


POSTERIOR = "fitted.posterior_.fields"
SPECTRUM = f"{POSTERIOR}.spectra.items.0.fields"
CHANGES = [
    ("ada", "fitted.members_.fields.feature", entry(2**40)),
    ("ada", "fitted.members_.fields.feature", entry(3)),
    ("ada", "fitted.members_.fields.feature", entry(-1)),
    ("ada", "fitted.members_.fields.left", entry(3)),
    ("ada", "fitted.members_.fields.right", entry(-1)),
    ("ada", "fitted.members_.fields.threshold", lambda a: a[:-1]),
    ("ada", "fitted.estimator_weights_", lambda a: a[:-1]),
    ("ada", "fitted.estimator_weights_", entry(np.nan)),
    ("ada", "fitted.temperature_", lambda _: 0.0),
    ("learners", "fitted.members_.0.fitted.classes_", entry(7, -1)),
    ("average", "fitted.probability_", lambda a: a[:-1]),
    ("average", "fitted.probability_", entry(-0.5)),
    ("average", "fitted.estimators_", lambda parts: parts[:1]),
    ("average", "fitted.n_features_in_", lambda _: 4),
    ("base", "fitted.classes_", lambda a: a[:-1]),
    ("base", "fitted.classes_", entry(1)),
    ("base", "fitted.n_features_in_", lambda _: 10**12),
    ("gauss", "fitted.joint_.fields.density.fields.loc", lambda a: a[:, :-1]),
    ("gauss", "fitted.joint_.fields.density.fields.loc", lambda a: 0 * a + 1e300),
    ("naive", "fitted.classes_", lambda a: a[:-1]),
    ("gauss", "fitted.joint_.fields.density.fields.form.fields.matrix", entry(9.0, 0, 0, 1)),
    ("gauss", "fitted.joint_.fields.density.fields.form.fields.matrix", lambda a: -a),
    ("linear", f"{SPECTRUM}.vectors", lambda a: a[:-1]),
    ("linear", f"{SPECTRUM}.vectors", entry(np.inf)),
    ("linear", f"{SPECTRUM}.vectors", entry(-1e200)),
    ("linear", f"{SPECTRUM}.eigenvalues", entry(-1.0)),
    ("linear", f"{SPECTRUM}.center", lambda a: a.astype("f4")),
    ("linear", f"{POSTERIOR}.noise_precision", entry(0.0)),
    ("linear", f"{POSTERIOR}.spectra.items", lambda parts: []),
    ("linear", "fitted.feature_names_in_.items", lambda names: ["a", "a", "b"]),
    ("logistic", f"{POSTERIOR}.coding", lambda a: a.T.copy()),
    ("logistic", f"{POSTERIOR}.center", entry(np.nan)),
    ("logistic", f"{POSTERIOR}.scale", entry(1e200)),
    ("logistic", f"{POSTERIOR}.gaussian.fields.form.fields.precision", lambda a: a * 1e-320),
    ("logistic", "fitted.classes_", lambda a: a[::-1].copy()),
    ("naive", "fitted.kinds_.items", lambda kinds: ["counts", *kinds[1:]]),
    ("naive", "fitted.posterior_.fields.numbers.fields.rate", lambda a: a[:, :-1]),
    ("near", "fitted.codes_", entry(5)),
    ("near", "fitted.codes_", entry(2**40)),
    ("near", "fitted.codes_", lambda a: a[:-1]),
    ("near", "fitted.neighborhood_.fields.points", entry(1e200)),
    ("near", "fitted.neighborhood_.fields.scale", entry(0.0)),
    ("near", "fitted.n_neighbors_", lambda _: 0),
    ("near_number", "fitted.outcomes_", entry(np.nan)),
    ("near_number", "fitted.outcomes_", lambda a: a[:-1]),
    ("perceptron", "fitted.coef_", lambda a: a[:, :-1]),
    ("perceptron", "fitted.intercept_", entry(np.inf)),
    ("radial", "fitted.basis_.fields.placed_centers", lambda a: a[:, :-1]),
    ("spline", "fitted.basis_.fields.placed_knots", lambda a: a[:-1]),
    ("spline", "fitted.basis_.fields.placed_knots", entry(0.5)),
    ("spline", "fitted.basis_.fields.placed_knots", entry(1e-320, 0, 1)),
    ("spline", "fitted.basis_.fields.placed_knots", lambda a: a[:, ::-1].copy()),
    ("stack", "fitted.weights_", lambda a: a[:-1]),
    ("stack", "fitted.names_", lambda names: names[:1]),
    ("stump", "fitted.feature_", lambda _: 3),
    ("stump", "fitted.feature_", lambda _: -1),
    ("stump", "fitted.class_weight_", entry(-1.0)),
    ("stump", "settings.concentration", lambda _: -0.5),
    ("voted", "fitted.votes_", lambda a: a[:-1]),
    ("voted", "fitted.votes_", lambda a: a[:0]),
    ("voted", "fitted.classes_", lambda a: a[:-1]),
]


@pytest.mark.parametrize(
    ("name", "path", "change"),
    CHANGES,
    ids=[f"{n}-{p}-{i}" for i, (n, p, _) in enumerate(CHANGES)],
)
def test_parts_that_do_not_agree_or_are_out_of_range_are_refused(name, path, change, saved):
    file = saved(name)
    load(changed(file, path, lambda value: value))
    with pytest.raises(ModelFileError):
        load(changed(file, path, change))


@pytest.mark.parametrize("name", ["ada", "linear", "naive", "near", "stack"])
def test_an_estimator_that_lost_something_it_learned_is_refused_or_predicts(name, saved):
    document, arrays = unseal(saved(name))
    for lost in list(document["value"]["fitted"]):
        part = {key: v for key, v in document["value"]["fitted"].items() if key != lost}
        value = {**document["value"], "fitted": part}
        path = seal(saved(name).with_name("lost.credo"), {**document, "value": value}, arrays)
        try:
            model = load(path)
        except ModelFileError:
            continue
        with warnings.catch_warnings():
            # A model that lost the names of its columns says so.
            warnings.simplefilter("ignore", UserWarning)
            assert len(model.predict(X)) == len(X)


def test_arrays_of_text_without_letters_are_refused_however_long(saved):
    document, arrays = unseal(saved("base"))
    buffer = io.BytesIO()
    shape = {"descr": "<U0", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(buffer, shape)
    place = document["value"]["fitted"]["classes_"]["place"]
    arrays[place] = buffer.getvalue()
    with pytest.raises(ModelFileError, match="text without letters"):
        load(seal(saved("base").with_name("letters.credo"), document, arrays))


def test_text_outside_of_unicode_is_refused(saved):
    document, arrays = unseal(saved("base"))
    place = document["value"]["fitted"]["classes_"]["place"]
    arrays[place] = np.array([1, 2, 0x110000], dtype="<u4").view("<U1")
    with pytest.raises(ModelFileError, match="text of Unicode"):
        load(seal(saved("base").with_name("letters.credo"), document, arrays))


def arrays_of(hints):
    """Return the names of what is declared as an array of numbers, or such an array or None."""
    numbers = (NDArray[np.float64], NDArray[np.intp])
    return {
        name
        for name, hint in hints.items()
        if hint in numbers or any(part in numbers for part in get_args(hint))
    }


def test_every_array_that_a_file_may_hold_has_a_form():
    for name, cls in storable_classes().items():
        listed = set(declared_forms(cls))
        if hasattr(cls, "get_params"):
            fitted = fitted_types(cls)
            assert arrays_of(fitted) | ({"classes_"} & set(fitted)) <= listed, name
        elif dataclasses.is_dataclass(cls) and "__init__" not in own_code(cls):
            assert arrays_of(declared_types(cls)) <= listed, name


def own_code(cls):
    """Return the names of what a class or a parent wrote itself, not what dataclass made."""
    return {
        key
        for base in cls.__mro__
        for key, value in vars(base).items()
        if getattr(getattr(value, "__code__", None), "co_filename", "").endswith(".py")
    }


def test_every_form_belongs_to_something_of_its_class():
    for name, cls in storable_classes().items():
        known = set(declared_types(cls)) | set(fitted_types(cls))
        assert set(declared_forms(cls)) <= known, name


def test_axes_of_one_letter_have_one_length():
    sizes = {}
    assert Form("n d").bound((4, 3), sizes)
    assert sizes == {"n": 4, "d": 3}
    assert not Form("d d").bound((3, 4), dict(sizes))
    assert not Form("n").bound((4, 3), dict(sizes))
    assert Form("2 d").bound((2, 3), dict(sizes))
    assert not Form("2 d").bound((3, 3), dict(sizes))


def test_leading_axes_are_the_same_in_all_parts():
    sizes = {}
    assert Form("... d d").bound((5, 2, 3, 3), sizes)
    assert Form("...").bound((5, 2), sizes)
    assert not Form("...").bound((5,), sizes)
    assert not Form("... d d").bound((3,), {})


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        (Form(), [0.0, -1e300, 3], [np.nan, np.inf, -np.inf, 1e308]),
        (Form(low=0.0, high=1.0), [0.0, 1.0, True], [-1e-9, 1.1, np.nan]),
        (Form(high=np.inf), [np.inf, 1e308], [np.nan, -np.inf]),
        (Form(has_gaps=True), [np.nan, 2.0], [np.inf]),
        (Form(low=0, high="d"), [0, 2], [-1, 3]),
    ],
)
def test_entries_stay_in_their_range(form, good, bad):
    assert all(form.holds(value, {"d": 3}) for value in good)
    assert not any(form.holds(value, {"d": 3}) for value in bad)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("ContinuedBasis", "placed_lowest", "placed_highest"),
        ("RowCompletion", "lowest", "highest"),
        ("TrainingRange", "lowest", "highest"),
    ],
)
def test_an_end_below_its_beginning_is_refused(name, low, high):
    cls = storable_classes()[name]
    require_forms(cls, {low: np.array([0.0, 1.0]), high: np.array([2.0, 1.0])})
    require_forms(cls, {low: None, high: np.array([2.0, 1.0])})
    with pytest.raises(ModelFileError, match=f"no entry below that of {low}; found one"):
        require_forms(cls, {low: np.array([0.0, 1.0]), high: np.array([2.0, 0.9])})


def test_a_class_without_forms_is_not_checked():
    require_forms(storable_classes()["Column"], {"name": "x"})


@pytest.mark.parametrize(("number", "is_fine"), [(3.0, True), (1e308, False), (1e-320, False)])
def test_counts_too_large_or_small_to_compare_are_refused(number, is_fine):
    parts = {"concentration": np.array([[1.0, number]])}
    if is_fine:
        require_forms(storable_classes()["DirichletCategorical"], parts)
        return
    with pytest.raises(ModelFileError, match=r"DirichletCategorical\.concentration"):
        require_forms(storable_classes()["DirichletCategorical"], parts)


def test_a_joint_density_without_spread_is_refused():
    completion = RowCompletion.learn(X.to_numpy(), Y.to_numpy())
    zero = MultivariateNormal(completion.joint.density.loc, np.eye(4))
    matrix = DenseCovariance(np.zeros((1, 4, 4)))
    object.__setattr__(zero, "form", matrix)
    joint = dataclasses.replace(completion.joint, density=zero)
    with pytest.raises(ValueError, match="joint must vary in every column; found a variance"):
        dataclasses.replace(completion, joint=joint)
