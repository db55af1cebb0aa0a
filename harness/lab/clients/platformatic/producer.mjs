// Sends with @platformatic/kafka, and journals what is reported.

import {readFileSync} from 'node:fs'
import {setImmediate as turn, setTimeout as sleep} from 'node:timers/promises'

import {Producer} from '@platformatic/kafka'

import {IDENTITY_HEADER, Journal} from './journal.mjs'

const MODES = {default: {}, awaited: {}, idempotent: {idempotent: true}}
const MOST_OPEN = 20_000 // sends without a report; the library itself has no limit
const MOST_LATE_MS = 100 // a timer that is late is made up for, a send that blocked is not
const CLOSE_MS = 5_000

const mode = process.env.KAFKA_CHAOS_MODE
const intervalMs = 1000 / Number(process.env.KAFKA_CHAOS_RATE)
const closeMs = 1000 * Number(process.env.KAFKA_CHAOS_CLOSE)
const about = new URL('node_modules/@platformatic/kafka/package.json', import.meta.url)
const {version} = JSON.parse(readFileSync(about))

const producer = new Producer({
  bootstrapBrokers: process.env.KAFKA_CHAOS_BOOTSTRAP.split(','),
  clientId: process.env.KAFKA_CHAOS_CLIENT,
  ...MODES[mode]
})
// They cannot be asked: `send` has acks=1 unless idempotent (dist/clients/producer/producer.js), a connection
// 5 requests in flight, or 1 (dist/clients/base/options.js). The time for a delivery is not limited.
const idempotent = mode === 'idempotent'
const journal = Journal.begin({
  client: `@platformatic/kafka ${version}`,
  acks: idempotent ? 'all' : '1',
  idempotent,
  maxInFlight: idempotent ? 1 : 5
})
process.on('exit', () => journal.end())
process.on('SIGTERM', () => process.exit())

const open = new Set()

async function send(number) {
  const key = Buffer.from(String(number % 10))
  const value = Buffer.from(JSON.stringify({order: number}))
  const {seq, identity} = journal.sent({key, value})
  const headers = new Map([[Buffer.from(IDENTITY_HEADER), identity]])
  const messages = [{topic: journal.topic, key, value, headers}]
  try {
    const {offsets: [report] = []} = await producer.send({messages})
    journal.acked(seq, report)
  } catch (error) {
    journal.failed(seq, nameOf(error))
  }
}

/** Names of an error and of the last of its causes, such as PLT_KFK_MULTIPLE>PLT_KFK_NETWORK>ECONNREFUSED. */
function nameOf(error) {
  const {name, code, apiId, errors, cause} = Object(error)
  const own = apiId ?? code ?? name ?? String(error)
  const last = errors?.at(-1) ?? cause
  const inner = last ? nameOf(last) : own
  return inner === own || inner.startsWith(`${own}>`) ? inner : `${own}>${inner}`
}

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
await Promise.race([Promise.all(open), sleep(closeMs - Math.min(CLOSE_MS, closeMs / 2))])
const closing = producer.close().catch(error => console.error(nameOf(error)))
await Promise.race([closing, sleep(Math.max(0, end - performance.now()))])
process.exit()
