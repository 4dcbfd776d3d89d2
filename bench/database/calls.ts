/** For programs that call a store directly: they open it without a receiver, and lease and settle what is due. */
import { performance } from 'node:perf_hooks'
import type { Awaitable, MessageStore, Store, StoreHost } from 'messaging-webhooks/store'
import { claim, settleAll } from '../../src/store-conformance/samples.ts'

/** `host`: what differs from a silent host by the clock of the machine. */
export function openAlone(store: Store<object>, host: Partial<StoreHost> = {}): Awaitable<MessageStore<object>> {
  return store.open({
    nowMs: () => Date.now(),
    wallMs: host.nowMs ?? (() => Date.now()),
    elapsedMs: () => performance.now(),
    onWork() {},
    report(error) {
      throw error
    },
    onLost() {},
    // The store releases no lease: each is settled soon.
    inFlight: () => 1,
    claims: true,
    ...host,
  })
}

/** Leases and settles at most `limit` due events. Returns their number. */
export async function settleDue(open: MessageStore<object>, limit: number): Promise<number> {
  const { claims } = await claim(open, { limit })
  const settled = claims.length === 0 ? [] : await settleAll(open, claims)
  return settled.filter((held) => held).length
}
