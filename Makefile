# One entrance to everything. Each target that ends in `## text` shows up in `make`.

PYTHON ?= python3
BIN := .venv/bin

unexport PYTHONHOME PYTHONPATH
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test check bench fmt clean venv venv-demo

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: venv-demo ## Set up what is needed, then play a whole council before your eyes
	@$(BIN)/council demo --root .

test: venv ## Set up what is needed, then run the tests
	@$(BIN)/python -m pytest -n 2 -m "not slow"

check: venv ## Style, types, layers, and which requirements the tests show
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tests/coverage_of_requirements.py

bench: venv ## Measure what a command costs
	@$(BIN)/python -m benchmarks

fmt: venv ## Put the code into the style of the house
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean: ## Remove what make made; memory/ and conseils/ stay
	@rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

venv: ## Set up .venv with everything that development needs
	@$(PYTHON) .ci/set_up_venv.py dev

venv-demo:
	@$(PYTHON) .ci/set_up_venv.py
