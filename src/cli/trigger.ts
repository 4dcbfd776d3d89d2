/** `trigger`: signs and sends callbacks, and prints the answers. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { createEmulator } from '../emulator/index.ts'
import { FAULT_NAMES, FAULTS, faultRates } from '../emulator/faults.ts'
import { pause, systemClock } from '../runtime/clock.ts'
import { allowRemote, checkTarget } from './addresses.ts'
import { createAnswers, deliveryLine, printSummary } from './answers.ts'
import {
  command,
  flag,
  JSON_LINES,
  readBy,
  repeatable,
  timeoutMs,
  toggle,
  usage,
  wholeNumber,
  EXIT_CODES,
  neededSigningSecret,
  PAIR_FLAGS,
} from './command.ts'
import { readFields, readRates } from './fields.ts'
import { shown, type Terminal } from './terminal.ts'
import { nearest } from '../runtime/check-options.ts'
import { keysOf } from '../runtime/values.ts'
import { resolveChannelNames } from '../emulator/channels.ts'
import { PROJECT_DEFAULTS } from '../emulator/not-shown.ts'
import { TRIGGER_NAMES, triggerPayload, TRIGGERS, type TriggerName } from '../emulator/payloads.ts'
import { CALLBACKS, type CallbackEvent, type Fields } from '../testing/callbacks.ts'

const MAX_CALLBACKS = 1_000_000

const FLAGS = {
  to: flag('--to <url>', 'URL of the receiver', z.string().optional()),
  ...PAIR_FLAGS,
  set: repeatable('--set <field=value>', 'a field of the callback (a.b=text, a:=JSON); repeatable', z.string()),
  count: flag('--count <number>', 'number of callbacks', wholeNumber(1, MAX_CALLBACKS).default(1)),
  rate: flag(
    '--rate <number>',
    'callbacks per second; default: as fast as answers arrive',
    readBy('Expected a number above 0.', (text) =>
      /^\d+(\.\d+)?$/.test(text) && Number(text) > 0 ? Number(text) : NaN,
    ).optional(),
  ),
  fault: repeatable(
    '--fault <name[=rate]>',
    'a fault, with its rate from 0 to 1 (1); see --list; repeatable',
    z.string(),
  ),
  seed: flag('--seed <text>', 'determines the faults; the same seed repeats a run', z.string().default('1')),
  timeout: flag('--timeout <ms>', 'timeout of an answer', timeoutMs.default(10_000)),
  allowRemote,
  list: toggle('--list', 'print the events and the faults'),
  json: JSON_LINES,
}
type Flags = z.output<z.ZodObject<typeof FLAGS>>

export const { define } = command({
  argument: ['[event]', 'event to send; see --list'],
  flags: FLAGS,
  notes: `Example:\n  SIGNING_SECRET=… messaging-webhooks trigger message.failed --to http://localhost:3000/status --set messageId=m-1`,
  run: (flags, terminal, [event]) => (flags.list ? printList(flags.json, terminal) : trigger(event, flags, terminal)),
})

async function trigger(given: string | undefined, flags: Flags, terminal: Terminal): Promise<void> {
  const { kind, build } = findTriggered(given)
  const { to, authKey, count, seed, timeout, json } = flags
  if (to === undefined) throw usage('No receiver was given.', 'Pass its URL with --to.')
  checkTarget(to, flags.allowRemote)
  const faults = readRates(faultRates, flags.fault, '--fault')
  const fields = readFields(flags.set ?? [], build({}))
  if (Object.hasOwn(fields, 'authKey'))
    throw usage('--set cannot set the authKey.', 'Set AUTH_KEY, or pass a file with --auth-key-file.')
  const signingSecret = neededSigningSecret(flags.signingSecret)
  // The service always includes an authKey. A random one from the emulator proves nothing, but the signature does.
  if (authKey === undefined && (faults.noSignature ?? 0) > 0)
    throw usage(
      'The fault noSignature requires an Auth Key as the only proof, and none was given.',
      'Set AUTH_KEY, or pass a file with --auth-key-file.',
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
  await sendAll(flags, stop.signal, async () => {
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
  process.exitCode = EXIT_CODES[isStopped() ? 'interrupted' : answers.exit()].code
}

/** Maximum number of unanswered callbacks, so that memory does not grow with the count. */
const MAX_UNDER_WAY = 512

/** Calls `send` `count` times at the rate. Resolves when all are answered, or earlier if aborted. */
async function sendAll(
  { count, rate }: Pick<Flags, 'count' | 'rate'>,
  signal: AbortSignal,
  send: () => Promise<void>,
): Promise<void> {
  const clock = systemClock()
  const underWay = new Set<Promise<unknown>>()
  const startedAtMs = clock.now()
  for (let nth = 0; nth < count && !signal.aborted; nth += 1) {
    const waitMs = rate === undefined ? 0 : startedAtMs + (nth * 1_000) / rate - clock.now()
    if (waitMs > 0) await pause(clock, waitMs, signal)
    const sending = send().finally(() => underWay.delete(sending))
    underWay.add(sending)
    if (underWay.size >= MAX_UNDER_WAY) await Promise.race(underWay)
  }
  await Promise.all(underWay)
}

function printList(json: boolean, { print, printJson, printRows, colours }: Terminal): void {
  const events = triggeredEvents().map(({ name, kind, what }) => ({ event: name, kind, what }))
  const faults = FAULT_NAMES.map((fault) => ({ fault, what: FAULTS[fault].what }))
  if (json) {
    for (const row of [...events, ...faults]) printJson(row)
    return
  }
  print(colours.bold('Events'))
  printRows(events.map(({ event, kind, what }) => [`  ${event}`, kind, what]))
  print(colours.bold('Faults'))
  printRows(faults.map(({ fault, what }) => [`  ${fault}`, what]))
}

/** Reports, which the emulator creates only for sends, so `callbackFor` builds them here. */
const REPORTS = {
  'message.queued': 'SMS, queued (13).',
  'message.sent': 'Chat-app, sent.',
  'message.delivered': 'SMS over carrier A, success.',
  'message.read': 'Chat-app, read.',
  'message.failed': 'SMS over carrier A, delivery_impossible.',
  unrecognized: 'A report without a message id.',
} as const satisfies Readonly<Record<Exclude<CallbackEvent, TriggerName>, string>>

/**
 * The callbacks that `trigger` can send: one per event type, and the emulator's triggers. Prefers the emulator's payloads, so
 * that `trigger` and `emulate` send the same.
 */
function triggeredEvents(): readonly ReturnType<typeof ofEmulator>[] {
  return keysOf(CALLBACKS).flatMap((type) => {
    if (isReport(type)) return [{ name: type, what: REPORTS[type], ...CALLBACKS[type] }]
    return TRIGGER_NAMES.filter((name) => name === type || name.startsWith(`${type}.`)).map(ofEmulator)
  })
}

function isReport(type: CallbackEvent): type is keyof typeof REPORTS {
  return Object.hasOwn(REPORTS, type)
}

function ofEmulator(trigger: TriggerName) {
  const name: string = trigger
  const build = (fields: Fields): Fields => {
    const timestamp = Math.floor(systemClock().now() / 1_000)
    const about = { project: PROJECT_DEFAULTS, channels: resolveChannelNames().names, id: randomUUID(), timestamp }
    return triggerPayload(trigger, about, fields)
  }
  const { kind, what } = TRIGGERS[trigger]
  return { name, kind, what: what.replaceAll('`', ''), build }
}

/** Throws a `CliError` if no event was named or the name is unknown. */
function findTriggered(given: string | undefined) {
  const events = triggeredEvents()
  const event = events.find(({ name }) => name === given)
  if (event !== undefined) return event
  if (given === undefined) throw usage('No event was given.', '`trigger --list` prints all events.')
  const names = events.map(({ name }) => name)
  const family = names.filter((name) => name.includes(given))
  const meant = family.length > 0 ? family.join(' or ') : nearest(given, names)
  throw usage(
    `There is no event ${shown(given)}.`,
    meant === undefined ? '`trigger --list` prints all events.' : `Did you mean ${meant}?`,
  )
}
