/** `emulate`: the sending service, as a process. */
import type { Command } from 'commander'
import { z } from 'zod'
import { withoutCredentials } from '../emulator/http.ts'
import { createEmulator } from '../emulator/create.ts'
import type { FaultRates, SendFaultRates } from '../emulator/faults.ts'
import type { ProjectOptions } from '../emulator/projects.ts'
import type { Emulator, EmulatorOptions } from '../emulator/surface.ts'
import { MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import { CALLBACK_KINDS } from '../public/events.ts'
import { portError, untilSignal } from './addresses.ts'
import { collected, readFaults, readSendFaults, wholeNumber } from './arguments.ts'
import { emulatorPrinter } from './emulate-output.ts'
import { CliError } from './exit-codes.ts'
import { addSecretOptions, codeOf, CONTROL_TOKEN, readNamedFile, readSecret } from './secrets.ts'
import type { Terminal } from './terminal.ts'

interface EmulateOptions {
  readonly config?: string
  readonly port: number
  readonly host: string
  readonly callbacks?: string
  readonly fault?: readonly string[]
  readonly sendFault?: readonly string[]
  readonly seed?: string
  readonly json?: true
}

/** What stands in the file is checked by `createEmulator`; here only that it is an object, and has no code in it. */
const configSchema = z.looseObject({ projects: z.array(z.looseObject({})).optional() })

export function define(command: Command, terminal: Terminal): void {
  addSecretOptions(command, CONTROL_TOKEN)
    .option('--config <path>', 'a JSON file with the options of createEmulator')
    .option('--port <number>', 'where to listen; 0 picks a free port', wholeNumber(0, 65_535), 4000)
    .option('--host <address>', 'on which address; beyond loopback, the control API asks for its token', '127.0.0.1')
    .option('--callbacks <url>', 'post callbacks to <url>/status, /received, /payment and /subscription')
    .option('--fault <name[=rate]>', 'a fault of callbacks, and how often from 0 to 1 (1); may be repeated', collected)
    .option('--send-fault <name[=rate]>', 'a fault of the answers to sends, likewise', collected)
    .option('--seed <text>', 'what is left to chance follows from it')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      `\nTogether with listen:\n  messaging-webhooks emulate --callbacks http://localhost:3000\n  (it prints the keys; set SIGNING_SECRET and AUTH_KEY to them for listen)`,
    )
    .action((options: EmulateOptions) => emulate(options, readSecret(command.opts(), CONTROL_TOKEN), terminal))
}

async function emulate(options: EmulateOptions, controlToken: string | undefined, terminal: Terminal): Promise<void> {
  const settings = settingsOf(options, controlToken)
  const emulator = create(settings)
  const printer = emulatorPrinter(terminal, options.json ?? false)
  emulator.onActivity((activity) => printer.activity(activity))
  const { url } = await listen(emulator, options)
  printer.listening(
    url,
    emulator.projects().map((project) => ({
      ...project,
      callbackUrls: Object.fromEntries(
        Object.entries(project.callbackUrls).map(([kind, url]) => [kind, url && withoutCredentials(url)]),
      ),
      // Whoever gave a key has it; those that the emulator made up are of no use to anybody else.
      keys: madeUpKeys(emulator.keys({ project: project.name }), settings.projects ?? [], project.name),
    })),
    emulator.channels(),
  )
  await untilSignal()
  await emulator.close()
  printer.report(emulator.report())
}

/** Of the file and the flags; a flag wins. */
function settingsOf(options: EmulateOptions, controlToken: string | undefined): EmulatorOptions {
  const config = options.config === undefined ? {} : readConfig(options.config)
  const { callbacks } = options
  const faults: FaultRates | undefined = options.fault && readFaults(options.fault)
  const sendFaults: SendFaultRates | undefined = options.sendFault && readSendFaults(options.sendFault)
  const projects =
    callbacks === undefined ? config.projects : withCallbacks(config.projects ?? [{ name: 'My Shop' }], callbacks)
  return {
    ...config,
    ...(projects === undefined ? undefined : { projects }),
    ...(faults === undefined ? undefined : { faults }),
    ...(sendFaults === undefined ? undefined : { sendFaults }),
    ...(options.seed === undefined ? undefined : { seed: options.seed }),
    ...(controlToken === undefined ? undefined : { controlToken }),
  }
}

function readConfig(path: string): EmulatorOptions {
  const text = readNamedFile(path, 'The configuration').toString('utf8')
  try {
    // What the fields are, createEmulator checks; it says so in words of its own.
    return configSchema.parse(JSON.parse(text)) as EmulatorOptions
  } catch {
    // What a parser says quotes the file, which has keys in it.
    throw new CliError('usage', 'The configuration is no JSON object with a list of projects.', `Look at ${path}.`)
  }
}

/** Projects that have callback URLs of their own keep them. */
function withCallbacks(projects: readonly ProjectOptions[], base: string): readonly ProjectOptions[] {
  const root = base.replace(/\/+$/, '')
  const callbackUrls = Object.fromEntries(CALLBACK_KINDS.map((kind) => [kind, `${root}/${kind}`]))
  return projects.map((project) => ({ callbackUrls, ...project }))
}

function create(settings: EmulatorOptions): Emulator {
  try {
    return createEmulator(settings)
  } catch (error) {
    if (error instanceof OptionsError)
      throw new CliError(
        'usage',
        `The emulator cannot be set up: ${error.detail ?? ''}`,
        'Look at --config and the flags.',
      )
    throw error
  }
}

async function listen(emulator: Emulator, { port, host }: EmulateOptions): Promise<{ readonly url: string }> {
  try {
    return await emulator.listen(port, host)
  } catch (error) {
    if (error instanceof MessagingWebhooksError && error.code === 'emulator_port')
      throw portError(port, codeOf(error.cause))
    throw error
  }
}

/** Each key by its name; undefined for one that was given. */
function madeUpKeys(
  keys: ReturnType<Emulator['keys']>,
  projects: readonly ProjectOptions[],
  name: string,
): Readonly<Record<'apiKey' | 'authKey' | 'signingSecret', string | undefined>> {
  const given = projects.find((project) => project.name === name)
  return {
    apiKey: given?.apiKey === undefined ? keys.apiKey : undefined,
    authKey: given?.authKey === undefined ? keys.authKey : undefined,
    signingSecret: given?.signingSecret === undefined ? keys.signingSecret : undefined,
  }
}
