/** `receiver.doctor()`: an examination with the receiver's own pairs, and with what only its process knows. */
import type { CredentialsSource } from '../authenticity/credentials.ts'
import type { LivePair } from '../authenticity/pair.ts'
import { systemClock } from '../clock.ts'
import { OptionsError } from '../errors.ts'
import type { CallbackKind } from '../events.ts'
import type { Probes } from './answering.ts'
import type { AppFacts } from './facts.ts'
import type { Diagnosis } from './findings.ts'

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
  readonly credentials: Pick<CredentialsSource, 'pairsFor' | 'onlyProject'>
  readonly probes: Pick<Probes, 'watch'>
  readonly about: (kind: CallbackKind | undefined) => Promise<AppFacts>
}

export const ANSWER_TIMEOUT_MS = 10_000

export function createOwnDoctor(receiver: OwnReceiver): (options: DoctorOptions) => Promise<Diagnosis> {
  const { credentials, probes, about } = receiver
  // Probes go over a real network, whatever clock the receiver was given; to compare the two is a part of it.
  const clock = systemClock()

  return async ({ url, kind, project = credentials.onlyProject, timeoutMs = ANSWER_TIMEOUT_MS, keepAliveMs }) => {
    const [pair, ...others] = newestFirst(await credentials.pairsFor(project), clock.now())
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

/** What is on its way out stands behind. */
function newestFirst(pairs: Awaited<ReturnType<CredentialsSource['pairsFor']>>, nowMs: number): readonly LivePair[] {
  if (typeof pairs === 'string') return []
  return pairs
    .filter(({ notAfterMs }) => notAfterMs >= nowMs)
    .toSorted((a, b) => (a.notAfterMs < b.notAfterMs ? 1 : a.notAfterMs > b.notAfterMs ? -1 : 0))
}
