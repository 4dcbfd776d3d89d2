/** The table of spooled events, in the thread that owns the file. Each operation is one transaction. */
import { readPragma, type Connection } from '../sqlite/connection.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { LocalDatabase } from './open.ts'
import { sql, type Sql } from '../runtime/sql.ts'

/** The number of slots. A message shares its slot with others, which only sends a few more events through the file. */
export const SLOTS = 65_536

/** Events as plain values, with all bodies in one buffer: a small Buffer would clone its whole pool. */
export interface PackedEvents {
  readonly lists: readonly (readonly [slot: number, fields: string, rawLength: number])[]
  readonly bytes: Uint8Array
}

export interface SpooledRow {
  readonly id: number
  readonly fields: string
  /** Undefined once erased. */
  readonly raw: Uint8Array | undefined
  /** Why the store refuses the event. Undefined while it waits. */
  readonly error: string | undefined
}

export interface SpoolState {
  /** The id of the first event that waits for the store. Undefined without one. */
  readonly first: number | undefined
  /** The id of the last event of the table, removed or not. */
  readonly last: number
  /** Number of events that wait for the store. */
  readonly waiting: number
  /** Number of events that the store refuses. */
  readonly refused: number
  /** Size of the file, without free space. */
  readonly bytes: number
}

/** A lease by this process is longer than any of these. The clock was set back, and the holder may have ended since. */
const LONGEST_LEASE_MS = 120_000

export function createSpoolTable({ db, transaction, maxBytes }: LocalDatabase) {
  const prepare = (text: Sql) => db.prepare(text)
  const insert = prepare(sql`INSERT INTO spool (slot, fields, raw) VALUES (?, ?, ?)`)
  const waiting = prepare(sql`SELECT id, fields, raw, error FROM spool WHERE error IS NULL ORDER BY id`)
  const following = prepare(sql`SELECT id, fields, raw, error FROM spool WHERE id > ? ORDER BY id`)
  const refusedFollowing = prepare(
    sql`SELECT id, fields, raw, error FROM spool WHERE id > ? AND error IS NOT NULL ORDER BY id`,
  )
  const removeKept = prepare(sql`DELETE FROM spool WHERE id IN (SELECT value FROM json_each(?)) AND raw IS NOT NULL`)
  const removeErased = prepare(sql`DELETE FROM spool WHERE id IN (SELECT value FROM json_each(?)) AND raw IS NULL`)
  const refuseOne = prepare(sql`UPDATE spool SET error = ? WHERE id = ?`)
  const retryAll = prepare(sql`UPDATE spool SET error = NULL WHERE error IS NOT NULL`)
  const eraseAll = prepare(sql`
UPDATE spool SET fields = json_object('id', fields ->> 'id', 'messageKey', fields ->> 'messageKey'), raw = NULL, error = NULL
WHERE id IN (SELECT value FROM json_each(?))`)
  const slotsAfter = prepare(sql`SELECT id, slot FROM spool WHERE id > ? AND error IS NULL`)
  const first = prepare(sql`SELECT min(id) AS id FROM spool WHERE error IS NULL`)
  const last = prepare(sql`SELECT coalesce(max(seq), 0) AS id FROM sqlite_sequence WHERE name = 'spool'`)
  const refusedFrom = prepare(sql`SELECT count(*) AS count FROM spool WHERE id >= ? AND error IS NOT NULL`)
  const holdLease = prepare(sql`
UPDATE relay SET holder = ?, until = ? WHERE holder = ? OR until <= ? OR until > ?`)
  const endLease = prepare(sql`UPDATE relay SET holder = '', until = 0 WHERE holder = ?`)
  const probe = prepare(sql`UPDATE relay SET one = 1`)
  /** For each slot the id of its last event. */
  const slots = new Float64Array(SLOTS)
  let slotsUntil = 0

  function state(): SpoolState {
    const firstId = idIn(first)
    const lastId = idIn(last) ?? 0
    const refused = countIn(refusedFrom, 0)
    const refusedBetween = firstId === undefined || refused === 0 ? 0 : countIn(refusedFrom, firstId)
    return {
      first: firstId,
      last: lastId,
      // Events leave in order, so the ids have hardly any gaps.
      waiting: firstId === undefined ? 0 : lastId - firstId + 1 - refusedBetween,
      refused,
      bytes: usedBytes(),
    }
  }

  function usedBytes(): number {
    return (readPragma(db, 'page_count') - readPragma(db, 'freelist_count')) * readPragma(db, 'page_size')
  }

  function changing(durable: boolean, work: () => void): SpoolState {
    return transaction(durable, () => {
      work()
      return state()
    })
  }

  function checkRoom(bytes: number): void {
    if (usedBytes() + bytes > maxBytes)
      throw new MessagingWebhooksError('spool_full', `Its limit is ${maxBytes} bytes.`)
  }

  return {
    /** Appends all events or none, durably. Answers with the id of the first one. */
    append({ lists, bytes }: PackedEvents): { readonly from: number; readonly state: SpoolState } {
      let from = 0
      const after = changing(true, () => {
        checkRoom(bytes.length)
        let end = 0
        for (const [slot, fields, length] of lists) {
          const { lastInsertRowid } = insert.run(slot, fields, bytes.subarray(end, (end += length)))
          slots[slot] = Number(lastInsertRowid)
          if (from === 0) from = Number(lastInsertRowid)
        }
      })
      return { from, state: after }
    },
    /**
     * The first events that wait, and the lease to move them into the store. Undefined while another process has the lease: two
     * may move the same events, but all but one would do so in vain.
     */
    take({
      holder,
      nowMs,
      leaseMs,
      limit,
      maxBytes: most,
    }: {
      /** Names the process. */
      readonly holder: string
      readonly nowMs: number
      readonly leaseMs: number
      readonly limit: number
      readonly maxBytes: number
    }) {
      return transaction(false, () => {
        const held = holdLease.run(holder, nowMs + leaseMs, holder, nowMs, nowMs + LONGEST_LEASE_MS)
        const isHeld = Number(held.changes) === 0
        return { rows: isHeld ? undefined : rowsOf(waiting.iterate(), limit, most), state: state() }
      })
    },
    /** Ends the lease. */
    release: (holder: string): void => transaction(false, () => void endLease.run(holder)),
    /** Removes events that the store has, of which some were erased before they were taken. One that was erased since stays. */
    remove: (kept: readonly number[], erased: readonly number[]) =>
      changing(false, () => {
        removeKept.run(JSON.stringify(kept))
        removeErased.run(JSON.stringify(erased))
      }),
    /** Sets events aside that the store refuses, with the reason. */
    refuse: (refusals: readonly (readonly [id: number, error: string])[]) =>
      changing(false, () => {
        for (const [id, error] of refusals) refuseOne.run(error, id)
      }),
    /** Has refused events wait again, before all others. */
    retryRefused: () => changing(false, () => retryAll.run()),
    /** Erases all of these events but their identity, which is enough to recognise a duplicate. */
    erase(ids: readonly number[]): SpoolState {
      const after = changing(true, () => eraseAll.run(JSON.stringify(ids)))
      truncateLog(db)
      return after
    },
    /** All events, or only the refused ones, in order of arrival. */
    page({
      after,
      limit,
      maxBytes: most,
      refused,
    }: {
      /** The id of the last event of the page before, or 0. */
      readonly after: number
      readonly limit: number
      readonly maxBytes: number
      /** Only events that the store refuses. */
      readonly refused: boolean
    }): readonly SpooledRow[] {
      return rowsOf((refused ? refusedFollowing : following).iterate(after), limit, most)
    },
    /** Returns the space of removed events to the disk, if it is much. Overwrites what is left of them. */
    shrink(): void {
      if (readPragma(db, 'freelist_count') * readPragma(db, 'page_size') < SHRINK_BYTES) return
      db.exec(sql`VACUUM`)
      truncateLog(db)
    },
    state,
    /** Writes to the disk. Rejects if the disk does not accept that. */
    probe: (): void => transaction(true, () => void probe.run()),
    /** For each slot the id of its last event, in all processes. */
    lastOfSlots(): Float64Array {
      for (const row of slotsAfter.iterate(slotsUntil)) {
        const id = Number(row['id'])
        slots[Number(row['slot'])] = id
        slotsUntil = id
      }
      return slots
    },
  }
}

const SHRINK_BYTES = 16 * 1024 * 1024

/** Moves the log into the file, so that it holds nothing that was erased. */
export function truncateLog(db: Connection): void {
  try {
    db.exec(sql`PRAGMA wal_checkpoint(TRUNCATE)`)
  } catch {
    // Another process writes. The next checkpoint overwrites the log.
  }
}

/** At least one row, if there is one. */
function rowsOf(
  found: Iterable<Readonly<Record<string, unknown>>>,
  limit: number,
  maxBytes: number,
): readonly SpooledRow[] {
  const rows: SpooledRow[] = []
  let bytes = 0
  for (const { id, fields, raw, error } of found) {
    const bytesOfRow = raw instanceof Uint8Array ? raw : undefined
    rows.push({
      // The table is STRICT, so its columns have no other types.
      id: Number(id),
      fields: String(fields),
      raw: bytesOfRow,
      error: typeof error === 'string' ? error : undefined,
    })
    bytes += bytesOfRow?.length ?? 0
    if (rows.length >= limit || bytes >= maxBytes) break
  }
  return rows
}

type Statement = ReturnType<Connection['prepare']>

function idIn(statement: Statement): number | undefined {
  const id = statement.get()?.['id']
  return typeof id === 'number' ? id : undefined
}

function countIn(statement: Statement, from: number): number {
  return Number(statement.get(from)?.['count'])
}
