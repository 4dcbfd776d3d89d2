/** Events as the store has them: by filters in bounded looks, by id and by message. */
import { LRUCache } from 'lru-cache'
import { everyEvent } from '../dispatch/listed-events.ts'
import { MessagingWebhooksError } from '../errors.ts'
import { messageKey } from '../inbox/identity.ts'
import type { EventsAnswer, EventsPage, StoredEvent, StoredExpectation } from '../inbox/store.ts'
import type { Inside } from './inside.ts'

/** A store looks at some; so often it is asked to go on before somebody is told how far the look went. */
const MOST_LOOKS = 5
/** Events that somebody has seen in a list, and may ask for next. */
const SEEN_KEPT = 5_000
const MOST_PROJECTS = 100

export interface Finding {
  page(page: EventsPage): Promise<EventsAnswer>
  /** With what its list has said of it, where there was one: an id alone may be looked for in a whole table. */
  event(id: string): Promise<StoredEvent | undefined>
  ofMessage(messageId: string, project: string | undefined): Promise<OfMessage | undefined>
}

/** What is known of a message: at least one of both. */
export interface OfMessage {
  readonly messageKey: string
  /** Newest first. */
  readonly events: readonly StoredEvent[]
  readonly sent: StoredExpectation | undefined
}

export function createFinding({
  events,
  expected,
  projects,
}: Pick<Inside, 'events' | 'expected' | 'projects'>): Finding {
  const seen = new LRUCache<string, { readonly messageId: string; readonly project: string | undefined }>({
    max: SEEN_KEPT,
  })

  async function ask(page: EventsPage): Promise<EventsAnswer> {
    const answer = await events(page)
    if (answer === undefined) throw new MessagingWebhooksError('events_unsupported')
    for (const { id, record } of answer.items)
      if (record?.report !== undefined) seen.set(id, { messageId: record.report.messageId, project: record.project })
    return answer
  }

  /** A receiver of one project keeps messages by their ids alone; which kind it is, the events tell. */
  function keysOf(messageId: string, project: string | undefined): readonly string[] {
    const names = project === undefined ? projects().slice(0, MOST_PROJECTS) : [project]
    return [undefined, ...names].map((name) => messageKey(name, messageId))
  }

  return {
    async page(page) {
      const items: StoredEvent[] = []
      let answer: EventsAnswer = { items }
      let after = page.after
      for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
        answer = await ask({ ...page, after, limit: page.limit - items.length })
        items.push(...answer.items)
        after = answer.next
        if (after === undefined || items.length >= page.limit) break
      }
      return { ...answer, items }
    },
    async event(id) {
      const known = seen.get(id)
      // An event of no message has its own id as the key.
      const keys = known === undefined ? [id] : keysOf(known.messageId, known.project)
      for (const key of keys) {
        const { items } = await ask({ after: undefined, limit: 1, id, messageKey: key })
        if (items[0] !== undefined) return items[0]
      }
      return (await ask({ after: undefined, limit: 1, id })).items[0]
    },
    async ofMessage(messageId, project) {
      for (const key of keysOf(messageId, project)) {
        const [found, sent] = await Promise.all([everyEvent(ask, key), expected(key)])
        if (found.length > 0 || sent !== undefined) return { messageKey: key, events: found, sent }
      }
      return undefined
    },
  }
}
