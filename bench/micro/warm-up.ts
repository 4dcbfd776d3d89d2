/**
 * Extra cost of the first events of a fresh process compared with those after 50,000: CPU, compilation included, from the body's
 * bytes to the settlement with the memory store, without HTTP. Also measures the minimum that verifies and reads a callback,
 * as a lower bound for any code. `npx node bench/micro/warm-up.ts`
 */
import { createReceiver } from '../../src/index.ts'
import { callback, signCallback } from '../../src/testing/index.ts'
import { verifyByHand } from '../contenders/by-hand.ts'
import { SIGNING_SECRET } from '../load/secrets.ts'
import { answerQuestions, ask } from '../processes/asking.ts'
import { CORES, startPinned } from '../processes/pinned.ts'
import { textOf } from '../report/report.ts'

const ROUNDS = 9
const FIRST = 5_000
const LATER = 50_000
const TOGETHER = 32

interface Measured {
  readonly first: number
  readonly later: number
}

interface Callback {
  readonly kind: 'status'
  readonly method: 'POST'
  readonly headers: { readonly 'x-service-signature': string }
  readonly body: Buffer
}

/** Accepts callbacks, and shows that it accepted them. */
interface Taker {
  take(callback: Callback): unknown
  settle(): Promise<unknown>
  accepted(): Promise<number>
}

async function receiver(): Promise<Taker> {
  const ours = createReceiver({ credentials: { signingSecret: SIGNING_SECRET }, logger: false })
  ours.on('message.delivered', () => {})
  await ours.start()
  return {
    take: (callback) => ours.receive(callback),
    settle: () => ours.drain(),
    accepted: async () => (await ours.stats()).accepted,
  }
}

async function least(): Promise<Taker> {
  let count = 0
  return {
    take({ body, headers }) {
      if (verifyByHand(body, headers['x-service-signature']) !== undefined) count += 1
    },
    settle: () => Promise.resolve(),
    accepted: () => Promise.resolve(count),
  }
}

const TAKERS = { 'this receiver': receiver, 'HMAC, JSON.parse, zod': least }

async function measure(makeTaker: () => Promise<Taker>): Promise<Measured> {
  const taker = await makeTaker()
  const callbacks = Array.from({ length: LATER + FIRST }, (_, index): Callback => {
    const body = Buffer.from(JSON.stringify(callback.smsDelivery({ messageId: `m-${index}` })))
    const headers = { 'x-service-signature': signCallback(body, SIGNING_SECRET) }
    return { kind: 'status', method: 'POST', headers, body }
  })
  const took = async (from: number, to: number): Promise<number> => {
    const before = process.cpuUsage()
    for (let next = from; next < to; next += TOGETHER)
      await Promise.all(callbacks.slice(next, Math.min(next + TOGETHER, to)).map((each) => taker.take(each)))
    await taker.settle()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / (to - from)
  }
  const first = await took(0, FIRST)
  await took(FIRST, LATER)
  const later = await took(LATER, LATER + FIRST)
  const accepted = await taker.accepted()
  if (accepted !== callbacks.length) throw new Error(`${accepted} of ${callbacks.length} callbacks were accepted.`)
  return { first, later }
}

const middle = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN

async function rowOf(name: string): Promise<readonly string[]> {
  const samples: Measured[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const child = startPinned(new URL(import.meta.url), ['child', name], CORES.server)
    samples.push(await ask<Measured>(child, {}))
    child.disconnect()
  }
  const ratios = samples.map(({ first, later }) => first / later)
  return [
    name,
    middle(samples.map(({ first }) => first)).toFixed(1),
    middle(samples.map(({ later }) => later)).toFixed(1),
    `${middle(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)})`,
  ]
}

async function main(): Promise<void> {
  const rows: (readonly string[])[] = []
  for (const name of Object.keys(TAKERS)) rows.push(await rowOf(name))
  const head = ['', `µs CPU, the first ${FIRST}`, `µs CPU, after ${LATER}`, 'ratio']
  console.log(textOf({ title: 'A fresh process', notes: [], tables: [{ head, rows }], data: rows }))
}

const [, , role, name] = process.argv
if (role === 'child') answerQuestions(() => measure(name === 'this receiver' ? receiver : least))
else await main()
