# What people type. `make` alone says what there is.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: help run test check bench clean

help:
	@echo "make run     install into .venv, build the example cache, draft contexts, start the hall, call it and print its answers"
	@echo "make test    install what the tests need and run every test"
	@echo "make check   lint, types, import rules, documentation"
	@echo "make bench   run every benchmark against an installed wheel"
	@echo "make clean   remove what the others made"

run: .venv/installed
	$(BIN)/context build --sources examples/handbook --cache examples/.context/caches/handbook --force
	$(BIN)/context init --path examples/shop
	@$(BIN)/python examples/first_call.py

test: .venv/installed-dev
	$(BIN)/python -m pytest --numprocesses auto --cov --cov-report=term-missing:skip-covered

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/contract/test_docs.py

bench: .bench/installed
	@for script in startup stdio_calls caches contexts; do .bench/bin/python -m benchmarks.$$script || exit 1; done

clean:
	rm -rf .venv .bench dist examples/.context .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	@touch $@ .venv/installed

# An installed wheel with byte code, as users have it: an editable install starts more slowly.
.bench/installed: pyproject.toml constraints.txt $(shell find src -name '*.py')
	test -d .bench || $(PYTHON) -m venv .bench
	.bench/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --compile --force-reinstall .
	.bench/bin/python -m pip --disable-pip-version-check install --quiet tantivy django
	@touch $@
