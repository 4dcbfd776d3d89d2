/**
 * Describes commands, their exit codes and their environment variables. Parsing, help, checks and the reference's table of flags
 * derive from the schemas of their flags.
 */
import { Option, type Command } from 'commander'
import { z } from 'zod'
import type { Terminal } from './terminal.ts'
import { readFileSync } from 'node:fs'
import type { CredentialPair } from '../verify/credentials.ts'
import { defined } from '../runtime/values.ts'

/** The exit codes. The reference's table derives from here. */
export const EXIT_CODES = {
  ok: { code: 0, when: 'Success. `verify`: the signature holds.' },
  failed: {
    code: 1,
    when: 'The command failed: a port is in use, a file unreadable, or a store unavailable, for example.',
  },
  usage: { code: 2, when: 'Invalid usage; nothing was started.' },
  notProved: { code: 3, when: '`verify`: the signature does not hold.' },
  refused: { code: 4, when: '`trigger`: an answer differs from that of a correct receiver.' },
  unanswered: { code: 5, when: '`trigger`: an expected answer is missing.' },
  notFound: { code: 6, when: '`events`, `dead-letters`: the id does not exist.' },
  unsupported: { code: 7, when: 'This Node.js is too old, or has no SQLite.' },
  unwell: { code: 8, when: '`doctor`: found a problem or a warning.' },
  interrupted: { code: 130, when: '`trigger`: interrupted by Ctrl+C.' },
} as const satisfies Readonly<Record<string, { readonly code: number; readonly when: string }>>

export type ExitName = keyof typeof EXIT_CODES

/** Ends a command. Message and hint are one line each, without secrets or bodies. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exit: ExitName
  readonly hint: string | undefined

  constructor(exit: ExitName, message: string, hint?: string) {
    super(message)
    this.exit = exit
    this.hint = hint
  }
}

type Flags = Readonly<Record<string, z.ZodType>>

interface Spec<F extends Flags> {
  /** The form and the description of the only argument. `run` gets its values. */
  readonly argument?: readonly [form: string, what: string]
  readonly flags: F
  /** Printed below the help. */
  readonly notes?: string
  readonly run: (flags: z.output<z.ZodObject<F>>, terminal: Terminal, given: readonly string[]) => Promise<void> | void
}

export interface Definition {
  define(command: Command, terminal: Terminal): void
}

export function command<F extends Flags>({ argument, flags, notes, run }: Spec<F>): Definition {
  return {
    define(to, terminal) {
      if (argument !== undefined) to.argument(...argument)
      if (notes !== undefined) to.addHelpText('after', `\n${notes}`)
      const options = Object.entries(flags).map(([name, schema]) => ({ name, option: optionOf(schema) }))
      for (const { option } of options) to.addOption(option)
      to.action(async () => {
        const texts = to.opts<Readonly<Record<string, unknown>>>()
        const given = Object.fromEntries(options.map(({ name, option }) => [name, texts[option.attributeName()]]))
        const checked = z.object(flags).safeParse(given)
        if (checked.success) return run(checked.data, terminal, to.args)
        const [issue] = checked.error.issues
        const wrong = options.find(({ name }) => name === issue?.path[0])
        const value = [wrong && given[wrong.name]].flat().at(Number(issue?.path[1] ?? 0))
        to.error(
          `option '${wrong?.option.flags ?? ''}' argument '${String(value)}' is invalid. ${issue?.message ?? ''}`,
        )
      })
    },
  }
}

export function commandGroup(
  commands: Readonly<Record<string, Definition & { readonly what: string }>>,
  notes: string,
): Definition {
  return {
    define(to, terminal) {
      to.addHelpText('after', `\n${notes}`)
      for (const [name, { what, define }] of Object.entries(commands))
        define(to.command(name).description(what), terminal)
    },
  }
}

/** Adds the form of a flag, for example `--port <number>`, and its description to the schema of its text. */
export function flag<T extends z.ZodType>(form: string, what: string, schema: T): T {
  return schema.meta({ form, description: what })
}

export function toggle(form: string, what: string) {
  return flag(form, what, z.boolean().default(false))
}

export function repeatable<T extends z.ZodType>(form: string, what: string, schema: T) {
  return z.array(schema).optional().meta({ form, description: what, isRepeatable: true })
}

function optionOf(schema: z.ZodType): Option {
  const { form, description = '', isRepeatable } = schema.meta() ?? {}
  const fallback: unknown = schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined
  const shown = ['string', 'number'].includes(typeof fallback) ? ` (default: ${String(fallback)})` : ''
  const option = new Option(String(form), `${description}${shown}`)
  if (isRepeatable === true)
    option.argParser((text, before: readonly string[] | undefined) => [...(before ?? []), text])
  return option.makeOptionMandatory(schema instanceof z.ZodString)
}

/** A whole number in a range, both ends included. */
export function wholeNumber(least: number, most: number) {
  const words = `Expected a whole number from ${least} to ${most}.`
  return z
    .string()
    .regex(/^\d+$/, words)
    .transform(Number)
    .refine((number) => number >= least && number <= most, words)
}

export function oneOf<const W extends readonly string[]>(words: W) {
  return z.enum(words, `Allowed choices are ${words.join(', ')}.`)
}

/** A text that `read` understands; it returns NaN or an invalid date for others. */
export function readBy<T extends number | Date>(words: string, read: (text: string) => T) {
  return z
    .string()
    .transform(read)
    .refine((value) => !Number.isNaN(Number(value)), words)
}

const LONGEST_TIMEOUT_MS = 600_000

export const timeoutMs = wholeNumber(1, LONGEST_TIMEOUT_MS)

export const JSON_LINES = toggle('--json', 'print one JSON object a line')
export const JSON_LINE = toggle('--json', 'print it as one line of JSON')

export function usage(message: string, hint?: string): CliError {
  return new CliError('usage', message, hint)
}

/** The environment variables of the command line. The reference's table derives from here. */
export const ENVIRONMENT = {
  SIGNING_SECRET: 'The signing secret, for `listen`, `trigger`, `doctor`, `verify` and `quarantine`.',
  AUTH_KEY: 'The Auth Key, for `listen`, `trigger`, `doctor` and `quarantine`.',
  STORE_URL: 'The store, for `migrate`, `events`, `inspect`, `dead-letters`, `quarantine` and `forget`.',
  CONTROL_TOKEN: 'The token of the control API, for `emulate`.',
  DEBUG: 'If not empty, unexpected errors print their stack.',
  NO_COLOR: 'Disables colours.',
  FORCE_COLOR: 'Unless `0`, enables colours, even in a pipe.',
} as const

type Variable = keyof typeof ENVIRONMENT

/** An empty variable counts as unset. */
export function readVariable(name: Variable): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}

/**
 * The flag of each secret without `-file`, and its name. Secrets come from the environment or a file, never from an argument:
 * process lists and shell histories show arguments.
 */
const SECRETS = {
  SIGNING_SECRET: ['signing-secret', 'the signing secret'],
  AUTH_KEY: ['auth-key', 'the Auth Key'],
  CONTROL_TOKEN: ['control-token', 'the token of the control API'],
} as const

type Secret = keyof typeof SECRETS

/** The hint for a flag that would pass a secret, such as `--signing-secret`. Undefined for other flags. */
export function secretHint(given: string): string | undefined {
  const row = Object.entries(SECRETS).find(([, [name]]) => name === given)
  return row && `Other users can see arguments. Set ${row[0]}, or pass a file with --${given}-file.`
}

/** The flag of a file with the secret. Its value is the secret: from the file, else from the variable, else undefined. */
export function secretFile(variable: Secret) {
  const [name, what] = SECRETS[variable]
  const secret = z
    .string()
    .optional()
    .transform((path) => (path === undefined ? readVariable(variable) : readSecret(path, what)))
  return flag(`--${name}-file <path>`, `a file with ${what}; default: the variable ${variable}`, secret)
}

/** The flags of the pair that signs or verifies callbacks. */
export const PAIR_FLAGS = { signingSecret: secretFile('SIGNING_SECRET'), authKey: secretFile('AUTH_KEY') }

/** Undefined unless at least one half was given. */
export function pairOf(signingSecret: string | undefined, authKey: string | undefined): CredentialPair | undefined {
  return signingSecret === undefined && authKey === undefined ? undefined : defined({ signingSecret, authKey })
}

export function neededSigningSecret(given: string | undefined): string {
  if (given !== undefined) return given
  throw usage('No signing secret was given.', 'Set SIGNING_SECRET, or pass a file with --signing-secret-file.')
}

function readSecret(path: string, what: string): string {
  // Editors append a line end; it is not part of the secret.
  const text = readNamedFile(path, `The file of ${what}`)
    .toString('utf8')
    .replace(/\r?\n$/, '')
  if (text !== '') return text
  throw usage(`${what.charAt(0).toUpperCase()}${what.slice(1)} is empty.`, `Check ${path}.`)
}

/** Reads a file that an option names. `what` is the subject of the error message. */
export function readNamedFile(path: string, what: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new CliError('failed', `${what} cannot be read (${codeOf(error)}).`, `Check ${path}.`)
  }
}

/** The system's error code. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
