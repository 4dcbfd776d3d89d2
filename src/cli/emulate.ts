/** `emulate`: runs the emulator of the service as a process. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { messageOf } from '../emulator/request.ts'
import { createEmulator } from '../emulator/index.ts'
import { faultRates, sendFaultRates } from '../emulator/faults.ts'
import type { EmulatorReport, OtpEntry, SendRecord } from '../emulator/journal.ts'
import { PROJECT_DEFAULTS } from '../emulator/not-shown.ts'
import type { EmulatorOptions } from '../emulator/options.ts'
import type { Activity, Emulator } from '../emulator/surface.ts'
import { OptionsError } from '../public/errors.ts'
import { CALLBACK_KINDS } from '../public/events.ts'
import { systemClock } from '../runtime/clock.ts'
import { defined, parsedJson } from '../runtime/values.ts'
import { explainPort, hostFlag, portFlag, untilSignal } from './addresses.ts'
import { countsText, deliveryLine } from './answers.ts'
import { command, flag, JSON_LINES, repeatable, toggle, usage, readNamedFile, secretFile } from './command.ts'
import { readRates } from './fields.ts'
import { shown, timeOfDay, type Terminal } from './terminal.ts'

const TOKEN_BYTES = 20

/** Only checks for an object. `createEmulator` checks the fields. */
const configSchema = z.looseObject({ projects: z.array(z.looseObject({})).optional() })

const text = z.string().optional()
const FLAGS = {
  controlToken: secretFile('CONTROL_TOKEN'),
  config: flag('--config <path>', 'a JSON file with the options of createEmulator', text),
  port: portFlag(4000),
  host: hostFlag('address to listen on; from other machines, the control API requires its token for all requests'),
  callbacks: flag(
    '--callbacks <url>',
    'post callbacks to /status, /received, /payment and /subscription of this URL',
    text,
  ),
  fault: repeatable(
    '--fault <name[=rate]>',
    'a fault of callbacks, with its rate from 0 to 1 (1); repeatable',
    z.string(),
  ),
  sendFault: repeatable('--send-fault <name[=rate]>', 'a fault of answers to sends, likewise', z.string()),
  otpLog: toggle('--otp-log', 'print the log of OTP sends: each send, and each new state of it'),
  seed: flag('--seed <text>', 'determines all random choices, message ids and keys; default: random', text),
  json: JSON_LINES,
}
type Flags = z.output<z.ZodObject<typeof FLAGS>>

export const { define } = command({
  flags: FLAGS,
  notes:
    'Together with listen:\n  messaging-webhooks emulate --callbacks http://localhost:3000\n' +
    '  (it prints the keys; set SIGNING_SECRET and AUTH_KEY to them for listen)',
  async run(flags, terminal) {
    const { json, port, host, otpLog } = flags
    const given = settingsOf(flags)
    const settings = { ...given, controlToken: given.controlToken ?? randomBytes(TOKEN_BYTES).toString('hex') }
    const emulator = emulatorOf(settings)
    emulator.onActivity((activity) => {
      if (activity.type === 'otp' && !otpLog) return
      if (json) terminal.printJson(activity)
      else terminal.print(activityLine(activity, terminal))
    })
    const { url } = await explainPort(port, () => emulator.listen(port, host))
    const listening: Listening = {
      url,
      seed: emulator.report().seed,
      controlToken: given.controlToken === undefined ? settings.controlToken : undefined,
      projects: projectsToShow(emulator, settings),
      channels: emulator.channels(),
    }
    if (json) terminal.printJson({ type: 'listening', ...listening })
    else printListening(listening, terminal)
    await untilSignal()
    await emulator.close()
    if (json) terminal.printJson({ type: 'report', report: emulator.report() })
    else printReport(emulator, terminal)
  },
})

function emulatorOf(settings: EmulatorOptions): Emulator {
  try {
    return createEmulator(settings)
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error
    throw usage(`The configuration is invalid: ${error.detail ?? ''}`, 'Check --config and the flags.')
  }
}

/** Merges the file and the flags. Flags win. */
function settingsOf({ config: path, callbacks, fault, sendFault, seed, controlToken }: Flags): EmulatorOptions {
  const config = path === undefined ? {} : readConfig(path)
  const root = callbacks?.replace(/\/+$/, '')
  const callbackUrls = Object.fromEntries(CALLBACK_KINDS.map((kind) => [kind, `${root ?? ''}/${kind}`]))
  const { projects = [{ name: PROJECT_DEFAULTS.name }] } = config
  return {
    ...config,
    // Projects with their own callback URLs keep them.
    ...(root !== undefined && { projects: projects.map((project) => ({ callbackUrls, ...project })) }),
    ...(fault !== undefined && { faults: readRates(faultRates, fault, '--fault') }),
    ...(sendFault !== undefined && { sendFaults: readRates(sendFaultRates, sendFault, '--send-fault') }),
    ...defined({ seed, controlToken }),
  }
}

function readConfig(path: string): EmulatorOptions {
  const text = readNamedFile(path, 'The configuration').toString('utf8')
  const { success, data } = configSchema.safeParse(parsedJson(text))
  // `createEmulator` checks the fields.
  if (success) return data as EmulatorOptions
  throw usage('The configuration is not a JSON object with a list of projects.', `Check ${path}.`)
}

/** The projects, with the keys that the emulator generated but not those that were given. */
function projectsToShow(emulator: Emulator, { projects = [] }: EmulatorOptions) {
  return emulator.projects().map((project) => {
    const given = projects.find(({ name }) => name === project.name)
    const { apiKey, authKey, signingSecret } = emulator.keys({ project: project.name })
    return {
      ...project,
      keys: {
        apiKey: given?.apiKey === undefined ? apiKey : undefined,
        authKey: given?.authKey === undefined ? authKey : undefined,
        signingSecret: given?.signingSecret === undefined ? signingSecret : undefined,
      },
    }
  })
}

interface Listening {
  readonly url: string
  readonly seed: EmulatorReport['seed']
  /** Undefined if it was given. */
  readonly controlToken: string | undefined
  readonly projects: ReturnType<typeof projectsToShow>
  readonly channels: ReturnType<Emulator['channels']>
}

function printListening(
  { url, seed, controlToken, projects, channels }: Listening,
  { print, printRows, colours: { bold, dim } }: Terminal,
): void {
  print(`The service is at ${bold(`${url}/api/v1/messaging`)}, its control API at ${bold(`${url}/control`)}`)
  printRows([
    ['control token', controlToken ?? '(as given)'],
    ['seed', shown(String(seed))],
  ])
  for (const { name, keys, callbackUrls } of projects) {
    print(bold(shown(name)))
    const urls = Object.entries(callbackUrls).map(([kind, to]) => [`${kind} to`, to] as const)
    printRows(
      [...Object.entries(keys), ...urls].map(([key, value]) => [key, shown(value ?? '(as given)')]),
      '  ',
    )
    if (urls.length === 0) print('  no callback URLs; set them with --callbacks <url>')
  }
  print(`Channels: ${Object.values(channels).map(shown).join(', ')}`)
  print(dim('Press Ctrl+C to stop.'))
}

function activityLine(activity: Activity, { colours }: Terminal): string {
  const time = timeOfDay(systemClock().now())
  if (activity.type === 'send') return `${time}  send      ${sendText(activity.send, colours)}`
  if (activity.type === 'otp') return `${time}  otp       ${otpText(activity.entry)}`
  const { kind, payload } = activity.delivery
  const about = [kind, messageOf(payload) ?? payload['id'], wordIn(payload)].filter((part) => typeof part === 'string')
  return `${time}  callback  ${deliveryLine(activity.delivery, colours, about.join(' '))}`
}

/** The status of a report, or the name of another event. */
function wordIn({ statuses, status, event }: Readonly<Record<string, unknown>>): unknown {
  if (typeof statuses === 'object' && statuses !== null && 'status' in statuses) return statuses.status
  return status ?? event
}

function sendText(
  { method, channel, project, httpStatus, refusal, fault, recipients }: SendRecord,
  { dim, green, red, yellow }: Terminal['colours'],
): string {
  const byWord = Map.groupBy(recipients, ({ status }) => status)
  const outcome = refusal ?? Array.from(byWord, ([word, all]) => `${all.length} ${word}`).join(', ')
  return [
    `${method} ${(refusal === undefined ? green : red)(String(httpStatus))}`,
    channel,
    shown(outcome),
    ...recipients.slice(0, 1).map(({ messageId, to }) => shown(`${messageId} to ${to}`)),
    ...(fault === undefined ? [] : [yellow(fault)]),
    dim(shown(project ?? '')),
  ].join('  ')
}

function otpText({ sender, recipient, messageId, deliveryState }: OtpEntry): string {
  return [deliveryState, `${sender} to ${recipient}`, messageId].map(shown).join('  ')
}

function printReport(emulator: Emulator, { print, printRows, colours }: Terminal): void {
  const { sends, callbacks } = emulator.report()
  const counted = (count: number, answers: Readonly<Record<string, number>>): string =>
    Object.keys(answers).length === 0 ? String(count) : `${count} (${countsText(answers)})`
  print(colours.bold('Total'))
  const rows = [
    ['sends', counted(sends.requests, sends.answers)],
    ['callbacks', counted(callbacks.sent, callbacks.answers)],
    ['refused', `${callbacks.refused}, ${callbacks.rightlyRefused} of them correctly`],
    ['unanswered', String(callbacks.unanswered)],
    ['lost', `${callbacks.lost} that a correct receiver accepts`],
  ]
  printRows(rows, '  ')
}
