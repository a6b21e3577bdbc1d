# Every target does its own set-up; a machine with Python and make is enough.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test check bench fuzz docs clean

demo: $(READY)
	$(BIN)/credo demo

test: check
	$(BIN)/python -m pytest -n 2

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/pip install --quiet --editable '.[peers]'
	$(BIN)/python -m benchmarks

fuzz: $(READY)
	OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 $(BIN)/python -m fuzz

docs: $(READY)
	$(BIN)/python docs/write_benchmarks.py
	$(BIN)/mkdocs build --strict

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf .venv build dist site
