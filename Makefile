SHELL := /bin/bash
.DEFAULT_GOAL := help
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -v --durations=10
# How many files of tests run at a time: three where 12 GB are free, two where there are 6. A file stays with one process,
# so that its tests share a cluster.
SIDE ?= $(shell awk '/^MemAvailable/ { print ($$2 > 12000000 ? 3 : $$2 > 6000000 ? 2 : 0) }' /proc/meminfo 2>/dev/null || echo 0)
# Long tests have time-outs that a busy machine breaks, so no more of them at a time than there are processors.
LONG_SIDE ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1); echo $$(($(SIDE) < cores ? $(SIDE) : cores)))
# One more than there are processors, since some tests wait.
PURE := $(BIN)/python -m pytest -q -n $(shell echo $$(($$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) + 1))) --dist worksteal -m "pure and not soak" tests/pure
# Where an environment forbids it, each of dozens of processes compiles all that it imports: a third of the time of the tests.
export PYTHONDONTWRITEBYTECODE :=
WHOLE_FILES := --dist loadfile --no-loadscope-reorder
BY_FILE = -n $(SIDE) $(WHOLE_FILES)
RULES := $(addprefix tests/pure/,test_wall.py test_workload_lists.py test_names.py test_module_sizes.py test_test_modules.py \
  test_documents.py test_console_blocks.py harness/cli/docgen kafka_chaos)
# The long tests, which `make test` leaves out, are divided by CI (.ci/run) into as many parts.
SHARDS := 8
# Random histories for each oracle.
HISTORIES ?= 500

.PHONY: help setup swept demo test test-rules test-all test-shard test-histories test-pure test-spark test-mock test-chaos lint docs site evidence claims bugs clients consumers findings bench nightly spark-jars class-data compose lock clean distclean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

setup: ## install what is missing: virtual environment, Java, Docker engine, images
	@compose/setup.sh

swept: setup
	@$(BIN)/kafka-chaos clean

demo: swept ## run two of the built-in experiments on a real cluster; ends with a table and a report each
	$(BIN)/kafka-chaos run cut-then-kill kill-leader

test: export KAFKA_CHAOS_MAVEN := yes
test: swept ## run lint, types and all four tiers of tests
	@$(MAKE) --no-print-directory -j2 lint test-pure
	$(PYTEST) $(BY_FILE) -m "not soak" tests/spark tests/mock tests/chaos

test-rules: setup ## run only the tests of the rules that every change must keep: lists, walls, names, sizes, documents
	$(BIN)/python -m pytest -q $(RULES)

test-all: ## run as test, then the long tests too; says beforehand how long that takes
	@$(MAKE) --no-print-directory setup
	@$(BIN)/python -m tests.support.durations
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-shard SHARD=1/1

test-shard: export KAFKA_CHAOS_BROWSER := yes
test-shard: export KAFKA_CHAOS_MAVEN := yes
# Each part has tests of every long file (least_duration), since a file stays with one process, and would be waited for.
test-shard: ## run one part of the tests that `make test` leaves out: SHARD=2/8 is the second of eight
	@[[ "$(SHARD)" =~ ^([1-9][0-9]{0,3})/([1-9][0-9]{0,3})$$ ]] && (( $${BASH_REMATCH[1]} <= $${BASH_REMATCH[2]} )) || { \
	  echo "make test-shard: no such shard: SHARD=$(SHARD); expected I/N with 1 <= I <= N, for example SHARD=2/8" >&2; exit 2; }
	@$(MAKE) --no-print-directory swept
	$(PYTEST) -n $(LONG_SIDE) $(WHOLE_FILES) -m soak --splits $(word 2,$(subst /, ,$(SHARD))) --group $(word 1,$(subst /, ,$(SHARD))) \
	  --durations-path tests/durations.json --splitting-algorithm least_duration

test-histories: export KAFKA_CHAOS_HISTORIES = $(HISTORIES)
test-histories: setup ## compare the checks with the plain-Python oracles on many random histories: HISTORIES=500 for each oracle
	@[[ "$(HISTORIES)" =~ ^[1-9][0-9]{0,6}$$ ]] || { \
	  echo "make test-histories: no such number: HISTORIES=$(HISTORIES); expected a whole number from 1 on, for example HISTORIES=500" >&2; exit 2; }
	$(PYTEST) $(BY_FILE) \
	  tests/spark/checkers/test_against_oracle.py::test_same_as_the_oracle_for_long \
	  tests/spark/checkers/test_outputs_against_oracle.py::test_same_as_the_oracle_for_long \
	  tests/spark/checkers/test_chunk_sizes.py::test_the_size_of_chunks_changes_nothing_for_long \
	  tests/spark/checkers/test_groups_against_oracle.py::test_they_agree_on_every_finding \
	  tests/spark/checkers/test_share.py::test_random_stories_against_plain_python \
	  tests/spark/checkers/test_added_partitions.py::test_same_as_the_oracle \
	  tests/spark/checkers/test_committed_first.py::test_same_as_the_oracle \
	  tests/spark/checkers/test_created_again.py::test_same_as_the_oracle \
	  tests/spark/checkers/test_ids.py::test_same_as_the_oracle \
	  tests/spark/checkers/test_not_handled.py::test_same_as_plain_python \
	  tests/spark/checkers/test_passed_over.py::test_same_as_the_oracle \
	  tests/spark/checkers/test_transactions.py::test_random_transactions_are_judged_as_the_oracle_does \
	  tests/spark/checkers/test_idle.py::test_same_as_a_plain_line \
	  tests/spark/checkers/test_reports.py::test_same_as_a_few_plain_lines

test-pure: setup ## run only the tests without JVM and Docker
	$(PURE)

test-spark: setup ## run only the tests of the checks
	$(PYTEST) -m "spark and not soak" tests/spark

test-mock: setup ## run only the tests against librdkafka's mock cluster
	$(PYTEST) -m "mock and not soak" tests/mock

test-chaos: export KAFKA_CHAOS_MAVEN := yes
test-chaos: swept ## run only the tests with real brokers
	$(PYTEST) -m "chaos and not soak" tests/chaos

lint: setup ## run ruff, import-linter and mypy, and look at the titles of new commits
	$(BIN)/python .ci/commit_titles.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

docs: setup ## write the generated pages of docs/ again, from the code and the saved results of runs
	$(BIN)/python -m harness.cli.docgen --write

site: setup ## build the documentation site into build/site; a dead link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

evidence: setup ## prove every fault on real brokers, or FAULT=kill alone, and write docs/faults with the results
	@tests=tests/chaos/faults; \
	if [[ -n "$(FAULT)" ]]; then tests=$$($(BIN)/python -m tests.support.fault_tests "$(FAULT)") || exit 2; fi; \
	$(BIN)/kafka-chaos clean; \
	$(PYTEST) -m chaos $$tests --fault-table docs/faults/evidence.json $(if $(FAULT),--fault $(FAULT))
	$(BIN)/python -m harness.cli.docgen faults --write

claims: swept ## test the claims of textbooks and write docs/claims with the results
	rm -rf results/claims-docs
	$(BIN)/kafka-chaos claims --repeat 3 --results results/claims-docs
	$(BIN)/python -m harness.cli.docgen claims --write --take results/claims-docs

bugs: swept ## reproduce the known bugs and write docs/bugs.md with the results
	rm -rf results/bugs-docs
	$(BIN)/kafka-chaos bugs --repeat 5 --results results/bugs-docs
	$(BIN)/python -m harness.cli.docgen bugs --write --take results/bugs-docs

clients: swept ## compare Kafka's clients under all faults and write docs/clients.md with the results
	rm -rf results/clients-docs
	$(BIN)/kafka-chaos clients --fault all --engine sail --results results/clients-docs || [[ $$? = 3 ]]  # a client is left out
	$(BIN)/python -m harness.cli.docgen clients --write --take "$$(ls -d results/clients-docs/clients-* | tail -1)"

consumers: swept ## compare the consumers of Kafka's clients in all situations and write docs/clients.md with the results
	rm -rf results/consumers-docs
	$(BIN)/kafka-chaos clients --consumers --fault all --repeat 3 --engine sail --results results/consumers-docs || [[ $$? = 3 ]]  # a client is left out
	$(BIN)/python -m harness.cli.docgen clients --write --take "$$(ls -d results/consumers-docs/consumers-* | tail -1)"

findings: ## run the scripts of findings/, or FINDING=name alone: whether other software still does what they say
	@findings/run $(FINDING)

bench: swept ## measure all that has a goal, against DuckDB and Kafka's own tools, in one table; LARGE=yes checks 100 million sends, too
	$(BIN)/python -m tests.bench $(if $(LARGE),--large)

nightly: swept ## run experiments on several Kafka versions and compare with the last good night
	compose/nightly.sh

spark-jars: export KAFKA_CHAOS_MAVEN := yes
spark-jars: setup ## fetch the jars for topics read with Spark and for journals on S3
	$(BIN)/python -m harness.check_jobs.spark_jars

class-data: setup ## make the archive of classes that halves Spark's start
	$(BIN)/python -m checkers.make_class_data

compose: setup ## write the compose files again from the topology code
	$(BIN)/kafka-chaos compose --write

lock: setup ## resolve requirements.lock again
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-header --no-annotate -q -o requirements.lock

clean: ## remove our containers, networks and volumes, and caches
	@if [ -x $(BIN)/kafka-chaos ]; then $(BIN)/kafka-chaos clean --all; fi
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

distclean: clean ## clean, and remove the virtual environment
	@rm -rf .venv *.egg-info
