/** Who may do what: the answer of `authorize`, read so that anything unexpected allows nothing. */
import type { InspectorRequest } from './request.ts'

/** `write`: replay, discard, reverify. `reveal`: phone numbers and bodies, masked otherwise. Each of them may read. */
const RIGHTS = ['read', 'write', 'reveal'] as const
/** What somebody may do in the inspector. */
export type Right = (typeof RIGHTS)[number]

/** What `authorize` answers: rights, with or without who it is; or `false`, which is answered 403. */
export type Authorized =
  Right | readonly Right[] | { readonly may: Right | readonly Right[]; readonly who?: string | undefined } | false

/** Says who may see the inspector: called for each request, before anything else is done for it. */
export type Authorize<R> = (request: InspectorRequest<R>) => Authorized | undefined | Promise<Authorized | undefined>

export interface Rights {
  readonly write: boolean
  readonly reveal: boolean
  /** For the audit. */
  readonly who: string | undefined
}

const LONGEST_NAME = 200

/** Undefined where nothing is allowed: also for what is no right, such as `true`, and for a list of none. */
export function readRights(given: unknown): Rights | undefined {
  const { may, who } = isNamed(given) ? given : { may: given, who: undefined }
  const words: readonly unknown[] = Array.isArray(may) ? may : [may]
  if (words.length === 0 || !words.every((word) => RIGHTS.some((right) => right === word))) return undefined
  return {
    write: words.includes('write'),
    reveal: words.includes('reveal'),
    who: typeof who === 'string' && who !== '' ? who.slice(0, LONGEST_NAME) : undefined,
  }
}

function isNamed(given: unknown): given is { readonly may: unknown; readonly who?: unknown } {
  return typeof given === 'object' && given !== null && 'may' in given
}
