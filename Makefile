# Each target is one line; `make` alone lists them. `make install PYTHON=/path/to/python3.12` takes another interpreter.
PYTHON ?= python3
BIN := .venv/bin
UV := uv==0.13.9
SERVERS := embedded or redis7 or kafka or alertmanager or prometheus or litellm or chromium

.DEFAULT_GOAL := help
.PHONY: help install native test check unit litellm demo dashboards soak bench lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
install: .venv/installed ## everything into .venv, at the exact versions of requirements.lock
native: ## the counting core in Rust, where cargo is; `make install` has done it
	@sh .ci/native
test: check ## what CI runs: install, check, every test whose parts are here
	$(BIN)/python -m pytest
check: install ## ruff and mypy; where the counting core was built, its tests and lints too
	$(BIN)/ruff check . && $(BIN)/mypy && sh .ci/native check
unit: install ## only the tests that need no server
	$(BIN)/python -m pytest -m "not ($(SERVERS))"
litellm: ## LiteLLM's proxy in .cache/litellm, for tests marked litellm and bench/admission.py
	@sh .ci/litellm $(PYTHON)
demo: install ## both recordings through Kafka and Redis, as they happened
	$(BIN)/blastdoor demo
dashboards: install ## dashboards/grafana and docs/metrics.md, from the code
	$(BIN)/python -m dashboards.make
soak: install ## the fault stories in their long form
	BLASTDOOR_SOAK=1 $(BIN)/python -m pytest tests/fuzz --timeout 0 && PYTHONPATH=.:gateway $(BIN)/python -m tests.faults.soak
bench: install ## throughput and latency as ratios to a bare loop
	$(BIN)/python -m bench
lock: install ## every lock file from what asks for it (LOCK=--upgrade: newer versions too)
	$(BIN)/pip install -q $(UV) && sh .ci/lock $(LOCK)
clean: ## remove .venv and all that was built or cached here
	rm -rf .venv .cache native/counting.so native/target build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis ./*.egg-info gateway/build gateway/*.egg-info

.venv/installed: requirements.lock pyproject.toml gateway/pyproject.toml .ci/install .ci/native $(wildcard native/Cargo.* native/src/*.rs native/src/*/*.rs)
	@sh .ci/install $(PYTHON)
