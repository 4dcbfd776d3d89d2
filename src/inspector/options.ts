/** The options of the inspector: who may see it and do what, and who learns of changes. Anything unexpected allows nothing. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { functionLike } from '../runtime/check-options.ts'
import { failureLine } from '../runtime/failure-text.ts'
import type { Logger } from '../runtime/logger.ts'
import { letReject } from '../runtime/values.ts'

/** What `authorize` gets of a request. `R` is what your server calls a request. */
export interface InspectorRequest<R = unknown> {
  /** In capitals. */
  readonly method: string
  /** Below the mount, as in `/api/overview`, without a query. */
  readonly path: string
  readonly headers: Headers
  /** The address of the peer, which behind a proxy is the proxy; undefined where the server does not say. */
  readonly remoteAddress: string | undefined
  /** The request itself: Node's, with what your framework has put on it such as a session, or the `Request`. */
  readonly original: R
}

/** `write`: replay, discard, reverify. `reveal`: phone numbers and bodies, masked otherwise. Each of them may read. */
const RIGHTS = ['read', 'write', 'reveal'] as const
/** What somebody may do in the inspector. */
export type Right = (typeof RIGHTS)[number]

/** What `authorize` answers: rights, with or without who it is; or `false`, which is answered 403. */
export type Authorized =
  Right | readonly Right[] | { readonly may: Right | readonly Right[]; readonly who?: string | undefined } | false

/** Decides who may see the inspector: called for each request, before anything else. An open page makes one every 2 s. */
export type Authorize<R> = (request: InspectorRequest<R>) => Authorized | undefined | Promise<Authorized | undefined>

/** One line of the audit: a change that was made, refused, or failed. */
export interface AuditEntry {
  /** Such as `dead-letters.replay`. */
  readonly what:
    | 'dead-letters.replay'
    | 'dead-letters.force'
    | 'dead-letters.discard'
    | 'quarantine.reverify'
    | 'quarantine.clear'
    | 'events.download'
    | 'events.export'
  /** As `authorize` named it. */
  readonly who: string | undefined
  readonly at: Date
  readonly remoteAddress: string | undefined
  /** `refused`: without the right to it, or from another page; then nothing was read of what was asked for. */
  readonly outcome: 'done' | 'refused' | 'failed'
  /** Of the events, where there are any. */
  readonly ids: readonly string[]
  /** What came of it: how many, and of what. */
  readonly result: Readonly<Record<string, number | boolean>>
}

/** What `inspector` takes. `R` is what your server calls a request, as `authorize` gets it under `original`. */
export interface InspectorOptions<R = unknown> {
  /**
   * Decides who may see the inspector and what they may do: `read`, `write` (replay, discard, reverify, clear) and `reveal` (phone
   * numbers and bodies, masked otherwise); `false`, undefined or anything else is answered 403. Called for each request, of which an
   * open page makes one every 2 s; if it throws or rejects, the answer is 500 without details. Required: an inspector is never public.
   */
  readonly authorize: Authorize<R>
  /**
   * The path that it is mounted under, such as `/webhooks/inspector`, where the server does not take it off: in a Fetch handler
   * and in `node:http`. Express and Connect do. Default: none.
   */
  readonly path?: string | undefined
  /**
   * Called for each change, each download of a body and each export: who asked, for what, of which ids, and what came of it. What it
   * throws is logged. Default: a line at the level `info` of the receiver's logger, which the default one does not print.
   */
  readonly audit?: ((entry: AuditEntry) => unknown) | undefined
}

/** The inspector: a listener of Express, Connect and node:http, and a Fetch handler. */
export interface Inspector {
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void
  /** The same for servers that speak `Request` and `Response`. It never rejects. */
  fetch(request: Request): Promise<Response>
}

export const inspectorOptions = z.strictObject({
  authorize: functionLike,
  path: z.string().startsWith('/', 'expected a path that begins with a slash').optional(),
  audit: functionLike.optional(),
})

export interface Rights {
  readonly write: boolean
  readonly reveal: boolean
  /** For the audit. */
  readonly who: string | undefined
}

const LONGEST_NAME = 200

/** Undefined where nothing is allowed: also for what is no right, such as `true`, and for an empty list. */
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

/** Writes an entry down. */
export type Audit = (entry: AuditEntry) => void

/** To the user's function, whatever it throws; without one, a line at the level `info`. */
export function guardedAudit(
  given: ((entry: AuditEntry) => unknown) | undefined,
  logger: Logger,
  secrets: () => readonly string[],
): Audit {
  return (entry) => {
    const { what, who, at, remoteAddress, outcome, ids, result } = entry
    if (given === undefined) {
      const fields = { what, who, at: at.toISOString(), remoteAddress, outcome, ids, ...result }
      const message = `Inspector: ${what}, by ${who ?? 'somebody without a name'}: ${outcome}.`
      logger.info({ code: 'inspector_audit', ...fields }, message)
      return
    }
    try {
      letReject(given(entry))
    } catch (error) {
      const cause = failureLine(error, secrets())
      logger.error({ code: 'inspector_audit_failed', cause }, `\`audit\` of the inspector threw. The cause: ${cause}`)
    }
  }
}
