/** `forget`: erases personal data from a store, and from the spool and quarantine of closed receivers. */
import { join } from 'node:path'
import { z } from 'zod'
import { forgetInStore, isMeantRequest, wantedInStore, type ErasureCounts } from '../operations/erasure/forget.ts'
import { checkSelector, type ForgetSelector, type Wanted } from '../operations/erasure/selector.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { MessageStore } from '../inbox/store.ts'
import { messageKey } from '../messages/order.ts'
import { systemClock } from '../runtime/clock.ts'
import { command, flag, readBy, toggle, usage } from './command.ts'
import { onStore, STORE_FLAGS } from './stores.ts'
import { shown, type Terminal } from './terminal.ts'
import { nodeFs } from '../disk-log/file-system.ts'
import { processesIn } from '../disk-log/process-folder.ts'
import { openSpools } from '../inbox/spool/spool.ts'
import { memoryKeeper } from '../quarantine/keeper.ts'
import { createRequestLog } from '../quarantine/request-log.ts'
import type { KeptRequest } from '../quarantine/request.ts'

const text = z.string().optional()
const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/

const FLAGS = {
  ...STORE_FLAGS,
  messageId: flag('--message-id <id>', 'one message, by the service’s id', text),
  recipient: flag('--recipient <number>', 'a person: every message and event with this number or name', text),
  before: flag(
    '--before <time>',
    'everything that arrived before, for example 2026-01-31 or 2026-01-31T12:00:00Z',
    readBy('Expected a date, or a time with its zone.', (given) => new Date(DATE.test(given) ? given : NaN)).optional(),
  ),
  project: flag(
    '--project <name>',
    'only of this project; required with --message-id if the receiver has several',
    text,
  ),
  dryRun: toggle('--dry-run', 'print the counts, and remove nothing'),
  compact: flag(
    '--no-compact',
    'SQLite: do not rewrite the file; traces remain in its free space',
    z.boolean().default(true),
  ),
  spool: flag('--spool <folder>', 'spool folder of closed receivers (default: beside an SQLite file)', text),
  quarantine: flag(
    '--quarantine <folder>',
    'quarantine folder of closed receivers (default: quarantine in the spool folder)',
    text,
  ),
  json: toggle('--json', 'print the counts as one line of JSON'),
}
type Flags = z.output<z.ZodObject<typeof FLAGS>>

export const { define } = command({
  flags: FLAGS,
  notes:
    'Ids remain, to detect duplicates. There is no confirmation: try --dry-run first.\n' +
    'Only `receiver.forget()` erases the spool and quarantine of a running receiver.',
  run(flags, terminal) {
    const wanted = checkSelector(selectorIn(flags))
    return onStore(flags, terminal, (store, { spoolFolder }) =>
      forget(store, wanted, { ...flags, spool: flags.spool ?? spoolFolder }, terminal),
    )
  },
})

function selectorIn({ messageId, recipient, before, project }: Flags): ForgetSelector {
  const ways: readonly (ForgetSelector | undefined)[] = [
    messageId === undefined ? undefined : { messageId, project },
    recipient === undefined ? undefined : { recipient, project },
    before === undefined ? undefined : { before },
  ]
  const [selector, ...others] = ways.filter((way) => way !== undefined)
  if (selector === undefined || others.length > 0)
    throw usage('Expected exactly one of --message-id, --recipient and --before.')
  if (before !== undefined && project !== undefined) throw usage('--project requires --message-id or --recipient.')
  return selector
}

const NONE = { count: 0, running: 0 } as const

async function forget(
  store: MessageStore<object>,
  wanted: Wanted,
  { dryRun, compact, spool, quarantine, json }: Flags,
  terminal: Terminal,
): Promise<void> {
  const clock = systemClock()
  const startedMs = clock.now()
  const { inStore, isMeant } = wantedInStore(wanted, (messageId, project) => messageKey(project, messageId))
  const options = { dryRun, report: (error: MessagingWebhooksError) => terminal.note(shown(error.message)) }
  const requests = quarantine ?? (spool === undefined ? undefined : join(spool, 'quarantine'))
  const left = spool === undefined ? NONE : await forgetInSpool(spool, isMeant, options)
  const refused =
    requests === undefined
      ? NONE
      : await forgetInQuarantine(requests, (request) => isMeantRequest(request, wanted), options)
  const { states: messageStates, ...counts } = await forgetInStore(store, inStore, { dryRun, compact })
  const tookMs = clock.now() - startedMs
  const forgotten = { ...counts, messageStates, spooled: left.count, quarantined: refused.count, tookMs, dryRun }
  if (json) terminal.printJson(forgotten)
  else printCounts(forgotten, terminal)
  const running = Math.max(left.running, refused.running)
  if (running > 0)
    terminal.note(
      `Skipped the spool and quarantine of ${running} running ${running === 1 ? 'process' : 'processes'}. ` +
        'Call `receiver.forget()` in each, or repeat this after they close.',
    )
}

function printCounts(forgotten: ErasureCounts, { print, printRows, note }: Terminal): void {
  const { events, unsettled, deadLetters, messageStates, spooled, quarantined, examined, tookMs, dryRun } = forgotten
  print(dryRun ? 'Would be removed:' : 'Removed:')
  const rows = [
    [String(events), `events (${unsettled} not settled, ${deadLetters} dead letters)`],
    [String(messageStates), 'message states'],
    [String(spooled), 'events in the spool'],
    [String(quarantined), 'requests in quarantine'],
  ]
  printRows(rows, '  ')
  note(`Read ${examined} records of the store in ${tookMs} ms.`)
}

interface LookOptions {
  readonly dryRun: boolean
  readonly report: (error: MessagingWebhooksError) => void
}

const CLOSE_MS = 10_000
/** Only a receiver reserves disk space. */
const NO_RESERVE = 0
/** The folder of events that the store refused. */
const REFUSED = 'refused'

/**
 * Erases from files that ended processes left on the disk: adopts them, searches them, and leaves the rest to the next process.
 * `count`: the matches. `running`: the processes that still run, whose files in the folder it skips.
 */
async function forgetInSpool(folder: string, isMeant: (event: NewEvent) => boolean, { dryRun, report }: LookOptions) {
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

/** Like `forgetInSpool`, for refused requests. */
async function forgetInQuarantine(
  folder: string,
  isMeant: (request: KeptRequest) => boolean,
  { dryRun, report }: LookOptions,
) {
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
