# Atlas Mirror. `make` alone lists what can be made; localstack/ has the parts that need more than three lines.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run install quick about-test test test-all test-mcp generated check watch bench eval fuzz package release-workflow pin-images deploy deploy-local setup setup-tools setup-fuse setup-browser setup-localstack setup-minio setup-mcp setup-previous setup-infra setup-deny setup-release setup-bench setup-fuzz

# A copy, since what agents write comes into it.
VAULT ?= .atlas-store/demo
PORT ?= 3737
STORE ?=
SEARCH ?=
ARCH ?= x86_64
SECONDS ?= 60
EVAL ?= $(wildcard ../shared/eval)
# Where `make bench BIG=1` keeps a million notes and their mirror, between runs too: 6 GB.
ATLAS_BIG ?= /tmp/atlas-big
export VAULT PORT STORE ARCH SEARCH

FUNCTIONS := context find search query note bridge mcp ui auth
# They answer events: builds and compaction.
EVENT_FUNCTIONS := builder publish compact
TOOLS := target/tools
MINIO_VERSION := v0.0.0-20260212201848-7aac2a2c5b7c
DENY_VERSION := 0.20.2
DIST_VERSION := 0.34.0
ACTIONLINT_VERSION := v1.7.12
FUZZ_VERSION := 0.13.2
export PATH := $(CURDIR)/$(TOOLS)/bin:$(CURDIR)/$(TOOLS)/tools/bin:$(CURDIR)/$(TOOLS)/bench/bin:$(PATH)

# The lists are whole, and nothing is installed but what has the hash that is written down.
PIP := pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement
LAMBDA = RUSTFLAGS="$${RUSTFLAGS:-} -C link-arg=-Wl,-T,infra/without_unwind_tables.ld" cargo lambda build --profile lambda --locked --output-format zip $(if $(filter arm64,$(ARCH)),--arm64,--x86-64)
ATLAS := cargo run --quiet --release --locked --package atlas --bin atlas --
# By the rule of all commands, unless it is named: see `atlas where`.
NAMED_STORE = $(if $(STORE),--store "$$STORE")

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.atlas-store/demo: # The demo vault, once
	mkdir -p .atlas-store
	cp -R tests/vaults/demo $@

run: $(filter .atlas-store/demo,$(VAULT)) ## Sync a folder of notes and serve it, as `atlas up` does: make run [VAULT=dir] [PORT=3737] [STORE=url]
	cargo build --profile quick --no-default-features --locked --package atlas --bin atlas
	exec "$${CARGO_TARGET_DIR:-target}/quick/atlas" up "$$VAULT" --port "$$PORT" $(NAMED_STORE)

install: ## Put `atlas` on your PATH
	cargo install --locked --path functions/atlas

quick: ## Run the library tests of the crates that you changed: make quick [CRATES="vault tools"]
	tests/quick.sh $(CRATES)

about-test:
	@echo "Installs what the tests need: tools into target/tools, and chromium from Debian where the system has none."
	@echo "Then it takes some 25 minutes on 2 cores, or 10 where all is built. \`make test-all\` draws more random cases."

test: about-test setup-tools setup-fuse setup-browser setup-localstack setup-bench $(if $(shell command -v go),setup-minio) ## Install what the tests need and run all of them
	cargo test --workspace --locked --no-run
	$(MAKE) --no-print-directory setup-previous
	PROPTEST_CASES=$${PROPTEST_CASES:-64} cargo test --workspace --locked

test-all: test ## Run the tests also over many more random cases and histories: an hour or more
	PROPTEST_CASES=$${PROPTEST_CASES:-2000} cargo test --workspace --lib --locked
	ATLAS_HISTORIES=$${ATLAS_HISTORIES:-2500} cargo test --workspace --test e2e --locked

test-mcp: setup-tools setup-mcp setup-browser ## Run the conformance suite of MCP, and clients of other makers, against the mcp function
	cargo test --quiet --locked --workspace --test program --no-run
	PATH="$(CURDIR)/$(TOOLS)/mcp/node_modules/.bin:$(CURDIR)/$(TOOLS)/mcp/bin:$$PATH" python tests/mcp/run.py "$${CARGO_TARGET_DIR:-target}/debug/atlas"

# The second is built with what the first writes.
generated: ## Write what is derived from code: the schemas of all operations, and the tables in the pages
	ATLAS_WRITE_SCHEMAS=1 cargo test --quiet --workspace --lib --locked schemas_are_those_of_the_types
	ATLAS_WRITE_README=1 cargo test --quiet --workspace --test e2e --locked -- the_readme_says_what_works every_reason_stands every_tag_stands the_examples_give

check: setup-deny setup-infra setup-release ## Formatting, lints, dependencies' licences and advisories, the deployment template, the container and the release
	python3 infra/circles.py
	cargo fmt --all --check
	cargo fmt --manifest-path tests/benches/peers/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	.ci/deny
	infra/lint.sh
	infra/release_workflow.sh --check

watch: setup-tools $(filter .atlas-store/demo,$(VAULT)) ## Publish VAULT and serve it with the functions themselves, rebuilt on change, on port 9000
	$(ATLAS) sync "$$VAULT" $(NAMED_STORE)
	ATLAS_STORE="$$($(ATLAS) where "$$VAULT" --only store)" ATLAS_VAULT="$$($(ATLAS) where "$$VAULT" --only vault)" cargo lambda watch -A 127.0.0.1 -P 9000

bench: setup-bench ## Run the benchmarks and print one table: make bench ATLAS_CORPORA=folder with hub/, help/ and tldr/ [BIG=1: 1 M notes too]
	cargo build --release --locked --package atlas --bin atlas
	cargo bench --locked --package atlas-tests
	cargo bench --locked --manifest-path tests/benches/peers/Cargo.toml --target-dir "$${CARGO_TARGET_DIR:-target}" --bench search
	$(if $(BIG),python3 tests/benches/big.py "$${CARGO_TARGET_DIR:-target}" "$(ATLAS_BIG)")
	$(if $(BIG),ATLAS_BIG="$(ATLAS_BIG)" cargo bench --locked --manifest-path tests/benches/peers/Cargo.toml --target-dir "$${CARGO_TARGET_DIR:-target}" --bench big)
	python3 tests/benches/processes.py "$${CARGO_TARGET_DIR:-target}"

eval: ## Measure how good search is, by judged queries and by links: make eval [EVAL=../shared/eval] [ATLAS_CORPORA=folder] [BEFORE=another atlas] [MODEL=folder of an embedding model]
	cargo build --release --locked --package atlas --bin atlas
	python3 tests/eval/run.py "$${CARGO_TARGET_DIR:-target}/release/atlas" $(if $(EVAL),--sets "$(EVAL)") $(if $(ATLAS_CORPORA),--corpora "$(ATLAS_CORPORA)") $(if $(BEFORE),--before "$(BEFORE)") $(if $(MODEL),--model "$(MODEL)")

fuzz: setup-fuzz ## Fuzz every reader of foreign bytes, with Rust nightly: make fuzz [SECONDS=60 for each]
	tests/fuzz/run.sh $(SECONDS)

# The packages are named, since cargo builds those of a workspace with the features that any of them asks for.
package: setup-tools ## Build every function into target/lambda/NAME/bootstrap.zip, and `search` with networks too: make package [ARCH=arm64]
	$(LAMBDA) $(foreach name,$(FUNCTIONS) $(EVENT_FUNCTIONS),--package function-$(name) --bin $(name))
	$(LAMBDA) --lambda-dir target/lambda/contextual --package function-search --bin search --features function-search/contextual

release-workflow: setup-release ## Write .github/workflows/release.yml from Cargo.toml
	infra/release_workflow.sh

pin-images: ## Write the digests of the container images beside their tags, at a release, with Docker
	infra/pin_images.sh

deploy: ## Deploy the packaged functions to AWS with SAM: make deploy [ARCH=arm64] [STACK=atlas] [CONFIG_KEY=KEY] [SEARCH=contextual] [BUILDERS=true]
	infra/deploy.sh aws $(FUNCTIONS) $(EVENT_FUNCTIONS)

deploy-local: setup-tools ## Deploy the packaged functions to LocalStack's Lambda, which needs Docker
	infra/deploy.sh local $(FUNCTIONS)

setup: setup-tools setup-fuse setup-browser setup-localstack setup-minio setup-mcp setup-infra setup-deny setup-release setup-bench setup-fuzz ## Install every tool below, all but the browser into target/tools

setup-tools: $(TOOLS)/tools/.ready ## cargo-lambda and rclone
setup-fuse: ## fusermount3 for rclone, unless the system has it
	localstack/setup_fuse.sh
setup-browser: ## Debian's chromium and its driver, unless the system has them
	localstack/setup_browser.sh
setup-localstack: $(TOOLS)/localstack/.ready ## LocalStack in host mode
setup-infra: $(TOOLS)/infra/.ready ## cfn-lint, the SAM command line, and hadolint
setup-minio: $(TOOLS)/bin/minio ## MinIO, built with Go
setup-previous: ## `atlas` of the release before, of the revision in tests/previous, to run beside the new one
	tests/previous/build.sh
setup-mcp: $(TOOLS)/mcp/.ready ## Node, and MCP's clients and conformance suite
setup-deny: $(TOOLS)/bin/cargo-deny ## cargo-deny
setup-release: $(TOOLS)/bin/dist $(if $(shell command -v go),$(TOOLS)/bin/actionlint) ## dist, and actionlint where there is Go
setup-bench: $(TOOLS)/bench/.ready ## ripgrep, to compare with, in tests and in benches
setup-fuzz: $(TOOLS)/bin/cargo-fuzz ## cargo-fuzz

$(TOOLS)/%/.ready: localstack/requirements-%.txt
	rm -rf $(@D)
	python3 -m venv $(@D)
	$(@D)/bin/python -m $(PIP) $<
	touch $@

$(TOOLS)/bench/.ready: tests/benches/requirements.txt
	rm -rf $(@D)
	python3 -m venv $(@D)
	$(@D)/bin/python -m $(PIP) $<
	touch $@

$(TOOLS)/mcp/.ready: tests/mcp/requirements.txt tests/mcp/package.json
	rm -rf $(@D)
	python3 -m venv $(@D)
	$(@D)/bin/python -m $(PIP) $<
	cp tests/mcp/package.json $(@D)
	PATH="$(CURDIR)/$(@D)/bin:$$PATH" npm install --prefix $(@D) --no-audit --no-fund --ignore-scripts --silent
	touch $@

$(TOOLS)/bin/minio:
	GOBIN="$(CURDIR)/$(@D)" CGO_ENABLED=0 go install -trimpath -ldflags '-s -w' github.com/minio/minio@$(MINIO_VERSION)

$(TOOLS)/bin/cargo-deny:
	cargo install --debug cargo-deny --version $(DENY_VERSION) --locked --root $(TOOLS)

$(TOOLS)/bin/dist:
	cargo install --debug cargo-dist --version $(DIST_VERSION) --locked --root $(TOOLS)

$(TOOLS)/bin/actionlint:
	GOBIN="$(CURDIR)/$(@D)" CGO_ENABLED=0 go install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)

$(TOOLS)/bin/cargo-fuzz:
	cargo install cargo-fuzz --version $(FUZZ_VERSION) --locked --root $(TOOLS)
