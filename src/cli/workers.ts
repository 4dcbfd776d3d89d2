/** `workers`: lists the processes that have a store open, with their leases. */
import { workersOf } from '../inbox/known.ts'
import { command, JSON_LINES } from './command.ts'
import { CliError } from './exit-codes.ts'
import { onStore, STORE_FLAGS } from './stores.ts'
import { shown } from './terminal.ts'

/** A heartbeat is due every two seconds. */
const LATE_HEARTBEAT_MS = 4_000

export const { define } = command({
  flags: { ...STORE_FLAGS, json: JSON_LINES },
  run: (flags, terminal) =>
    onStore(flags, terminal, async (store) => {
      const workers = await workersOf(store)
      if (workers === undefined)
        throw new CliError('failed', 'This store does not record the processes that have it open.')
      const { dim, yellow } = terminal.colours
      const cells = ({ id, name, since, silentMs, held }: (typeof workers)[number]): string[] => {
        const life = `heartbeat ${(silentMs / 1_000).toFixed(1)} s ago`
        return [
          id,
          shown(name),
          dim(`since ${since?.toISOString() ?? 'unknown'}`),
          silentMs > LATE_HEARTBEAT_MS ? yellow(life) : life,
          `holds ${held} ${held === 1 ? 'event' : 'events'}`,
        ]
      }
      if (flags.json) for (const { isSelf: _, ...worker } of workers) terminal.printJson(worker)
      else terminal.printRows(workers.map(cells), 'cut')
      if (workers.length === 0) terminal.note('No process has this store open.')
    }),
})
