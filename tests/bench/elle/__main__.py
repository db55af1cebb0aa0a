"""Ask Elle anew: `python -m tests.bench.elle CLASSPATH` writes tests/support/elle_verdicts.tsv.

CLASSPATH has Elle 0.1.5, which is Clojure source, and what it needs: Clojure 1.11, tools.logging, bifurcan
0.1.0, dom-top 1.0.8 with riddley, hiccup 1.0.5, knossos 0.3.8, jepsen.txn, rhizome, slingshot and unilog.
Maven Central has only the first two.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from harness.model.run import RunMeta
from harness.tools.interop.jepsen_export import export_jepsen
from tests.support.history import run_meta, write_run
from tests.support.planted_cycles import STORIES, VERDICTS, Planted, planted
from tests.support.transaction_history import PARTITIONS

_SCRIPT = Path(__file__).with_name("verdicts.clj")
_HEAD = "number\tkind\twr, realtime\tww, wr\tww, wr, rw"


def main() -> None:
    stories = [planted(number) for number in range(STORIES)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for one in stories:
            run = folder / f"run-{one.number}"
            run.mkdir()
            write_run(run, one.story.history(), meta=_meta(one))
            export_jepsen(run, folder / "histories" / f"{one.number:02}.edn")
        command = ["java", "-Djava.awt.headless=true", "-cp", sys.argv[1], "clojure.main"]
        command += [str(_SCRIPT), str(folder / "histories")]
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    lines = []
    for one, line in zip(stories, told, strict=True):
        number, *verdicts = line.split("\t")
        assert int(number) == one.number
        lines.append("\t".join((str(one.number), one.kind, *verdicts)))
    VERDICTS.write_text("\n".join((_HEAD, *lines)) + "\n")


def _meta(one: Planted) -> RunMeta:
    readers = tuple(one.story.readers())
    return run_meta(partitions=PARTITIONS, transactional=True, idempotent=True, readers=readers)


main()
