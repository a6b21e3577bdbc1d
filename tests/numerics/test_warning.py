import functools
import inspect
import warnings
from types import FunctionType

import pytest

from credo.numerics.warning import warn_user


def inside(function, package="credo.models"):
    """Return the function as if it were defined in a package."""
    return FunctionType(
        function.__code__,
        {**function.__globals__, "__name__": package},
        closure=function.__closure__,
    )


def places(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = inspect.currentframe().f_lineno + 1
        call()
    return [one.lineno - line for one in caught], {one.filename for one in caught}


@pytest.mark.parametrize("depth", [0, 1, 7])
def test_a_warning_from_any_depth_points_at_the_line_that_called_the_package(depth):
    @inside
    def warn():
        warn_user("told", UserWarning)

    def deeper(call):
        return inside(lambda: call())

    for _ in range(depth):
        warn = deeper(warn)
    assert places(warn) == ([0], {__file__})


def test_properties_that_are_kept_do_not_hide_the_caller():
    class Kept:
        @functools.cached_property
        @inside
        def value(self):
            warn_user("told", UserWarning)

    kept = Kept()
    assert places(inside(lambda: kept.value)) == ([0], {__file__})


def test_a_package_whose_name_only_begins_alike_is_a_caller():
    @inside
    def warn():
        warn_user("told", UserWarning)

    def outside():
        warn()

    offset = outside.__code__.co_firstlineno + 1
    with pytest.warns(UserWarning, match="told") as caught:
        inside(outside, "credos.study")()
    assert caught[0].lineno == offset


def test_the_innermost_caller_is_told_when_the_package_calls_back():
    @inside
    def warn():
        warn_user("told", UserWarning)

    def callback():
        warn()

    with pytest.warns(UserWarning, match="told") as caught:
        inside(lambda: callback())()
    assert caught[0].lineno == callback.__code__.co_firstlineno + 1


def test_a_program_without_a_caller_still_warns(monkeypatch):
    monkeypatch.setattr("credo.numerics.warning._is_inside", lambda frame: True)
    with pytest.warns(UserWarning, match="told"):
        warn_user("told", UserWarning)
