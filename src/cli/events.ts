/** `events`: what came lately, one event, and one message's life, of any store. */
import { Option, type Command } from 'commander'
import { systemClock } from '../runtime/clock.ts'
import { inOrder, recordType } from '../dispatch/listed-events.ts'
import { CARRIERS, EVENT_TYPES, type EventType } from '../public/events.ts'
import { knownTime, messageKey } from '../messages/order.ts'
import { messageState } from '../inbox/latest.ts'
import { everyPage, filledPage } from '../inbox/pages.ts'
import { EVENT_STATES, type EventsPage, type EventState, type OpenStore, type StoredEvent } from '../inbox/store.ts'
import { formsOf } from '../runtime/recipient-forms.ts'
import { severalOf, timeOf, wholeNumber } from './arguments.ts'
import { CliError } from './exit-codes.ts'
import { failureWords } from './event-line.ts'
import { asJson, isoTime, knownEvent, printDetails, standingOf, timeText, type KnownEvent } from './known-event.ts'
import { addStoreOptions, inStore, type StoreOption } from './stores.ts'
import { aligned, shown, type Terminal } from './terminal.ts'

interface ShowOptions extends StoreOption {
  readonly json?: true
}

interface ListOptions extends ShowOptions {
  readonly limit: number
  readonly after?: string
  readonly type?: readonly EventType[]
  readonly project?: string
  readonly channel?: string
  readonly carrier?: string
  readonly state?: readonly EventState[]
  readonly from?: number
  readonly to?: number
  readonly about?: string
}

interface StateOptions extends StoreOption {
  readonly project?: string
  readonly json?: true
}

const MOST_A_PAGE = 10_000

export function define(command: Command, terminal: Terminal): void {
  command.addHelpText(
    'after',
    `\nThe id of an event is what \`list\` prints first; a message's is what the service calls it.`,
  )
  addStoreOptions(command.command('list'))
    .description('print what came, the newest first')
    .option('--limit <number>', 'at most so many', wholeNumber(1, MOST_A_PAGE), 50)
    .option('--after <cursor>', 'go on where an earlier list ended')
    .addOption(severalOf('--type <type>', 'of this type, or of several', EVENT_TYPES))
    .option('--project <name>', 'of this project')
    .option('--channel <name>', 'of this channel, as callbacks name it')
    .addOption(new Option('--carrier <name>', 'of this carrier').choices(CARRIERS))
    .addOption(severalOf('--state <state>', 'in this state, or in several', EVENT_STATES))
    .option('--from <time>', 'not before this time, such as 2026-01-31T12:00:00Z', timeOf)
    .option('--to <time>', 'before this time', timeOf)
    .option('--about <text>', 'about the message with this id, or to this recipient')
    .option('--json', 'print one JSON object a line')
    .action((options: ListOptions) => inStore(options, terminal, (store) => list(store, options, terminal)))
  addStoreOptions(command.command('show'))
    .description('print one event with its payload and where it stands')
    .argument('<id>', 'its id')
    .option('--json', 'print it as one line of JSON')
    .action((id: string, options: ShowOptions) =>
      inStore(options, terminal, (store) => show(store, id, options, terminal)),
    )
  addStoreOptions(command.command('state'))
    .description("print one message's life: its latest state, and its reports in their order")
    .argument('<message>', 'the message id, as the service gave it')
    .option('--project <name>', 'the project of the message, for a receiver with the option `projects`')
    .option('--json', 'print it as one line of JSON')
    .action((messageId: string, options: StateOptions) =>
      inStore(options, terminal, (store) => printState(store, messageId, options, terminal)),
    )
}

async function list(store: OpenStore<object>, options: ListOptions, terminal: Terminal): Promise<void> {
  const { limit, after, json, type, project, channel, carrier, state, from, to, about } = options
  const types = type && [...new Set(type.map(recordType))]
  const filter = {
    types,
    project,
    channel,
    carrier,
    states: state,
    fromMs: from,
    toMs: to,
    about: about === undefined ? undefined : formsOf(about),
  }
  const { items, next } = await filledPage({ after, limit, ...filter }, async (page: EventsPage) => store.events(page))
  const all = await Promise.all(items.map(knownEvent))
  // Which subscription it is, only its payload tells.
  const known = all.filter(
    (each) => each.type?.startsWith('subscription.') !== true || type?.some((wanted) => wanted === each.type) !== false,
  )
  if (json) for (const each of known) terminal.printJson(asJson(each))
  else for (const line of linesOf(known, terminal)) terminal.print(line)
  if (items.length === 0) terminal.note('There are no events.')
  if (next !== undefined) terminal.note(`There are more: --after ${next}`)
}

/** The id, when it came (or the last that is known of it), its type, what it is about, where it stands. */
function linesOf(known: readonly KnownEvent[], { colours }: Terminal): readonly string[] {
  const nowMs = systemClock().now()
  return aligned(
    known.map(({ stored, type, about }) => {
      const atMs = stored.record?.receivedAtMs ?? stored.admittedAtMs ?? stored.atMs
      const standing = standingOf(stored, nowMs)
      return [
        stored.id,
        colours.dim(atMs === undefined ? '' : isoTime(atMs)),
        type ?? colours.dim('no longer kept'),
        about.map(shown).join('  '),
        stored.state === 'dead' ? colours.red(standing) : colours.dim(standing),
      ]
    }),
  )
}

async function show(store: OpenStore<object>, id: string, { json }: ShowOptions, terminal: Terminal): Promise<void> {
  const { items } = await store.events({ after: undefined, limit: 1, id })
  const [stored] = items
  if (stored === undefined)
    throw new CliError('notFound', `There is no event ${shown(id)}.`, '`events list` prints those that there are.')
  const known = await knownEvent(stored)
  if (json) {
    terminal.printJson(asJson(known))
    return
  }
  const { record, admittedAtMs, error } = stored
  const { type, about, event } = known
  printDetails(
    {
      id,
      type: type ?? 'no longer kept: only that it came, so that a repetition is known',
      about: about.join('  '),
      state: standingOf(stored, systemClock().now()),
      happened: record && timeText(knownTime(record)),
      received: record && `${isoTime(record.receivedAtMs)}, proved by ${record.proof}`,
      admitted: admittedAtMs === undefined ? undefined : isoTime(admittedAtMs),
    },
    { payload: event?.payload, error },
    terminal,
  )
}

async function printState(
  store: OpenStore<object>,
  messageId: string,
  { project, json }: StateOptions,
  terminal: Terminal,
): Promise<void> {
  const key = messageKey(project, messageId)
  const stored = await store.latest(key)
  const latest = stored && messageState(stored)
  const events: StoredEvent[] = []
  for await (const { items } of everyPage((after) => store.events({ after, limit: 100, messageKey: key })))
    events.push(...items)
  if (latest === undefined && events.length === 0)
    throw new CliError(
      'notFound',
      `There is no message ${shown(messageId)}${project === undefined ? '' : ` of ${shown(project)}`}.`,
      project === undefined
        ? 'A receiver with `projects` keeps messages apart by project: name it with --project.'
        : 'A receiver without `projects` keeps messages by their ids alone: leave --project out.',
    )
  const reports = await Promise.all(inOrder(events).map(knownEvent))
  if (json) {
    terminal.printJson({ messageId, project, latest, reports: reports.map(asJson) })
    return
  }
  const { bold } = terminal.colours
  if (latest !== undefined) {
    const { type, status, statusCode, occurredAt, receivedAt } = latest
    const words: string[] = [type]
    if (status !== undefined) words.push(shown(status))
    else if (statusCode !== undefined) words.push(`code ${statusCode}`)
    if (latest.type === 'message.failed') words.push(failureWords(latest.failure))
    words.push(occurredAt === undefined ? `received ${receivedAt.toISOString()}` : `at ${occurredAt.toISOString()}`)
    terminal.print(`${bold('latest')}  ${words.join('  ')}`)
  }
  terminal.print(bold('reports, in their order'))
  for (const line of linesOf(reports, terminal)) terminal.print(`  ${line}`)
}
