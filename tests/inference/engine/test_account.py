import pytest

from credo.inference.engine.account import (
    Account,
    ApproximationWarning,
    warn_approximate,
    worst,
)

GOOD = Account("a", True, 0.0)
BAD = Account("b", False, 0.1, "error", 500.0)
WORSE = Account("b", False, 0.3, "error", 100.0)


def test_the_account_of_several_answers_is_that_of_the_worst():
    assert GOOD.worse(BAD) is BAD
    assert BAD.worse(GOOD) is BAD
    assert BAD.worse(WORSE) is WORSE
    assert WORSE.worse(BAD) is WORSE
    assert worst([GOOD, WORSE, BAD]) is WORSE
    assert worst([]) == Account("exact", True, 0.0, "exact")


def test_attributes_leave_out_what_is_not_known():
    assert BAD.attrs()["effective_draws"] == 500.0
    assert "effective_draws" not in GOOD.attrs()


def test_the_warning_tells_how_to_get_an_error_instead():
    with pytest.warns(ApproximationWarning, match=r"^too wide\. Pass method=\"exact\""):
        warn_approximate("too wide")
