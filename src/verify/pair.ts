/**
 * One webhook security pair: as a user configures it, checked once and prepared. Contract, service.md#webhook-security-pair.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { unknownName } from '../runtime/check-options.ts'
import { OptionsError } from '../public/errors.ts'
import { isRecord } from '../runtime/values.ts'

/** One webhook security pair of a project. At least one of `authKey` and `signingSecret` is required. */
export interface CredentialPair {
  /** Sent by the service in the body of every callback. */
  readonly authKey?: string | undefined
  /** Never sent. The key of the signature header. */
  readonly signingSecret?: string | undefined
  /** The pair is rejected after this time (a Date, or milliseconds since the epoch). Default: never. */
  readonly notAfter?: Date | number | undefined
}

/** A prepared pair, so that a request needs no key set-up. */
export interface LivePair {
  /** The project that this pair proves. Undefined if the user named none. */
  readonly project: string | undefined
  /** Encoded in UTF-8. */
  readonly authKey: Buffer | undefined
  readonly secretKey: KeyObject | undefined
  readonly notAfterMs: number
  /** The key and the secret at the time of preparation. */
  readonly secrets: readonly string[]
}

const PAIR_FIELDS = ['authKey', 'signingSecret', 'notAfter'] as const
/** The project's key for sends. Callers that keep their keys together may pass it along. */
const SEND_KEY = 'apiKey'
export function preparePair(pair: CredentialPair, project: string | undefined, where: string): LivePair {
  if (!isRecord(pair)) throw new OptionsError(`${where} is not a pair of credentials.`)
  // Read each field once, so that the checked value is the used value even with a getter.
  const { notAfter } = pair
  const authKey = secretOf(pair, 'authKey', where)
  const signingSecret = secretOf(pair, 'signingSecret', where)
  if (authKey === undefined && signingSecret === undefined)
    throw new OptionsError(`${where} has neither authKey nor signingSecret.`)
  const notAfterMs = notAfter === undefined ? Infinity : millisecondsOf(notAfter)
  if (Number.isNaN(notAfterMs))
    throw new OptionsError(`${where} has an invalid notAfter; expected a Date, or milliseconds since the epoch.`)
  return {
    project,
    authKey: authKey === undefined ? undefined : Buffer.from(authKey),
    secretKey: signingSecret === undefined ? undefined : createSecretKey(Buffer.from(signingSecret, 'utf8')),
    notAfterMs,
    secrets: [authKey, signingSecret].filter((secret) => secret !== undefined),
  }
}

/** Throws for an unknown field of a literal pair: a misspelt `notAfter` would never take effect. */
export function checkFields(pair: CredentialPair, where: string): void {
  for (const name of isRecord(pair) && isPlain(pair) ? Object.keys(pair) : [])
    if (name !== SEND_KEY && !PAIR_FIELDS.some((field) => field === name))
      throw new OptionsError(`${where}: unknown field of a pair. ${unknownName(name, PAIR_FIELDS)}`)
}

/** Refuses null: it would become the year 1970, and the pair would never be live. */
function millisecondsOf(notAfter: unknown): number {
  return typeof notAfter === 'number' || isRecord(notAfter) ? Number(notAfter) : NaN
}

/** Reads an own or inherited field. A field that is present but empty is a mistake, not half a pair. */
function secretOf(pair: CredentialPair, name: 'authKey' | 'signingSecret', where: string): string | undefined {
  const value: unknown = pair[name]
  if (typeof value === 'string' && value !== '') return value
  if (value === undefined && !Object.hasOwn(pair, name)) return undefined
  throw new OptionsError(
    `${where}: ${name} is ${describe(value)}; expected a non-empty string (is the environment variable set?).`,
  )
}

/** Names the type, never the value. */
function describe(value: unknown): string {
  if (value === '') return 'empty'
  return value === undefined || value === null ? String(value) : `of type ${typeof value}`
}

/** Whether it is a literal object. An instance of a class may have other fields. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return !isRecord(prototype) || Object.getPrototypeOf(prototype) === null
}

/** Whether a prepared pair still matches the user's object, which may have been changed in place. */
export function isMadeOf(live: LivePair, pair: CredentialPair): boolean {
  const secret = live.secretKey?.export().toString('utf8')
  const notAfterMs = pair.notAfter === undefined ? Infinity : Number(pair.notAfter)
  return live.authKey?.toString() === pair.authKey && secret === pair.signingSecret && live.notAfterMs === notAfterMs
}
