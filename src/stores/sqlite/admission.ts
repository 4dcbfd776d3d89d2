/**
 * Taking events in, each with its message's latest state and gap decision, and where it is asked for under a lease at
 * once: then a new message is written by two statements, and admission and claim would take eight.
 */
import { MessagingWebhooksError } from '../../errors.ts'
import { mergeLatest, type MessageLatest } from '../../inbox/latest.ts'
import { isLate } from '../../inbox/order.ts'
import { readRecord } from '../../inbox/record.ts'
import type { KnownExpectation } from '../../inbox/expected.ts'
import type { Admission, ClaimRequest } from '../../inbox/store.ts'
import { leasableOf, NO_LEASE, type AdmittedAndLeased } from '../leasable.ts'
import type { Database } from './database.ts'
import type { DamageControl } from './damage.ts'
import { digestBytes, encodeFirst, encodeLatest, type EncodedEvent } from './encoding.ts'
import {
  FIND_EVENT,
  FIND_MESSAGE,
  handedWith,
  readMessage,
  SCHEDULE_MESSAGE,
  UNKNOWN_MESSAGE,
  type MessageRow,
} from './known.ts'
import { prepare } from './statements.ts'

/** How often the file is looked for at its path. */
const CHECK_FILE_EVERY_MS = 1_000

/** Admits one event whose identity is not known: waiting, or in its first attempt with the token of its lease. */
const INSERT_EVENT = /* sql */ `
INSERT INTO events
  (id, message, ord, final, awaits, due, late, attempts, token, replay, state, admitted_at, record, raw)
VALUES (:id, :message, :ord, :final, :awaits, :due, :late, :attempts, :token, 0, 0, :now, :record, :raw)
`

/** Enters a message that was not known, with its first event waiting or leased. */
const INSERT_MESSAGE = /* sql */ `
INSERT INTO messages (key, steps, handed, handed_open, token, lease_token, holder, latest, due)
VALUES (:key, :steps, :handed, :handedOpen, :token, :leaseToken, :holder, :latest, :due)
`

/** A message of which nothing waited has an event again, waiting or leased. */
const ROUSE_MESSAGE = /* sql */ `
UPDATE messages
SET steps = :steps, handed = :handed, handed_open = :handedOpen, token = :token, lease_token = :leaseToken,
  holder = :holder, latest = :latest, due = :due
WHERE rowid = :message
`

/** Writes what an admission changed: the steps seen and the latest state. */
const UPDATE_MESSAGE = /* sql */ `
UPDATE messages SET steps = :steps, latest = :latest WHERE rowid = :message
`

/** What waited for a step that has now been seen is due; a retry keeps its time. */
const CLOSE_GAP = /* sql */ `
UPDATE events SET due = min(due, :now)
WHERE message = :message AND state = 0 AND awaits = :step AND attempts = 0
`

interface Admitting {
  admit(events: readonly EncodedEvent[], nowMs: number): readonly Admission[]
  admitAndClaim(events: readonly EncodedEvent[], request: ClaimRequest): AdmittedAndLeased
}

interface Admitted {
  readonly admission: Admission
  /** Of its lease, or `NO_LEASE`. */
  readonly token: number
  readonly expected?: KnownExpectation | undefined
}

const DUPLICATE: Admitted = { admission: 'duplicate', token: NO_LEASE }

/** `holder` says under whose name to lease; null for nobody's. */
export function createAdmission(
  { db, transaction, file }: Database,
  holder: () => number | null,
  damage: DamageControl,
): Admitting {
  const insertEvent = prepare(db, INSERT_EVENT)
  const findEvent = prepare(db, FIND_EVENT)
  const findMessage = prepare(db, FIND_MESSAGE)
  const insertMessage = prepare(db, INSERT_MESSAGE)
  const rouseMessage = prepare(db, ROUSE_MESSAGE)
  const updateMessage = prepare(db, UPDATE_MESSAGE)
  const closeGap = prepare(db, CLOSE_GAP)
  const scheduleMessage = prepare(db, SCHEDULE_MESSAGE)
  let fileCheckedMs = -Infinity

  function checkFileNowAndThen(nowMs: number): void {
    if (Math.abs(nowMs - fileCheckedMs) < CHECK_FILE_EVERY_MS) return
    if (file.checkPath()) throw new MessagingWebhooksError('store_replaced')
    fileCheckedMs = nowMs
  }

  /** Where `leaseUntilMs` is given, the event is leased if nothing stands against it. */
  function admitOne(event: EncodedEvent, nowMs: number, leaseUntilMs: number | undefined): Admitted {
    const id = digestBytes(event.id)
    if (findEvent.get({ id }) !== undefined) return DUPLICATE
    const key = digestBytes(event.messageKey)
    const row = findMessage.get({ key })
    const found = row && readMessage(row)
    const known = found ?? UNKNOWN_MESSAGE
    const { order, final, step, awaits } = event
    const late = isLate(event, known)
    const waits = !late && awaits !== 0 && (known.steps & awaits) === 0
    const due = waits ? event.gapUntilMs : nowMs
    const leased = leaseUntilMs !== undefined && !waits && known.idle
    const token =
      known.token < Number.MAX_SAFE_INTEGER || found === undefined ? known.token : damage.tokenAfter(found.message)
    const leaseToken = leased ? token + 1 : NO_LEASE
    const steps = known.steps | step
    const latest = latestWith(event, found === undefined ? undefined : latestOf(found, event.messageKey))
    let message = found?.message ?? 0
    if (known.idle) {
      const roused = {
        steps,
        latest,
        ...(leased ? handedWith(known, order, final) : { handed: known.handed, handedOpen: known.handedOpen }),
        token: leased ? leaseToken : token,
        leaseToken,
        holder: leased ? holder() : null,
        due: leased ? leaseUntilMs : due,
      }
      if (found === undefined) message = Number(insertMessage.run({ key, ...roused }).lastInsertRowid)
      else rouseMessage.run({ message, ...roused })
    } else if (order !== '' || step !== 0) {
      updateMessage.run({ message, steps, latest })
    }
    insertEvent.run({
      id,
      message,
      ord: order,
      final: Number(final),
      awaits,
      due,
      late: Number(late),
      attempts: Number(leased),
      token: leaseToken,
      now: nowMs,
      record: event.record,
      raw: event.raw,
    })
    if (found !== undefined && !known.idle) joinOthers(found, step, nowMs)
    const admission = late ? 'late' : 'new'
    if (found?.expected === undefined || !leased) return { admission, token: leaseToken }
    return { admission, token: leaseToken, expected: damage.expectedOf(message, found.expected) }
  }

  /** An event of a message of which others wait: it may come before them, or be what they wait for. */
  function joinOthers({ message, held }: MessageRow, step: number, nowMs: number): void {
    if (step !== 0) closeGap.run({ message, step, now: nowMs })
    if (!held) scheduleMessage.run({ message })
  }

  function latestOf({ message, latest }: MessageRow, messageKey: string): MessageLatest | undefined {
    if (latest !== 'damaged') return latest
    damage.restored('messages.latest', `message ${messageKey}`)
    return damage.latestOf(message)
  }

  function admitAll(
    events: readonly EncodedEvent[],
    nowMs: number,
    leaseUntilMs: (index: number) => number | undefined,
  ): readonly Admitted[] {
    checkFileNowAndThen(nowMs)
    if (events.length === 0) return []
    return transaction(true, nowMs, () => events.map((event, index) => admitOne(event, nowMs, leaseUntilMs(index))))
  }

  return {
    admit: (events, nowMs) => admitAll(events, nowMs, () => undefined).map(({ admission }) => admission),
    admitAndClaim(events, request) {
      const { nowMs, leaseUntilMs } = request
      const leasable = leasableOf(events, request)
      const admitted = admitAll(events, nowMs, (index) => (leasable[index] === true ? leaseUntilMs : undefined))
      const tokens = admitted.map(({ token }) => token)
      const admissions = admitted.map(({ admission }) => admission)
      if (!admitted.some(({ expected }) => expected !== undefined)) return { admissions, tokens }
      return { admissions, tokens, expected: admitted.map(({ expected }) => expected) }
    },
  }
}

/** The latest state, joined by this event. Most messages have their first one here, which is not even read. */
function latestWith(event: EncodedEvent, latest: MessageLatest | undefined): Buffer | null {
  if (event.order === '') return encodeLatest(latest)
  if (latest === undefined) return encodeFirst(event)
  // It was encoded a moment ago.
  const record = readRecord(event.record)
  return encodeLatest(record === undefined ? latest : mergeLatest(latest, { ...event, record }))
}
