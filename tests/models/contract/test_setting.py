import pytest

from credo.models import LogisticRegression
from credo.models.contract.setting import require_precision


@pytest.mark.parametrize("value", ["ard", -1.0, 0, float("inf"), None])
def test_a_precision_is_a_positive_number_or_one_of_the_named_choices(value):
    with pytest.raises(ValueError, match=r"a positive number or one of \('evidence',\); found"):
        require_precision("weight_precision", value, ("evidence",))


def test_numbers_and_named_choices_are_precisions():
    for value in (0.5, 3, "evidence"):
        require_precision("weight_precision", value, ("evidence",))


def test_an_unknown_word_as_the_precision_of_an_estimator_is_told_what_may_stand_there():
    with pytest.raises(ValueError, match="weight_precision must be a positive number or"):
        LogisticRegression(weight_precision="ard").fit([[0.0], [1.0], [2.0]], [0, 1, 0])
