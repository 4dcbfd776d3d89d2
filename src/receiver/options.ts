/**
 * The options of `createReceiver`: each is one entry, a comment and a schema. The public types, the checks and the defaults
 * come from the schema. Editors show the comment, and `npm run docs:tables` writes the reference's table from both. A test
 * compares the unit, range and default in each comment with the schema.
 */
import { z } from 'zod'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { CredentialsOption, ProjectsOption } from '../verify/credentials.ts'
import { PROOF_POLICIES, type TraceContext } from '../public/callback.ts'
import { expected, functionOf, hasMethods, numberFrom, wholeNumberFrom, type Given } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, type Clock } from '../runtime/clock.ts'
import { CARRIERS, SUBSCRIPTION_TYPES, type CallbackSchemas, type SubscriptionWord } from '../public/events.ts'
import { recordOf } from '../runtime/values.ts'
import type { DedupeKeyInput } from '../inbox/new-event.ts'
import type { Store } from '../inbox/store.ts'
import type { Logger } from '../runtime/logger.ts'
import type { ReadUsersReport } from '../inbox/users-reading.ts'

const MIB = 1024 * 1024

const folder = expected<string | false>(
  'the path of a folder, or false',
  (value) => value === false || (typeof value === 'string' && value !== ''),
)
const standardSchema = expected<StandardSchemaV1>(
  'a Standard Schema (zod, valibot, arktype)',
  (value) => (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value,
).optional()

const ordering = {
  /**
   * How long a chat-app `delivered` waits for `sent`, and `read` for `delivered`. Milliseconds, 0 to 2,147,483,647. Default:
   * 1,000.
   */
  gapTimeoutMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(1_000),
}

const retry = {
  /** Maximum number of attempts; then the event becomes a dead letter. Count, 1 to 1,000. Default: 15. */
  attempts: wholeNumberFrom(1, 1_000).default(15),
  /** Upper limit of the first delay, which doubles, with full jitter. Milliseconds, 0 to 2,147,483,647. Default: 1,000. */
  initialDelayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(1_000),
  /**
   * Upper limit of all delays. With the defaults, retries last an hour and a half on average.
   * Milliseconds, 0 to 2,147,483,647. Default: 3,600,000.
   */
  maxDelayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(3_600_000),
}

const quarantine = {
  /**
   * Maximum total size of the kept requests. The least plausible are dropped first. Bytes, 1 to 9,007,199,254,740,991. Default:
   * 1,073,741,824 on a disk, 16,777,216 in memory.
   */
  maxBytes: numberFrom(1, Number.MAX_SAFE_INTEGER, 'bytes').optional(),
  /**
   * How long a request is kept. Above the `dedupeDays` of the store, an event may arrive twice. Hours, 0 to 720. Default: 72.
   */
  maxAgeHours: numberFrom(0, 720, 'hours').default(72),
  /**
   * Folder on a local disk for the requests, exact bodies with their keys. `false` keeps them in memory only. Default: in the
   * spool’s folder, or beside an SQLite file; otherwise none.
   */
  folder: folder.optional(),
}
const QUARANTINE = `{ ${Object.keys(quarantine).join(', ')} }, or false`

/** Credentials are checked further when they are prepared, with errors that contain no secret. */
export const receiverOptions = {
  /**
   * The webhook credentials: `authKey`, `signingSecret`, and `notAfter` for a pair that is rotated out. At most 16 pairs. Either
   * this or `projects` is required. Default: none.
   */
  credentials: expected<CredentialsOption>(
    'a pair, a list of pairs, or a function (project) => pairs',
    (value) => (typeof value === 'object' && value !== null) || typeof value === 'function',
  ).optional(),
  /**
   * The webhook credentials of several projects, by exact display name. At most 16 pairs each. Default: none.
   */
  projects: expected<ProjectsOption>(
    'an object of pairs by project',
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  ).optional(),
  /**
   * The carrier of each `network` in callbacks. Without it, carrier B’s words may be read as those of others. Default: by their
   * words.
   */
  networks: z
    .record(z.string(), z.enum(CARRIERS))
    .describe(`{ [network]: ${CARRIERS.map((carrier) => `"${carrier}"`).join(' | ')} }`)
    .optional(),
  /** Stores events until they are settled, and their identities for deduplication. Default: `memoryStore()`. */
  store: expected<Store>('a store, such as memoryStore()', (value) => hasMethods(value, ['open'])).optional(),
  /**
   * Folder on a local disk that keeps callbacks while the store is unavailable. Without it, these are answered 503. Default:
   * beside an SQLite file; otherwise none.
   */
  spool: folder.optional(),
  /** The proofs that a callback needs. `middleware(kind, { proof })` sets them for one URL. Default: `"either"`. */
  proof: z.enum(PROOF_POLICIES).default('either'),
  /** Maximum difference between the signature’s `t` and this clock, in both directions. Seconds, 0 to 86,400. Default: 300. */
  toleranceSeconds: numberFrom(0, 86_400, 'seconds').default(300),
  /** Maximum size of a body. A larger one is answered 413. Bytes, 1 to 67,108,864. Default: 262,144. */
  maxBodyBytes: numberFrom(1, 64 * MIB, 'bytes').default(256 * 1024),
  /** Maximum duration of a body; then 408. Milliseconds, 1 to 2,147,483,647. Default: 10,000. */
  bodyTimeoutMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(10_000),
  /**
   * Maximum total size of bodies being read. Near it, large bodies wait, and stalled ones are answered 408. Bytes, 1 to
   * 9,007,199,254,740,991. Default: 67,108,864.
   */
  maxInflightBytes: numberFrom(1, Number.MAX_SAFE_INTEGER, 'bytes').default(64 * MIB),
  /** How long a response waits for the store; then the spool or 503. Milliseconds, 1 to 2,147,483,647. Default: 5,000. */
  storeTimeoutMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(5_000),
  /** How long a response waits for a credentials function; then 503. Milliseconds, 1 to 2,147,483,647. Default: 2,000. */
  lookupTimeoutMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(2_000),
  /** The order of the reports of one message. */
  ordering: z.strictObject(ordering).prefault({}),
  /** Retries of events with failing handlers. */
  retry: z.strictObject(retry).prefault({}),
  /** `false` only receives callbacks: another receiver on the same shared store runs the handlers. Default: `true`. */
  dispatch: z.boolean().default(true),
  /** Maximum number of messages with running handlers. Count, 1 to 100,000. Default: 16. */
  concurrency: wholeNumberFrom(1, 100_000).default(16),
  /**
   * After this time a handler’s `signal` is aborted and its slot freed. Also limits asynchronous schemas, and responses with
   * `answer: "handled"`. Milliseconds, 1 to 2,147,483,647. Default: 60,000.
   */
  handlerTimeoutMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(60_000),
  /**
   * `"handled"` responds after the first attempt of the handlers, for platforms that freeze a process then.
   * Default: `"stored"`.
   */
  answer: z.enum(['stored', 'handled']).default('stored'),
  /**
   * Reads reports of another shape: `{ messageId, status, statusCode?, timestamp?, network?, shape? }`, or undefined if it is not
   * a report. Default: the shapes that the service documents.
   */
  readReport: functionOf<ReadUsersReport>('(payload, kind) => report | undefined').optional(),
  /**
   * Your own identity of a callback, or undefined. Default: by message, status and time; otherwise by the body, and without id
   * and time also by its signature, or else by its arrival.
   */
  dedupeKey: functionOf<(callback: DedupeKeyInput) => string | undefined>(
    '(callback) => string | undefined',
  ).optional(),
  /**
   * Returns the trace of a request, which subscribers of the event's attempts get. `openTelemetry()` sets it. Default: none.
   */
  traceContext: functionOf<() => TraceContext | undefined>('() => { traceparent, tracestate? } | undefined').optional(),
  /**
   * The type of a premium callback: `activate`, `deactivate`, `consent`, `delivery`, `billing` or `other`; or undefined.
   * Default: the first text of `event`, `type` and `action`; else `status`, or the one top-level string that is such a
   * word.
   */
  subscriptionType: functionOf<(payload: Readonly<Record<string, unknown>>) => SubscriptionWord | undefined>(
    '(payload) => word | undefined',
  ).optional(),
  /**
   * Standard Schemas (zod, valibot, arktype) that type and check `event.data`, and the `meta` of sends. One for a type of premium
   * callback takes precedence over `subscription`. Default: none.
   */
  schemas: z
    .strictObject({
      received: standardSchema,
      payment: standardSchema,
      subscription: standardSchema,
      meta: standardSchema,
      ...recordOf(SUBSCRIPTION_TYPES, () => standardSchema),
    } satisfies Record<keyof CallbackSchemas, z.ZodType>)
    .prefault({}),
  /** Keeps requests without a valid proof for `receiver.quarantine.reverify()`. `false` keeps none. Default: `{}`. */
  // Not a union: its error could only say that no alternative matches. `resolveOptions` handles `false`.
  quarantine: z
    .preprocess((given) => (given === false ? {} : given), z.strictObject(quarantine, `expected ${QUARANTINE}`))
    .describe(QUARANTINE)
    .prefault({}),
  /** The source of time; `fakeClock()` in tests. Default: `Date.now`. */
  clock: expected<(() => number) | Clock>(
    'a function that returns milliseconds, or a clock with now, setTimer and soon',
    (value) => typeof value === 'function' || hasMethods(value, ['now', 'setTimer', 'soon']),
  ).optional(),
  /** The logger. `false` turns logs off. Default: warnings and errors on the console, at most ten lines a minute per code. */
  logger: expected<Logger | false>(
    'a logger with debug, info, warn and error (pino’s shape), or false',
    (value) => value === false || hasMethods(value, ['debug', 'info', 'warn', 'error']),
  ).optional(),
}

/** The order of the reports of one message. */
interface OrderingOptions extends Given<typeof ordering> {}

/** Retries of events with failing handlers. */
interface RetryOptions extends Given<typeof retry> {}

/** How many requests without a valid proof are kept, how long, and where. */
interface QuarantineOptions extends Given<typeof quarantine> {}

/** Types that no schema can express: groups, with their comments, and the schemas, which type the events. */
interface ExplicitTypes<S extends CallbackSchemas> {
  readonly ordering: OrderingOptions | undefined
  readonly retry: RetryOptions | undefined
  readonly quarantine: QuarantineOptions | false | undefined
  readonly schemas: S | undefined
}

type AllOptions<S extends CallbackSchemas> = Given<typeof receiverOptions, ExplicitTypes<S>>

type Present<T, Name extends keyof T> = { readonly [Each in Name]-?: Exclude<T[Each], undefined> }

/** All options except the credentials. */
export interface OtherOptions<S extends CallbackSchemas = {}> extends Omit<AllOptions<S>, 'credentials' | 'projects'> {}

/** The pairs of one project, or a function that looks them up. */
export interface OptionsOfOneProject extends Present<Given<typeof receiverOptions>, 'credentials'> {
  readonly projects?: undefined
}

/** The pairs of several projects, by name. */
export interface OptionsOfProjects extends Present<Given<typeof receiverOptions>, 'projects'> {
  readonly credentials?: undefined
}

/** The options of `createReceiver`: either `credentials` or `projects`, and others that all have a default. */
export type ReceiverOptions<S extends CallbackSchemas = {}> = OtherOptions<S> &
  (OptionsOfProjects | OptionsOfOneProject)
