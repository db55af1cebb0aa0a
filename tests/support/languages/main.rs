//! What tests/mock/workloads/own/test_languages.py runs.
mod journal;

use std::env::var;
use std::thread::{scope, sleep};
use std::time::Duration;

use journal::{identity, Journal, Record, Settings};

fn show(identity: [u8; 28]) {
    println!("{}", identity.map(|byte| format!("{byte:02x}")).concat());
}

fn main() -> std::io::Result<()> {
    let journal = Journal::begin(&Settings {
        client: &var("PROBE_CLIENT").unwrap(),
        acks: &var("PROBE_ACKS").unwrap(),
        idempotent: true,
        max_in_flight: Some(5),
        delivery_timeout_ms: Some(30000),
        transaction_timeout_ms: Some(60000),
    })?;
    let value = "grüße".as_bytes();
    show(identity(
        4611686018427387905,
        2147483647,
        9007199254740993,
        value,
    ));
    show(identity(
        4611686018427387905,
        2147483647,
        9007199254740993,
        &[],
    ));
    println!(
        "begun {} over {}",
        journal.wait_begun(Duration::from_millis(1)),
        journal.over()
    );
    journal.wait_begun(Duration::from_secs(60));

    let send = |record: Record| -> std::io::Result<u64> {
        let sent = journal.sent(&record)?;
        show(sent.identity);
        Ok(sent.seq)
    };
    let first = send(Record {
        key: Some("schlüssel".as_bytes()),
        value: Some(value),
        partition: Some(2),
        timestamp_ms: Some(1699999999123),
        id: Some("order \"ü\" 7"),
        ..Record::default()
    })?;
    journal.acked(first, 2, 41)?;
    journal.acked(send(Record::default())?, -1, -1)?;
    let seven = 7_u64.to_be_bytes();
    journal.failed(
        send(Record {
            key: Some(&seven),
            ..Record::default()
        })?,
        "timed out: ü",
    )?;
    journal.refused(
        send(Record {
            value: Some(&[0, 255]),
            ..Record::default()
        })?,
        "too \"large\"",
    )?;
    for (transaction, end) in [Journal::committed, Journal::aborted, Journal::indeterminate]
        .iter()
        .enumerate()
    {
        let transaction = transaction as i32;
        send(Record {
            transaction: Some(transaction),
            ..Record::default()
        })?;
        end(&journal, transaction)?;
    }

    scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..250 {
                    let sent = journal
                        .sent(&Record {
                            value: Some(b"x"),
                            ..Record::default()
                        })
                        .unwrap();
                    journal.acked(sent.seq, 0, sent.seq as i64).unwrap();
                }
            });
        }
    });
    println!("sent");
    while !journal.over() {
        sleep(Duration::from_millis(10));
    }
    journal.end()?;
    journal.end()?;
    journal.acked(first, 2, 41)?;
    assert!(journal.sent(&Record::default()).is_err());
    Ok(())
}
