/** What the page is told first: what its reader may do, and what there is to choose from. */
import { CARRIERS, EVENT_TYPES } from '../events.ts'
import { QUARANTINE_CLASSES } from '../quarantine/request.ts'
import { readVersion } from '../version.ts'
import type { Inside } from './inside.ts'
import type { Rights } from './rights.ts'
import type { Session } from './shapes.ts'

export function createSession({ capabilities, projects }: Inside, storeAlone: boolean): (rights: Rights) => Session {
  const version = readVersion()
  const { name, durable, listsEvents } = capabilities
  return ({ write, reveal, who }) => ({
    may: { write, reveal },
    ...(who !== undefined && { who }),
    version,
    ...(storeAlone && { storeAlone }),
    store: { name, listsEvents: listsEvents === true, durable },
    types: EVENT_TYPES,
    projects: projects(),
    carriers: CARRIERS,
    quarantineClasses: QUARANTINE_CLASSES,
  })
}
