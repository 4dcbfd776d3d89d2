/**
 * Lists that observers read, page by page, and their filters. Stores keep no index for the filters, because an index would slow
 * down admission.
 */
import type { StoredEvent } from '../messages/views.ts'
import type { EventFilter, Page } from './store.ts'
import type { Expectation } from '../messages/expected.ts'
import { typeOfRecord, type EventRecord } from '../messages/event-record.ts'

/** All pages, until one has no `next`. */
export async function* everyPage<P extends { readonly next?: string | undefined }>(
  ask: (after: string | undefined) => P | PromiseLike<P>,
): AsyncGenerator<P> {
  let after: string | undefined
  do {
    const page = await ask(after)
    yield page
    after = page.next
  } while (after !== undefined)
}

/** Fills one page from a list that a store searches in bounded steps, with at most `mostCalls` calls. */
export async function filledPage<
  T,
  Q extends { readonly after: string | undefined; readonly limit: number },
  P extends Page<T>,
>(query: Q, ask: (query: Q) => PromiseLike<P & Page<T>>, mostCalls = Infinity): Promise<P> {
  let page = await ask(query)
  let items: readonly T[] = page.items
  for (let calls = 1; calls < mostCalls && page.next !== undefined && items.length < query.limit; calls += 1) {
    page = await ask({ ...query, after: page.next, limit: query.limit - items.length })
    items = [...items, ...page.items]
  }
  return { ...page, items }
}

/** Maximum number of events that one call searches. */
export const MAX_EXAMINED = 20_000
/** Maximum number of sends that one call searches. */
export const MAX_SENDS_EXAMINED = 5_000

export function isFiltered(filter: EventFilter): boolean {
  const { types, project, channel, carrier, about, states, fromMs, toMs } = filter
  return [types, project, channel, carrier, about, states, fromMs, toMs].some((each) => each !== undefined)
}

export function matches(filter: EventFilter, event: StoredEvent): boolean {
  const { states, fromMs, toMs } = filter
  const { state, atMs, record, late } = event
  if (states !== undefined && !states.includes(state)) return false
  if (!isInTime(filter, atMs ?? (fromMs === undefined && toMs === undefined ? 0 : undefined))) return false
  if (!isAboutRecords(filter)) return true
  return record !== undefined && recordMatches(filter, record, late === true)
}

/** An unknown time is in no range. */
function isInTime({ fromMs = -Infinity, toMs = Infinity }: EventFilter, atMs: number | undefined): boolean {
  return atMs !== undefined && atMs >= fromMs && atMs < toMs
}

function isAboutRecords({ types, project, channel, carrier, about }: EventFilter): boolean {
  return [types, project, channel, carrier, about].some((each) => each !== undefined)
}

function recordMatches(filter: EventFilter, record: EventRecord, late: boolean): boolean {
  const { types, project, channel, carrier, about } = filter
  const { report, messageId } = record
  return (
    (types === undefined ||
      types.includes(typeOfRecord(record)) ||
      (late && report !== undefined && types.includes('late'))) &&
    (project === undefined || record.project === project) &&
    (channel === undefined || report?.channel === channel) &&
    (carrier === undefined || report?.carrier === carrier) &&
    (about === undefined || about.some((one) => [messageId, report?.messageId, report?.recipient].includes(one)))
  )
}

/**
 * The JSON of a matching record contains at least one string of each list. An engine searches the bytes for them, so that it
 * decodes few records. `matches` rejects records that match by accident.
 */
export function needlesOf({ types, project, channel, carrier, about }: EventFilter): readonly (readonly string[])[] {
  const needles: (readonly string[])[] = []
  // No single string identifies records of these two types.
  if (types !== undefined && !types.includes('unrecognized') && !types.includes('late'))
    needles.push(types.map(needleOfType))
  if (project !== undefined) needles.push([field('project', project)])
  if (channel !== undefined) needles.push([field('channel', channel)])
  if (carrier !== undefined) needles.push([field('carrier', carrier)])
  if (about !== undefined) needles.push(about.flatMap((one) => [field('messageId', one), field('recipient', one)]))
  return needles
}

export function isSentTo(wanted: readonly string[], { to }: Expectation): boolean {
  return to !== undefined && wanted.includes(to)
}

function field(name: string, value: string): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}

function needleOfType(type: string): string {
  if (type === 'send.overdue') return '"overdue":true'
  if (type === 'send.unknown') return '"unknownSend":true'
  return `${type.startsWith('message.') ? '"type"' : '"kind"'}:${JSON.stringify(type)}`
}
