/** The stores that the soak test runs on, each on a server or a file of its own. */
import { memoryStore, type Store } from 'messaging-webhooks'
import { POSTGRES, REDIS, SQLITE, type EngineServer } from '../../support/servers/engines.ts'
import { storeOf } from '../../support/servers/store-spec.ts'

interface SoakedStore {
  readonly name: string
  /** Why the store cannot run on this machine. */
  readonly missing: () => string | undefined
  /** Opens the store for one test and removes its data afterwards. */
  readonly open: (onTestFinished: (remove: () => Promise<void>) => void) => Promise<Store>
}

export const SOAKED_STORES: readonly SoakedStore[] = [
  { name: 'memory', missing: () => undefined, open: async () => memoryStore() },
  ...[SQLITE, POSTGRES, REDIS].map(({ name, missing, start }): SoakedStore => {
    return { name, missing, open: (onTestFinished) => storeOnServer(start, onTestFinished) }
  }),
]

async function storeOnServer(
  start: () => Promise<EngineServer>,
  onTestFinished: (remove: () => Promise<void>) => void,
): Promise<Store> {
  const server = await start()
  onTestFinished(() => server.remove())
  return storeOf(server.spec('soak'))
}
