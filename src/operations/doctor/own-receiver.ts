/** The receiver's own process: what it knows of the app around it, and `receiver.doctor()`, which probes with its own pairs. */
import { pairsFor } from '../../verify/authenticate.ts'
import type { CredentialsSource, Pairs } from '../../verify/credentials.ts'
import type { LivePair } from '../../verify/pair.ts'
import { systemClock, withDeadline, type Clock } from '../../runtime/clock.ts'
import { isOurs, OptionsError } from '../../public/errors.ts'
import { EVENT_TYPES, REPORT_TYPES, type CallbackKind, type EventType } from '../../public/events.ts'
import type { NewEvent, StoreCapabilities } from '../../inbox/store.ts'
import type { Probes } from './answering.ts'
import type { Diagnosis } from './findings.ts'
import type { AppFacts } from './judging.ts'

/** Where a doctor sends its probes, and what is expected there. */
export interface DoctorOptions {
  /** The callback URL as it is registered at the service: http or https. */
  readonly url: string | URL
  /** The kind of callback that is registered for it. Default: whatever is mounted there. */
  readonly kind?: CallbackKind | undefined
  /** Whose pair to sign with, by display name. Default: the only project there is, or none. */
  readonly project?: string | undefined
  /** How long an answer may take. Milliseconds, 0 to 2,147,483,647. Default: 10,000. */
  readonly timeoutMs?: number | undefined
  /**
   * How long the proxy in front keeps idle connections; one probe waits for so long on an open one. Milliseconds, 0 to
   * 2,147,483,647. Default: none waits.
   */
  readonly keepAliveMs?: number | undefined
}

interface OwnReceiver {
  readonly credentials: CredentialsSource
  readonly probes: Pick<Probes, 'watch'>
  readonly about: (kind: CallbackKind | undefined) => Promise<AppFacts>
}

export const ANSWER_TIMEOUT_MS = 10_000

export function createOwnDoctor(receiver: OwnReceiver): (options: DoctorOptions) => Promise<Diagnosis> {
  const { credentials, probes, about } = receiver
  // Probes go over a real network and compare this machine's clock with the one that the receiver was given.
  const clock = systemClock()

  return async ({ url, kind, project = credentials.onlyProject, timeoutMs = ANSWER_TIMEOUT_MS, keepAliveMs }) => {
    const [pair, ...others] = newestFirst(await pairsFor(credentials, project), clock.now())
    if (pair === undefined)
      throw new OptionsError('doctor: there are no live credentials for this project; name another.')
    const { examine } = await import('./doctor.ts')
    return examine({
      url: new URL(url),
      kind,
      project,
      pair,
      oldPairs: others.filter((other) => other.project === pair.project),
      timeoutMs,
      keepAliveMs,
      clock,
      own: { watch: probes.watch(), about: () => about(kind) },
    })
  }
}

/** Pairs that end stand last. */
function newestFirst(pairs: Pairs, nowMs: number): readonly LivePair[] {
  if (typeof pairs === 'string') return []
  return pairs
    .filter(({ notAfterMs }) => notAfterMs >= nowMs)
    .toSorted((a, b) => (a.notAfterMs < b.notAfterMs ? 1 : a.notAfterMs > b.notAfterMs ? -1 : 0))
}

interface AboutOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  readonly capabilities: StoreCapabilities
  readonly lacksSpool: boolean
  /** False where the handlers run in another process. */
  readonly dispatch: boolean
  readonly isHandled: (type: EventType) => boolean
  readonly networks: () => readonly string[]
  readonly keepAliveMs: () => number | undefined
  /** Opens and queries the store. Rejects if it cannot be used. */
  readonly askStore: () => Promise<unknown>
}

/** What handlers may get from a URL of this kind, without types for callbacks that go wrong: the log reports those. */
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

export function createAboutApp(options: AboutOptions): (kind: CallbackKind | undefined) => Promise<AppFacts> {
  const { clock, storeTimeoutMs, capabilities, dispatch, isHandled } = options

  async function storeCode(): Promise<string | undefined> {
    try {
      const asked = options.askStore().then(() => undefined)
      return await withDeadline<string | undefined>(clock, storeTimeoutMs, asked, () => 'store_slow')
    } catch (error) {
      return isOurs(error) ? error.code : 'store_failed'
    }
  }

  return async (kind) => {
    const types = typesOf(kind)
    return {
      isProduction: process.env['NODE_ENV'] === 'production',
      store: { name: capabilities.name, isDurable: capabilities.durable, code: await storeCode() },
      lacksSpool: options.lacksSpool,
      unhandled: dispatch ? types.filter((type) => !isHandled(type)) : [],
      isAnyHandled: !dispatch || types.some(isHandled),
      networks: [...options.networks()],
      keepAliveMs: options.keepAliveMs(),
    }
  }
}

const MOST_NETWORKS = 8
const LONGEST_NETWORK = 40

/** Remembers the networks that sent unknown words and that `networks` does not name. */
export function createUnnamedNetworks(named: ReadonlyMap<string, unknown>) {
  const seen = new Set<string>()
  return {
    /** Only needed for events with oddities. */
    see({ record: { oddities, report } }: Pick<NewEvent, 'record'>): void {
      if (oddities?.includes('unknown_word') !== true || seen.size >= MOST_NETWORKS) return
      const network = report?.network
      if (network !== undefined && !named.has(network)) seen.add(network.slice(0, LONGEST_NETWORK))
    },
    list: (): readonly string[] => [...seen],
  }
}
