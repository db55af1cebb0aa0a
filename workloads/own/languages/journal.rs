//! Journals what a producer of yours sends and what is reported of it, so that kafka-chaos can account for every
//! record. Copy this file into `src` of your program and declare it with `mod journal;`. It needs Rust 1.74 and nothing
//! but the standard library.
//!
//! ```ignore
//! let settings = Settings { client: "rdkafka 0.39.0", acks: "all", idempotent: true, ..Settings::default() };
//! let journal = Journal::begin(&settings)?;
//! let sent = journal.sent(&Record { key: Some(key), value: Some(value), ..Record::default() })?; // before each send
//! // Send the record with the header IDENTITY_HEADER, whose value is sent.identity. Then, with its report:
//! journal.acked(sent.seq, partition, offset)?; // or journal.failed(sent.seq, &error)?
//! journal.end()?; // once every report is there
//! ```
//!
//! docs/how-to/own-producer.md of kafka-chaos describes the events, and `kafka-chaos own --check FOLDER` reads them.
#![allow(dead_code)]

use std::env;
use std::fmt::{Display, Write as _};
use std::fs::{create_dir_all, File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The name of the header that each record carries.
pub const IDENTITY_HEADER: &str = "kafka-chaos-identity";

const MAGIC: u32 = 0x4b43_4831;
const LONGEST_ERROR: usize = 200;
const POLL: Duration = Duration::from_millis(50);
const CRC_TABLE: [u32; 256] = crc_table();

/// Those that the client has; the run judges by them. `client` is the library with its version, `acks` is "0", "1" or
/// "all", and None stands for "not known".
#[derive(Clone, Debug, Default)]
pub struct Settings<'a> {
    pub client: &'a str,
    pub acks: &'a str,
    pub idempotent: bool,
    pub max_in_flight: Option<u32>,
    pub delivery_timeout_ms: Option<u32>,
    pub transaction_timeout_ms: Option<u32>,
}

/// What is sent. Without `partition` the client chooses one; without `timestamp_ms` (since the epoch) it takes the time
/// of the send. `transaction` is the number of the transaction that the record belongs to. `id` is the record's own
/// ("order-11"), by which it is judged, too, where the run says that records have one.
#[derive(Clone, Debug, Default)]
pub struct Record<'a> {
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub partition: Option<i32>,
    pub transaction: Option<i32>,
    pub timestamp_ms: Option<i64>,
    pub id: Option<&'a str>,
}

/// The number of a send, and the value of the header [`IDENTITY_HEADER`] of its record.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub seq: u64,
    pub identity: [u8; 28],
}

/// Journal of one producer. Threads and tasks may share it. If they share the producer too and the order of its records
/// matters, hold a mutex of your own around `sent` and the client's send.
#[derive(Debug)]
pub struct Journal {
    pub producer: i32,
    pub topic: String,
    run: u64,
    folder: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    /// None once the journal is closed.
    file: Option<File>,
    next: u64,
}

impl Journal {
    /// Opens the journal of a new producer in the folder that the environment names.
    pub fn begin(settings: &Settings) -> Result<Self> {
        if settings.client.trim().is_empty() {
            return Err(invalid(
                "client must name the library and its version".into(),
            ));
        }
        if !["0", "1", "all"].contains(&settings.acks) {
            return Err(invalid(format!(
                "acks must be \"0\", \"1\" or \"all\", not {:?}",
                settings.acks
            )));
        }
        let folder = PathBuf::from(variable("KAFKA_CHAOS_JOURNAL")?);
        let topic = variable("KAFKA_CHAOS_TOPIC")?;
        let run: u64 = variable("KAFKA_CHAOS_RUN")?
            .parse()
            .map_err(|error| invalid(format!("KAFKA_CHAOS_RUN: {error}")))?;
        let (producer, file) = claim(&folder)?;
        let mut line = format!(
            "{{\"event\": \"begin\", \"producer\": {producer}, \"run\": {run}, \"topic\": {}, \"client\": {}, \
             \"acks\": \"{}\", \"idempotent\": {}",
            quoted(&topic),
            quoted(settings.client),
            settings.acks,
            settings.idempotent,
        );
        append_field(&mut line, "max_in_flight", settings.max_in_flight);
        append_field(
            &mut line,
            "delivery_timeout_ms",
            settings.delivery_timeout_ms,
        );
        append_field(
            &mut line,
            "transaction_timeout_ms",
            settings.transaction_timeout_ms,
        );
        line.push('}');
        write_line(&file, &line)?;
        let open = Mutex::new(Open {
            file: Some(file),
            next: 0,
        });
        Ok(Self {
            producer,
            topic,
            run,
            folder,
            open,
        })
    }

    /// Journals a record before it is handed to the client.
    pub fn sent(&self, record: &Record) -> Result<Sent> {
        let value = record.value.unwrap_or_default();
        let mut more = String::new();
        if let Some(key) = record.key {
            let _ = write!(more, ", \"key_base64\": \"{}\"", base64(key));
        }
        append_field(&mut more, "partition", record.partition);
        append_field(&mut more, "txn", record.transaction);
        append_field(&mut more, "timestamp_ms", record.timestamp_ms);
        append_field(&mut more, "id", record.id.map(quoted));
        let mut open = self.lock();
        let seq = open.next;
        let Some(file) = &open.file else {
            return Err(Error::other("the journal of this producer is closed"));
        };
        let size = value.len();
        let line = format!(
            "{{\"event\": \"sent\", \"seq\": {seq}, \"time_ns\": {}, \"size\": {size}{more}}}",
            now_ns()
        );
        write_line(file, &line)?;
        open.next += 1;
        Ok(Sent {
            seq,
            identity: identity(self.run, self.producer, seq, value),
        })
    }

    /// Journals a success report. The partition and the offset are -1 if the client does not name them.
    pub fn acked(&self, seq: u64, partition: i32, offset: i64) -> Result<()> {
        let (partition, offset) = (partition.max(-1), offset.max(-1));
        self.append(|now| {
            format!(
                "{{\"event\": \"acked\", \"seq\": {seq}, \"time_ns\": {now}, \"partition\": {partition}, \
                 \"offset\": {offset}}}"
            )
        })
    }

    /// Journals an error report: the record may be in the log or not.
    pub fn failed(&self, seq: u64, error: impl Display) -> Result<()> {
        self.report("failed", seq, &error)
    }

    /// Journals that the client refused the record before it queued it, so that it was certainly not written.
    pub fn refused(&self, seq: u64, error: impl Display) -> Result<()> {
        self.report("refused", seq, &error)
    }

    /// Journals that a broker confirmed the commit of a transaction.
    pub fn committed(&self, transaction: i32) -> Result<()> {
        self.ended("committed", transaction)
    }

    /// Journals that a broker confirmed the abort of a transaction.
    pub fn aborted(&self, transaction: i32) -> Result<()> {
        self.ended("aborted", transaction)
    }

    /// Journals that a commit was asked for and nobody said how the transaction ended.
    pub fn indeterminate(&self, transaction: i32) -> Result<()> {
        self.ended("indeterminate", transaction)
    }

    /// Waits until the first write step of the run has begun, at most `timeout`; returns whether it has.
    pub fn wait_begun(&self, timeout: Duration) -> bool {
        let since = Instant::now();
        while !self.folder.join("begun").exists() {
            if since.elapsed() >= timeout {
                return false;
            }
            sleep(POLL);
        }
        true
    }

    /// Whether the write steps are over: a program that writes without end stops now, and `end` follows within
    /// `close_seconds` of the run.
    pub fn over(&self) -> bool {
        self.folder.join("over").exists()
    }

    /// Closes the journal, once every report is there. Sends without a report may be in the log or not. Safe to call
    /// again.
    pub fn end(&self) -> Result<()> {
        match self.lock().file.take() {
            Some(file) => write_line(&file, "{\"event\": \"end\"}"),
            None => Ok(()),
        }
    }

    fn report(&self, event: &str, seq: u64, error: &dyn Display) -> Result<()> {
        let name = quoted(&error_name(error));
        self.append(|now| {
            format!(
                "{{\"event\": \"{event}\", \"seq\": {seq}, \"time_ns\": {now}, \"error\": {name}}}"
            )
        })
    }

    fn ended(&self, event: &str, transaction: i32) -> Result<()> {
        self.append(|now| {
            format!("{{\"event\": \"{event}\", \"txn\": {transaction}, \"time_ns\": {now}}}")
        })
    }

    /// A report that comes after the end is passed over.
    fn append(&self, line: impl FnOnce(u128) -> String) -> Result<()> {
        match &self.lock().file {
            Some(file) => write_line(file, &line(now_ns())),
            None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value of the header of a record: magic, run, producer and seq, big endian, and the CRC-32C of these and of the
/// record's value.
pub fn identity(run: u64, producer: i32, seq: u64, value: &[u8]) -> [u8; 28] {
    let mut identity = [0; 28];
    identity[..4].copy_from_slice(&MAGIC.to_be_bytes());
    identity[4..12].copy_from_slice(&run.to_be_bytes());
    identity[12..16].copy_from_slice(&producer.to_be_bytes());
    identity[16..24].copy_from_slice(&seq.to_be_bytes());
    let checksum = crc32c(identity[..24].iter().chain(value));
    identity[24..].copy_from_slice(&checksum.to_be_bytes());
    identity
}

fn crc32c<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    !bytes.fold(!0, |crc, byte| {
        CRC_TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8)
    })
}

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0x82f6_3b78
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// Creates the file of the first producer's number that is free.
fn claim(folder: &Path) -> Result<(i32, File)> {
    create_dir_all(folder)?;
    for producer in 0..=i32::MAX {
        let path = folder.join(format!("{producer}.jsonl"));
        match OpenOptions::new().append(true).create_new(true).open(path) {
            Ok(file) => return Ok((producer, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(
        ErrorKind::AlreadyExists,
        "every number of a producer is taken",
    ))
}

/// Hands a line to the operating system at once, so that a program that is killed leaves what it has journaled.
fn write_line(mut file: &File, line: &str) -> Result<()> {
    file.write_all(format!("{line}\n").as_bytes())
}

fn append_field(line: &mut String, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        let _ = write!(line, ", \"{name}\": {value}");
    }
}

fn now_ns() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos()
}

fn variable(name: &str) -> Result<String> {
    env::var(name)
        .ok()
        .filter(|value| !value.is_empty())
        .ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("the environment variable {name} is not set"),
            )
        })
}

fn invalid(what: String) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

/// One word for an error, as the journal asks for it: printable ASCII without spaces.
fn error_name(error: &dyn Display) -> String {
    let text = error.to_string();
    let word: String = text
        .chars()
        .take(LONGEST_ERROR)
        .map(|letter| {
            if letter.is_ascii_graphic() {
                letter
            } else {
                '_'
            }
        })
        .collect();
    if word.is_empty() {
        "unknown".into()
    } else {
        word
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\0'..='\x1f' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three
            .iter()
            .fold(0, |bits, byte| (bits << 8) | u32::from(*byte))
            << (8 * (3 - three.len()));
        for position in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * position)) as usize & 63];
            text.push(if position <= three.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    text
}
