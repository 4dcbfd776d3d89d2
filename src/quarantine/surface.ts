/** The public quarantine methods: their options, and the form of a kept request. */
import { z } from 'zod'
import { isRecord, textOf, defined } from '../runtime/values.ts'
import { maskSecrets, readSentBody } from '../verify/body.ts'
import type { ProofPolicy } from '../public/callback.ts'
import { expected, numberFrom, pageLimit, type Given } from '../runtime/check-options.ts'
import type { RefusalCode } from '../public/error-table.ts'
import type { CallbackKind } from '../public/events.ts'
import type { KeptRequest, QuarantineClass } from './request.ts'

/** Larger offsets cannot be a clock error. */
const FARTHEST_SECONDS = 10_000_000_000

const reverifyOptions = {
  /**
   * How far this clock was ahead of the true time when the requests arrived, in seconds (negative: behind): the `offsetSeconds`
   * of `list()`. Default 0. Pass only a measured value: this also admits a replayed callback that matches it.
   */
  clockOffsetSeconds: numberFrom(-FARTHEST_SECONDS, FARTHEST_SECONDS, 'seconds').default(0),
  /** Counts what would be admitted, and changes nothing. Default false. */
  dryRun: z.boolean().default(false),
  /** Aborts the run. Events admitted before stay admitted. */
  signal: expected<AbortSignal>(
    'an AbortSignal',
    // Some test runners define their own class.
    (value) => typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
  ).optional(),
}

const listOptions = {
  /** The `next` of the previous page. */
  after: expected<string>(
    'the `next` of a page',
    (value) => typeof value === 'string' && /^\d+$/.test(value),
  ).optional(),
  /** Requests per page. Default 100. */
  limit: pageLimit.default(100),
  /** Adds each body and signature header in full, with its keys. Default false. */
  reveal: z.boolean().default(false),
}

export const reverifySchema = z.strictObject(reverifyOptions)
export const listSchema = z.strictObject(listOptions)

/** Options of `quarantine.reverify`. */
export interface ReverifyOptions extends Given<typeof reverifyOptions> {}

/** Options of `quarantine.list`. */
export interface QuarantineListOptions extends Given<typeof listOptions> {}

/** Result of `quarantine.reverify`. */
export interface ReverifyCounts {
  readonly examined: number
  /**
   * Proved and accepted by the store, including late and duplicate events. They have left the quarantine, except in a dry run.
   */
  readonly admitted: number
  /** Still in quarantine: no live key proves them, or the credentials could not be looked up. */
  readonly stillUnproved: number
}

/** The result of `quarantine.counts`, by class. */
export interface QuarantineCounts extends Readonly<Record<QuarantineClass, number>> {
  readonly bytes: number
  /** Requests not kept, or evicted, because the capacity was exhausted, since the receiver was created. */
  readonly dropped: number
}

/** A request without a valid proof, as `quarantine.list()` shows it. */
export interface QuarantinedRequest {
  /** SHA-256 of the body, in hexadecimal digits. The same body is kept once. */
  readonly id: string
  readonly class: QuarantineClass
  readonly arrivedAt: Date
  /** The kind of the mount, and the proofs that it requires. */
  readonly kind: CallbackKind | undefined
  readonly policy: ProofPolicy
  /** Why it was refused. The reference of error codes explains it. */
  readonly code: RefusalCode
  /**
   * How far the signature's time is behind this clock, in seconds (negative: ahead), if the digest is right. Pass it to
   * `reverify({ clockOffsetSeconds })`.
   */
  readonly offsetSeconds?: number
  readonly contentEncoding?: string
  /** Length of the body. */
  readonly bytes: number
  /**
   * The parsed body, with keys masked by name at every depth. Absent if it is not a JSON object. An integer beyond JavaScript's
   * precision is a string with the original digits.
   */
  readonly payload?: Readonly<Record<string, unknown>>
  /** With `reveal` only: the body in full, with its keys. */
  readonly raw?: Buffer
  /** With `reveal` only: the values of the signature header. */
  readonly signatures?: readonly string[]
}

/** A page of the quarantine. */
export interface QuarantinePage {
  readonly items: readonly QuarantinedRequest[]
  /** Pass it as `after` to continue. Absent on the last page. */
  readonly next?: string
}

/**
 * Requests refused without a valid proof, within the bounds of the option `quarantine`. Half of the capacity is for
 * `provedButStale`, half for the other classes, of which `rest` is evicted first. Within each half, large bodies are evicted
 * first, then those of the address, project name or size with too large a share, newest first. Kept in memory, and in a folder
 * if there is one.
 */
export interface Quarantine {
  /**
   * Verifies all requests again with the current credentials, and admits the proved ones. A signature is judged by the time at
   * which its request arrived. The events of a message are admitted in order. Requests whose credentials could not be looked up
   * are verified again automatically. Runs in small turns of the event loop; a second call waits for the first.
   *
   * Rejects with a `MessagingWebhooksError` if the store cannot accept an event, or with the reason of `signal`. Requests that
   * were not admitted stay in quarantine.
   */
  reverify(options?: ReverifyOptions): Promise<ReverifyCounts>
  /** The kept requests in order of arrival, one page at a time. Keys are masked by name at every depth. */
  list(page?: QuarantineListOptions): Promise<QuarantinePage>
  /** Number of kept requests. Includes those of an earlier process once they are loaded, soon after the start. */
  readonly size: number
  /** Number of kept requests by class, and their size. */
  counts(): QuarantineCounts
  /** Removes all requests. */
  clear(): void
}

/** What the body of a request claims to be about. Nothing proves it. */
export function claimsIn({ payload = {} }: Pick<QuarantinedRequest, 'payload'>) {
  const { messageId, project, statuses } = payload
  const inChatApp = isRecord(statuses) ? statuses : {}
  return {
    messageId: textIn(messageId ?? inChatApp['message_id']),
    project: textIn(project),
    recipient: textIn(inChatApp['recipient']),
  }
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

const MASKED = '***'

/** Omits the proofs and masks every key: first by name, because a key may be unknown here, then `secrets` by value. */
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

/** Also masks names that resemble the key's, and strings that contain JSON, which has names of its own. */
function maskValue(name: string, value: unknown, context?: { readonly source?: string }): unknown {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  if (plain.endsWith('key') || plain.includes('secret')) return MASKED
  if (typeof value === 'string' && (/^\s*[[{"]/.test(value) || /auth_?key/i.test(value))) return MASKED
  // Keeps the original digits where a number would be imprecise.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? (context?.source ?? value) : value
}
