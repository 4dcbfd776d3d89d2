/**
 * Reports what would otherwise be repeated with every callback: the first guessed word of each network, the first misplaced report
 * of each kind of URL, and the first callback without a signature.
 */
import { MessagingWebhooksError, quoted } from '../public/errors.ts'
import type { CallbackKind } from '../public/events.ts'
import type { Logger } from '../runtime/logger.ts'

/** The sender chooses the names. */
const MAX_NETWORKS = 100

export function createFirstReports(report: (error: MessagingWebhooksError) => void, logger: Logger) {
  const networks = new Set<string>()
  const kinds = new Set<CallbackKind | undefined>()
  let isUnsignedLogged = false
  return {
    guessed(network: string): void {
      if (networks.size >= MAX_NETWORKS || networks.has(network)) return
      networks.add(network)
      report(new MessagingWebhooksError('word_guessed', `The network is ${quoted(network)}.`))
    },
    unsigned(): void {
      if (isUnsignedLogged) return
      isUnsignedLogged = true
      logger.warn(
        { code: 'signature_absent' },
        'A callback was accepted by its authKey alone: it has no `X-Service-Signature`, although a signing secret is configured. ' +
          'Check that no proxy removes the header. If the sender does not sign, set `proof: "authKey"`. Logged once.',
      )
    },
    misplaced(kind: CallbackKind | undefined): void {
      if (kinds.has(kind)) return
      kinds.add(kind)
      report(new MessagingWebhooksError('kind_differs', `The URL is of kind \`${kind ?? 'any'}\`.`))
    },
  }
}
