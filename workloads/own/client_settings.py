"""How a producer of the user's own is configured, as its client says itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from workloads.own.producer_folder import Acks

_ALL = (-1, "-1", "all")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """`client` is the library, with its version. `max_in_flight` is the number of requests that may be on
    their way to one broker at once (of aiokafka: with batches of one partition); times are milliseconds.
    None: the client does not say."""

    client: str
    acks: Acks
    idempotent: bool
    max_in_flight: int | None = None
    delivery_timeout_ms: int | None = None
    transaction_timeout_ms: int | None = None

    def fields(self) -> dict[str, Any]:
        """The fields of the event `begin` that say it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def acks_of(value: Any) -> Acks:
    """The setting acks as "0", "1" or "all", from the number or the text that a client has."""
    if value in _ALL:
        return "all"
    return "0" if str(value) == "0" else "1"


def named(package: str) -> str:
    """A client library with its version, if that is known."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


_WEAKEST_FIRST: tuple[Acks, ...] = ("0", "1", "all")


@dataclass(frozen=True, slots=True)
class Judged:
    """Settings by which a run is judged."""

    acks: Acks
    idempotent: bool
    max_in_flight: int | None


def judged_by(of_arm: Judged, told: Iterable[ClientSettings], *, all_told: bool) -> Judged:
    """What counts for a run: what its producers' clients say of themselves, and for those that say nothing
    (not `all_told`) what the arm says. The weakest counts, since a run is not promised what one of its
    producers does not ask for."""
    several = [Judged(one.acks, one.idempotent, one.max_in_flight) for one in told]
    if not several or not all_told:
        several.append(of_arm)
    flights = [one.max_in_flight for one in several]
    return Judged(
        acks=weakest(one.acks for one in several),
        idempotent=all(one.idempotent for one in several),
        max_in_flight=None if None in flights else max(one for one in flights if one is not None),
    )


def weakest(acks: Iterable[Acks]) -> Acks:
    """The one of these that asks for least."""
    return min(acks, key=_WEAKEST_FIRST.index)


def differences(of_arm: Judged, told: Mapping[int, ClientSettings], named: str = "the arm") -> list[str]:
    """A sentence for each producer whose client says something else than the arm, or who is `named`."""
    sentences = []
    for number, one in sorted(told.items()):
        # Requests in flight are not compared: each client counts them in its own way.
        differing = [
            f"{name}={_shown(its)} ({named} says {_shown(arms)})"
            for name, its, arms in (
                ("acks", one.acks, of_arm.acks),
                ("enable.idempotence", one.idempotent, of_arm.idempotent),
            )
            if its != arms
        ]
        if differing:
            sentences.append(
                f"producer {number} ({one.client}) has {' and '.join(differing)}: "
                "it is judged by its own settings"
            )
    return sentences


def corrected(
    of_arm: Judged, told: Mapping[int, ClientSettings], *, producers: int, named: str = "the arm"
) -> dict[str, Any]:
    """The fields of a run's metadata that the clients of its `producers` correct, by what they say of
    themselves; none if none says anything. `named` is who else says it."""
    if not told:
        return {}
    return {
        **asdict(judged_by(of_arm, told.values(), all_told=len(told) == producers)),
        "producer_config": shown(told.values()),
        "remarks": tuple(differences(of_arm, told, named)),
    }


def shown(told: Iterable[ClientSettings]) -> dict[str, str]:
    """The settings as text, by name; values in which producers differ are separated by commas."""
    values: dict[str, dict[str, None]] = {}
    for one in told:
        for name, value in one.fields().items():
            values.setdefault(name, {})[_shown(value)] = None
    return {name: ", ".join(several) for name, several in values.items()}


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
