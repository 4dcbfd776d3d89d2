/** The records that settled last, so that a page of the newest events does not visit all records. */
const MOST = 1_024

export interface Recent {
  /** A record settled: an event of it ended at `endedMs`. */
  add(key: string, endedMs: number): void
  keys(): ReadonlySet<string>
  /** No event of any other settled record ended later. -Infinity if there is no other. */
  fromMs(): number
}

export function createRecent(): Recent {
  const ring: { readonly key: string; readonly latestMs: number }[] = []
  let next = 0
  /** A discarded dead letter ended when it died, which may be long ago. */
  let latestMs = -Infinity
  return {
    add(key, endedMs) {
      latestMs = Math.max(latestMs, endedMs)
      ring[next] = { key, latestMs }
      next = (next + 1) % MOST
    },
    keys: () => new Set(ring.map(({ key }) => key)),
    fromMs: () => (ring.length < MOST ? -Infinity : (ring[next]?.latestMs ?? -Infinity)),
  }
}
