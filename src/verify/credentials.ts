/** The webhook security pairs, as users give them and as the verifier needs them. Contract, service.md#webhook-security-pair. */
import { LRUCache } from 'lru-cache'
import { withDeadline, type Clock } from '../runtime/clock.ts'
import type { RefusalCode } from '../public/error-table.ts'
import { isOurs, MessagingWebhooksError, OptionsError } from '../public/errors.ts'
import { isMadeOf, misspeltField, preparePair, unknownField, type CredentialPair, type LivePair } from './pair.ts'

/** What a credentials function may return: the pairs of a project, or nothing for a project that it does not know. */
export type CredentialsAnswer = CredentialPair | readonly CredentialPair[] | null | undefined

/** Looks the pairs of a project up. `project` is undefined where the body names none. Asked once a request. */
export type CredentialsFunction = (project: string | undefined) => CredentialsAnswer | PromiseLike<CredentialsAnswer>

/** What the option `credentials` takes: a pair, several that are live at once, or a function that looks them up. */
export type CredentialsOption = CredentialPair | readonly CredentialPair[] | CredentialsFunction

/** Several projects, each with its pair or pairs, by display name. Contract, service.md#project. */
export type ProjectsOption = Readonly<Record<string, CredentialPair | readonly CredentialPair[]>>

/** Those of a project, or why nobody is asked for those of such a name. */
export type Pairs = readonly LivePair[] | Extract<RefusalCode, 'project_name_too_long' | 'project_name_malformed'>

export interface CredentialsSource {
  /** True where message ids are kept apart by project. */
  readonly byProject: boolean
  /** The only project there is, if there is only one. */
  readonly onlyProject: string | undefined
  /** True where somebody is asked for the pairs, which may fail. */
  readonly areLookedUp: boolean
  /** Every pair, where none is looked up. */
  readonly fixed: readonly LivePair[]
  /** The same by project, where there are several. A Map, so that `constructor` is nobody's project. */
  readonly byName?: ReadonlyMap<string, readonly LivePair[]>
  /** Looks the pairs of a project up, where they are. */
  readonly lookUp?: (project: string | undefined) => Promise<Pairs>
  /** Every key and secret that is known now, to be taken out of texts that are not ours. */
  secrets(): readonly string[]
}

/** More pairs than this are of no use to one project. */
export const MOST_PAIRS = 16
/** A function is not asked for a longer name. */
export const LONGEST_LOOKED_UP = 256
const MOST_LOOKUPS = 128
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

/** The source for whichever form the user chose. Throws an `OptionsError` for a pair that cannot work. */
export function credentialsSource(options: CredentialsOptions): CredentialsSource {
  try {
    return sourceOf(options)
  } catch (error) {
    // What a getter of the user's throws may quote what it guards.
    const problem = isOurs(error) ? error : new OptionsError('The credentials cannot be read.')
    // `next build` loads every route, mostly where no secrets are set, and no callback comes to it.
    if (process.env['NEXT_PHASE'] === 'phase-production-build') return failingLater(problem)
    throw problem
  }
}

/** The source for credentials that cannot work: whoever asks for them is told why. */
function failingLater(problem: Error): CredentialsSource {
  return {
    byProject: false,
    onlyProject: undefined,
    areLookedUp: false,
    fixed: [],
    lookUp: () => Promise.reject(problem),
    secrets: () => [],
  }
}

function sourceOf(options: CredentialsOptions): CredentialsSource {
  const { credentials, projects } = options
  if (projects !== undefined) return credentialsByProject(projects)
  if (typeof credentials === 'function') return credentialsLookup(credentials, options)
  if (credentials === undefined) throw new OptionsError('Give either `credentials` or `projects`.')
  return fixedCredentials(credentials)
}

/** The source for `credentials` given as a pair or a list of pairs: one project, whatever its name. */
function fixedCredentials(option: CredentialPair | readonly CredentialPair[]): CredentialsSource {
  const pairs = preparePairs(option, undefined, 'credentials')
  const secrets = secretsOf(pairs)
  return {
    byProject: false,
    onlyProject: undefined,
    areLookedUp: false,
    fixed: pairs,
    secrets: () => secrets,
  }
}

/** The source for `projects`. */
function credentialsByProject(option: ProjectsOption): CredentialsSource {
  const byName = new Map<string, readonly LivePair[]>()
  for (const [project, pairs] of Object.entries(option))
    byName.set(project, preparePairs(pairs, project, `projects[${JSON.stringify(project)}]`))
  if (byName.size === 0) throw new OptionsError('`projects` names no project.')
  const all = [...byName.values()].flat()
  const secrets = secretsOf(all)
  const [onlyProject] = byName.size === 1 ? byName.keys() : []
  return {
    byProject: true,
    onlyProject,
    areLookedUp: false,
    fixed: all,
    byName,
    secrets: () => secrets,
  }
}

/** The source for `credentials` given as a function: bounded, limited in time, and never trusted to be right. */
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
    const where = 'the credentials function’s answer'
    const live = preparePair(pair, project, where, misspeltField)
    prepared.set(pair, live)
    for (const secret of live.secrets) secrets.set(secret, true)
    return live
  }

  async function lookUp(project: string | undefined): Promise<Pairs> {
    // Databases and drivers refuse such text, or make another of it.
    if (project !== undefined) {
      if (project.length > LONGEST_LOOKED_UP) return 'project_name_too_long'
      if (project.includes('\0') || !project.isWellFormed()) return 'project_name_malformed'
    }
    const unknownBefore = project === undefined ? undefined : unknownUntil.get(project)
    if (unknownBefore !== undefined && clock.now() < unknownBefore) return []
    if (underWay >= MOST_LOOKUPS) throw new MessagingWebhooksError('credentials_busy')
    underWay += 1
    let answer: CredentialsAnswer | typeof SLOW
    try {
      answer = await withDeadline<typeof answer>(clock, lookupTimeoutMs, callSafely(lookup, project), () => SLOW)
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

  return {
    byProject: true,
    onlyProject: undefined,
    areLookedUp: true,
    fixed: [],
    lookUp,
    secrets: () => [...secrets.keys()],
  }
}

/** Whether a secret has white space at an end: the commonest mistake, made by reading it from a file. */
export function hasBlankEnds(secret: string): boolean {
  return secret !== secret.trim()
}

async function callSafely(lookup: CredentialsFunction, project: string | undefined): Promise<CredentialsAnswer> {
  return lookup(project)
}

function preparePairs(
  option: CredentialPair | readonly CredentialPair[],
  project: string | undefined,
  where: string,
): readonly LivePair[] {
  const pairs = [option].flat()
  if (pairs.length === 0) throw new OptionsError(`${where} is an empty list.`)
  if (pairs.length > MOST_PAIRS)
    throw new OptionsError(`${where} has ${pairs.length} pairs; at most ${MOST_PAIRS} work.`)
  return pairs.map((pair) => preparePair(pair, project, where, unknownField))
}

function secretsOf(pairs: readonly LivePair[]): readonly string[] {
  return pairs.flatMap(({ secrets }) => secrets)
}
