/** What `createClient` takes, and the checks. */
import { z } from 'zod'
import {
  checkOptions,
  expected,
  functionOf,
  hasMethods,
  numberAboveZero,
  numberFrom,
  textOf,
  wholeNumberFrom,
  type Given,
} from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, systemClock, type Clock } from '../runtime/clock.ts'
import { consoleLogger, guardLogger, silentLogger, type Logger } from '../runtime/logger.ts'
import type { SendRecorder } from '../public/intention.ts'
import type { FetchFunction } from './exchange.ts'
import { FORMS, KEY_PLACES } from './request.ts'

/** The key, or a function that reads the live one; it is asked before each request. */
export type ApiKey = string | (() => string | Promise<string>)

const MOST_ATTEMPTS = 20
const name = textOf('a non-empty string')

const clockSchema = expected<Clock | (() => number)>(
  'a function that returns milliseconds, or a clock with now and setTimer',
  (value) => typeof value === 'function' || hasMethods(value, ['now', 'setTimer']),
).optional()

/** The form of requests, as a call may choose it, too. */
export const viaSchema = z.enum(FORMS)

const clientRetry = {
  /** Requests in all. 1 for none but the first. Default: 3. */
  attempts: wholeNumberFrom(1, MOST_ATTEMPTS).default(3),
  /** The longest wait after the first, in milliseconds; it doubles with each, and chance takes a part of it. Default: 250. */
  initialDelayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(250),
  /** The longest wait of all, in milliseconds. Default: 5,000. */
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
  /** The send endpoint, which ends in `/api/v1/messaging` or `/v1/messaging`. */
  baseUrl: expected<string>(
    'an http or https URL without credentials, such as https://host/api/v1/messaging',
    isBaseUrl,
  ),
  /** The project's display name, exactly as the service spells it. */
  project: name,
  /**
   * The project's API key, or a function that returns the live one, or a promise of it: a regenerated key is live at once, and the old one
   * dead. It has `timeoutMs` for it.
   */
  apiKey: expected<ApiKey>(
    'a non-empty string (is the variable set?), or a function',
    (value) => (typeof value === 'string' && value !== '') || typeof value === 'function',
  ),
  /**
   * The receiver of the reports: then each send is written down before its request, so that every message that it leads to is expected, and
   * `send.unknown` is made of a send of which nobody knows what came of it, also where the process ends in the middle. Default: none.
   */
  receiver: expected<SendRecorder>('a receiver, that is what createReceiver returned', (value) =>
    hasMethods(value, ['intend', 'intendEach', 'messageState']),
  ).optional(),
  /** How long to try to write down an answer while the receiver's store is away, in milliseconds. Default: 30,000. */
  recordWithinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(30_000),
  /**
   * How long an answer may take before `send.unknown` is made of the send, in milliseconds; longer than all attempts together. Default:
   * 120,000.
   */
  answerWithinMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(120_000),
  /** The form of requests: `json`, `form`, or `query` for a GET. Default: `json`. */
  via: viaSchema.default('json'),
  /** Where the key stands: in the `header`, as the service recommends, or in a `field`. Default: `header`. */
  keyIn: z.enum(KEY_PLACES).default('header'),
  /** What makes requests. Default: the runtime's own `fetch`. */
  fetch: functionOf<FetchFunction>('(url, init) => Promise<Response>').optional(),
  /** How long an answer may take to come whole, in milliseconds; retries have as much each. Default: 10,000. */
  timeoutMs: numberAboveZero(LONGEST_TIMER_MS, 'milliseconds').default(10_000),
  /** For what did not reach the service, and nothing else: `attempts`, `initialDelayMs`, `maxDelayMs`. */
  retry: z.strictObject(clientRetry).prefault({}),
  /** What your service calls its other channels. */
  channels: z.strictObject(clientChannels).prefault({}),
  /** How your service is told the time of a scheduled send: fields to add. Not shown. Default: `scheduledFor`, in Unix seconds. */
  schedule: functionOf<(at: Date) => Readonly<Record<string, unknown>>>('(at) => fields').default(() => (at: Date) => ({
    scheduledFor: Math.floor(at.getTime() / 1_000),
  })),
  /** Pino’s shape; `false` for silence. No key, number or text of a send is logged. Default: warnings on the console. */
  logger: expected<Logger | false>(
    'false, or a logger with debug, info, warn and error',
    (value) => value === false || hasMethods(value, ['debug', 'info', 'warn', 'error']),
  ).optional(),
  /** A function that returns milliseconds, or a clock with timers too. Default: the machine's. */
  clock: clockSchema,
}

const optionsSchema = z.strictObject(clientOptions)

/** When a send that did not reach the service is tried again. */
export interface ClientRetryOptions extends Given<typeof clientRetry> {}

/** What the service calls its channels; the contract gives `sms` alone. */
export interface ClientChannels extends Given<typeof clientChannels> {}

/** The types that no schema can give: those of groups, with their comments, and that of the receiver, which types `meta`. */
interface ExplicitTypes<M> {
  readonly retry: ClientRetryOptions | undefined
  readonly channels: ClientChannels | undefined
  readonly receiver: SendRecorder<M> | undefined
}

/** What `createClient` takes; `M` is the type of `meta`. */
export interface ClientOptions<M = unknown> extends Given<typeof clientOptions, ExplicitTypes<M>> {}

type ResolvedOptions = Omit<z.output<typeof optionsSchema>, 'fetch' | 'logger' | 'clock'> & {
  readonly fetch: FetchFunction
  readonly logger: Logger
  readonly clock: Clock
}

/** Throws an `OptionsError` that names what is wrong and shows no value. */
export function resolveClientOptions<M>(options: ClientOptions<M>): ResolvedOptions {
  const checked = checkOptions(optionsSchema, options, 'createClient')
  const clock = clockOf(checked.clock)
  return {
    ...checked,
    // The runtime's own is looked up each time, for some replace it after this.
    fetch: checked.fetch ?? ((url, init) => fetch(url, init)),
    logger: loggerOf(checked.logger, clock),
    clock,
  }
}

function clockOf(clock: ClientOptions['clock']): Clock {
  return clock === undefined || typeof clock === 'function' ? systemClock(clock) : clock
}

function loggerOf(logger: ClientOptions['logger'], clock: Clock): Logger {
  if (logger === false) return silentLogger
  return guardLogger(logger ?? consoleLogger(clock))
}

function isBaseUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}
