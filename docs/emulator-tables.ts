/** The tables about the emulator, as its constants and the comments of its types make them. */
import {
  DEFAULT_NETWORK,
  FAULT_NAMES,
  FAULTS,
  SEND_FAULT_NAMES,
  SEND_FAULTS,
  OUTCOMES,
  TRIGGER_NAMES,
  TRIGGERS,
  type Outcome,
} from '../src/emulator/index.ts'
import { CALLBACK_KINDS } from '../src/public/events.ts'
import type { GeneratedTable } from './tables.ts'
import { summariesOf } from './members.ts'

const PAGE = 'docs/reference/emulator.md'
const CARRIER_A_PREFIX = '99910000'
const SERVICE_PREFIX = '9994000000'

const membersOf = (file: string, name: string): string[][] => summariesOf(`src/emulator/${file}.ts`, name)

export const EMULATOR_TABLES: readonly GeneratedTable[] = [
  {
    page: PAGE,
    under: 'options',
    header: ['Option', 'What'],
    rows: membersOf('options', 'emulatorOptions'),
  },
  {
    page: PAGE,
    under: 'options',
    header: ['Of a project', 'What'],
    rows: ['projectName', 'apiKey', 'pair', 'projectPatch'].flatMap((shape) => membersOf('options', shape)),
  },
  {
    page: PAGE,
    under: 'options',
    header: ['Of the network', 'What', 'Default'],
    rows: membersOf('options', 'networkProfile').map(([member = '', what = '']) => [member, what, defaultOf(member)]),
  },
  {
    page: PAGE,
    under: 'outcomes',
    header: ['Number', 'Outcome'],
    rows: outcomeRows(),
  },
  {
    page: PAGE,
    under: 'triggers',
    header: ['Callback', 'Triggers'],
    rows: CALLBACK_KINDS.map((kind) => [
      code(kind),
      names(TRIGGER_NAMES.filter((name) => TRIGGERS[name].kind === kind)),
    ]).filter(([, triggers]) => triggers !== ''),
  },
  {
    page: PAGE,
    under: 'faults',
    header: ['Fault', 'What', 'A right receiver takes it'],
    rows: FAULT_NAMES.map((name) => [code(name), FAULTS[name].what, FAULTS[name].accepted]),
  },
  {
    page: PAGE,
    under: 'faults-of-answers',
    header: ['Fault of an answer', 'What', 'The send is made'],
    rows: SEND_FAULT_NAMES.map((name) => [code(name), SEND_FAULTS[name].what, SEND_FAULTS[name].made]),
  },
]

/** Numbers that end in a code of carrier A, or of the service, have one row. */
function outcomeRows(): string[][] {
  const [ofCarrierA, left] = splitBy(CARRIER_A_PREFIX, OUTCOMES)
  const [ofService, others] = splitBy(SERVICE_PREFIX, left)
  const refused = ofService.filter(({ answer }) => answer !== 11)
  const silent = ofService.filter(({ answer, reports }) => answer === 11 && reports.length === 0)
  const reported = ofService.filter(({ reports }) => reports.length > 0)
  return [
    [`${code(CARRIER_A_PREFIX)} and four digits`, `Carrier A’s code: ${endings(CARRIER_A_PREFIX, ofCarrierA)}.`],
    ...others.map(({ number, what }) => [code(number), what]),
    [
      `${code(SERVICE_PREFIX)} and two digits`,
      `The service’s code: reported (${endings(SERVICE_PREFIX, reported)}), refused (${endings(SERVICE_PREFIX, refused)}), or accepted and never reported (${endings(SERVICE_PREFIX, silent)}).`,
    ],
  ]
}

function splitBy(prefix: string, outcomes: readonly Outcome[]): readonly [readonly Outcome[], readonly Outcome[]] {
  return [
    outcomes.filter(({ number }) => number.startsWith(prefix)),
    outcomes.filter(({ number }) => !number.startsWith(prefix)),
  ]
}

function endings(prefix: string, outcomes: readonly Outcome[]): string {
  return outcomes.map(({ number }) => Number(number.slice(prefix.length))).join(', ')
}

function names(all: readonly string[]): string {
  return all.map(code).join(', ')
}

function defaultOf(member: string): string {
  const found = Object.entries(DEFAULT_NETWORK).find(([name]) => code(name) === member)
  const value: unknown = found?.[1]
  if (typeof value === 'number') return value.toLocaleString('en-US')
  return (Array.isArray(value) ? value : Object.values(value ?? {}).map((name) => code(String(name)))).join(', ')
}

function code(text: string): string {
  return `\`${text}\``
}
