/**
 * Reports what would otherwise be repeated with every callback: the first guessed word of each network, and the first misplaced
 * report of each kind of URL.
 */
import { MessagingWebhooksError, quoted } from '../public/errors.ts'
import type { CallbackKind } from '../public/events.ts'

/** The sender chooses the names. */
const MAX_NETWORKS = 100

export function createFirstReports(report: (error: MessagingWebhooksError) => void) {
  const networks = new Set<string>()
  const kinds = new Set<CallbackKind | undefined>()
  return {
    guessed(network: string): void {
      if (networks.size >= MAX_NETWORKS || networks.has(network)) return
      networks.add(network)
      report(new MessagingWebhooksError('word_guessed', `The network is ${quoted(network)}.`))
    },
    misplaced(kind: CallbackKind | undefined): void {
      if (kinds.has(kind)) return
      kinds.add(kind)
      report(new MessagingWebhooksError('kind_differs', `The URL is of kind \`${kind ?? 'any'}\`.`))
    },
  }
}
