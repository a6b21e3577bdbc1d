from credo.plots.layout.layered import layered_layout as layered_layout
from credo.plots.layout.layout import Layout as Layout
from credo.plots.layout.stress import stress_layout as stress_layout
