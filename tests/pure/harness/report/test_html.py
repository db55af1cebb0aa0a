"""The report over hand-built run folders: what it says, and that nothing in a journal can break it."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.model.errors import KafkaChaosError
from harness.model.journal import FINDINGS_DIR, SAMPLES, SAMPLES_DIR, SENDS, SENDS_DIR
from harness.model.result import (
    ExperimentResult,
    Judgement,
    VerdictWord,
)
from harness.report.arms_table import COLUMNS
from harness.report.page.html import render
from harness.report.run_page import headline, page_name, pages_of, run_page, write_report
from harness.report.timeline import MOST_BUCKETS, LeaderStretch, read_timeline
from harness.report.timeline_chart import lay_out
from harness.report.timeline_rows import MOST_MARKS
from tests.support.builders.results import SECOND, START, arm, meta, result
from tests.support.builders.run_folders import findings, run_folder, sample, save, send
from tests.support.page_tags import Page

pytestmark = pytest.mark.pure

HOSTILE = "<script>alert('x')</script> \x1b[31m & \ud800"


def page(result: ExperimentResult, folder: Path) -> Page:
    return Page(write_report(result, folder).read_text(encoding="utf-8"))


def thousand_arms(folder: Path, run: Path) -> ExperimentResult:
    """Arms with the journals of one run; the last ten did not do as promised."""
    arms = [arm(f"acks=1-{number:04d}", promised=number < 990) for number in range(1000)]
    for one in arms:
        (folder / one.folder).symlink_to(run, target_is_directory=True)
    return result(*arms)


class TestReport:
    def test_says_the_outcome_the_table_and_the_evidence(self, tmp_path: Path) -> None:
        run_folder(tmp_path / "acks=1")
        text = page(result(arm()), tmp_path).text
        assert text.index("The only arm did as promised") < text.index("unavailable s")
        for expected in (
            *COLUMNS,
            "a reason",
            "process gone",
            "2,400",  # both producers' cells added up
            "4711",
            "another record stands there now",
            "broker 1 to broker 2",
            "sha256:12ab",
            "1033 MiB",
            "broker.session.timeout.ms",
            "kafka-chaos run kill-leader",
            "--seed 42",
        ):
            assert expected in text

    def test_is_one_file_without_scripts_or_requests(self, tmp_path: Path) -> None:
        run_folder(tmp_path / "acks=1")
        tags = page(result(arm()), tmp_path).tags
        assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in tags}
        assert not [attributes for _, attributes in tags if {"src", "href"} & attributes.keys()]
        assert "url(" not in (tmp_path / "report.html").read_text()

    def test_what_came_from_logs_is_escaped(self, tmp_path: Path) -> None:
        one = arm(error=HOSTILE)
        hostile = one.model_copy(
            update={
                "judgement": Judgement(
                    verdict=VerdictWord.UNKNOWN,
                    reasons=(HOSTILE,),
                    as_promised=None,
                    promise_reasons=(HOSTILE,),
                ),
                "meta": one.meta.model_copy(
                    update={
                        "windows": (one.meta.windows[0].model_copy(update={"evidence": HOSTILE}),),
                        "producer_config": {HOSTILE: HOSTILE},
                        "promise": {"lost": HOSTILE},
                    }
                ),
            }
        )
        run_folder(tmp_path / "acks=1")
        shown = page(result(hostile).model_copy(update={"title": HOSTILE, "command": HOSTILE}), tmp_path)
        assert "script" not in {tag for tag, _ in shown.tags}
        assert "<script>alert('x')</script>" in shown.text
        assert "\x1b" not in shown.text

    def test_can_be_read_without_eyes(self, tmp_path: Path) -> None:
        run_folder(tmp_path / "acks=1")
        shown = page(result(arm()), tmp_path)
        assert all("scope" in attributes for tag, attributes in shown.tags if tag == "th")
        drawing = next(attributes for tag, attributes in shown.tags if tag == "svg")
        ids = {attributes.get("id") for _, attributes in shown.tags}
        assert drawing["role"] == "img"
        assert set((drawing["aria-labelledby"] or "").split()) <= ids
        assert "The fault kill-1 on broker 1 was open from 2.00 s to 5.00 s" in shown.text
        assert "Partition 0 was led by broker 1, then broker 2" in shown.text

    def test_text_between_backticks_is_code(self, tmp_path: Path) -> None:
        told = arm().model_copy(
            update={
                "judgement": Judgement(verdict=VerdictWord.UNKNOWN, reasons=("see `a<b`",), as_promised=None)
            }
        )
        shown = page(result(told), tmp_path)
        assert "see a<b" in shown.text
        assert "`" not in shown.text
        assert "<code>a&lt;b</code>" in (tmp_path / "report.html").read_text()

    def test_on_a_telephone_every_cell_of_the_table_names_its_column(self, tmp_path: Path) -> None:
        page(result(arm()), tmp_path)
        text = (tmp_path / "report.html").read_text()
        table = text[text.index('<table class="arms cards">') : text.index("</table>")]
        assert re.findall(r'<td[^>]* data-label="([^"]*)"', table) == list(COLUMNS[1:])
        assert re.search(r"@media \(max-width: 600px\) \{.*\.cards tr \{", text, re.DOTALL)

    def test_every_number_of_the_table_opens_its_evidence(self, tmp_path: Path) -> None:
        shown = page(result(arm()), tmp_path)
        opened = [attributes["popovertarget"] for tag, attributes in shown.tags if tag == "button"]
        assert len(opened) == len(set(opened)) == len(COLUMNS) - 3
        evidence = [attributes["id"] for _, attributes in shown.tags if "popover" in attributes]
        assert evidence == opened
        text = (tmp_path / "report.html").read_text()
        (lost,) = re.findall(r'aria-label="Evidence of acks=1: lost">(.*?)</div>', text, re.DOTALL)
        for expected in (
            "<td>2,400</td>",
            "kill-1",
            "another record stands there now",
            "<code>acks=1/findings/</code>",
        ):
            assert expected in lost
        (duplicates,) = re.findall(
            r'aria-label="Evidence of acks=1: duplicates">(.*?)</div>', text, re.DOTALL
        )
        assert "There is no such finding." in duplicates

    def test_without_journals_the_timeline_is_left_out(self, tmp_path: Path) -> None:
        shown = page(result(arm()), tmp_path)
        assert "svg" not in {tag for tag, _ in shown.tags}
        assert "The timeline is left out" in shown.text
        assert "There is no sends journal" in shown.text

    def test_an_arm_that_was_not_checked_is_still_shown(self, tmp_path: Path) -> None:
        unchecked = arm(promised=None).model_copy(
            update={"summary": None, "meta": meta().model_copy(update={"final_read": None, "steps": ()})}
        )
        assert "The journals were not checked" in page(result(unchecked), tmp_path).text

    def test_of_many_arms_the_broken_one_has_a_section(self, tmp_path: Path) -> None:
        arms = [arm(f"acks=1-{number:03d}", promised=number != 90) for number in range(100)]
        shown = page(result(*arms), tmp_path)
        sections = [attributes for tag, attributes in shown.tags if tag == "section"]
        assert len(sections) < 50
        assert "60 more arms have no section" in shown.text
        assert "Timeline" not in shown.text
        headings = re.findall(r'<h2 id="arm-\d+">(.*?)</h2>', (tmp_path / "report.html").read_text())
        assert "acks=1-090" in headings

    def test_of_a_thousand_arms_the_broken_ones_are_drawn_on_the_first_page(self, tmp_path: Path) -> None:
        made = thousand_arms(tmp_path, run_folder(tmp_path / "run"))
        pages = pages_of(made)
        assert [len(one) for one in pages] == [40] * 25
        assert sorted(one.folder for page in pages for one in page) == [one.folder for one in made.arms]
        for number in (1, 25):
            text = render(run_page(made, tmp_path, number))
            assert len(text.encode()) < 5_000_000
            assert text.count("<svg") == 40
            shown = Page(text)
            assert "10 of 1000 arms did not do as promised" in shown.text
            assert "960 more arms have no section on this page" in shown.text
            assert f">{pages[number - 1][0].folder}</h2>" in text
            links = {attributes["href"] for tag, attributes in shown.tags if tag == "a"}
            assert links == {page_name(one) for one in range(1, 26)}
            bad = [f"acks=1-{one:04d}: not as promised" in shown.text for one in range(990, 1000)]
            assert bad == [number == 1] * 10

    def test_pages_of_an_earlier_report_are_removed(self, tmp_path: Path) -> None:
        run_folder(tmp_path / "acks=1")
        for number in (2, 3, 5):
            (tmp_path / page_name(number)).write_text("an earlier one")
        write_report(result(arm()), tmp_path)
        # Page 5 without page 4 is not one of ours.
        assert sorted(path.name for path in tmp_path.glob("*.html")) == ["report-5.html", "report.html"]

    def test_a_page_of_an_earlier_report_that_stays_is_one_message(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: Path) -> None:
            raise PermissionError(1, "Operation not permitted", str(path))

        run_folder(tmp_path / "acks=1")
        (tmp_path / page_name(2)).write_text("an earlier one")
        monkeypatch.setattr(Path, "unlink", refuse)
        with pytest.raises(KafkaChaosError, match="a page of an earlier report cannot be removed") as refused:
            write_report(result(arm()), tmp_path)
        assert refused.value.where == str(tmp_path / "report-2.html")
        assert refused.value.found == "Operation not permitted"
        assert (tmp_path / "report.html").is_file()

    def test_a_folder_with_the_name_of_a_page_stays(self, tmp_path: Path) -> None:
        run_folder(tmp_path / "acks=1")
        (tmp_path / page_name(2)).mkdir()
        write_report(result(arm()), tmp_path)
        assert (tmp_path / page_name(2)).is_dir()

    @pytest.mark.soak
    def test_a_thousand_arms_are_written_on_pages_of_bounded_size(self, tmp_path: Path) -> None:
        write_report(thousand_arms(tmp_path, run_folder(tmp_path / "run")), tmp_path)
        assert sorted(tmp_path.glob("report*.html")) == sorted(tmp_path / page_name(n) for n in range(1, 26))
        assert max(one.stat().st_size for one in tmp_path.glob("report*.html")) < 5_000_000

    def test_a_page_of_eventful_runs_is_under_5_megabytes(self, tmp_path: Path) -> None:
        run = run_folder(tmp_path / "run")
        findings(run, *[("lost", float(second), None) for second in range(300)])
        save(
            run / SAMPLES_DIR, 1, [sample(n / 2, 1, n % 3 + 1, n, [1, 2, 3]) for n in range(20, 600)], SAMPLES
        )
        save(run / SENDS_DIR, 2, [send(n / 8, n / 8 + n % 7) for n in range(2000)], SENDS)
        made = thousand_arms(tmp_path, run)
        text = render(run_page(made, tmp_path))
        assert 1_000_000 < len(text.encode()) < 5_000_000

    def test_a_folder_that_cannot_be_written_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(KafkaChaosError, match="report cannot be written"):
            write_report(result(arm()), tmp_path / "absent")

    @pytest.mark.parametrize(
        ("answers", "expected"),
        [
            ((), "No arm was run"),
            ((True, True), "All 2 arms did as promised"),
            ((True, False), "1 of 2 arms did not do as promised: a1"),
            ((None,), "1 of 1 arms are undecided: a0"),
        ],
    )
    def test_headline(self, answers: tuple[bool | None, ...], expected: str) -> None:
        arms = [arm(f"a{number}", promised) for number, promised in enumerate(answers)]
        assert headline(result(*arms)) == expected


class TestTimeline:
    def test_counts_go_into_buckets_of_250_ms(self, tmp_path: Path) -> None:
        found = read_timeline(run_folder(tmp_path), meta())
        assert found.problems == ()
        assert found.bucket_ns == 250_000_000
        assert (sum(found.sends), found.sends[0], found.sends[1], found.sends[20]) == (5, 1, 1, 2)
        assert (found.successes[0], found.successes[1], found.successes[20]) == (1, 1, 1)
        assert [index for index, count in enumerate(found.errors) if count] == [16]
        assert found.seconds >= 8

    def test_leaders_become_spans(self, tmp_path: Path) -> None:
        found = read_timeline(run_folder(tmp_path), meta())
        (strip,) = found.strips
        moved = START + 3 * SECOND
        assert strip.spans == (
            LeaderStretch(START, moved, 1, 0, 3),
            LeaderStretch(moved, START + int(4.75 * SECOND), 2, 1, 2),
        )

    def test_a_moment_split_over_two_parts_is_one(self, tmp_path: Path) -> None:
        folder = run_folder(tmp_path)
        # Broker 3 is behind: it still names the old leader, in a part that begins in the middle of a moment.
        save(
            folder / SAMPLES_DIR,
            1,
            [sample(4.75, 3, 1, 0, [1, 2, 3]), sample(5.0, 3, 1, 0, [1, 2, 3]), sample(5.0, 2, 2, 1, [2, 3])],
            SAMPLES,
        )
        (strip,) = read_timeline(folder, meta()).strips
        assert [(span.leader, span.isr) for span in strip.spans] == [(1, 3), (2, 2)]

    def test_silence_is_a_gap(self, tmp_path: Path) -> None:
        save(tmp_path / SENDS_DIR, 0, [send(0.1, 0.2)], SENDS)
        rows = [sample(at, 1, 1, 0, [1]) for at in (0.0, 0.25, 4.0, 4.25)]
        save(tmp_path / SAMPLES_DIR, 0, rows, SAMPLES)
        (strip,) = read_timeline(tmp_path, meta()).strips
        assert [(span.from_ns - START, span.to_ns - START) for span in strip.spans] == [
            (0, SECOND // 4),
            (4 * SECOND, 17 * SECOND // 4),
        ]

    def test_a_broken_part_is_left_out_and_named(self, tmp_path: Path) -> None:
        folder = run_folder(tmp_path)
        part = folder / SENDS_DIR / "part-00001.parquet"
        part.write_bytes(part.read_bytes()[:40])
        found = read_timeline(folder, meta())
        assert sum(found.sends) == 3
        assert any("sends/part-00001.parquet cannot be read" in problem for problem in found.problems)

    def test_a_part_with_other_columns_is_left_out_and_named(self, tmp_path: Path) -> None:
        folder = run_folder(tmp_path)
        pq.write_table(pa.table({"sent_ns": ["soon"]}), folder / SENDS_DIR / "part-00002.parquet")
        found = read_timeline(folder, meta())
        assert sum(found.sends) == 5
        assert any("sends/part-00002.parquet" in problem for problem in found.problems)

    def test_impossible_times_do_not_fill_the_memory(self, tmp_path: Path) -> None:
        save(
            tmp_path / SENDS_DIR, 0, [send(0.1, 0.2), send(-1.0, 0.3), send(0.2, 5e9)], SENDS
        )  # 158 years later
        found = read_timeline(tmp_path, meta())
        assert len(found.sends) < 100
        assert any("2 times" in problem for problem in found.problems)

    def test_a_long_run_gets_wider_buckets(self, tmp_path: Path) -> None:
        save(tmp_path / SENDS_DIR, 0, [send(0.1, 0.2), send(3600.0, 3601.0)], SENDS)
        found = read_timeline(tmp_path, meta())
        assert len(found.sends) <= MOST_BUCKETS
        assert sum(found.sends) == sum(found.successes) == 2
        assert found.seconds >= 3601


class TestFindingsOnTheTimeline:
    def test_they_are_counted_at_their_report_or_their_send(self, tmp_path: Path) -> None:
        folder = run_folder(tmp_path)
        findings(
            folder,
            ("lost", 2.0, 2.3),
            ("lost", 2.1, 2.4),
            ("lost", 4.0, None),
            ("duplicate", 0.5, 5.0),
            ("recovered", 1.0, 1.0),
            ("lost", None, None),
            ("lost", 1.0, 5e9),
        )
        found = read_timeline(folder, meta())
        assert {index: count for index, count in enumerate(found.lost) if count} == {9: 2, 16: 1}
        assert {index: count for index, count in enumerate(found.duplicates) if count} == {20: 1}
        assert len(found.lost) == len(found.duplicates) == len(found.sends)
        assert found.undated == 2

    def test_they_are_drawn_and_listed_at_their_moment(self, tmp_path: Path) -> None:
        folder = run_folder(tmp_path / "acks=1")
        findings(folder, *[("lost", 2.0, 2.3)] * 3, ("duplicate", 0.5, 0.6))
        shown = page(result(arm()), tmp_path)
        assert [attrs["class"] for tag, attrs in shown.tags if tag == "rect" and "-mark" in str(attrs)] == [
            "lost-mark",
            "duplicates-mark",
        ]
        assert "3 lost from 2.25 s to 2.50 s" in shown.text
        assert "3 lost records are marked from 2.25 s to 2.50 s." in shown.text
        text = re.sub(r"<[^>]*>", " ", (tmp_path / "report.html").read_text())
        assert "lost 2.25 s 2.50 s 3 kill-1" in " ".join(text.split())
        assert "duplicates 0.50 s 0.75 s 1 none" in " ".join(text.split())
        chart = lay_out(read_timeline(folder, meta()), meta())
        lost = chart.mark_rows[0].marks[0]
        assert chart.plot_bottom < lost.y < lost.y + lost.height < chart.rows[0].y
        assert chart.bands[0].x < lost.x < chart.bands[0].x + chart.bands[0].width

    def test_a_long_run_with_many_losses_has_a_bounded_number_of_bars(self, tmp_path: Path) -> None:
        folder = run_folder(tmp_path)
        findings(folder, *[("lost", float(second), None) for second in range(5000)])
        chart = lay_out(read_timeline(folder, meta()), meta())
        (row,) = chart.mark_rows
        assert 30 < len(row.marks) <= MOST_MARKS

    def test_a_damaged_part_is_named(self, tmp_path: Path) -> None:
        folder = run_folder(tmp_path)
        findings(folder, ("lost", 1.0, 1.0))
        (folder / FINDINGS_DIR / "part-00001.parquet").write_bytes(b"PAR1")
        found = read_timeline(folder, meta())
        assert sum(found.lost) == 1
        assert any("findings/part-00001.parquet cannot be read" in problem for problem in found.problems)


class TestChart:
    def test_everything_lies_on_the_drawing(self, tmp_path: Path) -> None:
        found = read_timeline(run_folder(tmp_path), meta())
        chart = lay_out(found, meta())
        numbers = [float(n) for n in re.findall(r"[MH](-?[\d.]+)", chart.sends + chart.successes)]
        assert numbers
        assert all(0 <= number <= 960 for number in numbers)
        assert chart.height > chart.rows_bottom > chart.plot_bottom > chart.plot_top

    def test_labels_of_simultaneous_faults_get_lanes_of_their_own(self, tmp_path: Path) -> None:
        one = meta()
        window = one.windows[0]
        twice = one.model_copy(update={"windows": (window, window.model_copy(update={"name": "kill-2"}))})
        chart = lay_out(read_timeline(run_folder(tmp_path), twice), twice)
        assert len({band.y for band in chart.bands}) == 2

    def test_a_fault_never_healed_reaches_the_right_edge(self, tmp_path: Path) -> None:
        one = meta()
        still_open = one.windows[0].model_copy(update={"closed_ns": None})
        endless = one.model_copy(update={"windows": (still_open,)})
        (band,) = lay_out(read_timeline(run_folder(tmp_path), endless), endless).bands
        assert band.x + band.width == pytest.approx(948)
