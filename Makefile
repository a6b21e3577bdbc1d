# Every target does its own set-up; a machine with Python and make is enough.
PYTHON ?= python3
BIN := .venv/bin
# uv installs in half the time; where it cannot be had, pip does.
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
# Certificates of a machine behind a gateway are those that pip uses as well.
export UV_SYSTEM_CERTS := 1
UV := VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/uv pip install --quiet
USER := .venv/.user
READY := .venv/.ready
# Minutes of the fuzzer in `make long`; a whole run takes hours and goes on where it was stopped.
MINUTES ?= 20
SEED ?= 1
# The other Python of `make versions`: a version that uv can fetch, or a path.
NEWEST ?= 3.14
# Some hundred processes start in the tests: what they import is compiled once.
export PYTHONDONTWRITEBYTECODE :=
# Two workers share two cores: threads of their own would wait for each other.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.PHONY: demo test check bench fuzz long wheel versions docs changelog clean

demo: $(USER)
	$(BIN)/credo demo

test: check
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --timeout 600

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m benchmarks

fuzz: $(READY)
	$(ONE_THREAD) $(BIN)/python -m fuzz --seed $(SEED)

# What takes minutes; every part stores what it found, with commit and seed.
long: $(READY) wheel
	$(ONE_THREAD) $(BIN)/python -m pytest -m slow -p no:randomly
	$(ONE_THREAD) $(BIN)/python -m calibration --seed $(SEED) --store
	$(ONE_THREAD) $(BIN)/python -m mutants --anew --store
	$(ONE_THREAD) $(BIN)/python -m fuzz --seed $(SEED) --minutes $(MINUTES)
	$(ONE_THREAD) $(BIN)/python -m fuzz --seed $(SEED) --store
	$(BIN)/python -m benchmarks
	$(BIN)/python docs/write_proofs.py
	$(BIN)/python docs/write_fuzzing.py

wheel: $(READY)
	$(BIN)/python -m release.wheel

versions: $(READY)
	$(BIN)/python -m release.versions $(NEWEST)

docs: $(READY)
	$(BIN)/python docs/write_benchmarks.py
	$(BIN)/mkdocs build --strict

# `make changelog` shows what a release would say; `make changelog VERSION=0.2.0` writes it.
changelog: $(READY)
	$(BIN)/towncrier build $(if $(VERSION),--version $(VERSION) --yes,--version next --draft)

$(USER): pyproject.toml
	$(PYTHON) -m venv .venv
	($(PIP) uv && $(UV) --editable .) || $(PIP) --editable .
	touch $(USER)

$(READY): $(USER)
	$(UV) --editable '.[dev]' || $(PIP) --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf .venv build dist site
