/** What calls take beside the message, and the checks. */
import { z } from 'zod'
import { checkOptions, wholeNumberFrom } from '../runtime/check-options.ts'
import { viaSchema } from './options.ts'
import type { Form } from './request.ts'

/** What a send takes beside its message. */
export interface SendOptions {
  /** Aborts it: the send rejects with `aborted` at once, and `mayBeSent` says whether it was under way. */
  readonly signal?: AbortSignal | undefined
  /** The form of this request. Default: that of the client. */
  readonly via?: Form | undefined
}

/** What `sendAll` takes beside its message. */
export interface SendAllOptions {
  /** Numbers in a request, from 1 to 10,000. Default: 100. */
  readonly batch?: number | undefined
  /** Requests at once, from 1 to 100. Default: 4. */
  readonly concurrency?: number | undefined
  /** The form of the requests. Default: that of the client. */
  readonly via?: Form | undefined
  /** Stops between requests. Those that are under way are waited for, so that nothing is left unknown by it. */
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
