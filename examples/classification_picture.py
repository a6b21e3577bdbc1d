"""Draw the picture of the classification page: what is claimed where there are no data."""

import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from credo import LogisticRegression
from credo.features import RadialBasis
from credo.inference import SeparationWarning
from credo.plots import boundary

rng = np.random.default_rng(5)
x = rng.normal(size=(30, 2)) * 0.9 + np.repeat([[-1.0, 0.4], [1.0, -0.4]], 15, axis=0)
y = np.repeat(["a", "b"], 15)
# Two corners without a class widen the view; no row is drawn there.
view, shown = np.vstack([x, [[-7.0, -7.0], [7.0, 7.0]]]), np.append(y, ["", ""])
far = [[7.0, 7.0], [-7.0, 7.0], [-7.0, -7.0], [7.0, -7.0]]

names = {"ml": "maximum likelihood", "map": "most probable weights", "laplace": "averaged"}
bases = {"a line": None, "eight bumps": RadialBasis(8)}
figure = Figure(figsize=(10, 6.6), layout="constrained")
axes = figure.subplots(2, 3, sharex=True, sharey=True)
surest = {}
for row, (kind, basis) in zip(axes, bases.items(), strict=True):
    for ax, (inference, name) in zip(row, names.items(), strict=True):
        model = LogisticRegression(basis, inference)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeparationWarning)
            model.fit(x, y)
        boundary(model, view, shown, ax)
        surest[kind, inference] = model.predict_proba(far).max()
        ax.get_legend().remove()
        ax.set(title=f"{kind}, {name}", xlabel="", ylabel="")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
figure.savefig(Path(__file__).parents[1] / "docs" / "pictures" / "classes.png", dpi=110)

assert surest["eight bumps", "laplace"] < 0.85 < 0.99 < surest["eight bumps", "ml"], surest
