# Two commands for a newcomer:  make demo   and   make test
# Each sets up everything from a fresh clone; only Python (3.11 or newer) and pip are needed.
# Packages are kept in WHEELS, so that both work again offline.

PYTHON ?= python3
VENV   ?= .venv
WHEELS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ragauge/wheels
BIN    := $(VENV)/bin

.PHONY: demo test check slow lint types contracts clean benchmark

demo: $(VENV)/.demo
	$(BIN)/ragauge demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q

check: lint types contracts test

slow: $(VENV)/.slow
	$(BIN)/python -m pytest -q -m slow

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	PYTHON=$(BIN)/python WHEELS="$(WHEELS)" sh scripts/setup demo
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	PYTHON=$(BIN)/python WHEELS="$(WHEELS)" sh scripts/setup dev
	@touch $@ $(VENV)/.demo

$(VENV)/.slow: $(VENV)/bin/python pyproject.toml
	PYTHON=$(BIN)/python WHEELS="$(WHEELS)" sh scripts/setup slow
	@touch $@ $(VENV)/.dev $(VENV)/.demo

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist build
