/**
 * Cost of settled messages in the memory store: CPU per event, and bytes of heap per known message.
 * `node bench/micro/known.ts`
 */
import type { NewEvent, OpenStore } from '../../src/inbox/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { answerQuestions, ask } from '../processes/asking.ts'
import { CORES, startPinned } from '../processes/pinned.ts'
import { textOf } from '../report/report.ts'
import { freshEvents } from './events.ts'

const ROUNDS = 3
const KNOWN = [100_000, 1_000_000] as const
const EVENTS = 200_000
const NOW_MS = 1_800_000_000_000

interface Measured {
  readonly nanoseconds: number
  readonly bytes: number
}

async function open(maxEvents: number): Promise<OpenStore> {
  return memoryStore({ maxEvents }).open({ onWork() {} })
}

/** Admits each event under a lease and settles it; each belongs to its own message. */
async function fill(store: OpenStore, next: () => NewEvent, events: number): Promise<void> {
  const request = { limit: 1, nowMs: NOW_MS, leaseUntilMs: NOW_MS + 60_000, exclude: new Set<string>() }
  for (let left = events; left > 0; left -= 1) {
    const answered = store.admitAndClaim?.([next()], request)
    if (answered === undefined || answered instanceof Promise) throw new Error('The memory store answers at once.')
    for (const { id, messageKey, token } of answered.claims)
      await store.settle([{ id, messageKey, token, outcome: 'done' }], NOW_MS)
  }
}

async function measure(count: number): Promise<Measured> {
  const next = freshEvents()
  const heap = (): number => {
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  await fill(await open(1_000), next, 10_000)
  const empty = heap()
  const store = await open(count)
  await fill(store, next, count)
  const bytes = (heap() - empty) / count
  const before = process.cpuUsage()
  await fill(store, next, EVENTS)
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
