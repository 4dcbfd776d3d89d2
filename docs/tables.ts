/** Tables and lists of the documentation that are generated from constants of the code. `npm run docs:tables` writes them. */
import { Command } from 'commander'
import { EVENT_TYPES, PROBLEMS, STATUS_CODES, type EventType } from '../src/index.ts'
import { ANSWERS } from '../src/http/replies.ts'
import { CLIENT_TABLES } from './client-tables.ts'
import { EMULATOR_TABLES } from './emulator-tables.ts'
import { GLOSSARY } from './glossary.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { ENVIRONMENT, EXIT_CODES } from '../src/cli/command.ts'
import { createTerminal } from '../src/cli/terminal.ts'
import {
  OF_HANDLERS,
  OF_QUARANTINE,
  OF_SENDING,
  REFUSED,
  REPORTED,
  THROWN,
  UNAVAILABLE,
} from '../src/public/error-table.ts'
import { FINDINGS } from '../src/operations/doctor/findings.ts'
import { LOG_CODES } from './log-codes.ts'
import { METRICS as OTEL_METRICS } from '../src/otel/names.ts'
import { HEALTH_REASONS } from '../src/operations/health.ts'
import { METRICS } from '../src/operations/metrics.ts'
import { keysOf } from '../src/runtime/values.ts'
import { OPTIONS, shownType, storeOptionsOf, type STORE_OPTIONS } from './options.ts'

export interface GeneratedTable {
  /** From the project's root. */
  readonly page: string
  /** The anchor of its heading. */
  readonly under: string
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** A list of codes, an item each, to which errors and pages lead. */
export interface GeneratedList {
  readonly page: string
  /** The anchor of its heading. */
  readonly under: string
  readonly items: readonly string[]
}

const NONE = '–'
/** What the page of errors says once, for all of them or above a list. */
const SAID_ONCE = [
  '`cause` is the error.',
  'Nothing was sent.',
  'The callback is in quarantine and is verified again automatically.',
] as const
/** The longest advice that is repeated. */
const MAX_REPEATED_LENGTH = 40
/** A flag of more commands than this is shown once. */
const MAX_COMMANDS = 3

const DURABLE_STORES = {
  sqlite: 'SQLite',
  postgres: 'Postgres',
  mysql: 'MySQL',
  redis: 'Redis',
} as const satisfies Partial<Record<keyof typeof STORE_OPTIONS, string>>

/** The meaning of each event type, and the fields that only it has. */
export const EVENT_PROSE: Readonly<Record<EventType, readonly [tells: string, fields: string]>> = {
  'message.queued': ['Accepted by the service or the carrier, and not sent yet.', '`scheduled`'],
  'message.sent': ['Accepted by the chat-app.', NONE],
  'message.delivered': ['Reached the device.', NONE],
  'message.read': ['Opened by a recipient with read receipts.', NONE],
  'message.failed': ['The message failed.', '`failure`'],
  'send.overdue': ['An expected message has no final report in time.', '`messageId`, `channel?`, `sent`'],
  'send.unknown': ['The outcome of a recorded send is unknown.', '`reference`, `channel?`, `sent`'],
  late: ['A report older than a dispatched report of its message.', '`messageId`, `channel?`, `report`'],
  received: ['A customer sent you a message.', '`data`'],
  payment: ['A mobile-money payment completed or failed.', '`data`'],
  'subscription.activate': ['A subscriber opted in.', '`data`'],
  'subscription.deactivate': ['A subscriber opted out.', '`data`'],
  'subscription.consent': ['The carrier recorded a consent.', '`data`'],
  'subscription.delivery': ['A delivery report of a premium message.', '`data`'],
  'subscription.billing': ['A subscriber was billed.', '`data`'],
  'subscription.other': ['A premium callback of an unknown type.', '`data`, `word?`'],
  unrecognized: ['An authentic callback that could not be read.', '`problem`, `paths?`, `kind?`, `data`'],
}

export const GENERATED_TABLES: readonly GeneratedTable[] = [
  {
    page: 'docs/reference/options.md',
    under: 'options',
    header: ['Option', 'Type', 'Default', 'What'],
    // A group is its options, unless it can be switched off.
    rows: OPTIONS.filter(
      ({ name, type }) => type.includes('false') || !OPTIONS.some((other) => other.name.startsWith(`${name}.`)),
    ).map((option) => [code(option.name), shownType(option), option.default, option.what]),
  },
  {
    page: 'docs/guides/store-memory.md',
    under: 'settings',
    header: ['Bound', 'What', 'Default'],
    rows: storeOptionsOf('memory').map(({ name, what, stated }) => [code(name), what, stated]),
  },
  {
    page: 'docs/guides/stores.md',
    under: 'settings',
    header: ['Setting', 'What', 'Default'],
    rows: durableSettings(),
  },
  {
    page: 'docs/reference/statuses.md',
    under: 'status-codes',
    header: ['Code', 'Word', 'Event', 'Failure'],
    rows: STATUS_CODES.map(({ code: number, word, type, failure }) => [
      String(number),
      code(word),
      code(type),
      failure?.kind ?? NONE,
    ]),
  },
  {
    page: 'docs/reference/events.md',
    under: 'events',
    header: ['Type', 'Meaning', 'Own fields'],
    rows: EVENT_TYPES.map((type) => [code(type), ...EVENT_PROSE[type]]),
  },
  {
    page: 'docs/reference/answers.md',
    under: 'answers',
    header: ['Status', 'Code', 'When'],
    rows: Object.entries(ANSWERS).map(([name, { status, when }]) => [
      String(status),
      name === 'accepted' ? NONE : code(name),
      when,
    ]),
  },
  {
    page: 'docs/reference/command-line.md',
    under: 'command-line',
    header: ['Command', 'What it does'],
    rows: Object.entries(COMMANDS).map(([name, { what }]) => [
      code(name),
      `${what.charAt(0).toUpperCase()}${what.slice(1)}.`,
    ]),
  },
  {
    page: 'docs/reference/command-line.md',
    under: 'flags',
    header: ['Command', 'Flags'],
    rows: await flagRows(),
  },
  {
    page: 'docs/reference/command-line.md',
    under: 'environment-variables',
    header: ['Variable', 'What'],
    rows: Object.entries(ENVIRONMENT).map(([name, what]) => [code(name), what]),
  },
  {
    page: 'docs/reference/command-line.md',
    under: 'exit-codes',
    header: ['Code', 'When'],
    rows: Object.values(EXIT_CODES).map(({ code: number, when }) => [String(number), when]),
  },
  {
    page: 'docs/guides/observing.md',
    under: 'reasons',
    header: ['Makes false', 'Reasons'],
    rows: healthReasons(),
  },
  {
    page: 'docs/guides/observing.md',
    under: 'metrics',
    header: ['Metric', 'What'],
    rows: Object.entries(METRICS).map(([name, [, labels, help]]) => [code(withLabels(name, labels)), help]),
  },
  {
    page: 'docs/guides/opentelemetry.md',
    under: 'metrics',
    header: ['Metric', 'Instrument', 'Attributes'],
    rows: Object.entries(OTEL_METRICS).map(([name, [instrument, , attributes]]) => [
      code(name),
      instrument,
      list(attributes),
    ]),
  },
  ...CLIENT_TABLES,
  ...EMULATOR_TABLES,
]

export const GENERATED_LISTS: readonly GeneratedList[] = [
  GLOSSARY,
  ...errorLists(),
  {
    page: 'docs/reference/events.md',
    under: 'unrecognized',
    items: explained(PROBLEMS),
  },
  {
    page: 'docs/reference/log.md',
    under: 'log-lines',
    items: Object.entries(LOG_CODES).map(
      ([name, [level, when]]) => `- ${anchored(name)}${level === 'warn' ? '' : ` (${level})`}: ${when}`,
    ),
  },
  {
    page: 'docs/guides/doctor.md',
    under: 'findings',
    items: Object.entries(FINDINGS).map(([name, [level, what]]) => `- ${anchored(name)} (${level}): ${what}`),
  },
]

/** A row for each setting, with its default in the stores that have it. */
function durableSettings(): string[][] {
  const all = keysOf(DURABLE_STORES).flatMap((store) => storeOptionsOf(store).map((option) => ({ ...option, store })))
  return [...Map.groupBy(all, ({ name }) => name)].map(([name, options]) => {
    const isEverywhere = options.length === keysOf(DURABLE_STORES).length
    const defaults = [...Map.groupBy(options, ({ stated }) => stated)].map(([stated, those]) =>
      isEverywhere && those.length === options.length
        ? stated
        : `${stated} (${those.map(({ store }) => DURABLE_STORES[store]).join(', ')})`,
    )
    return [code(name), options[0]?.what ?? '', defaults.join(', ')]
  })
}

/** The reasons by what they make false. */
function healthReasons(): string[][] {
  const groups = Map.groupBy(keysOf(HEALTH_REASONS), (name) =>
    name.startsWith('not_') ? 'nothing: `working` is undefined' : list(HEALTH_REASONS[name][0]),
  )
  return [...groups].map(([affected, names]) => [affected === NONE ? 'nothing' : affected, list(names)])
}

function errorLists(): GeneratedList[] {
  return Object.entries({
    thrown: THROWN,
    'refused-callbacks': REFUSED,
    'answered-503': UNAVAILABLE,
    handlers: OF_HANDLERS,
    'reported-for-accepted-callbacks': REPORTED,
    quarantine: OF_QUARANTINE,
    sends: OF_SENDING,
  }).map(([under, codes]) => ({
    page: 'docs/reference/errors.md',
    under,
    items: explained(codes),
  }))
}

/** An item for each code: what happened, and what to do, unless an earlier item or the page says the latter already. */
function explained(codes: Readonly<Record<string, readonly [happened: string, todo: string]>>): string[] {
  const first = new Map<string, string>()
  return Object.entries(codes).map(([name, [happened, todo]]) => {
    const earlier = first.get(todo) ?? name
    first.set(todo, earlier)
    const isRepeated = earlier !== name && todo.length > MAX_REPEATED_LENGTH
    const text = `${happened} ${isRepeated ? `See ${code(earlier)}.` : todo}`
    return `- ${anchored(name)}: ${SAID_ONCE.reduce((left, said) => left.replace(` ${said}`, ''), text)}`
  })
}

/** As in a query. */
function withLabels(name: string, labels: readonly string[]): string {
  return labels.length === 0 ? name : `${name}{${labels.join(', ')}}`
}

function list(words: readonly string[]): string {
  return words.length === 0 ? NONE : words.map(code).join(', ')
}

/** The flags of each command. Those that several commands have are in the first row. */
async function flagRows(): Promise<readonly (readonly string[])[]> {
  const program = new Command()
  const terminal = createTerminal()
  for (const [name, { load }] of Object.entries(COMMANDS)) (await load()).define(program.command(name), terminal)
  const rowsOf = (command: Command, path: string): readonly { path: string; flags: readonly string[] }[] => [
    { path, flags: command.options.map(({ flags }) => flags) },
    ...command.commands.flatMap((inner) => rowsOf(inner, `${path} ${inner.name()}`)),
  ]
  const rows = program.commands.flatMap((command) => rowsOf(command, command.name()))
  const all = rows.flatMap(({ flags }) => flags)
  const isShared = (flag: string): boolean => all.filter((other) => other === flag).length > MAX_COMMANDS
  const own = rows.map(({ path, flags }) => [code(path), list(flags.filter((flag) => !isShared(flag)))])
  return [['several', list([...new Set(all.filter(isShared))])], ...own.filter(([, flags]) => flags !== NONE)]
}

function code(text: string): string {
  return `\`${text}\``
}

/** With a place of its own, to which errors and pages lead. */
function anchored(name: string): string {
  return `<a id="${name}"></a>${code(name)}`
}
