/** Common test steps: claim the only event, settle, make dead letters, wait. */
import assert from 'node:assert/strict'
import { systemClock } from '../runtime/clock.ts'
import type { Claim, ClaimRequest, NewEvent, OpenStore, StoredDeadLetter } from '../inbox/store.ts'
import { admit, allOf, claim, namesOf, settlementOf, START_MS, type Outcome } from './samples.ts'

export const DONE = { outcome: 'done' } as const
export const DEAD = { outcome: 'dead', error: 'the reason' } as const

/** Claims, and returns the names. */
export async function claimNames(open: OpenStore<object>, request: Partial<ClaimRequest> = {}) {
  return namesOf((await claim(open, request)).claims)
}

/** Claims the only due event. */
export async function claimOne(open: OpenStore<object>, request: Partial<ClaimRequest> = {}): Promise<Claim> {
  const { claims } = await claim(open, request)
  const [claimed] = claims
  assert.ok(claimed !== undefined && claims.length === 1, `one event is due, not ${claims.length}`)
  return claimed
}

/** Settles each claim with this outcome. Returns whether each lease still held. */
export async function settleAll(
  open: OpenStore<object>,
  claims: readonly Claim[],
  outcome: Outcome = DONE,
  nowMs = START_MS,
) {
  return open.settle(
    claims.map((claimed) => settlementOf(claimed, outcome)),
    nowMs,
  )
}

export async function deadLettersOf(open: OpenStore<object>, limit = 100): Promise<readonly StoredDeadLetter[]> {
  return allOf((after) => open.deadLetters({ after, limit }))
}

/** Admits these events and makes them dead letters; of one message only the first. */
export async function die(open: OpenStore<object>, events: readonly NewEvent[], nowMs = START_MS): Promise<void> {
  await admit(open, events, nowMs)
  await settleAll(open, (await claim(open, { nowMs })).claims, DEAD, nowMs)
}

const LOOK_MS = 5
const LOOKS = 2_000

/** Waits for an asynchronous effect, long enough for a busy machine. */
export async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let looks = 0; looks < LOOKS && !isTrue(); looks += 1)
    await new Promise<void>((resolve) => void systemClock().setTimer(resolve, LOOK_MS, true))
  assert.ok(isTrue(), what)
}
