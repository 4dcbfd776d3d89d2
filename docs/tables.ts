/** The tables of the pages that the code's own constants make. `npm run docs:tables` writes them. */
import {
  CARRIER_A_CODES,
  carrierAStatus,
  CROSS_CHANNEL_MAP,
  EVENT_TYPES,
  normaliseStatus,
  PROBLEMS,
  STATUS_CODES,
  type EventType,
} from '../src/index.ts'
import { ANSWERS } from '../src/http/replies.ts'
import { OPTIONS, type OptionRow } from '../src/options.ts'
import { CLIENT_TABLES } from './client-tables.ts'
import { EMULATOR_TABLES } from './emulator-tables.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { ENVIRONMENT } from '../src/cli/environment.ts'
import { EXIT_CODES } from '../src/cli/exit-codes.ts'
import { OF_HANDLERS, OF_QUARANTINE, OF_SENDING, REFUSED, REPORTED, THROWN, UNAVAILABLE } from '../src/error-table.ts'
import { FINDINGS } from '../src/doctor/findings.ts'
import { LOG_CODES } from '../src/log-codes.ts'
import { METRICS as OTEL_METRICS } from '../src/otel/names.ts'
import { HEALTH_REASONS } from '../src/telemetry/health.ts'
import { METRICS } from '../src/telemetry/metric-table.ts'
import { readProjectFile } from './markdown.ts'
import { VECTOR_TABLES } from './vector-tables.ts'

export interface GeneratedTable {
  /** From the project's root. */
  readonly page: string
  /** The anchor of the heading that it stands under. */
  readonly under: string
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const NONE = '–'

export const GENERATED_TABLES: readonly GeneratedTable[] = [
  {
    page: 'docs/reference/options.md',
    under: 'options',
    header: ['Option', 'Type', 'Range', 'Default', 'What'],
    rows: OPTIONS.map((row: OptionRow) => [
      code(row.name),
      row.type,
      row.range === undefined ? NONE : row.range.map(withCommas).join(' to '),
      typeof row.default === 'number' ? withCommas(row.default) : row.default,
      row.what,
    ]),
  },
  {
    page: 'docs/guides/store-memory.md',
    under: 'settings',
    header: ['Bound', 'What', 'Default'],
    rows: numbersOf('memory'),
  },
  {
    page: 'docs/guides/store-sqlite.md',
    under: 'settings',
    header: ['Setting', 'What', 'Default'],
    rows: numbersOf('sqlite'),
  },
  {
    page: 'docs/guides/store-postgres.md',
    under: 'settings',
    header: ['Setting', 'What', 'Default'],
    rows: numbersOf('postgres'),
  },
  {
    page: 'docs/guides/store-redis.md',
    under: 'settings',
    header: ['Setting', 'What', 'Default'],
    rows: numbersOf('redis'),
  },
  {
    page: 'docs/reference/events.md',
    under: 'unrecognized',
    header: ['Problem', 'What'],
    rows: Object.entries(PROBLEMS).map(([problem, what]) => [code(problem), what]),
  },
  {
    page: 'docs/reference/statuses.md',
    under: 'status-codes',
    header: ['Code', 'Word', 'Given', 'Event', 'Failure', 'Send again', 'Meaning'],
    rows: STATUS_CODES.map(({ code: number, word, stage, type, failure, meaning }) => [
      String(number),
      code(word),
      stage,
      code(type),
      failure?.kind ?? NONE,
      failure === undefined ? NONE : failure.resend ? 'yes' : 'no',
      meaning,
    ]),
  },
  { page: 'docs/reference/statuses.md', under: 'carrier-as-codes', header: ['Word', 'Codes'], rows: carrierACodes() },
  {
    page: 'docs/reference/statuses.md',
    under: 'across-channels',
    header: ['Concept', 'SMS, carrier A', 'SMS, carrier B', 'Chat-app'],
    rows: CROSS_CHANNEL_MAP.map(({ concept, carrierA, carrierB, chatApp, notes }) => [
      concept,
      list(carrierA),
      notes?.carrierB ?? list(carrierB),
      notes?.chatApp ?? list(chatApp),
    ]),
  },
  {
    page: 'docs/reference/answers.md',
    under: 'answers',
    header: ['Status', 'Code', 'When'],
    rows: Object.values(ANSWERS).map((answer) => [
      String(answer.status),
      answer.code === undefined ? NONE : code(answer.code),
      answer.when,
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
  ...errorTables(),
  {
    page: 'docs/reference/log.md',
    under: 'log-lines',
    header: ['Code', 'Level', 'When'],
    rows: Object.entries(LOG_CODES).map(([name, [level, when]]) => [anchored(name), level, when]),
  },
  {
    page: 'docs/guides/doctor.md',
    under: 'findings',
    header: ['Code', 'Level', 'What it says', 'How to mend it'],
    rows: Object.entries(FINDINGS).map(([name, [level, what, fix]]) => [anchored(name), level, what, fix]),
  },
  {
    page: 'docs/guides/observing.md',
    under: 'reasons',
    header: ['Reason', 'What it makes false', 'What it says'],
    rows: Object.entries(HEALTH_REASONS).map(([name, [spoils, text]]) => [
      anchored(name),
      spoils.length === 0 ? 'nothing: `working` is undefined' : list(spoils),
      text,
    ]),
  },
  {
    page: 'docs/guides/observing.md',
    under: 'metrics',
    header: ['Metric', 'Type', 'Labels', 'What'],
    rows: Object.entries(METRICS).map(([name, [type, labels, help]]) => [code(name), type, list(labels), help]),
  },
  {
    page: 'docs/guides/opentelemetry.md',
    under: 'metrics',
    header: ['Metric', 'Instrument', 'Unit', 'Attributes', 'What'],
    rows: Object.entries(OTEL_METRICS).map(([name, [instrument, unit, attributes, help]]) => [
      code(name),
      instrument,
      code(unit),
      list(attributes),
      help,
    ]),
  },
  ...CLIENT_TABLES,
  ...EMULATOR_TABLES,
  ...VECTOR_TABLES,
]

/** What the table of event types says of each that the status tables decide: its codes, and the channels' words. */
function statusesOf(type: EventType): { readonly codes: string; readonly words: string } {
  const codes = STATUS_CODES.filter((row) => row.type === type).map((row) => String(row.code))
  const words = CROSS_CHANNEL_MAP.flatMap(({ carrierA, carrierB, chatApp }) => [
    ...carrierA.filter((status) => normaliseStatus({ carrier: 'carrierA', status })?.type === type),
    ...carrierB.filter((status) => normaliseStatus({ carrier: 'carrierB', status })?.type === type),
    ...chatApp.filter((status) => normaliseStatus({ shape: 'chat-app', status })?.type === type),
  ])
  return { codes: list(codes), words: list([...new Set(words)]) }
}

export const EVENT_HEADER = ['Type', 'What it tells', 'Codes', 'Words', 'Fields of its own']

/** The first and the derived cells of the table of event types; the others are prose. */
export const EVENT_ROWS = EVENT_TYPES.map((type) => ({ type, ...statusesOf(type) }))

/** A store's numbers stand in the comments of its options, where an editor shows them. */
function numbersOf(store: 'memory' | 'sqlite' | 'postgres' | 'redis'): string[][] {
  const source = readProjectFile(`src/stores/${store}/store.ts`)
  const numbers = source.matchAll(/\/\*\* (.+) Default (.+)\. \*\/\n {2}readonly (\w+)\?: number/g)
  return [...numbers].map(([, what = '', value = '', name = '']) => [code(name), what, value])
}

function carrierACodes(): string[][] {
  const rows = [...new Set(CARRIER_A_CODES.values())].map((word) => {
    const codes = [...CARRIER_A_CODES].filter(([, other]) => other === word).map(([number]) => number)
    return [code(word), codes.join(', ')]
  })
  return [...rows, [code(carrierAStatus(Number.NaN)), 'any other']]
}

function errorTables(): GeneratedTable[] {
  return Object.entries({
    'thrown-at-you': THROWN,
    'refused-callbacks': REFUSED,
    'answered-503': UNAVAILABLE,
    'of-handlers': OF_HANDLERS,
    'reported-and-taken': REPORTED,
    'of-the-quarantine': OF_QUARANTINE,
    'of-sends': OF_SENDING,
  }).map(([under, codes]) => ({
    page: 'docs/reference/errors.md',
    under,
    header: ['Code', 'What happened', 'What to do'],
    rows: Object.entries<readonly string[]>(codes).map(([name, texts]) => [anchored(name), ...texts]),
  }))
}

function list(words: readonly string[]): string {
  return words.length === 0 ? NONE : words.map(code).join(', ')
}

function code(text: string): string {
  return `\`${text}\``
}

/** With a place of its own, to which errors and pages lead. */
function anchored(name: string): string {
  return `<a id="${name}"></a>${code(name)}`
}

function withCommas(number: number): string {
  return number.toLocaleString('en-US')
}
