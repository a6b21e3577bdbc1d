import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.engine.draw_account import DrawTally
from credo.inference.engine.engine import ConvergenceWarning


def test_the_worth_of_one_draw_is_added_to_the_largest_error_of_any_row():
    account = DrawTally([5000.0, 40_000.0], [0.003, 0.004]).account(tolerance=0.01)
    assert_allclose(account.error, np.hypot(0.004, 1 / 5000))
    assert account.effective_draws == 5000
    assert not account.is_exact
    assert account.error_kind == "largest standard error"


def test_rows_known_worse_than_asked_for_are_told():
    # A probability of one half has standard error 0.5 / sqrt(n) after n independent draws.
    DrawTally([2500.0], [0.01]).account(tolerance=0.01)
    with pytest.warns(ConvergenceWarning, match="worth only 2400 independent"):
        DrawTally([2400.0], [0.01]).account(tolerance=0.01)


def test_the_error_of_a_few_draws_is_not_known():
    with pytest.warns(ConvergenceWarning, match="found 3. Do not trust"):
        account = DrawTally([1e6, 3.0], [0.0, 0.0]).account(tolerance=0.01)
    assert account.error == np.inf


def test_rows_without_any_draw_have_an_unknown_error_and_no_warning_of_their_own():
    assert DrawTally([0.0], []).account(tolerance=0.01).error == np.inf
