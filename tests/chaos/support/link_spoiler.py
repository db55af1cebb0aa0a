"""A link that is spoilt without netem, for kernels that have none: a process at its far end answers echoes in
place of the kernel, late, out of order or twice. It shows that the proofs of such faults pass where there is
something to prove; it touches nothing but echoes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from harness.cluster.live import LiveCluster
from harness.model.polling import wait_until

_TAG = "kafka-chaos-spoilt-echoes"
_ANSWER = r"""
use strict; use Socket; use Time::HiRes qw(time);
my ($from, $seconds, $delay, $reorder, $copies) = @ARGV;
# 17, 8: AF_PACKET, IPv4 in network order. It sees what the rule below drops.
socket(my $in, 17, SOCK_DGRAM, 8) or die $!;
setsockopt($in, SOL_SOCKET, 33, 1 << 23);
socket(my $out, PF_INET, SOCK_RAW, 1) or die $!;
my ($to, $end, @queue) = (pack_sockaddr_in(0, inet_aton($from)), time + $seconds);
while ((my $now = time) < $end) {
  while (@queue && $queue[0][0] <= $now) { send($out, (shift @queue)->[1], 0, $to) }
  my $left = @queue ? $queue[0][0] - time : 0.01;
  vec(my $ready = "", fileno($in), 1) = 1;
  next unless select($ready, undef, undef, $left < 0 ? 0 : $left > 0.01 ? 0.01 : $left) > 0;
  recv($in, my $packet, 65535, 0);
  my ($source, $body) = (substr($packet, 12, 4), substr($packet, (ord($packet) & 15) * 4));
  next unless substr($packet, 9, 1) eq "\1" && ord($body) == 8;
  last if $source eq inet_aton("127.0.0.1");
  next unless $source eq inet_aton($from);
  my $sum = unpack("x2 n", $body) + 0x0800;
  $body = pack("C C n", 0, 0, ($sum & 0xffff) + ($sum >> 16)) . substr($body, 4);
  my $at = time + (rand(100) < $reorder ? 0 : $delay / 1e3);
  push @queue, [$at, $body] for 1 .. (rand(100) < $copies ? 2 : 1);
  @queue = sort { $a->[0] <=> $b->[0] } @queue if $reorder;
}
"""
_END = """
perl -MSocket -e 'socket(my $s, PF_INET, SOCK_RAW, 1) or die;
  send($s, pack("C C n n n", 8, 0, 0xf7ff, 0, 0), 0, pack_sockaddr_in(0, inet_aton("127.0.0.1")))'
"""
# Not longer than a sidecar may take.
_SECONDS = 50


@contextmanager
def spoilt(
    cluster: LiveCluster,
    here: int,
    there: int,
    *,
    delay_ms: float = 0,
    reorder: float = 0,
    copies: float = 0,
) -> Iterator[None]:
    """For the body's time, 50 s at most, echoes from `here` to `there` are answered `delay_ms` late, but for
    `reorder` percent of them, and `copies` percent twice. An echo from its own loopback ends it."""
    near = cluster.address(here)
    match = f"INPUT -s {near} -p icmp --icmp-type echo-request -m comment --comment {_TAG} -j DROP"
    script = f"""
trap 'iptables -w -D {match}' EXIT
iptables -w -I {match}
perl -e '{_ANSWER}' {near} {_SECONDS} {delay_ms:g} {reorder:g} {copies:g}
"""
    with ThreadPoolExecutor(max_workers=1) as pool:
        running = pool.submit(cluster.in_network, there, script)
        try:
            wait_until(
                lambda: None if _TAG in cluster.in_network(there, "iptables-save").text else "not yet",
                what="echoes are answered by the puppet",
                seconds=20,
            )
            yield
        finally:
            cluster.in_network(there, _END)
            output = running.result()
    assert output.code == 0, output.text
