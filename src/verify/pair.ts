/** One webhook security pair: as a user gives it, checked once, and made ready. Contract, service.md#webhook-security-pair. */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { nearest, nearestByEdits } from '../runtime/did-you-mean.ts'
import { OptionsError } from '../public/errors.ts'
import { isRecord } from '../runtime/values.ts'

/** One webhook security pair of a project. At least one of the two is needed; leave a property out to do without it. */
export interface CredentialPair {
  /** Sent by the service in the body of every callback. */
  readonly authKey?: string | undefined
  /** Never sent; keys the signature header. */
  readonly signingSecret?: string | undefined
  /** The pair is not accepted after this moment (a Date, or milliseconds since the epoch). Default: for ever. */
  readonly notAfter?: Date | number | undefined
}

/** A pair made ready once, so that a request costs no key set-up. */
export interface LivePair {
  /** The project that this pair proves; undefined where the user did not say. */
  readonly project: string | undefined
  /** In UTF-8. */
  readonly authKey: Buffer | undefined
  readonly secretKey: KeyObject | undefined
  readonly notAfterMs: number
  /** The key and the secret, as they were when the pair was made ready. */
  readonly secrets: readonly string[]
}

const PAIR_FIELDS = ['authKey', 'signingSecret', 'notAfter'] as const
/** The project's key for sends: who keeps its keys together, as the emulator does, has it beside the pair. */
const SEND_KEY = 'apiKey'
/** Of a field that does not exist, in a message. */
const LONGEST_NAME = 80

/** Says what is wrong with the names of a pair's fields, where something is. */
type CheckNames = (pair: object, name: string) => string | undefined

/** In a pair that is written down, a field that does not exist is a mistake: a misspelt `notAfter` never ends. */
export function unknownField(_pair: object, name: string): string {
  const near = nearest(name, PAIR_FIELDS)
  return `is no part of a pair${near === undefined ? `; there are ${PAIR_FIELDS.join(', ')}` : ` (did you mean ${near}?)`}`
}

/**
 * A row of a database has fields of its own; only one that looks like a field that is missing is a mistake there. More
 * words make another name: `authKeyId` is no misspelt `authKey`.
 */
export function misspeltField(pair: object, name: string): string | undefined {
  const near = nearestByEdits(
    name,
    PAIR_FIELDS.filter((field) => !(field in pair)),
  )
  if (near === undefined || (name.startsWith(near) && name.length > near.length + 1)) return undefined
  return `looks like ${near}, which is missing; leave it out where it is something else`
}

export function preparePair(
  pair: CredentialPair,
  project: string | undefined,
  where: string,
  checkNames: CheckNames,
): LivePair {
  if (!isRecord(pair)) throw new OptionsError(`${where} is no pair of credentials.`)
  for (const name of isPlain(pair) ? Object.keys(pair) : []) {
    const isKnown = name === SEND_KEY || PAIR_FIELDS.some((field) => field === name)
    const problem = isKnown ? undefined : checkNames(pair, name)
    if (problem !== undefined) throw new OptionsError(`${where}: ${name.slice(0, LONGEST_NAME)} ${problem}.`)
  }
  // Each is read once: what is checked is what is used, though a getter may say something else the next time.
  const { notAfter } = pair
  const authKey = secretOf(pair, 'authKey', where)
  const signingSecret = secretOf(pair, 'signingSecret', where)
  if (authKey === undefined && signingSecret === undefined)
    throw new OptionsError(`${where} has neither authKey nor signingSecret.`)
  const notAfterMs = notAfter === undefined ? Infinity : millisecondsOf(notAfter)
  if (Number.isNaN(notAfterMs))
    throw new OptionsError(`${where} has a notAfter that is no date; expected a Date, or milliseconds since the epoch.`)
  return {
    project,
    authKey: authKey === undefined ? undefined : Buffer.from(authKey),
    secretKey: signingSecret === undefined ? undefined : createSecretKey(Buffer.from(signingSecret, 'utf8')),
    notAfterMs,
    secrets: [authKey, signingSecret].filter((secret) => secret !== undefined),
  }
}

/** An empty column of a database would otherwise be the year 1970, and the pair would never be live. */
function millisecondsOf(notAfter: unknown): number {
  return typeof notAfter === 'number' || isRecord(notAfter) ? Number(notAfter) : NaN
}

/** Of the object itself or of its class; one that is there and holds nothing is a mistake, not a pair with one half. */
function secretOf(pair: CredentialPair, name: 'authKey' | 'signingSecret', where: string): string | undefined {
  const value: unknown = pair[name]
  if (typeof value === 'string' && value !== '') return value
  if (value === undefined && !Object.hasOwn(pair, name)) return undefined
  throw new OptionsError(
    `${where}: ${name} is ${describe(value)}; expected a non-empty string (is the environment variable set?).`,
  )
}

/** What it is, never its value. */
function describe(value: unknown): string {
  if (value === '') return 'empty'
  return value === undefined || value === null ? String(value) : `of type ${typeof value}`
}

/** Written as `{ ... }`, wherever: an object of a class has fields of its own. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return !isRecord(prototype) || Object.getPrototypeOf(prototype) === null
}

/** Whether a prepared pair still says what the user's object says, which may have been changed in place. */
export function isMadeOf(live: LivePair, pair: CredentialPair): boolean {
  const secret = live.secretKey?.export().toString('utf8')
  const notAfterMs = pair.notAfter === undefined ? Infinity : Number(pair.notAfter)
  return live.authKey?.toString() === pair.authKey && secret === pair.signingSecret && live.notAfterMs === notAfterMs
}
