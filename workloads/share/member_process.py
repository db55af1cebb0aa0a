"""One client of a share group's member: its process, and the thread that journals what it writes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

from workloads.share.member_journal import MemberJournal
from workloads.share.member_loop import MemberSettings

LIBRDKAFKA_MEMBER = (sys.executable, "-m", "workloads.share.librdkafka_member")


class MemberProcess:
    """A running client. It ends when it is closed or killed, when the client can do nothing any more, and
    when this process ends, because its standard input is closed then.

    `failure` says why it ended by itself (None: it did not).
    """

    def __init__(
        self, settings: MemberSettings, journal: MemberJournal, command: Sequence[str] = LIBRDKAFKA_MEMBER
    ) -> None:
        self.journal = journal
        self.failure: str | None = None
        self._ending = False
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._say(json.dumps(asdict(settings)))
        self._stderr: list[str] = []
        self._errors = threading.Thread(target=self._read_errors, name="share-errors", daemon=True)
        self._errors.start()
        self._thread = threading.Thread(target=self._listen, name="share-member", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """Ask it to end, which it does after its batch; `join` waits for it."""
        self._ending = True
        self._say("stop")

    def kill(self) -> None:
        """End it at once (SIGKILL); what it has written is still journaled."""
        self._ending = True
        self.journal.event("killed")
        self._process.kill()

    def pause(self) -> None:
        """Stop its process (SIGSTOP)."""
        self.journal.event("paused")
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self.journal.event("resumed")

    def join(self, seconds: float) -> bool:
        """Wait until it has ended and all that it wrote is journaled; one that does not end is killed, and
        False returned."""
        self._thread.join(seconds)
        ended = not self._thread.is_alive()
        if not ended:
            self.kill()
            self._thread.join()
        return ended

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # A process that was killed in the middle of a line.
            with suppress(json.JSONDecodeError):
                self.journal.take(json.loads(line))
        code = self._process.wait()
        self._errors.join(1.0)
        if not self._ending:
            last = self._stderr[-1].strip() if self._stderr else None
            self.failure = self.journal.error or last or f"exit code {code}"
            self.journal.event("died", self.failure)
        self.journal.end()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as errors:
            for line in errors:
                self._stderr = [*self._stderr[-20:], line]
