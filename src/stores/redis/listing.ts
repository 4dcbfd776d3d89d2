/**
 * The list of events, as far as the keys still have them. No set of them is kept by time, for each would have to be entered
 * there: so a page of all events is found by a walk through all keys, in short steps, that keeps the newest.
 */
import { LAST_TIME_MS } from '../../inbox/record.ts'
import type { EventsPage, EventState, Page, StoredEvent } from '../../inbox/store.ts'
import { newestOf, pageOf } from '../newest-first.ts'
import { decodePayload } from './encoding.ts'
import type { Engine } from './engine.ts'
import type { Keys } from './partitions.ts'
import { bytes, list, text } from './replies.ts'
import { script } from './scripted.ts'
import { EVENT } from './scripts/event.ts'
import { EVENTS_OF_MESSAGE } from './scripts/events-of-message.ts'
import { LIST_EVENTS } from './scripts/list-events.ts'

const eventScript = script(EVENT)
const eventsOfMessageScript = script(EVENTS_OF_MESSAGE)
const listEventsScript = script(LIST_EVENTS)
/** Keys that a script looks at: a millisecond or two of the server's time. */
const KEYS_A_STEP = 200

interface Place {
  readonly dueKey: string
  readonly messageKey: string
  readonly id: string
  readonly atMs: number | undefined
}

interface Listing {
  events(page: EventsPage): Promise<Page<StoredEvent>>
}

export function createListing({ redis, partitions }: Engine): Listing {
  /** The newest ones of a walk through all, each once: a walk may come by twice. */
  async function newestOfAll({ after, limit, id = '' }: EventsPage): Promise<readonly Place[]> {
    let newest: readonly Place[] = []
    for (const keys of partitions.groups) {
      let cursor = '0'
      do {
        const [next, ...flat] = list(await redis.run(listEventsScript, keys, ['', cursor, KEYS_A_STEP, id]))
        cursor = text(next)
        newest = newestOf([...newest, ...readPlaces(flat.map(text), keys)], after, limit)
      } while (cursor !== '0')
    }
    return newest
  }

  async function placesOfMessage(messageKey: string): Promise<readonly Place[]> {
    const dueKey = partitions.dueKeyOf(messageKey)
    const ids = list(await redis.run(eventsOfMessageScript, [dueKey], ['', messageKey]))
    return ids.map((id) => ({ dueKey, messageKey, id: text(id), atMs: undefined }))
  }

  async function read({ dueKey, messageKey, id, atMs }: Place): Promise<StoredEvent | undefined> {
    const reply = list(await redis.run(eventScript, [dueKey], ['', messageKey, id]))
    const [state, attempts = '', late, due = '', ended = '', error, order] = reply.slice(0, -1).map(text)
    const found = STATES.find((each) => each === state)
    // It was forgotten since.
    if (found === undefined) return undefined
    const payload = bytes(reply.at(-1))
    const { record, raw } = payload.length === 0 ? NO_PAYLOAD : decodePayload(payload)
    return {
      id,
      state: found,
      atMs: atMs ?? record?.receivedAtMs ?? numberOrNone(ended) ?? numberOrNone(due),
      late: late === '' ? undefined : late === '1',
      attempts: numberOrNone(attempts),
      admittedAtMs: undefined,
      dueMs: numberOrNone(due),
      endedAtMs: numberOrNone(ended),
      error: found === 'dead' ? error : undefined,
      order: order === '' ? undefined : order,
      record,
      raw,
    }
  }

  async function readAll(places: readonly Place[]): Promise<readonly StoredEvent[]> {
    return (await Promise.all(places.map(read))).filter((event) => event !== undefined)
  }

  return {
    async events(page) {
      const { after, limit, messageKey, id } = page
      if (messageKey !== undefined) {
        const events = (await readAll(await placesOfMessage(messageKey))).filter(
          (event) => id === undefined || event.id === id,
        )
        return pageOf(newestOf(events, after, limit), limit)
      }
      const { items: places, ...rest } = pageOf(await newestOfAll(page), limit)
      return { items: await readAll(places), ...rest }
    },
  }
}

const STATES: readonly EventState[] = ['due', 'leased', 'settled', 'dead']
const NO_PAYLOAD = { record: undefined, raw: undefined } as const

function readPlaces(flat: readonly string[], keys: Keys): readonly Place[] {
  return Array.from({ length: Math.floor(flat.length / 4) }, (_, index): Place => {
    const [place, messageKey = '', id = '', at = ''] = flat.slice(4 * index, 4 * index + 4)
    return { dueKey: keys[Number(place) - 1] ?? keys[0], messageKey, id, atMs: numberOrNone(at) }
  })
}

function numberOrNone(value: string): number | undefined {
  const number = value === '' ? NaN : Number(value)
  return Number.isFinite(number) && Math.abs(number) <= LAST_TIME_MS ? Math.floor(number) : undefined
}
