# The only entry point. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto

.PHONY: help run run-cluster test bed-beside crates-and-lua downloads unit lua e2e lint fmt docs docs-site manifests bench bed bed-versions release image image-test clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

run: ## Serve examples/ with echo backends on high ports
	@scripts/setup.sh nginx
	@scripts/run.sh

run-cluster: bed ## The same against a real API server, with Deployments
	@scripts/setup.sh nginx
	@scripts/run-cluster.sh

# The bed is built with what the tests of the crates and of Lua leave of the processors. With NGINX 1.26 too, where its root is there (make debian13 makes it, CI does).
test: downloads ## Every suite
	@scripts/setup.sh nginx
	@$(MAKE) --no-print-directory --jobs=2 bed-beside crates-and-lua
	@$(MAKE) --no-print-directory e2e $(if $(or $(NGINX_ROOT),$(wildcard $(or $(CARGO_TARGET_DIR),target)/debian13)),debian13)

bed-beside:
	@nice -n 10 $(MAKE) --no-print-directory bed

crates-and-lua:
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory lua

# What later steps build is fetched while the first ones compute.
downloads:
	@scripts/setup.sh downloads

unit: ## Unit, golden, property and NGINX tests of the crates
	@scripts/setup.sh nginx
	$(CARGO) run --locked --quiet -p run-tests -- --not-package e2e

lua: ## Tests of the Lua modules in a real NGINX
	@scripts/setup.sh nginx
	lua/spec/run.sh

debian13: bed ## What meets NGINX, with NGINX 1.26 in a root of Debian 13
	@scripts/setup.sh nginx debian13
	@scripts/debian13.sh test

e2e: bed ## End-to-end tests against a real API server and NGINX
	@scripts/setup.sh nginx browser pages prometheus
	@scripts/e2e.sh

lint: ## Format, clippy, Lua, shell, dependency and repository checks
	@scripts/setup.sh lint
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets --features bench/criterion -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --quiet
	luacheck --quiet lua
	$(CARGO) deny --locked --log-level warn check --hide-inclusion-graph bans licenses sources
	$(CARGO) run --locked --quiet -p xtask -- tidy

fmt: ## Format the sources
	$(CARGO) fmt --all

docs: ## Generate docs/reference, the tables of docs/live-protocol.md and lua/narthex/state/wire.lua
	$(CARGO) run --locked --quiet -p xtask -- docs
	NARTHEX_WRITE_DOCS=1 $(CARGO) test --locked --quiet --workspace --bin narthex -- the_reference_of_commands >/dev/null

docs-site: ## Build the documentation as a web site (target/docs-site), with search, and check its links
	@scripts/setup.sh docs-site
	@scripts/docs-site.sh

manifests: bed ## Render the manifests in deploy/ that come from the chart
	@scripts/manifests.sh

bench: bed ## Measure everything, and write docs/benchmarks.md and the plots in docs/performance
	@scripts/setup.sh nginx bench
	@scripts/bench.sh

bed: ## Build the API server that the tests run against
	@scripts/setup.sh go
	@tests/bed/build.sh

bed-versions: bed ## Build API servers of an older and a newer Kubernetes, for tests of the chart
	@tests/bed/build.sh --versions

release: ## Build the static, stripped binary for any Linux (target/narthex-ARCHITECTURE)
	@scripts/release.sh

image: ## Build the container image (IMAGE=, BASE=, BINARY=, ENGINE=: docs/image.md)
	@scripts/image.sh

image-test: bed ## Run the image that was built, in containers and as Pods of releases
	@scripts/setup.sh container
	@scripts/image-test.sh

clean: ## Remove what was built
	$(CARGO) clean
