/** The list of workers: when the leases of workers that it does not have are looked for. */
import { expect, test } from 'vitest'
import { createBeat, type Liveness, type WorkerList } from '../../src/stores/liveness.ts'

const BEAT_MS = 2_000

test('a failed look of a newcomer is made up for by whoever had looked before it came', async () => {
  let nowMs = 1_000_000
  let stored: { readonly liveness: Liveness; readonly version: string } | undefined
  const list: WorkerList = {
    read: () => Promise.resolve({ liveness: stored?.liveness, version: stored?.version, nowMs }),
    write(liveness) {
      stored = { liveness, version: String(Number(stored?.version ?? 0) + 1) }
      return Promise.resolve(true)
    },
  }
  const worker = (process: string, endLeases: () => Promise<boolean>) =>
    createBeat({ list, process, isSure: () => true, endLeases, announce() {} })
  let looks = 0
  const old = worker('old', () => {
    looks += 1
    return Promise.resolve(false)
  })
  await old({ id: 'old', isFirst: true })
  while (looks === 0) {
    nowMs += BEAT_MS
    await old({ id: 'old', isFirst: false })
  }
  nowMs += BEAT_MS / 2
  await worker('new', () => Promise.reject(new Error('The server is away.')))({ id: 'new', isFirst: true })
  nowMs += BEAT_MS / 2
  await old({ id: 'old', isFirst: false })
  expect(looks).toBe(2)
})
