// Sends with @confluentinc/kafka-javascript, and journals what is reported.

import {readFileSync} from 'node:fs'
import {setImmediate as turn, setTimeout as sleep} from 'node:timers/promises'

import confluent from '@confluentinc/kafka-javascript'

import {IDENTITY_HEADER, Journal} from './journal.mjs'

const MODES = {default: {}, awaited: {}, idempotent: {idempotent: true}}
const MOST_LATE_MS = 100 // a timer that is late is made up for, a send that blocked is not
const DISCONNECT_MS = 5_000

const mode = process.env.KAFKA_CHAOS_MODE
const intervalMs = 1000 / Number(process.env.KAFKA_CHAOS_RATE)
const closeMs = 1000 * Number(process.env.KAFKA_CHAOS_CLOSE)
const about = new URL('node_modules/@confluentinc/kafka-javascript/package.json', import.meta.url)
const {version} = JSON.parse(readFileSync(about))

const kafka = new confluent.KafkaJS.Kafka({
  kafkaJS: {
    brokers: process.env.KAFKA_CHAOS_BOOTSTRAP.split(','),
    clientId: process.env.KAFKA_CHAOS_CLIENT
  }
})
const producer = kafka.producer({kafkaJS: MODES[mode]})
// The settings cannot be asked: those that are not set here are librdkafka's defaults.
const idempotent = mode === 'idempotent'
const journal = Journal.begin({
  client: `@confluentinc/kafka-javascript ${version}, librdkafka ${confluent.librdkafkaVersion}`,
  acks: 'all',
  idempotent,
  maxInFlight: idempotent ? 5 : 1_000_000,
  deliveryTimeoutMs: 300_000
})
process.on('exit', () => journal.end())
process.on('SIGTERM', () => process.exit())

const open = new Set()

async function send(number) {
  const key = String(number % 10)
  const value = JSON.stringify({order: number})
  const {seq, identity} = journal.sent({key, value})
  const messages = [{key, value, headers: {[IDENTITY_HEADER]: identity}}]
  try {
    const [report] = await producer.send({topic: journal.topic, messages})
    journal.acked(seq, {partition: report.partition, offset: report.baseOffset})
  } catch (error) {
    journal.failed(seq, error.type ?? error.code ?? error.name)
  }
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
  const now = performance.now()
  due = Math.max(due + intervalMs, now - MOST_LATE_MS)
  await (due > now ? sleep(due - now) : turn())
}
const end = performance.now() + closeMs
await Promise.race([Promise.all(open), sleep(closeMs - Math.min(DISCONNECT_MS, closeMs / 2))])
const closing = producer.disconnect().catch(error => console.error(error.name))
await Promise.race([closing, sleep(Math.max(0, end - performance.now()))])
process.exit()
