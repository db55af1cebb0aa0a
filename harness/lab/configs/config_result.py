"""The result of a comparison of files: `configs.json` in its folder, beside the `matrix.json` of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.lab.clients.fault import ClientFault
from harness.lab.configs.compared_config import ComparedConfig, differences, unused
from harness.lab.configs.config_run import ConfigCell
from harness.model.frozen import Frozen
from harness.model.versioned_json import Refusal, VersionedFile

CONFIGS_FILE = "configs.json"
CONFIGS_VERSION = 1


class ConfigComparison(Frozen):
    """What a comparison of files is made of, and what came out.

    `files` has the path of each file as typed, by its name in tables, `clients` the client whose defaults it
    has. `differences` are the settings in which they differ, with the value in each file; `unused` are
    sentences about what is not used of them. `titles` has what each fault is called. `cells` is empty until
    the runs are over; `headline` sums them up.
    """

    schema_version: int = CONFIGS_VERSION
    command: str
    files: dict[str, str]
    clients: dict[str, str]
    differences: dict[str, dict[str, str]]
    unused: tuple[str, ...]
    titles: dict[str, str]
    cells: tuple[ConfigCell, ...] = ()
    headline: str = ""


def begun_comparison(
    configs: Sequence[ComparedConfig], faults: Mapping[str, ClientFault], command: str
) -> ConfigComparison:
    """One that has no run yet."""
    return ConfigComparison(
        command=command,
        files={config.label: str(config.path) for config in configs},
        clients={config.label: str(config.producer.client) for config in configs},
        differences={
            name: {config.label: value for config, value in zip(configs, values, strict=True)}
            for name, values in differences(configs).items()
        },
        unused=tuple(unused(configs)),
        titles={name: fault.title for name, fault in faults.items()},
    )


def load_configs(folder: Path) -> ConfigComparison:
    """Read the comparison in a folder.

    Raises:
        JournalError: there is none, or it was written by another version.
    """
    return _FILE.read(folder / CONFIGS_FILE)


_FILE = VersionedFile(
    ConfigComparison,
    CONFIGS_VERSION,
    absent=Refusal(
        "there is no comparison of files here",
        expected=f"a folder holding {CONFIGS_FILE}, as `kafka-chaos compare-configs` leaves below results/",
        next_step="name such a folder; `kafka-chaos matrix --resume` goes on with a matrix",
    ),
    damaged=Refusal(
        "the comparison of files cannot be read",
        next_step="restore the file, or run `kafka-chaos compare-configs` again",
    ),
    another=Refusal(
        "the comparison was written by another version of kafka-chaos",
        next_step="use the version that wrote it, or run `kafka-chaos compare-configs` again",
    ),
)
