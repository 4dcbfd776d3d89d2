/** The README's tables about the emulator, as its constants and the comments of its types make them. */
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
} from 'messaging-webhooks/emulator'
import type { ExpectedTable } from './expected-tables.ts'
import { readProjectFile } from './markdown.ts'

const NONE = '–'

export const EMULATOR_TABLES: readonly ExpectedTable[] = [
  { under: 'the-emulator', header: ['Member', 'What it does'], rows: membersOf('surface', 'Emulator') },
  {
    under: 'the-emulators-options',
    header: ['Option', 'What'],
    rows: membersOf('surface', 'EmulatorOptions'),
  },
  {
    under: 'the-emulators-options',
    header: ['Of a project', 'What'],
    rows: [...membersOf('projects', 'ProjectOptions'), ...membersOf('projects', 'ProjectPatch')],
  },
  {
    under: 'the-emulators-options',
    header: ['Of the network', 'What', 'Default'],
    rows: membersOf('network', 'NetworkProfile').map(([member = '', what = '']) => [member, what, defaultOf(member)]),
  },
  {
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
    under: 'triggers',
    header: ['Trigger', 'Callback', 'What'],
    rows: TRIGGER_NAMES.map((name) => [code(name), code(TRIGGERS[name].kind), TRIGGERS[name].what]),
  },
  {
    under: 'faults',
    header: ['Fault', 'What', 'A right receiver takes it'],
    rows: FAULT_NAMES.map((name) => [code(name), FAULTS[name].what, FAULTS[name].taken]),
  },
  {
    under: 'the-control-api',
    header: ['Route', 'What'],
    rows: CONTROL_ROUTES.map(({ method, path, what }) => [code(`${method} ${path}`), what]),
  },
  {
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
      .replace(/ Contract, [^.]*\./, '')
      .trim(),
  ])
}

function code(text: string): string {
  return `\`${text}\``
}
