/**
 * Erases from files that ended processes left on the disk: adopts them, searches them, and leaves the rest to the next process.
 * Skips the files of running processes.
 */
import { join } from 'node:path'
import { systemClock } from '../../runtime/clock.ts'
import { nodeFs } from '../../disk-log/file-system.ts'
import { processesIn } from '../../disk-log/process-folder.ts'
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
  /** Number of matches. They are erased unless it is a dry run. */
  readonly count: number
  /** Running processes with files of their own in the folder. */
  readonly running: number
}

const CLOSE_MS = 10_000
/** Only a receiver reserves disk space. */
const NO_RESERVE = 0
/** The folder of events that the store refused. */
const REFUSED = 'refused'

export async function forgetInSpool(
  folder: string,
  isMeant: (event: NewEvent) => boolean,
  { dryRun, report }: LookOptions,
): Promise<LeftBehind> {
  const { running, dead } = await processesIn(nodeFs, folder)
  const { dead: deadAside } = await processesIn(nodeFs, join(folder, REFUSED))
  if (dead + deadAside === 0) return { count: 0, running }
  const { outage, aside } = await openSpools(folder, report, { reserveBytes: NO_RESERVE })
  try {
    return { count: (await outage.forget(isMeant, dryRun)) + (await aside.forget(isMeant, dryRun)), running }
  } finally {
    await outage.close()
    await aside.close()
  }
}

export async function forgetInQuarantine(
  folder: string,
  isMeant: (request: KeptRequest) => boolean,
  { dryRun, report }: LookOptions,
): Promise<LeftBehind> {
  const { running, dead } = await processesIn(nodeFs, folder)
  if (dead === 0) return { count: 0, running }
  const clock = systemClock()
  const log = createRequestLog({ fs: nodeFs, clock, folder, report })
  // The next receiver applies its own bounds.
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
