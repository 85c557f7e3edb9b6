# Each target is one line; `make` alone lists them. `make install PYTHON=/path/to/python3.12` takes another interpreter.
PYTHON ?= python3
BIN := .venv/bin
UV := uv==0.13.9
SERVERS := embedded or redis7 or kafka or alertmanager or litellm

.DEFAULT_GOAL := help
.PHONY: help install test check unit litellm demo soak bench lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
install: .venv/installed ## everything into .venv, at the exact versions of requirements.lock
test: check ## what CI runs: install, check, every test whose parts are here
	$(BIN)/python -m pytest
check: install ## ruff and mypy
	$(BIN)/ruff check . && $(BIN)/mypy
unit: install ## only the tests that need no server
	$(BIN)/python -m pytest -m "not ($(SERVERS))"
litellm: ## LiteLLM's proxy in .cache/litellm, for tests marked litellm and bench/admission.py
	@sh .ci/litellm $(PYTHON)
demo: install ## both recordings through Kafka and Redis, as they happened
	$(BIN)/blastdoor demo
soak: install ## the fault stories in their long form
	BLASTDOOR_SOAK=1 $(BIN)/python -m pytest tests/faults --timeout 0
bench: install ## throughput and latency as ratios to a bare loop
	$(BIN)/python -m bench
lock: install ## requirements.lock from pyproject.toml (LOCK=--upgrade: newer versions too)
	$(BIN)/pip install -q $(UV) && $(BIN)/uv pip compile -q pyproject.toml --all-extras --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-package blastdoor-gateway $(LOCK) --custom-compile-command "make lock" -o requirements.lock
	$(BIN)/uv pip compile -q tests/litellm/requirements.in --python-version 3.11 --generate-hashes --no-emit-index-url $(LOCK) --custom-compile-command "make lock" -o tests/litellm/requirements.lock
clean: ## remove .venv and all that was built or cached here
	rm -rf .venv .cache build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis ./*.egg-info gateway/build gateway/*.egg-info

.venv/installed: requirements.lock pyproject.toml gateway/pyproject.toml .ci/install
	@sh .ci/install $(PYTHON)
