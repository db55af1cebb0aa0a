"""What an audit says of configurations: every rule with a near miss, names, files, and never a secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from harness.model.config.properties import PropertyLine, parse_properties, read_properties
from harness.model.errors import BadInput
from harness.model.secrets import masked, without_secrets
from harness.spec.experiment_files import EXPERIMENT, load
from harness.tools.audit.audit import RULES, audit
from harness.tools.audit.audit_result import Audit
from harness.tools.audit.audit_text import lines
from harness.tools.audit.effective_settings import EffectiveSettings
from harness.tools.audit.known_settings import (
    ClientLibrary,
    canonical,
    closest_setting,
    guarantees,
    known_settings,
)
from harness.tools.audit.rule import Severity
from harness.tools.audit.setting_values import c_number, expected_values
from tests.support.audit_cases import CASES, GROUP, JAVA, RDK
from tests.support.builders.experiments import install
from tests.support.command_line import call

pytestmark = pytest.mark.pure

SAVED = Path("tests/support/cases")


def of(text: str, client: ClientLibrary | None = None) -> Audit:
    return audit(parse_properties(text.replace("; ", "\n"), "my.properties"), client)


def said(text: str, client: ClientLibrary | None = None) -> set[str]:
    return {one.rule for one in of(text, client).findings}


OF_OLD_VERSIONS = {"minisr-above-copies", "transactions-above-copies"}
"""These rules are not about the newest Kafka: test_kafka_versions.py tests them."""


@pytest.mark.parametrize(("rule", "client", "bad", "near_miss"), CASES)
def test_a_rule_speaks_and_is_silent_beside_it(
    rule: str, client: ClientLibrary, bad: str, near_miss: str
) -> None:
    assert rule in said(bad, client)
    assert rule not in said(near_miss, client)


VALUES: list[tuple[ClientLibrary, str, str, str]] = [
    (
        JAVA,
        "acks=all; compression.type=zip",
        "one of none, gzip, snappy, lz4, zstd (did you mean 'gzip'?)",
        "gzip",
    ),
    (JAVA, "acks=2", "one of all, -1, 0, 1", "-1"),
    (JAVA, "acks=ALL", "upper and lower case are told apart (write 'all')", "all"),
    (JAVA, "acks=all; retries=ten", "a whole number, from 0 to 2147483647", "10"),
    (JAVA, "acks=all; retries=-1", "a whole number, from 0 to 2147483647", "0"),
    (JAVA, "acks=all; retries=2147483648", "a whole number, from 0 to 2147483647", "2147483647"),
    (JAVA, "linger.ms=5ms", "a whole number, at least 0", "5"),
    (JAVA, "enable.idempotence=yes", "true or false", "TRUE"),
    (JAVA, "acks=all; compression.gzip.level=0", "-1 or from 1 to 9", "-1"),
    (JAVA, "group.id=g; isolation.level=READ_COMMITTED", "one of read_committed", "read_committed"),
    (JAVA, "group.id=g; auto.offset.reset=never", "by_duration:PT10M", "by_duration:PT1H"),
    (JAVA, "group.id=g; group.protocol=new", "one of CONSUMER, CLASSIC", "consumer"),
    (JAVA, "min.insync.replicas=0", "from 1 to 2147483647", "1"),
    (JAVA, "cleanup.policy=delete, compacted", "a list of compact, delete", "delete, compact"),
    (JAVA, "min.cleanable.dirty.ratio=1.5", "a number, from 0 to 1", "0.5"),
    (JAVA, "replication.factor=three", "-1 or from 1", "3"),
    (RDK, "message.timeout.ms=1; compression.codec=zip", "'gzip'", "GZIP"),
    (RDK, "message.timeout.ms=1; retries=ten", "from 0 to 2147483647", "10"),
    (RDK, "message.timeout.ms=1; enable.idempotence=yes", "true or false", "T"),
    (RDK, "message.timeout.ms=1; acks=x", "one of all, -1, 0, 1", "ALL"),
    (RDK, "group.id=g; partition.assignment.strategy=sticky", "a list of range, roundrobin", "range"),
    (RDK, "message.timeout.ms=1; partitioner=Murmur2", "(write 'murmur2')", "murmur2"),
    (RDK, "message.timeout.ms=1; socket.timeout.ms=5", "from 10 to 300000", "10"),
]


@pytest.mark.parametrize(("client", "bad", "expected", "good"), VALUES)
def test_a_value_that_kafkas_own_validator_refuses(
    client: ClientLibrary, bad: str, expected: str, good: str
) -> None:
    (found,) = (one for one in of(bad, client).findings if one.rule == "value")
    assert found.severity is Severity.REFUSED
    assert expected in found.says
    assert of(bad, client).exit_code() == 1
    assert "value" not in said(f"{bad.rpartition('=')[0]}={good}", client)


def test_a_value_of_any_kind_that_is_configured_is_good() -> None:
    assert "value" in said("acks=all; compression.type=producer")
    assert "value" not in said("acks=all; cleanup.policy=delete; compression.type=producer")
    assert "value" not in said("acks=all; retries=${env:RETRIES}; linger.ms={{ linger }}")


@pytest.mark.parametrize(
    "text", [text for client, text, *_ in VALUES if client is RDK and not text.startswith("group.id")]
)
def test_librdkafka_refuses_these_values_too(text: str) -> None:
    with pytest.raises(KafkaException):
        Producer({"bootstrap.servers": "127.0.0.1:1", **dict([text.rpartition("; ")[2].split("=")])})


def test_defaults_are_values_that_are_taken() -> None:
    refused = [
        (name, value)
        for name, known in known_settings().items()
        for (client, kind), value in known.defaults.items()
        if value not in ("", "null") and expected_values(name, value, client, {kind}) is not None
    ]
    assert refused == []


CASED_FILES = [
    ("b29-acks-upper.properties", JAVA, 1),
    ("b29-acks-upper.properties", RDK, 0),
    ("b20-mixed-assignors.properties", RDK, 1),
]


@pytest.mark.parametrize(("file", "client", "code"), CASED_FILES)
def test_files_that_one_client_takes_and_the_other_refuses(
    file: str, client: ClientLibrary, code: int
) -> None:
    found = audit(read_properties(SAVED / file), client)
    assert found.exit_code() == code
    assert [one.severity for one in found.findings].count(Severity.REFUSED) == code


def test_a_topic_and_a_broker_are_judged_by_themselves() -> None:
    """Both files were called free of settings that lose records."""
    for file, rule, finding in (
        ("b28-topic-only.properties", "minisr-one", "lost"),
        ("b06b-share-only.properties", "share-state-one-copy", "share_again"),
    ):
        found = audit(read_properties(SAVED / file))
        assert [(one.rule, one.finding) for one in found.findings] == [(rule, finding)]
        assert found.exit_code() == 0
        assert "no setting that is known to lose records" not in "\n".join(lines(found))


def test_a_refused_value_promises_nothing_that_it_would_if_taken_and_no_rule_reads_it() -> None:
    found = of("acks=ALL; enable.idempotence=true", JAVA)
    assert found.settings[0].promise == "which replicas must have a record before it is acknowledged"
    assert [one.rule for one in found.findings] == ["value"]


def test_what_the_same_file_sets_again_has_no_effect() -> None:
    found = of("acks=none; acks=all; retries=3; acks=1")
    assert [one.promise for one in found.settings if one.name == "acks"][:2] == [
        "has no effect: my.properties:4 sets it again"
    ] * 2
    assert {finding.rule for finding in found.findings} & {"value", "acks-1"} == {"acks-1"}


def test_the_case_of_a_name_matters() -> None:
    for client in (JAVA, RDK):
        (unknown,) = of("GROUP.ID=g", client).unknown
        assert unknown.did_you_mean == "group.id"
        assert "upper and lower case are told apart" in unknown.says
    assert of("GROUP.ID=g").exit_code() == 1


def test_a_comment_behind_a_value_is_shown_whole_and_gets_a_line_of_its_own() -> None:
    found = audit(read_properties(SAVED / "b07-comment.properties"))
    told = "\n".join(lines(found))
    assert [one.rule for one in found.findings] == ["value"] * 3
    assert "acks cannot be 'all   # wait for all replicas': it is one of all, -1, 0, 1" in told
    assert "b07-comment.properties, line 2, on a line of its own" in told
    assert "set acks=all" not in told
    assert found.exit_code() == 1


def test_a_comment_in_a_value_that_is_taken_is_a_risk() -> None:
    found = of(f"client.id=orders # ours; {GROUP}; ssl.key.password=a # b")
    assert [one.rule for one in found.findings] == ["comment"]
    assert found.findings[0].says.startswith("the value of client.id is 'orders # ours'")
    assert found.exit_code() == 0
    assert said(f"client.id=orders#1; {GROUP}") == set()


def test_assignors_tell_the_client() -> None:
    assert of("group.id=g; partition.assignment.strategy=range, roundrobin").client is RDK
    for value in ("org.apache.kafka.clients.consumer.RangeAssignor", "${env:ASSIGNOR}", ""):
        assert of(f"group.id=g; partition.assignment.strategy={value}").client is JAVA


def test_every_rule_is_tested_has_a_source_and_names_what_exists() -> None:
    # Rules without words of their own are those of single clients: test_own_clients.py tests them.
    general = [rule for rule in RULES if rule.says]
    assert {rule.id for rule in general} == {case[0] for case in CASES} | OF_OLD_VERSIONS
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in general:
        assert rule.source, rule.id
        assert all(name in known_settings() for name in rule.settings), rule.id
        if rule.proof is not None:
            assert rule.proof.experiment in EXPERIMENT.builtin_names(), rule.id
            arms = {arm.name for arm in load(rule.proof.experiment).arms}
            assert set(rule.proof.arms) <= arms, rule.id
    assert all(name in known_settings() for name in guarantees())


def test_a_good_configuration_is_left_alone() -> None:
    good = (
        "acks=all; enable.idempotence=true; min.insync.replicas=2; replication.factor=3; "
        "unclean.leader.election.enable=false; group.id=g; enable.auto.commit=false; "
        "auto.offset.reset=earliest; isolation.level=read_committed"
    )
    found = of(good)
    assert (found.findings, found.unknown, found.exit_code()) == ((), (), 0)
    assert "no contradictions" in "\n".join(lines(found))


def test_the_worst_comes_first_and_decides_the_exit_code() -> None:
    found = of("acks=all; min.insync.replicas=1; enable.idempotence=true; retries=0; replication.factor=1")
    ranks = [list(Severity).index(one.severity) for one in found.findings]
    assert ranks == sorted(ranks)
    assert found.findings[0].severity is Severity.REFUSED
    assert found.exit_code() == 1
    assert of("acks=1").exit_code() == 0


def test_the_client_is_told_by_the_names() -> None:
    assert of("acks=1; message.timeout.ms=5").client is RDK
    assert of("acks=1; key.serializer=x").client is JAVA
    assert of("acks=1").client is JAVA


def test_unknown_names_get_the_nearest_and_foreign_ones_are_told() -> None:
    found = of("acks=all; retires=5; min.insync.replica=2; my.own=1; buffer.memory=5; message.timeout.ms=9")
    assert {one.name: one.did_you_mean for one in found.unknown} == {
        "retires": "retries",
        "min.insync.replica": "min.insync.replicas",
        "my.own": None,
        "buffer.memory": None,
    }
    assert "only java has it" in next(one.says for one in found.unknown if one.name == "buffer.memory")
    assert found.exit_code() == 1
    assert of("acks=all; my.own=1").exit_code() == 0
    assert closest_setting("request.required.ack") == "request.required.acks"


def test_prefixes_and_other_names_mean_the_same() -> None:
    assert canonical("producer.acks") == "acks"
    assert canonical("message.send.max.retries") == "retries"
    assert "acks-1" in said("producer.acks=1")


def test_a_properties_file_is_read_as_java_reads_it() -> None:
    text = "# no\n! no\n\n a = 1 \nb:2\nc 3\nd=x\\\n   y\ne=\\u0041\\tz\n f\\=g=h\r\nk\nl=a\\\\\nm=#1"
    found = {entry.name: entry.value for entry in parse_properties(text, "f")}
    assert found == {
        "a": "1 ",
        "b": "2",
        "c": "3",
        "d": "xy",
        "e": "A\tz",
        "f=g": "h",
        "k": "",
        "l": "a\\",
        "m": "#1",
    }
    assert [entry.line for entry in parse_properties("a=1\n\nb=\\\n2\nc=3", "f")] == [1, 3, 5]
    with pytest.raises(BadInput, match="no setting name"):
        parse_properties("=1", "f")


def test_a_file_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a=\xff")
    for path in (tmp_path / "none", tmp_path / "x", tmp_path):
        with pytest.raises(BadInput, match="file cannot be read"):
            read_properties(path)
    (tmp_path / "big").write_bytes(b"a" * 20_000_001)
    with pytest.raises(BadInput, match="more than 20 MB"):
        read_properties(tmp_path / "big")


SECRETS = r"""
acks=1
sasl.username=me
sasl.password=S3cret-one
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
    password="S3cret-two";
ssl.keystore.password=S3cret-three
ssl.truststore.password : S3cret-four
ssl.key.password S3cret-five
ssl.keystore.key=-----BEGIN PRIVATE KEY-----S3cret-six
ssl.key.pem=S3cret-seven
sasl.oauthbearer.client.secret=S3cret-eight
sasl.oauthbearer.config=S3cret-nine
listener.name.x.plain.sasl.jaas.config=S3cret-ten
sasl.pasword=S3cret-eleven
my.api.key=S3cret-twelve
client.id=PlainLoginModule required password="S3cret-thirteen"
basic.auth.user.info=me:S3cret-fourteen
sasl.oauthbearer.assertion.private.key.passphrase=S3cret-fifteen
"""


def test_no_output_ever_shows_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my.properties"
    file.write_text(SECRETS)
    for client in ("java", "librdkafka", "auto"):
        assert call(monkeypatch, "audit", str(file), "--client", client) == 1
        assert call(monkeypatch, "audit", str(file), "--client", client, "--json") == 1
    told = capsys.readouterr()
    assert "S3cret" not in told.out + told.err
    assert "sasl.password=***" in told.out
    assert "sasl.username=me" in told.out


def test_masks_leave_alone_what_is_no_secret() -> None:
    for name in (
        "ssl.truststore.location",
        "ssl.key.location",
        "acks",
        "sasl.oauthbearer.token.endpoint.url",
    ):
        assert masked(name, "/x") == "/x", name
    assert without_secrets("Invalid S3cret for x", {"sasl.password": "S3cret"}) == "Invalid *** for x"


def test_json_is_for_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p").write_text("acks=all\n")
    (tmp_path / "t").write_text("min.insync.replicas=1\n")
    assert call(monkeypatch, "audit", str(tmp_path / "p"), str(tmp_path / "t"), "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["rule"] for one in told["findings"]] == ["acks-all-alone"]
    assert told["settings"][1]["where"] == f"{tmp_path / 't'}:1"
    assert call(monkeypatch, "audit", str(tmp_path / "none")) == 2


def test_proving_runs_each_experiment_once_with_all_its_arms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.run import executor

    stand_ins = install(monkeypatch)
    monkeypatch.setattr(
        executor,
        "execute",
        lambda chosen, options: [stand_ins.run_on(None, one, options) for one in chosen],  # type: ignore[arg-type]
    )
    file = tmp_path / "my.properties"
    file.write_text("acks=1\nreplica.lag.time.max.ms=40000\n")
    results = str(tmp_path / "results")
    assert call(monkeypatch, "audit", str(file), "--prove", "--seed", "3", "--results", results) == 0
    ran = {experiment.name: options.arms for experiment, options in stand_ins.runs}
    assert ran == {"cut-then-kill": ("acks=1",), "kill-leader": ("acks=all", "acks=all-idempotent")}
    assert all(options.seed == 3 for _, options in stand_ins.runs)
    assert "report: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "number", "rest"),
    [
        ("60s", 60, "s"),
        ("60_000", 60, "_000"),
        ("1e5", 1, "e5"),
        ("0100", 64, ""),
        ("0x1F", 31, ""),
        ("-1", -1, ""),
        ("09", 0, "9"),
        ("0", 0, ""),
        ("s60", None, "s60"),
    ],
)
def test_numbers_as_c_reads_them(text: str, number: int | None, rest: str) -> None:
    assert c_number(text) == (number, rest)


def test_rules_judge_the_number_that_the_client_takes() -> None:
    entries = [PropertyLine("delivery.timeout.ms", "60s", "f", 1), PropertyLine("acks", "all", "f", 2)]
    assert EffectiveSettings(tuple(entries), RDK).number("delivery.timeout.ms") == 60
    (finding,) = [
        one for one in audit(entries, ClientLibrary.LIBRDKAFKA).findings if one.rule == "number-cut"
    ]
    assert finding.says == "librdkafka takes delivery.timeout.ms=60s for 60: it drops 's'"


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ("delivery.timeout.ms=60s", "delivery.timeout.ms=60000"),
        ("message.timeout.ms=60_000", "message.timeout.ms=0"),
        ("queue.buffering.max.messages=0100", "queue.buffering.max.messages=100"),
        ("retries=1e2", "retries=${RETRIES:-60s}"),
    ],
)
def test_a_number_of_which_librdkafka_reads_a_part_is_told(bad: str, good: str) -> None:
    assert "number-cut" in said(bad, RDK)
    assert "number-cut" not in said(good, RDK)
    assert "number-cut" not in said(bad, JAVA)
