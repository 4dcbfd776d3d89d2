/** The emulator's sender against a real receiver on loopback, and the records of both. */
import type http from 'node:http'
import { createReceiver, RefusedError, type ProofPolicy, type WebhookEvent } from 'messaging-webhooks'
import { onTestFinished } from 'vitest'
import type { Delivery, Outgoing } from '../../src/emulator/request.ts'
import { createSender, type SenderOptions } from '../../src/emulator/sender.ts'
import { AUTH_KEY, serve, SIGNING_SECRET } from '../support/receiving.ts'

interface SeenRequest {
  readonly headers: http.IncomingHttpHeaders
  readonly signatures: readonly string[]
  /** What arrived of the body. */
  readonly chunks: readonly Buffer[]
}

/** The limit for anything that must happen: the machine may be busy. */
export const DEADLINE_MS = 60_000

/** A sender that closes when the test ends. Its clock stands still, so that 300 s are exactly 300 s. */
export function sending(options: Partial<SenderOptions> = {}) {
  const deliveries: Delivery[] = []
  const sender = createSender({
    seed: 1,
    faults: {},
    nowMs: () => NOW_MS,
    callbackTimeoutMs: DEADLINE_MS,
    onDelivery: (delivery) => void deliveries.push(delivery),
    ...options,
  })
  onTestFinished(() => sender.close())
  return { sender, deliveries }
}

export const NOW_MS = Date.UTC(2026, 4, 17, 12, 0, 0, 500)

/** A server that records each request and answers with `answer`, or with 204 without one. */
export async function serving(answer?: http.RequestListener) {
  const seen: SeenRequest[] = []
  const url = await serve((request, response) => {
    const chunks: Buffer[] = []
    const signatures = request.headersDistinct['x-service-signature'] ?? []
    seen.push({ headers: request.headers, signatures, chunks })
    const { push } = request
    // Before anything else reads it: the receiver must find the stream untouched.
    request.push = (chunk: unknown, ...rest) => {
      if (Buffer.isBuffer(chunk)) chunks.push(Buffer.from(chunk))
      return push.call(request, chunk, ...rest)
    }
    if (answer === undefined) {
      request.resume()
      request.once('end', () => response.writeHead(204).end())
    } else answer(request, response)
  })
  return { url, seen }
}

/** A receiver with the live pair only, by the same clock. */
export async function playing(options: Partial<SenderOptions> = {}, { proof }: { readonly proof?: ProofPolicy } = {}) {
  const receiver = createReceiver({
    credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
    clock: () => NOW_MS,
    logger: false,
    bodyTimeoutMs: DEADLINE_MS,
  })
  const dispatched: WebhookEvent[] = []
  const refusals: string[] = []
  receiver.onAny((event) => void dispatched.push(event))
  receiver.onError((error) => {
    if (error instanceof RefusedError) refusals.push(error.code)
  })
  // What is registered last runs first, and a receiver closes once its server has.
  onTestFinished(() => receiver.close({ deadlineMs: 100 }))
  const { url, seen } = await serving(receiver.middleware('status', { proof }))
  return { ...sending(options), url, seen, receiver, dispatched, refusals }
}

/** A callback of the live pair. */
export function outgoing(url: string, payload: Outgoing['payload'], fields: Partial<Outgoing> = {}): Outgoing {
  return {
    url,
    kind: 'status',
    project: 'My Shop',
    authKey: AUTH_KEY,
    signingSecret: SIGNING_SECRET,
    proof: 'both',
    payload,
    key: JSON.stringify([payload['messageId'], payload['status'], payload['id']]),
    ...fields,
  }
}
