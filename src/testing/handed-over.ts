/** Remembers what each receiver of this process handed over, from the moment in which this kit is imported. */
import { subscribe } from 'node:diagnostics_channel'
import { HANDED_OVER_CHANNEL, type HandedOver } from '../public/events.ts'

interface History {
  /** The newest last; no more than the latest thousand, so that a long run fills no memory. */
  readonly handedOver: HandedOver[]
  /** Called with each further one. */
  readonly listeners: Set<() => void>
}

const KEPT = 1_000

const histories = new WeakMap<object, History>()

/** What a receiver handed over so far, and from now on. */
export function historyOf(receiver: object): History {
  const known = histories.get(receiver)
  if (known !== undefined) return known
  const history: History = { handedOver: [], listeners: new Set() }
  histories.set(receiver, history)
  return history
}

subscribe(HANDED_OVER_CHANNEL, (message) => {
  // Only receiver.ts publishes there, and the two are of one package.
  const handedOver = message as HandedOver
  const history = historyOf(handedOver.receiver)
  history.handedOver.push(handedOver)
  if (history.handedOver.length > KEPT) history.handedOver.shift()
  for (const listener of history.listeners) listener()
})
