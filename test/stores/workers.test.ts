/** Which leases a heartbeat releases: never those of a worker that lives. */
import { expect, onTestFinished, test } from 'vitest'
import { createHeartbeat, type HeldLease, type Liveness, type WorkerList } from '../../src/stores/liveness.ts'
import { createWorkers } from '../../src/stores/workers.ts'
import { monotonicMs } from '../../src/runtime/clock.ts'
import type { Circumstances, Command } from '../../src/messages/commands.ts'
import { decide } from '../../src/messages/decide.ts'
import { admitting, LONG_MS, sample } from '../../src/store-conformance/samples.ts'
import { gate } from '../support/gate.ts'
import { hostOf } from '../support/stores.ts'

/** A list of workers in memory, with a clock that the test sets, and what they lease. */
function sharedList() {
  const shared = { nowMs: 1_000_000, held: [] as HeldLease[] }
  let stored: { readonly liveness: Liveness; readonly version: string } | undefined
  const list: WorkerList = {
    read: () => Promise.resolve({ liveness: stored?.liveness, version: stored?.version, nowMs: shared.nowMs }),
    write(liveness, version) {
      if (stored?.version !== version) return Promise.resolve(false)
      stored = { liveness, version: `${Number(version ?? 0) + 1}` }
      return Promise.resolve(true)
    },
  }
  return { shared, list, lose: (): void => void (stored = undefined) }
}

const ABOUT: Circumstances = {
  nowMs: 1_000_000,
  trustedMs: 1_000_000,
  worker: undefined,
  retention: { payloadMs: Infinity, deadLetterMs: Infinity, dedupeMs: Infinity },
  isFull: false,
  kept: [],
  payload: undefined,
}

/** Three processes, of which the first goes silent until the second is about to release its leases. */
async function judging() {
  const all = sharedList()
  const { shared, list } = all
  const released: HeldLease[] = []
  let opened = Promise.resolve()
  const heartbeatOf = (process: string) =>
    createHeartbeat({
      list,
      process,
      isSure: () => true,
      leases: async () => {
        await opened
        return shared.held
      },
      release(leases) {
        released.push(...leases)
        return Promise.resolve(leases.length > 0)
      },
      reconcile: () => Promise.resolve(false),
      announce() {},
    })
  const [dying, judge, third] = [heartbeatOf('dying'), heartbeatOf('judge'), heartbeatOf('third')]
  await dying({ id: '1', isFirst: true })
  await judge({ id: '2', isFirst: true })
  // It judges once the other has been silent for long enough.
  for (let beat = 0; beat < 4; beat += 1) {
    shared.nowMs += 2_000
    await judge({ id: '2', isFirst: false })
  }
  shared.held = [OF_THE_DEAD]
  shared.nowMs += 2_000
  return {
    ...all,
    third,
    /** The leases that it releases, if `meanwhile` happens between its writing of the list and its finding of the leases. */
    async releases(meanwhile: () => Promise<unknown>): Promise<readonly HeldLease[]> {
      const { open, opened: later } = gate()
      opened = later
      const slow = judge({ id: '2', isFirst: false })
      await new Promise((resolve) => setImmediate(resolve))
      opened = Promise.resolve()
      await meanwhile()
      released.length = 0
      open()
      expect(await slow).toMatchObject({ hasReleased: true })
      return released
    },
  }
}

const OF_THE_DEAD = { key: 'a', worker: '1' }

test('a heartbeat that is slow to find the leases of the dead leaves those of a worker that entered meanwhile', async () => {
  const { shared, third, releases } = await judging()
  const released = await releases(async () => {
    await third({ id: '3', isFirst: true })
    shared.held = [OF_THE_DEAD, { key: 'b', worker: '3' }]
  })
  expect(released).toEqual([OF_THE_DEAD])
})

test('a heartbeat leaves the leases of the living when the list is lost meanwhile', async () => {
  const { shared, third, lose, releases } = await judging()
  await third({ id: '3', isFirst: true })
  shared.held = [OF_THE_DEAD, { key: 'b', worker: '3' }]
  const released = await releases(async () => {
    lose()
    await third({ id: '4', isFirst: true })
  })
  expect(released).toEqual([OF_THE_DEAD])
})

test('a lease whose answer was lost is given back also when no heartbeat succeeded before the write was over', async () => {
  const { shared, list } = sharedList()
  const commands: Command[] = []
  let lostUntilMs = -Infinity
  const workers = createWorkers({
    parts: [{ list, leases: () => Promise.resolve(shared.held) }],
    partOf: () => 0,
    host: hostOf(),
    async run(asked) {
      commands.push(...asked)
      return asked.map((command) => decide(record ?? undefined, command, ABOUT).answer)
    },
    onSetBack() {},
    lostUntilMs: () => lostUntilMs,
    isRunning: () => false,
    announce() {},
    leaveMs: 1_000,
  })
  onTestFinished(() => {
    shared.held = []
    return workers.leave()
  })
  await workers.begin()
  const worker = workers.nameFor('m') ?? ''
  expect(worker).not.toBe('')
  // The write was over long before the next heartbeat.
  const event = sample({ message: 'm' })
  const { messageKey: key } = event
  const { record } = decide(undefined, admitting(event, LONG_MS), { ...ABOUT, worker })
  shared.held = [{ key, worker }]
  lostUntilMs = monotonicMs() + 5
  const { token } = record?.lease ?? {}
  await expect
    .poll(() => commands, { timeout: 10_000 })
    .toEqual([
      { do: 'read', key },
      { do: 'release', key, worker, token },
    ])
  // Nothing more is looked for, because the write can no longer take effect.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  expect(commands).toHaveLength(2)
})
