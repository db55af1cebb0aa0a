"""Checks of what an application under test made of its inputs.

Each takes rows of `checkers.facts.outputs.OUTPUT_FACTS`, an input each, and returns which of them are of its
class. An input that is in a class here may be in one about records in addition.
"""

from __future__ import annotations

import numpy as np

from checkers.checks.base import Rows, check
from checkers.checks.sentences import FindingRows, Text, otherwise, say, when
from checkers.facts.columns import NULL, Flags
from harness.model.result import FindingClass


def _input(rows: FindingRows) -> Text:
    """Where the input stands."""
    known = say("the input at offset ", rows.number("in_offset"), " of ", rows.text("input"))
    return otherwise(known, "an input that is not in the log")


def _output(rows: FindingRows) -> Text:
    return say("offset ", rows.number("out_offset"), " of ", rows.text("output"))


def _checkpoint(rows: FindingRows) -> Text:
    """The last checkpoint before, where the application leaves any."""
    last = say("; its last checkpoint before was at offset ", rows.number("checkpoint"))
    return when(rows["checkpoint"] == NULL, "", last)


def _made_up(rows: FindingRows) -> Text:
    return say("the output at ", _output(rows), " maps to no input of this run: ", rows.text("why"))


@check(FindingClass.INVENTED, _made_up, subject="output")
def invented(rows: Rows) -> Flags:
    """An output that maps to no input of this run: it carries no identity, a damaged one, that of another run
    or one that was never sent, or the function that maps outputs to inputs failed. One finding per output,
    and per input that it names.

    Source: an application derives its output from its input; what it cannot derive is not its output.
    Example: the output at offset 7 carries seq 12, and this run's producer sent seqs 0 to 9.
    """
    return np.asarray(~rows["sent"])


def _too_early(rows: FindingRows) -> Text:
    why = say(rows.text("outcome"), ", not in the log of ", rows.text("sent_to"))
    aborted = say(_input(rows), " belongs to a transaction that was aborted")
    why = when(rows["aborted"], aborted, why)
    return say(why, "; its output is at ", _output(rows))


@check(FindingClass.PREMATURE, _too_early, subject="output")
def premature(rows: Rows) -> Flags:
    """An output of an input that is not, or no longer, in the log, or of an aborted transaction: the
    application read what it should not have been given, or gave its output before the input was safe.
    Retention and compaction do not make an output premature.

    Source: readers get only records below the high watermark, and with read_committed only committed ones
    (KIP-98, KIP-101).
    Example: the application read offset 20 and gave its output; after an unclean election the input's log
    holds another record there.
    """
    gone = ~rows["in_log"] & ~rows["by_policy"]
    return np.asarray(rows["sent"] & (rows["outputs"] > 0) & (gone | rows["aborted"]))


def _left_out(rows: FindingRows) -> Text:
    some = say(_input(rows), " has ", rows.number("outputs"), " of ", rows.number("per_input"), " outputs")
    text = when(rows["outputs"] > 0, some, say(_input(rows), " has no output"))
    return say(text, when(rows["in_log"], "", "; it has been deleted since"), _checkpoint(rows))


@check(FindingClass.UNPROCESSED, _left_out, subject="output")
def unprocessed(rows: Rows) -> Flags:
    """An input that the application had to process, with no output, or fewer than it should have, though the
    application was drained and its output was read to its end. It had to process what the final read of the
    input holds and readers of committed records get, and what was acknowledged and has expired (`place` is
    then "expired": retention overtook the application, or it passed over it). An input that Kafka lost, or
    that compaction removed, is not unprocessed.

    Source: at-least-once and exactly-once processing leave out no input (Kafka documentation, Message
    Delivery Semantics).
    Example: offset 20 of the input has no output; 19 and 21 have one each.
    """
    return np.asarray(rows["complete"] & rows["expected"] & (rows["outputs"] < rows["per_input"]))


def _again(rows: FindingRows) -> Text:
    places = say(", first at ", _output(rows), ", last at offset ", rows.number("again_offset"))
    text = say(_input(rows), " has ", rows.number("outputs"), " outputs", places, " of ", rows.text("again"))
    started = say("; ", rows.text("instance"), " was started again before the last one")
    return say(text, otherwise(started, ""), _checkpoint(rows))


@check(FindingClass.REPROCESSED, _again, subject="output")
def reprocessed(rows: Rows) -> Flags:
    """An input with more outputs than it should have (`copies` is their number). An input that its own log
    holds twice may have twice as many. Under exactly-once, only outputs count that readers of committed
    records get.

    Source: exactly-once and at-most-once processing give no output twice (Kafka documentation, Message
    Delivery Semantics; KIP-98).
    Example: offset 20 of the input has outputs at offsets 20 and 31.
    """
    early = (~rows["in_log"] & ~rows["by_policy"]) | rows["aborted"]
    return np.asarray(rows["sent"] & ~early & (rows["outputs"] > rows["allowed"]))


def _overtaken(rows: FindingRows) -> Text:
    before = say("that of the later input at offset ", rows.number("ahead"), " stands before it")
    return say("the output of ", _input(rows), " is at ", _output(rows), ", ", before)


@check(FindingClass.REORDERED_OUTPUT, _overtaken, subject="output")
def reordered_output(rows: Rows) -> Flags:
    """The application promises an order, and the first output of an input stands after that of a later input
    in the same partition of the output. Later is an input with a higher offset in the same partition of the
    input; with `order: key` it also has the same key. Further outputs of an input are not looked at, since
    what is processed again comes late. Counted in addition to the other classes.

    Source: a consumer gets a partition's records in the order of their offsets (Kafka documentation,
    Consumer), and the application promises to keep it.
    Example: outputs of input offsets 5, 7, 6 stand at offsets 10, 11, 12: that of offset 6 is late.
    """
    return np.asarray(rows["late"])
