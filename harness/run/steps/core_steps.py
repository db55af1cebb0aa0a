"""Carries out the steps of every experiment: write, wait, sleep, and those about faults and topics."""

from __future__ import annotations

import time
from typing import Any

from faults.schedules.state import Schedule
from harness.cluster.convergence import await_isr, unsettled_reason
from harness.model.errors import ClusterError
from harness.model.polling import wait_until
from harness.run.arm_run import ArmRun
from harness.run.faults.scheduler import Scheduler
from harness.run.steps.broker_queries import ask as ask_brokers
from harness.run.steps.step_context import POLL_SECONDS, Handler, StepContext
from harness.spec.fault_index import down_before, schedule_seed
from harness.spec.steps import Ask, Heal, Inject, Sleep, Wait, Write
from harness.spec.topic import DeleteRecords, RecreateTopic


def write(run: StepContext, index: int, step: Write) -> None:
    """Let the producers of all arms write, while the faults of the step happen."""
    scheduler = Scheduler(
        Schedule.of(
            () if run.without_faults else step.faults,
            schedule_seed(run.seed, step),
            run.experiment.shape,
            seconds=step.ends,
            at_most_down=step.at_most_down,
            extra=step.until_faults_end or 0.0,
        ),
        run.ledger,
        run.arms[0].topic,
        run.problems,
        view=run.view,
        acked=lambda: _reported(run),
        down_before=down_before(run.experiment, index),
    )
    run.ends = time.monotonic() + step.ends if step.ends is not None else None
    seconds = step.seconds if step.until_faults_end is None else None
    for arm in run.arms:
        arm.producers.start(index, records=step.records, seconds=seconds, rate=step.rate)
    try:
        scheduler.start()
        if step.until_faults_end is not None:
            _go_on(run, scheduler, step)
        run.await_reports(step.seconds or 0.0, step.at_most)
        scheduler.end()
        while not scheduler.wait(POLL_SECONDS):
            run.say_progress()
    except BaseException:
        scheduler.cancel()
        raise


def _reported(run: StepContext) -> int:
    progress = [arm.producers.progress() for arm in run.arms]
    return sum(counts.acked + counts.unconfirmed for counts in progress)


def _go_on(run: StepContext, scheduler: Scheduler, step: Write) -> None:
    """Let the producers write until the step may end, and then end their writing."""
    begun, least = time.monotonic(), step.seconds or 0.0
    most = least + (step.until_faults_end or 0.0)
    while (passed := time.monotonic() - begun) < least or (scheduler.unfinished and passed < most):
        time.sleep(min(POLL_SECONDS, most - passed))
        run.say_progress()
    for arm in run.arms:
        arm.producers.stop()


def wait(run: StepContext, _index: int, step: Wait) -> None:
    """Wait until the topic of every arm has the state."""
    deadline = time.monotonic() + step.within
    for arm in run.arms:
        _wait_for(run, step, arm, max(0.0, deadline - time.monotonic()))


def _wait_for(run: StepContext, step: Wait, arm: ArmRun, seconds: float) -> None:
    topic = run.experiment.topic
    if step.request is not None:
        what = step.requests_in_words
        run.say(f"waiting until {what}, at most {step.within:g} s")
        opened = run.ledger.open_injections()
        wait_until(lambda: run.requests.missing(step, opened), what=what, seconds=seconds)
    elif (condition := step.condition) is not None:
        run.say(f"waiting for {condition}, at most {step.within:g} s")
        observer = run.observer(arm)
        wait_until(lambda: condition.missing(observer), what=str(condition), seconds=seconds)
    elif step.application is not None:
        run.say(f"waiting for the application, at most {step.within:g} s")
        missing = arm.await_state(step.application, step.within)
        if missing is not None:
            expected = f"application: {step.application}"
            raise ClusterError(f"timed out after {step.within:g} s", expected=expected, found=missing)
    elif isinstance(step.isr, int):
        run.say(f"waiting for an ISR of {step.isr}, at most {step.within:g} s")
        await_isr(run.cluster, arm.topic, topic.partitions, step.isr, seconds)
    else:
        run.say(f"waiting until replicated, at most {step.within:g} s")
        wait_until(
            lambda: unsettled_reason(
                run.cluster.view((arm.topic,)), arm.topic, topic.partitions, topic.replication_factor
            ),
            what="every replica's log end offset equals the high watermark",
            seconds=seconds,
        )


def inject(run: StepContext, _index: int, step: Inject) -> None:
    """Inject the fault, and verify it."""
    if run.without_faults:
        return
    run.say("injecting")
    topics = [arm.topic for arm in run.arms if step.fault.of_topic or arm is run.arms[0]]
    faults = run.named.setdefault(step.name or "", [])
    for topic in topics:
        fault = run.ledger.inject(step.fault, topic=topic)
        faults.append(fault)
        run.ledger.verify(fault)


def heal(run: StepContext, _index: int, step: Heal) -> None:
    """Heal the faults that the step names, or all."""
    if run.without_faults:
        return
    if not step.only:
        run.say("healing")
        run.problems += run.ledger.heal_all()
        return
    run.say(f"healing {', '.join(step.only)}")
    heal_one = run.ledger.heal if step.awaited else run.ledger.undo
    for fault in (fault for name in step.only for fault in run.named[name]):
        heal_one(fault)


def ask(run: StepContext, _index: int, step: Ask) -> None:
    """Ask the brokers about the topic of every arm."""
    run.say(f"asking {step.of}")
    for arm in run.arms:
        ask_brokers(run.observer(arm), step, arm.answers)


def delete_records(run: StepContext, _index: int, step: DeleteRecords) -> None:
    """Delete the records of every arm's topic below an offset."""
    run.say(f"deleting the records below offset {step.before}")
    for arm in run.arms:
        arm.delete_records(step.before)


def recreate_topic(run: StepContext, _index: int, _step: RecreateTopic) -> None:
    """Delete every arm's topic and create it again."""
    run.say("deleting the topic and creating it again")
    for arm in run.arms:
        arm.recreate_topic()


def sleep(run: StepContext, _index: int, step: Sleep) -> None:
    """Do nothing for a while."""
    run.say(f"sleeping for {step.seconds:g} s")
    time.sleep(step.seconds)


HANDLERS: dict[type[Any], Handler] = {
    Write: write,
    Wait: wait,
    Inject: inject,
    Heal: heal,
    Ask: ask,
    DeleteRecords: delete_records,
    RecreateTopic: recreate_topic,
    Sleep: sleep,
}
"""What carries out each of these steps."""
