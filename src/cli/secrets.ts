/** Reads secrets from the environment or a file, never from an argument: process lists and shell histories show arguments. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { CredentialPair } from '../verify/credentials.ts'
import { defined } from '../runtime/values.ts'
import { flag, usage, CliError, readVariable } from './command.ts'

/** The flag of each secret without `-file`, and its name. */
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
