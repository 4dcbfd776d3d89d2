/** Reports the first guessed word of each network: without `networks`, a wrong guess costs a message or repeats one. */
import { MessagingWebhooksError, quoted } from '../public/errors.ts'

/** The sender chooses the names. */
const MOST_NETWORKS = 100

export function createGuessWatch(report: (error: MessagingWebhooksError) => void): (network: string) => void {
  const reported = new Set<string>()
  return (network) => {
    if (reported.size >= MOST_NETWORKS || reported.has(network)) return
    reported.add(network)
    report(new MessagingWebhooksError('word_guessed', `The network is ${quoted(network)}.`))
  }
}
