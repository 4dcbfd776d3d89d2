/** `events`: lists events, shows one event, or the history of one message. */
import { z } from 'zod'
import type { ListedEvent } from '../dispatch/listed-events.ts'
import { messageState } from '../inbox/latest.ts'
import { latestOf } from '../messages/views.ts'
import { filledPage } from '../inbox/lists.ts'
import { EVENT_STATES } from '../messages/views.ts'
import { messageKey } from '../messages/order.ts'
import { CARRIERS, EVENT_TYPES } from '../public/events.ts'
import { show as showRequest } from '../quarantine/surface.ts'
import { systemClock } from '../runtime/clock.ts'
import { command, commandGroup, flag, JSON_LINE, JSON_LINES, oneOf, readBy, repeatable, CliError } from './command.ts'
import { failureWords, keptIn, printDetails, printPage, standingOf, subjectOf } from './event-text.ts'
import { refusedAbout, refusedRows } from './refused.ts'
import { onStore, pageFlags, STORE_FLAGS } from './stores.ts'
import { shown, type Colours } from './terminal.ts'

const text = z.string().optional()
const time = readBy('Expected a time such as 2026-01-31T12:00:00Z.', (given) => new Date(given)).optional()

const list = command({
  flags: {
    ...STORE_FLAGS,
    ...pageFlags(50),
    types: repeatable('--type <type>', `of these types: ${EVENT_TYPES.join(', ')}`, oneOf(EVENT_TYPES)),
    project: flag('--project <name>', 'of this project', text),
    channel: flag('--channel <name>', 'of this channel, by its name in callbacks', text),
    carrier: flag('--carrier <name>', `of this carrier: ${CARRIERS.join(', ')}`, oneOf(CARRIERS).optional()),
    states: repeatable('--state <state>', `in these states: ${EVENT_STATES.join(', ')}`, oneOf(EVENT_STATES)),
    from: flag('--from <time>', 'from this time, for example 2026-01-31T12:00:00Z', time),
    to: flag('--to <time>', 'before this time', time),
    about: flag('--about <text>', 'with this message id or recipient', text),
    json: JSON_LINES,
  },
  run: ({ json, store: url, schema, prefix, after, ...filters }, terminal) =>
    onStore({ store: url, schema, prefix }, terminal, async (store) => {
      const { events } = keptIn(store)
      const query = { after, ...filters }
      const page = await filledPage(query, (next: typeof query) => events.list(next))
      printPage(page, json, (items) => terminal.printRows(rowsOf(items, terminal.colours)), 'events', terminal)
    }),
})

const show = command({
  argument: ['<id>', 'id of the event'],
  flags: { ...STORE_FLAGS, json: JSON_LINE },
  run: (flags, terminal, [id = '']) =>
    onStore(flags, terminal, async (store) => {
      const listed = await keptIn(store).events.get(id)
      if (listed === undefined)
        throw new CliError('notFound', `There is no event ${shown(id)}.`, '`events list` prints the ids.')
      if (flags.json) {
        terminal.printJson(listed)
        return
      }
      const { type, receivedAt, admittedAt } = listed
      const fields = {
        id,
        type: type ?? `${UNREADABLE}: only its id is left, to detect duplicates`,
        about: subjectOf(listed).join('  '),
        state: standingOf(listed, systemClock().now()),
        received: receivedAt?.toISOString(),
        admitted: admittedAt?.toISOString(),
      }
      printDetails(fields, listed, terminal)
    }),
})

const state = command({
  argument: ['<message>', 'the service’s id of the message'],
  flags: {
    ...STORE_FLAGS,
    project: flag('--project <name>', 'the project of the message, for a receiver with the option `projects`', text),
    json: JSON_LINE,
  },
  run: ({ project, json, ...flags }, terminal, [messageId = '']) =>
    onStore(flags, terminal, async (store, { spoolFolder }) => {
      const { print, printJson, printRows, note, colours } = terminal
      const [record] = await store.run([{ do: 'read', key: messageKey(project, messageId) }])
      const stored = record && latestOf(record)
      const latest = stored && messageState(stored)
      const reports = await keptIn(store).events.ofMessage(messageId, { project })
      const refused = await refusedAbout(spoolFolder, { messageId, project }, terminal)
      if (latest === undefined && reports.length + refused.length === 0)
        throw new CliError(
          'notFound',
          `There is no message ${shown(messageId)}${project === undefined ? '' : ` in project ${shown(project)}`}.`,
          project === undefined
            ? 'A receiver with `projects` stores messages by project: pass --project.'
            : 'A receiver without `projects` stores messages by id only: omit --project.',
        )
      if (json) {
        const masked = refused.map((request) => showRequest(request, { reveal: false, secrets: [] }))
        printJson({ messageId, project, latest, reports, refused: masked })
        return
      }
      if (latest !== undefined) {
        const { type, status, statusCode, occurredAt, receivedAt } = latest
        const words = [
          type,
          status ?? (statusCode === undefined ? undefined : `code ${statusCode}`),
          latest.type === 'message.failed' ? failureWords(latest.failure) : undefined,
          occurredAt === undefined ? `received ${receivedAt.toISOString()}` : `at ${occurredAt.toISOString()}`,
        ]
        print(`${colours.bold('latest')}  ${shown(words.filter((word) => word !== undefined).join('  '))}`)
      }
      if (reports.length > 0) {
        print(colours.bold('reports in order'))
        printRows(rowsOf(reports, colours), '  ')
      }
      if (refused.length > 0) {
        print(colours.bold('refused requests that name it, without a valid proof'))
        printRows(refusedRows(refused, colours), '  ')
        note('`messaging-webhooks quarantine reverify` verifies refused requests again.')
      }
    }),
})

export const { define } = commandGroup(
  {
    list: { what: 'print events, newest first', ...list },
    show: { what: 'print one event with its payload and state', ...show },
    state: { what: 'print one message: its latest state, and its reports in order', ...state },
  },
  '`list` prints the ids of events in its first column. The id of a message is the service’s own.',
)

const UNREADABLE = 'not stored, or unreadable'

/** Id, time (received, else the last known), type, subject and state. */
function rowsOf(events: readonly ListedEvent[], { dim, red }: Colours): readonly (readonly string[])[] {
  const nowMs = systemClock().now()
  return events.map((event) => [
    event.id,
    dim((event.receivedAt ?? event.admittedAt ?? event.at)?.toISOString() ?? ''),
    event.type ?? dim(UNREADABLE),
    subjectOf(event).map(shown).join('  '),
    (event.state === 'dead' ? red : dim)(standingOf(event, nowMs)),
  ])
}
