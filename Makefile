# make setup | demo | pages | docs | playground | test | test-all | bench | wheel | format | clean.  Needs python >= 3.11 and PyPI, nothing else.
PYTHON ?= python3
WORKERS ?= 2

COMMA := ,
VENV := .venv
PY := $(VENV)/bin/python
DEMO_STAMP := $(VENV)/.demo-installed
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench
DOCS_STAMP := $(VENV)/.installed-docs
# Bytecode of all that is installed takes half a minute: Python makes that of the modules which are imported.
PIP := $(PY) -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
COMPILE := $(PY) -m kane.engine.compile --here
# $(call stage,1/3,title,command): the command between two lines, the second one with its seconds of wall time.
define stage
@echo "[$(1)] $(2)"; began=$$(date +%s); $(3) && echo "[$(1)] done in $$(($$(date +%s) - began)) s"
endef

PYTEST := $(PY) -m pytest -n $(WORKERS) --dist worksteal
# $(call typed,command): the command and mypy side by side. If mypy fails, its report follows and the target fails.
define typed
@report=$$(mktemp); $(PY) -m mypy >$$report 2>&1 & mypy=$$!; \
	echo "$(1)"; $(1); failed=$$?; \
	wait $$mypy || { failed=1; echo "$(PY) -m mypy"; cat $$report; }; rm -f $$report; exit $$failed
endef
# Container images set it. Each process would then compile 3,000 imported modules: 13 s of CPU.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo pages docs playground style check test test-all bench wheel format clean

help:
	@echo "make setup     a virtual environment in $(VENV), with kane installed for development"
	@echo "make demo      the UR5 from its URDF to a simulation, files in out/; installs what it needs and no more"
	@echo "make pages     a page for each library model that simulates its equations in the browser, in out/pages"
	@echo "make docs      the documentation site: course, guides, reference and gallery, in out/docs/html"
	@echo "make playground  a site that derives edited models in the browser, in out/playground; PYODIDE= its distribution"
	@echo "make test      style, types and the quick tests"
	@echo "make test-all  the slow tests too, all programs compiled anew"
	@echo "make bench     speed and operation counts beside the peers"
	@echo "make wheel     a wheel for this platform, with native code for all its processors, in dist/"
	@echo "make format    let ruff format and mend the code"
	@echo "make clean     remove what the other targets made"

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "kane needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 setup" >&2; exit 1; }
	$(call stage,1/3,virtual environment in $(VENV),$(PYTHON) -m venv $(VENV)) \
		|| { rm -rf $(VENV); echo "no venv: on Debian$(COMMA) apt-get install python3-venv" >&2; exit 1; }

$(DEMO_STAMP): pyproject.toml constraints.txt | $(PY)
	$(call stage,2/3,kane and the robots of the demo: downloads of some 150 MB,$(PIP) --editable '.[demo]')
	$(call stage,3/3,native code of a first simulation; kane compiles other code at its first use,$(COMPILE) --first)
	@touch $@

$(STAMP): pyproject.toml constraints.txt | $(PY)
	$(call stage,2/3,kane for development: downloads of some 700 MB,$(PIP) --editable '.[test$(COMMA)demo]')
	$(call stage,3/3,native code: three to four minutes of CPU,$(COMPILE))
	@touch $@ $(DEMO_STAMP)

$(BENCH_STAMP): $(STAMP)
	$(PIP) --editable '.[bench]'
	@touch $@

$(DOCS_STAMP): $(STAMP)
	$(PIP) --editable '.[docs]'
	@touch $@

setup: $(STAMP)

demo: $(DEMO_STAMP)
	$(PY) examples/ur5.py

pages: $(STAMP)
	$(PY) examples/live_pages.py out/pages

docs: $(DOCS_STAMP)
	$(PY) docs/site/build.py out/docs

playground: $(STAMP)
	$(PY) -m kane.display.playground.site out/playground --pyodide '$(PYODIDE)'

style: $(STAMP)
	$(PY) -m ruff check
	$(PY) -m ruff format --check

check: style
	$(PY) -m mypy

test: style
	$(call typed,$(PYTEST) -m 'not slow')

# Without compiled programs of earlier runs: what the object cache answers must never hide that compilation fails.
test-all: style
	$(call typed,$(PYTEST) --cache-clear)

bench: $(BENCH_STAMP)
	$(PY) -m kane.cli.main bench

wheel: $(STAMP)
	KANE_NATIVE=all $(PY) -m pip wheel --no-deps --wheel-dir dist .

format: $(STAMP)
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

clean:
	rm -rf $(VENV) out build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -type d -exec rm -rf {} +
