/** Checks the options and fills the defaults in, with words that say what was expected. */
import { z } from 'zod'
import { checkOptions, functionLike, numberFrom, objectLike, textOf, wholeNumberFrom } from './check-options.ts'
import type { CredentialsOption, ProjectsOption } from './authenticity/credentials.ts'
import { PROOF_POLICIES, type ProofPolicy } from './callback.ts'
import type { Clock } from './clock.ts'
import { OptionsError } from './errors.ts'
import { CARRIERS, type Carrier, type Schemas } from './events.ts'
import type { DedupeKeyInput } from './inbox/new-event.ts'
import type { Store } from './inbox/store.ts'
import type { Logger } from './logger.ts'
import { OPTIONS, type Options } from './options.ts'

/** The options with every default filled in. */
interface ResolvedOptions<S extends Schemas> {
  readonly credentials: CredentialsOption | undefined
  readonly projects: ProjectsOption | undefined
  readonly networks: ReadonlyMap<string, Carrier>
  readonly store: Store | undefined
  readonly spool: string | false | undefined
  readonly proof: ProofPolicy
  readonly toleranceSeconds: number
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
  readonly maxInflightBytes: number
  readonly storeTimeoutMs: number
  readonly lookupTimeoutMs: number
  readonly gapTimeoutMs: number
  readonly late: 'separate' | 'inline'
  readonly retry: { readonly attempts: number; readonly initialDelayMs: number; readonly maxDelayMs: number }
  /** Undefined where it was not said. */
  readonly orphanHoldMs: number | undefined
  readonly dispatch: boolean
  readonly concurrency: number
  readonly handlerTimeoutMs: number
  readonly answer: 'stored' | 'handled'
  readonly readReport: Options['readReport']
  readonly dedupeKey: ((callback: DedupeKeyInput) => string | undefined) | undefined
  readonly traceContext: Options['traceContext']
  readonly subscriptionType: Options['subscriptionType']
  readonly schemas: S | Schemas
  readonly quarantine:
    { readonly maxBytes: number; readonly maxAgeMs: number; readonly folder: string | false | undefined } | undefined
  readonly clock: (() => number) | Clock | undefined
  readonly logger: Logger | false | undefined
}

const HOUR_MS = 3_600_000

type NumberName = Extract<(typeof OPTIONS)[number], { readonly default: number }>['name']

/** A number in the range of the table, with the table's default. */
function numeric(name: NumberName) {
  const row = OPTIONS.find((option) => option.name === name)
  if (typeof row?.default !== 'number') throw new OptionsError(`There is no option ${name}.`)
  return inRange(name).default(row.default)
}

/** The same without a default. */
function inRange(name: NumberName | 'orphanHoldMs') {
  const row = OPTIONS.find((option) => option.name === name)
  if (row === undefined || !('range' in row)) throw new OptionsError(`There is no option ${name}.`)
  const [least, most] = row.range
  return row.type === 'count' ? wholeNumberFrom(least, most) : numberFrom(least, most, row.type)
}

const folder = z.union([z.literal(false), textOf('a path')], 'expected the path of a folder, or false')
const standardSchema = z.custom<object>(
  (value) => (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value,
  'expected a Standard Schema (zod, valibot, arktype)',
)

/** Only shapes: that a secret is no empty string is checked where pairs are made ready, with words that name no secret. */
const optionsSchema = z.strictObject({
  credentials: z
    .union(
      [z.custom<object>((value) => typeof value === 'object' && value !== null), functionLike],
      'expected a pair, a list of pairs, or a function',
    )
    .optional(),
  projects: z
    .custom<object>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'expected an object of pairs by project',
    )
    .optional(),
  networks: z.record(z.string(), z.enum(CARRIERS)).default({}),
  store: objectLike('a store, such as memoryStore()', 'open').optional(),
  spool: folder.optional(),
  proof: z.enum(PROOF_POLICIES).default('either'),
  toleranceSeconds: numeric('toleranceSeconds'),
  maxBodyBytes: numeric('maxBodyBytes'),
  bodyTimeoutMs: numeric('bodyTimeoutMs'),
  maxInflightBytes: numeric('maxInflightBytes'),
  storeTimeoutMs: numeric('storeTimeoutMs'),
  lookupTimeoutMs: numeric('lookupTimeoutMs'),
  ordering: z
    .strictObject({
      gapTimeoutMs: numeric('ordering.gapTimeoutMs'),
      late: z.enum(['separate', 'inline']).default('separate'),
    })
    .prefault({}),
  retry: z
    .strictObject({
      attempts: numeric('retry.attempts'),
      initialDelayMs: numeric('retry.initialDelayMs'),
      maxDelayMs: numeric('retry.maxDelayMs'),
    })
    .prefault({}),
  orphanHoldMs: inRange('orphanHoldMs').optional(),
  dispatch: z.boolean().default(true),
  concurrency: numeric('concurrency'),
  handlerTimeoutMs: numeric('handlerTimeoutMs'),
  answer: z.enum(['stored', 'handled']).default('stored'),
  readReport: functionLike.optional(),
  dedupeKey: functionLike.optional(),
  traceContext: functionLike.optional(),
  subscriptionType: functionLike.optional(),
  schemas: z
    .strictObject({
      received: standardSchema.optional(),
      payment: standardSchema.optional(),
      subscription: standardSchema.optional(),
      'subscription.activate': standardSchema.optional(),
      'subscription.deactivate': standardSchema.optional(),
      'subscription.consent': standardSchema.optional(),
      'subscription.delivery': standardSchema.optional(),
      'subscription.billing': standardSchema.optional(),
      'subscription.other': standardSchema.optional(),
    } satisfies Record<keyof Schemas, z.ZodType>)
    .prefault({}),
  quarantine: z.preprocess(
    (value) => (value === false ? undefined : value),
    z
      .strictObject(
        {
          maxBytes: numeric('quarantine.maxBytes'),
          maxAgeHours: numeric('quarantine.maxAgeHours'),
          folder: folder.optional(),
        },
        'expected { maxBytes, maxAgeHours, folder }, or false',
      )
      .prefault({}),
  ),
  clock: z
    .union(
      [functionLike, objectLike('a clock', 'now', 'setTimer', 'soon')],
      'expected a function that returns milliseconds',
    )
    .optional(),
  logger: z
    .union(
      [z.literal(false), objectLike('a logger', 'debug', 'info', 'warn', 'error')],
      'expected a logger with debug, info, warn and error, or false',
    )
    .optional(),
})

/** Checks the options and fills the defaults in. Throws an `OptionsError` that names what is wrong, and no secret. */
export function resolveOptions<S extends Schemas>(options: Options<S>): ResolvedOptions<S> {
  const { toleranceSeconds, maxBodyBytes, bodyTimeoutMs, maxInflightBytes, ordering, ...checked } = checkOptions(
    optionsSchema,
    options,
  )
  const { credentials, projects } = checked
  if (credentials === undefined && projects === undefined)
    throw new OptionsError(
      'createReceiver: neither credentials nor projects is given. Pass one, such as { credentials: { authKey, signingSecret } }.',
    )
  if (credentials !== undefined && projects !== undefined)
    throw new OptionsError('createReceiver: both credentials and projects are given. Pass only one of them.')
  if (!checked.dispatch && checked.answer === 'handled')
    throw new OptionsError('answer: "handled" waits for handlers, and with dispatch: false none run here.')
  return {
    toleranceSeconds,
    maxBodyBytes,
    bodyTimeoutMs,
    maxInflightBytes,
    storeTimeoutMs: checked.storeTimeoutMs,
    lookupTimeoutMs: checked.lookupTimeoutMs,
    gapTimeoutMs: ordering.gapTimeoutMs,
    late: ordering.late,
    retry: checked.retry,
    orphanHoldMs: checked.orphanHoldMs,
    dispatch: checked.dispatch,
    concurrency: checked.concurrency,
    handlerTimeoutMs: checked.handlerTimeoutMs,
    answer: checked.answer,
    proof: checked.proof,
    networks: new Map(Object.entries(checked.networks)),
    // zod checked their shape; the user's own objects go on, untouched and with their types.
    credentials: options.credentials,
    projects: options.projects,
    store: options.store,
    spool: checked.spool,
    readReport: options.readReport,
    dedupeKey: options.dedupeKey,
    traceContext: options.traceContext,
    subscriptionType: options.subscriptionType,
    schemas: options.schemas ?? {},
    quarantine:
      options.quarantine === false
        ? undefined
        : {
            maxBytes: checked.quarantine.maxBytes,
            maxAgeMs: checked.quarantine.maxAgeHours * HOUR_MS,
            folder: checked.quarantine.folder,
          },
    clock: options.clock,
    logger: options.logger,
  }
}
