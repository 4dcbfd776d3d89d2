/**
 * The options of `createReceiver`: each is one entry here, a comment and a schema. The public types, the checks and the defaults
 * come from the schema. An editor shows the comment, and `npm run docs:tables` makes the reference's table of both; a test holds
 * the unit, range and default that a comment states against the schema.
 */
import { z } from 'zod'
import type { CredentialsOption, ProjectsOption } from '../verify/credentials.ts'
import { PROOF_POLICIES } from '../public/callback.ts'
import { expected, functionOf, hasMethods, numberFrom, wholeNumberFrom, type Given } from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, type Clock } from '../runtime/clock.ts'
import { CARRIERS, SUBSCRIPTION_TYPES, type Schemas, type SubscriptionWord } from '../public/events.ts'
import { recordOf } from '../runtime/record-of.ts'
import type { DedupeKeyInput } from '../inbox/new-event.ts'
import type { Store } from '../inbox/store.ts'
import type { Logger } from '../runtime/logger.ts'
import type { ReadUsersReport } from '../carriers/users-report.ts'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { TraceContext } from '../public/trace-context.ts'

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
   * How long a chat-app `delivered` waits for `sent`, and `read` for `delivered`. Milliseconds, 0 to 2,147,483,647.
   * Default: 1,000.
   */
  gapTimeoutMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(1_000),
  /** Whether a late report comes as a `late` event or as itself. Default: `"separate"`. */
  late: z.enum(['separate', 'inline']).default('separate'),
}

const retry = {
  /** Attempts in all, the first included; then the event is a dead letter. Count, 1 to 1,000. Default: 15. */
  attempts: wholeNumberFrom(1, 1_000).default(15),
  /** Ceiling of the first delay; it doubles, with full jitter. Milliseconds, 0 to 2,147,483,647. Default: 1,000. */
  initialDelayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(1_000),
  /**
   * Ceiling of all delays. With the defaults the last attempt comes an hour and a half after the first on average, and
   * at most three and a quarter hours. Milliseconds, 0 to 2,147,483,647. Default: 3,600,000.
   */
  maxDelayMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(3_600_000),
}

const quarantine = {
  /**
   * What the kept requests may take in all; what looks least like a callback goes first, and of one class what is
   * largest. Bytes, 1 to 9,007,199,254,740,991. Default: 16,777,216.
   */
  maxBytes: numberFrom(1, Number.MAX_SAFE_INTEGER, 'bytes').default(16 * MIB),
  /**
   * How long a request is kept. Not longer than the store knows that an event was seen (`dedupeDays`), or it may come
   * twice. Hours, 0 to 720. Default: 72.
   */
  maxAgeHours: numberFrom(0, 720, 'hours').default(72),
  /**
   * A folder on a local disk where it outlives the process, exact bodies with their keys; `false`: in memory only.
   * Default: in the spool’s, or beside an SQLite file; else none.
   */
  folder: folder.optional(),
}
const QUARANTINE = '{ maxBytes, maxAgeHours, folder }, or false'

/** Credentials are checked further where they are prepared, with errors that name no secret. */
export const receiverOptions = {
  /**
   * The webhook security pair: `authKey`, `signingSecret`, and `notAfter` for one that is being rotated out; at most 16
   * pairs. Either this or `projects` is needed. Default: none.
   */
  credentials: expected<CredentialsOption>(
    'a pair, a list of pairs, or a function (project) => pairs',
    (value) => (typeof value === 'object' && value !== null) || typeof value === 'function',
  ).optional(),
  /**
   * The webhook security pairs of several projects, by display name, exactly as the service spells it; at most 16 pairs
   * each. Default: none.
   */
  projects: expected<ProjectsOption>(
    'an object of pairs by project',
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  ).optional(),
  /**
   * Which carrier each `network` of a callback is. A network that is not named is known by its words; carrier B’s own
   * words may also stand in other tables. Default: by their words.
   */
  networks: z
    .record(z.string(), z.enum(CARRIERS))
    .describe(`{ [network]: ${CARRIERS.map((carrier) => `"${carrier}"`).join(' | ')} }`)
    .optional(),
  /** Where events wait until they are settled, and what remembers that they were seen. Default: `memoryStore()`. */
  store: expected<Store>('a store, such as memoryStore()', (value) => hasMethods(value, ['open'])).optional(),
  /**
   * A folder on a local disk for what the store cannot take, until it is back. `false`: such callbacks are answered
   * 503. Default: beside an SQLite file; else none.
   */
  spool: folder.optional(),
  /** Which proofs a callback needs; `middleware(kind, { proof })` says it for one URL. Default: `"either"`. */
  proof: z.enum(PROOF_POLICIES).default('either'),
  /** How far the signature’s `t` may be from this clock, in both directions. Seconds, 0 to 86,400. Default: 300. */
  toleranceSeconds: numberFrom(0, 86_400, 'seconds').default(300),
  /** A larger body is answered 413. Bytes, 1 to 67,108,864. Default: 262,144. */
  maxBodyBytes: numberFrom(1, 64 * MIB, 'bytes').default(256 * 1024),
  /**
   * How long a whole body may take, from first byte to last; then 408. Milliseconds, 1 to 2,147,483,647. Default:
   * 10,000.
   */
  bodyTimeoutMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(10_000),
  /**
   * Bytes of bodies that are read at once; near it large ones wait, and those that all but stand still are answered
   * 408. Bytes, 1 to 9,007,199,254,740,991. Default: 67,108,864.
   */
  maxInflightBytes: numberFrom(1, Number.MAX_SAFE_INTEGER, 'bytes').default(64 * MIB),
  /** How long an answer waits for the store; then 503. Milliseconds, 1 to 2,147,483,647. Default: 5,000. */
  storeTimeoutMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(5_000),
  /**
   * How long an answer waits for a credentials function; then 503. Milliseconds, 1 to 2,147,483,647. Default: 2,000.
   */
  lookupTimeoutMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(2_000),
  /** How the reports of one message are put in order. */
  ordering: z.strictObject(ordering).prefault({}),
  /** How often, and how long, an event is tried whose handlers fail. */
  retry: z.strictObject(retry).prefault({}),
  /**
   * How long a report of a message that nobody expects waits for `receiver.expect`: it may overtake the answer to its own
   * send. Only a client that uses `expect` without `intend` needs it. 0 is not at all. What is given holds always.
   * Milliseconds, 0 to 2,147,483,647. Default: as long as a send that was begun before awaits its answer in the store.
   */
  orphanHoldMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').optional(),
  /** `false` only takes callbacks: another receiver on the same shared store runs the handlers. Default: `true`. */
  dispatch: z.boolean().default(true),
  /** Messages whose handlers run at once. Count, 1 to 100,000. Default: 16. */
  concurrency: wholeNumberFrom(1, 100_000).default(16),
  /**
   * After this a handler’s `signal` is aborted and its slot freed. An asynchronous schema has as long, and so has the
   * answer with `answer: "handled"`. Milliseconds, 1 to 2,147,483,647. Default: 60,000.
   */
  handlerTimeoutMs: numberFrom(1, LONGEST_TIMER_MS, 'milliseconds').default(60_000),
  /**
   * `"handled"` answers after the first attempt of the handlers, for platforms that freeze a process once it has
   * answered. Default: `"stored"`.
   */
  answer: z.enum(['stored', 'handled']).default('stored'),
  /**
   * Reads a delivery report of another shape, on any URL: returns `{ messageId, status, statusCode?, timestamp?,
   * network?, shape? }`, or undefined for what is none. Default: the shapes that the service documents.
   */
  readReport: functionOf<ReadUsersReport>('(payload, kind) => report | undefined').optional(),
  /**
   * Your own identity for a callback; undefined keeps the default one. Default: by message, status and time; else by
   * the body.
   */
  dedupeKey: functionOf<(callback: DedupeKeyInput) => string | undefined>(
    '(callback) => string | undefined',
  ).optional(),
  /**
   * Called as a request begins: returns the trace that the request is part of. It is kept with the event and handed to those who
   * follow its attempts; `openTelemetry()` has it. Default: none.
   */
  traceContext: functionOf<() => TraceContext | undefined>('() => { traceparent, tracestate? } | undefined').optional(),
  /**
   * Which of `activate`, `deactivate`, `consent`, `delivery`, `billing` and `other` a premium callback is; undefined
   * keeps the default. Default: by `event`, `type`, `action` or `status`; else the one top-level string that is such a
   * word.
   */
  subscriptionType: functionOf<(payload: Readonly<Record<string, unknown>>) => SubscriptionWord | undefined>(
    '(payload) => word | undefined',
  ).optional(),
  /**
   * Any Standard Schema (zod, valibot, arktype); types and checks `event.data`. One for a type of premium callback goes
   * before that for all. `meta` types and checks the `meta` of what is sent. Default: none.
   */
  schemas: z
    .strictObject({
      received: standardSchema,
      payment: standardSchema,
      subscription: standardSchema,
      meta: standardSchema,
      ...recordOf(SUBSCRIPTION_TYPES, () => standardSchema),
    } satisfies Record<keyof Schemas, z.ZodType>)
    .prefault({}),
  /**
   * Requests without a valid proof are kept for `receiver.quarantine.reverify()`; `false` keeps none. Default: `{}`.
   */
  // Not a union, of which an error could only say that nothing in it fits. What `false` is, `resolveOptions` says.
  quarantine: z
    .preprocess((given) => (given === false ? {} : given), z.strictObject(quarantine, `expected ${QUARANTINE}`))
    .describe(QUARANTINE)
    .prefault({}),
  /** Where the time comes from; `fakeClock()` for tests. Default: `Date.now`. */
  clock: expected<(() => number) | Clock>(
    'a function that returns milliseconds, or a clock with now, setTimer and soon',
    (value) => typeof value === 'function' || hasMethods(value, ['now', 'setTimer', 'soon']),
  ).optional(),
  /**
   * By default at most ten lines a minute for each code; `false` silences. Default: warnings and errors, on the
   * console.
   */
  logger: expected<Logger | false>(
    'a logger with debug, info, warn and error (pino’s shape), or false',
    (value) => value === false || hasMethods(value, ['debug', 'info', 'warn', 'error']),
  ).optional(),
}

/** How the reports of one message are put in order. */
export interface OrderingOptions extends Given<typeof ordering> {}

/** How often, and how long, an event is tried whose handlers fail. */
export interface RetryOptions extends Given<typeof retry> {}

/** How much is kept of requests without a valid proof, how long, and where. */
export interface QuarantineOptions extends Given<typeof quarantine> {}

/** The types that no schema can give: those of groups, with their comments, and that of the schemas, which type the events. */
interface ExplicitTypes<S extends Schemas> {
  readonly ordering: OrderingOptions | undefined
  readonly retry: RetryOptions | undefined
  readonly quarantine: QuarantineOptions | false | undefined
  readonly schemas: S | undefined
}

type AllOptions<S extends Schemas> = Given<typeof receiverOptions, ExplicitTypes<S>>

type Present<T, Name extends keyof T> = { readonly [Each in Name]-?: Exclude<T[Each], undefined> }

/** The options beside the credentials. */
export interface OtherOptions<S extends Schemas = {}> extends Omit<AllOptions<S>, 'credentials' | 'projects'> {}

/** The pairs of one project, or a function that looks them up. */
export interface OptionsOfOneProject extends Present<Given<typeof receiverOptions>, 'credentials'> {
  readonly projects?: undefined
}

/** The pairs of several projects, by name. */
export interface OptionsOfProjects extends Present<Given<typeof receiverOptions>, 'projects'> {
  readonly credentials?: undefined
}

/** What `createReceiver` takes: one of `credentials` and `projects`, and options that all have a default. */
export type Options<S extends Schemas = {}> = OtherOptions<S> & (OptionsOfProjects | OptionsOfOneProject)
