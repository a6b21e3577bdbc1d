import subprocess
import sys


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
