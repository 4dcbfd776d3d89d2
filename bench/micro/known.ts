/**
 * Cost of settled messages in the memory store: CPU per event, and bytes of heap per known message.
 * `node bench/micro/known.ts`
 */
import { memoryStore } from 'messaging-webhooks'
import type { MessageStore, NewEvent } from 'messaging-webhooks/store'
import { admitting, settling } from '../../src/store-conformance/samples.ts'
import { openAlone } from '../database/calls.ts'
import { answerQuestions, ask } from '../processes/asking.ts'
import { CORES, startPinned } from '../processes/pinned.ts'
import { textOf } from '../report/report.ts'
import { freshEvents } from './events.ts'
import { answeredAtOnce } from './memory-store.ts'

const ROUNDS = 3
const KNOWN = [100_000, 1_000_000] as const
const EVENTS = 200_000
const LEASE_MS = 60_000

interface Measured {
  readonly nanoseconds: number
  readonly bytes: number
}

function open(maxEvents: number): MessageStore<object> {
  return answeredAtOnce(openAlone(memoryStore({ maxEvents })))
}

/** Admits each event under a lease and settles it; each belongs to its own message. */
function fill(store: MessageStore<object>, next: () => NewEvent, events: number): void {
  for (let left = events; left > 0; left -= 1) {
    const event = next()
    const [admitted] = answeredAtOnce(store.run([admitting(event, LEASE_MS)]))
    if (admitted?.granted === undefined) throw new Error('An event was not leased.')
    answeredAtOnce(store.run([settling({ ...event, ...admitted.granted, expected: undefined })]))
  }
}

function measure(count: number): Measured {
  const next = freshEvents()
  const heap = (): number => {
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  fill(open(1_000), next, 10_000)
  const empty = heap()
  const store = open(count)
  fill(store, next, count)
  const bytes = (heap() - empty) / count
  const before = process.cpuUsage()
  fill(store, next, EVENTS)
  const { user, system } = process.cpuUsage(before)
  return { nanoseconds: ((user + system) * 1_000) / EVENTS, bytes }
}

const middle = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN

async function main(): Promise<void> {
  const rows: string[][] = []
  for (const count of KNOWN) {
    const measured: Measured[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const child = startPinned(new URL(import.meta.url), ['child'], CORES.server)
      measured.push(await ask<Measured>(child, { count }))
      child.disconnect()
    }
    rows.push([
      String(count),
      middle(measured.map(({ nanoseconds }) => nanoseconds)).toFixed(0),
      middle(measured.map(({ bytes }) => bytes)).toFixed(0),
    ])
  }
  const head = ['known', 'ns CPU an event', 'bytes a message known']
  console.log(textOf({ title: 'Known settled messages', notes: [], tables: [{ head, rows }], data: rows }))
}

if (process.argv[2] === 'child')
  answerQuestions(async (question) => measure((question as { readonly count: number }).count))
else await main()
