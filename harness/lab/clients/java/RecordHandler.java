import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HexFormat;

import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Handles records, and journals each one once it is handled. */
final class RecordHandler {
    private static final int IDENTITY_BYTES = 28;

    /** What happens to this process: "", kill, stop, error-raised, error-caught or error-closed. */
    final String ends;
    private final int after;
    private final Path journal;
    private int handled;
    private boolean failed;

    RecordHandler(String instance, String client) throws IOException {
        Path folder = Files.createDirectories(Path.of(variable("DELIVERIES")));
        try (DirectoryStream<Path> earlier = Files.newDirectoryStream(folder, "0-*.jsonl")) {
            ends = instance.equals("0") && !earlier.iterator().hasNext() ? variable("ENDS") : "";
        }
        after = ends.isEmpty() ? 0 : Integer.parseInt(variable("AFTER"));
        journal = Files.createFile(folder.resolve(instance + "-" + System.currentTimeMillis() + ".jsonl"));
        tell("begin", "\"client\":\"" + client + "\"");
    }

    void handle(ConsumerRecord<byte[], byte[]> record) throws InterruptedException, IOException {
        if (ends.equals("kill") && handled == after) { // with this record in hand
            String self = Long.toString(ProcessHandle.current().pid());
            new ProcessBuilder("kill", "-KILL", self).start().waitFor();
        }
        Thread.sleep(Long.parseLong(variable("HANDLE_MS")));
        String at = "\"partition\":" + record.partition() + ",\"offset\":" + record.offset();
        if (ends.startsWith("error") && handled == after && !failed) {
            failed = true;
            tell("failed", at, "\"error\":\"HandlerFailed\"");
            throw new HandlerFailed();
        }
        byte[] value = record.value() == null ? new byte[0] : record.value();
        String identity = hex("value", Arrays.copyOf(value, Math.min(value.length, IDENTITY_BYTES)));
        if (value.length < IDENTITY_BYTES) { // the key may tell what the record is
            tell("handled", at, identity, hex("key", record.key() == null ? new byte[0] : record.key()));
        } else {
            tell("handled", at, identity);
        }
        handled++;
    }

    /** Whether the program shall leave its loop now. */
    boolean stops() {
        return ends.equals("stop") && handled == after;
    }

    /** Writes a line of the journal. */
    void tell(String event, String... fields) {
        String head = "{\"event\":\"" + event + "\",\"time_ms\":" + System.currentTimeMillis();
        String line = fields.length == 0 ? head : head + "," + String.join(",", fields);
        try {
            Files.writeString(journal, line + "}\n", StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    static String variable(String name) {
        return System.getenv("KAFKA_CHAOS_" + name);
    }

    private static String hex(String name, byte[] bytes) {
        return "\"" + name + "\":\"" + HexFormat.of().formatHex(bytes) + "\"";
    }

    static final class HandlerFailed extends RuntimeException {
        HandlerFailed() {
            super(null, null, false, false); // without a stack trace
        }
    }
}
