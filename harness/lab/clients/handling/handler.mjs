// What the consumers in JavaScript share: the handler of a record, its journal, and what happens to this process.

import {mkdirSync, openSync, readdirSync, writeSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'

const IDENTITY_BYTES = 28

export class HandlerFailed extends Error {
  name = 'HandlerFailed'
}

/** Handles records, and journals each one once it is handled. `ends` is what happens to this process: '', kill,
 * stop, error-raised, error-caught or error-closed. */
export class Handler {
  #after = Number(process.env.KAFKA_CHAOS_AFTER)
  #handleMs = Number(process.env.KAFKA_CHAOS_HANDLE_MS)
  #journal
  #handled = 0
  #failed = false

  constructor(client) {
    const folder = process.env.KAFKA_CHAOS_DELIVERIES
    const instance = Number(process.env.KAFKA_CHAOS_INSTANCE)
    mkdirSync(folder, {recursive: true})
    const isFirst = instance === 0 && !readdirSync(folder).some(name => name.startsWith('0-'))
    this.ends = isFirst ? process.env.KAFKA_CHAOS_ENDS : ''
    this.joinMs = instance * Number(process.env.KAFKA_CHAOS_JOIN_MS)
    this.#journal = openSync(`${folder}/${instance}-${Date.now()}.jsonl`, 'wx')
    this.tell('begin', {client})
  }

  /** Whether the program shall leave its loop now. */
  get stops() {
    return this.ends === 'stop' && this.#handled === this.#after
  }

  async handle(partition, {offset, key, value}) {
    const isNow = this.#handled === this.#after
    if (this.ends === 'kill' && isNow) process.kill(process.pid, 'SIGKILL') // with this record in hand
    await sleep(this.#handleMs)
    const at = {partition, offset: Number(offset)}
    if (this.ends.startsWith('error') && isNow && !this.#failed) {
      this.#failed = true
      this.tell('failed', {...at, error: 'HandlerFailed'})
      throw new HandlerFailed()
    }
    const bytes = value ?? Buffer.alloc(0)
    // The key of a short value may tell what the record is.
    const own = bytes.length < IDENTITY_BYTES ? {key: key?.toString('hex') ?? ''} : {}
    this.tell('handled', {...at, value: bytes.subarray(0, IDENTITY_BYTES).toString('hex'), ...own})
    this.#handled += 1
  }

  tell(event, more = {}) {
    writeSync(this.#journal, JSON.stringify({event, time_ms: Date.now(), ...more}) + '\n')
  }
}
