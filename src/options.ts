/**
 * The options, in one table: the reference's table, the defaults and the checks all come from here. An editor shows the
 * comments of the interfaces; a test compares them with the table.
 */
import type { ProofPolicy } from './callback.ts'
import type { CredentialsOption, ProjectsOption } from './authenticity/credentials.ts'
import { LONGEST_TIMER_MS, type Clock } from './clock.ts'
import type { Carrier, Schemas, SubscriptionWord } from './events.ts'
import type { DedupeKeyInput } from './inbox/new-event.ts'
import type { Store } from './inbox/store.ts'
import type { Logger } from './logger.ts'
import type { ReadUsersReport } from './payloads/users-report.ts'
import type { TraceContext } from './trace-context.ts'

/** What `createReceiver` takes: one of `credentials` and `projects`, and options that all have a default. */
export type Options<S extends Schemas = {}> = OtherOptions<S> & (OptionsOfProjects | OptionsOfOneProject)

/** The pairs of one project, or a function that looks them up. */
export interface OptionsOfOneProject {
  /**
   * The webhook security pair: `authKey`, `signingSecret`, and `notAfter` for one that is being rotated out; at most 16
   * pairs. Either this or `projects` is needed. Default: none.
   */
  readonly credentials: CredentialsOption
  readonly projects?: undefined
}

/** The pairs of several projects, by name. */
export interface OptionsOfProjects {
  /**
   * The webhook security pairs of several projects, by display name, exactly as the service spells it; at most 16 pairs
   * each. Default: none.
   */
  readonly projects: ProjectsOption
  readonly credentials?: undefined
}

/** The options beside the credentials. */
export interface OtherOptions<S extends Schemas = {}> {
  /**
   * Which carrier each `network` of a callback is. A network that is not named is known by its words; carrier B’s own
   * words may also stand in other tables. Default: by their words.
   */
  readonly networks?: Readonly<Record<string, Carrier>> | undefined
  /** Where events wait until they are settled, and what remembers that they were seen. Default: `memoryStore()`. */
  readonly store?: Store | undefined
  /**
   * A folder on a local disk for what the store cannot take, until it is back. `false`: such callbacks are answered
   * 503. Default: beside an SQLite file; else none.
   */
  readonly spool?: string | false | undefined
  /** Which proofs a callback needs; `middleware(kind, { proof })` says it for one URL. Default: `"either"`. */
  readonly proof?: ProofPolicy | undefined
  /** How far the signature’s `t` may be from this clock, in both directions. Seconds, 0 to 86,400. Default: 300. */
  readonly toleranceSeconds?: number | undefined
  /** A larger body is answered 413. Bytes, 1 to 67,108,864. Default: 262,144. */
  readonly maxBodyBytes?: number | undefined
  /**
   * How long a whole body may take, from first byte to last; then 408. Milliseconds, 1 to 2,147,483,647. Default:
   * 10,000.
   */
  readonly bodyTimeoutMs?: number | undefined
  /**
   * Bytes of bodies that are read at once; near it large ones wait, and those that all but stand still are answered
   * 408. Bytes, 1 to 9,007,199,254,740,991. Default: 67,108,864.
   */
  readonly maxInflightBytes?: number | undefined
  /** How long an answer waits for the store; then 503. Milliseconds, 1 to 2,147,483,647. Default: 5,000. */
  readonly storeTimeoutMs?: number | undefined
  /**
   * How long an answer waits for a credentials function; then 503. Milliseconds, 1 to 2,147,483,647. Default: 2,000.
   */
  readonly lookupTimeoutMs?: number | undefined
  /** How the reports of one message are put in order. */
  readonly ordering?: OrderingOptions | undefined
  /** How often, and how long, an event is tried whose handlers fail. */
  readonly retry?: RetryOptions | undefined
  /**
   * How long a report of a message that nobody expects waits for `receiver.expect`, or for the answer of a sender: it may overtake the
   * answer to its own send. 0 is not at all. What is given holds always. Milliseconds, 0 to 2,147,483,647. Default: 5,000 while a
   * send of this process awaits its answer, else 0.
   */
  readonly orphanHoldMs?: number | undefined
  /** `false` only takes callbacks: another receiver on the same shared store runs the handlers. Default: `true`. */
  readonly dispatch?: boolean | undefined
  /** Messages whose handlers run at once. Count, 1 to 100,000. Default: 16. */
  readonly concurrency?: number | undefined
  /**
   * After this a handler’s `signal` is aborted and its slot freed. An asynchronous schema has as long, and so has the
   * answer with `answer: "handled"`. Milliseconds, 1 to 2,147,483,647. Default: 60,000.
   */
  readonly handlerTimeoutMs?: number | undefined
  /**
   * `"handled"` answers after the first attempt of the handlers, for platforms that freeze a process once it has
   * answered. Default: `"stored"`.
   */
  readonly answer?: 'stored' | 'handled' | undefined
  /**
   * Reads a delivery report of another shape, on any URL: returns `{ messageId, status, statusCode?, timestamp?,
   * network?, shape? }`, or undefined for what is none. Default: the shapes that the service documents.
   */
  readonly readReport?: ReadUsersReport | undefined
  /**
   * Your own identity for a callback; undefined keeps the default one. Default: by message, status and time; else by
   * the body.
   */
  readonly dedupeKey?: ((callback: DedupeKeyInput) => string | undefined) | undefined
  /**
   * Asked as a callback is taken: of which trace its request is part, to be kept with the event and handed to those who
   * follow its attempts; `openTelemetry()` has it. Default: none.
   */
  readonly traceContext?: (() => TraceContext | undefined) | undefined
  /**
   * Which of `activate`, `deactivate`, `consent`, `delivery`, `billing` and `other` a premium callback is; undefined
   * keeps the default. Default: by `event`, `type`, `action` or `status`; else the one top-level string that is such a
   * word.
   */
  readonly subscriptionType?: ((payload: Readonly<Record<string, unknown>>) => SubscriptionWord | undefined) | undefined
  /**
   * Any Standard Schema (zod, valibot, arktype); types and checks `event.data`. One for a type of premium callback goes
   * before that for all. Default: none.
   */
  readonly schemas?: S | undefined
  /**
   * Requests without a valid proof are kept for `receiver.quarantine.reverify()`; `false` keeps none. Default: `{}`.
   */
  readonly quarantine?: QuarantineOptions | false | undefined
  /** Where the time comes from; `fakeClock()` for tests. Default: `Date.now`. */
  readonly clock?: (() => number) | Clock | undefined
  /**
   * By default at most ten lines a minute for each code; `false` silences. Default: warnings and errors, on the
   * console.
   */
  readonly logger?: Logger | false | undefined
}

/** How the reports of one message are put in order. */
export interface OrderingOptions {
  /**
   * How long a chat-app `delivered` waits for `sent`, and `read` for `delivered`. Milliseconds, 0 to 2,147,483,647.
   * Default: 1,000.
   */
  readonly gapTimeoutMs?: number | undefined
  /** Whether a late report comes as a `late` event or as itself. Default: `"separate"`. */
  readonly late?: 'separate' | 'inline' | undefined
}

/** How often, and how long, an event is tried whose handlers fail. */
export interface RetryOptions {
  /** Attempts in all, the first included; then the event is a dead letter. Count, 1 to 1,000. Default: 15. */
  readonly attempts?: number | undefined
  /** Ceiling of the first delay; it doubles, with full jitter. Milliseconds, 0 to 2,147,483,647. Default: 1,000. */
  readonly initialDelayMs?: number | undefined
  /**
   * Ceiling of all delays. With the defaults the last attempt comes an hour and a half after the first on average, and
   * at most three and a quarter hours. Milliseconds, 0 to 2,147,483,647. Default: 3,600,000.
   */
  readonly maxDelayMs?: number | undefined
}

/** How much is kept of requests without a valid proof, how long, and where. */
export interface QuarantineOptions {
  /**
   * What the kept requests may take in all; what looks least like a callback goes first, and of one class what is
   * largest. Bytes, 1 to 9,007,199,254,740,991. Default: 16,777,216.
   */
  readonly maxBytes?: number | undefined
  /**
   * How long a request is kept. Not longer than the store knows that an event was seen (`dedupeDays`), or it may come
   * twice. Hours, 0 to 720. Default: 72.
   */
  readonly maxAgeHours?: number | undefined
  /**
   * A folder on a local disk where it outlives the process, exact bodies with their keys; `false`: in memory only.
   * Default: in the spool’s, or beside an SQLite file; else none.
   */
  readonly folder?: string | false | undefined
}

/** One option, as the reference's table shows it. */
export interface OptionRow {
  readonly name: string
  readonly type: string
  readonly range?: readonly [least: number, most: number]
  readonly default: string | number
  readonly what: string
}

const MIB = 1024 * 1024

/** Every option there is. */
export const OPTIONS = [
  {
    name: 'credentials',
    type: 'pair, pairs, or `(project) => pair(s)`',
    default: 'none',
    what: 'The webhook security pair: `authKey`, `signingSecret`, and `notAfter` for one that is being rotated out; at most 16 pairs. Either this or `projects` is needed.',
  },
  {
    name: 'projects',
    type: '`{ [project]: pair(s) }`',
    default: 'none',
    what: 'The webhook security pairs of several projects, by display name, exactly as the service spells it; at most 16 pairs each.',
  },
  {
    name: 'networks',
    type: '`{ [network]: "carrierA" \\| "carrierB" }`',
    default: 'by their words',
    what: 'Which carrier each `network` of a callback is. A network that is not named is known by its words; carrier B’s own words may also stand in other tables.',
  },
  {
    name: 'store',
    type: 'store',
    default: '`memoryStore()`',
    what: 'Where events wait until they are settled, and what remembers that they were seen.',
  },
  {
    name: 'spool',
    type: 'folder, or `false`',
    default: 'beside an SQLite file; else none',
    what: 'A folder on a local disk for what the store cannot take, until it is back. `false`: such callbacks are answered 503.',
  },
  {
    name: 'proof',
    type: '`"either"`, `"signature"`, `"authKey"`, `"both"`',
    default: '`"either"`',
    what: 'Which proofs a callback needs; `middleware(kind, { proof })` says it for one URL.',
  },
  {
    name: 'toleranceSeconds',
    type: 'seconds',
    range: [0, 86_400],
    default: 300,
    what: 'How far the signature’s `t` may be from this clock, in both directions.',
  },
  {
    name: 'maxBodyBytes',
    type: 'bytes',
    range: [1, 64 * MIB],
    default: 256 * 1024,
    what: 'A larger body is answered 413.',
  },
  {
    name: 'bodyTimeoutMs',
    type: 'milliseconds',
    range: [1, LONGEST_TIMER_MS],
    default: 10_000,
    what: 'How long a whole body may take, from first byte to last; then 408.',
  },
  {
    name: 'maxInflightBytes',
    type: 'bytes',
    range: [1, Number.MAX_SAFE_INTEGER],
    default: 64 * MIB,
    what: 'Bytes of bodies that are read at once; near it large ones wait, and those that all but stand still are answered 408.',
  },
  {
    name: 'storeTimeoutMs',
    type: 'milliseconds',
    range: [1, LONGEST_TIMER_MS],
    default: 5_000,
    what: 'How long an answer waits for the store; then 503.',
  },
  {
    name: 'lookupTimeoutMs',
    type: 'milliseconds',
    range: [1, LONGEST_TIMER_MS],
    default: 2_000,
    what: 'How long an answer waits for a credentials function; then 503.',
  },
  {
    name: 'ordering.gapTimeoutMs',
    type: 'milliseconds',
    range: [0, LONGEST_TIMER_MS],
    default: 1_000,
    what: 'How long a chat-app `delivered` waits for `sent`, and `read` for `delivered`.',
  },
  {
    name: 'ordering.late',
    type: '`"separate"`, `"inline"`',
    default: '`"separate"`',
    what: 'Whether a late report comes as a `late` event or as itself.',
  },
  {
    name: 'retry.attempts',
    type: 'count',
    range: [1, 1_000],
    default: 15,
    what: 'Attempts in all, the first included; then the event is a dead letter.',
  },
  {
    name: 'retry.initialDelayMs',
    type: 'milliseconds',
    range: [0, LONGEST_TIMER_MS],
    default: 1_000,
    what: 'Ceiling of the first delay; it doubles, with full jitter.',
  },
  {
    name: 'retry.maxDelayMs',
    type: 'milliseconds',
    range: [0, LONGEST_TIMER_MS],
    default: 3_600_000,
    what: 'Ceiling of all delays. With the defaults the last attempt comes an hour and a half after the first on average, and at most three and a quarter hours.',
  },
  {
    name: 'orphanHoldMs',
    type: 'milliseconds',
    range: [0, LONGEST_TIMER_MS],
    default: '5,000 while a send of this process awaits its answer, else 0',
    what: 'How long a report of a message that nobody expects waits for `receiver.expect`, or for the answer of a sender: it may overtake the answer to its own send. 0 is not at all. What is given holds always.',
  },
  {
    name: 'dispatch',
    type: '`true`, `false`',
    default: '`true`',
    what: '`false` only takes callbacks: another receiver on the same shared store runs the handlers.',
  },
  {
    name: 'concurrency',
    type: 'count',
    range: [1, 100_000],
    default: 16,
    what: 'Messages whose handlers run at once.',
  },
  {
    name: 'handlerTimeoutMs',
    type: 'milliseconds',
    range: [1, LONGEST_TIMER_MS],
    default: 60_000,
    what: 'After this a handler’s `signal` is aborted and its slot freed. An asynchronous schema has as long, and so has the answer with `answer: "handled"`.',
  },
  {
    name: 'answer',
    type: '`"stored"`, `"handled"`',
    default: '`"stored"`',
    what: '`"handled"` answers after the first attempt of the handlers, for platforms that freeze a process once it has answered.',
  },
  {
    name: 'readReport',
    type: '`(payload, kind) => report \\| undefined`',
    default: 'the shapes that the service documents',
    what: 'Reads a delivery report of another shape, on any URL: returns `{ messageId, status, statusCode?, timestamp?, network?, shape? }`, or undefined for what is none.',
  },
  {
    name: 'dedupeKey',
    type: '`(callback) => string \\| undefined`',
    default: 'by message, status and time; else by the body',
    what: 'Your own identity for a callback; undefined keeps the default one.',
  },
  {
    name: 'traceContext',
    type: '`() => { traceparent, tracestate? } \\| undefined`',
    default: 'none',
    what: 'Asked as a callback is taken: of which trace its request is part, to be kept with the event and handed to those who follow its attempts; `openTelemetry()` has it.',
  },
  {
    name: 'subscriptionType',
    type: '`(payload) => word \\| undefined`',
    default: 'by `event`, `type`, `action` or `status`; else the one top-level string that is such a word',
    what: 'Which of `activate`, `deactivate`, `consent`, `delivery`, `billing` and `other` a premium callback is; undefined keeps the default.',
  },
  {
    name: 'schemas',
    type: '`{ received, payment, subscription, "subscription.consent", … }`',
    default: 'none',
    what: 'Any Standard Schema (zod, valibot, arktype); types and checks `event.data`. One for a type of premium callback goes before that for all.',
  },
  {
    name: 'quarantine',
    type: '`{ maxBytes, maxAgeHours, folder }`, or `false`',
    default: '`{}`',
    what: 'Requests without a valid proof are kept for `receiver.quarantine.reverify()`; `false` keeps none.',
  },
  {
    name: 'quarantine.maxBytes',
    type: 'bytes',
    range: [1, Number.MAX_SAFE_INTEGER],
    default: 16 * MIB,
    what: 'What the kept requests may take in all; what looks least like a callback goes first, and of one class what is largest.',
  },
  {
    name: 'quarantine.maxAgeHours',
    type: 'hours',
    range: [0, 720],
    default: 72,
    what: 'How long a request is kept. Not longer than the store knows that an event was seen (`dedupeDays`), or it may come twice.',
  },
  {
    name: 'quarantine.folder',
    type: 'folder, or `false`',
    default: 'in the spool’s, or beside an SQLite file; else none',
    what: 'A folder on a local disk where it outlives the process, exact bodies with their keys; `false`: in memory only.',
  },
  {
    name: 'clock',
    type: '`() => milliseconds`, or `Clock`',
    default: '`Date.now`',
    what: 'Where the time comes from; `fakeClock()` for tests.',
  },
  {
    name: 'logger',
    type: 'pino’s shape, or `false`',
    default: 'warnings and errors, on the console',
    what: 'By default at most ten lines a minute for each code; `false` silences.',
  },
] as const satisfies readonly OptionRow[]
