# The two commands are `make serve` and `make test`; both set everything up themselves.
PYTHON ?= python3
BIN := .venv/bin
# Serving needs less than testing, so the first `make serve` installs less.
SERVE_READY := .venv/.ready-to-serve
READY := .venv/.ready-to-test
MODULES := node_modules/.ready
BENCH_READY := .venv/.ready-to-bench
PEERS := benchmarks/peers/node_modules/.ready
# Until the texts are rewritten, the check of the English only reports.
ENGLISH := --summary --report-only
# Installs what a lock lists and nothing else; the project itself is built with the locked setuptools.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV := 0.13.8
LOCK := $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make lock' --group build pyproject.toml
SOURCES := datastore loaders resolvers schema server.py tests benchmarks

.DEFAULT_GOAL := help
.PHONY: help serve token test test-moto test-engine fuzz check fix bench bench-execution bench-scale bench-transport load-social load-cards replay-cms docs lock clean

help: ## say what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

serve: ## run the server with demo data: GraphiQL at http://localhost:8000/graphql
	@$(MAKE) --silent -j2 $(SERVE_READY) $(MODULES)
	@$(BIN)/python server.py $(ARGS)

token: ## print a token for an operator or a program: ARGS='builder-1 --role builder --days 90'
	@$(MAKE) --silent $(SERVE_READY) >&2
	@$(BIN)/python server.py token $(ARGS)

test: check test-moto test-engine ## all checks and the whole suite, on moto and on the local engine

test-moto: $(READY) $(MODULES)
	@ENGINE=moto $(BIN)/pytest -n auto $(ARGS)

test-engine: $(READY) $(MODULES)
	@if $(BIN)/python -c 'import sys; from datastore.local.engine import dynoxide; sys.exit(dynoxide() is None)'; \
	then ENGINE=dynoxide $(BIN)/pytest -n auto $(ARGS); \
	else echo 'The local engine is not installed (npm install): the suite ran on moto only.'; fi

fuzz: $(READY) $(MODULES) ## compare both executors on more random operations: EQUIVALENCE_EXAMPLES=100000 for hours of it
	@ENGINE=$${ENGINE:-dynoxide} EQUIVALENCE_EXAMPLES=$${EQUIVALENCE_EXAMPLES:-5000} \
	$(BIN)/pytest -n auto tests/schema/test_equivalence.py $(ARGS)

check: $(READY) ## ruff, ruff format, mypy --strict, import-linter, plain English
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.system.english $(ENGLISH)

fix: $(READY) ## format, and fix what can be fixed by itself
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

docs: $(READY) ## write what is written from the code: schema/schema.graphql, docs/table-design.md, docs/requirements.md
	@new=$$(mktemp) && $(BIN)/python -m schema > $$new && cat $$new > schema/schema.graphql; rm -f $$new
	@new=$$(mktemp) && $(BIN)/python -m datastore.model.table_design > $$new && cat $$new > docs/table-design.md; rm -f $$new
	@new=$$(mktemp) && $(BIN)/python -m tests.requirements.page > $$new && cat $$new > docs/requirements.md; rm -f $$new

lock: ## write locks/ after a change to pyproject.toml; ARGS=--upgrade moves every package to its newest version
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(INSTALL) uv==$(UV)
	@$(LOCK) $(ARGS) --extra dev --output-file locks/test.txt
	@$(LOCK) --constraint locks/test.txt --output-file locks/serve.txt
	@$(LOCK) --constraint locks/test.txt --extra local --output-file locks/moto.txt
	@$(LOCK) $(ARGS) --constraint locks/test.txt --extra dev --extra bench --output-file locks/bench.txt

bench: $(BENCH_READY) $(MODULES) $(PEERS) ## CPU, calls and latency against Apollo Server, Yoga, Mercurius and Strawberry
	@$(BIN)/python -m benchmarks.peers $(ARGS)

bench-execution: $(BENCH_READY) $(PEERS) ## CPU of execution alone, without a database, against graphql-js and graphql-jit
	@$(BIN)/python -m benchmarks.execution $(ARGS)

bench-scale: $(BENCH_READY) $(MODULES) ## CPU by the records of an answer and by the size of the table
	@$(BIN)/python -m benchmarks.scale $(ARGS)

bench-transport: $(READY) $(MODULES) ## CPU per DynamoDB call, against boto3
	@$(BIN)/python -m benchmarks.transport $(ARGS)

load-social: $(READY) $(MODULES) ## load a social network to look at and to measure on
	@$(BIN)/python -m benchmarks.load_social $(ARGS)

load-cards: $(READY) $(MODULES) ## load a tree of categories and how-to cards through the commands: ARGS='FOLDER'
	@$(BIN)/python -m benchmarks.load_cards $(ARGS)

replay-cms: $(READY) $(MODULES) ## replay a website's revisions through the commands, and read every version back
	@$(BIN)/python -m benchmarks.replay_revisions $(ARGS)

clean: ## remove what was installed and built; data in .data stays
	rm -rf .venv node_modules benchmarks/peers/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info

$(SERVE_READY): pyproject.toml locks/serve.txt locks/moto.txt
	@$(PYTHON) -c 'import sys; sys.exit("Heartwood needs Python 3.11 or later: make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo 'Installing Heartwood into .venv …'
	@if command -v npm >/dev/null && [ "$$(uname -sm)" = 'Linux x86_64' ]; then lock=serve; else lock=moto; fi; \
	$(INSTALL) --require-hashes -r locks/$$lock.txt
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(READY): $(SERVE_READY) locks/test.txt
	@echo 'Installing what the tests need …'
	@$(INSTALL) --require-hashes -r locks/test.txt
	@touch $@

$(BENCH_READY): $(READY) locks/bench.txt
	@echo 'Installing what the benchmarks need …'
	@$(INSTALL) --require-hashes -r locks/bench.txt
	@touch $@

$(PEERS): benchmarks/peers/package.json benchmarks/peers/package-lock.json
	@command -v npm >/dev/null || { echo 'The peers are from npm, which is not installed.'; exit 1; }
	@echo 'Installing the peers into benchmarks/peers/node_modules …'
	@cd benchmarks/peers && npm ci --no-progress --loglevel=error
	@touch $@

$(MODULES): package.json package-lock.json
	@mkdir -p node_modules
	@if command -v npm >/dev/null; then echo 'Installing the local engine and GraphiQL into node_modules …'; npm ci --no-progress --loglevel=error; \
	else echo 'npm is not installed: the local engine is moto (in memory) and GraphiQL comes from a CDN.'; fi
	@mkdir -p node_modules && touch $@
