# One entrance to everything. Each target that ends in `## text` shows up in `make`.

PYTHON ?= python3
BIN := .venv/bin

unexport PYTHONHOME PYTHONPATH
# Where mkfs is, which some paths of users leave out.
export PATH := $(PATH):/usr/sbin:/sbin
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test clean venv venv-demo

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: venv-demo ## Set up what is needed, then play a whole council before your eyes
	@$(BIN)/council demo --root .

test: ## Run the tests of version 3, which is written in next/
	@$(MAKE) -C next test

clean: ## Remove what make made; memory/ and conseils/ stay
	@rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@rm -rf council/operations/conversations/made_prompts
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

venv: ## Set up .venv with everything that development needs
	@$(PYTHON) .ci/set_up_venv.py dev

venv-demo:
	@$(PYTHON) .ci/set_up_venv.py
