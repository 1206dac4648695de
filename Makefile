# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SAMPLE := tests/data/decode_eager.json.gz

# Real traces with known answers, where they lie beside the checkout; tests that need them skip without.
DIAGTOOL_DATA ?= $(abspath $(wildcard ../shared/data))
export DIAGTOOL_DATA

.DEFAULT_GOAL := help
.PHONY: help profile test check lint types layers format golden samples docs fuzz bench clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

profile: $(READY)  ## diagnose the sample trace (sets everything up first)
	@$(BIN)/diagtool profile $(SAMPLE)

test: $(READY)  ## run the tests
	$(BIN)/python -m pytest -n 2

check: lint types layers test  ## exactly what CI runs

lint: $(READY)  ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## static types
	$(BIN)/mypy

layers: $(READY)  ## who may import whom
	$(BIN)/lint-imports

format: $(READY)  ## rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

golden: $(READY)  ## rewrite the expected reports after looking at the change
	DIAGTOOL_GOLDEN=write $(BIN)/python -m pytest -q tests/reports/test_terminal.py tests/reports/test_markdown.py

samples: $(READY)  ## rebuild the sample traces under tests/data
	$(BIN)/python tests/samples.py

docs: $(READY)  ## rewrite the generated reference pages and the outputs shown in the docs
	$(BIN)/python tests/docs/generate.py

fuzz: $(READY)  ## break every real trace in every way (CI breaks the small ones)
	DIAGTOOL_FUZZ=all $(BIN)/python -m pytest -n 2 tests/readers/test_fuzz.py

bench: $(READY)  ## time and memory against Holistic Trace Analysis, and up to a 1 GB trace
	$(BIN)/python tests/bench/run.py

clean:  ## remove everything make has created
	rm -rf $(VENV) .venv-bench .bench dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
