/** The store contract on one SQLite connection, synchronously; store.ts decides in which thread it runs. */
import type { StatementSync } from 'node:sqlite'
import { mergeLatest, type MessageLatest } from '../../inbox/latest.ts'
import type {
  Admission,
  Claim,
  ClaimRequest,
  ClaimResult,
  NewEvent,
  OpenStore,
  Settlement,
  StoredDeadLetter,
} from '../../inbox/store.ts'
import type { Database } from './database.ts'
import { CLAIM_EVENT } from './statements/claim-event.ts'
import { CLOSE_GAP } from './statements/close-gap.ts'
import { COUNTS } from './statements/counts.ts'
import { DEAD_LETTERS } from './statements/dead-letters.ts'
import { END_EVENT } from './statements/end-event.ts'
import { FIND_DUE } from './statements/find-due.ts'
import { FIND_EVENT } from './statements/find-event.ts'
import { FIND_MESSAGE } from './statements/find-message.ts'
import { FIRST_WAITING } from './statements/first-waiting.ts'
import { INSERT_EVENT } from './statements/insert-event.ts'
import { INSERT_MESSAGE } from './statements/insert-message.ts'
import { LEASE_MESSAGE } from './statements/lease-message.ts'
import { NEXT_DUE } from './statements/next-due.ts'
import { REPLAY_EVENT } from './statements/replay-event.ts'
import { RETRY_EVENT } from './statements/retry-event.ts'
import { SCHEDULE_MESSAGE } from './statements/schedule-message.ts'
import { UPDATE_MESSAGE } from './statements/update-message.ts'
import { createPruning, type Retention } from './pruning.ts'
import { decodeLatest, decodeRecord, digestBytes, encodeLatest, encodeRecord } from './encoding.ts'
import { bytes, integer, text, type Row } from './row.ts'

/** How often the file is looked for at its path. */
const CHECK_FILE_EVERY_MS = 1_000

const WAITING = 0
const SETTLED = 1
const DEAD = 2

/** The verbs of the contract, each one transaction. */
export function createEngine(database: Database, retention: Retention): SyncStore {
  const { db, transaction } = database
  const prepare = (sql: string): StatementSync => db.prepare(sql)
  const insertEvent = prepare(INSERT_EVENT)
  const findEvent = prepare(FIND_EVENT)
  const findMessage = prepare(FIND_MESSAGE)
  const insertMessage = prepare(INSERT_MESSAGE)
  const updateMessage = prepare(UPDATE_MESSAGE)
  const closeGap = prepare(CLOSE_GAP)
  const scheduleMessage = prepare(SCHEDULE_MESSAGE)
  const findDue = prepare(FIND_DUE)
  const firstWaiting = prepare(FIRST_WAITING)
  const claimEvent = prepare(CLAIM_EVENT)
  const leaseMessage = prepare(LEASE_MESSAGE)
  const nextDue = prepare(NEXT_DUE)
  const retryEvent = prepare(RETRY_EVENT)
  const endEvent = prepare(END_EVENT)
  const deadLetters = prepare(DEAD_LETTERS)
  const replayEvent = prepare(REPLAY_EVENT)
  const counts = prepare(COUNTS)
  const prune = createPruning(database, retention)
  let fileCheckedMs = -Infinity

  function checkFileNowAndThen(nowMs: number): void {
    if (Math.abs(nowMs - fileCheckedMs) < CHECK_FILE_EVERY_MS) return
    database.checkFile()
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

  function claimFirst(row: Row, request: ClaimRequest): Claim | undefined {
    const message = integer(row, 'rowid')
    const first = firstWaiting.get({ message })
    // The lease has run out, but the first event is to be tried again later, or there is none any more.
    if (first === undefined || integer(first, 'due') > request.nowMs) {
      scheduleMessage.run({ message })
      return undefined
    }
    const token = integer(row, 'token') + 1
    const order = text(first, 'ord')
    const handed = text(row, 'handed')
    const handedOpen = text(row, 'handed_open')
    claimEvent.run({ seq: integer(first, 'seq'), token })
    leaseMessage.run({
      message,
      token,
      until: request.leaseUntilMs,
      handed: order > handed ? order : handed,
      handedOpen: integer(first, 'final') === 0 && order > handedOpen ? order : handedOpen,
    })
    return {
      id: text(first, 'id'),
      messageKey: text(row, 'key'),
      token,
      attempt: integer(first, 'attempts') + 1,
      late: integer(first, 'late') === 1,
      replay: integer(first, 'replay') === 1,
      record: decodeRecord(bytes(first, 'record')),
      raw: bytes(first, 'raw'),
    }
  }

  function nextDueMs({ exclude }: ClaimRequest): number | undefined {
    const row = nextDue.all({ limit: exclude.size + 1 }).find((next) => !exclude.has(text(next, 'key')))
    return row && integer(row, 'due')
  }

  function claim(request: ClaimRequest): ClaimResult {
    const { limit, nowMs, exclude } = request
    // Most calls find nothing, and looking needs no transaction that writes.
    const dueAtFirst = nextDueMs(request)
    if (dueAtFirst === undefined || dueAtFirst > nowMs) return { claims: [], nextDueMs: dueAtFirst }
    return transaction(false, () => {
      const claims: Claim[] = []
      for (let looking = true; looking && claims.length < limit;) {
        const due = findDue
          .all({ now: nowMs, limit: limit - claims.length + exclude.size })
          .filter((row) => !exclude.has(text(row, 'key')))
        for (const row of due) {
          if (claims.length >= limit) break
          const claimed = claimFirst(row, request)
          if (claimed !== undefined) claims.push(claimed)
        }
        looking = due.length > 0
      }
      return { claims, nextDueMs: nextDueMs(request) }
    })
  }

  function settleOne(settlement: Settlement, nowMs: number): boolean {
    const event = findEvent.get({ id: digestBytes(settlement.id) })
    if (event === undefined || integer(event, 'state') !== WAITING || settlement.token === 0) return false
    if (integer(event, 'token') !== settlement.token) return false
    const seq = integer(event, 'seq')
    if (settlement.outcome === 'retry') retryEvent.run({ seq, due: settlement.dueMs, error: settlement.error })
    else if (settlement.outcome === 'done') endEvent.run({ seq, state: SETTLED, error: null, now: nowMs })
    else endEvent.run({ seq, state: DEAD, error: settlement.error, now: nowMs })
    const message = findMessage.get({ key: digestBytes(settlement.messageKey) })
    if (message === undefined) return true
    // Another event of the message may be in somebody's hands by now, under a lease of its own.
    const leaseToken = integer(message, 'lease_token')
    if (leaseToken === 0 || leaseToken === settlement.token) scheduleMessage.run({ message: integer(message, 'rowid') })
    return true
  }

  return {
    admit(events, nowMs) {
      checkFileNowAndThen(nowMs)
      if (events.length === 0) return []
      return transaction(true, () => events.map((event) => admitOne(event, nowMs)))
    },
    claim,
    settle: (settlements, nowMs) =>
      transaction(false, () => settlements.map((settlement) => settleOne(settlement, nowMs))),
    latest(messageKey) {
      const row = findMessage.get({ key: digestBytes(messageKey) })
      const latest = row && readMessage(row).latest
      return latest && { record: latest.record, finals: latest.finals.map(({ record }) => record) }
    },
    deadLetters({ after, limit }) {
      const [endedAt = 0, seq = 0] = after === undefined ? [] : after.split('.').map(Number)
      const rows = deadLetters.all({ endedAt, seq, limit: limit + 1 })
      const items = rows.slice(0, limit).map(readDeadLetter)
      const last = rows[limit - 1]
      return rows.length > limit && last !== undefined
        ? { items, next: `${integer(last, 'ended_at')}.${integer(last, 'seq')}` }
        : { items }
    },
    replay: (id, { force, nowMs }) =>
      transaction(true, () => {
        const event = findEvent.get({ id: digestBytes(id) })
        if (event === undefined || integer(event, 'state') !== DEAD) return false
        const message = integer(event, 'message')
        const row = db.prepare('SELECT handed, handed_open, lease_token FROM messages WHERE rowid = ?').get(message)
        if (row === undefined) return false
        const handed = { handed: text(row, 'handed'), handedOpen: text(row, 'handed_open') }
        const late = !force && isLate({ order: text(event, 'ord'), final: integer(event, 'final') === 1 }, handed)
        replayEvent.run({ seq: integer(event, 'seq'), now: nowMs, late: Number(late) })
        if (integer(row, 'lease_token') === 0) scheduleMessage.run({ message })
        return true
      }),
    prune,
    counts() {
      const row = counts.get()
      if (row === undefined) return { unsettled: 0, deadLetters: 0 }
      return { unsettled: integer(row, 'unsettled'), deadLetters: integer(row, 'deadLetters') }
    },
    close() {
      db.close()
    },
  }
}

/** The contract without promises. */
export interface SyncStore extends OpenStore {
  admit(events: readonly NewEvent[], nowMs: number): readonly Admission[]
  claim(request: ClaimRequest): ClaimResult
  settle(settlements: readonly Settlement[], nowMs: number): readonly boolean[]
  prune(nowMs: number): number
  close(): void
}

interface MessageRow {
  readonly message: number
  readonly steps: number
  readonly handed: string
  readonly handedOpen: string
  readonly leaseToken: number
  readonly latest: MessageLatest | undefined
}

function readMessage(row: Row): MessageRow {
  return {
    message: integer(row, 'rowid'),
    steps: integer(row, 'steps'),
    handed: text(row, 'handed'),
    handedOpen: text(row, 'handed_open'),
    leaseToken: integer(row, 'lease_token'),
    latest: decodeLatest(row['latest']),
  }
}

function readDeadLetter(row: Row): StoredDeadLetter {
  return {
    id: text(row, 'id'),
    attempts: integer(row, 'attempts'),
    error: text(row, 'error'),
    diedAtMs: integer(row, 'ended_at'),
    record: decodeRecord(bytes(row, 'record')),
    raw: bytes(row, 'raw'),
  }
}

/** Whether a later report was handed over already. Of two final ones neither is late. */
function isLate(
  event: { readonly order: string; readonly final: boolean },
  { handed, handedOpen }: { readonly handed: string; readonly handedOpen: string },
): boolean {
  return event.order !== '' && event.order < (event.final ? handedOpen : handed)
}
