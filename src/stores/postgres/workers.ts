/** This process as a worker that holds leases: it shows life, and ends the leases of those that are gone. */
import { randomBytes, randomInt } from 'node:crypto'
import { monotonicMs, withDeadline, type Clock } from '../../runtime/clock.ts'
import { releaseCommand, type Runner } from '../../inbox/runtime/commands.ts'
import type { OpenStore, StoreHolder, StoreHost } from '../../inbox/store.ts'
import { createHolding } from '../holding.ts'
import { changeList, createBeat, leave, readLiveness, type WorkerList } from '../liveness.ts'
import { bytesOf, bytesValue, integer, text, textOf, type Row } from './encoding.ts'
import type { Engine } from './engine.ts'
import { SERVER_NOW } from './sql-text.ts'

/** So much is looked at, of what was due first and of what is due last: not a whole backlog. */
const MOST_SWEPT = 50_000
/** A database that does not answer so soon keeps nobody from starting. */
const BEGIN_MS = 1_000
const MOST_VERSION = 2 ** 48 - 1

interface Workers {
  /** Shows life from now on. */
  begin(): Promise<void>
  /** The name to lease under; undefined where others may have taken this process for dead. */
  name(): string | undefined
  /** Resolves once it may lease; rejects where the database does not answer. */
  sure(): Promise<void>
  readonly isHeld: NonNullable<OpenStore['isHeld']>
  readonly holders: NonNullable<OpenStore['holders']>
  /** Gives back what is still leased. */
  leave(): Promise<void>
}

interface WorkersOptions {
  readonly engine: Engine
  readonly runner: Runner
  readonly clock: Clock
  readonly host: StoreHost
  /** To be called where something is due for others, too. */
  readonly tell: () => void
}

export function createWorkers({ engine, runner, clock, host, tell }: WorkersOptions): Workers {
  const { schema, together, hear } = engine
  const process = randomBytes(6).toString('base64url')

  const list: WorkerList = {
    async read() {
      const sentMs = monotonicMs()
      const [[now] = [], [row] = []] = await together(`
SELECT ${SERVER_NOW} AS now;
SELECT version, encode(list, 'escape') AS list FROM ${schema}.workers;`)
      if (now === undefined) throw new Error('The database did not tell its time.')
      hear(now, undefined, sentMs)
      const nowMs = integer(now, 'now')
      if (row === undefined) return { liveness: undefined, version: undefined, nowMs }
      return { liveness: readLiveness(textOf(row, 'list')), version: text(row, 'version'), nowMs }
    },
    async write(liveness, version) {
      const next = `${randomInt(1, MOST_VERSION)}, ${bytesValue(bytesOf(JSON.stringify(liveness)))}`
      const [rows = []] = await together(`
INSERT INTO ${schema}.workers AS w (id, version, list) VALUES (1, ${next})
ON CONFLICT (id) DO UPDATE SET version = excluded.version, list = excluded.list WHERE w.version = ${version ?? 'NULL'}
RETURNING w.id;`)
      return rows.length > 0
    },
  }

  /** Rows of what is leased, with the key and the worker. */
  async function leased(): Promise<readonly Row[]> {
    // Where callers' clocks count, the server's does not tell what is leased.
    const isPast = engine.clock === undefined ? 'true' : `d.at <= ${SERVER_NOW}`
    const some = (direction: string): string =>
      `(SELECT d.record, d.worker FROM ${schema}.due d WHERE ${isPast} ORDER BY d.at ${direction} LIMIT ${MOST_SWEPT})`
    const [rows = []] = await together(`
SELECT encode(r.key, 'hex') AS key, near.worker
FROM (${some('ASC')} UNION ${some('DESC')}) near JOIN ${schema}.records r ON r.number = near.record
WHERE near.worker IS NOT NULL;`)
    return rows
  }

  async function endLeases(isEnded: (worker: string) => boolean): Promise<boolean> {
    const ended = (await leased()).filter((row) => isEnded(text(row, 'worker')))
    const answers = await runner.run(ended.map((row) => releaseCommand(text(row, 'key'), text(row, 'worker'))))
    return answers.includes(true)
  }

  const { onLost } = host
  const holding =
    host.claims === false
      ? undefined
      : createHolding({
          clock,
          beat: createBeat({ list, process, isSure: () => isSure(), endLeases, announce: tell }),
          onLost: () => onLost?.(() => true),
          onWork: host.onWork,
        })
  const isSure = (): boolean => holding === undefined || holding.isHeld() === true

  return {
    async begin() {
      if (holding === undefined) return
      // What it cannot say yet it says with the next heartbeat.
      await withDeadline(clock, BEGIN_MS, Promise.allSettled([holding.sure()]), () => undefined)
    },
    name: () => (isSure() ? (holding?.id ?? '') : undefined),
    async sure() {
      await holding?.sure()
    },
    isHeld: () => (holding === undefined ? true : holding.isHeld()),
    async holders() {
      const [{ liveness, nowMs }, leases] = await Promise.all([list.read(), leased()])
      const living = liveness?.workers.filter(({ goneMs }) => goneMs === undefined) ?? []
      return living
        .map(({ id, name, sinceMs, seenMs }): StoreHolder => {
          const held = leases.filter((row) => text(row, 'worker') === id).length
          return { id, name, isSelf: id === holding?.id, sinceMs, silentMs: Math.max(0, nowMs - seenMs), held }
        })
        .toSorted((a, b) => (a.sinceMs ?? 0) - (b.sinceMs ?? 0) || (a.id < b.id ? -1 : 1))
    },
    async leave() {
      if (holding === undefined) return
      await holding.stop()
      const { id } = holding
      try {
        await changeList(list, (known, nowMs) => ({ liveness: leave(known, id, nowMs) }))
        if (await endLeases((worker) => worker === id)) tell()
      } catch {
        // The database is away: without a heartbeat, others take what is left in a few seconds.
      }
    },
  }
}
