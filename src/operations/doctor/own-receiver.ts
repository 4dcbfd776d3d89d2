/** `receiver.doctor()`: sends a probe with the receiver's own pair, and checks the app around it. */
import { z } from 'zod'
import { pairsFor } from '../../verify/authenticate.ts'
import type { CredentialsSource, Pairs, LivePair } from '../../verify/credentials.ts'
import { checkOptions, expected, numberFrom, textOf, type Given } from '../../runtime/check-options.ts'
import { LONGEST_TIMER_MS, systemClock, withDeadline, type Clock } from '../../runtime/clock.ts'
import { isOurs, OptionsError } from '../../public/errors.ts'
import { CALLBACK_KINDS, EVENT_TYPES, REPORT_TYPES, type CallbackKind, type EventType } from '../../public/events.ts'
import type { StoreCapabilities } from '../../inbox/store.ts'
import type { Probes } from './protocol.ts'
import { finding, type DoctorReport, type DoctorFinding } from './findings.ts'

export const ANSWER_TIMEOUT_MS = 10_000

const doctorOptions = {
  /** The callback URL as registered at the service: http or https. */
  url: expected<string | URL>('an http or https URL, such as http://localhost:3000/webhooks/status', isWebUrl),
  /** The kind of callback registered for the URL. Default: the mounted kind. */
  kind: z.enum(CALLBACK_KINDS).optional(),
  /** Display name of the project whose pair signs the probe. Default: the only project, or none. */
  project: textOf('the display name of a project').optional(),
  /** Timeout of the answer. Milliseconds, 0 to 2,147,483,647. Default: 10,000. */
  timeoutMs: numberFrom(0, LONGEST_TIMER_MS, 'milliseconds').default(ANSWER_TIMEOUT_MS),
}
const optionsSchema = z.strictObject(doctorOptions)

/** Options of `receiver.doctor()`: the URL to probe, and what is registered for it. */
export interface DoctorOptions extends Given<typeof doctorOptions> {}

function isWebUrl(url: unknown): boolean {
  const protocol = typeof url === 'string' || url instanceof URL ? URL.parse(String(url))?.protocol : undefined
  return protocol === 'http:' || protocol === 'https:'
}

interface OwnReceiver {
  readonly credentials: CredentialsSource
  readonly probes: Pick<Probes, 'expect'>
  readonly clock: Clock
  readonly storeTimeoutMs: number
  readonly capabilities: StoreCapabilities
  /** False if the handlers run in another process. */
  readonly dispatch: boolean
  readonly isHandled: (type: EventType) => boolean
  /** Opens and queries the store. Rejects if it cannot be used. */
  readonly askStore: () => Promise<unknown>
}

export function createOwnDoctor(own: OwnReceiver): (options: DoctorOptions) => Promise<DoctorReport> {
  const { credentials, probes } = own
  // Probes go over a real network and compare this machine's clock with the one that the receiver was given.
  const clock = systemClock()

  return async (options) => {
    const asked = checkOptions(optionsSchema, options, 'doctor')
    const { url, kind, project = credentials.onlyProject, timeoutMs } = asked
    const pair = newestOf(await pairsFor(credentials, project), clock.now())
    if (pair === undefined)
      throw new OptionsError('doctor: this project has no live credentials. Pass another `project`.')
    const { examine } = await import('./doctor.ts')
    return examine({
      url: new URL(url),
      kind,
      project,
      pair,
      timeoutMs,
      clock,
      own: { expect: probes.expect, app: () => examineApp(own, kind) },
    })
  }
}

/** The live pair that is valid longest: a pair that was rotated out has a `notAfter`. */
function newestOf(pairs: Pairs, nowMs: number): LivePair | undefined {
  if (typeof pairs === 'string') return undefined
  const latestMs = Math.max(...pairs.map(({ notAfterMs }) => notAfterMs))
  return pairs.find(({ notAfterMs }) => notAfterMs === latestMs && notAfterMs >= nowMs)
}

/** Checks that are independent of the network. */
async function examineApp(app: OwnReceiver, kind: CallbackKind | undefined): Promise<readonly DoctorFinding[]> {
  const unhandled = app.dispatch ? typesOf(kind).filter((type) => !app.isHandled(type)) : []
  const handlers =
    unhandled.length === 0 ? finding('handlers_listen') : finding('types_unhandled', `Types: ${unhandled.join(', ')}.`)
  return [await findStore(app), handlers]
}

async function findStore({ clock, storeTimeoutMs, capabilities, askStore }: OwnReceiver): Promise<DoctorFinding> {
  const away = (code: string): DoctorFinding => finding('store_away', `Store: ${capabilities.name} (${code}).`)
  try {
    const asked = askStore().then(() => finding('store_answers'))
    return await withDeadline(clock, storeTimeoutMs, asked, () => away('store_slow'))
  } catch (error) {
    return away(isOurs(error) ? error.code : 'store_failed')
  }
}

/** The event types that a URL of this kind can produce. Excludes types of malformed callbacks, which the log reports. */
function typesOf(kind: CallbackKind | undefined): readonly EventType[] {
  switch (kind) {
    case 'received':
    case 'payment':
      return [kind]
    case 'subscription':
      return EVENT_TYPES.filter((type) => type.startsWith('subscription.') && type !== 'subscription.other')
    default:
      return REPORT_TYPES
  }
}
