# tpulab: `make` lists what there is to do. Environments are made when first needed.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# The newest interpreter that runs; as root, one that an unprivileged worker can execute as well.
PYTHON ?= $(shell bash tools/find_python.sh)
RUN := .venv/bin/python
INSTALL := -m pip install -qq --disable-pip-version-check --require-hashes

.PHONY: help setup demo test grade gradescope handouts check-sync validate mutants bench lint lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: .venv/ready .venv-worker/ready .venv-worker-jax/ready ## make the environments (all other targets do it by themselves)

.venv/ready: requirements/dev.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name one: make PYTHON=/usr/bin/python3.12 setup"; exit 1; }
	@echo "setting up .venv with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv --clear .venv
	@$(RUN) $(INSTALL) -r $<
	@touch $@

.venv-%/ready: requirements/%.txt
	@echo "setting up .venv-$* ..."
	@$(PYTHON) -m venv --clear .venv-$*
	@.venv-$*/bin/python $(INSTALL) -r $<
	@touch $@

demo: setup ## grade reference, starter and a half-done sample of every assignment; one table
	@$(RUN) -m autograder demo

test: setup ## the suite's own tests
	@$(RUN) -m pytest -n auto --dist loadfile

grade: setup ## grade one submission: make grade A=a1_tracer S=folder-or-zip [OUT=results.json] [SEED=7]
	@$(RUN) -m autograder grade $(A) $(S) $(if $(OUT),--out $(OUT)) $(if $(SEED),--seed $(SEED))

gradescope: setup ## the autograder zip for Gradescope: make gradescope A=a1_tracer
	@$(RUN) -m autograder bundle $(A)

handouts: setup ## generate starter/ again from the solutions, tests and handouts
	@$(RUN) -m autograder handouts

check-sync: setup ## fail if starter/ is not what `make handouts` would write
	@$(RUN) -m autograder handouts --check

validate: setup ## prove that the tests are right; goes on where it was stopped: make validate [A=a1_tracer] [AGAIN=1]
	@$(RUN) -m autograder validate $(A) $(if $(AGAIN),--again)
	@TPULAB_EVERYTHING=1 $(RUN) -m pytest -v --no-header $(if $(AGAIN),,--go-on) tests/test_attacks.py tests/test_bundle.py $(if $(A),-k "$(A) or without_its_defence")

mutants: setup .venv-mutants/ready ## mutation testing of the tests: make mutants A=a1_tracer (half an hour)
	@mkdir -p results
	@.venv-mutants/bin/python tools/list_mutants.py solutions/$(A) $$($(RUN) -c 'import sys; from autograder.project import Assignment; print(*Assignment(sys.argv[1]).facts.student_files)' $(A)) > results/mutants-$(A).json
	@$(RUN) -m autograder mutants $(A) results/mutants-$(A).json

bench: setup .venv-worker-jax/ready ## figures that depend on the machine, as ratios
	@.venv-worker-jax/bin/python benchmarks/tracing.py
	@.venv-worker-jax/bin/python benchmarks/passes.py
	@.venv-worker-jax/bin/python benchmarks/machine.py
	@.venv-worker-jax/bin/python benchmarks/packing.py
	@.venv-worker-jax/bin/python benchmarks/sharding.py
	@$(RUN) -m benchmarks.grading

lint: setup ## ruff and mypy
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy

lock: ## compile requirements/*.in to hashed lock files (needs uv)
	@for name in worker worker-jax grader dev mutants uv; do \
	  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --custom-compile-command "make lock" requirements/$$name.in -o requirements/$$name.txt; done

clean: ## remove the environments, dist/, results/ with all kept proofs, and caches
	rm -rf .venv .venv-* dist results .pytest_cache .mypy_cache .ruff_cache
