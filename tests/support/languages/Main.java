import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

/** What tests/mock/workloads/own/test_languages.py runs. */
class Main {
    private static Journal journal;

    public static void main(String[] arguments) throws InterruptedException {
        journal = Journal.begin(new Journal.Settings(System.getenv("PROBE_CLIENT"), System.getenv("PROBE_ACKS"), true)
                .maxInFlight(5).deliveryTimeoutMs(30000).transactionTimeoutMs(60000));
        show(Journal.identity(4611686018427387905L, 2147483647, 9007199254740993L, bytes("gr\u00fc\u00dfe")));
        show(Journal.identity(4611686018427387905L, 2147483647, 9007199254740993L, null));
        System.out.println("begun " + journal.waitBegun(Duration.ofMillis(1)) + " over " + journal.over());
        journal.waitBegun(Duration.ofMinutes(1));

        long first = send(journal.sent(bytes("schl\u00fcssel"), bytes("gr\u00fc\u00dfe"), 2, null, 1699999999123L,
                "order \"\u00fc\" 7"));
        journal.acked(first, 2, 41);
        journal.acked(send(journal.sent(null, null)), -1, -1);
        journal.failed(send(journal.sent(new byte[] {0, 0, 0, 0, 0, 0, 0, 7}, null)), new T\u00fcmeout());
        journal.refused(send(journal.sent(null, new byte[] {0, -1})), new IllegalArgumentException("too \"large\""));
        List<IntConsumer> ends = List.of(journal::committed, journal::aborted, journal::indeterminate);
        for (int transaction = 0; transaction < ends.size(); transaction++) {
            send(journal.sent(null, null, null, transaction, null, null));
            ends.get(transaction).accept(transaction);
        }

        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < 4; number++) {
            threads.add(new Thread(Main::sendMany));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("sent");
        while (!journal.over()) {
            Thread.sleep(10);
        }
        journal.end();
        journal.close();
        journal.acked(first, 2, 41);
        try {
            journal.sent(null, null);
        } catch (IllegalStateException closed) {
            return;
        }
        throw new AssertionError("a send after the end was journaled");
    }

    private static final class T\u00fcmeout extends Exception {
        private static final long serialVersionUID = 1;
    }

    private static void sendMany() {
        for (int number = 0; number < 250; number++) {
            Journal.Send send = journal.sent(null, bytes("x"));
            journal.acked(send.seq, 0, send.seq);
        }
    }

    private static long send(Journal.Send send) {
        show(send.identity);
        return send.seq;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void show(byte[] identity) {
        StringBuilder digits = new StringBuilder();
        for (byte each : identity) {
            digits.append(String.format("%02x", each));
        }
        System.out.println(digits);
    }
}
