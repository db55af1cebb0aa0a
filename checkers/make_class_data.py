"""Makes an archive of Spark's loaded classes, which halves the time that its JVM takes to start and answer.

    python -m checkers.make_class_data

takes half a minute or more and 190 MB. The archive is never needed, and the JVM itself ignores one that does
not fit its class path. Application class-data sharing: JEP 350 and the `java` command's options
-XX:ArchiveClassesAtExit and -XX:SharedArchiveFile.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from checkers.engine.choice import EngineChoice
from checkers.engine.connect import open_session
from checkers.engine.server import start_server
from checkers.engine.spark_server import Java, archive_of, java_of_spark
from checkers.warm_up import warm
from harness.model.errors import CheckError, KafkaChaosError

_DUMP_SECONDS = 300.0
"""Writing the archive took 18 to 24 s on two cores that had nothing else to do."""


def make(java: Java) -> Path:
    """Make the archive of a Java: start a server on a small check, and have its JVM write what it has
    loaded. An archive that is there is kept.

    Raises:
        CheckError: Spark did not start, or the JVM wrote no archive.
    """
    target = archive_of(java)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=target.parent) as scratch:
        made = Path(scratch) / target.name
        server = start_server(EngineChoice("spark", driver_memory="1g"), archive=made)
        try:
            warm(open_session(server.url, name="Apache Spark"))
        finally:
            server.stop(seconds=_DUMP_SECONDS)
        if not made.exists():
            raise CheckError(
                "the JVM wrote no archive of classes; Spark works without it",
                where=str(target.parent),
                next_step="check the free disk space; 200 MB are needed",
            )
        # In one step, so that a JVM that starts meanwhile never reads half of it.
        made.replace(target)
    return target


if __name__ == "__main__":
    try:
        print(make(java_of_spark(os.environ)))
    except KafkaChaosError as error:
        print(f"kafka-chaos: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
