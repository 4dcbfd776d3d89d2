/**
 * Forgetting on demand: what may name a person goes, the identities and what orders a message stay. No index has the settled
 * events of a message, so all of one are found by a walk through the table, in steps; an event alone is found by its identity.
 */
import { reportsIn, withoutReports } from '../../inbox/latest.ts'
import { identityIn } from '../../inbox/order.ts'
import { readRecord } from '../../inbox/record.ts'
import {
  isTarget,
  type ForgetRequest,
  type ForgetTarget,
  type ForgottenCounts,
  type KeptEvent,
  type Page,
} from '../../inbox/store.ts'
import { asOurs, type Database } from './database.ts'
import { decodeLatest, digestBytes, encodeLatest } from './encoding.ts'
import { EXPECT_NOTHING } from './damage.ts'
import { DEAD } from './known.ts'
import { END_LEASE } from './settling.ts'
import { blob, cut, cutRowid, integer, prepare, text, type Row } from './statements.ts'

/** A step of the walk takes some tens of milliseconds. */
const ROWS_A_STEP = 5_000

/** Events by their numbers from :after on; of one whose message is gone its identity stands for that. */
const KEPT_EVENTS = /* sql */ `
SELECT CAST(events.seq AS TEXT) AS place, lower(hex(events.id)) AS id, lower(hex(coalesce(messages.key, events.id))) AS key,
  ${cut('admitted_at')} AS admitted_at, record, raw
FROM events LEFT JOIN messages ON messages.rowid = events.message
WHERE events.seq > :after ORDER BY events.seq LIMIT :limit
`

/** Latest states likewise: they outlive the payloads of their events. */
const KEPT_STATES = /* sql */ `
SELECT CAST(rowid AS TEXT) AS place, lower(hex(key)) AS key, latest, coalesce(${cut('sent_at')}, 0) AS sent_at, expected FROM messages
WHERE rowid > :after ORDER BY rowid LIMIT :limit
`

const FIND_MESSAGE = /* sql */ `
SELECT rowid, latest, expected IS NOT NULL AS is_expected FROM messages WHERE key = :key
`

/** What a target may mean of the event with this identity. */
const FOUND = `seq, ${cutRowid('message')} AS message, state, ${cut('token')} AS token, record IS NOT NULL OR raw IS NOT NULL AS kept`

const FIND_EVENT = /* sql */ `
SELECT ${FOUND} FROM events WHERE id = :id
`

/** Where a step of the walk that begins at :after ends. */
const END_OF_STEP = /* sql */ `
SELECT CAST(max(seq) AS TEXT) AS place, count(*) AS rows FROM (
  SELECT seq FROM events WHERE seq > :after AND seq <= :last ORDER BY seq LIMIT ${ROWS_A_STEP}
)
`

const LAST_EVENT = /* sql */ `
SELECT CAST(coalesce(max(seq), 0) AS TEXT) AS place FROM events
`

/** Those of these messages (a list of numbers as JSON) between two places. */
const FIND_EVENTS = /* sql */ `
SELECT ${FOUND} FROM events
WHERE seq > :after AND seq <= :upTo AND message IN (SELECT value FROM json_each(:messages))
  AND (state <> 1 OR record IS NOT NULL OR raw IS NOT NULL OR error IS NOT NULL)
`

/** Nobody settles it any more, whatever token they hold. */
const FORGET_EVENT = /* sql */ `
UPDATE events
SET ended_at = CASE WHEN state = 1 THEN ended_at ELSE :now END, state = 1, token = 0, error = NULL, record = NULL, raw = NULL
WHERE seq = :seq
`

const FORGET_STATE = /* sql */ `
UPDATE messages SET latest = :latest WHERE rowid = :message
`

/** The walk through the events comes first, then that through the messages. */
const FIRST_EVENT = `e${-(2n ** 63n)}`
const FIRST_MESSAGE = `m${-(2n ** 63n)}`

export interface Forgetting {
  kept(page: { readonly after: string | undefined; readonly limit: number }): Page<KeptEvent>
  forget(request: ForgetRequest, nowMs: number): ForgottenCounts
  eraseTraces(): void
}

export function createForgetting({ db, transaction }: Database): Forgetting {
  const keptEvents = prepare(db, KEPT_EVENTS)
  const keptStates = prepare(db, KEPT_STATES)
  const findMessage = prepare(db, FIND_MESSAGE)
  const findEvent = prepare(db, FIND_EVENT)
  const findEvents = prepare(db, FIND_EVENTS)
  const endOfStep = prepare(db, END_OF_STEP)
  const lastEvent = prepare(db, LAST_EVENT)
  const forgetEvent = prepare(db, FORGET_EVENT)
  const forgetState = prepare(db, FORGET_STATE)
  const expectNothing = prepare(db, EXPECT_NOTHING)
  const endLease = prepare(db, END_LEASE)

  function forgetOne(found: Row, { dryRun }: ForgetRequest, nowMs: number): ForgottenCounts {
    const state = integer(found, 'state')
    if (!dryRun) {
      forgetEvent.run({ seq: integer(found, 'seq'), now: nowMs })
      if (state === 0) endLease.run({ message: integer(found, 'message'), token: integer(found, 'token') })
    }
    const unsettled = Number(state === 0)
    return { events: integer(found, 'kept'), unsettled, deadLetters: Number(state === DEAD), states: 0 }
  }

  function forgetStateOf({ messageKey, ids }: ForgetTarget, dryRun: boolean): number {
    const row = findMessage.get({ key: digestBytes(messageKey) })
    if (row === undefined) return 0
    const isExpected = integer(row, 'is_expected') === 1 && isTarget({ messageKey, ids }, messageKey)
    if (isExpected && !dryRun) expectNothing.run({ message: integer(row, 'rowid') })
    const bytes = blob(row, 'latest')
    if (bytes === undefined) return Number(isExpected)
    const latest = decodeLatest(bytes)
    const left = withoutReports(latest, (id) => isTarget({ messageKey, ids }, id))
    // What cannot be read is made anew of the events, so it goes with all of them.
    if (latest === undefined ? ids !== undefined : left === latest) return Number(isExpected)
    if (!dryRun) forgetState.run({ message: integer(row, 'rowid'), latest: encodeLatest(left) })
    return 1
  }

  function rowidsOf(targets: readonly ForgetTarget[]): readonly number[] {
    const rows = targets
      .filter(({ ids }) => ids === undefined)
      .map(({ messageKey }) => findMessage.get({ key: digestBytes(messageKey) }))
    return rows.flatMap((row) => (row === undefined ? [] : integer(row, 'rowid')))
  }

  /** What is found without a walk. */
  function forgetKnown(request: ForgetRequest, nowMs: number): readonly ForgottenCounts[] {
    const { targets, dryRun } = request
    const rows = targets.flatMap(({ ids = [] }) => ids.map((id) => findEvent.get({ id: digestBytes(id) })))
    return [
      ...rows.flatMap((row) => (row === undefined ? [] : forgetOne(row, request, nowMs))),
      ...targets.map((target) => ({ ...NOTHING, states: forgetStateOf(target, dryRun) })),
    ]
  }

  /** What comes after the walk has begun is behind its last place. */
  function forgetStep(request: ForgetRequest, nowMs: number): ForgottenCounts {
    const messages = rowidsOf(request.targets)
    const isFirst = request.after === undefined
    const known = isFirst ? sumOf(forgetKnown(request, nowMs)) : NOTHING
    if (messages.length === 0) return known
    const [after = 0n, last = 0n] = isFirst ? [-(2n ** 63n), placeIn(lastEvent.get())] : placesIn(request.after ?? '')
    const end = endOfStep.get({ after, last })
    const rows = end === undefined ? 0 : integer(end, 'rows')
    if (rows === 0) return known
    const upTo = placeIn(end)
    const found = findEvents.all({ after, upTo, messages: JSON.stringify(messages) })
    const sum = sumOf([known, ...found.map((row) => forgetOne(row, request, nowMs))])
    return rows < ROWS_A_STEP ? sum : { ...sum, next: `${upTo}.${last}` }
  }

  return {
    kept({ after = FIRST_EVENT, limit }) {
      const place = BigInt(after.slice(1))
      const ofEvents = after.startsWith('e')
      const rows = (ofEvents ? keptEvents : keptStates).all({ after: place, limit })
      const items = rows.flatMap(ofEvents ? readEvent : readState)
      const last = rows.at(-1)
      if (last !== undefined && rows.length === limit)
        return { items, next: `${after.charAt(0)}${text(last, 'place')}` }
      return ofEvents ? { items, next: FIRST_MESSAGE } : { items }
    },
    forget: (request, nowMs) => transaction(true, nowMs, () => forgetStep(request, nowMs)),
    eraseTraces() {
      // Older versions of a row are left in the free room of pages, even with \`secure_delete\`, where a page was split.
      try {
        db.exec('VACUUM')
        db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch (error) {
        throw asOurs(error)
      }
    },
  }
}

const NOTHING: ForgottenCounts = { events: 0, unsettled: 0, deadLetters: 0, states: 0 }

function sumOf(counts: readonly ForgottenCounts[]): ForgottenCounts {
  return counts.reduce(
    (sum, each) => ({
      events: sum.events + each.events,
      unsettled: sum.unsettled + each.unsettled,
      deadLetters: sum.deadLetters + each.deadLetters,
      states: sum.states + each.states,
    }),
    NOTHING,
  )
}

function placeIn(row: Row | undefined): bigint {
  return row === undefined ? 0n : BigInt(text(row, 'place'))
}

function placesIn(after: string): readonly bigint[] {
  return after.split('.').map(BigInt)
}

function readEvent(row: Row): readonly KeptEvent[] {
  const raw = blob(row, 'raw')
  const json = blob(row, 'record')
  if (raw === undefined && json === undefined) return []
  const place = { messageKey: text(row, 'key'), id: text(row, 'id'), atMs: integer(row, 'admitted_at') }
  return [{ ...place, record: readRecord(json), raw }]
}

function readState(row: Row): readonly KeptEvent[] {
  const bytes = blob(row, 'latest')
  const messageKey = text(row, 'key')
  const sent = blob(row, 'expected')
  const ofSend =
    sent === undefined
      ? []
      : [{ messageKey, id: messageKey, atMs: integer(row, 'sent_at'), record: undefined, raw: sent }]
  const reports = reportsIn(bytes && decodeLatest(bytes)).map(({ order, record }) => {
    return { messageKey, id: identityIn(order), atMs: record.receivedAtMs, record, raw: undefined }
  })
  return [...ofSend, ...reports]
}
