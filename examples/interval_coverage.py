"""Are the intervals honest? Concrete strength, outcomes the model never saw."""

import numpy as np
from sklearn.model_selection import train_test_split

from credo import LinearRegression
from credo.data import load_set
from credo.features import SplineBasis

table = load_set("concrete")
X, y = table.drop(columns="strength").to_numpy(), table["strength"].to_numpy()
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

predictive = LinearRegression(SplineBasis()).fit(X_train, y_train).predict_dist(X_test)
low, high = predictive.interval(0.9).T
inside = np.mean((low <= y_test) & (y_test <= high))
print(f"asked for 90 %, found {inside:.1%} of {len(y_test)} outcomes")

# With 258 outcomes the standard error of a share of 0.9 is 0.019; three of those on each side.
assert 0.84 < inside < 0.96
