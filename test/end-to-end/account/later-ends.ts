/** Ends that come when nobody awaits them any more, and ends that contradict the one before. */
import type { Delivery, Emulator } from 'messaging-webhooks/emulator'
import type { Balanced } from './balance.ts'

/** Of each three without an end, one is delivered after all, and one has failed; of some that have an end, the report says otherwise. */
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

/** What the service said of each message last, be it lost on its way: so the channel's own fields are there. */
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
