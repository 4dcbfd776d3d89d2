/** `holders`: lists the processes that have a store open, with their leases. */
import type { Command } from 'commander'
import { holdersOf, type StoreWorker } from '../inbox/known.ts'
import { CliError } from './exit-codes.ts'
import { onStore } from './stores.ts'
import { shown, type Terminal } from './terminal.ts'

export function define(command: Command, terminal: Terminal): void {
  command.option('--json', 'print one JSON object a line')
  onStore(command, terminal, async (store) => {
    const { json } = command.opts<{ readonly json?: true }>()
    const holders = await holdersOf(store)
    if (holders === undefined)
      throw new CliError('failed', 'This store does not record the processes that have it open.')
    if (json) for (const { isSelf: _, ...holder } of holders) terminal.printJson(holder)
    else
      terminal.printRows(
        holders.map((holder) => cells(holder, terminal)),
        'cut',
      )
    if (holders.length === 0) terminal.note('No process has this store open.')
  })
}

function cells({ id, name, since, silentMs, held }: StoreWorker, { colours: { dim, yellow } }: Terminal): string[] {
  const life = `heartbeat ${(silentMs / 1_000).toFixed(1)} s ago`
  return [
    id,
    shown(name),
    dim(since === undefined ? 'since unknown' : `since ${since.toISOString()}`),
    // A heartbeat is due every two seconds.
    silentMs > 4_000 ? yellow(life) : life,
    `holds ${held} ${held === 1 ? 'event' : 'events'}`,
  ]
}
