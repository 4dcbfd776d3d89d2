/** Which leases a heartbeat releases: never those of a worker that lives. */
import { expect, onTestFinished, test } from 'vitest'
import { createHeartbeat, type HeldLease, type Liveness, type WorkerList } from '../../src/stores/liveness.ts'
import { createWorkers } from '../../src/stores/workers.ts'
import { monotonicMs } from '../../src/runtime/clock.ts'
import type { Command } from '../../src/messages/commands.ts'
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
  return { shared, list }
}

test('a heartbeat that is slow to find the leases of the dead leaves those of a worker that entered meanwhile', async () => {
  const { shared, list } = sharedList()
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
  const [judge, dying, entering] = ['judge', 'dying', 'entering'].map(heartbeatOf)
  if (judge === undefined || dying === undefined || entering === undefined) throw new Error('Three workers.')
  await dying({ id: '1', isFirst: true })
  await judge({ id: '2', isFirst: true })
  // One goes silent, and the other judges once it has been silent for long enough.
  for (let beat = 0; beat < 4; beat += 1) {
    shared.nowMs += 2_000
    await judge({ id: '2', isFirst: false })
  }
  const ofTheDead = { key: 'a', worker: '1' }
  shared.held = [ofTheDead]
  shared.nowMs += 2_000
  const { open, opened: later } = gate()
  opened = later
  const slow = judge({ id: '2', isFirst: false })
  await new Promise((resolve) => setImmediate(resolve))
  // Meanwhile another worker enters, and leases.
  opened = Promise.resolve()
  await entering({ id: '3', isFirst: true })
  shared.held = [ofTheDead, { key: 'b', worker: '3' }]
  released.length = 0
  open()
  expect(await slow).toMatchObject({ hasReleased: true })
  expect(released).toEqual([ofTheDead])
})

test('a lease whose answer was lost is given back also when no heartbeat succeeded before the write was over', async () => {
  const { shared, list } = sharedList()
  const commands: Command[] = []
  let lostUntilMs = -Infinity
  const workers = createWorkers({
    parts: [{ list, leases: () => Promise.resolve(shared.held) }],
    partOf: () => 0,
    host: hostOf(),
    run(asked) {
      commands.push(...asked)
      return Promise.resolve([])
    },
    onSetBack() {},
    lostUntilMs: () => lostUntilMs,
    isRunning: () => false,
    announce() {},
    leaveMs: 1_000,
  })
  onTestFinished(() => workers.leave())
  await workers.begin()
  const worker = workers.nameFor('m') ?? ''
  expect(worker).not.toBe('')
  // The write was over long before the next heartbeat.
  shared.held = [{ key: 'm', worker }]
  lostUntilMs = monotonicMs() + 5
  await expect.poll(() => commands, { timeout: 10_000 }).toEqual([{ do: 'read', key: 'm' }])
  // Nothing more is looked for, because the write can no longer take effect.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  expect(commands).toHaveLength(1)
})
