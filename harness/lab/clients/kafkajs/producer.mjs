// Sends with kafkajs, and journals what is reported.

import {readFileSync} from 'node:fs'
import {setImmediate as turn, setTimeout as sleep} from 'node:timers/promises'

import {Kafka} from 'kafkajs'

import {IDENTITY_HEADER, Journal} from './journal.mjs'

const MODES = {default: {}, awaited: {}, idempotent: {idempotent: true}}
const MOST_OPEN = 20_000 // sends without a report; kafkajs itself has no limit
const MOST_LATE_MS = 100 // a timer that is late is made up for, a send that blocked is not
const DISCONNECT_MS = 5_000

const mode = process.env.KAFKA_CHAOS_MODE
const intervalMs = 1000 / Number(process.env.KAFKA_CHAOS_RATE)
const closeMs = 1000 * Number(process.env.KAFKA_CHAOS_CLOSE)
const {version} = JSON.parse(readFileSync(new URL('node_modules/kafkajs/package.json', import.meta.url)))

const kafka = new Kafka({
  brokers: process.env.KAFKA_CHAOS_BOOTSTRAP.split(','),
  clientId: process.env.KAFKA_CHAOS_CLIENT
})
const producer = kafka.producer(MODES[mode])
// acks cannot be asked: `send` has all in every mode (src/producer/messageProducer.js). Neither requests in
// flight nor the time for a delivery are limited.
const journal = Journal.begin({
  client: `kafkajs ${version}`,
  acks: 'all',
  idempotent: producer.isIdempotent()
})
process.on('exit', () => journal.end())
process.on('SIGTERM', () => process.exit())

const open = new Set()

async function send(number) {
  const key = String(number % 10)
  const value = JSON.stringify({order: number})
  const {seq, identity} = journal.sent({key, value})
  try {
    const [report] = await producer.send({
      topic: journal.topic,
      messages: [{key, value, headers: {[IDENTITY_HEADER]: identity}}]
    })
    journal.acked(seq, {partition: report?.partition, offset: report?.baseOffset})
  } catch (error) {
    journal.failed(seq, nameOf(error))
  }
}

/** The names of an error and of its causes, such as KafkaJSNumberOfRetriesExceeded>ECONNREFUSED. */
function nameOf(error) {
  const {name, code, type, cause} = Object(error)
  const own = type ?? (typeof code === 'string' ? code : (name ?? String(error)))
  const inner = cause ? nameOf(cause) : own
  return inner === own ? own : `${own}>${inner}`
}

await producer.connect()
await journal.waitBegun(60_000)
let wake = () => {}
setInterval(() => journal.over && wake(), 100)
let due = performance.now()
for (let number = 0; !journal.over; number += 1) {
  const sending = send(number)
  open.add(sending)
  sending.then(() => open.delete(sending))
  if (mode === 'awaited') {
    await new Promise(resolve => {
      wake = resolve
      sending.then(resolve)
    })
  }
  while (open.size >= MOST_OPEN && !journal.over) await sleep(10)
  const now = performance.now()
  due = Math.max(due + intervalMs, now - MOST_LATE_MS)
  await (due > now ? sleep(due - now) : turn())
}
const end = performance.now() + closeMs
await Promise.race([Promise.all(open), sleep(closeMs - Math.min(DISCONNECT_MS, closeMs / 2))])
const closing = producer.disconnect().catch(error => console.error(nameOf(error)))
await Promise.race([closing, sleep(Math.max(0, end - performance.now()))])
process.exit()
