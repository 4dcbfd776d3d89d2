/** Corrupts stored data behind the store's back, at each stage of an event's life: one event of 200 is corrupted. */
import assert from 'node:assert/strict'
import type { Claim, NewEvent } from 'messaging-webhooks/store'
import type { StoreUnderTest } from 'messaging-webhooks/store-conformance'
import { test } from 'vitest'
import {
  admit,
  allOf,
  claim,
  LEASE_MS,
  list,
  loneSample,
  sample,
  settlementOf,
  START_MS,
} from '../../src/store-conformance/samples.ts'
import { DEAD, deadLettersOf, DONE, runOnFreshStore, type Fixture } from '../../src/store-conformance/suite.ts'

type Moment = (typeof MOMENTS)[number]

/** The corrupted event, and its message. */
export type DamageTarget = Pick<NewEvent, 'id' | 'messageKey'>

/** A stored field and its corruption by another tool, a failing disk or a newer version. */
export interface Damage {
  /** For example `events.record: not JSON`. */
  readonly name: string
  /**
   * What remains of a waiting event. `whole`: it is dispatched unchanged. `part`: it becomes a dead letter that keeps its
   * bytes. `less`: a dead letter without them. `nothing`: it is gone. `either`: it is dispatched or becomes a dead letter.
   */
  readonly leaves: 'whole' | 'part' | 'less' | 'nothing' | 'either'
  /** When the field exists. Default: at each moment. */
  readonly at?: readonly Moment[] | undefined
  /** Later events of the message lose their order, so they may be dispatched out of order. */
  readonly scatters?: true
}

interface DamagedStore<D extends Damage> extends StoreUnderTest {
  /** Corrupts this event or its message, bypassing the open store. */
  readonly damage: (damage: D, target: DamageTarget) => unknown
}

export interface SqlDamage extends Damage {
  /** With placeholders such as `:id` for the values of the event. */
  readonly sql: string
}

/** The largest number of a column of 64 bits. */
export const HUGE = '9223372036854775807'

/** The record of an event of a type that this version does not know. */
export const NEWER_RECORD = JSON.stringify({
  project: 'My Shop',
  kind: 'status',
  timestamp: 1_700_000_001,
  timestampSource: 'carrier',
  receivedAtMs: 0,
  proof: 'both',
  report: { type: 'message.resent', shape: 'sms', messageId: 'damage', channel: 'sms', status: 'damage-1' },
})

/** With FULL=1 each damage at each moment; without, each while its event waits, and every sixth of the others in turn. */
const FULL = process.env['FULL'] === '1'

/** `concurrent`: for a store whose tests spend most of their time waiting for the disk of a server. */
export function testDamages<D extends Damage>(options: {
  readonly makeStore: () => DamagedStore<D>
  readonly damages: readonly D[]
  readonly concurrent?: boolean
}): void {
  const { makeStore, damages, concurrent = false } = options
  let others = 0
  for (const damage of damages)
    for (const moment of damage.at ?? MOMENTS) {
      if (!FULL && moment !== 'while it waits' && (others += 1) % 6 !== 0) continue
      test(`${damage.name}, ${moment}`, { timeout: 120_000, concurrent }, async () => {
        const store = makeStore()
        await runOnFreshStore(
          () => store,
          (fixture) => checkDamage(fixture, store.damage, damage, moment),
        )
      })
    }
}

const MOMENTS = ['while it waits', 'before a restart', 'while leased', 'once settled', 'once dead'] as const

const OTHERS = 197
const LATER = 100
/** More rounds than the claims, expired leases and prunes need. */
const MOST_ROUNDS = 12
const SECRET = 'what-no-report-may-quote'

/** The first of three reports of one message, among other messages. */
const TARGET = sample({ message: 'corrupt', at: 1, raw: Buffer.from(JSON.stringify({ text: SECRET })) })

/** Plays the life of 200 events and of 100 later ones. Corrupts one of the 200 at this moment. */
async function checkDamage<D extends Damage>(
  fixture: Fixture,
  corrupt: DamagedStore<D>['damage'],
  damage: D,
  moment: Moment,
): Promise<void> {
  const { leaves, scatters } = damage
  const isWaiting = moment === 'while it waits' || moment === 'before a restart'
  let { open } = fixture
  const followers = [2, 3].map((at) => sample({ message: 'corrupt', at }))
  const others = Array.from({ length: OTHERS }, (_, at) =>
    at % 10 === 0 ? loneSample(`lone ${at}`) : sample({ message: `other ${at}` }),
  )
  const last = sample({ message: 'corrupt', at: 4 })
  const later = Array.from({ length: LATER - 1 }, (_, at) => sample({ message: `later ${at}` }))
  const run: string[] = []
  /** Runs of the target, under whatever identity is left. */
  let targetRuns = 0
  let nowMs = START_MS

  async function end(claims: readonly Claim[]): Promise<void> {
    for (const { id, record } of claims) {
      if (record.report?.status === TARGET.record.report?.status) targetRuns += 1
      else run.push(id)
    }
    const outcomeOf = ({ id }: Claim) => (moment === 'once dead' && id === TARGET.id ? DEAD : DONE)
    const held = await open.settle(
      claims.map((each) => settlementOf(each, outcomeOf(each))),
      nowMs,
    )
    for (const [index, { id }] of claims.entries())
      if (id !== TARGET.id) assert.equal(held[index], true, 'every other event is settled')
  }

  await admit(open, [...others.slice(0, 100), TARGET, ...followers, ...others.slice(100)])
  const { claims } = isWaiting ? { claims: [] } : await claim(open, { limit: OTHERS + 3 })
  assert.ok(isWaiting || claims.some(({ id }) => id === TARGET.id))
  if (moment === 'once settled' || moment === 'once dead') await end(claims)
  await corrupt(damage, TARGET)
  if (moment === 'before a restart') open = await fixture.reopen()
  if (moment === 'while leased') await end(claims)
  await checkList(others)
  const admissions = await admit(open, [last, ...later])
  assert.ok(admissions.every((admission) => admission === 'new' || admission === 'late'))
  assert.deepEqual(new Set(await admit(open, later)), new Set(['duplicate']))

  for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
    for (let isMore = true; isMore;) {
      const due = (await claim(open, { nowMs })).claims
      await end(due)
      isMore = due.length > 0
    }
    await open.prune(nowMs)
    nowMs += LEASE_MS
  }

  const expected = [...others, ...followers, last, ...later].map(({ id }) => id)
  assert.deepEqual(run.toSorted(), expected.toSorted(), 'every other event ran once')
  const ofMessage = [...followers, last].map(({ id }) => id)
  if (scatters !== true)
    assert.deepEqual(
      run.filter((id) => ofMessage.includes(id)),
      ofMessage,
      'the rest of its message ran in order',
    )
  await checkLetters()
  for (const { messageKey, record } of [last, ...others])
    if (record.report !== undefined)
      assert.equal((await open.latest(messageKey))?.record.report?.status, record.report.status)
  await checkList([...others, ...later])
  checkReports()

  async function checkLetters(): Promise<void> {
    const letters = await deadLettersOf(open, 1)
    const [letter] = letters
    assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: letters.length }, 'the counts are right')
    assert.ok(letters.length <= 1, 'at most the target is dead')
    const left = [targetRuns, letters.length]
    if (isWaiting && leaves === 'either') assert.equal(targetRuns + letters.length, 1, 'it ran or is a dead letter')
    else if (isWaiting) assert.deepEqual(left, leaves === 'whole' ? [1, 0] : leaves === 'nothing' ? [0, 0] : [0, 1])
    if (letter === undefined) return
    if (isWaiting && leaves !== 'either') assert.equal(letter.record.problem, 'damaged')
    if (leaves === 'part') assert.deepEqual(letter.raw, TARGET.raw, 'its bytes are kept')
    assert.equal(await open.resolve(letter.id, 'discard', nowMs), true)
    assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
  }

  async function checkList(whole: readonly NewEvent[]): Promise<void> {
    const ids = new Set(whole.map(({ id }) => id))
    const listed = await allOf((after) => list(open, { after }))
    assert.equal(listed.filter(({ id }) => ids.has(id)).length, whole.length, 'every other event is listed once')
    for (const one of [{ messageKey: TARGET.messageKey }, { id: TARGET.id }]) await list(open, one)
  }

  function checkReports(): void {
    const coded = (code: string) => fixture.reports.filter((error) => error.code === code)
    for (const code of ['event_damaged', 'state_damaged'])
      assert.ok(coded(code).length <= 1, `${code} is reported once`)
    if (isWaiting && (leaves === 'part' || leaves === 'less'))
      assert.ok(coded('event_damaged')[0]?.detail?.includes(TARGET.id), 'the report names the event')
    for (const error of fixture.reports)
      for (let each: unknown = error; each instanceof Error; each = each.cause)
        assert.ok(!`${each.message} ${String(each.stack)}`.includes(SECRET), 'no report quotes the body')
  }
}
