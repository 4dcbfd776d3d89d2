/** The tables about the emulator, as its constants and the comments of its types make them. */
import {
  CONTROL_ROUTES,
  DEFAULT_NETWORK,
  FAULT_NAMES,
  FAULTS,
  SEND_FAULT_NAMES,
  SEND_FAULTS,
  NOT_SHOWN,
  OUTCOMES,
  TRIGGER_NAMES,
  TRIGGERS,
  type Outcome,
} from '../src/emulator/index.ts'
import type { GeneratedTable } from './tables.ts'
import { membersOf as membersIn } from './members.ts'

const NONE = '–'

const PAGE = 'docs/reference/emulator.md'

const membersOf = (file: string, name: string): string[][] => membersIn(`src/emulator/${file}.ts`, name)

export const EMULATOR_TABLES: readonly GeneratedTable[] = [
  { page: PAGE, under: 'members', header: ['Member', 'What it does'], rows: membersOf('surface', 'Emulator') },
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
    header: ['Number', 'Channels', 'Answer', 'Reports', 'What'],
    rows: OUTCOMES.map((outcome) => [
      code(outcome.number),
      outcome.channels.join(', '),
      String(outcome.answer),
      reportsOf(outcome),
      outcome.what,
    ]),
  },
  {
    page: PAGE,
    under: 'triggers',
    header: ['Trigger', 'Callback', 'What'],
    rows: TRIGGER_NAMES.map((name) => [code(name), code(TRIGGERS[name].kind), TRIGGERS[name].what]),
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
  {
    page: PAGE,
    under: 'control-api',
    header: ['Route', 'What', 'The token is needed'],
    rows: CONTROL_ROUTES.map(({ method, path, what, needsToken }) => [
      code(`${method} ${path}`),
      what,
      needsToken ? 'always' : 'from other machines',
    ]),
  },
  {
    page: PAGE,
    under: 'what-the-service-does-not-show',
    header: ['Not shown', 'What the emulator does'],
    rows: NOT_SHOWN.map(({ what, choice }) => [what, choice]),
  },
]

function reportsOf({ reports, transientFailures }: Outcome): string {
  if (transientFailures === undefined) return reports.length === 0 ? NONE : reports.map(code).join(', ')
  return code('network_failure')
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
