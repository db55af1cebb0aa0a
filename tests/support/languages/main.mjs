// What tests/mock/workloads/own/test_languages.py runs.
import {setTimeout as sleep} from 'node:timers/promises'

import {Journal, identityOf} from './journal.mjs'

const journal = Journal.begin({
  client: process.env.PROBE_CLIENT,
  acks: process.env.PROBE_ACKS,
  idempotent: true,
  maxInFlight: 5,
  deliveryTimeoutMs: 30000,
  transactionTimeoutMs: 60000
})
const show = identity => console.log(identity.toString('hex'))
show(identityOf(4611686018427387905n, 2147483647, 9007199254740993n, 'grüße'))
show(identityOf(4611686018427387905n, 2147483647, 9007199254740993n, null))
console.log('begun', await journal.waitBegun(1), 'over', journal.over)
await journal.waitBegun()

const send = record => {
  const {seq, identity} = journal.sent(record)
  show(identity)
  return seq
}
const first = send({key: 'schlüssel', value: 'grüße', partition: 2, timestampMs: 1699999999123n, id: 'order "ü" 7'})
journal.acked(first, {partition: 2, offset: '41'})
journal.acked(send({key: null, value: null}), {partition: undefined, offset: null})
journal.failed(send({key: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 7)}), 'timed out: ü')
journal.refused(send({value: Buffer.from([0, 255])}), new Error('too "large"'))
for (const [transaction, end] of ['committed', 'aborted', 'indeterminate'].entries()) {
  send({transaction})
  journal[end](transaction)
}
await Promise.all(
  Array.from({length: 1000}, async () => {
    const {seq} = journal.sent({value: 'x'})
    await sleep(0)
    journal.acked(seq, {partition: 0, offset: BigInt(seq)})
  })
)
console.log('sent')
while (!journal.over) await sleep(10)
journal.end()
journal.end()
journal.acked(first, {partition: 2, offset: 41})
try {
  journal.sent({})
} catch {
  process.exit(0)
}
throw new Error('a send after the end was journaled')
