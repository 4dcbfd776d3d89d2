/**
 * How much dearer the first events of a fresh process are than those after 50,000: CPU by the thousand, compilation included,
 * from the body's bytes to the settlement with the memory store, without HTTP. `node bench/micro/warm-up.ts`
 */
import { createReceiver } from '../../src/index.ts'
import { callback, signCallback } from '../../src/testing/index.ts'
import { answerQuestions, ask } from '../processes/asking.ts'
import { CORES, startPinned } from '../processes/pinned.ts'
import { textOf } from '../report/report.ts'

const ROUNDS = 9
const FIRST = 5_000
const LATER = 50_000
const TOGETHER = 32
const SIGNING_SECRET = 'a secret of the benchmark'

interface Measured {
  readonly first: number
  readonly later: number
}

async function measure(): Promise<Measured> {
  const receiver = createReceiver({ credentials: { signingSecret: SIGNING_SECRET }, logger: false })
  receiver.on('message.delivered', () => {})
  await receiver.start()
  const requests = Array.from({ length: LATER + FIRST }, (_, index) => {
    const body = Buffer.from(JSON.stringify(callback.smsDelivery({ messageId: `m-${index}` })))
    const headers = { 'x-service-signature': signCallback(body, SIGNING_SECRET) }
    return { kind: 'status', method: 'POST', headers, body } as const
  })
  const took = async (from: number, to: number): Promise<number> => {
    const before = process.cpuUsage()
    for (let next = from; next < to; next += TOGETHER)
      await Promise.all(requests.slice(next, Math.min(next + TOGETHER, to)).map((request) => receiver.receive(request)))
    await receiver.drain()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / (to - from)
  }
  const first = await took(0, FIRST)
  await took(FIRST, LATER)
  const later = await took(LATER, LATER + FIRST)
  const { taken } = await receiver.stats()
  if (taken !== requests.length) throw new Error(`Of ${requests.length} callbacks ${taken} were taken.`)
  return { first, later }
}

const middle = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN

async function main(): Promise<void> {
  const samples: Measured[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const child = startPinned(new URL(import.meta.url), ['child'], CORES.server)
    samples.push(await ask<Measured>(child, {}))
    child.disconnect()
  }
  const ratios = samples.map(({ first, later }) => first / later)
  const rows = [
    [
      middle(samples.map(({ first }) => first)).toFixed(1),
      middle(samples.map(({ later }) => later)).toFixed(1),
      `${middle(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)})`,
    ],
  ]
  const head = [`µs CPU, the first ${FIRST}`, `µs CPU, after ${LATER}`, 'ratio']
  console.log(textOf({ title: 'A fresh process', notes: [], tables: [{ head, rows }], data: rows }))
}

if (process.argv[2] === 'child') answerQuestions(measure)
else await main()
