"""What brokers are asked to change while they run: settings, quotas of clients, and rules of access."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal, TypeVar

from harness.cluster.node_control import RunningNodes
from harness.cluster.protocol import acl_admin, admin, quota_admin, settings_admin
from harness.cluster.protocol.client_security import PLAIN_TEXT, ClientSecurity
from harness.cluster.protocol.connection import BrokerConnection
from harness.model.broker_views import AccessRule, SettingState
from harness.model.errors import ClusterError
from harness.model.polling import poll_within

_SETTINGS_SECONDS = 10.0

_T = TypeVar("_T")


class AdministeredNodes(RunningNodes):
    """Brokers whose settings, quotas and rules of access can be read and changed."""

    access: ClientSecurity = PLAIN_TEXT
    """The security settings that clients need."""

    @abstractmethod
    def connection(self, number: int, timeout: float) -> BrokerConnection: ...

    @abstractmethod
    def _first(self, what: str, request: Callable[[BrokerConnection], _T]) -> _T: ...

    def dynamic_settings(self, number: int) -> tuple[str, ...]:
        """The settings of a broker that were changed while it ran: "name=value" each.

        Raises:
            ClusterError: it does not answer within `_SETTINGS_SECONDS`, or refuses to tell.
        """
        return self._patiently(number, settings_admin.dynamic_settings)

    def quota_words(self, number: int) -> tuple[str, ...]:
        """Every quota of clients that a broker holds, in words; errors as `dynamic_settings`."""
        quotas = self._patiently(number, quota_admin.client_quotas)
        return tuple(
            f"{name}={value:g} for {entity}"
            for entity, values in sorted(quotas.items())
            for name, value in sorted(values.items())
        )

    def _patiently(self, number: int, question: Callable[[BrokerConnection], _T]) -> _T:
        """A broker's answer, for which it is asked again while it is silent."""
        answers: list[_T] = []

        def missing() -> str | None:
            try:
                with self.connection(number, admin.ANSWER_SECONDS) as connection:
                    answers[:] = [question(connection)]
            except OSError as error:
                return str(error)
            return None

        silent = poll_within(_SETTINGS_SECONDS, missing)
        if silent is not None:
            raise ClusterError("a broker's settings could not be read", found=silent)
        return answers[0]

    def settings(self, number: int, topic: str | None) -> dict[str, SettingState] | None:
        """The settings of a topic as a broker holds them, or the broker's own (None), by name; None if it
        does not answer.

        Raises:
            ClusterError: it refuses to tell.
        """
        with self.connection(number, admin.ANSWER_SECONDS) as connection, suppress(OSError):
            return settings_admin.settings(connection, topic)
        return None

    def change_settings(
        self, number: int | None, topic: str | None, values: Mapping[str, str | None]
    ) -> str | None:
        """Change settings of a topic through any broker, or of the broker `number` (None deletes a setting);
        returns why it was refused, None: it was done.

        Raises:
            ClusterError: no broker answers that could do it.
        """

        def change(one: BrokerConnection) -> str | None:
            return settings_admin.change_settings(one, topic, values)

        if number is None:
            return self._first("change settings of a topic", change)
        return admin.first_answer(
            [self.connection(number, admin.ANSWER_SECONDS)], change, "change settings of a broker"
        )

    def client_quotas(self, number: int) -> dict[str, dict[str, float]] | None:
        """Every quota of clients that a broker holds, by what it is for; None if it does not answer.

        Raises:
            ClusterError: it refuses to tell.
        """
        with self.connection(number, admin.ANSWER_SECONDS) as connection, suppress(OSError):
            return quota_admin.client_quotas(connection)
        return None

    def set_client_quota(self, client: str | None, values: Mapping[str, float | None]) -> str | None:
        """Set quotas of a client.id (None: of each without one; a value of None removes it); returns why it
        was refused, None: it was done."""
        return self._first(
            "set a quota of clients",
            lambda connection: quota_admin.set_client_quota(connection, client, values),
        )

    def throttle_ms(
        self, number: int, client: str, way: Literal["produce", "fetch"], size: int
    ) -> int | None:
        """For how many milliseconds a broker throttles this client.id after one request of about `size`
        bytes, which writes and reads nothing; None if it does not answer."""
        with self.connection(number, admin.ANSWER_SECONDS) as connection, suppress(OSError):
            connection.client_id = client
            return quota_admin.throttle_ms(connection, way, size)
        return None

    @property
    def client_principal(self) -> str | None:
        """The principal of the harness's clients, if they have a password; None: not known."""
        user = self.access.properties.get("sasl.username")
        return None if user is None else f"User:{user}"

    def access_rules(self, number: int) -> tuple[AccessRule, ...] | None:
        """The rules of access that a broker's authorizer has; None if it does not answer.

        Raises:
            ClusterError: it has no authorizer, or refuses to tell.
        """
        with self.connection(number, admin.ANSWER_SECONDS) as connection, suppress(OSError):
            rules = acl_admin.rules(connection)
            if rules is None:
                raise ClusterError(
                    "the cluster has no authorizer, so that no rule denies anything",
                    where=f"broker {number}",
                    found="SECURITY_DISABLED",
                    next_step="set `authorizer.class.name` in the brokers' configuration",
                )
            return rules
        return None

    def change_access_rules(self, rules: tuple[AccessRule, ...], *, add: bool) -> str | None:
        """Add rules of access, or remove them; returns why it was refused, None: it was done."""
        change = acl_admin.add_rules if add else acl_admin.remove_rules
        return self._first("change rules of access", lambda connection: change(connection, rules))

    def refusal(self, number: int, rule: AccessRule) -> str | None:
        """The error with which a broker answers the harness's user who tries what the rule is about; None:
        none, or it does not answer."""
        with self.connection(number, admin.ANSWER_SECONDS) as connection, suppress(OSError):
            return acl_admin.refusal(connection, rule)
        return None

    def rule_words(self, number: int) -> tuple[str, ...]:
        """Every rule of access that a broker has, in words; errors as `dynamic_settings`."""
        rules = self._patiently(number, acl_admin.rules)
        return tuple(sorted(map(str, rules or ())))
