/** Options of `createClient` and of its calls beside the message, and their checks. */
import { z } from 'zod'
import {
  checkOptions,
  clockOption,
  expected,
  functionOf,
  hasMethods,
  millisecondsAboveZero,
  numberFrom,
  textOf,
  wholeNumberFrom,
  type Given,
} from '../runtime/check-options.ts'
import { clockOf, LONGEST_TIMER_MS } from '../runtime/clock.ts'
import { loggerOf, type Logger } from '../runtime/logger.ts'
import { isRecord } from '../runtime/values.ts'
import type { SendRecorder } from '../public/intention.ts'

/** The part of `fetch` that the client uses. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>

/** The key, or a function that returns the current one. The client calls the function before each request. */
export type ApiKey = string | (() => string | Promise<string>)

const MAX_ATTEMPTS = 20
const name = textOf('a non-empty string')

const clientRetry = {
  /** Maximum number of requests, including the first. Default: 3. */
  attempts: wholeNumberFrom(1, MAX_ATTEMPTS).default(3),
  /** Maximum delay after the first request, in milliseconds. Doubles each time; a random part is subtracted. Default: 250. */
  initialDelayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(250),
  /** Maximum delay, in milliseconds. Default: 5,000. */
  maxDelayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(5_000),
}

const clientChannels = {
  /** Premium SMS on demand. Default: `premium`. */
  premium: name.default('premium'),
  /** Premium SMS by subscription. Default: `premium-subscription`. */
  premiumSubscription: name.default('premium-subscription'),
  /** Default: `airtime`. */
  airtime: name.default('airtime'),
}

const clientOptions = {
  /** URL of the send endpoint, ending in `/v1/messaging`. Another ending is logged. */
  baseUrl: expected<string>(
    'an http or https URL without credentials, such as https://host/api/v1/messaging',
    isBaseUrl,
  ),
  /** Display name of the project, exactly. */
  project: name,
  /**
   * The project's API key, or a function that returns the current one. It may return a promise. A regenerated key is valid at once,
   * and the old one is not. The function must answer within `timeoutMs`.
   */
  apiKey: expected<ApiKey>(
    'a non-empty string (is the variable set?), or a function',
    (value) => (typeof value === 'string' && value !== '') || typeof value === 'function',
  ),
  /**
   * The receiver of the reports, which then records each send before its request. Its messages are expected. If the result of a
   * send stays unknown, even because the process ended, the receiver dispatches `send.unknown`. Default: none.
   */
  receiver: expected<SendRecorder>(
    'a receiver from createReceiver()',
    (value) =>
      isRecord(value) && hasMethods(value, ['messageState']) && hasMethods(value['sends'], ['intend', 'intendEach']),
  ).optional(),
  /** Milliseconds to retry recording an answer while the store is unavailable. Default: 30,000. */
  recordWithinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(30_000),
  /**
   * Milliseconds without an answer until `send.unknown`. Must exceed the duration of all
   * attempts. Default: 120,000.
   */
  answerWithinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(120_000),
  /** The function that makes requests. Default: the runtime's `fetch`. */
  fetch: functionOf<FetchFunction>('(url, init) => Promise<Response>').optional(),
  /** Timeout of an answer, in milliseconds. Each retry has its own. Default: 10,000. */
  timeoutMs: millisecondsAboveZero.default(10_000),
  /** Retries of requests that did not reach the service. */
  retry: z.strictObject(clientRetry).prefault({}),
  /** Your service's names for its other channels. */
  channels: z.strictObject(clientChannels).prefault({}),
  /**
   * Returns the fields for the time of a scheduled send. The contract does not show their format. Default: `scheduledFor`, in
   * Unix seconds.
   */
  schedule: functionOf<(at: Date) => Readonly<Record<string, unknown>>>('(at) => fields').default(() => (at: Date) => ({
    scheduledFor: Math.floor(at.getTime() / 1_000),
  })),
  /**
   * A logger with Pino’s interface, or `false`. Log lines contain no key, number or text of a send. Default:
   * warnings on the console.
   */
  logger: expected<Logger | false>(
    'false, or a logger with debug, info, warn and error',
    (value) => value === false || hasMethods(value, ['debug', 'info', 'warn', 'error']),
  ).optional(),
  /** A function that returns milliseconds, or a clock with timers. Default: the machine's. */
  clock: clockOption,
}

const optionsSchema = z.strictObject(clientOptions)

/** Retries of a send that did not reach the service. */
export interface ClientRetryOptions extends Given<typeof clientRetry> {}

/** The service's names for its channels. The contract fixes only `sms`. */
export interface ClientChannels extends Given<typeof clientChannels> {}

/** Types that a schema cannot express: groups with their comments, and the receiver with the type of `meta`. */
interface ExplicitTypes<M> {
  readonly retry: ClientRetryOptions | undefined
  readonly channels: ClientChannels | undefined
  readonly receiver: SendRecorder<M> | undefined
}

/** Options of `createClient`. `M` is the type of `meta`. */
export interface ClientOptions<M = unknown> extends Given<typeof clientOptions, ExplicitTypes<M>> {}

export type ResolvedOptions = ReturnType<typeof resolveClientOptions>

/** Throws an `OptionsError`, which contains no values. */
export function resolveClientOptions<M>(options: ClientOptions<M>) {
  const checked = checkOptions(optionsSchema, options, 'createClient')
  const clock = clockOf(checked.clock)
  return {
    ...checked,
    // Looked up at each call, because some libraries replace it later.
    fetch: checked.fetch ?? ((url: string, init: RequestInit) => fetch(url, init)),
    logger: loggerOf(checked.logger, clock),
    clock,
  }
}

function isBaseUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

/**
 * The address that was probably meant, if this one does not end as the contract says. Contract, service.md#versioning. Shows no
 * query and no part of the path of its own, which may contain a key.
 */
export function likelyBaseUrl(baseUrl: string): string | undefined {
  const { origin, pathname, search, hash } = new URL(baseUrl)
  if (pathname.endsWith('/v1/messaging') && search + hash === '') return undefined
  const [, own = '', ending = ''] =
    /^(.*?)((?:\/api)?\/v1\/messaging(?=\/|$)|(?:\/api)?(?:\/v1)?\/*$)/.exec(pathname) ?? []
  return `${origin}${own === '' ? '' : '/…'}${ending.startsWith('/v1') ? '' : '/api'}/v1/messaging`
}

const abortSignal = expected<AbortSignal>('an AbortSignal', (value) => value instanceof AbortSignal)

const sendOptions = {
  /** Aborts the send: it rejects with `aborted` at once, and `mayBeSent` is true if its request had started. */
  signal: abortSignal.optional(),
}

const sendAllOptions = {
  /** Numbers per request, from 1 to 10,000. Default: 100. */
  batch: wholeNumberFrom(1, 10_000).default(100),
  /** Maximum number of concurrent requests, from 1 to 100. Default: 4. */
  concurrency: wholeNumberFrom(1, 100).default(4),
  /** Stops after the pending requests, so that no outcome stays unknown. */
  signal: abortSignal.optional(),
}

/** Options of a send. */
export interface SendOptions extends Given<typeof sendOptions> {}

/** Options of `sendAll`. */
export interface SendAllOptions extends Given<typeof sendAllOptions> {}

export const sendSchema = z.strictObject(sendOptions)
export const sendAllSchema = z.strictObject(sendAllOptions)
