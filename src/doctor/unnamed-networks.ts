/** Remembers the networks whose words are in no table, and that nobody has named: `networks` would say whose words they are. */
import type { NewEvent } from '../inbox/store.ts'

interface UnnamedNetworks {
  /** Most events have no oddities, and need not be shown. */
  see(event: Pick<NewEvent, 'record'>): void
  list(): readonly string[]
}

const MOST = 8
const LONGEST = 40

export function createUnnamedNetworks(named: ReadonlyMap<string, unknown>): UnnamedNetworks {
  const seen = new Set<string>()
  return {
    see({ record: { oddities, report } }) {
      if (oddities?.includes('unknown_word') !== true || seen.size >= MOST) return
      const network = report?.network
      if (network !== undefined && !named.has(network)) seen.add(network.slice(0, LONGEST))
    },
    list: () => [...seen],
  }
}
