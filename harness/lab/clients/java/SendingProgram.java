import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends with the Java client, and journals what is reported. */
public final class SendingProgram {
    private static final long BLOCKED_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private final KafkaProducer<byte[], byte[]> producer;
    private final Journal journal;

    private SendingProgram(String version, Map<String, Object> config) {
        producer = new KafkaProducer<>(config);
        journal = Journal.begin(settings(version, new ProducerConfig(config)));
    }

    public static void main(String[] arguments) throws InterruptedException {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", System.getenv("KAFKA_CHAOS_BOOTSTRAP"));
        config.put("client.id", System.getenv("KAFKA_CHAOS_CLIENT"));
        config.put("key.serializer", ByteArraySerializer.class);
        config.put("value.serializer", ByteArraySerializer.class);
        if (System.getenv("KAFKA_CHAOS_MODE").equals("acks=1")) {
            config.put("acks", "1");
        }
        new SendingProgram(arguments[0], config).run();
    }

    private static Journal.Settings settings(String version, ProducerConfig config) {
        String acks = config.getString("acks");
        return new Journal.Settings(
                        "kafka-clients " + version,
                        acks.equals("-1") ? "all" : acks,
                        config.getBoolean("enable.idempotence"))
                .maxInFlight(config.getInt("max.in.flight.requests.per.connection"))
                .deliveryTimeoutMs(config.getInt("delivery.timeout.ms"));
    }

    private void run() throws InterruptedException {
        journal.waitBegun(Duration.ofSeconds(60));
        // A thread, since `send` blocks for up to a minute, and `flush` until every record has its report.
        Thread sender = new Thread(this::sendAndFlush);
        sender.setDaemon(true);
        sender.start();
        while (sender.isAlive() && !journal.over()) {
            Thread.sleep(50);
        }
        double close = Double.parseDouble(System.getenv("KAFKA_CHAOS_CLOSE"));
        sender.join(Math.max(1, Math.round(close * 1000)));
        journal.end();
        producer.close(Duration.ZERO);
    }

    private void sendAndFlush() {
        double interval = 1e9 / Double.parseDouble(System.getenv("KAFKA_CHAOS_RATE"));
        double due = System.nanoTime();
        for (long number = 0; !journal.over(); number++) {
            send(bytes(Long.toString(number % 10)), bytes("{\"order\": " + number + "}"));
            due += interval;
            double late = System.nanoTime() - due;
            if (late > BLOCKED_NS) {
                due += late;
            }
            for (double left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos((long) left + 1);
            }
        }
        producer.flush();
    }

    private void send(byte[] key, byte[] value) {
        Journal.Send sent = journal.sent(key, value);
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(journal.topic, key, value);
        record.headers().add(Journal.IDENTITY_HEADER, sent.identity);
        producer.send(record, (metadata, error) -> {
            if (error == null) {
                journal.acked(sent.seq, metadata.partition(), metadata.offset());
            } else {
                journal.failed(sent.seq, error);
            }
        });
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
