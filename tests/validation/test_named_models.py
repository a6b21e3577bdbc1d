import pytest
from sklearn.linear_model import Lasso, Ridge

from credo.validation.named_models import named_models


def test_every_form_gives_the_same_models_in_their_order():
    ridge, lasso = Ridge(), Lasso()
    by_name = {"Ridge": ridge, "Lasso": lasso}
    for models in (by_name, list(by_name.items()), [ridge, lasso], (ridge, lasso)):
        found = named_models(models)
        assert list(found) == ["Ridge", "Lasso"]
        assert found["Ridge"] is ridge
        assert found["Lasso"] is lasso


def test_equal_names_are_told_apart_by_a_number():
    models = [("a", Ridge(1.0)), ("b", Lasso()), ("a", Ridge(2.0))]
    found = named_models(models)
    assert {name: model.alpha for name, model in found.items()} == {"a 1": 1, "b": 1, "a 2": 2}


@pytest.mark.parametrize("models", [None, "ridge", Ridge(), [], {}])
def test_what_holds_no_models_gives_none(models):
    assert named_models(models) == {}
