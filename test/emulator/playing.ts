/**
 * The emulator against a real receiver on loopback, with a record of each request. Their clock stands still, so that 300 s are
 * exactly 300 s.
 */
import type http from 'node:http'
import { RefusedError, type CallbackKind, type ProofPolicy, type WebhookEvent } from 'messaging-webhooks'
import type { Emulator, EmulatorOptions } from 'messaging-webhooks/emulator'
import { receiving, serve } from '../support/receiving.ts'
import { emulating } from './emulating.ts'

interface SeenRequest {
  readonly headers: http.IncomingHttpHeaders
  readonly signatures: readonly string[]
  /** What arrived of the body. */
  readonly chunks: readonly Buffer[]
}

/** The limit for anything that must happen: the machine may be busy. */
export const DEADLINE_MS = 60_000

export const NOW_MS = Date.UTC(2026, 4, 17, 12, 0, 0, 500)

/** Adds each request to `seen` before `answer` gets it. */
function recording(seen: SeenRequest[], answer: http.RequestListener): http.RequestListener {
  return (request, response) => {
    const chunks: Buffer[] = []
    const signatures = request.headersDistinct['x-service-signature'] ?? []
    seen.push({ headers: request.headers, signatures, chunks })
    const { push } = request
    // Before anything else reads it: the receiver must find the stream untouched.
    request.push = (chunk: unknown, ...rest) => {
      if (Buffer.isBuffer(chunk)) chunks.push(Buffer.from(chunk))
      return push.call(request, chunk, ...rest)
    }
    answer(request, response)
  }
}

const accept: http.RequestListener = (request, response) => {
  request.resume().once('end', () => response.writeHead(204).end())
}

/** A server that records each request. */
export async function serving(answer = accept) {
  const seen: SeenRequest[] = []
  return { seen, url: await serve(recording(seen, answer)) }
}

/** An emulator whose callbacks go to this URL. */
export async function sendingTo(url: string, options: Omit<EmulatorOptions, 'projects'> = {}): Promise<Emulator> {
  const callbackUrls = { status: url, payment: url }
  const fixed = { clock: () => NOW_MS, callbackTimeoutMs: DEADLINE_MS }
  const { emulator } = await emulating({ callbackUrls }, { ...fixed, ...options })
  return emulator
}

/** An emulator, and a receiver that has only its live pair. */
export async function playing(
  options: Omit<EmulatorOptions, 'projects'> = {},
  { proof, kind = 'status' }: { readonly proof?: ProofPolicy; readonly kind?: CallbackKind } = {},
) {
  const seen: SeenRequest[] = []
  const { receiver, url, errors } = await receiving(
    { clock: () => NOW_MS, bodyTimeoutMs: DEADLINE_MS },
    { kind, proof, within: (middleware) => recording(seen, middleware) },
  )
  const dispatched: WebhookEvent[] = []
  receiver.onAny((event) => void dispatched.push(event))
  const refusals = () => errors.filter((error) => error instanceof RefusedError).map(({ code }) => code)
  return { emulator: await sendingTo(url, options), seen, receiver, dispatched, refusals }
}
