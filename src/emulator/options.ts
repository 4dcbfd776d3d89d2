/** Checks what the emulator is given, with words that say what was expected and never show a key. */
import { z } from 'zod'
import { systemClock, type Clock } from '../clock.ts'
import { OptionsError } from '../errors.ts'
import { CALLBACK_KINDS } from '../events.ts'
import type { Seed } from './faults/draws.ts'
import { readFaultRates, type FaultRates } from './faults/rates.ts'
import { DEFAULT_NETWORK, type NetworkProfile } from './network.ts'
import { PROJECT_DEFAULTS } from './not-shown.ts'
import type { ProjectKeys, ProjectOptions, ProjectPatch } from './projects.ts'
import type { EmulatorOptions } from './surface.ts'

interface ResolvedOptions {
  readonly projects: readonly ProjectOptions[]
  readonly network: NetworkProfile
  readonly faults: FaultRates
  readonly clock: Clock
  readonly seed: Seed
  readonly controlToken: string | undefined
  readonly callbackTimeoutMs: number
  readonly keep: number
  readonly ca: string | Buffer | undefined
}

const key = z.string().min(1, 'expected a text that is not empty')
const share = z.number().min(0).max(1)
const callbackUrl = z
  .string()
  .refine(
    (text) => URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol),
    'expected an http or https URL',
  )

const patchFields = {
  balance: z.number().min(0).optional(),
  volumeLimit: z.int().min(0).nullable().optional(),
  senderId: key.optional(),
  phoneNumber: key.optional(),
  shortcode: key.optional(),
  enforceHttps: z.boolean().optional(),
  callbackUrls: z.partialRecord(z.enum(CALLBACK_KINDS), callbackUrl.optional()).optional(),
}

const patchSchema = z.strictObject(patchFields)
const keyFields = { apiKey: key.optional(), authKey: key.optional(), signingSecret: key.optional() }
const keysSchema = z.strictObject(keyFields)
const projectSchema = z.strictObject({ name: key, ...keyFields, ...patchFields })

const networkSchema = z.strictObject({
  carrierAShare: share.optional(),
  transientShare: share.optional(),
  permanentShare: share.optional(),
  unreachableShare: share.optional(),
  readShare: share.optional(),
  delayMs: z
    .tuple([z.int().min(0), z.int().min(0)])
    .refine(([least, most]) => least <= most, 'expected the least first')
    .optional(),
  retries: z.int().min(0).max(20).optional(),
  retryDelayMs: z.number().min(0).optional(),
  names: z.strictObject({ carrierA: key, carrierB: key }).optional(),
})

const optionsSchema = z.strictObject({
  projects: z
    .array(projectSchema)
    .min(1)
    .refine((projects) => new Set(projects.map(({ name }) => name)).size === projects.length, 'two have the same name')
    .optional(),
  network: networkSchema.optional(),
  faults: z.unknown().optional(),
  clock: z.unknown().optional(),
  seed: z.union([z.number(), z.string()], 'expected a number or a text').optional(),
  controlToken: key.optional(),
  callbackTimeoutMs: z.number().min(1).max(600_000).optional(),
  keep: z.int().min(0).max(10_000_000).optional(),
  ca: z.union([z.string(), z.instanceof(Buffer)], 'expected PEM, as text or bytes').optional(),
})

/** Throws an `OptionsError` that names what is wrong. */
export function resolveEmulatorOptions(options: EmulatorOptions): ResolvedOptions {
  const checked = check(optionsSchema, options, 'The options object')
  const network = { ...DEFAULT_NETWORK, ...defined(checked.network ?? {}) }
  if (network.permanentShare + network.transientShare + network.unreachableShare > 1)
    throw new OptionsError('network: the shares of failures are more than 1 together.')
  return {
    projects: checked.projects ?? [{ name: PROJECT_DEFAULTS.name }],
    network,
    faults: readFaultRates(checked.faults),
    clock: clockOf(options.clock),
    seed: checked.seed ?? 1,
    controlToken: checked.controlToken,
    callbackTimeoutMs: checked.callbackTimeoutMs ?? 10_000,
    keep: checked.keep ?? 100_000,
    ca: checked.ca,
  }
}

/** Checks what a project is to be changed to, from wherever it came. */
export function checkPatch(patch: unknown): ProjectPatch {
  return check(patchSchema, patch, 'The change of the project')
}

/** Checks keys that are to replace the live ones; those that are left out are made up. */
export function checkKeys(keys: unknown): { readonly [K in keyof ProjectKeys]?: ProjectKeys[K] } {
  return defined(check(keysSchema, keys, 'The keys'))
}

function clockOf(clock: EmulatorOptions['clock']): Clock {
  if (clock === undefined) return systemClock()
  if (typeof clock === 'function') return systemClock(clock)
  if (typeof clock.now === 'function' && typeof clock.setTimer === 'function') return clock
  throw new OptionsError('clock: expected a function that returns milliseconds, or a clock with now and setTimer.')
}

function check<T>(schema: z.ZodType<T>, value: unknown, whole: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  // Where, and what was expected; never the value, which may be a key.
  const problems = parsed.error.issues.map((issue) => {
    const path = issue.path.join('.') || whole
    return issue.code === 'unrecognized_keys'
      ? `${path}: no option ${issue.keys.join(', ')}.`
      : `${path}: ${issue.message}.`
  })
  throw new OptionsError(problems.join(' '))
}

/** Without the fields that are undefined, so that they do not hide a default. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> } // fromEntries forgets the keys.
}
