/** Events as the store has them: by filters in bounded looks, by id and by message. */
import { everyEvent } from '../dispatch/listed-events.ts'
import { MessagingWebhooksError } from '../errors.ts'
import { messageKey } from '../inbox/identity.ts'
import type {
  EventsAnswer,
  EventsPage,
  Page,
  SentToAnswer,
  SentToPage,
  StoredEvent,
  StoredExpectation,
} from '../inbox/store.ts'
import type { Inside } from './inside.ts'

/** A store looks at some; so often it is asked to go on before somebody is told how far the look went. */
const MOST_LOOKS = 5
/** The same of what was sent, of which a store looks at fewer. */
const MOST_LOOKS_AT_SENT = 10
const MOST_PROJECTS = 100

export interface Finding {
  page(page: EventsPage): Promise<EventsAnswer>
  /** An id alone may be looked for in a whole table; who knows its message finds it by that. */
  event(id: string, of?: MessageName): Promise<StoredEvent | undefined>
  /** What was sent to somebody; nothing where the store cannot tell. */
  sentTo(page: SentToPage): Promise<SentToAnswer>
  ofMessage(messageId: string, project: string | undefined): Promise<OfMessage | undefined>
}

export interface MessageName {
  readonly messageId: string
  readonly project: string | undefined
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
  sentTo,
  projects,
}: Pick<Inside, 'events' | 'expected' | 'sentTo' | 'projects'>): Finding {
  async function ask(page: EventsPage): Promise<EventsAnswer> {
    const answer = await events(page)
    if (answer === undefined) throw new MessagingWebhooksError('events_unsupported')
    return answer
  }

  /** A receiver of one project keeps messages by their ids alone; which kind it is, the events tell. */
  function keysOf(messageId: string, project: string | undefined): readonly string[] {
    const names = project === undefined ? projects().slice(0, MOST_PROJECTS) : [project]
    return [undefined, ...names].map((name) => messageKey(name, messageId))
  }

  return {
    page: (page) => inLooks(page, MOST_LOOKS, ask),
    sentTo: (page) => inLooks(page, MOST_LOOKS_AT_SENT, async (some) => (await sentTo(some)) ?? { items: [] }),
    async event(id, of) {
      // An event of no message has its own id as the key.
      const keys = of === undefined ? [] : keysOf(of.messageId, of.project)
      for (const key of [...keys, id]) {
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

/** A page of which a store finds a part at a time. */
async function inLooks<T, P extends Pick<EventsPage, 'after' | 'limit'>, A extends Page<T>>(
  page: P,
  most: number,
  ask: (page: P) => Promise<A & Page<T>>,
): Promise<A> {
  let answer = await ask(page)
  let items: readonly T[] = answer.items
  for (let looks = 1; looks < most && answer.next !== undefined && items.length < page.limit; looks += 1) {
    answer = await ask({ ...page, after: answer.next, limit: page.limit - items.length })
    items = [...items, ...answer.items]
  }
  return { ...answer, items }
}
