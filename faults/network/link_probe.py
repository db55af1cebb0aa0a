"""What a link does to packets, measured by ICMP echoes from the network namespace of one of its ends.

The kernel of the other end answers them, whatever its processes do, so links to the clients, which have no
namespace of ours, can be measured as well. An echo goes over a link and comes back over its reverse.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

_PING = r"""
use strict; use Socket; use Time::HiRes qw(time);
my ($count, $seconds, $size, $wait, @to) = @ARGV;
socket(my $s, PF_INET, SOCK_RAW, 1) or die "no raw socket: $!\n";
# 33: SO_RCVBUFFORCE. Replies must not be lost here while this process waits for its turn.
setsockopt($s, SOL_SOCKET, 33, 1 << 23) or setsockopt($s, SOL_SOCKET, SO_RCVBUF, 1 << 20);
my ($id, $mark) = ($$ & 0xffff, pack("N N", rand(2**32), rand(2**32)));
my (%index, @name, @sent);
for my $i (0 .. $#to) { my $at = inet_aton($to[$i]); $index{$at} = $i; $name[$i] = sockaddr_in(0, $at) }
sub sum { my $x = unpack("%32n*", "$_[0]\0"); $x = ($x >> 16) + ($x & 0xffff) while $x >> 16; ~$x & 0xffff }
my $last = time;
sub take {
  my ($until, $left) = @_;
  do {
    $left = $until - time;
    vec(my $ready = "", fileno($s), 1) = 1;
    return if select($ready, undef, undef, $left > 0 ? $left : 0) <= 0;
    my $from = recv($s, my $packet, 65535, 0); my $now = time;
    my $body = substr($packet, (ord($packet) & 15) * 4);
    my ($type, $their) = unpack("C x3 n", $body);
    if ($type == 0 && $their == $id && substr($body, 8, 8) eq $mark) {
      my ($i, $seq) = ($index{(sockaddr_in($from))[1]}, unpack("N", substr($body, 16, 4)));
      if (defined $i) { printf "echo %d %d %d\n", $i, $seq, ($now - $sent[$i][$seq]) * 1e6; $last = $now }
    }
  } while (1);
}
my $start = time;
for my $seq (0 .. $count - 1) {
  for my $i (0 .. $#to) {
    my $body = $mark . pack("N", $seq) . ("x" x ($size - 20));
    my $sum = sum(pack("C C n n n", 8, 0, 0, $id, $seq & 0xffff) . $body);
    $sent[$i][$seq] = time;
    send($s, pack("C C n n n", 8, 0, $sum, $id, $seq & 0xffff) . $body, 0, $name[$i]);
  }
  take($start + ($seq + 1) * $seconds / $count);
}
$last = time;
take($last + $wait) while time < $last + $wait;
print "sent $count\n";
"""

_FLOOD = r"""
use strict; use Socket; use Time::HiRes qw(time);
my ($warm, $seconds, $size, $window, $enough, $class, @to) = @ARGV;
socket(my $s, PF_INET, SOCK_RAW, 1) or die "no raw socket: $!\n";
# 32, 33: SO_SNDBUFFORCE, SO_RCVBUFFORCE.
for ([32, SO_SNDBUF], [33, SO_RCVBUF]) {
  setsockopt($s, SOL_SOCKET, $_->[0], 1 << 23) or setsockopt($s, SOL_SOCKET, $_->[1], 1 << 20);
}
my ($id, $mark) = ($$ & 0xffff, pack("N N", rand(2**32), rand(2**32)));
sub sum { my $x = unpack("%32n*", "$_[0]\0"); $x = ($x >> 16) + ($x & 0xffff) while $x >> 16; ~$x & 0xffff }
my $body = $mark . ("x" x ($size - 16));
my $packet = pack("C C n n n", 8, 0, sum(pack("C C n n n", 8, 0, 0, $id, 0) . $body), $id, 0) . $body;
my (%index, @name, @got, @asked);
for my $i (0 .. $#to) { my $at = inet_aton($to[$i]); $index{$at} = $i; $name[$i] = sockaddr_in(0, $at) }
sub ask { send($s, $packet, 0, $name[$_[0]]); $asked[$_[0]] = time }
sub passed { return `tc -s class show dev $class` =~ /Sent (\d+) bytes/ ? $1 : -1 }
my ($began, $before, $now) = (0, -1, time);
my $measure = $now + $warm; my $end = $measure + $seconds;
for my $i (0 .. $#to) { ask($i) for 1 .. $window }
while (($now = time) < $end) {
  if (!$began && $now >= $measure) { $before = passed(); $began = time; @got = () }
  vec(my $ready = "", fileno($s), 1) = 1;
  if (select($ready, undef, undef, 0.02) > 0) {
    my $from = recv($s, my $reply, 65535, 0);
    my $at = substr($reply, (ord($reply) & 15) * 4, 16);
    my ($type, $their) = unpack("C x3 n", $at);
    next unless $type == 0 && $their == $id && substr($at, 8, 8) eq $mark;
    my $i = $index{(sockaddr_in($from))[1]}; next unless defined $i;
    $got[$i] += length($reply); ask($i);
    last if $enough && $got[$i] > $enough;
  }
  # Where replies were lost the window has shrunk.
  for my $i (0 .. $#to) { ask($i) if $now > $asked[$i] + 0.2 }
}
my $took = time - ($began || $now);
my $after = $began ? passed() : -1; my $took_class = time - $began;
printf "flood %d %d %.6f\n", $_, $got[$_] // 0, $took for 0 .. $#to;
printf "class %d %.6f\n", $after - $before, $took_class if $before >= 0 && $after >= 0;
"""


_PING_LINE = re.compile(r"^echo (\d+) (\d+) (\d+)$", re.MULTILINE)
_FLOOD_LINE = re.compile(r"^flood (\d+) (\d+) ([\d.]+)$", re.MULTILINE)
_CLASS_LINE = re.compile(r"^class (\d+) ([\d.]+)$", re.MULTILINE)
_SIGMAS = 4.0


def ping_script(addresses: Sequence[str], *, count: int, seconds: float, size: int, wait: float) -> str:
    """Sends `count` echoes to each address, spread over `seconds`, with `size` bytes (at least 20) after the
    ICMP header; then listens until none has arrived for `wait` seconds."""
    return f"perl -e '{_PING}' {count} {seconds:g} {size} {wait:g} {' '.join(addresses)}\n"


def flood_script(
    addresses: Sequence[str], *, mbit: float, seconds: float, device: str, traffic_class: str, enough: int = 0
) -> str:
    """Sends more echoes to these addresses than a link of this rate can carry, for `seconds` after 0.3 s of
    warm-up, or until `enough` bytes (0: no limit) have come back from one of them. Counts the bytes that come
    back, and those that the traffic class sends meanwhile. `device` is expanded by the shell: `$dev`."""
    # A thousand a second: few enough for a busy machine, many enough to measure slow links. No more of them
    # in flight than the link carries in a quarter of a second: Kafka's own packets wait behind them.
    size = min(16000, max(200, round(mbit * 125)))
    quarter = int(mbit * 1e6 / 8 / 4) // size
    window = max(4, min(200, quarter) // len(addresses))
    warm = 0.0 if enough else 0.3
    return (
        f"perl -e '{_FLOOD}' {warm:g} {seconds:g} {size} {window} {enough} "
        f'"{device} classid {traffic_class}" {" ".join(addresses)}\n'
    )


@dataclass(frozen=True, slots=True)
class Echoes:
    """The echoes of one address: the number sent, and the answers, (number, round trip in microseconds), in
    the order of arrival."""

    sent: int
    answers: tuple[tuple[int, int], ...] = ()

    @property
    def _first(self) -> dict[int, int]:
        """The first answer to each: round trip by number, in order of arrival."""
        first: dict[int, int] = {}
        for number, trip in self.answers:
            first.setdefault(number, trip)
        return first

    @property
    def lost(self) -> int:
        """The number of echoes without an answer."""
        return self.sent - len(self._first)

    @property
    def overtaking(self) -> int:
        """The number of echoes whose answer arrived before that of an earlier one."""
        count, lowest = 0, math.inf
        for number in reversed(self._first):
            count += number > lowest
            lowest = min(lowest, number)
        return count

    @property
    def quickest_ms(self) -> float:
        """Shortest round trip in milliseconds; 0 without answers."""
        return min(self._first.values(), default=0) / 1e3

    @property
    def median_ms(self) -> float:
        """Median round trip in milliseconds; 0 without answers."""
        return median(self._first.values()) / 1e3 if self._first else 0.0

    @property
    def width_ms(self) -> float:
        """The width of the middle 80 % of the round trips in milliseconds; 0 with fewer than two answers."""
        if len(self._first) < 2:
            return 0.0
        tenths = quantiles(self._first.values(), n=10)
        return (tenths[-1] - tenths[0]) / 1e3


def parse_pings(text: str, addresses: Sequence[str]) -> dict[str, Echoes] | None:
    """What a ping script printed, by address; None: the script did not finish."""
    sent = re.search(r"^sent (\d+)$", text, re.MULTILINE)
    if sent is None:
        return None
    answers: list[list[tuple[int, int]]] = [[] for _ in addresses]
    for index, number, trip in _PING_LINE.findall(text):
        answers[int(index)].append((int(number), int(trip)))
    return {
        address: Echoes(int(sent[1]), tuple(pairs)) for address, pairs in zip(addresses, answers, strict=True)
    }


@dataclass(frozen=True, slots=True)
class Flow:
    """Megabits per second, as IP packets: what came back of a flood, and what the class sent (None: there is
    no such class)."""

    back: float
    through: float | None = None


def parse_flood(text: str) -> Flow | None:
    """What a flood script printed; None: the script did not finish."""
    parts = _FLOOD_LINE.findall(text)
    if not parts:
        return None
    back = sum(int(size) * 8e-6 / max(float(seconds), 1e-6) for _, size, seconds in parts)
    passed = _CLASS_LINE.search(text)
    return Flow(back, int(passed[1]) * 8e-6 / float(passed[2]) if passed else None)


def bounds(trials: int, share: float) -> tuple[int, int]:
    """The counts between which nearly all such trials end: four standard deviations to each side and, for
    rare events, four more counts. The lower bound is never 0: an effect that was not seen is not proved."""
    reach = _SIGMAS * math.sqrt(trials * share * (1 - share)) + 4
    return max(1, math.ceil(trials * share - reach)), math.floor(trials * share + reach)


def judge_share(count: int, sent: int, asked: float, words: str) -> tuple[bool, str]:
    """Whether `count` of the echoes `sent` is the share that was asked for, and the measured share in words
    (`words` says what was counted)."""
    low, high = bounds(sent, asked)
    return low <= count <= high, f"{100 * count / sent:.1f} % of {sent} {words}, {100 * asked:.3g} % asked"


def enough_for(share: float) -> int:
    """The number of echoes that shows this share: 1,000, or enough that 40 are hit and 40 are not."""
    return max(1000, math.ceil(40 / min(share, 1 - share)))
