/**
 * What the memory store remembers of settled messages, beside the same without lru-cache: CPU for an event, and bytes of heap
 * for a message known. `node bench/micro/known.ts`
 */
import { createKnownMessages } from '../../src/stores/memory/known.ts'
import { NEW_MESSAGE, packMessage, type Known, type Message } from '../../src/stores/memory/message.ts'
import { answerQuestions, ask } from '../processes/asking.ts'
import { CORES, startPinned } from '../processes/pinned.ts'
import { textOf } from '../report/report.ts'
import { freshEvents } from './events.ts'

const ROUNDS = 5
const KNOWN = [100_000, 1_000_000] as const
const EVENTS = 300_000

type Structure = Pick<ReturnType<typeof createKnownMessages>, 'find' | 'activate' | 'settle'>

/**
 * What there was before: a message keeps its place in one map when it is settled, and the oldest is found by an iterator of
 * the older of two maps, for one that is kept keeps every table that a growing map left behind. Each message is one event.
 */
function twoMaps({ maxEvents }: { readonly maxEvents: number }): Structure {
  let older = new Map<string, Known>()
  let newer = new Map<string, Known>()
  let walk = older.entries()
  let oldest: string | undefined
  let events = 0

  function forgetOldest(): void {
    while (events > maxEvents) {
      if (oldest !== undefined && typeof older.get(oldest) === 'string') {
        older.delete(oldest)
        events -= 1
      }
      const next = walk.next()
      oldest = next.value?.[0]
      if (next.done !== true) continue
      older = newer
      newer = new Map()
      walk = older.entries()
    }
  }

  return {
    find: (key) => newer.get(key) ?? older.get(key),
    activate(key, _, nowMs) {
      const message: Message = { ...NEW_MESSAGE, key, activeSinceMs: nowMs }
      newer.set(key, message)
      return message
    },
    settle(message, nowMs) {
      const place = newer.has(message.key) ? newer : older
      place.set(message.key, packMessage(message, nowMs))
      events += 1
      forgetOldest()
    },
  }
}

const STRUCTURES = {
  'lru-cache': (maxEvents: number) => createKnownMessages({ maxEvents, lifeMs: Infinity }),
  'two maps': (maxEvents: number) => twoMaps({ maxEvents }),
} as const satisfies Readonly<Record<string, (maxEvents: number) => Structure>>

interface Measured {
  readonly nanoseconds: number
  readonly bytes: number
}

function measure(structure: keyof typeof STRUCTURES, count: number): Measured {
  const next = freshEvents()
  function fill(known: Structure, events: number): void {
    for (let left = events; left > 0; left -= 1) {
      const { id, messageKey, order, record } = next()
      known.find(messageKey, left)
      const message = known.activate(messageKey, undefined, left)
      message.settledIds = [id]
      message.handed = order
      message.latest = { order, record, finals: [{ order, record }] }
      known.settle(message, left)
    }
  }
  const heap = (): number => {
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  fill(STRUCTURES[structure](1_000), 10_000)
  const empty = heap()
  const known: Structure = STRUCTURES[structure](count)
  fill(known, count)
  const bytes = (heap() - empty) / count
  const before = process.cpuUsage()
  fill(known, EVENTS)
  const { user, system } = process.cpuUsage(before)
  return { nanoseconds: ((user + system) * 1_000) / EVENTS, bytes }
}

const middle = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN

async function main(): Promise<void> {
  const rows: string[][] = []
  for (const count of KNOWN) {
    const samples = new Map<string, Measured[]>(Object.keys(STRUCTURES).map((name) => [name, []]))
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [structure, measured] of samples) {
        const child = startPinned(new URL(import.meta.url), ['child'], CORES.server)
        measured.push(await ask<Measured>(child, { structure, count }))
        child.disconnect()
      }
    }
    for (const [structure, measured] of samples)
      rows.push([
        structure,
        String(count),
        middle(measured.map(({ nanoseconds }) => nanoseconds)).toFixed(0),
        middle(measured.map(({ bytes }) => bytes)).toFixed(0),
      ])
  }
  const head = ['structure', 'known', 'ns CPU an event', 'bytes a message known']
  console.log(textOf({ title: 'What is known of settled messages', notes: [], tables: [{ head, rows }], data: rows }))
}

if (process.argv[2] === 'child')
  answerQuestions(async (question) => {
    const { structure, count } = question as { readonly structure: keyof typeof STRUCTURES; readonly count: number }
    return measure(structure, count)
  })
else await main()
