import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Base64;
import java.util.Locale;
import java.util.zip.CRC32C;

/**
 * Journals what a producer of yours sends and what is reported of it, so that kafka-chaos can account for every
 * record. Copy this file into your program, for Kotlin too, and give it the package of your own. It needs Java 11 and
 * nothing but the standard library.
 *
 * <pre>{@code
 * Journal journal = Journal.begin(new Journal.Settings("kafka-clients 4.1.0", "all", true));
 * Journal.Send send = journal.sent(key, value); // before each send
 * record.headers().add(Journal.IDENTITY_HEADER, send.identity);
 * producer.send(record, (metadata, error) -> {
 *     if (error == null) journal.acked(send.seq, metadata.partition(), metadata.offset());
 *     else journal.failed(send.seq, error);
 * });
 * journal.end(); // once every report is there
 * }</pre>
 *
 * <p>Threads may share a journal. If they share the producer too and the order of its records matters, hold its lock
 * around both: {@code synchronized (journal) { ... sent(...); producer.send(...); }}. A journal that cannot be written
 * throws {@link UncheckedIOException}.
 *
 * <p>docs/how-to/own-producer.md of kafka-chaos describes the events, and {@code kafka-chaos own --check FOLDER} reads
 * them.
 */
public final class Journal implements AutoCloseable {
    /** The name of the header that each record carries. */
    public static final String IDENTITY_HEADER = "kafka-chaos-identity";

    private static final int MAGIC = 0x4b434831;
    private static final int HEAD_BYTES = 24;
    private static final int LONGEST_ERROR = 200;
    private static final long POLL_MS = 50;
    private static final byte[] NOTHING = {};

    /** The number of the producer. */
    public final int producer;
    /** The topic whose records are journaled. */
    public final String topic;

    private final long run;
    private final Path folder;
    private final OutputStream file;
    private long next;
    private boolean ended;

    /** Those that the client has; the run judges by them. */
    public static final class Settings {
        private final String client;
        private final String acks;
        private final boolean idempotent;
        private String more = "";

        /** {@code client} is the library with its version; {@code acks} is "0", "1" or "all". */
        public Settings(String client, String acks, boolean idempotent) {
            if (client == null || client.isBlank()) {
                throw new IllegalArgumentException("client must name the library and its version");
            }
            if (!"0".equals(acks) && !"1".equals(acks) && !"all".equals(acks)) {
                throw new IllegalArgumentException("acks must be \"0\", \"1\" or \"all\", not " + acks);
            }
            this.client = client;
            this.acks = acks;
            this.idempotent = idempotent;
        }

        /** max.in.flight.requests.per.connection. */
        public Settings maxInFlight(int number) {
            return with("max_in_flight", number);
        }

        /** delivery.timeout.ms. */
        public Settings deliveryTimeoutMs(int milliseconds) {
            return with("delivery_timeout_ms", milliseconds);
        }

        /** transaction.timeout.ms. */
        public Settings transactionTimeoutMs(int milliseconds) {
            return with("transaction_timeout_ms", milliseconds);
        }

        private String fields() {
            return String.format(Locale.ROOT, ", \"client\": %s, \"acks\": \"%s\", \"idempotent\": %b%s",
                    quoted(client), acks, idempotent, more);
        }

        private Settings with(String name, int number) {
            more += String.format(Locale.ROOT, ", \"%s\": %d", name, number);
            return this;
        }
    }

    /** The number of a send, and the value of the header {@link #IDENTITY_HEADER} of its record. */
    public static final class Send {
        public final long seq;
        public final byte[] identity;

        private Send(long seq, byte[] identity) {
            this.seq = seq;
            this.identity = identity;
        }
    }

    private Journal(Settings settings) throws IOException {
        folder = Path.of(variable("KAFKA_CHAOS_JOURNAL"));
        topic = variable("KAFKA_CHAOS_TOPIC");
        run = Long.parseLong(variable("KAFKA_CHAOS_RUN"));
        Files.createDirectories(folder);
        int number = 0;
        OutputStream opened = null;
        while (opened == null) {
            // The first number that is free.
            try {
                Path path = folder.resolve(number + ".jsonl");
                opened = Files.newOutputStream(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            } catch (FileAlreadyExistsException taken) {
                number++;
            }
        }
        producer = number;
        file = opened;
        write(String.format(Locale.ROOT, "{\"event\": \"begin\", \"producer\": %d, \"run\": %d, \"topic\": %s%s}",
                producer, run, quoted(topic), settings.fields()));
    }

    /** Opens the journal of a new producer in the folder that the environment names. */
    public static Journal begin(Settings settings) {
        try {
            return new Journal(settings);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** As the other {@code sent}, for a record whose partition and time the client chooses. */
    public Send sent(byte[] key, byte[] value) {
        return sent(key, value, null, null, null, null);
    }

    /**
     * Journals a record before it is handed to the client. Each argument may be null: a record without key or value,
     * whose partition the client chooses, which belongs to no transaction, whose time is that of the send, and which
     * has no id of its own ("order-11"), by which it is judged, too, where the run says that records have one.
     */
    public synchronized Send sent(
            byte[] key, byte[] value, Integer partition, Integer transaction, Long timestampMs, String id) {
        if (ended) {
            throw new IllegalStateException("the journal of this producer is closed");
        }
        byte[] content = value == null ? NOTHING : value;
        StringBuilder line = new StringBuilder(200);
        line.append("{\"event\": \"sent\", \"seq\": ").append(next);
        line.append(", \"time_ms\": ").append(System.currentTimeMillis()).append(", \"size\": ").append(content.length);
        if (key != null) {
            line.append(", \"key_base64\": \"").append(Base64.getEncoder().encodeToString(key)).append('"');
        }
        if (partition != null) {
            line.append(", \"partition\": ").append(partition);
        }
        if (transaction != null) {
            line.append(", \"txn\": ").append(transaction);
        }
        if (timestampMs != null) {
            line.append(", \"timestamp_ms\": ").append(timestampMs);
        }
        if (id != null) {
            line.append(", \"id\": ").append(quoted(id));
        }
        writeOrThrow(line.append('}').toString());
        long seq = next++;
        return new Send(seq, identity(run, producer, seq, content));
    }

    /** Journals a success report. The partition and the offset are -1 if the client does not name them. */
    public void acked(long seq, int partition, long offset) {
        append("{\"event\": \"acked\", \"seq\": %d, \"time_ms\": %d, \"partition\": %d, \"offset\": %d}",
                seq, System.currentTimeMillis(), Math.max(partition, -1), Math.max(offset, -1));
    }

    /** Journals an error report: the record may be in the log or not. */
    public void failed(long seq, Throwable error) {
        append("{\"event\": \"failed\", \"seq\": %d, \"time_ms\": %d, \"error\": %s}",
                seq, System.currentTimeMillis(), quoted(nameOf(error)));
    }

    /** Journals that the client refused the record before it queued it, so that it was certainly not written. */
    public void refused(long seq, Throwable error) {
        append("{\"event\": \"refused\", \"seq\": %d, \"time_ms\": %d, \"error\": %s}",
                seq, System.currentTimeMillis(), quoted(nameOf(error)));
    }

    /** Journals that a broker confirmed the commit of a transaction. */
    public void committed(int transaction) {
        ended("committed", transaction);
    }

    /** Journals that a broker confirmed the abort of a transaction. */
    public void aborted(int transaction) {
        ended("aborted", transaction);
    }

    /** Journals that a commit was asked for and nobody said how the transaction ended. */
    public void indeterminate(int transaction) {
        ended("indeterminate", transaction);
    }

    private void ended(String event, int transaction) {
        append("{\"event\": \"%s\", \"txn\": %d, \"time_ms\": %d}", event, transaction, System.currentTimeMillis());
    }

    /** Waits until the first write step of the run has begun, at most {@code timeout}; returns whether it has. */
    public boolean waitBegun(Duration timeout) throws InterruptedException {
        long since = System.nanoTime();
        while (!Files.exists(folder.resolve("begun"))) {
            if (System.nanoTime() - since >= timeout.toNanos()) {
                return false;
            }
            Thread.sleep(POLL_MS);
        }
        return true;
    }

    /**
     * Whether the write steps are over: a program that writes without end stops now, and {@code end} follows within
     * {@code close_seconds} of the run.
     */
    public boolean over() {
        return Files.exists(folder.resolve("over"));
    }

    /**
     * Closes the journal, once every report is there. Sends without a report may be in the log or not. Safe to call
     * again.
     */
    public synchronized void end() {
        if (ended) {
            return;
        }
        writeOrThrow("{\"event\": \"end\"}");
        ended = true;
        try {
            file.close();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @Override
    public void close() {
        end();
    }

    /** A report that comes after the end is passed over. */
    private synchronized void append(String format, Object... values) {
        if (!ended) {
            writeOrThrow(String.format(Locale.ROOT, format, values));
        }
    }

    private void writeOrThrow(String line) {
        try {
            write(line);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Hands a line to the operating system at once, so that a program that is killed leaves what it has journaled. */
    private void write(String line) throws IOException {
        file.write((line + '\n').getBytes(StandardCharsets.UTF_8));
    }

    /**
     * The value of the header of a record: magic, run, producer and seq, big endian, and the CRC-32C of these and of
     * the record's value.
     */
    public static byte[] identity(long run, int producer, long seq, byte[] value) {
        ByteBuffer identity = ByteBuffer.allocate(HEAD_BYTES + Integer.BYTES);
        identity.putInt(MAGIC).putLong(run).putInt(producer).putLong(seq);
        CRC32C checksum = new CRC32C();
        checksum.update(identity.array(), 0, HEAD_BYTES);
        checksum.update(value == null ? NOTHING : value);
        return identity.putInt((int) checksum.getValue()).array();
    }

    private static String nameOf(Throwable error) {
        return error == null ? "unknown" : word(error.getClass().getSimpleName());
    }

    /** One word, as the journal asks for it: printable ASCII without spaces. */
    private static String word(String text) {
        String word = text.replaceAll("[^\\x21-\\x7e]", "_");
        return word.isEmpty() ? "unknown" : word.substring(0, Math.min(word.length(), LONGEST_ERROR));
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char letter : text.toCharArray()) {
            if (letter == '"' || letter == '\\') {
                quoted.append('\\').append(letter);
            } else if (letter < ' ') {
                quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) letter));
            } else {
                quoted.append(letter);
            }
        }
        return quoted.append('"').toString();
    }

    private static String variable(String name) {
        String value = System.getenv(name);
        if (value == null || value.isEmpty()) {
            throw new IllegalStateException("the environment variable " + name + " is not set");
        }
        return value;
    }
}
