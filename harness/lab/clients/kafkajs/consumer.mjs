// Handles the records of a topic with kafkajs, and journals each one once it is handled.

import {readFileSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'

import {Kafka} from 'kafkajs'

import {Handler, HandlerFailed} from './handler.mjs'

const {version} = JSON.parse(readFileSync(new URL('node_modules/kafkajs/package.json', import.meta.url)))
const topic = process.env.KAFKA_CHAOS_TOPIC
const handler = new Handler(`kafkajs ${version}`)
let partitions = []
let leaving

async function attempt(partition, message) {
  try {
    await handler.handle(partition, message)
  } catch (error) {
    if (error instanceof HandlerFailed && handler.ends === 'error-caught') {
      console.error(`offset ${message.offset} could not be handled`)
      return
    }
    if (handler.ends === 'error-closed') leave(1)
    throw error // kafkajs catches and logs it, and hands the record out again
  }
  if (handler.stops) leave(0)
}

/** Disconnects and ends the process. A handler must not wait for it: `disconnect` waits for the handler. */
function leave(code) {
  leaving ??= consumer.disconnect().then(() => {
    if (code === 0) handler.tell('end')
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

const kafka = new Kafka({brokers: process.env.KAFKA_CHAOS_BOOTSTRAP.split(',')})
const consumer = kafka.consumer({groupId: process.env.KAFKA_CHAOS_GROUP}) // read_committed by default
consumer.on(consumer.events.GROUP_JOIN, ({payload}) => {
  partitions = payload.memberAssignment[topic] ?? []
  handler.tell('assigned', {partitions})
})
consumer.on(consumer.events.REBALANCING, () => handler.tell('revoked', {partitions}))
process.on('SIGTERM', () => leave(0))
await sleep(handler.joinMs)
if (!leaving) {
  await consumer.connect()
  await consumer.subscribe({topics: [topic]})
  await consumer.run(MODES[process.env.KAFKA_CHAOS_MODE])
}
