"""Classes of what an application under test made of its inputs.

Each takes the facts of `checkers.applications.facts.FACTS`, one row per input, and returns, as a column,
which of them are of its class. An input that is in a class here may be in one about records in addition.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column

from checkers.classes.base import Facts, finding_class, rules_in
from checkers.evidence.sentences import if_null, say, when

_output_class = partial(finding_class, subject="output")
_OUTPUT = "offset {out_offset} of {output}"


def _input() -> Column:
    """Where the input is."""
    return if_null("the input at offset {in_offset} of {input}", "an input that is not in the log")


def _checkpoint() -> Column:
    """The last checkpoint before, where the application leaves any."""
    return if_null("; its last checkpoint before was at offset {checkpoint}", "")


def _passed() -> Column:
    """When the application passed over it, where the outputs of other inputs show it."""
    return if_null("; by the outputs around it, it was passed over {passed} of the run", "")


@_output_class(f"the output at {_OUTPUT} maps to no input of this run: {{why}}")
def invented(r: Facts) -> Column:
    """An output that maps to no input of this run: it carries no identity, a damaged one, that of another run
    or one that was never sent, or the function that maps outputs to inputs failed. One finding per output,
    and per input that it names.

    Source: an application derives its output from its input; what it cannot derive is not its output.
    Example: the output at offset 7 carries seq 12, and this run's producer sent seqs 0 to 9.
    """
    return ~r.sent


def _premature_detail(r: Facts) -> Column:
    aborted = say(_input(), " belongs to a transaction that was aborted")
    gone = "{outcome}, not in the log of {sent_to_name}"
    return say(when(r.aborted, aborted, gone), f"; its output is at {_OUTPUT}")


@_output_class(_premature_detail)
def premature(r: Facts) -> Column:
    """An output of an input that is not, or no longer, in the log, or of an aborted transaction: the
    application read what it should not have been given, or gave its output before the input was safe.
    Retention and compaction do not make an output premature.

    Source: readers get only records below the high watermark, and with read_committed only committed ones
    (KIP-98, KIP-101).
    Example: the application read offset 20 and gave its output; after an unclean election the input's log
    holds another record there.
    """
    return r.sent & (r.outputs > 0) & _early(r)


def _early(r: Facts) -> Column:
    """Whether an output of this input can only be one that was given too early."""
    return (~r.in_log & ~r.by_policy) | r.aborted


def _unprocessed_detail(r: Facts) -> Column:
    number = when(r.outputs > 0, " has {outputs} of {per_input} outputs", " has no output")
    deleted = when(r.in_log, "", "; it has been deleted since")
    return say(_input(), number, deleted, _passed(), _checkpoint(), if_null("{because}", ""))


@_output_class(_unprocessed_detail)
def unprocessed(r: Facts) -> Column:
    """An input that the application had to process, with no output, or fewer than it should have, though the
    application was drained and its output was read to its end. It had to process what the final read of the
    input holds and readers of committed records get, and what was acknowledged and has expired (`place` is
    then "expired": retention overtook the application, or it passed over it). An input that Kafka lost, or
    that compaction removed, is not unprocessed.

    Source: at-least-once and exactly-once processing leave out no input (Kafka documentation, Message
    Delivery Semantics).
    Example: offset 20 of the input has no output; 19 and 21 have one each.
    """
    return r.complete & r.expected & (r.outputs < r.per_input)


def _reprocessed_detail(_: Facts) -> Column:
    places = (
        f" has {{outputs}} outputs, first at {_OUTPUT}, last at offset {{last_offset}} of {{last_output}}"
    )
    started = if_null("; {instance} was started again before the last one", "")
    return say(_input(), places, started, _checkpoint())


@_output_class(_reprocessed_detail)
def reprocessed(r: Facts) -> Column:
    """An input with more outputs than it should have (`copies` is their number). An input that its own log
    holds twice may have twice as many. Under exactly-once, only outputs count that readers of committed
    records get.

    Source: exactly-once and at-most-once processing give no output twice (Kafka documentation, Message
    Delivery Semantics; KIP-98).
    Example: offset 20 of the input has outputs at offsets 20 and 31.
    """
    return r.sent & ~_early(r) & (r.outputs > r.allowed)


_REORDERED = f" is at {_OUTPUT}, that of the later input at offset {{overtaken_by}} stands before it"


@_output_class(lambda _: say("the output of ", _input(), _REORDERED))
def reordered_output(r: Facts) -> Column:
    """The application promises an order, and the first output of an input comes after that of a later input
    in the same partition of the output. Later is an input with a higher offset in the same partition of the
    input; with `order: key` it also has the same key. Further outputs of an input do not count, since
    what is processed again comes late. Counted in addition to the other classes.

    Source: a consumer gets a partition's records in the order of their offsets (Kafka documentation,
    Consumer), and the application promises to keep it.
    Example: outputs of input offsets 5, 7, 6 are at offsets 10, 11, 12: that of offset 6 is late.
    """
    return r.overtaken_by.isNotNull()


CLASSES = rules_in(globals())
