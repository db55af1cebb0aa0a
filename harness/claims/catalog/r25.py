"""R25: three errors of a write told apart: which of them may be in the log."""

from __future__ import annotations

from harness.claims.clusters import experiment
from harness.claims.model import Claim, claim_arm, control_arm
from harness.suite.expect_records import errors, errors_among, in_log

_REFUSED = experiment("""
name: r25-refused
title: Too few replicas are in sync
topic: {config: {min.insync.replicas: 3}}
steps:
- write: {name: before, records: 1}
- inject: {kill: {target: {broker: 3}}}
- wait: {isr: {is: {nodes: [1, 2]}}}
- write: {name: failing, records: 20}
- heal:
arms:
- {name: refused, producer: {acks: all, retries: 0}}
""")

_UNANSWERED = experiment("""
name: r25-uncopied
title: All replicas are in sync, and no follower fetches
topic: {config: {min.insync.replicas: 2}}
steps:
- write: {name: before, records: 1}
- wait: {replicated: true}
- inject: {partition: {from: {broker: 1}, to: {nodes: [2, 3]}}}
- write: {name: failing, records: 20}
- wait: {isr: 3, within: 1}
- heal:
arms:
- {name: uncopied, producer: {acks: all, retries: 0, request.timeout.ms: 1000}}
""")

_UNHEARD = experiment("""
name: r25-unheard
title: The leader's answers do not reach the client
steps:
- write: {name: before, records: 1}
- wait: {replicated: true}
- inject: {drop_responses: {target: {broker: 1}}}
- write: {name: failing, records: 20}
- heal:
arms:
- {name: unheard, producer: {acks: all, retries: 0, socket.timeout.ms: 1500, delivery.timeout.ms: 3000}}
""")

_GIVEN_UP = experiment("""
name: r25-given-up
title: Nothing reaches the leader until the client has given up
steps:
- write: {name: before, records: 1}
- wait: {replicated: true}
- inject: {partition: {from: client, to: {broker: 1}}}
- write: {name: failing, records: 20}
- heal:
# The records arrive late, and the final read must not be made before.
- wait: {log_end: {of: {broker: 1}, exactly: 21}, within: 60}
arms:
- {name: given-up, producer: {acks: all, retries: 0, socket.timeout.ms: 1500, delivery.timeout.ms: 3000}}
""")

_UNSENT = experiment("""
name: r25-unsent
title: There is no connection on which anything could be sent
topic: {assignment: [[1]]}
steps:
- write: {name: before, records: 1}
- wait: {replicated: true}
- inject: {kill: {target: {broker: 1}}}
- write: {name: failing, records: 20}
- heal:
arms:
- {name: unsent, producer: {acks: all, retries: 0, socket.timeout.ms: 1500, delivery.timeout.ms: 3000}}
""")

_OWN = frozenset({"_MSG_TIMED_OUT", "_TIMED_OUT", "_TRANSPORT"})

CLAIM = Claim(
    id="R25",
    title="NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT and the client's own time-out are three things",
    words="A record refused with NOT_ENOUGH_REPLICAS is not in the log. One that failed with "
    "REQUEST_TIMED_OUT, or by the client's own time-out, may be in the log.",
    set_up="20 records with acks=all and retries=0: (1) the ISR is below min.insync.replicas; (2) the ISR "
    "is full and no follower fetches; (3) the leader's answers to the client are dropped; (4) client and "
    "leader are cut off from each other until the client has given up. Control: the only leader is dead, so "
    "that there is no connection to send on, and the client's own time-out means that nothing was written.",
    today="In (4) the records arrive after the client has reported to the application that they failed: the "
    "client's kernel keeps sending what was handed to a connection, closed or not, until it is "
    "acknowledged.",
    arms=(
        claim_arm(_REFUSED, in_log("failing", 0), errors("failing", {"NOT_ENOUGH_REPLICAS": 20})),
        claim_arm(_UNANSWERED, in_log("failing", 20), errors("failing", {"REQUEST_TIMED_OUT": 20})),
        claim_arm(_UNHEARD, in_log("failing", 20), errors_among("failing", 20, _OWN)),
        claim_arm(_GIVEN_UP, in_log("failing", 20), errors_among("failing", 20, _OWN)),
        control_arm(_UNSENT, in_log("failing", 0), errors_among("failing", 20, _OWN)),
    ),
)
