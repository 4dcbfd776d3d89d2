/** `trigger`: signs callbacks, sends them, and shows the answers. */
import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { systemClock } from '../runtime/clock.ts'
import type { Outgoing } from '../emulator/callbacks/outgoing.ts'
import { FAULT_NAMES, faultRow } from '../emulator/faults.ts'
import { checkTarget } from './addresses.ts'
import { exitOf, printSummary } from './answers.ts'
import { collected, positiveNumber, readFaults, wholeNumber } from './arguments.ts'
import { CliError, EXIT_CODES } from './exit-codes.ts'
import { misspeltFields, readFields, type MisspeltField } from './fields.ts'
import { addSecretOptions, AUTH_KEY, readSecret, SIGNING_SECRET } from './secrets.ts'
import { sendAll } from './send-all.ts'
import { aligned, shown, type Terminal } from './terminal.ts'
import { findTriggered, triggeredEvents, type Triggered } from './trigger-events.ts'

interface TriggerOptions {
  readonly to?: string
  readonly set?: readonly string[]
  readonly count: number
  readonly rate?: number
  readonly fault?: readonly string[]
  readonly seed: string
  readonly timeout: number
  readonly allowRemote?: true
  readonly list?: true
  readonly json?: true
}

const MOST_CALLBACKS = 1_000_000
const LONGEST_TIMEOUT_MS = 600_000
export function define(command: Command, terminal: Terminal): void {
  command.argument('[event]', 'what to send; see --list').option('--to <url>', 'where to')
  addSecretOptions(command, SIGNING_SECRET, AUTH_KEY)
    .option('--set <field=value>', 'a field of the callback (a.b=text, a:=JSON); may be repeated', collected)
    .option('--count <number>', 'how many', wholeNumber(1, MOST_CALLBACKS), 1)
    .option('--rate <number>', 'how many a second; default: as fast as they are answered', positiveNumber)
    .option('--fault <name[=rate]>', 'a fault, and how often from 0 to 1 (1); see --list; may be repeated', collected)
    .option('--seed <text>', 'which callbacks have faults; the same seed repeats a run', '1')
    .option('--timeout <ms>', 'for an answer', wholeNumber(1, LONGEST_TIMEOUT_MS), 10_000)
    .option('--allow-remote', 'send to another machine than this one')
    .option('--list', 'print the events and the faults')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      `\nExample:\n  SIGNING_SECRET=… messaging-webhooks trigger message.failed --to http://localhost:3000/status --set messageId=m-1`,
    )
    .action(async (event: string | undefined, options: TriggerOptions) => {
      if (options.list) printList(triggeredEvents(systemClock()), options.json ?? false, terminal)
      else await trigger(event, options, command, terminal)
    })
}

async function trigger(
  given: string | undefined,
  options: TriggerOptions,
  command: Command,
  terminal: Terminal,
): Promise<void> {
  const { name, kind, build, known } = findTriggered(given, triggeredEvents(systemClock()))
  if (options.to === undefined) throw new CliError('usage', 'No receiver was named.', 'Give its URL with --to.')
  checkTarget(options.to, options.allowRemote ?? false)
  const faults = readFaults(options.fault ?? [])
  const fields = readFields(options.set ?? [], build({}))
  if (Object.hasOwn(fields, 'authKey'))
    throw new CliError('usage', '--set cannot set the authKey.', 'Set AUTH_KEY, or name a file with --auth-key-file.')
  const signingSecret = readSecret(command.opts(), SIGNING_SECRET)
  if (signingSecret === undefined)
    throw new CliError(
      'usage',
      'No signing secret was given to sign with.',
      'Set SIGNING_SECRET, or name a file with --signing-secret-file.',
    )
  const givenKey = readSecret(command.opts(), AUTH_KEY)
  if (givenKey === undefined && (faults.noSignature ?? 0) > 0)
    throw new CliError(
      'usage',
      'Without a signature the Auth Key is the only proof, and none was given.',
      'Set AUTH_KEY, or name a file with --auth-key-file.',
    )
  // The service always sends one; a made-up one proves nothing, and the signature does.
  const authKey = givenKey ?? randomBytes(16).toString('hex')
  noteMisspelt(misspeltFields(fields, known), name, terminal)
  const to = options.to
  const outgoing = (nth: number): Outgoing => {
    const payload = build(fields)
    const { project } = payload
    return {
      url: to,
      kind,
      project: typeof project === 'string' ? project : '',
      authKey,
      signingSecret,
      proof: 'both',
      payload,
      key: String(nth),
    }
  }
  const { answers, interrupted } = await sendAll(outgoing, faults, options, terminal)
  const summary = answers.summary()
  if (options.json) terminal.printJson({ type: 'summary', ...summary })
  else if (options.count > 1) printSummary(summary, terminal)
  answers.explain(terminal)
  process.exitCode = EXIT_CODES[interrupted ? 'interrupted' : exitOf(summary)].code
}

function noteMisspelt(
  fields: readonly MisspeltField[],
  event: string,
  { note, noteColours }: Pick<Terminal, 'note' | 'noteColours'>,
): void {
  for (const { name, meant } of fields)
    note(
      `${noteColours.yellow('note:')} ${shown(name)} is no known field of ${event} (did you mean ${meant}?); it is sent all the same.`,
    )
}

function printList(triggered: readonly Triggered[], json: boolean, { print, printJson, colours }: Terminal): void {
  const events = triggered.map(({ name, kind, what }) => ({ event: name, kind, what }))
  const faults = FAULT_NAMES.map((fault) => ({ fault, what: faultRow(fault).what }))
  if (json) {
    for (const row of [...events, ...faults]) printJson(row)
    return
  }
  print(colours.bold('Events'))
  for (const line of aligned(events.map(({ event, kind, what }) => [`  ${event}`, kind, what]))) print(line)
  print(colours.bold('Faults'))
  for (const line of aligned(faults.map(({ fault, what }) => [`  ${fault}`, what]))) print(line)
}
