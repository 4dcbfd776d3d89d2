/** Taking events in, each with its message's latest state and gap decision. */
import { mergeLatest } from '../../inbox/latest.ts'
import { isLate } from '../../inbox/order.ts'
import type { Admission, NewEvent } from '../../inbox/store.ts'
import type { Database } from './database.ts'
import { digestBytes, encodeLatest, encodeRecord } from './encoding.ts'
import { readMessage, type MessageRow } from './message-row.ts'
import { CLOSE_GAP } from './statements/close-gap.ts'
import { FIND_EVENT } from './statements/find-event.ts'
import { FIND_MESSAGE } from './statements/find-message.ts'
import { INSERT_EVENT } from './statements/insert-event.ts'
import { INSERT_MESSAGE } from './statements/insert-message.ts'
import { SCHEDULE_MESSAGE } from './statements/schedule-message.ts'
import { UPDATE_MESSAGE } from './statements/update-message.ts'

/** How often the file is looked for at its path. */
const CHECK_FILE_EVERY_MS = 1_000

type Admit = (events: readonly NewEvent[], nowMs: number) => readonly Admission[]

export function createAdmission({ db, transaction, checkFile }: Database): Admit {
  const insertEvent = db.prepare(INSERT_EVENT)
  const findEvent = db.prepare(FIND_EVENT)
  const findMessage = db.prepare(FIND_MESSAGE)
  const insertMessage = db.prepare(INSERT_MESSAGE)
  const updateMessage = db.prepare(UPDATE_MESSAGE)
  const closeGap = db.prepare(CLOSE_GAP)
  const scheduleMessage = db.prepare(SCHEDULE_MESSAGE)
  let fileCheckedMs = -Infinity

  function checkFileNowAndThen(nowMs: number): void {
    if (Math.abs(nowMs - fileCheckedMs) < CHECK_FILE_EVERY_MS) return
    checkFile()
    fileCheckedMs = nowMs
  }

  function messageOf(key: Buffer): MessageRow {
    const row = findMessage.get({ key })
    if (row !== undefined) return readMessage(row)
    const { lastInsertRowid } = insertMessage.run({ key })
    return { message: Number(lastInsertRowid), steps: 0, handed: '', handedOpen: '', leaseToken: 0, latest: undefined }
  }

  function admitOne(event: NewEvent, nowMs: number): Admission {
    const id = digestBytes(event.id)
    if (findEvent.get({ id }) !== undefined) return 'duplicate'
    const known = messageOf(digestBytes(event.messageKey))
    const { message } = known
    const late = isLate(event, known)
    const waits = !late && event.awaits !== 0 && (known.steps & event.awaits) === 0
    insertEvent.run({
      id,
      message,
      ord: event.order,
      final: Number(event.final),
      awaits: event.awaits,
      due: waits ? event.gapUntilMs : nowMs,
      late: Number(late),
      now: nowMs,
      record: encodeRecord(event.record),
      raw: event.raw,
    })
    if (event.step !== 0) closeGap.run({ message, step: event.step, now: nowMs })
    if (event.order !== '' || event.step !== 0) {
      const latest = event.order === '' ? known.latest : mergeLatest(known.latest, event)
      updateMessage.run({ message, steps: known.steps | event.step, latest: encodeLatest(latest) })
    }
    if (known.leaseToken === 0) scheduleMessage.run({ message })
    return late ? 'late' : 'new'
  }

  return (events, nowMs) => {
    checkFileNowAndThen(nowMs)
    if (events.length === 0) return []
    return transaction(true, nowMs, () => events.map((event) => admitOne(event, nowMs)))
  }
}
