# Everything works from a clean clone with Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
# The tested versions, and no others. Unlike the option, variables also hold where pip builds: the first of them with older
# versions of pip, the second with newer ones.
INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $(PIP) --quiet install --editable

.PHONY: help demo serve-demo test lint check docs release measured outdated constraints clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-11s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "PolicySieve needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

# One stamp per set of extras: installed once, again when what is wanted or the versions change.
$(VENV)/installed-demo: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing PolicySieve (about a minute the first time) ..."
	@$(INSTALL) ".[sklearn]"
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing PolicySieve with its development tools (about two minutes the first time) ..."
	@$(INSTALL) ".[dev]"
	@touch $@ $(VENV)/installed-demo $(VENV)/installed-serve

$(VENV)/installed-serve: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing PolicySieve with its service (about a minute the first time) ..."
	@$(INSTALL) ".[serve]"
	@touch $@

$(VENV)/installed-docs: pyproject.toml constraints.txt $(VENV)/installed-dev
	@$(INSTALL) ".[docs]"
	@touch $@

demo: $(VENV)/installed-demo ## choose among hundreds of classifiers from right/wrong feedback
	@$(BIN)/policysieve demo

serve-demo: $(VENV)/installed-serve ## a service with a dashboard, and a made-up shop that keeps it busy; DEMO_SECONDS=60 ends it
	@$(BIN)/python examples/shop/demo.py

# Byte code is kept, whatever the environment says: else each process rewrites and compiles every file of the tests anew.
test: $(VENV)/installed-dev ## run the tests
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

lint: $(VENV)/installed-dev ## ruff, strict mypy, and the rooms' import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

check: lint test ## what CI runs

docs: $(VENV)/installed-docs ## build the documentation site into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

release: ## build wheel and sdist into dist/, and check both in clean environments
	@$(PYTHON) tools/release.py dist

measured: $(VENV)/installed-dev ## take what `plan` compares with from benchmarks/samples
	@$(BIN)/python -m policysieve.bench.race.shipping benchmarks/samples/samples.json

outdated: $(VENV)/installed-docs ## list what has newer releases than constraints.txt
	@$(PIP) list --outdated --exclude policysieve

constraints: ## write constraints.txt anew, with the newest versions that go together
	@$(PYTHON) -m venv --clear $(VENV)-newest
	@$(VENV)-newest/bin/python -m pip --disable-pip-version-check --quiet install ".[dev,docs]" hatchling editables
	@grep '^#' constraints.txt > $(VENV)-newest/constraints.txt
	@$(VENV)-newest/bin/python -m pip freeze --exclude policysieve >> $(VENV)-newest/constraints.txt
	@mv $(VENV)-newest/constraints.txt constraints.txt
	@rm -rf $(VENV)-newest
	@echo "Now run: make check docs"

clean: ## remove everything that make created
	rm -rf $(VENV) $(VENV)-newest site dist demo-output run-output .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
