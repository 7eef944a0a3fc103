# Everything that is built or fetched goes to .build, which is not kept.
# Nothing but Go, git and make is needed for `make run` and `make test`.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BUILD := .build
# What the functions run on; arm64 is the template's default, x86_64 the other.
ARCHITECTURE ?= arm64

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOSEC := github.com/securego/gosec/v2/cmd/gosec@v2.30.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
INDEXDB := golang.org/x/vulndb/cmd/indexdb@v0.0.0-20261105234957-e22db6528018
CFN_LINT := cfn-lint==1.58.0
SAM_CLI := aws-sam-cli==1.170.0
MOTO := moto[all]==5.2.5
CHECKOV := checkov==3.3.30

ifdef DYNAMODB_ENDPOINT
export AWS_ENDPOINT_URL_DYNAMODB := $(DYNAMODB_ENDPOINT)
endif
export SAM_CLI_TELEMETRY := 0

# An engine that behaves like DynamoDB where the emulator does not; `make check`
# runs the tests on it too.
DYNOXIDE := $(BUILD)/dynoxide/node_modules/@dynoxide/linux-x64/dynoxide

# The race detector needs a C compiler; Go says whether it found one.
RACE = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
TEST_FLAGS ?=
PACKAGES ?= ./...

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: $(BUILD)/registry ## serve on http://127.0.0.1:8761, tables in memory (DYNAMODB_ENDPOINT=URL for tables there)
	@exec $(BUILD)/registry serve

DYNAMODB_LOCAL := http://127.0.0.1:8000
.PHONY: run-dynamodb-local
run-dynamodb-local: $(BUILD)/registry ## the same on DynamoDB Local, which it starts by local/compose.yaml (needs Docker)
	@docker compose -f local/compose.yaml up --detach
	@answers() { exec 3<>/dev/tcp/127.0.0.1/8000 && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && read -r -t 2 <&3; }; \
	for try in $$(seq 60); do (answers) 2>/dev/null && exit; sleep 0.5; done; echo 'DynamoDB Local does not answer' >&2; exit 1
	@AWS_ENDPOINT_URL_DYNAMODB=$(DYNAMODB_LOCAL) exec $(BUILD)/registry serve

IMAGE ?= eureka-registry
IMAGE_ARCHITECTURES ?= amd64 arm64
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Debian's and Alpine's place, then Fedora's.
CA_CERTIFICATES ?= $(firstword $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem))
.PHONY: image
image: ## container images IMAGE:latest-amd64 and -arm64 from scratch, 127.0.0.1:8761 by `docker run` as README.md says (needs Docker)
	@[ -n '$(CA_CERTIFICATES)' ] || { echo 'make image: no CA certificates found, name a file by CA_CERTIFICATES' >&2; exit 1; }
	@for architecture in $(IMAGE_ARCHITECTURES); do \
	  mkdir -p $(BUILD)/image/$$architecture/etc/ssl/certs; \
	  cp $(CA_CERTIFICATES) $(BUILD)/image/$$architecture/etc/ssl/certs/ca-certificates.crt; \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$architecture go build -trimpath -tags noemulator -ldflags '-s -w' -o $(BUILD)/image/$$architecture/registry ./local; \
	  chmod -R go+rX $(BUILD)/image/$$architecture; \
	  docker build --quiet --no-cache --platform linux/$$architecture --build-arg VERSION=$(VERSION) \
	    --tag $(IMAGE):latest-$$architecture --file local/image/Dockerfile $(BUILD)/image/$$architecture; \
	done

# Always asked for: Go itself knows whether there is something to build.
.PHONY: $(BUILD)/registry
$(BUILD)/registry:
	@[ -e $@ ] || echo 'building the registry; the first time that takes a minute or two'
	@go build -tags noemulator -o $@ ./local

# The same with the DynamoDB emulator, `registry engine`, which nobody serves from.
.PHONY: $(BUILD)/registry-emulator
$(BUILD)/registry-emulator:
	@go build -o $@ ./local

.PHONY: test
test: ## the tests that need nothing but Go, in minutes (PACKAGES=./core/... for some, TEST_FLAGS='-run X' for go test)
	go test -timeout 10m $(TEST_FLAGS) $(PACKAGES)

# Other software is part of them; a test whose tool is missing fails and names it.
.PHONY: test-all
test-all: export REGISTRY_TEST_REQUIRE_ALL := 1
ifneq ($(wildcard $(DYNOXIDE)),)
test-all: export REGISTRY_TEST_DYNOXIDE ?= $(abspath $(DYNOXIDE))
endif
test-all: ## all tests at full length, with the race detector: needs a C compiler, a JDK, Maven, Node, Python, Chromium, nginx, dynoxide
	@[ -n "$(RACE)" ] || { echo 'make test-all: no C compiler for the race detector' >&2; exit 1; }
	go test $(RACE) -timeout 30m $(TEST_FLAGS) $(PACKAGES)

SOAK ?= 1h
.PHONY: soak
soak: ## the long runs: a fleet for SOAK=1h, a minute of overload, the model for 100,000 steps a seed
	REGISTRY_TEST_SOAK=$(SOAK) go test -count=1 -v -timeout 3h -run 'TestSoak|TestOverload|TestEngineAway|TestReadersEqualScan' ./local ./core/systemtest

FUZZ ?= 10m
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZ=10m, one after another
	@for package in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "$$package $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) $$package; \
	  done; \
	done

.PHONY: check
check: export REGISTRY_TEST_REQUIRE_ALL := 1
check: format vet staticcheck gosec vulnerabilities lint-template test-all ## everything that must pass: format, vet, analysis, vulnerabilities, template, all tests

.PHONY: format
format: ## fail when a Go file is not formatted
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
	if [ -n "$$files" ]; then echo "not formatted (gofmt -w):" >&2; echo "$$files" >&2; exit 1; fi

.PHONY: vet
vet: ## go vet
	go vet ./...
	go vet -tags noemulator ./local

.PHONY: staticcheck
staticcheck: ## staticcheck with all its checks
	go run $(STATICCHECK) -checks all ./...

# What gosec finds and is none, "path:rules". Everywhere else the rules count.
#   G104: an error that is not looked at says why in a comment beside it.
#   G404: random numbers that spread load, choose instances or make test data;
#         secrets are made by functions and core/access, where the rule counts.
#   G115: counts and lengths, each far below the bound that it is converted to.
#   G304: files that are named by whoever starts the process.
#   G204: the processes that a test or the load generator starts.
#   G703, G704: the load generator reads the process that it is told, and sends
#         only to this machine, which it checks.
#   G101: a help text and the name of a variable.
#   G203: the style and script of the pages, which are part of the program.
#   G705: JSON and XML, which nosniff and the policy keep from being a page
#         (TestBrowsersAreRestrained).
GOSEC_NONE := storage/.*:G115,G404;local/.*:G115,G304,G404;core/(view|discovery|registry)/.*:G115,G404;core/eviction/.*:G404
GOSEC_NONE := $(GOSEC_NONE);functions/boot/credentials\.go:G304;core/discovery/backup\.go:G304;storage/dynamodb/enginetest/.*:G204;local/bench/.*:G204,G703,G704
GOSEC_NONE := $(GOSEC_NONE);local/(help|import)\.go:G101;core/discovery/datacenter_amazon\.go:G101
GOSEC_NONE := $(GOSEC_NONE);core/dashboard/templates/templates\.go:G203;core/httpapi/read\.go:G705
.PHONY: gosec
gosec: ## static analysis for security; the exceptions are listed above it, with reasons
	go run $(GOSEC) -quiet -exclude=G104 -exclude-rules='$(GOSEC_NONE)' ./...

# The list of vulnerabilities is a module too, so it comes from where all others
# do. GOTOOLCHAIN=auto: judged by the Go that go.mod names, as functions are built.
.PHONY: vulnerabilities
vulnerabilities: ## govulncheck with today's list (skipped without a network, unless all is required)
	@if dir=$$(go mod download -json golang.org/x/vulndb@latest | sed -n 's/.*"Dir": "\(.*\)",*$$/\1/p') && [ -n "$$dir" ]; then \
	  rm -rf $(BUILD)/vulndb && go run $(INDEXDB) -vulns "$$dir/data/osv" -out $(BUILD)/vulndb && \
	  GOTOOLCHAIN=auto go run $(GOVULNCHECK) -db 'file://$(abspath $(BUILD)/vulndb)' ./...; \
	elif [ -n "$${REGISTRY_TEST_REQUIRE_ALL:-}" ]; then echo 'make vulnerabilities: no list of them' >&2; exit 1; \
	else echo 'make vulnerabilities: skipped, no list of them'; fi

# cfn-lint, the SAM CLI and moto are Python programs; they live in an environment
# of their own, and checkov, whose dependencies contradict theirs, in another.
VENV := $(BUILD)/venv
CHECKOV_VENV := $(BUILD)/venv-checkov
.PHONY: lint-template
lint-template: ## cfn-lint, sam validate, checkov, and infra/proof on both templates (skipped without Python or Java, unless all is required)
	@for tool in python3 java mvn; do \
	  command -v $$tool >/dev/null && continue; \
	  if [ -n "$${REGISTRY_TEST_REQUIRE_ALL:-}" ]; then echo "make lint-template: no $$tool" >&2; exit 1; fi; \
	  echo "make lint-template: skipped, no $$tool"; exit 0; \
	done; \
	$(MAKE) --no-print-directory lint-template-now

.PHONY: lint-template-now
lint-template-now: $(VENV)/.installed $(CHECKOV_VENV)/.installed
	$(VENV)/bin/cfn-lint template.yaml infra/containers.yaml
	$(VENV)/bin/sam validate --lint --template template.yaml --region us-east-1
	cd infra/proof && BUILD=$(abspath $(BUILD)) PYTHONDONTWRITEBYTECODE=1 $(abspath $(VENV))/bin/python -m unittest proof_test
	PYTHONDONTWRITEBYTECODE=1 $(VENV)/bin/python infra/proof/prove.py template.yaml infra/containers.yaml $(BUILD)
	$(CHECKOV_VENV)/bin/checkov --config-file .checkov.yaml --file template.yaml infra/containers.yaml
	$(CHECKOV_VENV)/bin/checkov --config-file .checkov.yaml --directory $(BUILD)/stacks

$(VENV)/.installed: Makefile
	@echo 'installing cfn-lint, the SAM CLI and moto into $(VENV)'
	@python3 -m venv $(VENV)
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check '$(CFN_LINT)' '$(SAM_CLI)' '$(MOTO)'
	@touch $@

$(CHECKOV_VENV)/.installed: Makefile
	@echo 'installing checkov into $(CHECKOV_VENV)'
	@python3 -m venv $(CHECKOV_VENV)
	@$(CHECKOV_VENV)/bin/pip install --quiet --disable-pip-version-check '$(CHECKOV)'
	@touch $@

.PHONY: dynoxide
dynoxide: $(DYNOXIDE) ## install the dynoxide engine (npm, Linux x64) for the tests that want a faithful one

$(DYNOXIDE):
	npm install --loglevel=error --no-save --no-audit --no-fund --prefix $(BUILD)/dynoxide @dynoxide/linux-x64@1.2.1

.PHONY: bench
bench: ## Go benchmarks with allocations (PACKAGES=..., TEST_FLAGS='-bench X')
	go test -run '^$$' -bench . -benchmem -timeout 60m $(TEST_FLAGS) $(PACKAGES)

.PHONY: bench-coldstart
bench-coldstart: ## each function started 20 times: medians until it is ready and until its first answer, and its package's size
	go test -run '^$$' -bench ColdStart -benchtime 20x -timeout 60m ./functions

.PHONY: bench-requests
bench-requests: $(BUILD)/registry ## the most memory that each kind of request costs the process, one and a hundred at once; fails above 256 MiB (BENCH_FLAGS='-run reader')
	@go build -o $(BUILD)/memory ./local/bench/memory
	@$(BUILD)/memory -binary $(BUILD)/registry $(BENCH_FLAGS)

# One process each for 1,000 and 10,000 instances.
.PHONY: bench-http
bench-http: $(BUILD)/registry ## load over HTTP on the process: rates, times, processor time a request, beside net/http alone
	@go build -o $(BUILD)/bench ./local/bench
	@for instances in 1000 10000; do \
	  echo "$$instances instances"; rm -f $(BUILD)/bench.log; \
	  REGISTRY_LISTEN=127.0.0.1:8763 $(BUILD)/registry serve >$(BUILD)/bench.log 2>&1 & pid=$$!; \
	  trap 'kill $$pid 2>/dev/null || true' EXIT; \
	  until grep -qs '^Ctrl-C' $(BUILD)/bench.log; do kill -0 $$pid; sleep 0.1; done; \
	  $(BUILD)/bench -base http://127.0.0.1:8763/eureka -instances $$instances -pid $$pid -bare; \
	  kill $$pid; wait $$pid; \
	done

# An hour; MEMORY_FLAGS='-instances 10000 -every 10s -soak 5m' and so on for others.
.PHONY: bench-memory
bench-memory: $(BUILD)/registry ## memory of the process while 1,000 instances renew every second for an hour
	@go build -o $(BUILD)/bench ./local/bench
	@REGISTRY_LISTEN=127.0.0.1:8763 $(BUILD)/registry serve >$(BUILD)/bench-memory.log 2>&1 & pid=$$!; \
	trap 'kill $$pid 2>/dev/null || true' EXIT; \
	until grep -qs '^Ctrl-C' $(BUILD)/bench-memory.log; do kill -0 $$pid; sleep 0.1; done; \
	$(BUILD)/bench -base http://127.0.0.1:8763/eureka -pid $$pid -soak 1h $(MEMORY_FLAGS)

# A comparison of some minutes; INSTANCES='1000' and BENCH_FLAGS='-seconds 2 -rounds 1' make it shorter.
.PHONY: bench-compare
bench-compare: $(BUILD)/registry ## this server and Spring Cloud's in turns under the same load, with ratios (needs Maven and a JDK)
	@go build -o $(BUILD)/bench ./local/bench
	@local/bench/compare.sh $(BUILD)/registry $(BUILD)/bench $(BUILD) $(BENCH_FLAGS)

# Some ten minutes, and up to 12 GB for the engine; BIG_FLAGS='-rate 1000 -only fleet' and so on, see --help.
.PHONY: big
big: $(BUILD)/registry-emulator $(DYNOXIDE) ## 100,000 instances: renewed at 3,300/s, ten read containers that must agree, 150 that turn over
	@go build -o $(BUILD)/big ./local/bench/big
	@$(BUILD)/big -registry $(BUILD)/registry-emulator -dynoxide $(DYNOXIDE) $(BIG_FLAGS)

.PHONY: edge
edge: ## 1,000 readers in 30 s behind a real nginx, with views of the default interval
	REGISTRY_TEST_EDGE=30s go test -count=1 -v -run TestEdge ./local/edge

.PHONY: cost
cost: ## what the registry costs a month on AWS, as local/cost/README.md shows it
	@go run ./local/cost

# Takes minutes; the tests hold the figures by a shorter time.
.PHONY: cost-measure
cost-measure: $(DYNOXIDE) ## measure anew what an hour consumes, for make cost
	@for instances in 100 1000 10000; do \
	  REGISTRY_TEST_DYNOXIDE=$(abspath $(DYNOXIDE)) go test -count 1 -timeout 30m -run TestHour ./local/cost -args -minutes 60 -instances $$instances -update; \
	done
	REGISTRY_TEST_DYNOXIDE=$(abspath $(DYNOXIDE)) go test -count 1 -run TestRenewalWrites ./local/cost -args -minutes 60 -update

# `sam build` runs the same rules.
.PHONY: build
build: ## the functions as static binaries (ARCHITECTURE=x86_64 for the other one)
	@for function in Write Read Api Stream Evict; do \
	  $(MAKE) --no-print-directory -f infra/build/$(ARCHITECTURE)/Makefile build-$${function}Function \
	    ARTIFACTS_DIR=$(abspath $(BUILD))/functions/$(ARCHITECTURE)/$$function; \
	done

.PHONY: sam
sam: $(VENV)/.installed ## the functions in the SAM CLI on http://127.0.0.1:3000, engine and background work beside it; ENTRY=url for the api function (needs Docker)
	@SAM=$(abspath $(VENV))/bin/sam exec infra/sam-local $(SAM_FLAGS)

.PHONY: test-sam
test-sam: $(VENV)/.installed ## the same under the recorded conversation, two clients, deltas, an eviction and Ctrl-C
	REGISTRY_TEST_SAM=$(abspath $(VENV))/bin/sam go test -count=1 -timeout 20m -run TestSAM $(TEST_FLAGS) ./local/e2e

# make deploy PARAMETERS='CredentialsSecretArn=...' SAM_FLAGS=--no-confirm-changeset
.PHONY: deploy
deploy: $(VENV)/.installed ## build and deploy to AWS (PARAMETERS='Name=value ...'); infra/README.md is the runbook
	$(VENV)/bin/sam build --config-file infra/samconfig.toml $(if $(PARAMETERS),--parameter-overrides "$(PARAMETERS)")
	$(VENV)/bin/sam deploy --config-file infra/samconfig.toml $(SAM_FLAGS) $(if $(PARAMETERS),--parameter-overrides "$(PARAMETERS)")

.PHONY: clean
clean: ## remove what was built and fetched
	rm -rf $(BUILD) .aws-sam
