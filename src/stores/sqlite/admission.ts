/**
 * Taking events in, each with its message's latest state and gap decision, and where it is asked for under a lease at
 * once: then a new message is written by two statements, and admission and claim would take eight.
 */
import { mergeLatest, type MessageLatest } from '../../inbox/latest.ts'
import { isLate } from '../../inbox/order.ts'
import { readRecord } from '../../inbox/record.ts'
import type { Admission, ClaimRequest } from '../../inbox/store.ts'
import type { Database } from './database.ts'
import type { DamageControl } from './damage.ts'
import { digestBytes, encodeFirst, encodeLatest } from './encoding.ts'
import { handedWith } from './handed.ts'
import { readMessage, UNKNOWN_MESSAGE, type MessageRow } from './message-row.ts'
import type { EncodedEvent } from './packing.ts'
import { prepare } from './prepare.ts'
import type { AdmittedAndLeased } from './protocol.ts'
import { CLOSE_GAP } from './statements/close-gap.ts'
import { FIND_EVENT } from './statements/find-event.ts'
import { FIND_MESSAGE } from './statements/find-message.ts'
import { INSERT_EVENT } from './statements/insert-event.ts'
import { INSERT_MESSAGE } from './statements/insert-message.ts'
import { ROUSE_MESSAGE } from './statements/rouse-message.ts'
import { SCHEDULE_MESSAGE } from './statements/schedule-message.ts'
import { UPDATE_MESSAGE } from './statements/update-message.ts'

/** How often the file is looked for at its path. */
const CHECK_FILE_EVERY_MS = 1_000

interface Admitting {
  admit(events: readonly EncodedEvent[], nowMs: number): readonly Admission[]
  admitAndClaim(events: readonly EncodedEvent[], request: ClaimRequest): AdmittedAndLeased
}

interface Admitted {
  readonly admission: Admission
  /** Of its lease; 0 where it is under none. */
  readonly token: number
}

const DUPLICATE: Admitted = { admission: 'duplicate', token: 0 }

/** `holder` says under whose name to lease; null for nobody's. */
export function createAdmission(
  { db, transaction, checkFile }: Database,
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
    checkFile()
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
    const leaseToken = leased ? token + 1 : 0
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
    return { admission: late ? 'late' : 'new', token: leaseToken }
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
    leaseUntilMs: (event: EncodedEvent, leased: number) => number | undefined,
  ): readonly Admitted[] {
    checkFileNowAndThen(nowMs)
    if (events.length === 0) return []
    return transaction(true, nowMs, () => {
      let leased = 0
      return events.map((event) => {
        const admitted = admitOne(event, nowMs, leaseUntilMs(event, leased))
        if (admitted.token !== 0) leased += 1
        return admitted
      })
    })
  }

  return {
    admit: (events, nowMs) => admitAll(events, nowMs, () => undefined).map(({ admission }) => admission),
    admitAndClaim(events, { limit, nowMs, leaseUntilMs, exclude }) {
      // Of two of one message the second may belong before the first, so neither is leased.
      const counts = countByMessage(events)
      const mayBeLeased = ({ messageKey }: EncodedEvent, leased: number): boolean =>
        leased < limit && counts.get(messageKey) === 1 && !exclude.has(messageKey)
      const admitted = admitAll(events, nowMs, (event, leased) =>
        mayBeLeased(event, leased) ? leaseUntilMs : undefined,
      )
      return { admissions: admitted.map(({ admission }) => admission), tokens: admitted.map(({ token }) => token) }
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

function countByMessage(events: readonly EncodedEvent[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { messageKey } of events) counts.set(messageKey, (counts.get(messageKey) ?? 0) + 1)
  return counts
}
