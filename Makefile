# Everything works from a clean clone with Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo test lint check docs measured clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-8s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "PolicySieve needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

# One stamp per set of extras: installed once, again only when pyproject.toml changes.
$(VENV)/installed-demo: pyproject.toml | $(BIN)/python
	@echo "Installing PolicySieve (about a minute the first time) ..."
	@$(PIP) install --editable ".[sklearn]"
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	@echo "Installing PolicySieve with its development tools (about two minutes the first time) ..."
	@$(PIP) install --editable ".[dev]"
	@touch $@ $(VENV)/installed-demo

$(VENV)/installed-docs: pyproject.toml $(VENV)/installed-dev
	@$(PIP) install --editable ".[docs]"
	@touch $@

demo: $(VENV)/installed-demo ## choose among hundreds of classifiers from right/wrong feedback
	@$(BIN)/policysieve demo

test: $(VENV)/installed-dev ## run the tests
	@$(BIN)/python -m pytest

lint: $(VENV)/installed-dev ## ruff, strict mypy, and the rooms' import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

check: lint test ## what CI runs

docs: $(VENV)/installed-docs ## build the documentation site into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

measured: $(VENV)/installed-dev ## take what `plan` compares with from benchmarks/samples
	@$(BIN)/python -m policysieve.bench.race.shipping benchmarks/samples/samples.json

clean: ## remove everything that make created
	rm -rf $(VENV) site dist demo-output run-output .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
