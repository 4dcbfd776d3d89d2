/** Pruning all the time while events are admitted, handled, tried again and buried takes nothing that is still needed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Claim, NewEvent, Settlement } from 'messaging-webhooks/store'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { sample, START_MS } from '../../../src/store-conformance/samples.ts'

const DAY_MS = 86_400_000
const RETENTION_DAYS = 1
const DEAD_LETTER_DAYS = 3
const DEDUPE_DAYS = 2
const ROUNDS = 60
const MESSAGES_A_ROUND = 20
/** Each round is so much later than the last, so that everything grows old while the test runs. */
const ROUND_MS = DAY_MS / 8

function outcomeOf(claim: Claim, nowMs: number): Settlement {
  const { id, messageKey, token, attempt, record } = claim
  const name = record.report?.status ?? ''
  const held = { id, messageKey, token }
  if (name.endsWith('-dead')) return { ...held, outcome: 'dead', error: 'a test' }
  // Tried again only when everything else of its age is forgotten.
  if (name.endsWith('-again') && attempt === 1)
    return { ...held, outcome: 'retry', dueMs: nowMs + 4 * DAY_MS, error: 'a test' }
  return { ...held, outcome: 'done' }
}

test('under load it removes nothing unsettled, no young dead letter, and no identity before its time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pruning-'))
  const store = await sqliteStore({
    path: join(folder, 'inbox.db'),
    retentionDays: RETENTION_DAYS,
    deadLetterDays: DEAD_LETTER_DAYS,
    dedupeDays: DEDUPE_DAYS,
    synchronous: 'OFF',
  }).open({ onWork() {} })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  let nowMs = START_MS
  let pruned = 0
  const life = { over: false }
  const pruning = (async () => {
    while (!life.over) {
      pruned += await store.prune(nowMs)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  })()

  const admitted: { readonly event: NewEvent; readonly atMs: number }[] = []
  const settled = new Map<string, { readonly atMs: number; readonly outcome: Settlement['outcome'] }>()
  async function handOver(): Promise<void> {
    for (;;) {
      const { claims } = await store.claim({
        limit: 16,
        nowMs,
        // Longer than anything is kept: leases outlive the retention too.
        leaseUntilMs: nowMs + 10 * DAY_MS,
        exclude: new Set(),
      })
      if (claims.length === 0) return
      const settlements = claims.map((claim) => outcomeOf(claim, nowMs))
      for (const { id, raw } of claims) {
        const one = admitted.find(({ event }) => event.id === id)
        expect(one && raw.equals(one.event.raw), 'the bytes of a claim').toBe(true)
      }
      expect(await store.settle(settlements, nowMs)).toEqual(settlements.map(() => true))
      for (const { id, outcome } of settlements) settled.set(id, { atMs: nowMs, outcome })
    }
  }

  for (let round = 0; round < ROUNDS; round += 1) {
    nowMs = START_MS + round * ROUND_MS
    const events = Array.from({ length: MESSAGES_A_ROUND }, (_, at) => {
      const kind = ['done', 'done', 'again', 'dead'][at % 4]
      return sample({ message: `m${round}-${at}`, name: `m${round}-${at}-${kind}` })
    })
    for (const event of events) admitted.push({ event, atMs: nowMs })
    expect(new Set(await store.admit(events, nowMs))).toEqual(new Set(['new']))
    // Every third round stays unhandled for a while.
    if (round % 3 !== 0) await handOver()

    const unsettled = admitted.filter(({ event }) => (settled.get(event.id)?.outcome ?? 'retry') === 'retry')
    const young = [...settled.values()].filter(
      ({ atMs, outcome }) => outcome === 'dead' && nowMs - atMs <= DEAD_LETTER_DAYS * DAY_MS,
    )
    const counts = await store.counts()
    expect(counts.unsettled).toBe(unsettled.length)
    expect(counts.deadLetters).toBeGreaterThanOrEqual(young.length)
    const known = admitted.filter(({ event, atMs }) => {
      const end = settled.get(event.id)
      return end === undefined || end.outcome === 'retry' || nowMs - Math.max(atMs, end.atMs) <= DEDUPE_DAYS * DAY_MS
    })
    const again = await store.admit(
      known.map(({ event }) => event),
      nowMs,
    )
    expect(new Set(again)).toEqual(new Set(['duplicate']))
  }

  nowMs += 5 * DAY_MS
  await handOver()
  expect(await store.counts()).toMatchObject({ unsettled: 0 })
  expect([...settled.values()].filter(({ outcome }) => outcome === 'retry')).toEqual([])
  expect(settled.size).toBe(ROUNDS * MESSAGES_A_ROUND)
  await expect.poll(async () => (await store.counts()).deadLetters).toBe(0)
  life.over = true
  await pruning
  // It had something to do all the while.
  expect(pruned).toBeGreaterThan(ROUNDS * MESSAGES_A_ROUND)
})
