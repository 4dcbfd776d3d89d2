/** What calls take beside the message, and the checks. */
import { z } from 'zod'
import { checkOptions, functionLike, wholeNumberFrom } from '../check-options.ts'
import { viaSchema } from './options.ts'
import type { RecordOptions } from '../intention.ts'
import type { Form } from './request.ts'
import type { SendProgress } from './sent-all.ts'

/** What a send takes beside its message. */
export interface SendOptions {
  /** Aborts it: the send rejects with `aborted` at once, and `mayBeSent` says whether it was under way. */
  readonly signal?: AbortSignal | undefined
  /** The form of this request. Default: that of the client. */
  readonly via?: Form | undefined
}

/** What a send of a `sender` takes beside its message. */
export interface RecordedSendOptions extends SendOptions, RecordOptions {}

/** What `sendAll` takes beside its message. */
export interface SendAllOptions {
  /** Numbers in a request, from 1 to 10,000. Default: 100. */
  readonly batch?: number | undefined
  /** Requests at once, from 1 to 100. Default: 4. */
  readonly concurrency?: number | undefined
  /** The form of the requests. Default: that of the client. */
  readonly via?: Form | undefined
  /** Called after each batch. What it throws is dropped. */
  readonly onProgress?: ((progress: SendProgress) => void) | undefined
  /** Stops between batches. Those that are under way are waited for, so that nothing is left unknown by it. */
  readonly signal?: AbortSignal | undefined
}

/** What `sendAll` of a `sender` takes beside its message. */
export interface RecordedSendAllOptions extends SendAllOptions, RecordOptions {
  /**
   * Your own name for the whole list, at most 240 characters. Batch after batch is written down as `reference#0`, `reference#1` and so on:
   * call it again with the same reference, list and `batch`, and no batch is sent twice. Default: each batch has a random UUID.
   */
  readonly reference?: string | undefined
}

const MOST_IN_A_BATCH = 10_000
const MOST_AT_ONCE = 100

const signal = z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'expected an AbortSignal').optional()
const sendSchema = z.strictObject({ signal, via: viaSchema.optional() })
/** The receiver, which is given them, checks their values. */
const recordShape = {
  reference: z.unknown().optional(),
  meta: z.unknown().optional(),
  within: z.unknown().optional(),
  notAfter: z.unknown().optional(),
  project: z.unknown().optional(),
  answerWithinMs: z.unknown().optional(),
} satisfies Record<keyof RecordOptions, z.ZodType>
const recordedSchema = z.strictObject({ ...sendSchema.shape, ...recordShape })
const sendAllSchema = z.strictObject({
  batch: wholeNumberFrom(1, MOST_IN_A_BATCH).default(100),
  concurrency: wholeNumberFrom(1, MOST_AT_ONCE).default(4),
  via: viaSchema.optional(),
  onProgress: functionLike.optional(),
  signal,
})
const recordedAllSchema = z.strictObject({ ...sendAllSchema.shape, ...recordShape })

/** Throws an `OptionsError` for an option that does not exist. */
export function checkSendOptions(call: string, given: SendOptions = {}): SendOptions {
  checkOptions(sendSchema, given, call)
  return given
}

export type ResolvedSendAll = SendAllOptions & { readonly batch: number; readonly concurrency: number }

/** The same, for `sendAll`. */
export function checkSendAll(given: SendAllOptions = {}): ResolvedSendAll {
  const { batch, concurrency } = checkOptions(sendAllSchema, given, 'sendAll')
  return { ...given, batch, concurrency }
}

/** The same for a `sender`: what is the client's, and what is the receiver's. */
export function checkRecorded(
  call: string,
  given: RecordedSendOptions = {},
): { readonly sending: SendOptions; readonly recording: RecordOptions } {
  checkOptions(recordedSchema, given, call)
  const { signal: stop, via, ...recording } = given
  return { sending: { signal: stop, via }, recording }
}

export function checkRecordedAll(given: RecordedSendAllOptions = {}): {
  readonly batches: ResolvedSendAll
  readonly recording: RecordOptions
} {
  const { batch, concurrency } = checkOptions(recordedAllSchema, given, 'sendAll')
  const { reference, meta, within, notAfter, project, answerWithinMs, ...batches } = given
  return {
    batches: { ...batches, batch, concurrency },
    recording: { reference, meta, within, notAfter, project, answerWithinMs },
  }
}
