/** Final states that arrive after the wait for them ended, and final states that contradict the previous one. */
import type { Delivery, Emulator } from 'messaging-webhooks/emulator'
import type { Balanced } from './balance.ts'

/** Of every three messages without a final state, one is delivered after all and one fails; some that have one get a contradicting report. */
export async function postLaterEnds(emulator: Emulator, messages: readonly Balanced[]): Promise<void> {
  const payloads = lastPayloads(emulator.deliveries())
  const posted = messages.map(async ({ messageId, ends }, nth) => {
    const payload = payloads.get(messageId)
    if (payload === undefined) return
    if (ends.length === 0 && nth % 3 > 0) await emulator.callback('status', laterEnd(payload, nth % 3 === 1))
    else if (ends.length > 0 && nth % 20 === 0) await emulator.callback('status', laterEnd(payload, nth % 40 === 0))
  })
  await Promise.all(posted)
}

/** The service's last report of each message, even if it was lost on its way, so that the channel's own fields are present. */
function lastPayloads(deliveries: readonly Delivery[]): ReadonlyMap<string, Delivery['payload']> {
  const payloads = new Map<string, Delivery['payload']>()
  for (const { kind, payload } of deliveries) {
    const { messageId, statuses } = payload
    const id: unknown =
      typeof statuses === 'object' && statuses !== null && 'message_id' in statuses ? statuses.message_id : messageId
    if (kind === 'status' && typeof id === 'string') payloads.set(id, payload)
  }
  return payloads
}

function laterEnd({ statuses, ...payload }: Delivery['payload'], isDelivered: boolean): Delivery['payload'] {
  if (typeof statuses === 'object' && statuses !== null)
    return { ...payload, statuses: { ...statuses, status: isDelivered ? 'delivered' : 'failed' } }
  const status = isDelivered ? 'success' : 'delivery_impossible'
  return { ...payload, status, network: 'carrier-a', timestamp: Math.floor(Date.now() / 1_000) }
}
