# Everything here works from a fresh clone: `make demo` to see it run, `make test` to check it all.
# The steps themselves are POSIX shell in scripts/.

# Changeable from the command line or the environment, e.g. make test PYTHON=python3.13
# PYTHON                         which Python the environment is made with
VENV             ?= .venv
OLDEST_PROMPTFOO ?= 0.121.20
NEWEST_PROMPTFOO ?= 0.123.1
# The demo takes the oldest: it runs on Node 20 as well as on newer ones.
PROMPTFOO_VERSION ?= $(OLDEST_PROMPTFOO)
# CONFIG, ARGS                   the demo's configuration; more arguments for promptfoo or pytest
# PORT                           where `make view` listens

export VENV

RUN    := "$(VENV)/bin/python" -m
SCHEMA := lobu_provider/config/config.schema.json

# The example once more, through the npm package; not with a configuration or a gateway of one's own.
define DEMO_PACKAGE
if [ -z "$$CONFIG$$LOBU_GATEWAY" ]; then \
    printf '\nThe same tests through the npm package:\n' && \
    mkdir -p node_modules/@lobu && ln -sfn ../../node_shim node_modules/@lobu/promptfoo-provider && \
    LOBU_AGENT=support-agent LOBU_GATEWAY=script:demo scripts/demo.sh "$(PROMPTFOO_VERSION)" $(ARGS) \
        --providers package:@lobu/promptfoo-provider:LobuProvider; fi
endef

.PHONY: help demo view test unit lint format tools docs schema venv clean distclean

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /\1: /p' Makefile | awk -F ': ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

demo: ## evaluate the example agent with promptfoo, installing what that needs (ARGS="-j 4")
	@scripts/demo.sh "$(PROMPTFOO_VERSION)" $(ARGS)
	@$(DEMO_PACKAGE)

view: ## show the demo's results in the browser (PORT=15500)
	@scripts/view.sh $(ARGS)

test: ## lint, types and all tests, against both promptfoos (ARGS="-k name")
	@scripts/test.sh "$(OLDEST_PROMPTFOO)" "$(NEWEST_PROMPTFOO)" $(ARGS)

unit: venv ## only the tests that need neither Node nor a built package
	@$(RUN) pytest -m "not e2e and not packaging" $(ARGS)

lint: venv ## ruff and mypy
	@scripts/lint.sh

format: venv ## let ruff rewrite the code
	@$(RUN) ruff check --fix .
	@$(RUN) ruff format .

tools: ## install both promptfoos that the tests use into .tools/
	@scripts/promptfoo.sh "$(OLDEST_PROMPTFOO)" any
	@scripts/promptfoo.sh "$(NEWEST_PROMPTFOO)" own

docs: schema ## write the JSON schema, the README tables and docs/cli.md anew
	@"$(VENV)/bin/python" scripts/readme_tables.py
	@"$(VENV)/bin/python" scripts/cli_reference.py

schema: venv ## write the configuration's JSON schema anew
	@$(RUN) lobu_provider.config.schema > $(SCHEMA).tmp || { rm -f $(SCHEMA).tmp; exit 1; }
	@mv $(SCHEMA).tmp $(SCHEMA)

venv: ## the virtual environment with everything for development
	@scripts/venv.sh dev

clean: ## remove what the demo, the tests and builds left behind
	rm -rf .demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find lobu_provider tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## and the installed environment and tools
	rm -rf .venv .tools node_modules
