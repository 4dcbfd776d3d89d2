/** Processes that hold leases, and what the file says of them. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import type { Claim } from 'messaging-webhooks/store'

/** Much longer than any test runs: what comes again before has not come because its lease ran out. */
export const LONG_LEASE_MS = 600_000

export interface HolderProcess {
  readonly claims: readonly Pick<Claim, 'id' | 'messageKey' | 'token' | 'attempt'>[]
  kill(): Promise<void>
}

/** Starts a process that claims all that is due. */
export async function startHolder(path: string): Promise<HolderProcess> {
  const child = fork(new URL('./programs/holding.ts', import.meta.url), [path])
  // What programs/holding.ts sends.
  const [{ claims }] = (await once(child, 'message')) as [Pick<HolderProcess, 'claims'>]
  return { claims, kill: () => killed(child) }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** The names under which leases are held, as the file has them. */
export function holderNames(path: string): readonly string[] {
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
