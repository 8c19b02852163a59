# Two commands do everything on a fresh machine: make demo and make test. Each
# sees to what it needs first (scripts/postgres) and says so when it installs.
#
# What can be set: FUZZTIME=10s (each target), BENCH=. (which benchmarks).

FUZZTIME ?= 10s
BENCH    ?= .
LINT     := go tool -modfile=tools/go.mod golangci-lint

.DEFAULT_GOAL := help
.PHONY: help demo test check format vet lint race pin bench fuzz walks build postgres chromium

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: postgres build ## a bot to talk to in the browser: no token, no key
	@bin/attache demo

test: postgres chromium ## every test, with what it needs
	go test -timeout 14m ./...

check: format vet lint race pin ## all that a change must pass: format, vet, lint, arrows, tests with the race detector, the pin

bench: postgres ## measure: every benchmark, one package at a time
	go test -run '^$$' -bench '$(BENCH)' -benchmem -p 1 -timeout 30m ./...

fuzz: ## a short run of every fuzz target
	scripts/fuzz $(FUZZTIME)

walks: postgres ## rewrite the expected halves of gateway/testdata/walks; read the diff before you commit it
	go test ./cmd/bot -run Walk -update

build: ## bin/attache, one file
	go build -trimpath -o bin/attache ./cmd/bot

# --- parts of the above ---

postgres:
	@scripts/postgres

chromium:
	@scripts/chromium

format:
	@wrong=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	[ -z "$$wrong" ] || { echo "not formatted; run gofmt -w on:"; echo "$$wrong"; exit 1; }

vet:
	go vet ./...

# The linter is built from the module proxy, a minute the first time. A machine
# without the proxy leaves it out and says so; everything else is still checked.
lint:
	@if $(LINT) version >/dev/null 2>&1; then echo "$(LINT) run"; $(LINT) run; \
	else echo "lint left out: golangci-lint cannot be built here (go tool -modfile=tools/go.mod golangci-lint version says why)"; fi

# internal/script runs a JavaScript machine translated from C, which the race
# detector takes for one long race; it is tested without. The detector itself
# needs a C compiler.
race: postgres chromium
	@if command -v $$(go env CC) >/dev/null; then \
	  set -ex; go test -race -timeout 28m $$(go list ./... | grep -v '/internal/script$$'); \
	  if [ -d internal/script ]; then go test -timeout 14m ./internal/script; fi; \
	else echo "race detector left out: no C compiler is here"; set -x; go test -timeout 14m ./...; fi

# What keeps one client's papers out of another client's room has more random turns
# than `go test` gives it: 100,000 through the deciding functions, 300 through the
# whole program. ATTACHE_PIN_SEED=… repeats a run of the second.
pin: postgres
	go test -count=1 -run '^TestThePinHolds' ./internal/brain -rapid.checks=2000
	ATTACHE_PIN_TURNS=300 go test -count=1 -run '^TestThePinHolds' ./cmd/bot
