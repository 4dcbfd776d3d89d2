/** `dead-letters`: lists, shows, replays and discards the events whose handlers failed in every attempt. */
import type { DeadLetter, DeadLetters, RefusedEvent } from '../dispatch/dead-letters.ts'
import { everyPage } from '../inbox/lists.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import { command, commandGroup, JSON_LINE, JSON_LINES, toggle, usage, CliError } from './command.ts'
import { keptIn, printDetails, printPage } from './event-text.ts'
import { onStore, pageFlags, SPOOL_FLAG, STORE_FLAGS } from './stores.ts'
import { count, shown, type Colours, type Terminal } from './terminal.ts'

const list = command({
  flags: { ...STORE_FLAGS, ...SPOOL_FLAG, ...pageFlags(100), json: JSON_LINES },
  run: ({ after, limit, spool, json, ...flags }, terminal) =>
    onStore(flags, terminal, async (store, { spoolFolder }) => {
      const report = (error: MessagingWebhooksError): void => terminal.note(shown(error.message))
      const { deadLetters } = keptIn(store, spool ?? spoolFolder, report)
      const page = await deadLetters.list({ after, limit })
      const printRows = (letters: readonly DeadLetter[]): void => terminal.printRows(rowsOf(letters, terminal.colours))
      printPage(page, json, printRows, 'dead letters', terminal)
      if (after === undefined) printRefused(await deadLetters.refused(), json, terminal)
    }),
})

const show = command({
  argument: ['<id>', 'id of the dead letter'],
  flags: { ...STORE_FLAGS, json: JSON_LINE },
  run: (flags, terminal, [id = '']) =>
    onStore(flags, terminal, async (store) => {
      const letter = await keptIn(store).deadLetters.get(id)
      if (letter === undefined) throw notFound(id)
      if (flags.json) {
        terminal.printJson(letter)
        return
      }
      const { event, attempts, diedAt } = letter
      const died = `${diedAt.toISOString()}, after ${attempts} attempts`
      printDetails({ id, type: event.type, about: subjectOf(letter), died }, letter, terminal)
    }),
})

const IDS = ['[id...]', 'ids of the dead letters'] as const
const RESOLVE_FLAGS = { ...STORE_FLAGS, all: toggle('--all', 'all current dead letters') }

const replay = command({
  argument: IDS,
  flags: {
    ...RESOLVE_FLAGS,
    force: toggle('--force', 'with its own type, not as `late`, even if a later report of its message was dispatched'),
  },
  run: ({ all, force, ...flags }, terminal, ids) =>
    onStore(flags, terminal, async (store) => {
      const { deadLetters } = keptIn(store)
      const next = 'Handlers run in the receiver that has this store open, or in the next one that opens it.'
      const replayOne = (id: string): Promise<boolean> => deadLetters.replay(id, { force })
      await resolve(deadLetters, ids, all, replayOne, terminal, 'due again', next)
    }),
})

const discard = command({
  argument: IDS,
  flags: RESOLVE_FLAGS,
  run: (flags, terminal, ids) =>
    onStore(flags, terminal, async (store) => {
      const { deadLetters } = keptIn(store)
      await resolve(deadLetters, ids, flags.all, (id) => deadLetters.discard(id), terminal, 'discarded')
    }),
})

export const { define } = commandGroup(
  {
    list: { what: 'print the dead letters, oldest first', ...list },
    show: { what: 'print one dead letter with its payload and error', ...show },
    replay: { what: 'make dead letters due again; a receiver on this store runs their handlers', ...replay },
    discard: { what: 'discard dead letters; repeated callbacks remain duplicates', ...discard },
  },
  '`list` prints the ids in its first column.',
)

function rowsOf(letters: readonly DeadLetter[], { dim, red }: Colours): readonly (readonly string[])[] {
  return letters.map((letter) => [
    letter.id,
    dim(letter.diedAt.toISOString()),
    letter.event.type,
    shown(subjectOf(letter)),
    `${letter.attempts} attempts`,
    red(shown(letter.error.split('\n', 1)[0] ?? '')),
  ])
}

/** Events that never became dead letters, because the store refuses them. */
function printRefused(refused: readonly RefusedEvent[], json: boolean, terminal: Terminal): void {
  if (refused.length === 0) return
  const { dim, red } = terminal.colours
  if (json) for (const one of refused) terminal.printJson(one)
  else {
    terminal.note('Refused by the store, in the spool:')
    terminal.printRows(
      refused.map((one) => [
        one.id,
        dim(one.event.receivedAt.toISOString()),
        one.event.type,
        shown(subjectOf(one)),
        red(shown(one.error.split('\n', 1)[0] ?? '')),
      ]),
    )
  }
  terminal.note('Each start of a receiver tries them again. Please report the error to this package.')
}

/** Replays or discards the given dead letters, or all of them. `next` is printed if there was at least one. */
async function resolve(
  letters: DeadLetters,
  given: readonly string[],
  all: boolean,
  resolveOne: (id: string) => Promise<boolean>,
  terminal: Terminal,
  done: string,
  next?: string,
): Promise<void> {
  if (given.length === 0 && !all) throw usage('No dead letter was given.', 'Pass ids, or --all.')
  if (given.length > 0 && all) throw usage('Ids and --all cannot be combined.', 'Pass ids, or --all.')
  const ids = [...given]
  if (all)
    for await (const { items } of everyPage((after) => letters.list({ after }))) ids.push(...items.map(({ id }) => id))
  const missing: string[] = []
  for (const id of ids) if (!(await resolveOne(id))) missing.push(id)
  const resolved = ids.length - missing.length
  if (resolved > 0 || ids.length === 0) terminal.print(`${count(resolved, 'dead letter')} ${done}.`)
  if (resolved > 0 && next !== undefined) terminal.note(next)
  if (missing.length > 0) throw notFound(missing.join(', '))
}

function notFound(id: string): CliError {
  return new CliError('notFound', `There is no dead letter ${shown(id)}.`, '`dead-letters list` prints the ids.')
}

function subjectOf({ event }: Pick<DeadLetter, 'event'>): string {
  return 'messageId' in event ? event.messageId : (event.project ?? '')
}
