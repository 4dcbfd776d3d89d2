/**
 * What the emulator is given: each option is one entry here, a comment and a schema. The public types, the checks, the defaults and the
 * reference's tables come from them. Errors say what was expected and never show a key.
 */
import { z } from 'zod'
import { CALLBACK_KINDS, CARRIERS, type CallbackKind, type Proof } from '../public/events.ts'
import { OptionsError } from '../public/errors.ts'
import {
  checkOptions,
  expected,
  numberFrom,
  objectLike,
  textOf,
  unknownName,
  wholeNumberFrom,
  type Given,
} from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, systemClock, type Clock } from '../runtime/clock.ts'
import { recordOf } from '../runtime/record-of.ts'
import { isRecord } from '../runtime/values.ts'
import { channelNamesSchema, resolveChannelNames, type ChannelNames } from './channels.ts'
import { faultRates, sendFaultRates, type FaultRates, type SendFaultRates } from './faults.ts'
import { webUrl } from './http.ts'
import { PROJECT_DEFAULTS } from './not-shown.ts'
import type { Seed } from './random.ts'

const key = textOf('a non-empty string')
const share = numberFrom(0, 1)
const milliseconds = numberFrom(0, LONGEST_TIMER_MS, 'milliseconds')
const LONGEST_TIMEOUT_MS = 600_000
const MOST_KEPT = 10_000_000
const MOST_RETRIES = 20

/** A callback URL for each kind; a kind without one gets no callbacks. */
export type CallbackUrls = Readonly<Partial<Record<CallbackKind, string | undefined>>>

const callbackUrl = expected<string>(
  'an http or https URL',
  (text) => typeof text === 'string' && webUrl(text) !== undefined,
)

const projectPatch = {
  /** Credits, of which each message part takes one. Default 1,000,000. */
  balance: numberFrom(0, Infinity, 'credits').optional(),
  /** Message parts a day, by UTC; null for none. Default: none. */
  volumeLimit: wholeNumberFrom(0, Number.MAX_SAFE_INTEGER).nullable().optional(),
  /** The sender of messages without a `from`. Default `EMULATOR`. */
  senderId: key.optional(),
  /** The chat-app number that it sends from. Default 999300009999. */
  phoneNumber: key.optional(),
  /** What customers write to. Default 22384. */
  shortcode: key.optional(),
  /** Posts callbacks to https URLs only. Default false. */
  enforceHttps: z.boolean().optional(),
  /** Where its callbacks are posted: `status`, `received`, `payment`, `subscription`. A change replaces them all. */
  callbackUrls: z.strictObject(recordOf(CALLBACK_KINDS, () => callbackUrl.optional())).optional(),
}

const apiKey = {
  /** What a send carries. */
  apiKey: key.optional(),
}

const pair = {
  /** What the body of each callback carries. */
  authKey: key.optional(),
  /** What the signature of each callback is made with. */
  signingSecret: key.optional(),
}

const projectName = {
  /** The display name, compared exactly. */
  name: key,
}

interface UrlsOption {
  readonly callbackUrls: CallbackUrls | undefined
}

/** What can be changed of a project while it runs. */
export type ProjectPatch = Given<typeof projectPatch, UrlsOption>
/** What a project is at the start. Keys that are left out are made from the seed. */
export type ProjectOptions = Given<typeof projectName & typeof apiKey & typeof pair> & ProjectPatch

/** The arguments of the emulator's methods. */
export const patchSchema = z.strictObject(projectPatch)
export const pairSchema = z.strictObject(pair)
export const apiKeySchema = z.strictObject(apiKey)
export const ofProjectSchema = z.strictObject({ project: key.optional() })
export const idleSchema = z.strictObject({ deadlineMs: milliseconds.default(10_000) })

const delay = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0

const networkProfile = {
  /** The share of numbers on carrier A; the others are on carrier B. A number stays with its carrier. */
  carrierAShare: share.default(0.6),
  /** The share of SMS on carrier A that fail once with `network_failure`. */
  transientShare: share.default(0.04),
  /** The share of messages that fail for good. */
  permanentShare: share.default(0.04),
  /** The share of SMS on carrier A whose subscriber is absent. */
  unreachableShare: share.default(0.04),
  /** The share of delivered chat-app messages that are read. */
  readShare: share.default(0.6),
  /** How long a step in a message’s life takes, in milliseconds: least and most. */
  delayMs: expected<readonly [least: number, most: number]>(
    'the least and the most milliseconds, the least first',
    (value) =>
      Array.isArray(value) &&
      value.length === 2 &&
      value.every(delay) &&
      value[0] <= value[1] &&
      value[1] <= LONGEST_TIMER_MS,
  ).default([50, 400]),
  /** How often a `transactional` send is tried again after a transient failure. */
  retries: wholeNumberFrom(0, MOST_RETRIES).default(3),
  /** How long before the first of these, in milliseconds; it doubles each time. */
  retryDelayMs: milliseconds.default(1_000),
  /** How callbacks name the carriers. */
  names: z.strictObject(recordOf(CARRIERS, (carrier) => key.default(kebabCase(carrier)))).prefault({}),
}

/** How the networks behave. Shares are from 0 to 1. */
export type NetworkProfile = Readonly<z.output<z.ZodObject<typeof networkProfile>>>

const networkSchema = z.strictObject(networkProfile)

/** How the networks behave by default: times in milliseconds, chances from 0 to 1. */
export const DEFAULT_NETWORK: NetworkProfile = networkSchema.parse({})

function kebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

const PROOFS = ['both', 'authKey', 'signature'] as const satisfies readonly Proof[]
const PROOF_SUBJECTS = ['sms', 'chat-app', 'received', 'payment', 'subscription'] as const

/** The callbacks that the contract tells apart; the Message Status one is `sms` or `chat-app`, by its fields. */
type ProofSubject = (typeof PROOF_SUBJECTS)[number]

/** The same for all callbacks, or for each of those that are named; the others carry both. */
export type CallbackProof = Proof | Readonly<Partial<Record<ProofSubject, Proof | undefined>>>

const proofSchema = z.strictObject(recordOf(PROOF_SUBJECTS, () => z.enum(PROOFS).default('both')))

const emulatorOptions = {
  /** At least one. Default: one project, `My Shop`, with keys that the seed makes. */
  projects: z
    .array(z.strictObject({ ...projectName, ...apiKey, ...pair, ...projectPatch }))
    .min(1, 'expected at least one project')
    .refine(
      (projects) => new Set(projects.map(({ name }) => name)).size === projects.length,
      'two have the same name, and expected are names of their own',
    )
    .default([{ name: PROJECT_DEFAULTS.name }]),
  /**
   * How your service calls its channels, as in `{ 'chat-app': 'telegraph' }`: that name replaces the emulator's own in sends,
   * callbacks, triggers and records. A list is for several of a kind, such as two chat-apps; triggers use the first.
   * `sms` stays. Default: `chat-app`, `premium`, `premium-subscription` and `airtime`.
   */
  channels: channelNamesSchema.optional(),
  /** What becomes of messages to numbers that `OUTCOMES` does not name; each field has a default. */
  network: networkSchema.prefault({}),
  /** How often each of `FAULTS` happens to a callback, from 0 to 1. Default: never. */
  faults: faultRates.default({}),
  /** How often each of `SEND_FAULTS` happens to the answer of a send that would be accepted, from 0 to 1. Default: never. */
  sendFaults: sendFaultRates.default({}),
  /**
   * Which proof callbacks carry: `both`, `authKey` or `signature`, for all, or for some of `sms`, `chat-app` (the two forms of
   * the Message Status callback), `received`, `payment` and `subscription`, as in `{ 'chat-app': 'signature' }`. Default:
   * `both`, for the service says that of each. Contract, service.md#callback-authenticity.
   */
  proof: z.unknown().optional(),
  /** A function that returns milliseconds, or a clock with timers too. Default: the machine's. */
  clock: expected<Clock | (() => number)>(
    'a function that returns milliseconds, or a clock with now and setTimer',
    (value) => typeof value === 'function' || objectLike('a clock', 'now', 'setTimer').safeParse(value).success,
  ).optional(),
  /** All that is left to chance follows from it, so that a run with the same seed and sends repeats. Default 1. */
  seed: z.union([z.number(), z.string()], 'expected a number or a string').default(1),
  /** What the control API asks for from anywhere but loopback; without one it refuses there. */
  controlToken: key.optional(),
  /** How long the answer to a callback may take, in milliseconds. Default 10,000. */
  callbackTimeoutMs: numberFrom(1, LONGEST_TIMEOUT_MS, 'milliseconds').default(10_000),
  /** How many sends and deliveries are kept for `sends()` and `deliveries()`; counts are never cut. Default 100,000. */
  keep: wholeNumberFrom(0, MOST_KEPT).default(100_000),
  /** Authorities that are trusted for https callback URLs, in PEM. Default: those that Node trusts. */
  ca: z.union([z.string(), z.instanceof(Buffer)], 'expected PEM, as text or bytes').optional(),
}

interface NamedTypes {
  readonly projects: readonly ProjectOptions[] | undefined
  readonly channels: ChannelNames | undefined
  readonly network: Partial<NetworkProfile> | undefined
  readonly faults: FaultRates | undefined
  readonly sendFaults: SendFaultRates | undefined
  readonly proof: CallbackProof | undefined
  readonly seed: Seed | undefined
}

/** What `createEmulator` takes. */
export type EmulatorOptions = Given<typeof emulatorOptions, NamedTypes>

/** Throws an `OptionsError` that names what is wrong. */
export function resolveEmulatorOptions(options: EmulatorOptions) {
  const { clock, channels, proof, ...checked } = checkOptions(z.strictObject(emulatorOptions), options)
  const { permanentShare, transientShare, unreachableShare } = checked.network
  if (permanentShare + transientShare + unreachableShare > 1)
    throw new OptionsError('network: the shares of failures are more than 1 together.')
  return {
    ...checked,
    channels: resolveChannelNames(channels),
    proofOf: readCallbackProof(proof),
    clock: clock === undefined || typeof clock === 'function' ? systemClock(clock) : clock,
  }
}

/**
 * What a callback of this kind, with this payload, carries. Contract, service.md#webhook-security-pair, #callback-authenticity: the authKey
 * is in the body of every callback, and each is signed. What lists no `authKey`, such as the fields of the chat-app callback, does not
 * say that there is none: the default is both.
 */
function readCallbackProof(given: unknown = 'both') {
  if (typeof given !== 'object' || given === null) checkName('proof', 'proof', given, PROOFS)
  const all = PROOFS.find((one) => one === given)
  const proofs = checkOptions(proofSchema, all === undefined ? given : recordOf(PROOF_SUBJECTS, () => all), 'proof')
  return (kind: CallbackKind, { statuses }: Readonly<Record<string, unknown>>): Proof =>
    proofs[kind !== 'status' ? kind : isRecord(statuses) ? 'chat-app' : 'sms']
}

/** Throws an `OptionsError` for a name that does not exist. `where` is the call, `what` it names. */
export function checkName(where: string, what: string, name: unknown, known: readonly string[]): void {
  if (!known.some((other) => other === name))
    throw new OptionsError(`${where}: unknown ${what}. ${unknownName(name, known)}`)
}
