/** `dead-letters`: lists, shows, replays and discards the events whose handlers failed in every attempt. */
import type { Command } from 'commander'
import { systemClock } from '../runtime/clock.ts'
import { everyDeadLetter, findDeadLetter, readDeadLetters, type DeadLetter } from '../dispatch/dead-letters.ts'
import type { OpenStore, Resolution } from '../inbox/store.ts'
import { wholeNumber } from './arguments.ts'
import { CliError } from './exit-codes.ts'
import { eventOf, printDetails, timeText } from './known-event.ts'
import { addStoreOptions, inStore, type StoreOption } from './stores.ts'
import { aligned, shown, type Terminal } from './terminal.ts'

interface ListOptions extends StoreOption {
  readonly limit: number
  readonly after?: string
  readonly json?: true
}

interface ResolveOptions extends StoreOption {
  readonly all?: true
  readonly force?: true
}

const MOST_A_PAGE = 10_000

export function define(command: Command, terminal: Terminal): void {
  command.addHelpText('after', `\nThe id of a dead letter is what \`list\` prints first.`)
  addStoreOptions(command.command('list'))
    .description('print the dead letters, oldest first')
    .option('--limit <number>', 'at most so many', wholeNumber(1, MOST_A_PAGE), 100)
    .option('--after <cursor>', 'go on where an earlier list ended')
    .option('--json', 'print one JSON object a line')
    .action((options: ListOptions) => inStore(options, terminal, (store) => list(store, options, terminal)))
  addStoreOptions(command.command('show'))
    .description('print one of them with its payload and its error')
    .argument('<id>', 'its id')
    .option('--json', 'print it as one line of JSON')
    .action((id: string, options: ListOptions) =>
      inStore(options, terminal, (store) => show(store, id, options, terminal)),
    )
  addStoreOptions(command.command('replay'))
    .description('make them due again; a receiver on this store runs their handlers')
    .argument('[id...]', 'their ids')
    .option('--all', 'every one that there is now')
    .option('--force', 'as itself, though a later report of its message was handed over meanwhile')
    .action((ids: string[], options: ResolveOptions) =>
      inStore(options, terminal, (store) => resolve(store, ids, options, options.force ? 'force' : 'replay', terminal)),
    )
  addStoreOptions(command.command('discard'))
    .description('give them up; they stay known as duplicates')
    .argument('[id...]', 'their ids')
    .option('--all', 'every one that there is now')
    .action((ids: string[], options: ResolveOptions) =>
      inStore(options, terminal, (store) => resolve(store, ids, options, 'discard', terminal)),
    )
}

async function list(store: OpenStore<object>, { limit, after, json }: ListOptions, terminal: Terminal): Promise<void> {
  const { items, next } = await readDeadLetters(store, eventOf, { after, limit })
  if (json) {
    for (const letter of items) terminal.printJson(letter)
  } else {
    const { dim, red } = terminal.colours
    const rows = items.map((letter) => [
      letter.id,
      dim(letter.diedAt.toISOString()),
      letter.event.type,
      shown(subjectOf(letter)),
      `${letter.attempts} attempts`,
      red(shown(firstLine(letter.error))),
    ])
    for (const line of aligned(rows)) terminal.print(line, 'cut')
    if (items.length === 0) terminal.note('There are no dead letters.')
  }
  if (next !== undefined) terminal.note(`There are more: --after ${next}`)
}

async function show(store: OpenStore<object>, id: string, { json }: ListOptions, terminal: Terminal): Promise<void> {
  const letter = await findDeadLetter(store, eventOf, id)
  if (letter === undefined) throw notFound(id)
  if (json) {
    terminal.printJson(letter)
    return
  }
  const { event, attempts, diedAt, error } = letter
  printDetails(
    {
      id,
      type: event.type,
      about: subjectOf(letter),
      project: event.project,
      happened: timeText(event.timestamp),
      received: `${event.receivedAt.toISOString()}, proved by ${event.proof}`,
      died: `${diedAt.toISOString()}, after ${attempts} attempts`,
    },
    { payload: event.payload ?? null, error },
    terminal,
  )
}

async function resolve(
  store: OpenStore<object>,
  given: readonly string[],
  { all }: ResolveOptions,
  resolution: Resolution,
  terminal: Terminal,
): Promise<void> {
  if (given.length === 0 && !all) throw new CliError('usage', 'No dead letter was named.', 'Give ids, or --all.')
  if (given.length > 0 && all) throw new CliError('usage', 'Ids and --all exclude each other.')
  const ids = [...given]
  if (all) for await (const { id } of everyDeadLetter(store, eventOf)) ids.push(id)
  // The store's own time may be ahead, where this machine's clock was set back.
  const nowMs = Math.max(systemClock().now(), store.latestNowMs ?? 0)
  const missing: string[] = []
  for (const id of ids) if (!(await store.resolve(id, resolution, nowMs))) missing.push(id)
  const done = ids.length - missing.length
  const what = resolution === 'discard' ? 'discarded' : 'due again'
  if (done > 0 || ids.length === 0) terminal.print(`${done} ${done === 1 ? 'dead letter' : 'dead letters'} ${what}.`)
  if (done > 0 && resolution !== 'discard')
    terminal.note('Handlers run in the receiver that has this store open, or in the next one that opens it.')
  const [first] = missing
  if (first !== undefined) throw notFound(missing.join(', '))
}

function notFound(id: string): CliError {
  return new CliError(
    'notFound',
    `There is no dead letter ${shown(id)}.`,
    '`dead-letters list` prints those that there are.',
  )
}

function subjectOf({ event }: DeadLetter): string {
  return 'messageId' in event ? event.messageId : (event.project ?? '')
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}
