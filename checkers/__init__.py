"""The check of saved runs: what other packages may use of it.

A saved run folder is all that a check needs: nothing here knows Docker or a Kafka client. A name is imported
when it is first used, so that judging counts, for example, loads no engine. Everything below this package is
private to it (an import contract says so).
"""

# mypy: implicit-reexport
# ruff: noqa: F401

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from checkers.check import check_run
    from checkers.engine.choice import (
        ENGINE_VARIABLE,
        Decision,
        EngineChoice,
        EngineName,
        available_memory,
        decide,
        engine_word,
        parse_settings,
        usual_engine,
    )
    from checkers.engine.failures import cause_of, engine_failures, is_failure
    from checkers.engine.server import SCRATCH_PREFIX, ConnectEngine, engine_of, start_engine
    from checkers.engine.spark_server import archive_of, java_of_spark
    from checkers.groups.one_group import group_findings
    from checkers.judgement.judge import judge
    from checkers.judgement.promise import bounds_of, check_promise, parse_promise
    from checkers.questions.comparison import AnswerComparison, compare_answers
    from checkers.questions.query import VIEW_DESCRIPTIONS, query_words
    from checkers.questions.views import Answer, RunViews, ask, views_of
    from checkers.rates.aggregate import Rates, rates_of_runs
    from checkers.rates.counts import counts_of
    from checkers.rates.figures import figures_of, share_with
    from checkers.records.ledger import LedgerCounts, count_ids
    from checkers.registry import CLASSES
    from checkers.statistics.comparison import ALPHA, rank_test, runs_needed, shared_level
    from checkers.statistics.rates import EventRate, Seconds, Share, difference, rate_difference, share_of
    from checkers.warm_up import warm

_NAMES_OF = {
    "check": "check_run",
    "engine.choice": "ENGINE_VARIABLE Decision EngineChoice EngineName available_memory decide engine_word "
    "parse_settings usual_engine",
    "engine.failures": "cause_of engine_failures is_failure",
    "engine.server": "SCRATCH_PREFIX ConnectEngine engine_of start_engine",
    "engine.spark_server": "archive_of java_of_spark",
    "groups.one_group": "group_findings",
    "judgement.judge": "judge",
    "judgement.promise": "bounds_of check_promise parse_promise",
    "questions.comparison": "AnswerComparison compare_answers",
    "questions.query": "VIEW_DESCRIPTIONS query_words",
    "questions.views": "Answer RunViews ask views_of",
    "rates.aggregate": "Rates rates_of_runs",
    "rates.counts": "counts_of",
    "rates.figures": "figures_of share_with",
    "records.ledger": "LedgerCounts count_ids",
    "statistics.comparison": "ALPHA rank_test runs_needed shared_level",
    "statistics.rates": "EventRate Seconds Share difference rate_difference share_of",
    "registry": "CLASSES",
    "warm_up": "warm",
}
"""The imports above, for `__getattr__`."""


def __getattr__(name: str) -> Any:
    for module, names in _NAMES_OF.items():
        if name in names.split():
            return getattr(importlib.import_module(f"checkers.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
