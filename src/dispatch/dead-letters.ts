/** Dead letters, as users see them. */
import type { WebhookEvent } from '../events.ts'
import type { Awaitable, OpenStore, Page } from '../inbox/store.ts'
import type { Kept } from './revive.ts'

/** An event whose handlers failed in every attempt. */
export interface DeadLetter {
  /** The event's identity; what `receiver.replay` takes. */
  readonly id: string
  readonly attempts: number
  /** What a handler threw last: message and stack, at most 8 KiB, without keys. */
  readonly error: string
  readonly diedAt: Date
  readonly event: WebhookEvent
}

/** A page of dead letters, oldest first. */
export async function readDeadLetters(
  store: OpenStore<object>,
  revive: (kept: Kept) => Awaitable<WebhookEvent>,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<Page<DeadLetter>> {
  const { items: stored, next } = await store.deadLetters(page)
  const items: DeadLetter[] = []
  for (const { id, attempts, error, diedAtMs, record, raw } of stored) {
    const event = await revive({ id, late: false, record, raw })
    items.push({ id, attempts, error, diedAt: new Date(diedAtMs), event })
  }
  return next === undefined ? { items } : { items, next }
}
