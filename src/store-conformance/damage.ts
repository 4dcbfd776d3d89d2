/** What a store does with what was spoilt behind its back: one of 200, at each moment of an event's life. */
import assert from 'node:assert/strict'
import type { Claim, NewEvent } from '../inbox/store.ts'
import { allOf, claim, LEASE_MS, list, loneSample, sample, settlementOf, START_MS } from './samples.ts'
import type { Damage, DamageMoment, Fixture } from './suite.ts'

/** When it is spoilt. */
export const MOMENTS: readonly DamageMoment[] = [
  'while it waits',
  'before a restart',
  'while leased',
  'once settled',
  'once dead',
]

const OTHERS = 197
const LATER = 100
/** More than any number of claims, leases that run out, and prunes that it takes. */
const MOST_ROUNDS = 12
const MARKER = 'what-no-report-may-quote'

/** The first of three reports of one message, among other messages. */
const TARGET_NAME = 'spoilt-1'
const TARGET = sample({ message: 'spoilt', at: 1, raw: Buffer.from(JSON.stringify({ text: MARKER })) })

/** Plays the life of 200 events, one of which is spoilt at that moment, and of 100 that come afterwards. */
export async function checkDamage(fixture: Fixture, damage: Damage, moment: DamageMoment): Promise<void> {
  const { reports } = fixture
  const waits = moment === 'while it waits' || moment === 'before a restart'
  let { open } = fixture
  const followers = [2, 3].map((at) => sample({ message: 'spoilt', at }))
  const others = Array.from({ length: OTHERS }, (_, at) =>
    at % 10 === 0 ? loneSample(`lone ${at}`) : sample({ message: `other ${at}` }),
  )
  const before: readonly NewEvent[] = [...others.slice(0, 100), TARGET, ...followers, ...others.slice(100)]
  const later: readonly NewEvent[] = [
    sample({ message: 'spoilt', at: 4 }),
    ...Array.from({ length: LATER - 1 }, (_, at) => sample({ message: `later ${at}` })),
  ]
  const handed: string[] = []
  /** How often the spoilt one was handed over, by whatever identity is left of it. */
  let runs = 0
  let nowMs = START_MS

  async function end(claims: readonly Claim[]): Promise<void> {
    for (const { id, record } of claims) {
      if (record.report?.status === TARGET_NAME) runs += 1
      else handed.push(id)
    }
    const held = await open.settle(
      claims.map((each) =>
        settlementOf(
          each,
          moment === 'once dead' && each.id === TARGET.id ? { outcome: 'dead', error: 'no' } : { outcome: 'done' },
        ),
      ),
      nowMs,
    )
    assert.equal(held.length, claims.length)
    for (const [index, { id }] of claims.entries())
      if (id !== TARGET.id) assert.equal(held[index], true, 'what was not spoilt is settled')
  }

  await open.admit(before, nowMs)
  if (waits) await fixture.damage(damage.name, TARGET)
  if (moment === 'before a restart') open = await fixture.reopen()
  if (moment === 'while leased') {
    const { claims } = await claim(open, { nowMs, limit: before.length })
    assert.ok(claims.some(({ id }) => id === TARGET.id))
    await fixture.damage(damage.name, TARGET)
    await end(claims)
  }
  if (moment === 'once settled' || moment === 'once dead') {
    await end((await claim(open, { nowMs, limit: before.length })).claims)
    await fixture.damage(damage.name, TARGET)
  }
  await checkList(others)
  const admissions = await open.admit(later, nowMs)
  assert.ok(
    admissions.every((admission) => admission === 'new' || admission === 'late'),
    'what comes afterwards is taken',
  )
  assert.deepEqual(
    await open.admit(later.slice(1), nowMs),
    later.slice(1).map(() => 'duplicate'),
  )

  for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
    for (let found = true; found;) {
      const { claims } = await claim(open, { nowMs })
      await end(claims)
      found = claims.length > 0
    }
    await open.prune(nowMs)
    nowMs += LEASE_MS
  }

  const expected = [...others, ...followers, ...later].map(({ id }) => id)
  assert.deepEqual(handed.toSorted(), expected.toSorted(), 'every other event was handed over once')
  const ofMessage = [...followers, ...later.slice(0, 1)].map(({ id }) => id)
  if (damage.scatters !== true)
    assert.deepEqual(
      handed.filter((id) => ofMessage.includes(id)),
      ofMessage,
      'the rest of its message, in order',
    )
  await checkLetters()
  await checkLatest()
  await checkList([...others, ...later.slice(1)])
  checkReports()

  async function checkLetters(): Promise<void> {
    const letters = await allOf((after) => open.deadLetters({ after, limit: 1 }))
    assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: letters.length }, 'the counts are right')
    const [letter] = letters
    assert.ok(letters.length <= 1, 'at most the spoilt one is dead')
    if (waits) {
      if (damage.leaves === 'whole') assert.deepEqual([runs, letters.length], [1, 0], 'it is handed over all the same')
      if (damage.leaves === 'part' || damage.leaves === 'less')
        assert.deepEqual([runs, letters.length], [0, 1], 'it is a dead letter')
      if (damage.leaves === 'either') assert.equal(runs + letters.length, 1, 'it is handed over, or a dead letter')
      if (damage.leaves === 'nothing') assert.deepEqual([runs, letters.length], [0, 0], 'nothing is left of it')
    }
    if (letter === undefined) return
    if (waits && damage.leaves !== 'either') assert.equal(letter.record.problem, 'damaged')
    if (damage.leaves === 'part') assert.deepEqual(letter.raw, TARGET.raw, 'its bytes are kept')
    assert.equal(await open.resolve(letter.id, 'discard', nowMs), true, 'it can be given up')
    assert.deepEqual(await open.counts(), { unsettled: 0, deadLetters: 0 })
  }

  async function checkList(whole: readonly NewEvent[]): Promise<void> {
    if (open.events === undefined) return
    const listed = await allOf((after) => list(open, { after }))
    const ids = new Set(whole.map(({ id }) => id))
    assert.equal(listed.filter(({ id }) => ids.has(id)).length, whole.length, 'every other event is listed once')
    await list(open, { messageKey: TARGET.messageKey })
    await list(open, { id: TARGET.id })
  }

  async function checkLatest(): Promise<void> {
    const latest = await open.latest(TARGET.messageKey)
    assert.equal(latest?.record.report?.status, 'spoilt-4', 'the latest state goes on')
    for (const { messageKey, record } of others)
      if (record.report !== undefined)
        assert.equal((await open.latest(messageKey))?.record.report?.status, record.report.status)
  }

  function checkReports(): void {
    for (const code of ['event_damaged', 'state_damaged'] as const)
      assert.ok(reports.filter((error) => error.code === code).length <= 1, `${code} is said once`)
    if (waits && (damage.leaves === 'part' || damage.leaves === 'less')) {
      const said = reports.find((error) => error.code === 'event_damaged')
      assert.ok(said?.detail?.includes(TARGET.id), 'it is said which event it is')
    }
    for (const error of reports)
      for (let each: unknown = error; each instanceof Error; each = each.cause)
        assert.ok(!`${each.message} ${String(each.stack)}`.includes(MARKER), 'no report quotes the body')
  }
}
