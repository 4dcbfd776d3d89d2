/** `events`: lists events, shows one event, or the history of one message. */
import { Option, type Command } from 'commander'
import type { ListedEvent, ListEventsOptions } from '../dispatch/listed-events.ts'
import { messageState } from '../inbox/latest.ts'
import { filledPage } from '../inbox/pages.ts'
import { EVENT_STATES, type EventState, type OpenStore } from '../inbox/store.ts'
import { messageKey } from '../messages/order.ts'
import { CARRIERS, EVENT_TYPES, type Carrier, type EventType } from '../public/events.ts'
import { systemClock } from '../runtime/clock.ts'
import { severalOf, timeOf, wholeNumber } from './arguments.ts'
import { failureWords } from './event-line.ts'
import { CliError } from './exit-codes.ts'
import { keptIn, printDetails, standingOf, subjectOf } from './kept-events.ts'
import { MOST_A_PAGE, onStore, type StoreOption } from './stores.ts'
import { shown, type Terminal } from './terminal.ts'

interface ShowOptions extends StoreOption {
  readonly project?: string
  readonly json?: true
}

interface ListOptions extends ShowOptions, Pick<ListEventsOptions, 'after' | 'channel' | 'about' | 'from' | 'to'> {
  readonly limit: number
  readonly type?: readonly EventType[]
  readonly carrier?: Carrier
  readonly state?: readonly EventState[]
}

export function define(command: Command, terminal: Terminal): void {
  command.addHelpText(
    'after',
    '\n`list` prints the ids of events in its first column. The id of a message is the service’s own.',
  )
  const list = command
    .command('list')
    .description('print events, newest first')
    .option('--limit <number>', 'maximum number', wholeNumber(1, MOST_A_PAGE), 50)
    .option('--after <cursor>', 'continue after an earlier list')
    .addOption(severalOf('--type <type>', 'of these types', EVENT_TYPES))
    .option('--project <name>', 'of this project')
    .option('--channel <name>', 'of this channel, by its name in callbacks')
    .addOption(new Option('--carrier <name>', 'of this carrier').choices(CARRIERS))
    .addOption(severalOf('--state <state>', 'in these states', EVENT_STATES))
    .option('--from <time>', 'from this time, for example 2026-01-31T12:00:00Z', timeOf)
    .option('--to <time>', 'before this time', timeOf)
    .option('--about <text>', 'with this message id or recipient')
    .option('--json', 'print one JSON object a line')
  onStore(list, terminal, (store) => printList(store, list.opts(), terminal))
  const show = command
    .command('show')
    .description('print one event with its payload and state')
    .argument('<id>', 'id of the event')
    .option('--json', 'print it as one line of JSON')
  onStore(show, terminal, (store) => printOne(store, show.args[0] ?? '', show.opts(), terminal))
  const state = command
    .command('state')
    .description('print one message: its latest state, and its reports in order')
    .argument('<message>', 'the service’s id of the message')
    .option('--project <name>', 'the project of the message, for a receiver with the option `projects`')
    .option('--json', 'print it as one line of JSON')
  onStore(state, terminal, (store) => printState(store, state.args[0] ?? '', state.opts(), terminal))
}

async function printList(
  store: OpenStore<object>,
  { json, limit, after, type, state, project, channel, carrier, from, to, about }: ListOptions,
  terminal: Terminal,
): Promise<void> {
  const query = { after, limit, types: type, states: state, project, channel, carrier, from, to, about }
  const { events } = keptIn(store)
  const { items, next } = await filledPage(query, (page: typeof query) => events.list(page))
  if (json) for (const event of items) terminal.printJson(event)
  else terminal.printRows(rowsOf(items, terminal))
  if (items.length === 0) terminal.note('There are no events.')
  if (next !== undefined) terminal.note(`For more, pass --after ${next}`)
}

const UNREADABLE = 'not stored, or unreadable'

/** Id, time (received, else the last known), type, subject and state. */
function rowsOf(events: readonly ListedEvent[], { colours }: Terminal): readonly (readonly string[])[] {
  const nowMs = systemClock().now()
  return events.map((event) => {
    const standing = standingOf(event, nowMs)
    return [
      event.id,
      colours.dim((event.receivedAt ?? event.admittedAt ?? event.at)?.toISOString() ?? ''),
      event.type ?? colours.dim(UNREADABLE),
      subjectOf(event).map(shown).join('  '),
      event.state === 'dead' ? colours.red(standing) : colours.dim(standing),
    ]
  })
}

async function printOne(
  store: OpenStore<object>,
  id: string,
  { json }: ShowOptions,
  terminal: Terminal,
): Promise<void> {
  const listed = await keptIn(store).events.get(id)
  if (listed === undefined)
    throw new CliError('notFound', `There is no event ${shown(id)}.`, '`events list` prints the ids.')
  if (json) {
    terminal.printJson(listed)
    return
  }
  const { type, event, receivedAt, admittedAt, error } = listed
  const fields = {
    id,
    type: type ?? `${UNREADABLE}: only its id is left, to detect duplicates`,
    about: subjectOf(listed).join('  '),
    state: standingOf(listed, systemClock().now()),
    received: receivedAt?.toISOString(),
    admitted: admittedAt?.toISOString(),
  }
  printDetails(fields, { event, error }, terminal)
}

async function printState(
  store: OpenStore<object>,
  messageId: string,
  { project, json }: ShowOptions,
  terminal: Terminal,
): Promise<void> {
  const stored = await store.latest(messageKey(project, messageId))
  const latest = stored && messageState(stored)
  const reports = await keptIn(store).events.ofMessage(messageId, { project })
  if (latest === undefined && reports.length === 0)
    throw new CliError(
      'notFound',
      `There is no message ${shown(messageId)}${project === undefined ? '' : ` in project ${shown(project)}`}.`,
      project === undefined
        ? 'A receiver with `projects` stores messages by project: pass --project.'
        : 'A receiver without `projects` stores messages by id only: omit --project.',
    )
  if (json) {
    terminal.printJson({ messageId, project, latest, reports })
    return
  }
  const { bold } = terminal.colours
  if (latest !== undefined) {
    const { type, status, statusCode, occurredAt, receivedAt } = latest
    const words = [
      type,
      status ?? (statusCode === undefined ? undefined : `code ${statusCode}`),
      latest.type === 'message.failed' ? failureWords(latest.failure) : undefined,
      occurredAt === undefined ? `received ${receivedAt.toISOString()}` : `at ${occurredAt.toISOString()}`,
    ]
    terminal.print(`${bold('latest')}  ${shown(words.filter((word) => word !== undefined).join('  '))}`)
  }
  terminal.print(bold('reports in order'))
  terminal.printRows(rowsOf(reports, terminal), 'wrap', '  ')
}
