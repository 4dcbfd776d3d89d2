/** `trigger`: signs and sends callbacks, and prints the answers. */
import cliProgress from 'cli-progress'
import type { Command } from 'commander'
import { createEmulator } from '../emulator/create.ts'
import { FAULT_NAMES, faultRates, faultRow } from '../emulator/faults.ts'
import { pause, systemClock } from '../runtime/clock.ts'
import { misspeltFields } from '../testing/fields.ts'
import { checkTarget } from './addresses.ts'
import { createAnswers, deliveryLine, printSummary } from './answers.ts'
import { collected, LONGEST_TIMEOUT_MS, positiveNumber, readRates, wholeNumber } from './arguments.ts'
import { CliError, EXIT_CODES } from './exit-codes.ts'
import { readFields } from './fields.ts'
import { addSecretOptions, AUTH_KEY, neededSecret, readSecret, SIGNING_SECRET } from './secrets.ts'
import { shown, type Terminal } from './terminal.ts'
import { findTriggered, triggeredEvents } from './trigger-events.ts'

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

export function define(command: Command, terminal: Terminal): void {
  command.argument('[event]', 'event to send; see --list').option('--to <url>', 'URL of the receiver')
  addSecretOptions(command, SIGNING_SECRET, AUTH_KEY)
    .option('--set <field=value>', 'a field of the callback (a.b=text, a:=JSON); repeatable', collected)
    .option('--count <number>', 'number of callbacks', wholeNumber(1, MOST_CALLBACKS), 1)
    .option('--rate <number>', 'callbacks per second; default: as fast as answers arrive', positiveNumber)
    .option('--fault <name[=rate]>', 'a fault, with its rate from 0 to 1 (1); see --list; repeatable', collected)
    .option('--seed <text>', 'determines the faults; the same seed repeats a run', '1')
    .option('--timeout <ms>', 'timeout of an answer', wholeNumber(1, LONGEST_TIMEOUT_MS), 10_000)
    .option('--allow-remote', 'allow a URL of another machine')
    .option('--list', 'print the events and the faults')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      `\nExample:\n  SIGNING_SECRET=… messaging-webhooks trigger message.failed --to http://localhost:3000/status --set messageId=m-1`,
    )
    .action(async (event: string | undefined, options: TriggerOptions) => {
      if (options.list) printList(options.json ?? false, terminal)
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
  const { to, count, seed, timeout, json } = options
  if (to === undefined) throw new CliError('usage', 'No receiver was given.', 'Pass its URL with --to.')
  checkTarget(to, options.allowRemote ?? false)
  const faults = readRates(faultRates, options.fault ?? [], '--fault')
  const fields = readFields(options.set ?? [], build({}))
  if (Object.hasOwn(fields, 'authKey'))
    throw new CliError('usage', '--set cannot set the authKey.', 'Set AUTH_KEY, or pass a file with --auth-key-file.')
  const signingSecret = neededSecret(command, SIGNING_SECRET, 'No signing secret was given.')
  // The service always includes an authKey. A random one from the emulator proves nothing, but the signature does.
  const authKey = readSecret(command, AUTH_KEY)
  if (authKey === undefined && (faults.noSignature ?? 0) > 0)
    throw new CliError(
      'usage',
      'The fault noSignature requires an Auth Key as the only proof, and none was given.',
      'Set AUTH_KEY, or pass a file with --auth-key-file.',
    )
  for (const { name: misspelt, meant } of misspeltFields(fields, known))
    terminal.note(
      `${terminal.noteColours.yellow('note:')} ${shown(misspelt)} is not a known field of ${name} (did you mean ${meant}?). Sending it anyway.`,
    )
  const emulator = createEmulator({
    projects: [{ name: 'My Shop', authKey, signingSecret, callbackUrls: { [kind]: to } }],
    faults,
    seed,
    callbackTimeoutMs: timeout,
    keep: 0,
  })
  const answers = createAnswers()
  const stop = new AbortController()
  const isStopped = (): boolean => stop.signal.aborted
  process.once('SIGINT', () => {
    stop.abort()
    void emulator.close()
  })
  await sendAll(options, stop.signal, terminal, async () => {
    if (isStopped()) return
    for (const delivery of await emulator.callback(kind, build(fields))) {
      // A request aborted by Ctrl+C says nothing about the receiver.
      if (isStopped()) return
      answers.add(delivery)
      const { payload: _, ...answer } = delivery
      if (json) terminal.printJson({ type: 'answer', ...answer })
      else if (count === 1) terminal.print(deliveryLine(delivery, terminal.colours))
    }
  })
  await emulator.close()
  const summary = answers.summary()
  if (json) terminal.printJson({ type: 'summary', ...summary })
  else if (count > 1) printSummary(summary, terminal)
  answers.explain(terminal)
  process.exitCode = EXIT_CODES[stop.signal.aborted ? 'interrupted' : answers.exit()].code
}

/** Maximum number of unanswered callbacks, so that memory does not grow with the count. */
const MOST_UNDER_WAY = 512

/** Calls `send` `count` times at the rate. Resolves when all are answered, or earlier if aborted. */
async function sendAll(
  { count, rate, json }: TriggerOptions,
  signal: AbortSignal,
  { isInteractive }: Terminal,
  send: () => Promise<void>,
): Promise<void> {
  const clock = systemClock()
  const progress = startProgress(count, process.stderr, isInteractive && count > 1 && !json)
  const underWay = new Set<Promise<unknown>>()
  const startedAtMs = clock.now()
  let done = 0
  for (let nth = 0; nth < count && !signal.aborted; nth += 1) {
    const waitMs = rate === undefined ? 0 : startedAtMs + (nth * 1_000) / rate - clock.now()
    if (waitMs > 0) await pause(clock, waitMs, signal)
    const sending = send().then(() => {
      underWay.delete(sending)
      done += 1
      progress.to(done)
    })
    underWay.add(sending)
    if (underWay.size >= MOST_UNDER_WAY) await Promise.race(underWay)
  }
  await Promise.all(underWay)
  progress.stop()
}

interface Progress {
  to(done: number): void
  stop(): void
}

/** A progress bar, unless `stream` is not a terminal. */
export function startProgress(total: number, stream: NodeJS.WriteStream, isInteractive: boolean): Progress {
  if (!isInteractive) return { to() {}, stop() {} }
  const bar = new cliProgress.SingleBar({
    stream,
    format: '{bar} {percentage} %  {value} of {total}  {duration_formatted}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: Math.max(10, Math.min(40, stream.columns - 40)),
    hideCursor: true,
    clearOnComplete: true,
    // The command handles signals.
    gracefulExit: false,
  })
  bar.start(total, 0)
  return { to: (done) => bar.update(done), stop: () => bar.stop() }
}

function printList(json: boolean, { print, printJson, printRows, colours }: Terminal): void {
  const events = triggeredEvents(systemClock()).map(({ name, kind, what }) => ({ event: name, kind, what }))
  const faults = FAULT_NAMES.map((fault) => ({ fault, what: faultRow(fault).what }))
  if (json) {
    for (const row of [...events, ...faults]) printJson(row)
    return
  }
  print(colours.bold('Events'))
  printRows(events.map(({ event, kind, what }) => [`  ${event}`, kind, what]))
  print(colours.bold('Faults'))
  printRows(faults.map(({ fault, what }) => [`  ${fault}`, what]))
}
