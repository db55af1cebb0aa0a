"""Functions of the user, named "module:function" in experiments."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from harness.model.errors import BadInput


def import_function(name: str, *, of: str, where: str, takes: str) -> Callable[..., Any]:
    """Import "module:function", also from the working directory.

    Args:
        of: whose function it is, for the message ("the payload").
        where: the key in the experiment.
        takes: what the function takes, for the message.

    Raises:
        BadInput: it cannot be imported, or is no function.
    """
    module, _, attribute = name.partition(":")
    here = os.getcwd()
    added = here not in sys.path
    if added:
        # As `python -m` does: the function often stands beside the experiment.
        sys.path.insert(0, here)
    try:
        function = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # importing runs the user's module
        raise BadInput(
            f"the function of {of} cannot be imported",
            where=f"{where}: {name}",
            expected="a module on Python's path or in the working directory, and a function in it",
            found=f"{type(error).__name__}: {error}",
            next_step="correct the name, or run from the module's directory",
        ) from error
    finally:
        if added:
            sys.path.remove(here)
    if not callable(function):
        raise BadInput(
            f"the function of {of} is none",
            where=f"{where}: {name}",
            expected=f"a function of {takes}",
            found=type(function).__name__,
            next_step="name a function",
        )
    found: Callable[..., Any] = function
    return found
