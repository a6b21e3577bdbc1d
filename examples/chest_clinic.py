"""A patient who smokes is short of breath; draw the picture of the page on networks."""

import math
from pathlib import Path

from credo.data import load_example_network
from credo.plots import network_figure

clinic = load_example_network("asia")
patient = {"smoke": "yes", "dysp": "yes"}
cancer = clinic.query("lung", given=patient)["yes"]
with_bronchitis = clinic.query("lung", given={**patient, "bronc": "yes"})["yes"]
print(f"lung cancer {cancer:.4f}, if bronchitis explains the breath {with_bronchitis:.4f}")

figure = network_figure(clinic, given=patient)
target = Path(__file__).parents[1] / "docs" / "pictures" / "chest_clinic.png"
figure.savefig(target, dpi=110)

seen = clinic.log_prob({**patient, "lung": "yes"}) - clinic.log_prob(patient)
assert math.isclose(cancer, math.exp(seen), rel_tol=1e-12)
assert with_bronchitis < 0.8 * cancer
