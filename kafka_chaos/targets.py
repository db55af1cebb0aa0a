"""Targets: which nodes a fault hits. The module gives what `faults.targets` holds for users."""

from faults import targets as _targets
from faults.targets import *  # noqa: F403

__all__: list[str] = []
__all__ += _targets.__all__
