/** Secrets come from the environment or a file. As an argument they work, with a warning: others can see it. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { readVariable, type Variable } from './environment.ts'
import { CliError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

export interface SecretOption {
  /** As in `--signing-secret` and `--signing-secret-file`. */
  readonly flag: string
  readonly variable: Variable
  /** As in “the signing secret”. */
  readonly what: string
}

export const SIGNING_SECRET: SecretOption = {
  flag: 'signing-secret',
  variable: 'SIGNING_SECRET',
  what: 'the signing secret',
}
export const AUTH_KEY: SecretOption = { flag: 'auth-key', variable: 'AUTH_KEY', what: 'the Auth Key' }

/** Adds `--<flag>-file` and `--<flag>`. */
export function addSecretOption(command: Command, { flag, variable, what }: SecretOption): Command {
  return command
    .option(`--${flag}-file <path>`, `a file with ${what}; default: the variable ${variable}`)
    .option(`--${flag} <value>`, `${what} itself, which \`ps\` and the shell's history then show`)
}

/** What was given, or undefined. Throws a `CliError` for a file that cannot be read, and for an empty secret. */
export function readSecret(
  options: Readonly<Record<string, unknown>>,
  { flag, variable, what }: SecretOption,
  terminal: Terminal,
): string | undefined {
  const name = camelCase(flag)
  const given = options[name]
  const file = options[`${name}File`]
  if (given !== undefined && file !== undefined)
    throw new CliError('usage', `--${flag} and --${flag}-file exclude each other.`)
  if (typeof given === 'string') {
    terminal.note(
      terminal.noteColours.yellow(
        `warning: --${flag} is seen in the list of processes and kept in the shell's history; use ${variable} or --${flag}-file.`,
      ),
    )
    return notEmpty(given, what)
  }
  if (typeof file === 'string') return notEmpty(readSecretFile(file, what), what)
  return readVariable(variable)
}

/** A file's last line end is not part of the secret: editors put it there. */
function readSecretFile(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new CliError('failed', `The file of ${what} cannot be read (${codeOf(error)}).`, `Look at ${path}.`)
  }
}

function notEmpty(secret: string, what: string): string {
  if (secret === '') throw new CliError('usage', `${capital(what)} is empty.`, 'Is the variable or the file filled?')
  return secret
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
