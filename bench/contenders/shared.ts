/** The stores that several processes can share. */
import { STORES, type StoreEntry } from './stores.ts'

export const SHARED_STORES = {
  postgres: STORES.postgres,
  mysql: STORES.mysql,
  redis: STORES.redis,
  sqlite: STORES.sqlite,
} as const satisfies Readonly<Record<string, StoreEntry>>

export type SharedStore = keyof typeof SHARED_STORES

export function isSharedStore(name: string | undefined): name is SharedStore {
  return name !== undefined && Object.hasOwn(SHARED_STORES, name)
}

/** The stores that STORES names, with commas between; all of them by default. */
export function chosenStores(): readonly SharedStore[] {
  return (process.env['STORES'] ?? Object.keys(SHARED_STORES).join(',')).split(',').map((name) => {
    if (isSharedStore(name)) return name
    throw new Error(`STORES names “${name}”; pass ${Object.keys(SHARED_STORES).join(', ')}.`)
  })
}
