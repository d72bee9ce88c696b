# `make demo` and `make test` do all their set-up themselves: Python 3.11 or newer and git suffice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench clean

demo: $(VENV)/ready
	$(BIN)/admit demo

test: $(VENV)/ready
	$(BIN)/pytest $(PYTEST)

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/ready
	$(BIN)/python -m tests.benchmarks

# torch first and by itself: a resolver that chooses it as one of many may take a CUDA build.
$(VENV)/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "admit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[train,dev]'
	touch $@

clean:
	rm -rf $(VENV) .admit .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
