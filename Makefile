PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto

# The null plugin is built for these: Triton refuses a plugin that was built for another version.
TRITONS := 3.7.1 3.8.0 3.9.0
NULL_PLUGINS := $(TRITONS:%=build/plugins/libnull-%.so)

.PHONY: help equivalence nightly plugins test browser lint notebook bench selfcheck matrix clean

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

plugins: ## build the null plugin with the system's C compiler (cc)
	@command -v $(CC) >/dev/null || { echo "no C compiler ($(CC)): the null plugin is not built,"\
	  "and what needs it will skip or say so"; exit 0; }; $(MAKE) --no-print-directory $(NULL_PLUGINS)

build/plugins/libnull-%.so: plugins/null/null.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -Wall -Wextra -O1 -shared -fPIC -DTRITON_VERSION='"$*"' -o $@ $<
nightly: $(VENV)/.base ## run the pinned pair and the newest releases; say what changed (build/nightly)
	$(BIN)/tlx-equiv nightly

browser: ## install Chromium with apt, for the tests of the report (as root)
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq \
	  && apt-get install -y -qq chromium >/dev/null; } \
	  || echo "no Chromium and no way to install it: the browser tests will skip"

test: $(VENV)/.test browser plugins ## run all tests
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

selfcheck: $(VENV)/.base ## plant differences everywhere; all must be caught (writes docs/selfcheck.md)
	$(BIN)/tlx-equiv selfcheck --self --out docs/selfcheck.md

matrix: $(VENV)/.base ## all published versions of each side, in pairs (writes docs/matrix.md)
	$(BIN)/tlx-equiv matrix --fork all --plugin all,3.8.0.post16:3.7.1,3.8.0.post16:3.9.0 \
	  --markdown docs/matrix.md

bench: $(VENV)/.base ## measure the harness against bare triton.compile
	$(BIN)/python -m harness.bench

clean: ## remove what make made here (not the cache)
	rm -rf $(VENV) build
