#!/usr/bin/env bash
# Runs what the nightly workflow runs: 500 random histories for each oracle (HISTORIES=0 leaves them out), then
# experiments on several Kafka versions, compared with the last good night.
#   compose/nightly.sh                                    the usual set
#   EXPERIMENTS="storm" MATRICES="" VERSIONS="4.3.1" compose/nightly.sh
# Leaves results, summary.md and junit.xml in RESULTS. LAST holds the results of the last good night.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
EXPERIMENTS=${EXPERIMENTS:-kill-leader cut-then-kill standard transactions}
MATRICES=${MATRICES-acks-idempotence}
VERSIONS=${VERSIONS:-4.4.0 3.9.2}
RESULTS=${RESULTS:-results/nightly}
PYTHON=${PYTHON:-.venv/bin/python}
LAST=${LAST:-$RESULTS.last}
HISTORIES=${HISTORIES:-500}

histories=0
if [[ "$HISTORIES" != 0 ]]; then make --no-print-directory test-histories HISTORIES="$HISTORIES" || histories=$?; fi

versions=()
for version in $VERSIONS; do versions+=(--kafka-version "$version"); done
for matrix in $MATRICES; do versions+=(--matrix "$matrix"); done
read -r -a experiments <<<"$EXPERIMENTS"
"$PYTHON" -m kafka_chaos nightly "${experiments[@]}" "${versions[@]}" --results "$RESULTS" --last "$LAST" "$@" || exit
exit "$histories"
