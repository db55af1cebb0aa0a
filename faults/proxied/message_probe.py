"""What a link does to messages of Kafka's protocol, measured by ApiVersions requests from one of its ends.

They go over connections of their own, from the network namespace of a node or from this machine, and pass the
proxy of the node that is asked as any client's do.
"""

from __future__ import annotations

import re
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from faults.network.link_probe import Echoes, parse_pings

_CLIENT = "kafka-chaos-probe"
_API_VERSIONS = 18
_ASK = r"""
use strict; use IO::Socket::INET; use Time::HiRes qw(time);
my ($count, $lines, $seconds, $pad, $burst, @to) = @ARGV;
my $text = "CLIENT" . ("x" x $pad);
my (%at, @next, $size);
sub ask {
  my ($f) = @_; my $c = $at{$f};
  return delete $at{$f} if $next[$c->{to}] >= $count;
  ($c->{number}, $c->{left}, $c->{sent}) = ($next[$c->{to}]++, $burst, time);
  my $body = pack("n n N n/a*", API, 0, $c->{number}, $text);
  syswrite($c->{socket}, pack("N/a*", $body) x $burst);
}
for my $i (0 .. $#to) {
  $next[$i] = 0;
  for (1 .. $lines) {
    my $s = IO::Socket::INET->new(PeerAddr => $to[$i], Timeout => 3) or next;
    setsockopt($s, 6, 1, 1);
    $at{fileno $s} = {socket => $s, to => $i, got => ""}; ask(fileno $s);
  }
}
die "no connection to @to\n" unless %at;
my $end = time + $seconds;
while (%at and time < $end) {
  my $bits = ""; vec($bits, $_, 1) = 1 for keys %at;
  next if select($bits, undef, undef, 0.1) <= 0;
  for my $f (keys %at) {
    next unless vec($bits, $f, 1);
    my $c = $at{$f};
    if (!sysread($c->{socket}, $c->{got}, 65536, length $c->{got})) { delete $at{$f}; next }
    while ($c->{left} and length $c->{got} >= 4 and length $c->{got} >= 4 + unpack("N", $c->{got})) {
      $size = 4 + unpack("N", $c->{got}); substr($c->{got}, 0, $size) = "";
      next if --$c->{left};
      printf "echo %d %d %d\n", $c->{to}, $c->{number}, (time - $c->{sent}) * 1e6;
      ask($f); last;
    }
  }
}
printf "size %d\n", $size if $size;
print "sent $count\n";
""".replace("CLIENT", _CLIENT).replace("API", str(_API_VERSIONS))
_SIZE = re.compile(r"^size (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asking:
    """How often is asked: `count` times over this number of `connections`, on each the next time when the
    last is answered, for at most `seconds`. Each time `burst` requests are sent at once, each longer by
    `padding` bytes."""

    count: int
    connections: int
    seconds: float
    padding: int = 0
    burst: int = 1

    @property
    def request_bytes(self) -> int:
        """The size of one request."""
        return 4 + 10 + len(_CLIENT) + self.padding


@dataclass(frozen=True, slots=True)
class ProbeAnswers:
    """What came back from each place that was asked, and the size of a response in bytes (0: none came)."""

    echoes: Mapping[str, Echoes] = field(default_factory=dict)
    response_bytes: int = 0


def ask_script(listeners: Sequence[str], how: Asking) -> str:
    """Asks each listener (`address:port`); prints the round trips as `faults.network.link_probe` does."""
    numbers = f"{how.count} {how.connections} {how.seconds:g} {how.padding} {how.burst}"
    return f"perl -e '{_ASK}' {numbers} {' '.join(listeners)}\n"


def parse_answers(text: str, listeners: Sequence[str]) -> ProbeAnswers | None:
    """What the script printed; None: it did not finish."""
    echoes = parse_pings(text, listeners)
    size = _SIZE.search(text)
    return None if echoes is None else ProbeAnswers(echoes, int(size[1]) if size else 0)


def ask_from_here(connect: Callable[[float], socket.socket], where: str, how: Asking) -> ProbeAnswers:
    """Asks a broker from this machine over connections that `connect` opens within these seconds; no answers
    if it does not answer. `where` is what the answers are named by. A login over TLS waits for processors
    too, so it may take as long as all questions."""
    deadline = time.monotonic() + how.seconds
    trips: list[tuple[int, int]] = []
    sizes: list[int] = []

    def ask(first: int) -> None:
        with suppress(OSError), connect(how.seconds) as line:
            for number in range(first, how.count, how.connections):
                line.settimeout(max(0.01, deadline - time.monotonic()))
                began = time.monotonic()
                line.sendall(_request(number, how.padding) * how.burst)
                for _ in range(how.burst):
                    size = struct.unpack(">i", _exactly(line, 4))[0]
                    _exactly(line, size)
                    sizes.append(4 + size)
                trips.append((number, round((time.monotonic() - began) * 1e6)))

    with ThreadPoolExecutor(max_workers=how.connections) as pool:
        list(pool.map(ask, range(how.connections)))
    return ProbeAnswers({where: Echoes(how.count, tuple(trips))}, sizes[-1] if sizes else 0)


def _request(number: int, padding: int) -> bytes:
    """An ApiVersions request of version 0, which every version of Kafka answers."""
    client = (_CLIENT + "x" * padding).encode()
    body = struct.pack(">hhih", _API_VERSIONS, 0, number, len(client)) + client
    return struct.pack(">i", len(body)) + body


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = line.recv(size - len(data))
        if not more:
            raise ConnectionError("closed")
        data += more
    return data
