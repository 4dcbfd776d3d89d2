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
} from '../runtime/check-options.ts'
import { LONGEST_TIMER_MS, systemClock, type Clock } from '../runtime/clock.ts'
import { CARRIERS } from '../public/events.ts'
import { recordOf } from '../runtime/record-of.ts'
import { OptionsError } from '../public/errors.ts'
import type { CallbackKind, Proof } from '../public/events.ts'
import { channelNamesSchema, resolveChannelNames } from './channels.ts'
import { readFaultRates, readSendFaultRates } from './faults.ts'
import { webUrl } from './http.ts'
import { PROJECT_DEFAULTS } from './not-shown.ts'
import { DEFAULT_NETWORK } from './outcomes.ts'
import type { EmulatorOptions, ProofSubject } from './surface.ts'

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

const keyFields = { apiKey: key.optional(), authKey: key.optional(), signingSecret: key.optional() }

/** The arguments of the emulator's methods. */
export const patchSchema = z.strictObject(patchFields)
export const keysSchema = z.strictObject(keyFields)
export const ofProjectSchema = z.strictObject({ project: key.optional() })
export const idleSchema = z.strictObject({ deadlineMs: milliseconds.default(10_000) })

const projectSchema = z.strictObject({ name: key, ...keyFields, ...patchFields })

const delay = wholeNumberFrom(0, LONGEST_TIMER_MS)

const networkSchema = z.strictObject({
  carrierAShare: share.default(DEFAULT_NETWORK.carrierAShare),
  transientShare: share.default(DEFAULT_NETWORK.transientShare),
  permanentShare: share.default(DEFAULT_NETWORK.permanentShare),
  unreachableShare: share.default(DEFAULT_NETWORK.unreachableShare),
  readShare: share.default(DEFAULT_NETWORK.readShare),
  delayMs: z
    .tuple([delay, delay], 'expected the least and the most milliseconds')
    .refine(([least, most]) => least <= most, 'expected the least first')
    .default([...DEFAULT_NETWORK.delayMs]),
  retries: wholeNumberFrom(0, MOST_RETRIES).default(DEFAULT_NETWORK.retries),
  retryDelayMs: milliseconds.default(DEFAULT_NETWORK.retryDelayMs),
  names: z
    .partialRecord(z.enum(CARRIERS), key)
    .transform((names) => recordOf(CARRIERS, (carrier) => names[carrier] ?? DEFAULT_NETWORK.names[carrier]))
    .default(DEFAULT_NETWORK.names),
})

const PROOFS = ['both', 'authKey', 'signature'] as const satisfies readonly Proof[]
const proof = z.enum(PROOFS).default('both')
const proofSchema = z.strictObject({
  sms: proof,
  'chat-app': proof,
  received: proof,
  payment: proof,
  subscription: proof,
} satisfies Record<ProofSubject, typeof proof>)

/** What a callback of this kind, with this payload, carries. */
type ProofOf = (kind: CallbackKind, payload: Readonly<Record<string, unknown>>) => Proof

const optionsSchema = z.strictObject({
  projects: z
    .array(projectSchema)
    .min(1, 'expected at least one project')
    .refine(
      (projects) => new Set(projects.map(({ name }) => name)).size === projects.length,
      'two have the same name, and expected are names of their own',
    )
    .default([{ name: PROJECT_DEFAULTS.name }]),
  channels: channelNamesSchema.optional(),
  network: networkSchema.prefault({}),
  faults: z.unknown().optional(),
  sendFaults: z.unknown().optional(),
  proof: z.unknown().optional(),
  clock: z
    .union(
      [functionLike, objectLike('a clock', 'now', 'setTimer')],
      'expected a function that returns milliseconds, or a clock with now and setTimer',
    )
    .optional(),
  seed: z.union([z.number(), z.string()], 'expected a number or a text').default(1),
  controlToken: key.optional(),
  callbackTimeoutMs: numberFrom(1, LONGEST_TIMEOUT_MS, 'milliseconds').default(10_000),
  keep: wholeNumberFrom(0, MOST_KEPT).default(100_000),
  ca: z.union([z.string(), z.instanceof(Buffer)], 'expected PEM, as text or bytes').optional(),
})

/** Throws an `OptionsError` that names what is wrong. */
export function resolveEmulatorOptions(options: EmulatorOptions) {
  const checked = checkOptions(optionsSchema, options)
  const { network } = checked
  if (network.permanentShare + network.transientShare + network.unreachableShare > 1)
    throw new OptionsError('network: the shares of failures are more than 1 together.')
  return {
    ...checked,
    channels: resolveChannelNames(checked.channels),
    faults: readFaultRates(checked.faults),
    sendFaults: readSendFaultRates(checked.sendFaults),
    proofOf: readCallbackProof(checked.proof),
    clock: clockOf(options.clock),
  }
}

/**
 * Contract, service.md#webhook-security-pair, #callback-authenticity: the authKey is in the body of every callback, and each is signed.
 * What lists no `authKey`, such as the fields of the chat-app callback, does not say that there is none: the default is both.
 */
function readCallbackProof(given: unknown = 'both'): ProofOf {
  if (typeof given === 'object' && given !== null) {
    const proofs = checkOptions(proofSchema, given, 'proof')
    return (kind, { statuses }) => {
      if (kind !== 'status') return proofs[kind]
      return proofs[typeof statuses === 'object' && statuses !== null ? 'chat-app' : 'sms']
    }
  }
  const all = PROOFS.find((one) => one === given)
  if (all === undefined) throw new OptionsError(`proof: there is no such proof. ${unknownName(given, PROOFS)}`)
  return () => all
}

/** Throws an `OptionsError` for a name that does not exist. `where` is the call, `what` it names. */
export function checkName(where: string, what: string, name: string, known: readonly string[]): void {
  if (!known.includes(name)) throw new OptionsError(`${where}: there is no such ${what}. ${unknownName(name, known)}`)
}

function clockOf(clock: EmulatorOptions['clock']): Clock {
  return clock === undefined || typeof clock === 'function' ? systemClock(clock) : clock
}
