/** Secrets come from the environment or a file, never as an argument: the list of processes and the shell's history show those. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { CredentialPair } from '../verify/pair.ts'
import { readVariable, type Variable } from './environment.ts'
import { CliError } from './exit-codes.ts'

interface SecretOption {
  /** As in `--signing-secret-file`. */
  readonly flag: string
  readonly variable: Variable
  /** As in “the signing secret”. */
  readonly what: string
}

export const SIGNING_SECRET: SecretOption = {
  flag: 'signing-secret-file',
  variable: 'SIGNING_SECRET',
  what: 'the signing secret',
}
export const AUTH_KEY: SecretOption = { flag: 'auth-key-file', variable: 'AUTH_KEY', what: 'the Auth Key' }
export const OLD_SIGNING_SECRET: SecretOption = {
  flag: 'old-secret-file',
  variable: 'OLD_SIGNING_SECRET',
  what: 'the old signing secret',
}
export const OLD_AUTH_KEY: SecretOption = {
  flag: 'old-key-file',
  variable: 'OLD_AUTH_KEY',
  what: 'the old Auth Key',
}
export const CONTROL_TOKEN: SecretOption = {
  flag: 'control-token-file',
  variable: 'CONTROL_TOKEN',
  what: 'the token of the control API',
}

/** What to say to whoever wants to give a secret itself, `--signing-secret`; undefined for any other flag. */
export function secretHint(flag: string): string | undefined {
  const row = [SIGNING_SECRET, AUTH_KEY, OLD_SIGNING_SECRET, OLD_AUTH_KEY, CONTROL_TOKEN].find(
    (option) => option.flag === `${flag}-file`,
  )
  return row && `Others can see an argument: set ${row.variable}, or name a file with --${row.flag}.`
}

/** Adds their flags. */
export function addSecretOptions(command: Command, ...options: readonly SecretOption[]): Command {
  for (const { flag, variable, what } of options)
    command.option(`--${flag} <path>`, `a file with ${what}; default: the variable ${variable}`)
  return command
}

/** A pair of which at least one half was given, or undefined. Throws as `readSecret` does. */
export function readPair(
  command: Command,
  secretOption: SecretOption,
  keyOption: SecretOption,
): CredentialPair | undefined {
  const signingSecret = readSecret(command.opts(), secretOption)
  const authKey = readSecret(command.opts(), keyOption)
  if (signingSecret === undefined && authKey === undefined) return undefined
  return { ...(signingSecret !== undefined && { signingSecret }), ...(authKey !== undefined && { authKey }) }
}

/** What was given, or undefined. Throws a `CliError` for a file that cannot be read, and for an empty one. */
export function readSecret(
  options: Readonly<Record<string, unknown>>,
  { flag, variable, what }: SecretOption,
): string | undefined {
  const file = options[camelCase(flag)]
  return typeof file === 'string' ? readSecretFile(file, what) : readVariable(variable)
}

/** A file's last line end is not part of the secret: editors put it there. */
function readSecretFile(path: string, what: string): string {
  const secret = readNamedFile(path, `The file of ${what}`)
    .toString('utf8')
    .replace(/\r?\n$/, '')
  if (secret === '') throw new CliError('usage', `${capital(what)} is empty.`, `Look at ${path}.`)
  return secret
}

/** The bytes of a file that an option names; `what` begins the error if it cannot be read. */
export function readNamedFile(path: string, what: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new CliError('failed', `${what} cannot be read (${codeOf(error)}).`, `Look at ${path}.`)
  }
}

/** The system's name for what went wrong with a file. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}

function camelCase(flag: string): string {
  return flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
