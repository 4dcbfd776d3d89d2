/** The options of the inspector: access, rights and audit. Anything unexpected grants nothing. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { functionLike } from '../runtime/check-options.ts'
import { failureLine } from '../runtime/failure-text.ts'
import type { Logger } from '../runtime/logger.ts'
import { isRecord, letReject } from '../runtime/values.ts'

/** The request that `authorize` decides on. `R` is your server's type of request. */
export interface InspectorRequest<R = unknown> {
  /** In upper case. */
  readonly method: string
  /** Below the mount, such as `/api/overview`, without the query. */
  readonly path: string
  readonly headers: Headers
  /** The address of the peer, which may be a proxy. Undefined if the server does not tell. */
  readonly remoteAddress: string | undefined
  /** The request itself: Node's, with what your framework attached, or the `Request`. */
  readonly original: R
}

/**
 * `write`: replay, discard, verify again. `reveal`: phone numbers and bodies, which are masked otherwise. Each includes
 * reading.
 */
const RIGHTS = ['read', 'write', 'reveal'] as const
/** Rights in the inspector. */
export type Right = (typeof RIGHTS)[number]

/** The answer of `authorize`: rights, with or without a name; or `false`, which is answered 403. */
export type Authorized =
  Right | readonly Right[] | { readonly may: Right | readonly Right[]; readonly who?: string | undefined } | false

/** Decides on access: see `authorize` of `InspectorOptions`. */
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
  /** As `authorize` named the reader. */
  readonly who: string | undefined
  readonly at: Date
  readonly remoteAddress: string | undefined
  /** `refused`: without the right, or from another origin. The input was not read. */
  readonly outcome: 'done' | 'refused' | 'failed'
  /** Ids of the events, if there are any. */
  readonly ids: readonly string[]
  /** The result in numbers. */
  readonly result: Readonly<Record<string, number | boolean>>
}

/** Options of `inspector`. `R` is your server's type of request, which `authorize` gets as `original`. */
export interface InspectorOptions<R = unknown> {
  /**
   * Decides who may see the inspector and what they may do: `read`, `write` (replay, discard, verify again, clear) and `reveal`
   * (phone numbers and bodies, masked otherwise). `false`, undefined and anything else is answered 403. Called for each
   * request; an open page sends one every 2 s. If it throws or rejects, the answer is 500 without details. Required: an
   * inspector is never public.
   */
  readonly authorize: Authorize<R>
  /**
   * The path of the mount, such as `/webhooks/inspector`, if the server does not remove it: in Fetch handlers and `node:http`.
   * Express and Connect remove it. Default: none.
   */
  readonly path?: string | undefined
  /**
   * Called for each change, each download of a body and each export: who, what, which ids, and the result. Errors that it
   * throws are logged. Default: a line at level `info` of the receiver's logger, which the default logger does not print.
   */
  readonly audit?: ((entry: AuditEntry) => unknown) | undefined
}

/** The inspector: a listener for Express, Connect and node:http, and a Fetch handler. */
export interface Inspector {
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void
  /** The same for servers with `Request` and `Response`. Never rejects. */
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

/** Undefined if nothing is granted, also for an invalid answer such as `true`, and for an empty list. */
export function readRights(given: unknown): Rights | undefined {
  const { may, who } = isRecord(given) ? given : { may: given, who: undefined }
  const words: readonly unknown[] = Array.isArray(may) ? may : [may]
  if (words.length === 0 || !words.every((word) => RIGHTS.some((right) => right === word))) return undefined
  return {
    write: words.includes('write'),
    reveal: words.includes('reveal'),
    who: typeof who === 'string' && who !== '' ? who.slice(0, LONGEST_NAME) : undefined,
  }
}

/** Calls the user's function, whatever it throws. Without one, logs a line at level `info`. */
export function guardedAudit(
  given: ((entry: AuditEntry) => unknown) | undefined,
  logger: Logger,
  secrets: () => readonly string[],
): (entry: AuditEntry) => void {
  return (entry) => {
    const { what, who, at, remoteAddress, outcome, ids, result } = entry
    if (given === undefined) {
      const fields = { what, who, at: at.toISOString(), remoteAddress, outcome, ids, ...result }
      const message = `Inspector: ${what}, by ${who ?? 'an unnamed reader'}: ${outcome}.`
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
