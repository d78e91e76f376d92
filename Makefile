PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto

.PHONY: help equivalence nightly test browser lint bench clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/.base

$(VENV)/.lint: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	touch $@

equivalence: $(VENV)/.base ## run the whole corpus through both sides and write the report
	$(BIN)/tlx-equiv run --out build/run; status=$$?; \
	test $$status -gt 1 || $(BIN)/tlx-equiv report build/run --out build/report; exit $$status

nightly: $(VENV)/.base ## run the pinned pair and the newest releases; say what changed (build/nightly)
	$(BIN)/tlx-equiv nightly

browser: ## install Chromium with apt, for the tests of the report (as root)
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq \
	  && apt-get install -y -qq chromium >/dev/null; } \
	  || echo "no Chromium and no way to install it: the browser tests will skip"

test: $(VENV)/.test browser ## run all tests
	$(BIN)/tlx-equiv toolchains sync
	$(BIN)/pytest -n $(JOBS)

lint: $(VENV)/.lint ## ruff, strict types, import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/validate-pyproject pyproject.toml

bench: $(VENV)/.base ## measure the harness against bare triton.compile
	$(BIN)/python -m harness.bench

clean: ## remove what make made here (not the cache)
	rm -rf $(VENV) build
