/** Options of calls beside the message, and their checks. */
import { z } from 'zod'
import { checkOptions, wholeNumberFrom } from '../runtime/check-options.ts'
import { viaSchema } from './options.ts'
import type { Form } from './request.ts'

/** Options of a send. */
export interface SendOptions {
  /** Aborts the send: it rejects with `aborted` at once, and `mayBeSent` is true if its request had started. */
  readonly signal?: AbortSignal | undefined
  /** The form of this request. Default: the client's. */
  readonly via?: Form | undefined
}

/** Options of `sendAll`. */
export interface SendAllOptions {
  /** Numbers per request, from 1 to 10,000. Default: 100. */
  readonly batch?: number | undefined
  /** Maximum number of concurrent requests, from 1 to 100. Default: 4. */
  readonly concurrency?: number | undefined
  /** The form of the requests. Default: the client's. */
  readonly via?: Form | undefined
  /** Stops after the pending requests, so that no outcome stays unknown. */
  readonly signal?: AbortSignal | undefined
}

const MOST_IN_A_BATCH = 10_000
const MOST_AT_ONCE = 100

const signal = z.custom<AbortSignal>((value) => value instanceof AbortSignal, 'expected an AbortSignal').optional()
const sendSchema = z.strictObject({ signal, via: viaSchema.optional() })
const sendAllSchema = z.strictObject({
  batch: wholeNumberFrom(1, MOST_IN_A_BATCH).default(100),
  concurrency: wholeNumberFrom(1, MOST_AT_ONCE).default(4),
  via: viaSchema.optional(),
  signal,
})
/** Throws an `OptionsError` for an invalid option. */
export function checkSendOptions(call: string, given: SendOptions = {}): SendOptions {
  checkOptions(sendSchema, given, call)
  return given
}

export type ResolvedSendAll = SendAllOptions & { readonly batch: number; readonly concurrency: number }

export function checkSendAll(given: SendAllOptions = {}): ResolvedSendAll {
  const { batch, concurrency } = checkOptions(sendAllSchema, given, 'sendAll')
  return { ...given, batch, concurrency }
}
