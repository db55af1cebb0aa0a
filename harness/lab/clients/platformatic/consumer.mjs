// Handles the records of a topic with @platformatic/kafka, and journals each one once it is handled.

import {readFileSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'

import {Consumer, MessagesStreamModes} from '@platformatic/kafka'

import {Handler, HandlerFailed} from './handler.mjs'

const MODES = {default: {}, committed: {mode: MessagesStreamModes.COMMITTED}}

const about = new URL('node_modules/@platformatic/kafka/package.json', import.meta.url)
const {version} = JSON.parse(readFileSync(about))
const topic = process.env.KAFKA_CHAOS_TOPIC
const handler = new Handler(`@platformatic/kafka ${version}`)
let handling = false
let terminated = false
let partitions = []
let stream

async function attempt(message) {
  handling = true
  try {
    await handler.handle(message.partition, message)
  } catch (error) {
    if (!(error instanceof HandlerFailed) || handler.ends !== 'error-caught') throw error
    console.error(`offset ${message.offset} could not be handled`)
  }
  handling = false
}

process.on('SIGTERM', () => {
  terminated = true
  if (!handling) stream?.close() // the loop ends; else it is left after the record in hand
})
await sleep(handler.joinMs)
const consumer = new Consumer({
  groupId: process.env.KAFKA_CHAOS_GROUP,
  clientId: 'kafka-chaos',
  bootstrapBrokers: process.env.KAFKA_CHAOS_BOOTSTRAP.split(',')
})
consumer.on('consumer:group:join', ({assignments}) => {
  partitions = assignments?.find(assigned => assigned.topic === topic)?.partitions ?? []
  handler.tell('assigned', {partitions})
})
consumer.on('consumer:group:rebalance', () => handler.tell('revoked', {partitions}))
try {
  // read_committed, and a commit after each fetch, by default
  stream = await consumer.consume({topics: [topic], ...MODES[process.env.KAFKA_CHAOS_MODE]})
  if (terminated) await stream.close()
  for await (const message of stream) {
    await attempt(message)
    if (terminated || handler.stops) break
  }
} finally {
  if (handler.ends !== 'error-raised') await consumer.close(true)
}
handler.tell('end')
