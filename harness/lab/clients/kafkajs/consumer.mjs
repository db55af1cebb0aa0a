// Handles the records of a topic with kafkajs, and journals each one once it is handled.

import {mkdirSync, openSync, readdirSync, readFileSync, writeSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'

import {Kafka} from 'kafkajs'

const IDENTITY_BYTES = 28

const {version} = JSON.parse(readFileSync(new URL('node_modules/kafkajs/package.json', import.meta.url)))
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
let partitions = []
let leaving

class HandlerFailed extends Error {
  name = 'HandlerFailed'
}

function tell(event, more = {}) {
  writeSync(journal, JSON.stringify({event, time_ms: Date.now(), ...more}) + '\n')
}

async function handle(partition, message) {
  if (ends === 'kill' && handled === after) process.kill(process.pid, 'SIGKILL') // with this record in hand
  await sleep(handleMs)
  const at = {partition, offset: Number(message.offset)}
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

async function attempt(partition, message) {
  try {
    await handle(partition, message)
  } catch (error) {
    if (ends === 'error-caught') {
      console.error(`offset ${message.offset} could not be handled`)
      return
    }
    if (ends === 'error-closed') leave(1)
    throw error // kafkajs catches and logs it, and hands the record out again
  }
  if (ends === 'stop' && handled === after) leave(0)
}

/** Disconnects and ends the process. A handler must not wait for it: `disconnect` waits for the handler. */
function leave(code) {
  leaving ??= consumer.disconnect().then(() => {
    if (code === 0) tell('end')
    process.exit(code)
  })
}

const MODES = {
  default: {
    eachMessage: ({partition, message}) => attempt(partition, message)
  },
  'each-batch': {
    eachBatch: async ({batch, resolveOffset, heartbeat, isRunning, isStale}) => {
      for (const message of batch.messages) {
        if (!isRunning() || isStale()) break
        await attempt(batch.partition, message)
        resolveOffset(message.offset)
        await heartbeat()
      }
    }
  }
}

tell('begin', {client: `kafkajs ${version}`})
const kafka = new Kafka({brokers: process.env.KAFKA_CHAOS_BOOTSTRAP.split(',')})
const consumer = kafka.consumer({groupId: process.env.KAFKA_CHAOS_GROUP}) // read_committed by default
consumer.on(consumer.events.GROUP_JOIN, ({payload}) => {
  partitions = payload.memberAssignment[topic] ?? []
  tell('assigned', {partitions})
})
consumer.on(consumer.events.REBALANCING, () => tell('revoked', {partitions}))
process.on('SIGTERM', () => leave(0))
await sleep(instance * Number(process.env.KAFKA_CHAOS_JOIN_MS))
if (!leaving) {
  await consumer.connect()
  await consumer.subscribe({topics: [topic]})
  await consumer.run(MODES[process.env.KAFKA_CHAOS_MODE])
}
