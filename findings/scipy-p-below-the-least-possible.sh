#!/usr/bin/env bash
# scipy 1.17.1, numpy 2.4.6 (PyPI), Python 3.11, 28 November 2026
#
# One would guess: scipy.stats.mannwhitneyu with its default method="auto" is exact for samples as small as three against three.
# What happens: one tie is enough, and "auto" takes the normal approximation, however small the samples are. Counts of rare events are full of
# ties, because most are 0. Its p is then too small by a factor of two and more, and can be BELOW the least p that any outcome could have: three
# runs with a loss against three without are 1 of 20 ways, so p is 0.05, and scipy says 0.0234. A difference that cannot be significant at 0.025
# with so few runs is called significant. method="exact" does not count either where values are tied: it takes them for different ones
# (0.0898 for 0.0909). method=PermutationMethod() is right. scipy's documentation of `method` says when "auto" is exact and that "exact" makes
# no correction for ties, but not how far off it is.
# Whom it hurts: whoever compares few runs before and after a change: failures, losses, retries, incidents.
#
# Output seen (the definition of p is counted out beside; alternative="greater"):
# | [1, 1, 1] against [0, 0, 0]: by default p=0.0234, by counting 0.0500 (method='exact': 0.0500; no p can be below 0.0500)
# | [4, 5, 6] against [1, 2, 3]: by default p=0.0500, by counting 0.0500 (method='exact': 0.0500; no p can be below 0.0500)
# | [0, 0, 0, 1, 1, 1] against [0, 0, 0, 0, 0, 0]: by default p=0.0353, by counting 0.0909 (method='exact': 0.0898; no p can be below 0.0011)
# | [9, 4, 5, 0, 0] against [0, 0, 0, 0, 0]: by default p=0.0360, by counting 0.0833 (method='exact': 0.0754; no p can be below 0.0040)
set -euo pipefail
set -m # each command is a process group of its own, so that all that it has started can be ended
work=$(mktemp -d)
export TMPDIR=$work # for what pip and others put aside
end() {
  trap "" HUP INT TERM # a second signal does not keep this from its end
  local job
  for job in $(jobs -p); do kill -KILL -- "-$job" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
run() { "$@" </dev/null & wait "$!"; } # in the background, so that a signal is heard at once

{ run python3 -m venv "$work/venv" && run "$work/venv/bin/pip" install -q --disable-pip-version-check scipy==1.17.1 numpy==2.4.6; } || {
  echo "not reachable: the packages could not be installed" >&2
  exit 2
}

cat >"$work/look.py" <<'PY'
from itertools import combinations
from math import comb

from scipy.stats import mannwhitneyu, rankdata


def by_counting(new, base):
    """p by its definition: of all ways to deal the same values to the two sides, the share with at least this rank sum."""
    ranks = 2 * rankdata([*new, *base])
    sums = [sum(ranks[i] for i in chosen) for chosen in combinations(range(len(ranks)), len(new))]
    return sum(one >= sum(ranks[: len(new)]) for one in sums) / len(sums)


for new, base in (
    ([1, 1, 1], [0, 0, 0]),
    ([4, 5, 6], [1, 2, 3]),
    ([0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0]),
    ([9, 4, 5, 0, 0], [0, 0, 0, 0, 0]),
):
    auto, exact = (mannwhitneyu(new, base, alternative="greater", method=how).pvalue for how in ("auto", "exact"))
    least = 1 / comb(2 * len(new), len(new))
    print(f"{new} against {base}: by default p={auto:.4f}, by counting {by_counting(new, base):.4f} (method='exact': {exact:.4f}; no p can be below {least:.4f})")
PY
run "$work/venv/bin/python" "$work/look.py" 2>"$work/told" >"$work/seen" || {
  echo "look.py did not come to its end" >&2
  tail -n 20 "$work/told" >&2
  exit 3
}
cat "$work/seen"

if ! diff <(sed -n 's/^# | //p' "$0") "$work/seen" >&2; then
  echo "changed: the output is not the one in the first lines of this script" >&2
  exit 1
fi
