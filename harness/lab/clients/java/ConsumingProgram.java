import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Handles the records of a topic with the Java client, and journals each one once it is handled. */
public final class ConsumingProgram implements ConsumerRebalanceListener {
    private final RecordHandler handler;
    private volatile boolean terminated;
    private volatile boolean ended;

    private ConsumingProgram(RecordHandler handler) {
        this.handler = handler;
    }

    public static void main(String[] arguments) throws Exception {
        String instance = variable("INSTANCE");
        var program = new ConsumingProgram(new RecordHandler(instance, "kafka-clients " + arguments[0]));
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> program.terminate(main)));
        Thread.sleep(Long.parseLong(instance) * Long.parseLong(variable("JOIN_MS")));
        program.run();
    }

    private void run() throws Exception {
        if (handler.ends.equals("error-raised")) {
            consume(new KafkaConsumer<>(config())); // nobody closes it
        } else {
            try (Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(config())) {
                consume(consumer);
            }
        }
        handler.tell("end");
        ended = true;
    }

    private void consume(Consumer<byte[], byte[]> consumer) throws Exception {
        consumer.subscribe(List.of(variable("TOPIC")), this);
        while (!terminated && !handler.stops()) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                try {
                    handler.handle(record);
                } catch (RecordHandler.HandlerFailed error) {
                    if (!handler.ends.equals("error-caught")) {
                        throw error;
                    }
                    System.err.println("offset " + record.offset() + " could not be handled");
                }
                if (terminated || handler.stops()) {
                    break;
                }
            }
        }
    }

    private static Map<String, Object> config() {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", variable("BOOTSTRAP"));
        config.put("group.id", variable("GROUP"));
        config.put("key.deserializer", ByteArrayDeserializer.class);
        config.put("value.deserializer", ByteArrayDeserializer.class);
        if (variable("MODE").equals("consumer-protocol")) {
            config.put("group.protocol", "consumer");
        }
        if (!variable("ISOLATION").isEmpty()) {
            config.put("isolation.level", variable("ISOLATION"));
        }
        return config;
    }

    /** On SIGTERM, waits for the loop: without it the JVM exits at once, and always with 143. */
    private void terminate(Thread main) {
        if (main.isAlive()) { // else the process ends by itself
            terminated = true;
            try {
                main.join();
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
            Runtime.getRuntime().halt(ended ? 0 : 1);
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        handler.tell("assigned", numbers(partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        handler.tell("revoked", numbers(partitions));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        handler.tell("lost", numbers(partitions));
    }

    private static String numbers(Collection<TopicPartition> partitions) {
        return partitions.stream()
                .map(one -> Integer.toString(one.partition()))
                .collect(Collectors.joining(",", "\"partitions\":[", "]"));
    }

    private static String variable(String name) {
        return RecordHandler.variable(name);
    }
}
