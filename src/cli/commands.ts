/** The commands. Each is loaded only when requested. The reference's table derives from here. */
import type { Command } from 'commander'
import type { Terminal } from './terminal.ts'

interface CommandModule {
  /** Adds arguments, options and the action. */
  define(command: Command, terminal: Terminal): void
}

interface CommandRow {
  readonly what: string
  readonly load: () => Promise<CommandModule>
}

export const COMMANDS: Readonly<Record<string, CommandRow>> = {
  emulate: { what: 'play the sending service, locally', load: () => import('./emulate.ts') },
  listen: { what: 'print the callbacks that come, and why one is refused', load: () => import('./listen.ts') },
  trigger: { what: 'sign callbacks and send them to a URL', load: () => import('./trigger.ts') },
  doctor: { what: 'say what is wrong with a callback URL, and how to mend it', load: () => import('./doctor.ts') },
  verify: { what: 'say step by step why a signature holds or not', load: () => import('./verify.ts') },
  migrate: { what: 'make the tables of a Postgres store, or print their SQL', load: () => import('./migrate.ts') },
  events: { what: 'list what came, show one event, or one message’s life', load: () => import('./events.ts') },
  inspect: { what: 'open the inspector on a store, in a browser on this machine', load: () => import('./inspect.ts') },
  holders: {
    what: 'list the processes that have a store open, and what each holds',
    load: () => import('./holders.ts'),
  },
  'dead-letters': { what: 'list, show, replay or discard dead letters', load: () => import('./dead-letters.ts') },
  forget: { what: 'remove a person or a message from a store', load: () => import('./forget.ts') },
}
