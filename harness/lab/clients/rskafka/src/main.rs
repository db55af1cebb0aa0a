//! Sends with rskafka, and journals what is reported.
mod journal;

use std::collections::BTreeMap;
use std::env::{args, var};
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use rskafka::client::error::Error;
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::ClientBuilder;
use rskafka::record::Record;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout, MissedTickBehavior};

use journal::{Journal, Settings, IDENTITY_HEADER};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let brokers = var("KAFKA_CHAOS_BOOTSTRAP")?.split(',').map(str::to_owned).collect();
    let client = ClientBuilder::new(brokers).client_id(var("KAFKA_CHAOS_CLIENT")?).build().await?;
    let topic = var("KAFKA_CHAOS_TOPIC")?;
    let partition = Arc::new(client.partition_client(topic, 0, UnknownTopicHandling::Retry).await?);
    let library = format!("rskafka {}", args().nth(1).ok_or("usage: sender VERSION")?);
    // Neither is a setting (src/client/partition.rs), and it retries without an end.
    let settings = Settings { client: &library, acks: "all", idempotent: false, ..Settings::default() };
    let journal = Arc::new(Journal::begin(&settings)?);
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
        let sent = journal.sent(&journal::Record {
            key: Some(key.as_bytes()),
            value: Some(value.as_bytes()),
            ..journal::Record::default()
        })?;
        let record = Record {
            key: Some(key.into_bytes()),
            value: Some(value.into_bytes()),
            headers: BTreeMap::from([(IDENTITY_HEADER.to_owned(), sent.identity.to_vec())]),
            timestamp: Utc::now(),
        };
        open.spawn(produce(partition.clone(), journal.clone(), sent.seq, record));
        while open.try_join_next().is_some() {}
    }
    let close = Duration::from_secs_f64(var("KAFKA_CHAOS_CLOSE")?.parse()?);
    let all_reported = async { while open.join_next().await.is_some() {} };
    let _ = timeout(close, all_reported).await;
    journal.end()?;
    Ok(())
}

async fn produce(partition: Arc<PartitionClient>, journal: Arc<Journal>, seq: u64, record: Record) {
    let written = match partition.produce(vec![record], Compression::default()).await {
        Ok(offsets) => journal.acked(seq, partition.partition(), offsets.first().copied().unwrap_or(-1)),
        Err(error) => journal.failed(seq, name_of(&error)),
    };
    written.expect("the journal can be written");
}

fn name_of(error: &Error) -> String {
    match error {
        Error::ServerError { protocol_error, .. } => format!("{protocol_error:?}"),
        Error::Connection(_) => "Connection".into(),
        Error::Request(_) => "Request".into(),
        Error::InvalidResponse(_) => "InvalidResponse".into(),
        Error::RetryFailed(_) => "RetryFailed".into(),
        Error::Timeout => "Timeout".into(),
        _ => "another".into(),
    }
}
