/** Checks what the emulator is given, with words that say what was expected and never show a key. */
import { z } from 'zod'
import {
  checkOptions,
  functionLike,
  numberFrom,
  objectLike,
  textOf,
  unknownName,
  wholeNumberFrom,
} from '../check-options.ts'
import { LONGEST_TIMER_MS, systemClock, type Clock } from '../clock.ts'
import { OptionsError } from '../errors.ts'
import { CALLBACK_KINDS, type CallbackKind } from '../events.ts'
import { readCallbackProof, type ProofOf } from './callback-proof.ts'
import { webUrl } from './callbacks/web-url.ts'
import { channelNamesSchema, resolveChannelNames, type NamedChannels } from './channel-names.ts'
import type { Seed } from './faults/draws.ts'
import { readFaultRates, readSendFaultRates, type FaultRates } from './faults/rates.ts'
import type { SendFaultRates } from './faults/send-faults.ts'
import { DEFAULT_NETWORK, type NetworkProfile } from './network.ts'
import { PROJECT_DEFAULTS } from './not-shown.ts'
import type { ProjectKeys, ProjectOptions, ProjectPatch } from './projects.ts'
import type { EmulatorOptions, OfProject } from './surface.ts'
import { TRIGGER_NAMES, type TriggerName } from './triggers.ts'

interface ResolvedOptions {
  readonly projects: readonly ProjectOptions[]
  readonly channels: NamedChannels
  readonly network: NetworkProfile
  readonly faults: FaultRates
  readonly sendFaults: SendFaultRates
  readonly proofOf: ProofOf
  readonly clock: Clock
  readonly seed: Seed
  readonly controlToken: string | undefined
  readonly callbackTimeoutMs: number
  readonly keep: number
  readonly ca: string | Buffer | undefined
}

const key = textOf('a text that is not empty')
const share = numberFrom(0, 1)
const milliseconds = numberFrom(0, LONGEST_TIMER_MS, 'milliseconds')
const LONGEST_TIMEOUT_MS = 600_000
const MOST_KEPT = 10_000_000
const MOST_RETRIES = 20

const callbackUrl = z
  .custom<string>((text) => typeof text === 'string' && webUrl(text) !== undefined, 'expected an http or https URL')
  .optional()

const callbackUrls = z.strictObject({
  status: callbackUrl,
  received: callbackUrl,
  payment: callbackUrl,
  subscription: callbackUrl,
} satisfies Record<CallbackKind, typeof callbackUrl>)

const patchFields = {
  balance: numberFrom(0, Infinity, 'credits').optional(),
  volumeLimit: wholeNumberFrom(0, Number.MAX_SAFE_INTEGER).nullable().optional(),
  senderId: key.optional(),
  phoneNumber: key.optional(),
  shortcode: key.optional(),
  enforceHttps: z.boolean().optional(),
  callbackUrls: callbackUrls.optional(),
}

const patchSchema = z.strictObject(patchFields)
const keyFields = { apiKey: key.optional(), authKey: key.optional(), signingSecret: key.optional() }
const keysSchema = z.strictObject(keyFields)
const projectSchema = z.strictObject({ name: key, ...keyFields, ...patchFields })

const delay = wholeNumberFrom(0, LONGEST_TIMER_MS)

const networkSchema = z.strictObject({
  carrierAShare: share.optional(),
  transientShare: share.optional(),
  permanentShare: share.optional(),
  unreachableShare: share.optional(),
  readShare: share.optional(),
  delayMs: z
    .tuple([delay, delay], 'expected the least and the most milliseconds')
    .refine(([least, most]) => least <= most, 'expected the least first')
    .optional(),
  retries: wholeNumberFrom(0, MOST_RETRIES).optional(),
  retryDelayMs: milliseconds.optional(),
  names: z.strictObject({ carrierA: key, carrierB: key }).optional(),
})

const optionsSchema = z.strictObject({
  projects: z
    .array(projectSchema)
    .min(1, 'expected at least one project')
    .refine(
      (projects) => new Set(projects.map(({ name }) => name)).size === projects.length,
      'two have the same name, and expected are names of their own',
    )
    .optional(),
  channels: channelNamesSchema.optional(),
  network: networkSchema.optional(),
  faults: z.unknown().optional(),
  sendFaults: z.unknown().optional(),
  proof: z.unknown().optional(),
  clock: z
    .union(
      [functionLike, objectLike('a clock', 'now', 'setTimer')],
      'expected a function that returns milliseconds, or a clock with now and setTimer',
    )
    .optional(),
  seed: z.union([z.number(), z.string()], 'expected a number or a text').optional(),
  controlToken: key.optional(),
  callbackTimeoutMs: numberFrom(1, LONGEST_TIMEOUT_MS, 'milliseconds').optional(),
  keep: wholeNumberFrom(0, MOST_KEPT).optional(),
  ca: z.union([z.string(), z.instanceof(Buffer)], 'expected PEM, as text or bytes').optional(),
})

/** Throws an `OptionsError` that names what is wrong. */
export function resolveEmulatorOptions(options: EmulatorOptions): ResolvedOptions {
  const checked = checkOptions(optionsSchema, options)
  const network = { ...DEFAULT_NETWORK, ...defined(checked.network ?? {}) }
  if (network.permanentShare + network.transientShare + network.unreachableShare > 1)
    throw new OptionsError('network: the shares of failures are more than 1 together.')
  return {
    projects: checked.projects ?? [{ name: PROJECT_DEFAULTS.name }],
    channels: resolveChannelNames(checked.channels),
    network,
    faults: readFaultRates(checked.faults),
    sendFaults: readSendFaultRates(checked.sendFaults),
    proofOf: readCallbackProof(checked.proof),
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
  return checkOptions(patchSchema, patch, 'configure')
}

/** Checks keys that are to replace the live ones; those that are left out are made up. `where` is the call. */
export function checkKeys(keys: unknown, where: string): Partial<Record<keyof ProjectKeys, string | undefined>> {
  return checkOptions(keysSchema, keys, where)
}

const ofSchema = z.strictObject({ project: key.optional() })

/** Which project a call is about. `where` is the call. */
export function checkOf(of: OfProject | undefined, where: string): string | undefined {
  return checkOptions(ofSchema, of, where).project
}

const idleSchema = z.strictObject({ deadlineMs: milliseconds.default(10_000) })

export function checkIdle(options: object | undefined): z.output<typeof idleSchema> {
  return checkOptions(idleSchema, options, 'idle')
}

/** Throws an `OptionsError` for what cannot be triggered. */
export function checkTrigger(name: TriggerName): void {
  if (!TRIGGER_NAMES.includes(name))
    throw new OptionsError(`trigger: there is no such event. ${unknownName(name, TRIGGER_NAMES)}`)
}

/** Throws an `OptionsError` for a kind of callback that does not exist. */
export function checkKind(kind: CallbackKind): void {
  if (!CALLBACK_KINDS.includes(kind))
    throw new OptionsError(`callback: there is no such kind. ${unknownName(kind, CALLBACK_KINDS)}`)
}

function clockOf(clock: EmulatorOptions['clock']): Clock {
  return clock === undefined || typeof clock === 'function' ? systemClock(clock) : clock
}

/** Without the fields that are undefined, so that they do not hide a default. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> } // fromEntries forgets the keys.
}
