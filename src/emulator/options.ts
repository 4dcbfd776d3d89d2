/**
 * Options of the emulator: one entry each, with a comment and a schema. The public types, checks, defaults and the reference's
 * tables derive from them. Errors state what was expected and never show a key.
 */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { CALLBACK_KINDS, CARRIERS, type CallbackKind, type EventProof } from '../public/events.ts'
import { OptionsError } from '../public/errors.ts'
import {
  checkOptions,
  clockOption,
  expected,
  numberFrom,
  textOf,
  wholeNumberFrom,
  type Given,
} from '../runtime/check-options.ts'
import { clockOf, LONGEST_TIMER_MS } from '../runtime/clock.ts'
import { recordOf } from '../runtime/values.ts'
import { channelNamesSchema, resolveChannelNames, type ChannelNames } from './channels.ts'
import { faultRates, sendFaultRates, type FaultRates, type SendFaultRates } from './faults.ts'
import { webUrl } from './http.ts'
import { CHANNELS, PROJECT_DEFAULTS, type Channel } from './not-shown.ts'
import type { Seed } from './random.ts'

const key = textOf('a non-empty string')
const share = numberFrom(0, 1)
const milliseconds = numberFrom(0, LONGEST_TIMER_MS, 'milliseconds')
const LONGEST_TIMEOUT_MS = 600_000
const MAX_KEPT = 10_000_000
const MAX_RETRIES = 20

/** A callback URL for each kind. A kind without a URL gets no callbacks. */
export type CallbackUrls = Readonly<Partial<Record<CallbackKind, string | undefined>>>

const callbackUrl = expected<string>(
  'an http or https URL',
  (text) => typeof text === 'string' && webUrl(text) !== undefined,
)

const projectPatch = {
  /** Credits. Each message part costs one. Default: 1,000,000. */
  balance: numberFrom(0, Infinity, 'credits').optional(),
  /** Message parts per UTC day, or null. Default: no limit. */
  volumeLimit: wholeNumberFrom(0, Number.MAX_SAFE_INTEGER).nullable().optional(),
  /** Sender of messages without a `from`. Default: `EMULATOR`. */
  senderId: key.optional(),
  /** The project's chat-app number. Default: 999300009999. */
  phoneNumber: key.optional(),
  /** The number that customers write to. Default: 22384. */
  shortcode: key.optional(),
  /** Posts callbacks to https URLs only. Default: false. */
  enforceHttps: z.boolean().optional(),
  /** `status`, `received`, `payment`, `subscription`. A change replaces all of them. */
  callbackUrls: z.strictObject(recordOf(CALLBACK_KINDS, () => callbackUrl.optional())).optional(),
}

const apiKey = {
  /** Authenticates sends. */
  apiKey: key.optional(),
}

const pair = {
  /** In the body of each callback. */
  authKey: key.optional(),
  /** Key of each callback's signature. */
  signingSecret: key.optional(),
}

const projectName = {
  /** The display name, compared exactly. */
  name: key,
}

/** Settings of a project that can be changed at run time. */
export type ProjectPatch = Given<typeof projectPatch, { readonly callbackUrls: CallbackUrls | undefined }>
/** Initial settings of a project. Missing keys are random, or derive from the option `seed`. */
export type ProjectOptions = Given<typeof projectName & typeof apiKey & typeof pair> & ProjectPatch

/** The arguments of the emulator's methods. */
export const patchSchema = z.strictObject(projectPatch)
export const pairSchema = z.strictObject(pair)
export const apiKeySchema = z.strictObject(apiKey)
export const ofProjectSchema = z.strictObject({ project: key.optional() })
export const idleSchema = z.strictObject({ deadlineMs: milliseconds.default(10_000) })

const delay = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0

const networkProfile = {
  /** Share of numbers on carrier A, not B. With the same seed, a number keeps its carrier. */
  carrierAShare: share.default(0.6),
  /** Share of SMS on carrier A that fail once with `network_failure`. */
  transientShare: share.default(0.04),
  /** Share of messages that fail permanently. */
  permanentShare: share.default(0.04),
  /** Share of SMS on carrier A with an absent subscriber. */
  unreachableShare: share.default(0.04),
  /** Share of delivered chat-app messages that are read. */
  readShare: share.default(0.6),
  /** Duration of a step, in milliseconds: minimum and maximum. */
  delayMs: expected<readonly [least: number, most: number]>(
    'the minimum and the maximum in milliseconds, in this order',
    (value) =>
      Array.isArray(value) &&
      value.length === 2 &&
      value.every(delay) &&
      value[0] <= value[1] &&
      value[1] <= LONGEST_TIMER_MS,
  ).default([50, 400]),
  /** Retries of a `transactional` send after a transient failure. */
  retries: wholeNumberFrom(0, MAX_RETRIES).default(3),
  /** Delay before the first retry, in milliseconds. Doubles each time. */
  retryDelayMs: milliseconds.default(1_000),
  /** Names of the carriers in callbacks. */
  names: z.strictObject(recordOf(CARRIERS, (carrier) => key.default(kebabCase(carrier)))).prefault({}),
}

/** Behaviour of the networks. Shares are from 0 to 1. */
export type NetworkProfile = Readonly<z.output<z.ZodObject<typeof networkProfile>>>

const networkSchema = z.strictObject(networkProfile)

/** The default behaviour: times in milliseconds, shares from 0 to 1. */
export const DEFAULT_NETWORK: NetworkProfile = networkSchema.parse({})

function kebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

const PROOFS = ['both', 'authKey', 'signature'] as const satisfies readonly EventProof[]
const proof = z.enum(PROOFS)

/** Proofs by channel. A channel that is left out has both. */
export type ChannelProofs = Readonly<Partial<Record<Channel, EventProof | undefined>>>

const emulatorOptions = {
  /** At least one. Default: `My Shop`. Missing keys are random, or derive from `seed`. */
  projects: z
    .array(z.strictObject({ ...projectName, ...apiKey, ...pair, ...projectPatch }))
    .min(1, 'expected at least one project')
    .refine(
      (projects) => new Set(projects.map(({ name }) => name)).size === projects.length,
      'expected a different name for each project',
    )
    .default([{ name: PROJECT_DEFAULTS.name }]),
  /**
   * Your service's names for its channels. With `{ 'chat-app': 'telegraph' }`, sends take `channel: 'telegraph'`. They replace the emulator's own names in sends,
   * callbacks, triggers and records; `sms` cannot be renamed. Default: `chat-app`, `premium`, `premium-subscription` and `airtime`.
   */
  channels: channelNamesSchema.optional(),
  /** Outcomes of messages to numbers that are not in `OUTCOMES`. Each field has a default. */
  network: networkSchema.prefault({}),
  /** Rate of each of `FAULTS` per callback, from 0 to 1. Default: 0. */
  faults: faultRates.default({}),
  /** Rate of each of `SEND_FAULTS` per answer, from 0 to 1. Default: 0. */
  sendFaults: sendFaultRates.default({}),
  /**
   * Proofs in callbacks, for all channels or by channel. `both`, `authKey` or `signature`, or such as `{ 'chat-app': 'signature' }`.
   * Default: `both`. The service documents both, although its fields of chat-app callbacks omit the authKey. Contract,
   * service.md#webhook-security-pair, #callback-authenticity.
   */
  proof: z.union([proof, z.strictObject(recordOf(CHANNELS, () => proof.optional()))]).default('both'),
  /** A function that returns milliseconds, or a clock with timers. Default: the machine's. */
  clock: clockOption,
  /**
   * Determines all random choices, message ids and missing keys. A run with the same seed and the same sends repeats. Default:
   * random. Then no two runs share an id. `report().seed` is the seed of the run, from which random keys do not follow.
   */
  seed: z.union([z.number(), z.string()], 'expected a number or a string').optional(),
  /**
   * Token of the control API. Changes, keys, and all requests from other machines need it; without one, they are refused.
   */
  controlToken: key.optional(),
  /** Timeout of the answer to a callback, in milliseconds. Default: 10,000. */
  callbackTimeoutMs: numberFrom(1, LONGEST_TIMEOUT_MS, 'milliseconds').default(10_000),
  /** Maximum number of kept sends and deliveries. Counts are not limited. Default: 100,000. */
  keep: wholeNumberFrom(0, MAX_KEPT).default(100_000),
  /** Certificate authorities for https callback URLs, in PEM. Default: those of Node. */
  ca: z.union([z.string(), z.instanceof(Buffer)], 'expected PEM, as text or bytes').optional(),
}

interface NamedTypes {
  readonly projects: readonly ProjectOptions[] | undefined
  readonly channels: ChannelNames | undefined
  readonly network: Partial<NetworkProfile> | undefined
  readonly faults: FaultRates | undefined
  readonly sendFaults: SendFaultRates | undefined
  readonly proof: EventProof | ChannelProofs | undefined
  readonly seed: Seed | undefined
}

/** Options of `createEmulator`. */
export type EmulatorOptions = Given<typeof emulatorOptions, NamedTypes>

/** The checked options. */
export type EmulatorSettings = ReturnType<typeof resolveEmulatorOptions>

/** Throws an `OptionsError` for an invalid option. */
export function resolveEmulatorOptions(options: EmulatorOptions) {
  const { clock, channels, seed, proof, ...checked } = checkOptions(z.strictObject(emulatorOptions), options)
  const { permanentShare, transientShare, unreachableShare } = checked.network
  if (permanentShare + transientShare + unreachableShare > 1)
    throw new OptionsError('network: permanentShare, transientShare and unreachableShare add up to more than 1.')
  return {
    ...checked,
    seed: seed ?? randomUUID(),
    // Reports show the seed, so only a seed that was given decides the keys.
    keySeed: seed ?? randomUUID(),
    proofOf: (channel: Channel | undefined): EventProof =>
      typeof proof === 'string' ? proof : ((channel && proof[channel]) ?? 'both'),
    channels: resolveChannelNames(channels),
    clock: clockOf(clock),
  }
}
