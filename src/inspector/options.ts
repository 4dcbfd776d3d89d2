/** The options of the inspector: access, rights and audit. Anything unexpected grants nothing. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { functionLike } from '../runtime/check-options.ts'
import { failureLine } from '../runtime/failure-text.ts'
import type { Inspection } from '../receiver/inspection.ts'
import { isRecord, letReject } from '../runtime/values.ts'

/** The request that `authorize` decides on. `R` is your server's type of request. */
export interface InspectorRequest<R = unknown> {
  /** In upper case. */
  readonly method: string
  /** Below the mount, such as `/api/overview`, without the query. */
  readonly path: string
  readonly headers: Headers
  /** The address of the peer, which may be a proxy. Undefined if the server does not report it. */
  readonly remoteAddress: string | undefined
  /** The request itself: Node's, with what your framework attached, or the `Request`. */
  readonly original: R
}

const RIGHTS = ['read', 'write', 'reveal'] as const
/**
 * A right in the inspector. `write`: replay, discard, verify again. `reveal`: phone numbers and bodies, which are masked
 * otherwise. Each includes `read`.
 */
export type Right = (typeof RIGHTS)[number]

/** The answer of `authorize`: rights, with or without a name; or `false`, which is answered 403. */
export type Authorized =
  Right | readonly Right[] | { readonly may: Right | readonly Right[]; readonly who?: string | undefined } | false

/** Decides on access: see `authorize` of `InspectorOptions`. */
export type Authorize<R> = (request: InspectorRequest<R>) => Authorized | undefined | Promise<Authorized | undefined>

/** One line of the audit: a change that was made, refused, or failed. */
export interface AuditEntry {
  /** The change, download or export. */
  readonly what:
    | 'dead-letters.replay'
    | 'dead-letters.force'
    | 'dead-letters.discard'
    | 'quarantine.reverify'
    | 'quarantine.clear'
    | 'events.download'
    | 'events.export'
  /** The reader's name: `who` in the answer of `authorize`. */
  readonly who: string | undefined
  readonly at: Date
  readonly remoteAddress: string | undefined
  /** `refused`: the reader lacks the right, or the request is invalid or from another origin. Nothing changed. */
  readonly outcome: 'done' | 'refused' | 'failed'
  /** Ids of the events, if there are any. */
  readonly ids: readonly string[]
  /** Counts, such as `done` and `failed` of a replay. */
  readonly result: Readonly<Record<string, number | boolean>>
}

/** Options of `inspector`. `R` is your server's type of request, which `authorize` gets as `original`. */
export interface InspectorOptions<R = unknown> {
  /**
   * Decides who may see the inspector and what they may do: `read`, `write` (replay, discard, verify again, clear) and `reveal`
   * (phone numbers and bodies, masked otherwise). Any other answer, such as `false` or undefined, is answered 403. Called for
   * each request; an open page sends one every 2 s. If it throws or rejects, the answer is 500 without details. Required,
   * because an inspector is never public.
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
  /** Answers a `Request`, for servers with `Request` and `Response`. Never rejects. */
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
  /** The reader's name in the audit. */
  readonly who: string | undefined
}

const LONGEST_NAME = 200

/** Undefined if nothing is granted, including for an invalid answer such as `true` and for an empty list. */
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

/** Calls the user's function and logs what it throws. Without a function, logs the entry at level `info`. */
export function guardedAudit(
  given: InspectorOptions['audit'],
  { logger, secrets }: Pick<Inspection, 'logger' | 'secrets'>,
): (entry: AuditEntry) => void {
  return (entry) => {
    if (given === undefined) {
      const { at, result, ...fields } = entry
      const message = `Inspector: ${entry.what}, by ${entry.who ?? 'an unnamed reader'}: ${entry.outcome}.`
      logger.info({ code: 'inspector_audit', ...fields, at: at.toISOString(), ...result }, message)
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
