/** What `createClient` takes, and the checks. */
import { z } from 'zod'
import {
  checkOptions,
  functionLike,
  numberAboveZero,
  numberFrom,
  objectLike,
  textOf,
  wholeNumberFrom,
} from '../check-options.ts'
import { LONGEST_TIMER_MS, systemClock, type Clock } from '../clock.ts'
import { consoleLogger, guardLogger, silentLogger, type Logger } from '../logger.ts'
import type { RetryPolicy } from '../backoff.ts'
import type { FetchFunction } from './exchange.ts'
import { FORMS, KEY_PLACES, type Form, type KeyPlace } from './request.ts'

/** The key, or a function that reads the live one; it is asked before each request. */
export type ApiKey = string | (() => string | Promise<string>)

/** When a send that did not reach the service is tried again. */
export interface ClientRetryOptions {
  /** Requests in all. 1 for none but the first. Default: 3. */
  readonly attempts?: number | undefined
  /** The longest wait after the first, in milliseconds; it doubles with each, and chance takes a part of it. Default: 250. */
  readonly initialDelayMs?: number | undefined
  /** The longest wait of all, in milliseconds. Default: 5,000. */
  readonly maxDelayMs?: number | undefined
}

/** What the service calls its channels; the contract gives `sms` alone. */
export interface ClientChannels {
  /** Premium SMS on demand. Default: `premium`. */
  readonly premium?: string | undefined
  /** Premium SMS by subscription. Default: `premium-subscription`. */
  readonly premiumSubscription?: string | undefined
  /** Default: `airtime`. */
  readonly airtime?: string | undefined
}

/** What `createClient` takes. */
export interface ClientOptions {
  /** The send endpoint, which ends in `/api/v1/messaging` or `/v1/messaging`. */
  readonly baseUrl: string
  /** The project's display name, exactly as the service spells it. */
  readonly project: string
  /**
   * The project's API key, or a function that returns the live one, or a promise of it: a regenerated key is live at once, and the old one
   * dead. It has `timeoutMs` for it.
   */
  readonly apiKey: ApiKey
  /** The form of requests: `json`, `form`, or `query` for a GET. Default: `json`. */
  readonly via?: Form | undefined
  /** Where the key stands: in the `header`, as the service recommends, or in a `field`. Default: `header`. */
  readonly keyIn?: KeyPlace | undefined
  /** What makes requests. Default: the runtime's own `fetch`. */
  readonly fetch?: FetchFunction | undefined
  /** How long an answer may take to come whole, in milliseconds; retries have as much each. Default: 10,000. */
  readonly timeoutMs?: number | undefined
  /** For what did not reach the service, and nothing else: `attempts`, `initialDelayMs`, `maxDelayMs`. */
  readonly retry?: ClientRetryOptions | undefined
  /** What your service calls its other channels. */
  readonly channels?: ClientChannels | undefined
  /** How your service is told the time of a scheduled send: fields to add. Not shown. Default: `scheduledFor`, in Unix seconds. */
  readonly schedule?: ((at: Date) => Readonly<Record<string, unknown>>) | undefined
  /** Pino’s shape; `false` for silence. No key, number or text of a send is logged. Default: warnings on the console. */
  readonly logger?: Logger | false | undefined
  /** A function that returns milliseconds, or a clock with timers too. Default: the machine's. */
  readonly clock?: Clock | (() => number) | undefined
}

interface ResolvedOptions {
  readonly baseUrl: string
  readonly project: string
  readonly apiKey: ApiKey
  readonly via: Form
  readonly keyIn: KeyPlace
  readonly fetch: FetchFunction
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  readonly channels: { readonly [K in keyof ClientChannels]-?: string }
  readonly schedule: (at: Date) => Readonly<Record<string, unknown>>
  readonly logger: Logger
  readonly clock: Clock
}

const MOST_ATTEMPTS = 20
const name = textOf('a text that is not empty')

/** The clock, as a sender may be given one, too. */
export const clockSchema = z
  .union(
    [functionLike, objectLike('a clock', 'now', 'setTimer')],
    'expected a function that returns milliseconds, or a clock with now and setTimer',
  )
  .optional()

/** The form of requests, as a call may choose it, too. */
export const viaSchema = z.enum(FORMS)

const optionsSchema = z.strictObject({
  baseUrl: z.custom<string>(
    isBaseUrl,
    'expected an http or https URL without credentials, such as https://host/api/v1/messaging',
  ),
  project: name,
  apiKey: z.union([name, functionLike], 'expected a text that is not empty (is the variable set?), or a function'),
  via: viaSchema.optional(),
  keyIn: z.enum(KEY_PLACES).optional(),
  fetch: functionLike.optional(),
  timeoutMs: numberAboveZero(LONGEST_TIMER_MS, 'milliseconds').optional(),
  retry: z
    .strictObject({
      attempts: wholeNumberFrom(1, MOST_ATTEMPTS).optional(),
      initialDelayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').optional(),
      maxDelayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').optional(),
    })
    .optional(),
  channels: z
    .strictObject({ premium: name.optional(), premiumSubscription: name.optional(), airtime: name.optional() })
    .optional(),
  schedule: functionLike.optional(),
  logger: z
    .union(
      [z.literal(false), objectLike('a logger', 'debug', 'info', 'warn', 'error')],
      'expected false, or a logger with debug, info, warn and error',
    )
    .optional(),
  clock: clockSchema,
})

/** Throws an `OptionsError` that names what is wrong and shows no value. */
export function resolveClientOptions(options: ClientOptions): ResolvedOptions {
  checkOptions(optionsSchema, options, 'createClient')
  const { baseUrl, project, apiKey, via = 'json', keyIn = 'header', timeoutMs = 10_000, channels = {} } = options
  const clock = clockOf(options.clock)
  return {
    baseUrl,
    project,
    apiKey,
    via,
    keyIn,
    // The runtime's own is looked up each time, for some replace it after this.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timeoutMs,
    retry: {
      attempts: options.retry?.attempts ?? 3,
      initialDelayMs: options.retry?.initialDelayMs ?? 250,
      maxDelayMs: options.retry?.maxDelayMs ?? 5_000,
    },
    channels: {
      premium: channels.premium ?? 'premium',
      premiumSubscription: channels.premiumSubscription ?? 'premium-subscription',
      airtime: channels.airtime ?? 'airtime',
    },
    schedule: options.schedule ?? ((at) => ({ scheduledFor: Math.floor(at.getTime() / 1_000) })),
    logger: loggerOf(options.logger, clock),
    clock,
  }
}

export function clockOf(clock: ClientOptions['clock']): Clock {
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
