/** From a callback that is due to the requests that were made for it. Contract, service.md#delivery-rules: nothing is retried. */
import type { Clock } from '../clock.ts'
import type { CallbackKind } from '../events.ts'
import type { ProofOf } from './callback-proof.ts'
import type { Delivery, Sender } from './callbacks/outgoing.ts'
import { withoutCredentials } from './callbacks/web-url.ts'
import type { Project } from './projects.ts'

type Fields = Readonly<Record<string, unknown>>

interface Outbox {
  /** Never rejects. `key` is the callback's own name in this run. */
  post(project: Project, kind: CallbackKind, payload: Fields, key: string): Promise<readonly Delivery[]>
  /** Resolves when nothing is under way. */
  idle(): Promise<void>
}

interface OutboxParts {
  readonly sender: Sender
  readonly clock: Pick<Clock, 'now'>
  readonly proofOf: ProofOf
  readonly record: (delivery: Delivery) => void
  /** A callback for which the project has no URL. */
  readonly recordWithoutUrl: () => void
}

export function createOutbox({ sender, clock, proofOf, record, recordWithoutUrl }: OutboxParts): Outbox {
  async function post(project: Project, kind: CallbackKind, payload: Fields, key: string) {
    const { name, callbackUrls, enforceHttps } = project.state()
    const url = callbackUrls[kind]
    if (url === undefined) {
      recordWithoutUrl()
      return []
    }
    const { authKey, signingSecret } = project.keys()
    if (enforceHttps && !url.toLowerCase().startsWith('https:')) {
      const refused = notSent({ kind, project: name, url, payload }, clock.now())
      record(refused)
      return [refused]
    }
    const previous = project.previousPair()
    return sender.send({
      url,
      kind,
      project: name,
      authKey,
      signingSecret,
      proof: proofOf(kind, payload),
      ...(previous === undefined
        ? undefined
        : { previousAuthKey: previous.authKey, previousSigningSecret: previous.signingSecret }),
      payload,
      key,
    })
  }

  return { post, idle: () => sender.idle() }
}

/** Contract, service.md#webhook-security-pair, Enforce HTTPS: where the URL is plain http, the service refuses to send. */
function notSent(about: Pick<Delivery, 'kind' | 'project' | 'url' | 'payload'>, nowMs: number): Delivery {
  return {
    ...about,
    url: withoutCredentials(about.url),
    sentAtMs: nowMs,
    tookMs: 0,
    faults: [],
    intact: false,
    sent: false,
    error: 'enforceHttps is on and the callback URL is plain http',
  }
}
