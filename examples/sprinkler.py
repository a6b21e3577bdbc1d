"""Was it rain? A network of four variables, asked in five ways."""

import math

import pandas as pd

from credo import BayesianNetwork

net = BayesianNetwork(
    "cloud -> sprinkler, rain; sprinkler, rain -> wet",
    cpts={
        "cloud": [0.5, 0.5],
        "sprinkler": [[0.5, 0.5], [0.9, 0.1]],
        "rain": [[0.8, 0.2], [0.2, 0.8]],
        "wet": [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]],
    },
)

print(net.explaining_away("rain", other={"sprinkler": True}, given={"wet": True}).round(4))
print("most probable:", net.most_probable(given={"wet": True}))
print("sprinkler seen:", net.query("rain", given={"sprinkler": True})[True].round(4))
print("sprinkler set: ", net.query("rain", do={"sprinkler": True})[True].round(4))

days = pd.DataFrame({"wet": [True, False, None], "cloud": [None, True, None]})
print(net.predict_proba(days, "rain").round(4))

# P(wet) = sum over clouds of P(rain or sprinkler wets): 0.549 with a clear sky, 0.7452 without.
assert math.isclose(math.exp(net.log_prob({"wet": True})), (0.549 + 0.7452) / 2)
