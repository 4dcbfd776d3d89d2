/** `forget`: erases personal data from a store, and from the spool and the quarantine of all receivers of this machine. */
import { z } from 'zod'
import { forgetInStore, isMeantRequest, wantedInStore, type ErasureCounts } from '../operations/erasure/forget.ts'
import { checkSelector, type ForgetSelector, type Wanted } from '../operations/erasure/selector.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { MessageStore } from '../inbox/store.ts'
import { messageKey } from '../messages/order.ts'
import { systemClock } from '../runtime/clock.ts'
import { command, flag, readBy, toggle, usage } from './command.ts'
import { inLocalFile } from './local-file.ts'
import { onStore, SPOOL_FLAG, STORE_FLAGS } from './stores.ts'
import { shown, type Terminal } from './terminal.ts'
import { forgetIn } from '../inbox/spool.ts'
import { forgetStored } from '../quarantine/stored.ts'

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
  ...SPOOL_FLAG,
  quarantine: flag('--quarantine <folder>', 'quarantine folder of the receivers (default: the spool folder)', text),
  json: toggle('--json', 'print the counts as one line of JSON'),
}
type Flags = z.output<z.ZodObject<typeof FLAGS>>

export const { define } = command({
  flags: FLAGS,
  notes:
    'Ids remain, to detect duplicates. There is no confirmation: try --dry-run first.\n' +
    'Only `receiver.forget()` erases a quarantine that is kept in memory.',
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

async function forget(
  store: MessageStore<object>,
  wanted: Wanted,
  { dryRun, compact, spool, quarantine, json }: Flags,
  terminal: Terminal,
): Promise<void> {
  const clock = systemClock()
  const startedMs = clock.now()
  const { inStore, isMeant } = wantedInStore(wanted, (messageId, project) => messageKey(project, messageId))
  const report = (error: MessagingWebhooksError): void => terminal.note(shown(error.message))
  const spooled = await inLocalFile({ folder: spool, option: '--spool', report }, 0, (file) =>
    forgetIn(file, isMeant, dryRun),
  )
  const quarantined = await inLocalFile({ folder: quarantine ?? spool, option: '--quarantine', report }, 0, (file) =>
    forgetStored(file, (request) => isMeantRequest(request, wanted), dryRun),
  )
  const { states: messageStates, ...counts } = await forgetInStore(store, inStore, { dryRun, compact })
  const tookMs = clock.now() - startedMs
  const forgotten = { ...counts, messageStates, spooled, quarantined, tookMs, dryRun }
  if (json) terminal.printJson(forgotten)
  else printCounts(forgotten, terminal)
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
