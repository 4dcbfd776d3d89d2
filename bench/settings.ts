/** The command-line options: one table for the parser and the help. */
import { parseArgs } from 'node:util'

export interface Settings {
  readonly rounds: number
  readonly warmUps: number
  readonly callbacks: number
  readonly connections: number
  /** Callbacks per second, for `against`; undefined for as many as possible. */
  readonly rate: number | undefined
  /** Contenders of `peers`, stores of programs that use stores, steps of `micro`; undefined for all. */
  readonly only: readonly string[] | undefined
  /** The number of messages that a store knows, for `known`; undefined for the program's own steps. */
  readonly known: readonly number[] | undefined
  readonly quick: boolean
  readonly json: string | undefined
  readonly svg: string | undefined
  readonly profile: string | undefined
  readonly checkout: string | undefined
}

const OPTIONS = {
  only: {
    type: 'string',
    what: 'Only these contenders, stores (`same-work`, `latency`, `known`, `duplicates`, `processes`, `dispatch`) or steps (`micro`), with commas between.',
  },
  rounds: { type: 'string', what: 'Counted rounds. Default 11; for all programs 5; with --quick 3.' },
  'warm-ups': {
    type: 'string',
    what: 'Rounds before them that do not count. Default 3; for all programs 2; with --quick 1.',
  },
  callbacks: {
    type: 'string',
    what: 'Callbacks that each contender gets in a round. Default 10000; for all programs 5000; with --quick 1000.',
  },
  known: {
    type: 'string',
    what: 'How many messages a store knows (`known`), with commas between. Default 1000 to 1000000, Redis to 100000. Filling one with 1000000 takes minutes; with 10000000 an hour or more, and SQLite some 26 GB (2.6 KB each).',
  },
  connections: { type: 'string', what: 'Connections of the load. Default 32.' },
  rate: { type: 'string', what: 'Callbacks per second, for `against`. Default: as many as possible.' },
  quick: { type: 'boolean', what: 'A quick run: see the defaults above. Do not use its figures as results.' },
  json: { type: 'string', what: 'Write everything that was measured to this file.' },
  svg: { type: 'string', what: 'Write the chart of `peers` to this file.' },
  profile: { type: 'string', what: 'Write a CPU profile of each server to this folder; it costs some speed.' },
  checkout: { type: 'string', what: 'The folder of the other checkout, for `against`.' },
  help: { type: 'boolean', what: 'Show this help.' },
} as const

/** Defaults for one program or a few, for all of them (must end within the hour), and for a quick run. */
const DEFAULTS = {
  one: { rounds: 11, warmUps: 3, callbacks: 10_000 },
  all: { rounds: 5, warmUps: 2, callbacks: 5_000 },
  quick: { rounds: 3, warmUps: 1, callbacks: 1_000 },
} as const

/** Returns undefined if help was requested. Throws for an invalid argument. */
export function readSettings(
  args: readonly string[],
): { readonly settings: Settings; readonly programs: readonly string[] } | undefined {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  if (values.help === true) return undefined
  const quick = values.quick === true
  const otherwise = DEFAULTS[quick ? 'quick' : positionals.includes('all') ? 'all' : 'one']
  return {
    programs: positionals,
    settings: {
      rounds: count('rounds', values.rounds, otherwise.rounds),
      warmUps: count('warm-ups', values['warm-ups'], otherwise.warmUps, 0),
      callbacks: count('callbacks', values.callbacks, otherwise.callbacks),
      connections: count('connections', values.connections, 32),
      rate: values.rate === undefined ? undefined : count('rate', values.rate, 0),
      only: values.only?.split(','),
      known: values.known?.split(',').map((text) => count('known', text, 0)),
      quick,
      json: values.json,
      svg: values.svg,
      profile: values.profile,
      checkout: values.checkout,
    },
  }
}

function count(name: string, text: string | undefined, otherwise: number, least = 1): number {
  const value = text === undefined ? otherwise : Number(text)
  if (!Number.isInteger(value) || value < least)
    throw new Error(`--${name} is ${String(text)}; pass a whole number of at least ${least}.`)
  return value
}

/** The options, one per line. */
export function optionsHelp(): string {
  return Object.entries(OPTIONS)
    .map(([name, { type, what }]) => `  --${name}${type === 'string' ? ' …' : ''}`.padEnd(20) + what)
    .join('\n')
}
