import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


@pytest.fixture
def ax():
    """Axes of a figure that pyplot knows nothing of, drawn at the end so that errors show."""
    figure = Figure(figsize=(5, 4), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    yield figure.subplots()
    canvas.draw()
