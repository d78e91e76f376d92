PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto

.PHONY: help equivalence test browser lint notebook bench clean

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
	$(BIN)/python -m pip install --quiet --editable '.[actionlint]' 2>/dev/null \
	  || echo "actionlint cannot be had (it comes from GitHub): lint goes without it"
	touch $@

equivalence: $(VENV)/.base ## run the whole corpus through both sides and write the report
	$(BIN)/tlx-equiv run --out build/run; status=$$?; \
	test $$status -gt 1 || $(BIN)/tlx-equiv report build/run --out build/report; exit $$status

browser: ## install Chromium with apt, for the tests of the report (as root)
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq \
	  && apt-get install -y -qq chromium >/dev/null; } \
	  || echo "no Chromium and no way to install it: the browser tests will skip"

test: $(VENV)/.test browser ## run all tests
	$(BIN)/tlx-equiv toolchains sync
	$(BIN)/pytest -n $(JOBS)

lint: $(VENV)/.lint ## ruff, strict types, import contract, workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/zizmor --quiet --offline --persona=pedantic .github/workflows
	test ! -x $(BIN)/actionlint || $(BIN)/actionlint

notebook: $(VENV)/.test ## run docs/two_sides.py and write it as docs/two-sides.ipynb
	$(BIN)/python tests/docs/made.py

bench: $(VENV)/.base ## measure the harness against bare triton.compile
	$(BIN)/python -m harness.bench

clean: ## remove what make made here (not the cache)
	rm -rf $(VENV) build
