/**
 * One webhook security pair: as a user configures it, checked once and prepared. Contract, service.md#webhook-security-pair.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { nearest, nearestByEdits } from '../runtime/did-you-mean.ts'
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
/** Maximum length of an unknown field name in an error. */
const LONGEST_NAME = 80

/** Describes what is wrong with the field names of a pair, if anything. */
type CheckNames = (pair: object, name: string) => string | undefined

/** In a literal pair every unknown field is a mistake: a misspelt `notAfter` would never take effect. */
export function unknownField(_pair: object, name: string): string {
  const near = nearest(name, PAIR_FIELDS)
  return `is not a field of a pair${near === undefined ? `; there are ${PAIR_FIELDS.join(', ')}` : ` (did you mean ${near}?)`}`
}

/**
 * A database row may have other fields. Only a near miss of an absent field is a mistake; a name with more words, such as
 * `authKeyId`, is not.
 */
export function misspeltField(pair: object, name: string): string | undefined {
  const near = nearestByEdits(
    name,
    PAIR_FIELDS.filter((field) => !(field in pair)),
  )
  if (near === undefined || (name.startsWith(near) && name.length > near.length + 1)) return undefined
  return `looks like ${near}, which is missing. Rename it, or leave it out of the pair`
}

export function preparePair(
  pair: CredentialPair,
  project: string | undefined,
  where: string,
  checkNames: CheckNames,
): LivePair {
  if (!isRecord(pair)) throw new OptionsError(`${where} is not a pair of credentials.`)
  for (const name of isPlain(pair) ? Object.keys(pair) : []) {
    const isKnown = name === SEND_KEY || PAIR_FIELDS.some((field) => field === name)
    const problem = isKnown ? undefined : checkNames(pair, name)
    if (problem !== undefined) throw new OptionsError(`${where}: ${name.slice(0, LONGEST_NAME)} ${problem}.`)
  }
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
