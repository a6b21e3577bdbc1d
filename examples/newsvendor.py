"""How many papers to stock: decide by the whole predictive, not by its mean.

Demand depends on the day's temperature. Too few papers cost the margin of a sale, too many
what the return does not refund. The stock that a regression decides on is compared, on days
that it has not seen, with its mean and with one stock for all days.
"""

import numpy as np

from credo import LinearRegression
from credo.decisions import AsymmetricLinearLoss
from credo.evaluation import judge_decisions

PRICE, COST, REFUND = 4.0, 1.0, 0.5

rng = np.random.default_rng(0)
temperature = rng.uniform(0.0, 30.0, size=(600, 1))
demand = 60.0 + 3.0 * temperature[:, 0] + rng.normal(0.0, 15.0, size=600)
model = LinearRegression().fit(temperature[:100], demand[:100])
days, sold = temperature[100:], demand[100:]

loss = AsymmetricLinearLoss(under=PRICE - COST, over=COST - REFUND)
report = judge_decisions(sold, model.predict_dist(days), loss)
by_mean = loss.loss(model.predict(days), sold).mean()

print(report.table().round(2))
print(report.verdict)
print(f"stocking the mean would have cost {by_mean:.2f} per day")
assert report.realized.value < 0.75 * by_mean < report.constant["loss"].iloc[0]
