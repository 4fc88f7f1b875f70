# One entrance to everything. Each target with `## text` shows up in `make`.

PYTHON ?= python3
BIN := .venv/bin
PARALLEL ?= -n 3

unexport PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all check bench bench-decisions fmt clean

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

demo: .venv/base ## Set up what is needed, then play a whole council before your eyes
	@$(BIN)/council demo

test: .venv/dev ## Run everything that needs no server, browser or root, in under 90 seconds
	@$(BIN)/python -m pytest $(PARALLEL) -m "not slow" tests

test-all: .venv/dev ## Run the rest: kills at every system call, full disks, long histories, the wheel
	@$(BIN)/python -m pytest $(PARALLEL) -m "slow" tests

check: .venv/dev ## Style, types, layers and size
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tools/size

bench: .venv/dev ## Measure what commands cost; OLD=<command of version 0.2> measures that beside them
	@$(BIN)/python tools/bench $(if $(OLD),--old "$(OLD)")

bench-decisions: .venv/dev ## Measure whether councils find what no member knows alone
	@$(BIN)/python tools/bench_decisions

fmt: .venv/dev ## Format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean: ## Remove what make made
	@rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/base: pyproject.toml constraints.txt
	@echo "setting up .venv; this can take a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@# The scripts that older versions of pip write import re, which every command would wait for.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@$(BIN)/python -m compileall -q council
	@touch $@

.venv/dev: .venv/base
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@
