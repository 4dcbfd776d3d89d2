/**
 * What receivers have left on a disk when they ended: taken over, looked through, and left to the next one. What a running
 * one has is its own.
 */
import { join } from 'node:path'
import { systemClock } from '../../runtime/clock.ts'
import { nodeFs } from '../../disk-log/node-file-system.ts'
import { hasDead, processFoldersIn } from '../../disk-log/process-folder.ts'
import { systemCode } from '../../disk-log/file-system.ts'
import type { MessagingWebhooksError } from '../../public/errors.ts'
import { openSpools } from '../../inbox/spool/spool.ts'
import type { NewEvent } from '../../inbox/store.ts'
import { memoryKeeper } from '../../quarantine/keeper.ts'
import { createRequestLog } from '../../quarantine/request-log.ts'
import type { KeptRequest } from '../../quarantine/request.ts'

interface LookOptions {
  readonly dryRun: boolean
  readonly report: (error: MessagingWebhooksError) => void
}

interface LeftBehind {
  /** How many were meant, and are gone unless it is a dry run. */
  readonly count: number
  /** Processes that run, and have files of their own there. */
  readonly running: number
}

const CLOSE_MS = 10_000
/** What is set aside of a disk is a receiver's. */
const NO_RESERVE = 0
/** Events that stores refused. */
const REFUSED = 'refused'

/** In the folder of a spool. */
export async function forgetInSpool(
  folder: string,
  isMeant: (event: NewEvent) => boolean,
  { dryRun, report }: LookOptions,
): Promise<LeftBehind> {
  const running = await runningIn(folder)
  if (!(await hasDead(nodeFs, folder)) && !(await hasDead(nodeFs, join(folder, REFUSED)))) return { count: 0, running }
  const { outage, aside } = await openSpools(folder, report, { reserveBytes: NO_RESERVE })
  try {
    return { count: (await outage.forget(isMeant, dryRun)) + (await aside.forget(isMeant, dryRun)), running }
  } finally {
    await outage.close()
    await aside.close()
  }
}

/** In the folder of a quarantine. */
export async function forgetInQuarantine(
  folder: string,
  isMeant: (request: KeptRequest) => boolean,
  { dryRun, report }: LookOptions,
): Promise<LeftBehind> {
  const running = await runningIn(folder)
  if (!(await hasDead(nodeFs, folder))) return { count: 0, running }
  const clock = systemClock()
  const log = createRequestLog({ fs: nodeFs, clock, folder, report })
  // The next receiver has bounds, and decides what is too old.
  const keeper = memoryKeeper({ maxBytes: Infinity, maxAgeMs: Infinity }, log.changes)
  try {
    await log.open((remembered) => keeper.restore(remembered, clock.now()))
    const meant = keeper.all().filter(isMeant)
    if (!dryRun) for (const request of meant) keeper.remove(request)
    return { count: meant.length, running }
  } finally {
    await log.overwritten()
    await log.close(CLOSE_MS)
  }
}

async function runningIn(folder: string): Promise<number> {
  try {
    let count = 0
    for (const name of await processFoldersIn(nodeFs, folder)) if (await nodeFs.isHeld(join(folder, name))) count += 1
    return count
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    return 0
  }
}
