# Every target is idempotent, and quiet when there is nothing to do.
# A machine needs Python 3.11 or newer, git and make; the rest comes with `make setup`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
DIST := dist

# What is released carries the time of its commit: the same commit makes the same bytes.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

# Tests start many processes, which take half the time if they find the bytecode of their modules.
unexport PYTHONDONTWRITEBYTECODE

# Stamps, touched last, so that a half-made environment is made again:
# the pinned packages of requirements/dev.txt, and on top of them this project.
INSTALLED := $(VENV)/.installed
SETUP := $(VENV)/.setup

# The first of these that is new enough makes the environment.
CANDIDATES := python3.11 python3 python3.12 python3.13 python3.14 python

PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

# --no-emit-*: no address of a package index belongs in a pinned file.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links

# Run a command that prints even if it succeeds; show its output only if it fails.
quietly = output=$$($(1) 2>&1) || { printf '%s\n' "$$output" >&2; exit 1; }

.PHONY: help
help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(SETUP)  ## make .venv: everything pinned and hashed, this project editable
	@:

# Of .venv, and of the environments of further Pythons.
%/.setup: %/.installed pyproject.toml webhook/__init__.py
	@echo "Installing evenspread itself into $*, editable"
	@$*/bin/python $(PIP_INSTALL) --no-build-isolation --no-deps --editable .
	@touch $@

$(INSTALLED): requirements/dev.txt
	@echo "Installing $< into $(VENV), which takes a minute or two, once"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 && exit; \
	for python in $(CANDIDATES); do \
		$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
			2>/dev/null && exec $$python -m venv --clear $(VENV); \
	done; \
	echo "make setup: no Python >= 3.11 with the venv module on PATH;" \
		"install it (Debian: apt-get install python3 python3-venv) and run make again" >&2; \
	exit 1
	@$(BIN)/python $(PIP_INSTALL) --require-hashes --requirement $<
	@touch $@

# The environment of a further Python, such as .venv-3.12 of Python 3.12.
.PRECIOUS: .venv-%/.installed %/.setup
.venv-%/.installed: requirements/dev.txt | $(SETUP)
	@echo "Installing $< into .venv-$*, which takes half a minute, once"
	@.venv-$*/bin/python -m pip --version >/dev/null 2>&1 && exit; \
	python=$$($(BIN)/python -m tests.pythons $*) && exec "$$python" -m venv --clear .venv-$*
	@.venv-$*/bin/python $(PIP_INSTALL) --require-hashes --requirement $<
	@touch $@

.PHONY: run
run: $(SETUP)  ## start the server with the example cluster, until Ctrl-C; [PORT=N HEALTH_PORT=N]
	@exec $(BIN)/evenspread serve --standalone --state .state --log-format console \
		$(if $(PORT),--port $(PORT)) $(if $(HEALTH_PORT),--health-port $(HEALTH_PORT)) \
		--facts examples/cluster --config examples/config/spread.yaml \
		--demo examples/reviews/checkout-pod.json

# EVENSPREAD_KUBERNETES_VERSION=1.37, in the environment or as a variable of make, chooses the
# Kubernetes version of the control plane, for this target and for tests.
.PHONY: envtest
envtest: $(SETUP)  ## build the real control plane of the tests: minutes, once
	@$(BIN)/python -m tests.controlplane.build

.PHONY: descheduler
descheduler: $(SETUP)  ## compare rebalance with descheduler on random clusters: minutes; CASES=N, SEED=N
	@$(BIN)/python -m tests.descheduler --clusters $(or $(CASES),20) --seed $(or $(SEED),0)

.PHONY: oracle
oracle: $(SETUP)  ## compare with Kubernetes' own code on random cases: a minute; CASES=N, SEED=N
	@$(BIN)/python -m tests.oracle --cases $(or $(CASES),1500) $(if $(SEED),--seed $(SEED))

.PHONY: tools
tools: $(SETUP)  ## build Helm, take schemas, for the tests: a minute, once
	@$(BIN)/python -m tests.deploy.tools
	@$(BIN)/python -m tests.audit.multitool
	@$(BIN)/python -m tests.axe
	@$(BIN)/python -m tests.server.audits.crds

.PHONY: manifests
manifests: $(SETUP)  ## write the manifests for kustomize anew from the chart
	@$(BIN)/python -m tests.deploy.manifests

# With PYTHONS, a list of versions, only the unit tests run, on one Python after the other.
UNIT_TESTS := $(PYTHONS:%=unit-%)

# Three processes run the integration tests, each with a control plane of its own: these tests mostly
# wait. The tests of a module share what they start, so that one process runs them. By default, modules
# with few tests start last; some of these take minutes, and the other processes would be idle. Tests
# with the marker alone come last, in a single process.
IN_PROCESSES := -n 3 --dist loadfile --no-loadscope-reorder
ALL_TESTS = failed=0; $(BIN)/pytest -q -m "not integration" -n auto || failed=1; \
	$(BIN)/pytest -q -m "integration and not alone" $(IN_PROCESSES) --durations=20 || failed=1; \
	$(BIN)/pytest -q -m "integration and alone" --durations=10 || failed=1; exit $$failed

.PHONY: test $(UNIT_TESTS)
test: $(or $(UNIT_TESTS),$(SETUP))  ## run all tests; PYTHONS="3.12 3.13": the unit tests on these
	@$(if $(UNIT_TESTS),,$(ALL_TESTS))

$(UNIT_TESTS): unit-%: .venv-%/.setup
	@echo "Python $*"
	@.venv-$*/bin/pytest -q -m "not integration"

# The tests of e2e-long whose results depend on rules and gates, which a new version may change.
NEXT_VERSION := 1.37
VERSIONED := $(addprefix tests/e2e/test_,differential.py gates_differential.py gates_guarded.py \
	gates_rollout.py rules.py defaulting.py patches.py reinvocation.py explain.py doctor.py serve.py \
	pod_groups.py export.py export_validating.py \
	export_advice.py export_static.py)
LONG := EVENSPREAD_E2E=long EVENSPREAD_REQUIRE_ENVTEST=1 PYTEST_TIMEOUT=7200

.PHONY: e2e-long
e2e-long: envtest  ## run the tests on a real control plane in their long forms: some minutes
	@$(LONG) $(BIN)/pytest -q tests/e2e
	@$(MAKE) envtest EVENSPREAD_KUBERNETES_VERSION=$(NEXT_VERSION)
	@$(LONG) EVENSPREAD_KUBERNETES_VERSION=$(NEXT_VERSION) $(BIN)/pytest -q $(VERSIONED)

.PHONY: faults
faults: $(SETUP)  ## show that each fault case holds, in a table; CASES="1 4" for some, JSON=FILE
	@$(BIN)/python -m tests.faults $(CASES) $(if $(JSON),--json $(JSON))

.PHONY: hostile
hostile: $(SETUP)  ## try to break replicas as a tenant: ten minutes; SECONDS=N
	@EVENSPREAD_E2E=long PYTEST_TIMEOUT=7200 EVENSPREAD_HOSTILE_SECONDS=$(or $(SECONDS),600) \
		$(BIN)/pytest -q -rfEP tests/e2e/test_hostile.py tests/e2e/test_hostile_ranks.py -k generated

.PHONY: search
search: $(SETUP)  ## try 2000 new random examples of each property of the unit tests
	@HYPOTHESIS_PROFILE=search $(BIN)/pytest -q -m "hypothesis and not integration" -n auto

.PHONY: fuzz
fuzz: $(SETUP)  ## search for inputs that a reader mishandles: ten minutes; SECONDS=N
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),600)

.PHONY: mutate
mutate: $(SETUP)  ## count the mutants of the policy and the planner that their tests notice; SEED=N
	@$(BIN)/python -m tests.mutation --seed $(or $(SEED),1)

.PHONY: soak
soak: envtest  ## load and faults for an hour after 20 minutes; MINUTES=N or SECONDS=N in all, JSON=FILE
	@$(BIN)/python -m tests.soak $(if $(JSON),--json $(JSON)) \
		--seconds $(or $(SECONDS),$(if $(MINUTES),$$(($(MINUTES) * 60)),4800))

.PHONY: check
check: $(SETUP)  ## lint, format, types, imports and structure; stops at the first failure
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(call quietly,$(BIN)/mypy)
	@$(call quietly,$(BIN)/basedpyright)
	@$(call quietly,$(BIN)/lint-imports --no-logo)
	@$(call quietly,$(BIN)/python -m tests.structure)

.PHONY: structure
structure: $(SETUP)  ## print the parts of the product, the imports between them, and their bounds
	@$(BIN)/python -m tests.structure

.PHONY: cover
cover: $(if $(PYTHON),.venv-$(PYTHON)/.setup,$(SETUP))  ## measure each module by its own tests alone; PYTHON=3.13, PART=2/3
	@$(if $(PYTHON),.venv-$(PYTHON)/bin,$(BIN))/python -m tests.coverage_by_module \
		$(if $(PART),--part $(PART))

.PHONY: bench
bench: envtest tools  ## measure against the bare aiohttp floor, a peer in Go, a real control plane: 25 minutes
	@$(BIN)/python -m tests.bench --peer --control-plane

.PHONY: bench-kyverno
bench-kyverno: envtest tools  ## measure beside Kyverno, built first: ten minutes, once; ROUNDS=N, SECONDS=N
	@$(BIN)/python -m tests.bench.kyverno $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(SECONDS),--seconds $(SECONDS))

.PHONY: docs-reference
docs-reference: $(SETUP)  ## write the tables of the docs anew from those of the program
	@$(BIN)/python docs/generate.py

# The variable silences a notice about a next version of mkdocs; it stops nothing.
.PHONY: docs
docs: $(SETUP)  ## build the site of docs/ into site/; stops at a link that leads nowhere
	@$(call quietly,NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --site-dir site)
	@echo "open site/index.html; with its search: $(BIN)/python -m http.server -b 127.0.0.1 -d site"

.PHONY: pictures
pictures: $(SETUP)  ## draw the picture of the README anew, in Chromium
	@$(BIN)/python docs/draw.py

.PHONY: dist
dist: $(SETUP)  ## build and check wheel, sdist and SBOM of this version into dist/
	@rm -rf $(DIST)
	@$(call quietly,$(BIN)/python -m build --no-isolation --outdir $(DIST))
	@$(call quietly,$(BIN)/twine check --strict $(DIST)/*)
	@$(call quietly,$(BIN)/check-wheel-contents $(DIST)/*.whl)
	@$(BIN)/python deploy/release/sbom.py $(DIST)/*.whl $(DIST)/evenspread.cdx.json

.PHONY: plugin
plugin: $(SETUP)  ## add archives and krew manifest of the kubectl plugin to dist/; ADDRESS=URL of dist/
	@$(BIN)/python deploy/release/plugin.py archive $(DIST)/*.whl $(DIST) $(PLATFORMS)
	@$(BIN)/python deploy/release/plugin.py manifest $(DIST) $(ADDRESS)

.PHONY: chart
chart: $(SETUP)  ## add the chart to dist/ that pulls IMAGE=REPOSITORY@sha256:DIGEST; changes of VERSION=X.Y.Z
	@$(MAKE) notes | $(BIN)/python deploy/release/chart.py "$(IMAGE)" $(DIST)

# A tag can mean another image tomorrow; a digest cannot.
.PHONY: image-bases
image-bases:  ## check that BUILD and BASE name the base images of the image by digest
	@for name in BUILD BASE; do \
		[[ "$${!name:-}" =~ ^[^@[:space:]]+@sha256:[0-9a-f]{64}$$ ]] && continue; \
		echo "make image: $$name is '$${!name:-}': name a base image by its digest, as in" \
			"$$name=REPOSITORY@sha256:DIGEST; deploy/image/Containerfile names both" >&2; \
		exit 1; \
	done

.PHONY: image-sbom
image-sbom: image-bases $(SETUP)  ## describe the packages and the base image of the image, in dist/
	@$(BIN)/python deploy/release/sbom.py $(DIST)/*.whl $(DIST)/evenspread-image.cdx.json "$$BASE"

.PHONY: image
image: image-bases  ## build the image NAME=REPOSITORY:TAG with BUILD=IMAGE BASE=IMAGE; [ENGINE=docker]
	@$(or $(ENGINE),podman) build --build-arg BUILD="$$BUILD" --build-arg BASE="$$BASE" \
		--file deploy/image/Containerfile --tag "$(NAME)" .

# An environment of its own, since nothing else uses what is in it.
ADVISORIES := $(VENV)/advisories

$(ADVISORIES)/.installed: requirements/advisories.txt | $(INSTALLED)
	@$(BIN)/python -m venv --clear $(ADVISORIES)
	@$(ADVISORIES)/bin/python $(PIP_INSTALL) --require-hashes --requirement $<
	@touch $@

# Strict: a package that could not be looked up is not one without advisories.
.PHONY: advisories
advisories: $(ADVISORIES)/.installed  ## stop at a known advisory about a package of the image
	@$(ADVISORIES)/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off \
		--requirement requirements/runtime.txt

# Of 0.1.0 it is what stands below `## [0.1.0] - DAY`.
.PHONY: notes
notes:  ## show the section of the changelog for VERSION=X.Y.Z
	@awk -v wanted="$(VERSION)" '/^## /{at = ($$2 == wanted || $$2 == "[" wanted "]"); next} \
		at && (found || NF) {print; found = 1} \
		END {if (!found) {print "make notes: no section for " wanted > "/dev/stderr"; exit 1}}' \
		CHANGELOG.md

.PHONY: fmt
fmt: $(SETUP)  ## format, and fix what can be fixed by machine
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format --quiet

.PHONY: requirements
requirements: $(INSTALLED)  ## pin what pyproject.toml and requirements/dev.in ask for
	@$(COMPILE) --output-file requirements/runtime.txt pyproject.toml
	@$(COMPILE) --output-file requirements/dev.txt --constraint requirements/runtime.txt \
		pyproject.toml requirements/dev.in
	@$(COMPILE) --output-file requirements/advisories.txt requirements/advisories.in
