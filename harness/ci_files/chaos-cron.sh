#!/usr/bin/env bash
# Chaos tests on a machine of your own: experiments every night, your pytest suite every morning.
# Put the next two lines into the crontab of a user who may use Docker; cron mails what a failed one prints.
# crontab: 17 2 * * * $HOME/ours/chaos-cron.sh night
# crontab: 17 7 * * * $HOME/ours/chaos-cron.sh suite
set -euo pipefail

# What pip installs: the repository in which you keep kafka-chaos (HOST, OWNER), at a tag or commit of it (TAG).
KAFKA_CHAOS=${KAFKA_CHAOS:-kafka-chaos[java] @ git+https://HOST/OWNER/kafka-chaos@TAG}
KAFKA_VERSION=${KAFKA_VERSION:-4.4.0}

work() {
  git pull --quiet --ff-only
  python3 -m venv --clear .chaos
  .chaos/bin/pip install --quiet "$KAFKA_CHAOS" pytest
  .chaos/bin/kafka-chaos doctor
  case "$1" in
    night)
      timeout 3h .chaos/bin/kafka-chaos nightly chaos/experiment.yaml --kafka-version "$KAFKA_VERSION" \
        --results "$results" --last chaos-last
      ;;
    suite)
      timeout 1h .chaos/bin/pytest chaos --chaos-kafka-version "$KAFKA_VERSION" --chaos-results "$results" \
        --junitxml "$results/junit.xml"
      ;;
  esac
}

main() {
  if [[ "${1:-}" != night && "${1:-}" != suite ]]; then
    echo "$0: expected night or suite, found '${1:-}'" >&2
    exit 2
  fi
  cd "$(dirname "$(readlink -f "$0")")"
  mkdir -p chaos-results
  exec 9>chaos-results/lock
  flock 9 # one at a time: the machine's memory is for one cluster
  results=chaos-results/$(date +%Y%m%dT%H%M%S)-$1
  mkdir -p "$results"
  # Within a condition (`work || code=$?`) it would go on after a failure.
  set +e
  (set -e; work "$1") >"$results/log" 2>&1
  code=$?
  set -e
  find chaos-results -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
  if [[ $code -ne 0 ]]; then
    echo "exit code $code; all of it is in $PWD/$results"
    tail -n 30 "$results/log"
  fi
  exit "$code"
}

main "$@"
