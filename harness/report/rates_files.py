"""The files of `kafka-chaos rates`: its rows as Parquet and as CSV, and its page."""

from __future__ import annotations

from dataclasses import dataclass

from checkers import Rates
from harness.model.errors import BadInput
from harness.model.secrets import redact
from harness.model.storage import StoragePath, storage_path, write_parquet, write_whole
from harness.report.answer_table import csv_text
from harness.report.page import html
from harness.report.rates import rates_page


@dataclass(frozen=True, slots=True)
class RatesFiles:
    """Where the rows and the page of rates go: a local file or a URL each."""

    parquet: StoragePath
    csv: StoragePath
    page: StoragePath

    @classmethod
    def below(cls, place: str, *, parquet: str | None, csv: str | None, page: str | None) -> RatesFiles:
        """Files in the folder or at the URL `place`, but where others are named.

        Raises:
            JournalError: a URL of a scheme that is not known.
        """
        folder = storage_path(place)
        named = {"rates.parquet": parquet, "rates.csv": csv, "rates.html": page}
        files = (folder / name if other is None else storage_path(other) for name, other in named.items())
        return cls(*files)

    @property
    def lines(self) -> tuple[str, ...]:
        """Where they are, for people."""
        return f"rows: {self.parquet}, {self.csv}", f"page: {self.page}"

    def write(self, rates: Rates, runs: str) -> None:
        """Write all of them; `runs` is the folder of the runs.

        Raises:
            BadInput: one cannot be written.
        """
        text = redact(html.render(rates_page(rates, runs)))
        for file in (self.parquet, self.csv, self.page):
            with BadInput.for_os_errors(
                "a file of the rates cannot be written",
                where=file,
                next_step="name a folder with --results, or a file with --parquet, --csv or --html",
            ):
                file.parent.mkdir(parents=True, exist_ok=True)
                if file is self.parquet:
                    write_parquet(rates.table, file)
                else:
                    write_whole(file, csv_text(rates.table) if file is self.csv else text)
