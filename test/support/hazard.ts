/** A hazard is a potentially harmful request: a test sends it to a real server and checks the result. */
import type http from 'node:http'
import { inspect } from 'node:util'
import type { CallbackProblem, ErrorCode, MessagingWebhooksError, Receiver, WebhookEvent } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import { unhandledRejections } from './hostile.ts'
import { AUTH_KEY, post, receiving, SIGNING_SECRET, type Mount, type SomeOptions } from './receiving.ts'
import { postSigned } from './wire.ts'

/** A receiver on a server, with everything that it dispatched and reported. */
export interface Service {
  readonly url: string
  readonly receiver: Receiver
  readonly server: http.Server
  readonly dispatched: readonly WebhookEvent[]
  readonly errors: readonly MessagingWebhooksError[]
}

/** For `expect.poll`: a machine may be busy. */
export const POLL = { timeout: 30_000 }

/** The expected result of a request: the answer, the dispatched events, and what `onError` receives. */
export interface Outcome {
  /** Undefined if the client does not wait for an answer. */
  readonly status: number | undefined
  readonly events: readonly object[]
  readonly codes: readonly ErrorCode[]
  /** The status that `onError` receives. */
  readonly refusal?: number
}

/** Accepted, and dispatched as these events. */
export function accepted(...events: readonly object[]): Outcome {
  return { status: 204, events, codes: [] }
}

/** Accepted as authentic, although it cannot be read. */
export function unreadable(problem: CallbackProblem, fields: object = {}): Outcome {
  return accepted({ type: 'unrecognized', problem, ...fields })
}

/** Refused by the receiver: it dispatches nothing, and `onError` receives the reason. */
export function refused(status: number, code: ErrorCode): Outcome {
  return { status, events: [], codes: [code], refusal: status }
}

/** Refused by Node or by a framework: the receiver never sees it. */
export function neverReachesUs(status: number): Outcome {
  return { status, events: [], codes: [] }
}

/** The same, with additional reported errors. */
export function reporting(outcome: Outcome, ...codes: readonly ErrorCode[]): Outcome {
  return { ...outcome, codes: [...outcome.codes, ...codes] }
}

export interface HazardCase {
  /** Starts with its number in the project's list of hazards, if it has one: `#19 t with leading zeros`. */
  readonly name: string
  readonly options?: SomeOptions
  readonly mount?: Mount
  /** Sends the harmful request; returns the status of the answer, if there is one. */
  readonly send: (service: Service) => Promise<number | undefined>
  readonly outcome: Outcome
  /** Further checks, once everything is dispatched. */
  readonly also?: (service: Service) => void | Promise<void>
}

/** Sends several signed callbacks one after the other; returns the status of the last answer. */
export function several(
  name: string,
  bodies: readonly string[],
  outcome: Outcome,
  more: Partial<HazardCase> = {},
): HazardCase {
  return {
    name,
    outcome,
    async send({ url }) {
      let status: number | undefined
      for (const body of bodies) status = await postSigned(url, body)
      return status
    },
    ...more,
  }
}

/** Serves the middleware until the test ends, by default for the kind `status`. */
export async function serve(options: SomeOptions = {}, mount: Mount = {}): Promise<Service> {
  const service = await receiving({ ordering: { gapTimeoutMs: 0 }, ...options }, { kind: 'status', ...mount })
  const dispatched: WebhookEvent[] = []
  service.receiver.onAny((event) => void dispatched.push(event))
  return { ...service, dispatched }
}

/** A test for each case. For every hazard, no secret shows, no rejection is unhandled, and the server keeps serving. */
export function hazards(cases: readonly HazardCase[]): void {
  test.each(cases)('$name', async ({ options = {}, mount, send, outcome, also }) => {
    const unhandled = unhandledRejections()
    const service = await serve(options, mount)
    const { dispatched, errors, receiver } = service
    expect(await send(service)).toBe(outcome.status)
    await expect.poll(() => dispatched.length, POLL).toBeGreaterThanOrEqual(outcome.events.length)
    expect(await receiver.drain()).toBe(true)
    expect(dispatched.map(withoutPayload)).toHaveLength(outcome.events.length)
    expect(dispatched).toMatchObject(outcome.events)
    expect(errors.map(({ code }) => code)).toEqual(outcome.codes)
    if (outcome.refusal !== undefined) expect(errors).toMatchObject([{ status: outcome.refusal }])
    await also?.(service)
    expectNoSecretIn(service)
    await expectStillServing(service, options.clock)
    expect(unhandled).toEqual([])
  })
}

/** Makes a failed length check show the events that arrived instead. */
function withoutPayload({ type, ...fields }: WebhookEvent): string {
  return 'problem' in fields ? `${type}: ${fields.problem}` : type
}

function expectNoSecretIn({ dispatched, errors }: Service): void {
  for (const secret of [AUTH_KEY, SIGNING_SECRET]) {
    for (const event of dispatched) {
      expect(event.raw.includes(secret)).toBe(false)
      expect(inspect(event, { depth: null, showHidden: true })).not.toContain(secret)
      expect(JSON.stringify(event)).not.toContain(secret)
    }
    for (const error of errors) expect(inspect(error, { depth: null, showHidden: true })).not.toContain(secret)
  }
}

let goodCallbacks = 0

async function expectStillServing({ url, receiver, dispatched }: Service, clock: SomeOptions['clock']): Promise<void> {
  const timestamp = Math.floor((typeof clock === 'function' ? clock() : Date.now()) / 1_000)
  const marker = `good-${(goodCallbacks += 1)}`
  const before = dispatched.length
  const answer = await post(url, callback.smsDelivery({ messageId: marker, timestamp }), { timestamp })
  expect(answer.status).toBe(204)
  await receiver.drain()
  expect(dispatched.slice(before)).toMatchObject([{ payload: { messageId: marker } }])
}
