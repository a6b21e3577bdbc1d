import inspect
import subprocess
import sys

import pytest

from credo import plots


def test_without_axes_a_figure_is_drawn_on_the_current_ones_of_pyplot():
    code = """
import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot
from credo.distributions import Beta
from credo.plots import density
first = density(Beta(1.0, 1.0))
assert first is pyplot.gca()
assert density(Beta(3.0, 2.0)) is first
assert len(first.lines) == 2
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "name", [n for n in plots.__all__ if "figure" not in n and n != "layout"]
)
def test_no_figure_needs_axes_of_its_own(name):
    assert inspect.signature(getattr(plots, name)).parameters["ax"].default is None


@pytest.mark.parametrize("name", [name for name in plots.__all__ if "figure" in name])
def test_what_is_called_a_figure_makes_one_as_large_as_it_needs(name):
    drawing = inspect.signature(getattr(plots, name))
    assert drawing.return_annotation == "Figure"
    assert "ax" not in drawing.parameters


def test_drawing_touches_neither_pyplot_nor_global_settings():
    code = """
import sys
import matplotlib
def settings():
    # Reading the backend would load pyplot to choose one.
    return {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}
before = settings()
from matplotlib.figure import Figure
from credo.distributions import Beta
from credo.plots import prior_posterior
prior_posterior(Beta(1.0, 1.0), Beta(3.0, 2.0), Figure().subplots())
assert "matplotlib.pyplot" not in sys.modules
assert settings() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)
