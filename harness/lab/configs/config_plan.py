"""From the files of a comparison to the matrix of its runs, and from these to its result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.lab.clients.participants import chosen_faults
from harness.lab.configs.compared_config import read_configs
from harness.lab.configs.config_matrix import NAME, USUAL_FAULTS, USUAL_RATE, matrix_of
from harness.lab.configs.config_page import headline_of
from harness.lab.configs.config_result import CONFIGS_FILE, ConfigComparison, begun_comparison, load_configs
from harness.lab.configs.config_run import cells_of_files
from harness.many.matrix.plan import MatrixOptions, MatrixPlan, new_plan, plan_matrix
from harness.many.matrix.result import MatrixResult, MatrixStore

PlannedComparison = tuple[ConfigComparison, MatrixPlan]


def planned_comparison(
    files: Sequence[Path],
    faults: Sequence[str],
    rate: int | None,
    changes: MatrixOptions,
    seed: int,
    command: str,
) -> PlannedComparison:
    """A new comparison of these files under these faults (none named: the usual ones).

    Raises:
        BadInput: there is no such fault, or the files cannot be compared.
    """
    configs = read_configs(files)
    chosen = chosen_faults(faults or USUAL_FAULTS)
    plan = new_plan(matrix_of(configs, chosen, rate or USUAL_RATE), NAME, changes, seed)
    return begun_comparison(configs, chosen, command), plan


def resumed_comparison(folder: Path, changes: MatrixOptions) -> PlannedComparison:
    """The comparison in this folder, with the runs that are left.

    Raises:
        BadInput: other options than it was begun with.
        JournalError: there is no comparison of files, or one of another version.
    """
    return load_configs(folder), plan_matrix(None, folder, changes, 0)


def comparison_store(comparison: ConfigComparison, resume: Path | None, results: Path) -> MatrixStore:
    """The folder of the comparison; a new one below `results` if none is resumed.

    Raises:
        BadInput: it cannot be written.
    """
    if resume is not None:
        return MatrixStore(resume)
    store = MatrixStore.created(results, NAME)
    store.write(CONFIGS_FILE, comparison)
    return store


def finished_comparison(
    comparison: ConfigComparison, result: MatrixResult, store: MatrixStore
) -> ConfigComparison:
    """The comparison with what came of its runs, as it is also written into its folder."""
    cells = cells_of_files(result, store.folder)
    known = comparison.model_copy(update={"cells": cells})
    finished = known.model_copy(update={"headline": headline_of(known, result)})
    store.write(CONFIGS_FILE, finished)
    return finished
