//! Sends with rdkafka, and journals what is reported.
mod journal;

use std::env::{args, var};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::error::KafkaError;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::future_producer::DeliveryFuture;
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::ClientConfig;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout, MissedTickBehavior};

use journal::{Journal, Record, Settings, IDENTITY_HEADER};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mode = var("KAFKA_CHAOS_MODE")?;
    let idempotent = mode == "idempotent";
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", var("KAFKA_CHAOS_BOOTSTRAP")?);
    config.set("client.id", var("KAFKA_CHAOS_CLIENT")?);
    match mode.as_str() {
        "idempotent" => config.set("enable.idempotence", "true"),
        "acks=1" => config.set("acks", "1"),
        _ => &mut config,
    };
    let producer: FutureProducer = config.create()?;
    let library = format!("rdkafka {}", args().nth(1).ok_or("usage: sender VERSION")?);
    // The client cannot be asked: librdkafka's CONFIGURATION.md says these.
    let journal = Arc::new(Journal::begin(&Settings {
        client: &library,
        acks: if mode == "acks=1" { "1" } else { "all" },
        idempotent,
        max_in_flight: Some(if idempotent { 5 } else { 1_000_000 }),
        delivery_timeout_ms: Some(300_000),
        ..Settings::default()
    })?);
    journal.wait_begun(Duration::from_secs(60));

    let mut ticks = interval(Duration::from_secs_f64(1.0 / var("KAFKA_CHAOS_RATE")?.parse::<f64>()?));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut open = JoinSet::new();
    for number in 0.. {
        ticks.tick().await;
        if journal.over() {
            break;
        }
        let (key, value) = ((number % 10).to_string(), format!("{{\"order\": {number}}}"));
        let sent = journal.sent(&Record {
            key: Some(key.as_bytes()),
            value: Some(value.as_bytes()),
            ..Record::default()
        })?;
        let identity = Header { key: IDENTITY_HEADER, value: Some(&sent.identity) };
        let record = FutureRecord::to(&journal.topic)
            .key(&key)
            .payload(&value)
            .headers(OwnedHeaders::new().insert(identity));
        match producer.send_result(record) {
            Ok(report) => {
                open.spawn(reported(journal.clone(), sent.seq, report));
            }
            Err((error, _)) => journal.refused(sent.seq, name_of(&error))?,
        }
        while open.try_join_next().is_some() {}
    }
    let close = Duration::from_secs_f64(var("KAFKA_CHAOS_CLOSE")?.parse()?);
    let all_reported = async { while open.join_next().await.is_some() {} };
    let _ = timeout(close, all_reported).await;
    journal.end()?;
    Ok(())
}

async fn reported(journal: Arc<Journal>, seq: u64, report: DeliveryFuture) {
    let written = match report.await {
        Ok(Ok(delivery)) => journal.acked(seq, delivery.partition, delivery.offset),
        Ok(Err((error, _))) => journal.failed(seq, name_of(&error)),
        Err(_) => return,
    };
    written.expect("the journal can be written");
}

fn name_of(error: &KafkaError) -> String {
    match error.rdkafka_error_code() {
        Some(code) => format!("{code:?}"),
        None => "another".into(),
    }
}
