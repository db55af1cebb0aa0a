"""What a proxy is told, and what it answers: one JSON object per line, each with `do`.

- `add`, with `rule`;
- `remove`, with `id` and `drop`: whether what the rule holds is dropped instead of released;
- `status`;
- `wait`, with `id`, `counter`, `at_least` and `seconds`;
- `stop`.

The answer has `error`, an object with the parts of the error, or what was asked for.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from harness.cluster.proxy.rule_book import RuleBook
from harness.model.errors import BadInput
from harness.model.request_rules import RequestRule

_LONGEST_LINE = 1 << 20


class Control:
    """Answers the lines of any number of connections."""

    def __init__(self, book: RuleBook, status: Callable[[], dict[str, Any]]) -> None:
        self._book, self._status = book, status
        self.stopped = asyncio.Event()

    async def listen(self, where: str) -> asyncio.Server:
        """Listen at "host:port", or on a Unix socket if `where` is a path."""
        if where.startswith("/"):
            return await asyncio.start_unix_server(self._serve, where, limit=_LONGEST_LINE)
        host, _, port = where.rpartition(":")
        return await asyncio.start_server(self._serve, host, int(port), limit=_LONGEST_LINE)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                await writer.drain()
        except (
            OSError,
            ValueError,
            asyncio.CancelledError,
        ):  # it has gone, sends no lines, or the proxy ends
            pass
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            return await self._do(json.loads(line))
        except BadInput as error:
            return {"error": {name: getattr(error, name) for name in ("what", "where", "expected", "found")}}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return {"error": {"what": f"the proxy cannot read this: {type(error).__name__}: {error}"}}

    async def _do(self, asked: dict[str, Any]) -> dict[str, Any]:
        match asked["do"]:
            case "add":
                self._book.add(RequestRule.from_json(asked["rule"]))
                return {}
            case "remove":
                return {"counters": asdict(self._book.remove(asked["id"], drop=bool(asked.get("drop"))))}
            case "status":
                return self._status()
            case "wait":
                counter, least = asked["counter"], int(asked["at_least"])
                return {"value": await self._book.wait(asked["id"], counter, least, float(asked["seconds"]))}
            case "stop":
                self.stopped.set()
                return {}
            case other:
                raise ValueError(f"no such command: {other}")
