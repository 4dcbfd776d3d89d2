/** The quarantine as users hold it in their hands: what its methods take, and how a kept request is shown. */
import { z } from 'zod'
import { isRecord, textOf } from '../runtime/values.ts'
import { maskSecrets, readSentBody } from '../verify/body.ts'
import type { ProofPolicy } from '../public/callback.ts'
import { checkOptions, numberFrom, pageLimit } from '../runtime/check-options.ts'
import { defined } from '../runtime/defined.ts'
import type { RefusalCode } from '../public/error-table.ts'
import type { CallbackKind } from '../public/events.ts'
import type { KeptRequest, QuarantineClass } from './request.ts'

/** What `quarantine.reverify` takes. */
export interface ReverifyOptions {
  /**
   * How far this clock was ahead of the true time when the requests came, in seconds (negative: behind): the `offsetSeconds`
   * of `list()`. Default 0. Whoever recorded a signed callback can have it pass again by this, so give what was measured.
   */
  readonly clockOffsetSeconds?: number | undefined
  /** Says what would be admitted, and changes nothing: nothing is admitted, and nothing leaves the quarantine. Default false. */
  readonly dryRun?: boolean | undefined
  /** Ends the run; what was admitted until then stays admitted. */
  readonly signal?: AbortSignal | undefined
}

/** What became of it. */
export interface ReverifyCounts {
  readonly examined: number
  /** Proved, and taken by the store: new, late and duplicate ones. They are no longer in quarantine. In a dry run: they would be. */
  readonly admitted: number
  /** Still in quarantine, for no live key proves them, or the credentials could not be looked up. */
  readonly stillUnproved: number
}

/** How many requests are kept, by class, and what they take. */
export interface QuarantineCounts extends Readonly<Record<QuarantineClass, number>> {
  readonly bytes: number
  /** How many were not kept, or had to go, for want of room, since the receiver was created. */
  readonly dropped: number
}

/** What `quarantine.list` takes. */
export interface ListOptions {
  /** The `next` of a page, for the one that follows. */
  readonly after?: string | undefined
  /** Requests a page. Default 100. */
  readonly limit?: number | undefined
  /** Adds each body and signature header as it came, with the keys in it. Default false. */
  readonly reveal?: boolean | undefined
}

/** A request without a valid proof, as `quarantine.list()` shows it. */
export interface QuarantinedRequest {
  /** SHA-256 of the body, in hexadecimal digits; the same body is kept once. */
  readonly id: string
  readonly class: QuarantineClass
  readonly arrivedAt: Date
  /** The kind that its middleware was mounted with, and the proofs that it asks for. */
  readonly kind: CallbackKind | undefined
  readonly policy: ProofPolicy
  /** Why it was refused; the README's table of codes explains it. */
  readonly code: RefusalCode
  /**
   * How far its signature's time is behind this clock, in seconds (negative: ahead), where its digest is right. What
   * `reverify({ clockOffsetSeconds })` takes.
   */
  readonly offsetSeconds?: number
  readonly contentEncoding?: string
  /** Length of the body. */
  readonly bytes: number
  /**
   * The parsed body with keys masked by name at every depth; absent where it is no JSON object. A whole number that JavaScript cannot
   * hold is a text, as it was sent.
   */
  readonly payload?: Readonly<Record<string, unknown>>
  /** With `reveal` only: the body as it came, with the keys in it. */
  readonly raw?: Buffer
  /** With `reveal` only: the values of the signature header. */
  readonly signatures?: readonly string[]
}

/** A page of what is in quarantine; `next` is the `after` of the page that follows, where there is one. */
export interface QuarantinePage {
  readonly items: readonly QuarantinedRequest[]
  /** Pass it as `after` to go on; absent on the last page. */
  readonly next?: string
}

/**
 * The requests that were refused for want of a valid proof, within the bounds of the option `quarantine`. Half of the room is
 * for `provedButStale`, half for the other classes, of which `rest` leaves first. Within each half, large bodies leave first,
 * and then what one address, one project name or one size holds too much of, the newest before the others. Kept in memory,
 * and in a folder where there is one.
 */
export interface Quarantine {
  /**
   * Verifies all of them again with the credentials as they are now, and admits what is proved: each with its own time of
   * arrival, by which its signature is judged, and in the order of its message. Requests whose credentials could not be
   * looked up are verified again without this call. Runs in turns, so that nothing else waits; a second call waits for
   * the first.
   * Rejects with a `MessagingWebhooksError` where the store cannot take an event, and with the reason of `signal`; what was
   * not admitted is still kept then.
   */
  reverify(options?: ReverifyOptions): Promise<ReverifyCounts>
  /** The kept requests in order of arrival, a page at a time; keys are masked by name at every depth. */
  list(page?: ListOptions): Promise<QuarantinePage>
  /** How many requests are kept; those that an earlier process left count once they are loaded, soon after the start. */
  readonly size: number
  /** The same by class, for metrics. */
  counts(): QuarantineCounts
  /** Forgets all of them. */
  clear(): void
}

/** A clock that is further off is not worth a word of seconds. */
const FARTHEST_SECONDS = 10_000_000_000

const abortSignal = z.custom<AbortSignal>(
  // Some test runners have a class of their own for it.
  (value) => typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
  'expected an AbortSignal',
)

const reverifyOptions = z.strictObject({
  clockOffsetSeconds: numberFrom(-FARTHEST_SECONDS, FARTHEST_SECONDS, 'seconds').optional(),
  dryRun: z.boolean().optional(),
  signal: abortSignal.optional(),
})

const listOptions = z.strictObject({
  after: z
    .custom<string>((value) => typeof value === 'string' && /^\d+$/.test(value), 'expected the `next` of a page')
    .optional(),
  limit: pageLimit.optional(),
  reveal: z.boolean().optional(),
})

const MASKED = '***'

export function checkReverify(options: ReverifyOptions | undefined) {
  return checkOptions(reverifyOptions, options, 'quarantine.reverify')
}

export function checkList(options: ListOptions | undefined) {
  return checkOptions(listOptions, options, 'quarantine.list')
}

/**
 * Without what proves it, and with every key masked by its name. `secrets` are masked by value too; by name comes first, for the key may be one that nobody here knows yet.
 */
export function show(
  request: KeptRequest,
  { reveal, secrets }: { readonly reveal: boolean; readonly secrets: readonly string[] },
): QuarantinedRequest {
  const { id, class: name, code, offsetSeconds, callback } = request
  const { kind, policy, contentEncoding, captured, signatures, arrivedAtMs } = callback
  return {
    id,
    class: name,
    arrivedAt: new Date(arrivedAtMs),
    kind,
    policy,
    code,
    bytes: captured.bytes.length,
    ...defined({ offsetSeconds, contentEncoding, payload: maskedPayload(request, secrets) }),
    ...(reveal ? { raw: Buffer.from(captured.bytes), signatures: [...signatures] } : undefined),
  }
}

function maskedPayload({ callback }: KeptRequest, secrets: readonly string[]): Record<string, unknown> | undefined {
  const body = readSentBody(callback)
  if (body.fields === undefined) return undefined
  try {
    const payload: unknown = JSON.parse(textOf(maskSecrets(body, secrets).bytes), maskValue)
    return isRecord(payload) ? payload : undefined
  } catch {
    return undefined
  }
}

/** Names that only look like the key's are masked too, and texts that are JSON themselves, for they have names of their own. */
function maskValue(name: string, value: unknown, context?: { readonly source?: string }): unknown {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  if (plain.endsWith('key') || plain.includes('secret')) return MASKED
  if (typeof value === 'string' && (/^\s*[[{"]/.test(value) || /auth_?key/i.test(value))) return MASKED
  // As it was sent, where a number would be another one.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? (context?.source ?? value) : value
}
