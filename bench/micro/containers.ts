/**
 * Do hand-written containers pay off if members come and go all the time? Each runs next to the built-in one, in a process of its own:
 * `node bench/micro/containers.ts`.
 */
import { getHeapStatistics } from 'node:v8'
import { churningMap, removeMember } from '../../src/runtime/values.ts'
import { answerQuestions, ask } from '../processes/asking.ts'
import { CORES, startPinned } from '../processes/pinned.ts'
import { textOf } from '../report/report.ts'

const EVENTS = 500_000
const AGEING = 1_024
const ROUNDS = 5
/** The number of members in flight while a new one enters and the oldest leaves. */
const IN_FLIGHT = [1, 16, 128, 1_000] as const

/** A member of a container: about as large as an event in flight. */
interface Member {
  readonly key: string
  readonly body: readonly number[]
  before: Member | undefined
  after: Member | undefined
}

interface Container {
  add(member: Member): void
  find(key: string): Member | undefined
  first(): Member | undefined
  remove(member: Member): void
}

/** Hand-written: the earlier containers of the bodies being read, of the dispatcher and of the memory store. */
const CONTAINERS: Readonly<Record<string, () => Container>> = {
  none: () => ({ add() {}, find: () => undefined, first: () => undefined, remove() {} }),
  map() {
    const members = new Map<string, Member>()
    return {
      add: (member) => void members.set(member.key, member),
      find: (key) => members.get(key),
      first: () => members.values().next().value,
      remove: ({ key }) => void members.delete(key),
    }
  },
  'churning map'() {
    const map = churningMap<string, Member>()
    return {
      add: (member) => void map.members.set(member.key, member),
      find: (key) => map.members.get(key),
      first: () => map.members.values().next().value,
      remove: ({ key }) => removeMember(map, key),
    }
  },
  buckets() {
    const buckets: Member[][] = Array.from({ length: 256 }, () => [])
    function bucketOf(key: string): Member[] {
      const last = key.length - 1
      return buckets[(key.charCodeAt(last) * 31 + key.charCodeAt(last - 1)) & 255] ?? []
    }
    return {
      add: (member) => void bucketOf(member.key).push(member),
      find: (key) => bucketOf(key).find((member) => member.key === key),
      first: () => undefined,
      remove(member) {
        const bucket = bucketOf(member.key)
        bucket.splice(bucket.indexOf(member), 1)
      },
    }
  },
  array() {
    const members: Member[] = []
    return {
      add: (member) => void members.push(member),
      find: (key) => members.find((member) => member.key === key),
      first: () => members[0],
      remove: (member) => void members.splice(members.indexOf(member), 1),
    }
  },
  linked() {
    let first: Member | undefined
    let last: Member | undefined
    return {
      add(member) {
        member.before = last
        if (last === undefined) first = member
        else last.after = member
        last = member
      },
      find: () => undefined,
      first: () => first,
      remove(member) {
        const { before, after } = member
        if (before === undefined) first = after
        else before.after = after
        if (after === undefined) last = before
        else after.before = before
        member.before = undefined
        member.after = undefined
      },
    }
  },
  set() {
    const members = new Set<Member>()
    return {
      add: (member) => void members.add(member),
      find: () => undefined,
      first: () => members.values().next().value,
      remove: (member) => void members.delete(member),
    }
  },
}

interface Question {
  readonly container: string
  readonly inFlight: number
}

interface Measured {
  /** CPU time of all threads per event. */
  readonly nanoseconds: number
  readonly mostHeapBytes: number
}

const keyOf = (serial: number): string => Math.imul(serial, 0x9e3779b1).toString(16).padStart(8, '0').repeat(4)

/** Adds a member, looks it up twice, and removes the oldest one. */
function churn(container: Container, inFlight: number, events: number): number {
  const ring: (Member | undefined)[] = new Array<undefined>(inFlight).fill(undefined)
  let most = 0
  for (let serial = 0; serial < events; serial += 1) {
    const member: Member = {
      key: keyOf(serial),
      body: new Array<number>(40).fill(serial),
      before: undefined,
      after: undefined,
    }
    container.find(member.key)
    container.add(member)
    container.first()
    const oldest = ring[serial % inFlight]
    ring[serial % inFlight] = member
    if (oldest !== undefined) {
      container.find(oldest.key)
      container.remove(oldest)
    }
    if (serial % 1_000 === 0) most = Math.max(most, getHeapStatistics().used_heap_size)
  }
  return most
}

function measure({ container: name, inFlight }: Question): Measured {
  const make = CONTAINERS[name]
  if (make === undefined) throw new Error(`Unknown container: ${name}.`)
  churn(make(), inFlight, EVENTS / 10)
  const container = make()
  churn(container, inFlight, AGEING)
  // A member that stays in flight over two collections is old from then on.
  for (let times = 0; times < 3; times += 1) globalThis.gc?.({ type: 'minor' })
  const before = process.cpuUsage()
  const mostHeapBytes = churn(container, inFlight, EVENTS)
  const { user, system } = process.cpuUsage(before)
  return {
    nanoseconds: ((user + system) * 1_000) / EVENTS,
    mostHeapBytes,
  }
}

const middle = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN

async function main(): Promise<void> {
  const rows: string[][] = []
  for (const inFlight of IN_FLIGHT) {
    const samples = new Map<string, Measured[]>(Object.keys(CONTAINERS).map((name) => [name, []]))
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [container, measured] of samples) {
        const child = startPinned(new URL(import.meta.url), ['child'], CORES.server)
        measured.push(await ask<Measured>(child, { container, inFlight }))
        child.disconnect()
      }
    }
    for (const [container, measured] of samples) {
      const of = (field: keyof Measured): number => middle(measured.map((one) => one[field]))
      rows.push([container, String(inFlight), of('nanoseconds').toFixed(0), (of('mostHeapBytes') / 2 ** 20).toFixed(0)])
    }
  }
  const head = ['container', 'in flight', 'ns CPU', 'most MiB']
  console.log(
    textOf({ title: 'Containers whose members come and go', notes: [], tables: [{ head, rows }], data: rows }),
  )
}

if (process.argv[2] === 'child') answerQuestions(async (question) => measure(question as Question))
else await main()
