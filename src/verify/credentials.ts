/**
 * The webhook security pairs, as users configure them and as the verifier needs them. Contract,
 * service.md#webhook-security-pair.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { withDeadline, type Clock } from '../runtime/clock.ts'
import type { RefusalCode } from '../public/error-table.ts'
import { isOurs, MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import { checkName } from '../runtime/check-options.ts'
import { isRecord } from '../runtime/values.ts'

/** The result of a credentials function: the pairs of a project, or nothing for an unknown project. */
export type CredentialsAnswer = CredentialPair | readonly CredentialPair[] | null | undefined

/** Looks up the pairs of a project. `project` is undefined if the body names none. Called once per request. */
export type CredentialsFunction = (project: string | undefined) => CredentialsAnswer | PromiseLike<CredentialsAnswer>

/** The option `credentials`: a pair, several live pairs, or a function that looks them up. */
export type CredentialsOption = CredentialPair | readonly CredentialPair[] | CredentialsFunction

/** The pairs of each project by display name. Contract, service.md#project. */
export type ProjectsOption = Readonly<Record<string, CredentialPair | readonly CredentialPair[]>>

/** The pairs of a project, or why the name was not looked up. */
export type Pairs = readonly LivePair[] | Extract<RefusalCode, 'project_name_too_long' | 'project_name_malformed'>

export interface CredentialsSource {
  /** Whether message ids are separated by project. */
  readonly byProject: boolean
  /** The name of the only configured project. */
  readonly onlyProject?: string | undefined
  /** All pairs, unless they are looked up. */
  readonly fixed: readonly LivePair[]
  /** The pairs by project, if there are several. A Map, so that `constructor` is not a project. */
  readonly byName?: ReadonlyMap<string, readonly LivePair[]> | undefined
  /** Set if the pairs are not all known in advance. */
  readonly lookUp?: (project: string | undefined) => Promise<Pairs>
  /** All keys and secrets known now, to mask them in foreign texts. */
  secrets(): readonly string[]
}

export const MAX_PAIRS = 16
/** Maximum length of a project name to look up. */
export const LONGEST_LOOKED_UP = 256
const MAX_LOOKUPS = 128
const UNKNOWN_NAMES_KEPT = 1_000
const UNKNOWN_NAME_MS = 1_000
const SECRETS_KEPT = 128

const SLOW = Symbol('slow')

interface CredentialsOptions {
  readonly credentials?: CredentialsOption | undefined
  readonly projects?: ProjectsOption | undefined
  readonly clock: Clock
  readonly lookupTimeoutMs: number
}

/** Throws an `OptionsError` for an invalid pair. */
export function credentialsSource(options: CredentialsOptions): CredentialsSource {
  try {
    return sourceOf(options)
  } catch (error) {
    // A user's getter may quote the secret in its error.
    const problem = isOurs(error) ? error : new OptionsError('The credentials cannot be read.')
    // `next build` loads every route, usually without secrets, and receives no callbacks. Each lookup fails with the reason.
    if (process.env['NEXT_PHASE'] === 'phase-production-build')
      return { ...fixedSource([]), lookUp: () => Promise.reject(problem) }
    throw problem
  }
}

function sourceOf(options: CredentialsOptions): CredentialsSource {
  const { credentials, projects } = options
  if (projects !== undefined) return credentialsByProject(projects)
  if (typeof credentials === 'function') return credentialsLookup(credentials, options)
  if (credentials === undefined) throw new OptionsError('Give either `credentials` or `projects`.')
  return fixedSource(preparePairs(credentials, undefined, 'credentials'))
}

/** Without `byName` there is one project, whatever its name. */
function fixedSource(fixed: readonly LivePair[], byName?: CredentialsSource['byName']): CredentialsSource {
  const secrets = fixed.flatMap((pair) => pair.secrets)
  const [onlyProject] = byName?.size === 1 ? byName.keys() : []
  return { byProject: byName !== undefined, onlyProject, fixed, byName, secrets: () => secrets }
}

function credentialsByProject(option: ProjectsOption): CredentialsSource {
  const byName = new Map<string, readonly LivePair[]>()
  for (const [project, pairs] of Object.entries(option))
    byName.set(project, preparePairs(pairs, project, `projects[${JSON.stringify(project)}]`))
  if (byName.size === 0) throw new OptionsError('`projects` names no project.')
  return fixedSource([...byName.values()].flat(), byName)
}

/** The source for a credentials function: bounded, with a time limit, and its result is checked. */
function credentialsLookup(
  lookup: CredentialsFunction,
  { clock, lookupTimeoutMs }: { readonly clock: Clock; readonly lookupTimeoutMs: number },
): CredentialsSource {
  let underWay = 0
  const prepared = new WeakMap<CredentialPair, LivePair>()
  const unknownUntil = new LRUCache<string, number>({ max: UNKNOWN_NAMES_KEPT })
  const secrets = new LRUCache<string, true>({ max: SECRETS_KEPT })

  function prepareOnce(pair: CredentialPair, project: string | undefined): LivePair {
    const known = prepared.get(pair)
    if (known !== undefined && known.project === project && isMadeOf(known, pair)) return known
    const live = preparePair(pair, project, 'the credentials function’s answer')
    prepared.set(pair, live)
    for (const secret of live.secrets) secrets.set(secret, true)
    return live
  }

  async function lookUp(project: string | undefined): Promise<Pairs> {
    // Databases and drivers refuse or change names that are too long, contain a NUL or are not well-formed.
    if (project !== undefined) {
      if (project.length > LONGEST_LOOKED_UP) return 'project_name_too_long'
      if (project.includes('\0') || !project.isWellFormed()) return 'project_name_malformed'
    }
    const unknownBefore = project === undefined ? undefined : unknownUntil.get(project)
    if (unknownBefore !== undefined && clock.now() < unknownBefore) return []
    if (underWay >= MAX_LOOKUPS) throw new MessagingWebhooksError('credentials_busy')
    underWay += 1
    let answer: CredentialsAnswer | typeof SLOW
    try {
      answer = await withDeadline<typeof answer>(clock, lookupTimeoutMs, Promise.resolve(lookup(project)), () => SLOW)
    } catch (error) {
      throw new MessagingWebhooksError('credentials_failed', undefined, { cause: error })
    } finally {
      underWay -= 1
    }
    if (answer === SLOW) throw new MessagingWebhooksError('credentials_slow')
    if (answer === undefined || answer === null) {
      if (project !== undefined) unknownUntil.set(project, clock.now() + UNKNOWN_NAME_MS)
      return []
    }
    try {
      return [answer].flat().map((pair) => prepareOnce(pair, project))
    } catch (error) {
      const detail = isOurs(error) ? error.detail : undefined
      throw new MessagingWebhooksError('credentials_invalid', detail)
    }
  }

  return { byProject: true, fixed: [], lookUp, secrets: () => [...secrets.keys()] }
}

function preparePairs(
  option: CredentialPair | readonly CredentialPair[],
  project: string | undefined,
  where: string,
): readonly LivePair[] {
  const pairs = [option].flat()
  if (pairs.length === 0) throw new OptionsError(`${where} is an empty list.`)
  if (pairs.length > MAX_PAIRS)
    throw new OptionsError(`${where} has ${pairs.length} pairs; expected at most ${MAX_PAIRS}.`)
  return pairs.map((pair) => {
    checkFields(pair, where)
    return preparePair(pair, project, where)
  })
}

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
function checkFields(pair: CredentialPair, where: string): void {
  for (const name of isRecord(pair) && isPlain(pair) ? Object.keys(pair) : [])
    if (name !== SEND_KEY) checkName(where, 'field of a pair', name, PAIR_FIELDS)
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
function isMadeOf(live: LivePair, pair: CredentialPair): boolean {
  const secret = live.secretKey?.export().toString('utf8')
  const notAfterMs = pair.notAfter === undefined ? Infinity : Number(pair.notAfter)
  return live.authKey?.toString() === pair.authKey && secret === pair.signingSecret && live.notAfterMs === notAfterMs
}
