# `make help` lists what there is. Everything happens in .venv; nothing outside this directory is touched.
PYTHON ?= python3
# How many tests at once: one for each core, but no more than eight.
WORKERS ?= auto
BENCH_ARGS ?= --agents 10 --clients 64 --jobs 5000

RUN := .venv/bin/python

.PHONY: help demo test lint format docs bench soak clean python venv venv-dev
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: venv  ## a daemon and three clusters on this machine, bidding for jobs
	@$(RUN) -m rainbow_client.demo

test: lint  ## the linters and all tests but the long runs
	$(RUN) -m pytest -m 'not soak' -n $(WORKERS) --maxprocesses 8 --dist loadgroup

lint: venv-dev  ## ruff, mypy and the import contracts
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(RUN) -m mypy tools/set_up.py docs/generate.py
	.venv/bin/lint-imports --no-cache

format: venv-dev  ## let ruff put the code in order
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

docs: venv-dev  ## write the generated parts of docs/ again
	$(RUN) docs/generate.py

bench: venv-dev  ## auctions per second, beside the machine's own limits
	$(RUN) bench/auction.py $(BENCH_ARGS)

soak: venv-dev  ## the long runs
	$(RUN) -m pytest -m soak --timeout 0

clean:  ## remove everything that make made, .venv too
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The set-up looks at what is there by itself, in a fraction of a second, and holds a lock while it works.
venv: python
	@$(PYTHON) tools/set_up.py daemon

venv-dev: python
	@$(PYTHON) tools/set_up.py dev

python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "Rainbow needs Python 3.11 or later as '$(PYTHON)': install it, or name another with make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Rainbow needs Python 3.11 or later, '$(PYTHON)' is older: install one and name it with make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' lacks the venv module: on Debian and Ubuntu, sudo apt install python3-venv" >&2; exit 1; }
