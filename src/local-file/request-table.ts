/** The table of refused requests, in the thread that owns the file. Each operation is one transaction. */
import { readPragma } from '../sqlite/connection.ts'
import type { LocalDatabase } from './open.ts'
import { truncateLog } from './spool-table.ts'
import { sql, type Sql } from '../runtime/sql.ts'

/** A request as plain values. Its bytes are in the buffer of the batch. */
export interface PackedRequest {
  readonly digest: string
  readonly class: number
  readonly rank: number
  readonly project: string | undefined
  readonly unchecked: boolean
  readonly arrivedAtMs: number
  readonly fields: string
  readonly rawLength: number
}

export interface RequestRow {
  readonly sequence: number
  readonly digest: string
  readonly fields: string
  readonly raw: Uint8Array
}

export interface RequestTotals {
  /** By class, best first. */
  readonly counts: readonly number[]
  readonly unchecked: number
  readonly bytes: number
  /** When the first request arrived. Undefined without one. */
  readonly oldestMs: number | undefined
}

export interface PageOfRequests {
  /** The sequence number of the last request of the page before, or 0. */
  readonly after: number
  readonly limit: number
  readonly maxBytes: number
  /** Only requests whose credentials could not be looked up, of these projects. */
  readonly uncheckedOf?: readonly (string | undefined)[] | undefined
  /** Only requests of these classes. */
  readonly classes?: readonly number[] | undefined
}

/** Sequence numbers per millisecond. */
const SEQUENCES_A_MS = 1_024
/** What a row takes beside its texts and its body, with its places in the indexes; about 250 bytes, measured. */
const BYTES_A_ROW = 256
/** Of the requests with equal rank, the earliest three quarters stay, and then the latest. */
export const STAYING = 3 / 4
/** Evicts this much of the budget at once, because each choice reads many requests. */
export const FREED = 1 / 16
const SMALL_FILE_BYTES = 16 * 1024 * 1024

export function createRequestTable({ db, transaction }: LocalDatabase) {
  const prepare = (text: Sql) => db.prepare(text)
  const find = prepare(sql`SELECT sequence, class FROM requests WHERE digest = ?`)
  const lastSequence = prepare(sql`SELECT coalesce(max(sequence), 0) AS sequence FROM requests`)
  const insert = prepare(sql`
INSERT INTO requests (sequence, digest, class, rank, project, unchecked, arrived, size, fields, raw)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const removeOne = prepare(sql`DELETE FROM requests WHERE sequence = ?`)
  const removeAll = prepare(sql`DELETE FROM requests`)
  const removeOld = prepare(sql`DELETE FROM requests WHERE arrived <= ?`)
  const totals = prepare(sql`SELECT count, unchecked, bytes FROM request_totals ORDER BY class`)
  const oldest = prepare(sql`SELECT min(arrived) AS arrived FROM requests`)
  const following = prepare(sql`
SELECT sequence, lower(hex(digest)) AS digest, fields, raw FROM requests
WHERE sequence > ? AND (? OR class IN (SELECT value FROM json_each(?))) ORDER BY sequence`)
  const uncheckedFollowing = prepare(sql`
SELECT sequence, lower(hex(digest)) AS digest, fields, raw FROM requests
WHERE sequence > ? AND unchecked = 1 AND coalesce(project, '') IN (SELECT coalesce(value, '') FROM json_each(?))
ORDER BY sequence`)
  const uncheckedNames = prepare(sql`
SELECT project, count(*) AS count FROM requests WHERE unchecked = 1 GROUP BY project ORDER BY count DESC, random() LIMIT ?`)
  const topRank = prepare(sql`SELECT max(rank) AS rank FROM requests WHERE (class = 0) = ?`)
  const countOfRank = prepare(sql`SELECT count(*) AS count FROM requests WHERE (class = 0) = ? AND rank = ?`)
  const atPlace = prepare(sql`
SELECT sequence FROM requests WHERE (class = 0) = ? AND rank = ? ORDER BY sequence LIMIT 1 OFFSET ?`)
  const ofRank = sql`SELECT sequence, size, class FROM requests WHERE (class = 0) = ? AND rank = ?`
  const from = prepare(sql`${ofRank} AND sequence >= ? ORDER BY sequence`)
  const before = prepare(sql`${ofRank} AND sequence < ? ORDER BY sequence DESC`)
  const leastLikely = 3

  function stateNow(): RequestTotals {
    const rows = totals.all().map(({ count, unchecked, bytes }) => [Number(count), Number(unchecked), Number(bytes)])
    const sum = (column: number): number => rows.reduce((all, row) => all + (row[column] ?? 0), 0)
    const arrived = oldest.get()?.['arrived']
    return {
      counts: rows.map(([count = 0]) => count),
      unchecked: sum(1),
      bytes: sum(2),
      oldestMs: typeof arrived === 'number' ? arrived : undefined,
    }
  }

  function changing(work: () => void): RequestTotals {
    return transaction(false, () => {
      work()
      return stateNow()
    })
  }

  /** Evicts what exceeds a half of the budget. Returns how many requests, and how many of them may be callbacks. */
  function evict(isProved: 0 | 1, maxBytes: number) {
    const bytes = totals
      .all()
      .reduce((sum, row, index) => sum + ((index === 0) === (isProved === 1) ? Number(row['bytes']) : 0), 0)
    const evicted = { all: 0, likely: 0 }
    let excess = bytes - maxBytes
    if (excess <= 0) return evicted
    excess += maxBytes * FREED

    function remove(rows: Iterable<Readonly<Record<string, unknown>>>): void {
      const victims: number[] = []
      for (const { sequence, size, class: of } of rows) {
        if (excess <= 0) break
        excess -= Number(size)
        victims.push(Number(sequence))
        evicted.all += 1
        if (Number(of) !== leastLikely) evicted.likely += 1
      }
      // After the walk, because it must not change what it reads.
      for (const sequence of victims) removeOne.run(sequence)
    }

    while (excess > 0) {
      const rank = topRank.get(isProved)?.['rank']
      if (typeof rank !== 'number') break
      const count = Number(countOfRank.get(isProved, rank)?.['count'])
      const boundary = Number(atPlace.get(isProved, rank, Math.floor(count * STAYING))?.['sequence'] ?? 0)
      remove(from.iterate(isProved, rank, boundary))
      remove(before.iterate(isProved, rank, boundary))
    }
    return evicted
  }

  function put(request: PackedRequest, raw: Uint8Array): void {
    const digest = Buffer.from(request.digest, 'hex')
    const known = find.get(digest)
    if (known !== undefined) {
      // The same body is kept once, in its best class.
      if (Number(known['class']) <= request.class) return
      removeOne.run(Number(known['sequence']))
    }
    const { project, fields, arrivedAtMs } = request
    const last = Number(lastSequence.get()?.['sequence'])
    const sequence = Math.max(last + 1, Math.floor(arrivedAtMs) * SEQUENCES_A_MS)
    const size = raw.length + fields.length + 2 * (project?.length ?? 0) + BYTES_A_ROW
    insert.run(
      sequence,
      digest,
      request.class,
      request.rank,
      project ?? null,
      Number(request.unchecked),
      Math.floor(arrivedAtMs),
      size,
      fields,
      raw,
    )
  }

  function rowsOf(rows: Iterable<Readonly<Record<string, unknown>>>, { limit, maxBytes }: PageOfRequests) {
    const page: RequestRow[] = []
    let bytes = 0
    for (const { sequence, digest, fields, raw } of rows) {
      // The table is STRICT, so its columns have no other types.
      const bytesOfRow = raw instanceof Uint8Array ? raw : new Uint8Array()
      page.push({ sequence: Number(sequence), digest: String(digest), fields: String(fields), raw: bytesOfRow })
      bytes += bytesOfRow.length + String(fields).length + BYTES_A_ROW
      if (page.length >= limit || bytes >= maxBytes) break
    }
    return page
  }

  return {
    /** Keeps requests, and evicts others if they exceed `maxBytes`. */
    keepRequests(requests: readonly PackedRequest[], bytes: Uint8Array, maxBytes: number) {
      const evicted = { all: 0, likely: 0 }
      const state = changing(() => {
        let end = 0
        for (const request of requests) put(request, bytes.subarray(end, (end += request.rawLength)))
        for (const isProved of [0, 1] as const) {
          const { all, likely } = evict(isProved, maxBytes / 2)
          evicted.all += all
          evicted.likely += likely
        }
      })
      return { evicted, state }
    },
    /** Requests in order of arrival. */
    requestPage(page: PageOfRequests): readonly RequestRow[] {
      const { after, uncheckedOf, classes } = page
      const rows =
        uncheckedOf === undefined
          ? following.iterate(after, Number(classes === undefined), JSON.stringify(classes ?? []))
          : uncheckedFollowing.iterate(after, JSON.stringify(uncheckedOf.map((name) => name ?? null)))
      return rowsOf(rows, page)
    },
    /** The projects that requests with failed look-ups name, those of the most requests first. */
    uncheckedNames: (limit: number) =>
      uncheckedNames
        .all(limit)
        .map(({ project, count }) => [typeof project === 'string' ? project : undefined, Number(count)] as const),
    removeRequests: (sequences: readonly number[]) =>
      changing(() => {
        for (const sequence of sequences) removeOne.run(sequence)
      }),
    /** Changes the standing of a request, which keeps its place. */
    reclassRequest(sequence: number, changed: Omit<PackedRequest, 'rawLength'>, maxBytes: number): RequestTotals {
      return changing(() => {
        const row = prepare(sql`SELECT raw FROM requests WHERE sequence = ?`).get(sequence)
        const raw = row?.['raw']
        if (!(raw instanceof Uint8Array)) return
        removeOne.run(sequence)
        put({ ...changed, rawLength: raw.length }, raw)
        const moved = find.get(Buffer.from(changed.digest, 'hex'))
        if (moved !== undefined)
          prepare(sql`UPDATE requests SET sequence = ? WHERE sequence = ?`).run(sequence, Number(moved['sequence']))
        evict(0, maxBytes / 2)
        evict(1, maxBytes / 2)
      })
    },
    expireRequests: (untilMs: number) => changing(() => void removeOld.run(Math.floor(untilMs))),
    clearRequests: () => changing(() => void removeAll.run()),
    /** Overwrites what is left of removed requests. A small file is rewritten: copies of a row remain in split pages. */
    overwriteRequests(): void {
      if (readPragma(db, 'page_count') * readPragma(db, 'page_size') < SMALL_FILE_BYTES) db.exec(sql`VACUUM`)
      truncateLog(db)
    },
    requestTotals: stateNow,
  }
}
