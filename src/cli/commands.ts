/** The commands. Each is loaded only when requested. The reference's tables derive from here. */
import type { Definition } from './command.ts'

export const COMMANDS: Readonly<Record<string, { readonly what: string; readonly load: () => Promise<Definition> }>> = {
  emulate: { what: 'run an emulator of the service', load: () => import('./emulate.ts') },
  listen: { what: 'print callbacks, and why one is refused', load: () => import('./listen.ts') },
  trigger: { what: 'sign callbacks and send them to a URL', load: () => import('./trigger.ts') },
  doctor: { what: 'find problems of a callback URL, and their fixes', load: () => import('./doctor.ts') },
  verify: { what: 'explain step by step why a signature holds or not', load: () => import('./verify.ts') },
  migrate: {
    what: 'create or update the tables of a store, or print their SQL',
    load: () => import('./migrate.ts'),
  },
  events: { what: 'list events, show one event, or the history of one message', load: () => import('./events.ts') },
  inspect: { what: 'open the inspector for a store in a browser on this machine', load: () => import('./inspect.ts') },
  'dead-letters': { what: 'list, show, replay or discard dead letters', load: () => import('./dead-letters.ts') },
  quarantine: { what: 'list refused requests, or verify them again', load: () => import('./quarantine.ts') },
  forget: { what: 'erase a person or a message from a store', load: () => import('./forget.ts') },
}
