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
    from checkers.classes import CLASSES
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
    from checkers.questions.query import VIEW_DESCRIPTIONS, query_words
    from checkers.questions.views import RunViews, ask, views_of
    from checkers.rates.aggregate import Rates, rates_of_runs
    from checkers.statistics.comparison import ALPHA, rank_test, runs_needed, shared_level
    from checkers.statistics.rates import (
        difference,
        per_million,
        percentile,
        percentile_interval,
        rate_difference,
        share_of,
    )

_NAMES_OF = {
    "check": "check_run",
    "classes": "CLASSES",
    "engine.choice": "ENGINE_VARIABLE Decision EngineChoice EngineName available_memory decide engine_word "
    "parse_settings usual_engine",
    "engine.failures": "cause_of engine_failures is_failure",
    "engine.server": "SCRATCH_PREFIX ConnectEngine engine_of start_engine",
    "engine.spark_server": "archive_of java_of_spark",
    "groups.one_group": "group_findings",
    "judgement.judge": "judge",
    "judgement.promise": "bounds_of check_promise parse_promise",
    "questions.query": "VIEW_DESCRIPTIONS query_words",
    "questions.views": "RunViews ask views_of",
    "rates.aggregate": "Rates rates_of_runs",
    "statistics.comparison": "ALPHA rank_test runs_needed shared_level",
    "statistics.rates": "difference per_million percentile percentile_interval rate_difference share_of",
}
"""The imports above, for `__getattr__`."""


def __getattr__(name: str) -> Any:
    for module, names in _NAMES_OF.items():
        if name in names.split():
            return getattr(importlib.import_module(f"checkers.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
