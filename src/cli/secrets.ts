/** Reads secrets from the environment or a file, never from an argument: process lists and shell histories show arguments. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { CredentialPair } from '../verify/pair.ts'
import { readVariable, type Variable } from './environment.ts'
import { CliError } from './exit-codes.ts'

interface SecretOption {
  /** For example `signing-secret-file`. */
  readonly flag: string
  readonly variable: Variable
  /** For example “the signing secret”. */
  readonly what: string
}

function secret(flag: string, variable: Variable, what: string): SecretOption {
  return { flag, variable, what }
}

export const SIGNING_SECRET = secret('signing-secret-file', 'SIGNING_SECRET', 'the signing secret')
export const AUTH_KEY = secret('auth-key-file', 'AUTH_KEY', 'the Auth Key')
export const OLD_SIGNING_SECRET = secret('old-secret-file', 'OLD_SIGNING_SECRET', 'the old signing secret')
export const OLD_AUTH_KEY = secret('old-key-file', 'OLD_AUTH_KEY', 'the old Auth Key')
export const CONTROL_TOKEN = secret('control-token-file', 'CONTROL_TOKEN', 'the token of the control API')
const ALL = [SIGNING_SECRET, AUTH_KEY, OLD_SIGNING_SECRET, OLD_AUTH_KEY, CONTROL_TOKEN]

/** The hint for a flag that would pass a secret, such as `--signing-secret`. Undefined for other flags. */
export function secretHint(flag: string): string | undefined {
  const row = ALL.find((option) => option.flag === `${flag}-file`)
  return row && `Other users can see arguments. Set ${row.variable}, or pass a file with --${row.flag}.`
}

export function addSecretOptions(command: Command, ...options: readonly SecretOption[]): Command {
  for (const { flag, variable, what } of options)
    command.option(`--${flag} <path>`, `a file with ${what}; default: the variable ${variable}`)
  return command
}

/** Undefined unless at least one half was given. Throws like `readSecret`. */
export function readPair(command: Command, ofSecret: SecretOption, ofKey: SecretOption): CredentialPair | undefined {
  const signingSecret = readSecret(command, ofSecret)
  const authKey = readSecret(command, ofKey)
  if (signingSecret === undefined && authKey === undefined) return undefined
  return { ...(signingSecret !== undefined && { signingSecret }), ...(authKey !== undefined && { authKey }) }
}

/** Throws a `CliError` with this message if no secret was given. */
export function neededSecret(command: Command, option: SecretOption, message: string): string {
  const given = readSecret(command, option)
  if (given !== undefined) return given
  throw new CliError('usage', message, `Set ${option.variable}, or pass a file with --${option.flag}.`)
}

/** Undefined if none was given. Throws a `CliError` if the file is unreadable or empty. */
export function readSecret(command: Command, { flag, variable, what }: SecretOption): string | undefined {
  const path: unknown = command.opts()[flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())]
  if (typeof path !== 'string') return readVariable(variable)
  // Editors append a line end; it is not part of the secret.
  const text = readNamedFile(path, `The file of ${what}`)
    .toString('utf8')
    .replace(/\r?\n$/, '')
  if (text !== '') return text
  throw new CliError('usage', `${what.charAt(0).toUpperCase()}${what.slice(1)} is empty.`, `Check ${path}.`)
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
