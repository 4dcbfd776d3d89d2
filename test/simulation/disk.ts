/**
 * A machine's disk with the local file of its processes: a real SQLite file in memory, with a connection for each process. SQLite
 * itself keeps what was committed, so the disk here only delays an operation, refuses it, or fails after it took effect. A killed
 * process leaves what it has committed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileError } from '../../src/local-file/file-error.ts'
import type { LocalFile } from '../../src/local-file/local-file.ts'
import { openLocalDatabase } from '../../src/local-file/open.ts'
import { createTables, type CallName, type Calls, type FileChange } from '../../src/local-file/serve.ts'
import type { SpoolState } from '../../src/local-file/spool-table.ts'
import { createListeners } from '../../src/runtime/listeners.ts'
import { between, type Random } from './random.ts'
import type { Owner, Timeline } from './timeline.ts'

type DiskFault = 'none' | 'full' | 'failing'

interface Disk {
  /** The local file as one process sees it. Operations take effect a moment later, in order, if the process is alive then. */
  forProcess(owner: Owner, random: Random): LocalFile
  fault: DiskFault
  /** Closes the connection of a process that has died. */
  died(owner: Owner): void
  /** For checks from outside. */
  state(): SpoolState
  remove(): void
}

interface Connection {
  readonly owner: Owner
  readonly tables: Calls
  /** Notifies the process of the changes of another one, later. */
  look(): void
}

const HERE = process.platform === 'linux' ? '/dev/shm' : tmpdir()
const MAX_BYTES = 64 * 1024 * 1024
/** As often as the thread of the file looks. */
const LOOK_EVERY_MS = 100
/** Operations that write nothing, or that SQLite can do on a full disk: it reuses the space of removed rows. */
const NEED_NO_SPACE: ReadonlySet<CallName> = new Set(['state', 'page', 'take', 'remove', 'release', 'lastOfSlots'])

export async function createDisk(timeline: Timeline): Promise<Disk> {
  const folder = mkdtempSync(join(HERE, 'simulated-disk-'))
  const settings = { path: join(folder, 'local.db'), option: 'simulation', maxBytes: MAX_BYTES }
  const outside = createTables(await openLocalDatabase(settings))
  const connections = new Map<Owner, Connection>()

  function changedBy(owner: Owner): void {
    for (const connection of connections.values()) if (connection.owner !== owner) connection.look()
  }

  function refuseIfFaulty(name: CallName, random: Random): void {
    const isFull = disk.fault === 'full' && !NEED_NO_SPACE.has(name)
    if (isFull) throw fileError('full', settings)
    if (disk.fault === 'failing' && random() < 0.5) throw fileError('other', settings)
  }

  function forProcess(owner: Owner, random: Random): LocalFile {
    const changed = createListeners<FileChange>()
    let last: Promise<unknown> = Promise.resolve()
    let isLooking = false

    function look(): void {
      if (isLooking) return
      isLooking = true
      timeline.after(between(random, 0, LOOK_EVERY_MS), owner, 'looks', () => {
        isLooking = false
        const tables = connections.get(owner)?.tables
        if (tables !== undefined) changed.notify(changeIn(tables))
      })
    }

    async function opened(): Promise<Calls> {
      const before = connections.get(owner)
      if (before !== undefined) return before.tables
      const tables = createTables(await openLocalDatabase(settings))
      connections.set(owner, { owner, tables, look })
      changed.notify(changeIn(tables))
      return tables
    }

    /** Does `work` a moment later. A process that dies meanwhile gets no answer, and nothing is done. */
    function later<T>(label: string, work: () => Promise<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        timeline.after(between(random, 0.05, 5), owner, `disk ${label}`, () => work().then(resolve, reject))
      })
    }

    async function perform(name: CallName, args: readonly unknown[]): Promise<unknown> {
      refuseIfFaulty(name, random)
      const operation = (await opened())[name] as (...args: readonly unknown[]) => unknown
      const answer = operation(...args)
      changedBy(owner)
      // The commit may have reached the disk although it failed.
      if (name === 'append') refuseIfFaulty('state', random)
      return answer
    }

    function inTurn<T>(label: string, work: () => Promise<T>): Promise<T> {
      const running = last.then(() => later(label, work))
      last = running.catch(() => {})
      return running
    }

    return {
      path: settings.path,
      maxBytes: MAX_BYTES,
      exists: () => Promise.resolve(true),
      open: () =>
        inTurn('open', async () => {
          refuseIfFaulty('state', random)
          await opened()
        }),
      // The answer of the operation with this name.
      call: (name, ...args) => inTurn(name, () => perform(name, args)) as never,
      callLater: (name, ...args) => inTurn(name, () => perform(name, args)) as never,
      onChange: changed.add,
      async close() {
        await last
        disk.died(owner)
      },
    }
  }

  const disk: Disk = {
    fault: 'none',
    forProcess,
    died(owner) {
      connections.get(owner)?.tables.close()
      connections.delete(owner)
    },
    state: () => outside.state(),
    remove() {
      for (const owner of [...connections.keys()]) disk.died(owner)
      outside.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return disk
}

function changeIn(tables: Calls): FileChange {
  return { slots: tables.lastOfSlots().slice(), state: tables.state(), requests: tables.requestTotals() }
}
