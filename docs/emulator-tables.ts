/** The tables about the emulator, as its constants and the comments of its types make them. */
import {
  CONTROL_ROUTES,
  DEFAULT_NETWORK,
  FAULT_NAMES,
  FAULTS,
  NOT_SHOWN,
  OUTCOMES,
  TRIGGER_NAMES,
  TRIGGERS,
  type Outcome,
} from '../src/emulator/index.ts'
import type { GeneratedTable } from './tables.ts'
import { readProjectFile } from './markdown.ts'

const NONE = '–'

const PAGE = 'docs/reference/emulator.md'

export const EMULATOR_TABLES: readonly GeneratedTable[] = [
  { page: PAGE, under: 'members', header: ['Member', 'What it does'], rows: membersOf('surface', 'Emulator') },
  {
    page: PAGE,
    under: 'options',
    header: ['Option', 'What'],
    rows: membersOf('surface', 'EmulatorOptions'),
  },
  {
    page: PAGE,
    under: 'options',
    header: ['Of a project', 'What'],
    rows: [...membersOf('projects', 'ProjectOptions'), ...membersOf('projects', 'ProjectPatch')],
  },
  {
    page: PAGE,
    under: 'options',
    header: ['Of the network', 'What', 'Default'],
    rows: membersOf('network', 'NetworkProfile').map(([member = '', what = '']) => [member, what, defaultOf(member)]),
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
    rows: FAULT_NAMES.map((name) => [code(name), FAULTS[name].what, FAULTS[name].taken]),
  },
  {
    page: PAGE,
    under: 'the-control-api',
    header: ['Route', 'What'],
    rows: CONTROL_ROUTES.map(({ method, path, what }) => [code(`${method} ${path}`), what]),
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

/** The members of an interface with their comments; which section of the contract they follow is for the code. */
function membersOf(file: string, name: string): string[][] {
  const source = readProjectFile(`src/emulator/${file}.ts`)
  const from = source.search(new RegExp(`^export interface ${name}\\b`, 'm'))
  const body = source.slice(from, source.indexOf('\n}', from))
  const members = body.matchAll(/^ {2}\/\*\*([\s\S]*?)\*\/\n {2}(?:readonly )?(\w+)/gm)
  return [...members].map(([, comment = '', member = '']) => [
    code(member),
    comment
      .replaceAll(/\s*\n\s*\*\s*/g, ' ')
      .replace(/ Contract, service\.md[^.]*\./, '')
      .trim(),
  ])
}

function code(text: string): string {
  return `\`${text}\``
}
