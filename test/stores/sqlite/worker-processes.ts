/** Processes that hold leases, and what the file says about them. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import type { Claim } from 'messaging-webhooks/store'

/** Much longer than any test runs: an event that returns earlier did not return because its lease expired. */
export const LONG_LEASE_MS = 600_000

export interface WorkerProcess {
  readonly claims: readonly Pick<Claim, 'id' | 'messageKey' | 'token' | 'attempt'>[]
  kill(): Promise<void>
}

/** Starts a process that claims everything due. */
export async function startWorker(path: string): Promise<WorkerProcess> {
  const child = fork(new URL('./programs/holding.ts', import.meta.url), [path])
  // The message of programs/holding.ts.
  const [{ claims }] = (await once(child, 'message')) as [Pick<WorkerProcess, 'claims'>]
  return { claims, kill: () => killed(child) }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** The worker names of the leases in the file. */
export function workerNames(path: string): readonly string[] {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return db
      .prepare('SELECT name FROM workers ORDER BY worker')
      .all()
      .map(({ name }) => String(name))
  } finally {
    db.close()
  }
}
