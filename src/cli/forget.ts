/** `forget`: erases personal data from a store, and from the spool and quarantine of closed receivers. */
import { join } from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import { systemClock } from '../runtime/clock.ts'
import { isMeantRequest, type ErasureCounts } from '../operations/erasure/forget.ts'
import { forgetInStore } from '../operations/erasure/in-store.ts'
import { forgetInQuarantine, forgetInSpool } from '../operations/erasure/left-behind.ts'
import { checkSelector, type ForgetSelector } from '../operations/erasure/selector.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import { messageKey } from '../messages/order.ts'
import type { NewEvent, OpenStore, StoreCapabilities } from '../inbox/store.ts'
import { CliError } from './exit-codes.ts'
import { onStore, storeNowMs, type StoreOption } from './stores.ts'
import { shown, type Terminal } from './terminal.ts'

interface ForgetFlags extends StoreOption {
  readonly messageId?: string
  readonly recipient?: string
  readonly before?: Date
  readonly project?: string
  readonly dryRun?: boolean
  readonly compact: boolean
  readonly spool?: string
  readonly quarantine?: string
  readonly json?: true
}

export function define(command: Command, terminal: Terminal): void {
  command
    .option('--message-id <id>', 'one message, by the service’s id')
    .option('--recipient <number>', 'a person: every message and event with this number or name')
    .option(
      '--before <time>',
      'everything that arrived before, for example 2026-01-31 or 2026-01-31T12:00:00Z',
      readTime,
    )
    .option('--project <name>', 'only of this project; required with --message-id if the receiver has several')
    .option('--dry-run', 'print the counts, and remove nothing')
    .option('--no-compact', 'SQLite: do not rewrite the file; traces remain in its free space')
    .option('--spool <folder>', 'spool folder of closed receivers (default: beside an SQLite file)')
    .option('--quarantine <folder>', 'quarantine folder of closed receivers (default: quarantine in the spool folder)')
    .option('--json', 'print the counts as one line of JSON')
    .addHelpText(
      'after',
      '\nIds remain, to detect duplicates. There is no confirmation: try --dry-run first.\n' +
        'Only `receiver.forget()` erases the spool and quarantine of a running receiver.',
    )
    // Checks the flags before opening the store.
    .hook('preAction', () => void selectorIn(command.opts<ForgetFlags>()))
  onStore(command, terminal, (store, capabilities) => forget(store, capabilities, command.opts(), terminal))
}

function readTime(text: string): Date {
  const time = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)
    ? new Date(text)
    : undefined
  if (time === undefined || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('Expected a date, or a time with its zone.')
  return time
}

function selectorIn({ messageId, recipient, before, project }: ForgetFlags): ForgetSelector {
  const ways: readonly (ForgetSelector | undefined)[] = [
    messageId === undefined ? undefined : { messageId, project },
    recipient === undefined ? undefined : { recipient, project },
    before === undefined ? undefined : { before },
  ]
  const [selector, ...others] = ways.filter((way) => way !== undefined)
  if (selector === undefined || others.length > 0)
    throw new CliError('usage', 'Expected exactly one of --message-id, --recipient and --before.')
  if (before !== undefined && project !== undefined)
    throw new CliError('usage', '--project requires --message-id or --recipient.')
  return selector
}

async function forget(
  store: OpenStore<object>,
  { spoolFolder }: StoreCapabilities,
  flags: ForgetFlags,
  terminal: Terminal,
): Promise<void> {
  const clock = systemClock()
  const startedMs = clock.now()
  const { dryRun = false, compact, spool = spoolFolder, quarantine, json } = flags
  const wanted = checkSelector(selectorIn(flags))
  const inTheStore = wanted.by === 'message' ? { messageKey: messageKey(wanted.project, wanted.messageId) } : wanted
  const options = { dryRun, report: (error: MessagingWebhooksError) => terminal.note(shown(error.message)) }
  const isMeant = (event: NewEvent): boolean =>
    'messageKey' in inTheStore ? event.messageKey === inTheStore.messageKey : inTheStore.isMeant(event)
  const besideSpool = spool === undefined ? undefined : join(spool, 'quarantine')
  const requests = quarantine ?? besideSpool
  const left = spool === undefined ? NONE : await forgetInSpool(spool, isMeant, options)
  const refused =
    requests === undefined
      ? NONE
      : await forgetInQuarantine(requests, (request) => isMeantRequest(request, wanted), options)
  const { states, ...counts } = await forgetInStore(store, inTheStore, {
    dryRun,
    compact,
    nowMs: () => storeNowMs(store),
  })
  const tookMs = clock.now() - startedMs
  tell(
    { ...counts, messageStates: states, spooled: left.count, quarantined: refused.count, tookMs, dryRun },
    json,
    terminal,
  )
  const running = Math.max(left.running, refused.running)
  if (running > 0)
    terminal.note(
      `Skipped the spool and quarantine of ${running} running ${running === 1 ? 'process' : 'processes'}. ` +
        'Call `receiver.forget()` in each, or repeat this after they close.',
    )
}

const NONE = { count: 0, running: 0 } as const

function tell(forgotten: ErasureCounts, json: true | undefined, terminal: Terminal): void {
  if (json) {
    terminal.printJson(forgotten)
    return
  }
  const { events, unsettled, deadLetters, messageStates, spooled, quarantined, examined, tookMs, dryRun } = forgotten
  terminal.print(dryRun ? 'Would be removed:' : 'Removed:')
  const rows: readonly (readonly [number, string])[] = [
    [events, `events (${unsettled} not settled, ${deadLetters} dead letters)`],
    [messageStates, 'message states'],
    [spooled, 'events in the spool'],
    [quarantined, 'requests in quarantine'],
  ]
  terminal.printRows(
    rows.map(([count, what]) => [String(count), what]),
    'wrap',
    '  ',
  )
  terminal.note(`Read ${examined} records of the store in ${tookMs} ms.`)
}
