/** Formats events of a store. */
import { createDeadLetters } from '../dispatch/dead-letters.ts'
import { createEvents, type ListedEvent } from '../dispatch/listed-events.ts'
import { revive, type Kept, type ReviveOptions } from '../dispatch/revive.ts'
import type { Awaitable, OpenStore } from '../inbox/store.ts'
import { messageKey } from '../messages/order.ts'
import type { WebhookEvent } from '../public/events.ts'
import { systemClock } from '../runtime/clock.ts'
import { aboutOf, reportWords } from './event-line.ts'
import { storeNowMs } from './stores.ts'
import { shown, type Terminal } from './terminal.ts'

/** The app's schemas and `subscriptionType` are unknown here. Lateness is shown as a field of the event. */
const REVIVING: ReviveOptions = {
  clock: systemClock(),
  schemas: {},
  subscriptionType: undefined,
  late: 'inline',
  schemaTimeoutMs: 1_000,
}

function eventOf(kept: Kept): Awaitable<WebhookEvent> {
  return revive(kept, REVIVING)
}

/** `receiver.events` and `receiver.deadLetters` without a receiver. */
export function keptIn(store: OpenStore<object>) {
  const reading = { open: () => store, revive: eventOf }
  return {
    events: createEvents({
      ...reading,
      reviving: REVIVING,
      keyOf: (messageId, project) => messageKey(project, messageId),
    }),
    deadLetters: createDeadLetters({ ...reading, now: () => storeNowMs(store), wake() {} }),
  }
}

/** The subject of an event, even if its payload is no longer stored. */
export function subjectOf({ event, report, project }: ListedEvent): readonly string[] {
  if (event !== undefined) return aboutOf(event)
  return [...(report === undefined ? [] : reportWords(report)), ...(project === undefined ? [] : [`[${project}]`])]
}

/** The state in a few words: “dead after 5 attempts”, “due again at …, after 1 attempt”. */
export function standingOf({ state, attempts, dueAt, endedAt, late }: ListedEvent, nowMs: number): string {
  const times = attempts === undefined ? '' : attempts === 1 ? '1 attempt' : `${attempts} attempts`
  const afterTimes = times && `, after ${times}`
  const words = {
    due: () => (attempts === 0 ? `due${at(dueAt)}` : `due again${at(dueAt)}${afterTimes}`),
    leased: () =>
      dueAt !== undefined && dueAt.getTime() < nowMs
        ? `lease expired${at(dueAt)}, not settled${afterTimes}`
        : `leased until${at(dueAt)}${times && `, for attempt ${attempts ?? ''}`}`,
    settled: () => `settled${at(endedAt)}${afterTimes}`,
    dead: () => `dead${at(endedAt)}${afterTimes}`,
  }[state]()
  return late === true ? `late, ${words}` : words
}

function at(time: Date | undefined): string {
  return time === undefined ? '' : ` ${time.toISOString()}`
}

/** Prints a page of a list: its items as rows or as JSON, and how to get the next one. */
export function printPage<T extends object>(
  { items, next }: { readonly items: readonly T[]; readonly next?: string | undefined },
  json: boolean,
  printRows: (items: readonly T[]) => void,
  what: string,
  { printJson, note }: Terminal,
): void {
  if (json) for (const item of items) printJson(item)
  else printRows(items)
  if (items.length === 0) note(`There are no ${what}.`)
  if (next !== undefined) note(`For more, pass --after ${next}`)
}

/** Prints one event in full: its fields in two columns, its payload and its error. */
export function printDetails(
  fields: Readonly<Record<string, string | undefined>>,
  { event, error }: Pick<ListedEvent, 'event' | 'error'>,
  { print, printRows, colours: { bold } }: Terminal,
): void {
  const known = event && {
    project: event.project,
    happened: event.occurredAt?.toISOString() ?? 'unknown',
    received: `${event.receivedAt.toISOString()}, proved by ${event.proof}`,
  }
  const rows = Object.entries({ ...fields, ...known }).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[bold(name), shown(value)]],
  )
  printRows(rows)
  const parts = { payload: event && JSON.stringify(event.payload ?? null, undefined, 2), error }
  for (const [title, text] of Object.entries(parts)) {
    if (text === undefined) continue
    print(bold(title))
    for (const line of text.split('\n')) print(`  ${shown(line)}`)
  }
}
