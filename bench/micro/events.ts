/** Events as the inbox receives them, each new. */
import { newEvent } from '../../src/inbox/new-event.ts'
import type { NewEvent } from '../../src/messages/event-record.ts'
import { eachInTurn, type SampleCallback } from './samples.ts'

/** Each call makes a new event with its own idempotency key. */
export function freshEvents(): () => NewEvent {
  let serial = 0
  const templates = eachInTurn((sample) => eventOf(sample))
  const known = Array.from({ length: 1_000 }, templates)
  return () => {
    serial += 1
    const template = known[serial % known.length]
    if (template === undefined) throw new Error('There are no events.')
    const id = serial.toString(16).padStart(32, '0')
    return { ...template, id, messageKey: id, order: `${template.order.slice(0, -id.length)}${id}` }
  }
}

export function eventOf({ body, bytes }: SampleCallback): NewEvent {
  return newEvent(
    {
      kind: 'status',
      body,
      masked: bytes,
      proof: 'both',
      scope: undefined,
      project: 'My Shop',
      signedAt: undefined,
      arrivedAtMs: Date.now(),
    },
    { networks: new Map(), gapTimeoutMs: 1_000, toleranceSeconds: 300, dedupeKey: () => undefined },
  )
}
