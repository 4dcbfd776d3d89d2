/** The messages between the main thread and a thread that owns an SQLite connection. */
import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode } from '../public/error-table.ts'
import { MessagingWebhooksError } from '../public/errors.ts'

/** What a thread starts with. */
export interface ThreadData {
  /** Selects what the thread does; see worker.ts. */
  readonly serves: 'store' | 'localFile'
  /** Plain data for it. */
  readonly settings: unknown
  /** Requests have a port of their own: Deno cannot read from `parentPort` without waiting. */
  readonly requests: MessagePort
}

/** The ports of a thread. */
export interface Ports {
  /** Receives lists of requests. */
  readonly requests: MessagePort
  /** Takes lists of replies. */
  readonly replies: Pick<MessagePort, 'postMessage'>
}

/** A call of the other thread. */
export interface Request<Name extends string = string> {
  readonly number: number
  readonly call: Name
  readonly args: readonly unknown[]
}

/** The number of the reply that says whether the file is open. */
export const OPENED = 0

export type Reply =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly error: SentError }
  /** Something happened that was not asked for, for example another process has written to the file. */
  | { readonly notice: unknown }
  | { readonly report: SentError }

/** An error of this package as plain fields: a message to another thread loses its class. */
interface SentError {
  readonly ours?: { readonly code: ErrorCode; readonly detail: string | undefined }
  readonly cause: unknown
}

export function sendError(error: unknown): SentError {
  if (!(error instanceof MessagingWebhooksError)) return { cause: error instanceof Error ? error : String(error) }
  const { code, detail, cause } = error
  return { ours: { code, detail }, cause }
}

export function receiveError({ ours, cause }: SentError): unknown {
  return ours === undefined
    ? cause
    : new MessagingWebhooksError(ours.code, ours.detail, cause === undefined ? undefined : { cause })
}
