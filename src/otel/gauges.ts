/** Metrics of accepted callbacks and of the receiver's state at each collection. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { BatchObservableResult, Meter } from '@opentelemetry/api'
import { CALLBACK_CHANNEL, type CallbackMessage } from '../public/channels.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import type { Receiver } from '../receiver/surface.ts'
import { harmless } from './attempts.ts'
import { ATTRIBUTES, instrument } from './names.ts'

/** Returns a function that unsubscribes. */
export function countCallbacks(receiver: object, meter: Meter): () => void {
  const callbacks = meter.createCounter(...instrument('messaging_webhooks.callbacks'))
  const count = harmless((message: unknown) => {
    // Only receivers publish to this channel.
    const { receiver: whose, kind, outcome, code } = message as CallbackMessage
    if (whose !== receiver) return
    callbacks.add(1, {
      [ATTRIBUTES.kind]: kind ?? 'any',
      [ATTRIBUTES.outcome]: outcome,
      ...(code !== undefined && { [ATTRIBUTES.errorType]: code }),
    })
  })
  subscribe(CALLBACK_CHANNEL, count)
  return () => void unsubscribe(CALLBACK_CHANNEL, count)
}

/** Returns a function that unsubscribes. Omits unknown values; an SDK may repeat the last known ones. */
export function observeState(receiver: Pick<Receiver, 'stats' | 'quarantine'>, meter: Meter): () => void {
  const storeUp = meter.createObservableGauge(...instrument('messaging_webhooks.store_up'))
  const unsettled = meter.createObservableGauge(...instrument('messaging_webhooks.unsettled'))
  const deadLetters = meter.createObservableGauge(...instrument('messaging_webhooks.dead_letters'))
  const running = meter.createObservableGauge(...instrument('messaging_webhooks.running'))
  const spooled = meter.createObservableGauge(...instrument('messaging_webhooks.spooled'))
  const quarantined = meter.createObservableGauge(...instrument('messaging_webhooks.quarantined'))
  const all = [storeUp, unsettled, deadLetters, running, spooled, quarantined]

  async function observe(result: BatchObservableResult): Promise<void> {
    const stats = await receiver.stats()
    result.observe(storeUp, stats.store === 'up' ? 1 : 0)
    if (stats.unsettled !== undefined) result.observe(unsettled, stats.unsettled)
    if (stats.deadLetters !== undefined) result.observe(deadLetters, stats.deadLetters)
    result.observe(running, stats.running)
    result.observe(spooled, stats.spooled)
    const counts = receiver.quarantine.counts()
    for (const name of QUARANTINE_CLASSES)
      result.observe(quarantined, counts[name], { [ATTRIBUTES.quarantineClass]: name })
  }
  meter.addBatchObservableCallback(observe, all)
  return () => meter.removeBatchObservableCallback(observe, all)
}
