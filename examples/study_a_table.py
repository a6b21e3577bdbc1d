"""A table with text, dates and gaps studied from Python: what to believe, and new rows.

Made-up visits to four shops, some of them without a temperature. The study says how far off
its predictions are on rows it had not seen; a second year of visits shows that this is so.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import credo


def visits(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    number = rng.integers(0, 365, n)
    shop = rng.choice(["north", "south", "east", "west"], n)
    celsius = 12 - 9 * np.cos(2 * np.pi * number / 365) + rng.normal(0, 3, n)
    guests = 80 + 4 * celsius + 30 * (shop == "south") + rng.normal(0, 8, n)
    day = pd.Timestamp("2025-01-01") + pd.to_timedelta(number, unit="D")
    table = pd.DataFrame({"day": day, "shop": shop, "celsius": celsius, "guests": guests})
    return table.mask(rng.random(table.shape) < [0, 0, 0.1, 0])


study = credo.fit(visits(400, seed=0), target="guests")
print(study)
print(study.remarks[0].text)
print(study.table()[["probability", "cv_log_score", "log_score", "rmse"]].round(3))

new = pd.DataFrame({"day": ["2025-07-01"] * 2, "shop": ["south", None], "celsius": [25, None]})
print(study.predict_frame(new).round(1))

with tempfile.TemporaryDirectory() as folder:
    study.report(Path(folder) / "visits.html")
    study.save(Path(folder) / "visits.credo")
    again = credo.load(Path(folder) / "visits.credo")

score = again.score(visits(400, seed=1))
print(score.sentence("guests"))
assert 0.86 < score.coverage < 0.94
