// Handles the records of a topic with @platformatic/kafka, and journals each one once it is handled.

import {mkdirSync, openSync, readdirSync, readFileSync, writeSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'

import {Consumer, MessagesStreamModes} from '@platformatic/kafka'

const MODES = {default: {}, committed: {mode: MessagesStreamModes.COMMITTED}}
const IDENTITY_BYTES = 28

const about = new URL('node_modules/@platformatic/kafka/package.json', import.meta.url)
const {version} = JSON.parse(readFileSync(about))
const topic = process.env.KAFKA_CHAOS_TOPIC
const instance = Number(process.env.KAFKA_CHAOS_INSTANCE)
const handleMs = Number(process.env.KAFKA_CHAOS_HANDLE_MS)
const after = Number(process.env.KAFKA_CHAOS_AFTER)
const folder = process.env.KAFKA_CHAOS_DELIVERIES
mkdirSync(folder, {recursive: true})
const isFirst = instance === 0 && !readdirSync(folder).some(name => name.startsWith('0-'))
const ends = isFirst ? process.env.KAFKA_CHAOS_ENDS : ''
const journal = openSync(`${folder}/${instance}-${Date.now()}.jsonl`, 'wx')
let handled = 0
let failed = false
let handling = false
let terminated = false
let partitions = []
let stream

class HandlerFailed extends Error {
  name = 'HandlerFailed'
}

function tell(event, more = {}) {
  writeSync(journal, JSON.stringify({event, time_ms: Date.now(), ...more}) + '\n')
}

async function handle(message) {
  if (ends === 'kill' && handled === after) process.kill(process.pid, 'SIGKILL') // with this record in hand
  await sleep(handleMs)
  const at = {partition: message.partition, offset: Number(message.offset)}
  if (ends.startsWith('error') && handled === after && !failed) {
    failed = true
    tell('failed', {...at, error: 'HandlerFailed'})
    throw new HandlerFailed()
  }
  const value = message.value ?? Buffer.alloc(0)
  // The key of a short value may tell what the record is.
  const key = value.length < IDENTITY_BYTES ? {key: message.key?.toString('hex') ?? ''} : {}
  tell('handled', {...at, value: value.subarray(0, IDENTITY_BYTES).toString('hex'), ...key})
  handled += 1
}

async function attempt(message) {
  handling = true
  try {
    await handle(message)
  } catch (error) {
    if (ends !== 'error-caught') throw error
    console.error(`offset ${message.offset} could not be handled`)
  }
  handling = false
}

tell('begin', {client: `@platformatic/kafka ${version}`})
process.on('SIGTERM', () => {
  terminated = true
  if (!handling) stream?.close() // the loop ends; else it is left after the record in hand
})
await sleep(instance * Number(process.env.KAFKA_CHAOS_JOIN_MS))
const consumer = new Consumer({
  groupId: process.env.KAFKA_CHAOS_GROUP,
  clientId: 'kafka-chaos',
  bootstrapBrokers: process.env.KAFKA_CHAOS_BOOTSTRAP.split(',')
})
consumer.on('consumer:group:join', ({assignments}) => {
  partitions = assignments?.find(assigned => assigned.topic === topic)?.partitions ?? []
  tell('assigned', {partitions})
})
consumer.on('consumer:group:rebalance', () => tell('revoked', {partitions}))
try {
  // read_committed, and a commit after each fetch, by default
  stream = await consumer.consume({topics: [topic], ...MODES[process.env.KAFKA_CHAOS_MODE]})
  if (terminated) await stream.close()
  for await (const message of stream) {
    await attempt(message)
    if (terminated || (ends === 'stop' && handled === after)) break
  }
} finally {
  if (ends !== 'error-raised') await consumer.close(true)
}
tell('end')
