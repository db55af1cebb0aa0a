// Journals what a producer of yours sends and what is reported of it, so that kafka-chaos can account for every
// record. Copy this file beside your program. It needs Node 16 and nothing but the standard library; the comments
// have its types, which TypeScript reads with `allowJs`.
//
//   const journal = Journal.begin({client: 'kafkajs 2.2.4', acks: 'all', idempotent: false})
//   const {seq, identity} = journal.sent({key, value})     // before each send
//   // Send the record with the header [IDENTITY_HEADER]: identity. Then, with its report:
//   journal.acked(seq, {partition, offset})                // or journal.failed(seq, error)
//   journal.end()                                          // once every report is there
//
// docs/how-to/own-producer.md of kafka-chaos describes the events, and `kafka-chaos own --check FOLDER` reads them.

import {closeSync, existsSync, mkdirSync, openSync, writeSync} from 'node:fs'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'

/** The name of the header that each record carries. */
export const IDENTITY_HEADER = 'kafka-chaos-identity'

const MAGIC = 0x4b434831
const MOST_RUN = 2n ** 63n - 1n
const LONGEST_ERROR = 200
const POLL_MS = 50

/**
 * Those that the client has; the run judges by them.
 *
 * @typedef {object} Settings
 * @property {string} client The library and its version.
 * @property {'0' | '1' | 'all'} acks
 * @property {boolean} idempotent
 * @property {number} [maxInFlight]
 * @property {number} [deliveryTimeoutMs]
 * @property {number} [transactionTimeoutMs]
 */

/**
 * What is sent. Without `partition` the client chooses one; without `timestampMs` (since the epoch) it takes the time
 * of the send. `transaction` is the number of the transaction that the record belongs to. `id` is the record's own id
 * ('order-11'), by which it is judged, too, where the run says that records have one.
 *
 * @typedef {object} JournalRecord
 * @property {string | Uint8Array | null} [key]
 * @property {string | Uint8Array | null} [value]
 * @property {number} [partition]
 * @property {number} [transaction]
 * @property {number | bigint} [timestampMs]
 * @property {string | number | bigint} [id]
 */

/**
 * Journal of one producer, for one thread. Each worker thread begins one of its own.
 */
export class Journal {
  /** @type {number} */ producer = 0
  /** @type {string} */ topic
  /** @type {bigint} */ #run
  /** @type {string} */ #folder
  /** @type {number} */ #file
  /** @type {number} */ #next = 0
  #closed = false

  /**
   * Opens the journal of a new producer in the folder that the environment names.
   *
   * @param {Settings} settings
   * @returns {Journal}
   */
  static begin(settings) {
    return new Journal(settings)
  }

  /** @param {Settings} settings */
  constructor({client, acks, idempotent, maxInFlight, deliveryTimeoutMs, transactionTimeoutMs}) {
    if (typeof client !== 'string' || !client.trim()) {
      throw new TypeError('client must name the library and its version')
    }
    if (!['0', '1', 'all'].includes(acks)) {
      throw new TypeError(`acks must be '0', '1' or 'all', not ${JSON.stringify(acks)}`)
    }
    this.#folder = variable('KAFKA_CHAOS_JOURNAL')
    this.topic = variable('KAFKA_CHAOS_TOPIC')
    // A number of 63 bits: as a Number it would be rounded.
    this.#run = BigInt(variable('KAFKA_CHAOS_RUN'))
    if (this.#run < 0n || this.#run > MOST_RUN) {
      throw new RangeError(`KAFKA_CHAOS_RUN must have 63 bits at most, not ${this.#run}`)
    }
    this.#file = this.#claim()
    const settings = JSON.stringify({
      client,
      acks,
      idempotent: Boolean(idempotent),
      max_in_flight: maxInFlight,
      delivery_timeout_ms: deliveryTimeoutMs,
      transaction_timeout_ms: transactionTimeoutMs
    })
    this.#write(
      `{"event": "begin", "producer": ${this.producer}, "run": ${this.#run}, ` +
        `"topic": ${JSON.stringify(this.topic)}, ${settings.slice(1)}`
    )
  }

  /** Creates the file of the first producer's number that is free. */
  #claim() {
    mkdirSync(this.#folder, {recursive: true})
    for (;;) {
      try {
        return openSync(join(this.#folder, `${this.producer}.jsonl`), 'ax')
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
        this.producer += 1
      }
    }
  }

  /**
   * Journals a record before it is handed to the client.
   *
   * @param {JournalRecord} record
   * @returns {{seq: number, identity: Buffer}} The number of the send and the value of the header IDENTITY_HEADER.
   */
  sent({key, value, partition, transaction, timestampMs, id} = {}) {
    if (this.#closed) throw new Error('the journal of this producer is closed')
    const content = bytes(value)
    const seq = this.#next
    let more = ''
    if (key != null) more += `, "key_base64": "${bytes(key).toString('base64')}"`
    if (partition != null) more += `, "partition": ${partition}`
    if (transaction != null) more += `, "txn": ${transaction}`
    if (timestampMs != null) more += `, "timestamp_ms": ${timestampMs}`
    if (id != null) more += `, "id": ${JSON.stringify(String(id))}`
    this.#write(`{"event": "sent", "seq": ${seq}, "time_ms": ${Date.now()}, "size": ${content.length}${more}}`)
    this.#next += 1
    return {seq, identity: identityOf(this.#run, this.producer, seq, content)}
  }

  /**
   * Journals a success report, with what the client names of it. Libraries give the offset in many forms.
   *
   * @param {number} seq
   * @param {{partition?: number | null, offset?: number | bigint | string | null}} [where]
   */
  acked(seq, {partition, offset} = {}) {
    this.#write(
      `{"event": "acked", "seq": ${seq}, "time_ms": ${Date.now()}, ` +
        `"partition": ${whole(partition)}, "offset": ${whole(offset)}}`
    )
  }

  /**
   * Journals an error report: the record may be in the log or not.
   *
   * @param {number} seq
   * @param {unknown} error
   */
  failed(seq, error) {
    this.#report('failed', seq, error)
  }

  /**
   * Journals that the client refused the record before it queued it, so that it was certainly not written.
   *
   * @param {number} seq
   * @param {unknown} error
   */
  refused(seq, error) {
    this.#report('refused', seq, error)
  }

  /** @param {string} event @param {number} seq @param {unknown} error */
  #report(event, seq, error) {
    this.#write(
      `{"event": "${event}", "seq": ${seq}, "time_ms": ${Date.now()}, "error": ${JSON.stringify(errorName(error))}}`
    )
  }

  /** Journals that a broker confirmed the commit of a transaction. @param {number} transaction */
  committed(transaction) {
    this.#ended('committed', transaction)
  }

  /** Journals that a broker confirmed the abort of a transaction. @param {number} transaction */
  aborted(transaction) {
    this.#ended('aborted', transaction)
  }

  /**
   * Journals that a commit was asked for and nobody said how the transaction ended.
   *
   * @param {number} transaction
   */
  indeterminate(transaction) {
    this.#ended('indeterminate', transaction)
  }

  /** @param {string} event @param {number} transaction */
  #ended(event, transaction) {
    this.#write(`{"event": "${event}", "txn": ${transaction}, "time_ms": ${Date.now()}}`)
  }

  /**
   * Resolves once the first write step of the run has begun, or after `timeoutMs`.
   *
   * @param {number} [timeoutMs]
   * @returns {Promise<boolean>} Whether it has begun.
   */
  async waitBegun(timeoutMs = Infinity) {
    for (const until = performance.now() + timeoutMs; !existsSync(join(this.#folder, 'begun')); ) {
      if (performance.now() >= until) return false
      await sleep(POLL_MS)
    }
    return true
  }

  /**
   * Whether the write steps are over: a program that writes without end stops now, and `end` follows within
   * `close_seconds` of the run.
   */
  get over() {
    return existsSync(join(this.#folder, 'over'))
  }

  /**
   * Closes the journal, once every report is there. Sends without a report may be in the log or not. Safe to call
   * again.
   */
  end() {
    if (this.#closed) return
    this.#write('{"event": "end"}')
    this.#closed = true
    closeSync(this.#file)
  }

  /**
   * Hands a line to the operating system at once, so that a program that is killed leaves what it has journaled. A
   * report that comes after the end is passed over.
   *
   * @param {string} line
   */
  #write(line) {
    if (this.#closed) return
    let rest = Buffer.from(`${line}\n`)
    while (rest.length > 0) rest = rest.subarray(writeSync(this.#file, rest))
  }
}

/**
 * The value of the header of a record: magic, run, producer and seq, big endian, and the CRC-32C of these and of the
 * record's value.
 *
 * @param {bigint} run
 * @param {number} producer
 * @param {number | bigint} seq
 * @param {string | Uint8Array | null | undefined} value
 * @returns {Buffer}
 */
export function identityOf(run, producer, seq, value) {
  const identity = Buffer.alloc(28)
  identity.writeUInt32BE(MAGIC, 0)
  identity.writeBigUInt64BE(run, 4)
  identity.writeUInt32BE(producer, 12)
  identity.writeBigUInt64BE(BigInt(seq), 16)
  identity.writeUInt32BE(crc32c(identity.subarray(0, 24), bytes(value)), 24)
  return identity
}

// zlib.crc32 is another polynomial.
const TABLE = Uint32Array.from({length: 256}, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  return crc
})

/** The CRC-32C of these parts, one after the other. @param {Uint8Array[]} parts */
function crc32c(...parts) {
  let crc = 0xffffffff
  for (const part of parts) {
    for (const byte of part) crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8)
  }
  return (crc ^ 0xffffffff) >>> 0
}

/** What a client sends for a key or a value. @param {string | Uint8Array | null | undefined} content */
function bytes(content) {
  if (content == null) return Buffer.alloc(0)
  if (typeof content === 'string') return Buffer.from(content)
  return Buffer.from(content.buffer, content.byteOffset, content.length)
}

/** A number as text; -1 if the client does not name it. @param {number | bigint | string | null | undefined} number */
function whole(number) {
  const text = String(number)
  return /^\d+$/.test(text) ? text : '-1'
}

/** One word for an error, as the journal asks for it: printable ASCII without spaces. @param {unknown} error */
function errorName(error) {
  const {name, code} = /** @type {{name?: unknown, code?: unknown}} */ (Object(error))
  const said = typeof error === 'string' ? error : name && name !== 'Error' ? name : (code ?? error)
  return String(said).replace(/[^\x21-\x7e]/g, '_').slice(0, LONGEST_ERROR) || 'unknown'
}

/** @param {string} name */
function variable(name) {
  const value = process.env[name]
  if (!value) throw new Error(`the environment variable ${name} is not set`)
  return value
}
