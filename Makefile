# The main commands are `make serve` and `make test`; both install their dependencies.
PYTHON ?= python3
BIN := .venv/bin
# `make serve` installs fewer dependencies than `make test`.
SERVE_READY := .venv/.ready-to-serve
READY := .venv/.ready-to-test
MODULES := node_modules/.ready
BENCH_READY := .venv/.ready-to-bench
PEERS := benchmarks/peers/node_modules/.ready
GO_PEER := benchmarks/peers/go/build/gqlgen
RUST_PEER := benchmarks/peers/rust/target/release/peer
GO_GENERATED := benchmarks/peers/go/graph/generated.go benchmarks/peers/go/records/generated.go
EXAMPLE := examples/web/node_modules/.ready
CLIENT_MODULES := clients/node_modules/.ready
CLIENT_PACKAGES := clients/.venv/.ready
# Installs only locked packages; the project itself is built with the locked setuptools.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV := 0.13.8
COMPILE := $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make lock'
LOCK := $(COMPILE) --group build pyproject.toml
SOURCES := datastore loaders resolvers schema server.py tests benchmarks clients deploy

# Workers, and the servers that tests start, share compiled modules: compiling all of them takes 10 seconds of CPU.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/pytest -n auto --dist worksteal
# The files of the engine contracts: collecting all tests takes longer than running these.
CONTRACTS = $(shell grep -rl engine_contract tests --include='test_*.py')
# The local engine comes first; if it is not installed, moto is the only one. pytest's status 5 means that ARGS selects no
# tests on moto.
on_engines = if $(BIN)/python -c 'import sys; from datastore.local.engine import dynoxide; sys.exit(dynoxide() is None)'; \
	then export ENGINE=dynoxide; only=false; \
	else export ENGINE=moto; only=true; echo 'The local engine is not installed (npm install): testing on moto only.'; fi;

.DEFAULT_GOAL := help
.PHONY: help serve example test test-all test-opensearch test-dynamodb-local fuzz check fix bench bench-execution bench-scale bench-transport bench-retries bench-event-loop bench-live bench-search chaos load-social load-cards replay-cms docs release-schema clients lock clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

serve: ## run the server with demo data: GraphiQL at http://localhost:8000/graphql
	@$(MAKE) --silent -j2 $(SERVE_READY) $(MODULES)
	@$(BIN)/heartwood serve $(ARGS)

example: ## run the example front end, and a server with demo data unless one is running
	@command -v npm >/dev/null || { echo 'npm is not installed: it is needed to run the example.'; exit 1; }
	@$(MAKE) --silent -j2 $(SERVE_READY) $(MODULES) $(EXAMPLE)
	@cd examples/web && exec node start.mjs

test: check $(MODULES) ## run all checks, the test suite on the local engine, and the engine contracts on moto
	@$(on_engines) $(PYTEST) $(ARGS) && { $$only || ENGINE=moto $(PYTEST) -m engine_contract $(or $(ARGS),$(CONTRACTS)) || [ $$? = 5 ]; }

test-all: check $(MODULES) $(EXAMPLE) $(BENCH_READY) $(if $(shell command -v npm),$(PEERS)) ## run all checks, every test on every engine, including slow tests, the benchmarks and more random examples, and the clients
	@export THOROUGH=1; $(on_engines) $(PYTEST) $(ARGS) && { $$only || ENGINE=moto $(PYTEST) -m uses_engine $(ARGS) || [ $$? = 5 ]; }
	@$(MAKE) --silent test-dynamodb-local ARGS=
	@$(MAKE) --silent clients

test-opensearch: $(READY) $(MODULES) ## run the tests of search on a node of OpenSearch, which needs Java and Maven: ARGS='FILE'
	@$(on_engines) $(BIN)/python -m tests.opensearch_node $(ARGS)

# Not every machine has Java and Maven; Maven Central has DynamoDB Local with its native libraries.
test-dynamodb-local: $(READY) ## run the engine contracts on Amazon's DynamoDB Local, if Java and Maven are installed
	@if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then \
	echo 'Java or Maven is not installed: DynamoDB Local is not tested.'; exit 0; fi; \
	ls .dynamodb-local/DynamoDBLocal-*.jar >/dev/null 2>&1 || { echo 'Downloading DynamoDB Local …'; \
	mvn -q -B -f tests/support/dynamodb_local/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/.dynamodb-local; } && \
	ENGINE=dynamodb-local $(PYTEST) -m engine_contract $(or $(ARGS),$(CONTRACTS))

clients: $(READY) $(MODULES) $(CLIENT_MODULES) $(CLIENT_PACKAGES) ## run code generators and client libraries against a live server
	@$(BIN)/python -m clients

fuzz: $(READY) $(MODULES) ## compare both executors on random operations: EQUIVALENCE_EXAMPLES=100000 runs for hours
	@ENGINE=$${ENGINE:-dynoxide} EQUIVALENCE_EXAMPLES=$${EQUIVALENCE_EXAMPLES:-5000} \
	$(PYTEST) tests/schema/test_equivalence.py $(ARGS)

check: $(READY) ## run ruff, mypy --strict, import-linter, the check of the English and of changes of the schema
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.system.english
	@$(BIN)/heartwood schema --changes

fix: $(READY) ## format the code and apply automatic fixes
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

docs: $(READY) ## generate schema/schema.graphql, and docs/: table-design, errors, schema-changelog and requirements
	@new=$$(mktemp) && $(BIN)/heartwood schema > $$new && cat $$new > schema/schema.graphql; rm -f $$new
	@new=$$(mktemp) && $(BIN)/heartwood schema --table-design > $$new && cat $$new > docs/table-design.md; rm -f $$new
	@new=$$(mktemp) && $(BIN)/heartwood schema --errors > $$new && cat $$new > docs/errors.md; rm -f $$new
	@new=$$(mktemp) && $(BIN)/heartwood schema --changelog > $$new && cat $$new > docs/schema-changelog.md; rm -f $$new
	@new=$$(mktemp) && $(BIN)/python -m tests.requirements.page > $$new && cat $$new > docs/requirements.md; rm -f $$new

release-schema: $(READY) ## store the schema as the released one, at a release: make release-schema VERSION=1.0.0
	@$(BIN)/heartwood schema --release '$(VERSION)'

lock: ## update locks/ after a change to pyproject.toml; ARGS=--upgrade upgrades all packages
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(INSTALL) uv==$(UV)
	@$(LOCK) $(ARGS) --extra dev --output-file locks/test.txt
	@$(LOCK) --constraint locks/test.txt --output-file locks/serve.txt
	@$(LOCK) --constraint locks/test.txt --extra local --output-file locks/moto.txt
	@$(LOCK) --constraint locks/test.txt --extra otel --output-file locks/otel.txt
	@$(LOCK) $(ARGS) --constraint locks/test.txt --extra dev --extra bench --output-file locks/bench.txt
	@$(COMPILE) $(ARGS) --group clients --output-file locks/clients.txt

bench: $(BENCH_READY) $(MODULES) $(PEERS) $(GO_PEER) $(RUST_PEER) ## compare CPU, calls and latency to servers on Node, Go, Rust and Strawberry
	@$(BIN)/python -m benchmarks.peers $(ARGS)

bench-execution: $(BENCH_READY) $(PEERS) ## compare the CPU of execution, without a database, to graphql-js and graphql-jit
	@$(BIN)/python -m benchmarks.execution $(ARGS)

bench-scale: $(BENCH_READY) $(MODULES) ## measure CPU by the number of records and by the size of the table
	@$(BIN)/python -m benchmarks.scale $(ARGS)

bench-transport: $(READY) $(MODULES) ## compare the CPU per DynamoDB call to boto3
	@$(BIN)/python -m benchmarks.transport $(ARGS)

bench-retries: $(READY) ## measure the calls per wanted call, and the time to the error, under throttling
	@$(BIN)/python -m benchmarks.retries $(ARGS)

bench-event-loop: $(BENCH_READY) $(MODULES) ## measure how long other requests wait beside each heavy operation
	@$(BIN)/python -m benchmarks.event_loop $(ARGS)

bench-live: $(BENCH_READY) $(MODULES) ## measure live queries and subscriptions; ARGS=--docs writes the figures to docs/performance.md
	@$(BIN)/python -m benchmarks.live $(ARGS)

bench-search: $(READY) ## measure the quality and the time of searches: ARGS='FOLDER --documents 100000'
	@$(BIN)/python -m benchmarks.search $(ARGS)

chaos: $(BENCH_READY) $(MODULES) ## run a server through faults, attacks and overload: ARGS='--quick --against DIR'
	@$(BIN)/python -m benchmarks.chaos $(ARGS)

load-social: $(READY) $(MODULES) ## load a social network into the local table
	@$(BIN)/python -m benchmarks.load_social $(ARGS)

load-cards: $(READY) $(MODULES) ## load categories and how-to cards through the commands: ARGS='FOLDER'
	@$(BIN)/python -m benchmarks.load_cards $(ARGS)

replay-cms: $(READY) $(MODULES) ## replay the revisions of a website and verify every version
	@$(BIN)/python -m benchmarks.replay_revisions $(ARGS)

clean: ## remove everything installed and built, but keep .data
	rm -rf .venv node_modules benchmarks/peers/node_modules $(dir $(GO_PEER)) $(GO_GENERATED) benchmarks/peers/rust/target examples/web/node_modules examples/web/dist examples/web/src/gql clients/node_modules clients/.venv clients/generated .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info

$(SERVE_READY): pyproject.toml locks/serve.txt locks/moto.txt
	@$(PYTHON) -c 'import sys; sys.exit("Heartwood needs Python 3.11 or later: make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo 'Installing Heartwood into .venv …'
	@if command -v npm >/dev/null && [ "$$(uname -sm)" = 'Linux x86_64' ]; then lock=serve; else lock=moto; fi; \
	$(INSTALL) --require-hashes -r locks/$$lock.txt
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(READY): $(SERVE_READY) locks/test.txt
	@echo 'Installing the test dependencies …'
	@$(INSTALL) --require-hashes -r locks/test.txt
	@touch $@

$(BENCH_READY): $(READY) locks/bench.txt
	@echo 'Installing the benchmark dependencies …'
	@$(INSTALL) --require-hashes -r locks/bench.txt
	@touch $@

$(CLIENT_MODULES): clients/package.json clients/package-lock.json
	@command -v npm >/dev/null || { echo 'npm is not installed: it is needed to install the clients.'; exit 1; }
	@echo 'Installing clients into clients/node_modules …'
	@cd clients && npm ci --no-progress --loglevel=error
	@touch $@

$(CLIENT_PACKAGES): locks/clients.txt
	@test -x clients/.venv/bin/python || $(PYTHON) -m venv clients/.venv
	@echo 'Installing clients into clients/.venv …'
	@clients/.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/clients.txt
	@touch $@

$(PEERS): benchmarks/peers/package.json benchmarks/peers/package-lock.json
	@command -v npm >/dev/null || { echo 'npm is not installed: it is needed to install the peers.'; exit 1; }
	@echo 'Installing the peers into benchmarks/peers/node_modules …'
	@cd benchmarks/peers && npm ci --no-progress --loglevel=error
	@touch $@

# A peer whose language is not installed is not built, and the benchmark skips it.
$(GO_PEER): benchmarks/peers/schema.graphql $(filter-out $(GO_GENERATED),$(wildcard benchmarks/peers/go/*.* benchmarks/peers/go/*/*.go))
	@if command -v go >/dev/null; then echo 'Building the Go peer …'; cd benchmarks/peers/go && nice go tool gqlgen generate && nice go build -o build/gqlgen .; fi

$(RUST_PEER): $(wildcard benchmarks/peers/rust/Cargo.* benchmarks/peers/rust/src/*.rs)
	@if command -v cargo >/dev/null; then echo 'Building the Rust peer …'; cd benchmarks/peers/rust && nice cargo build --release --locked --quiet && touch target/release/peer; fi

$(EXAMPLE): examples/web/package.json examples/web/package-lock.json
	@mkdir -p examples/web/node_modules
	@if command -v npm >/dev/null; then echo 'Installing the example into examples/web/node_modules …'; cd examples/web && npm ci --no-progress --loglevel=error; fi
	@mkdir -p examples/web/node_modules && touch $@

$(MODULES): package.json package-lock.json schema/http/graphiql/bundle.mjs schema/http/graphiql/libraries.js
	@mkdir -p node_modules
	@if command -v npm >/dev/null; then echo 'Installing the local engine and GraphiQL into node_modules …'; npm ci --no-progress --loglevel=error; \
	else echo 'npm is not installed: using moto (in memory) as the local engine, and GraphiQL from a CDN.'; fi
	@mkdir -p node_modules && touch $@
