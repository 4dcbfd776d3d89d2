/** `dead-letters`: lists, shows, replays and discards the events whose handlers failed in every attempt. */
import type { Command } from 'commander'
import type { DeadLetter, DeadLetters } from '../dispatch/dead-letters.ts'
import { everyPage } from '../inbox/pages.ts'
import { wholeNumber } from './arguments.ts'
import { CliError } from './exit-codes.ts'
import { keptIn, printDetails } from './kept-events.ts'
import { MOST_A_PAGE, onStore, type StoreOption } from './stores.ts'
import { shown, type Terminal } from './terminal.ts'

interface ListOptions extends StoreOption {
  readonly limit: number
  readonly after?: string
  readonly json?: true
}

interface ResolveOptions extends StoreOption {
  readonly all?: true
  readonly force?: true
}

export function define(command: Command, terminal: Terminal): void {
  command.addHelpText('after', '\n`list` prints the ids in its first column.')
  const list = command
    .command('list')
    .description('print the dead letters, oldest first')
    .option('--limit <number>', 'maximum number', wholeNumber(1, MOST_A_PAGE), 100)
    .option('--after <cursor>', 'continue after an earlier list')
    .option('--json', 'print one JSON object a line')
  onStore(list, terminal, (store) => printList(keptIn(store).deadLetters, list.opts(), terminal))
  const show = command
    .command('show')
    .description('print one dead letter with its payload and error')
    .argument('<id>', 'id of the dead letter')
    .option('--json', 'print it as one line of JSON')
  onStore(show, terminal, (store) => printOne(keptIn(store).deadLetters, show.args[0] ?? '', show.opts(), terminal))
  const replay = command
    .command('replay')
    .description('make dead letters due again; a receiver on this store runs their handlers')
    .argument('[id...]', 'ids of the dead letters')
    .option('--all', 'all current dead letters')
    .option('--force', 'with its own type, not as `late`, even if a later report of its message was dispatched')
  onStore(replay, terminal, (store) => {
    const { all, force } = replay.opts<ResolveOptions>()
    const { deadLetters } = keptIn(store)
    const next = 'Handlers run in the receiver that has this store open, or in the next one that opens it.'
    const one = (id: string): Promise<boolean> => deadLetters.replay(id, { force })
    return resolve(deadLetters, replay.args, { all, one, done: 'due again', next }, terminal)
  })
  const discard = command
    .command('discard')
    .description('discard dead letters; repeated callbacks remain duplicates')
    .argument('[id...]', 'ids of the dead letters')
    .option('--all', 'all current dead letters')
  onStore(discard, terminal, (store) => {
    const { all } = discard.opts<ResolveOptions>()
    const { deadLetters } = keptIn(store)
    return resolve(
      deadLetters,
      discard.args,
      { all, one: (id) => deadLetters.discard(id), done: 'discarded' },
      terminal,
    )
  })
}

async function printList(letters: DeadLetters, { limit, after, json }: ListOptions, terminal: Terminal): Promise<void> {
  const { items, next } = await letters.list({ after, limit })
  const { dim, red } = terminal.colours
  if (json) for (const letter of items) terminal.printJson(letter)
  else
    terminal.printRows(
      items.map((letter) => [
        letter.id,
        dim(letter.diedAt.toISOString()),
        letter.event.type,
        shown(subjectOf(letter)),
        `${letter.attempts} attempts`,
        red(shown(letter.error.split('\n', 1)[0] ?? '')),
      ]),
      'cut',
    )
  if (items.length === 0 && !json) terminal.note('There are no dead letters.')
  if (next !== undefined) terminal.note(`For more, pass --after ${next}`)
}

async function printOne(letters: DeadLetters, id: string, { json }: ListOptions, terminal: Terminal): Promise<void> {
  const letter = await letters.get(id)
  if (letter === undefined) throw notFound(id)
  const { event, attempts, diedAt, error } = letter
  if (json) terminal.printJson(letter)
  else
    printDetails(
      { id, type: event.type, about: subjectOf(letter), died: `${diedAt.toISOString()}, after ${attempts} attempts` },
      { event, error },
      terminal,
    )
}

interface Resolving {
  readonly all: true | undefined
  readonly one: (id: string) => Promise<boolean>
  readonly done: string
  /** Printed if at least one was resolved. */
  readonly next?: string
}

async function resolve(
  letters: DeadLetters,
  given: readonly string[],
  { all, one, done, next }: Resolving,
  terminal: Terminal,
): Promise<void> {
  if (given.length === 0 && !all) throw new CliError('usage', 'No dead letter was given.', 'Pass ids, or --all.')
  if (given.length > 0 && all) throw new CliError('usage', 'Ids and --all cannot be combined.', 'Pass ids, or --all.')
  const ids = [...given]
  if (all)
    for await (const { items } of everyPage((after) => letters.list({ after }))) ids.push(...items.map(({ id }) => id))
  const missing: string[] = []
  for (const id of ids) if (!(await one(id))) missing.push(id)
  const count = ids.length - missing.length
  if (count > 0 || ids.length === 0) terminal.print(`${count} ${count === 1 ? 'dead letter' : 'dead letters'} ${done}.`)
  if (count > 0 && next !== undefined) terminal.note(next)
  if (missing.length > 0) throw notFound(missing.join(', '))
}

function notFound(id: string): CliError {
  const hint = '`dead-letters list` prints the ids.'
  return new CliError('notFound', `There is no dead letter ${shown(id)}.`, hint)
}

function subjectOf({ event }: DeadLetter): string {
  return 'messageId' in event ? event.messageId : (event.project ?? '')
}
