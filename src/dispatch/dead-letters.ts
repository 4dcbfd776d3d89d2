/** The public API of dead letters. */
import { z } from 'zod'
import { checkOptions, pageLimit, textOf } from '../runtime/check-options.ts'
import type { CallbackSchemas, WebhookEvent } from '../public/events.ts'
import type { Awaitable, MessageStore, Page } from '../inbox/store.ts'
import type { Resolution } from '../messages/commands.ts'
import type { NewEvent } from '../messages/event-record.ts'
import type { StoredDeadLetter } from '../messages/views.ts'
import type { Kept } from './revive.ts'

/** An event whose handlers failed in every attempt. */
export interface DeadLetter<S extends CallbackSchemas = {}> {
  /** The event's id; the argument of `deadLetters.replay`. */
  readonly id: string
  readonly attempts: number
  /** The last error of a handler: message and stack, at most 8 KiB, with secrets masked. */
  readonly error: string
  readonly diedAt: Date
  readonly event: WebhookEvent<S>
}

/**
 * An event that the store refuses for its content. It waits in the spool of this machine, and each start tries it again. Report
 * it to this package: a store should accept every event.
 */
export interface RefusedEvent<S extends CallbackSchemas = {}> {
  readonly id: string
  /** The error of the store, at most 8 KiB, with secrets masked. */
  readonly error: string
  readonly event: WebhookEvent<S>
}

/** Options of `deadLetters.list`. */
export interface DeadLettersPage {
  /** The `next` of the previous page. */
  readonly after?: string | undefined
  /** Dead letters per page. Default 100. */
  readonly limit?: number | undefined
}

/** Events whose handlers failed in every attempt. They are kept until they are replayed, discarded or expired. */
export interface DeadLetters<S extends CallbackSchemas = {}> {
  /** One page, oldest first. */
  list(page?: DeadLettersPage): Promise<Page<DeadLetter<S>>>
  /** The dead letter with this id, or undefined. */
  get(id: string): Promise<DeadLetter<S> | undefined>
  /**
   * Runs the handlers again. The event is `late` if a later report of its message was dispatched meanwhile, unless `force` is
   * set. Resolves to false if there is no such dead letter.
   */
  replay(id: string, options?: { readonly force?: boolean | undefined }): Promise<boolean>
  /** Gives the event up: it is no longer listed and never runs again. Resolves to false if there is no such dead letter. */
  discard(id: string): Promise<boolean>
  /** The oldest events that the store refuses for their content, at most 100. None without a spool. */
  refused(): Promise<readonly RefusedEvent<S>[]>
}

interface DeadLettersOptions {
  readonly open: () => Awaitable<MessageStore<object>>
  readonly revive: (kept: Kept) => Awaitable<WebhookEvent>
  /** Called after a replay. */
  readonly wake: () => void
  /** The events that the store refuses, at most `limit`. */
  readonly refused: (limit: number) => Promise<readonly Refused[]>
}

/** A refused event as the spool has it. */
export interface Refused {
  readonly event: NewEvent
  readonly error: string
}

const A_PAGE = 100

const pageOptions = z.strictObject({ after: textOf('the `next` of a page').optional(), limit: pageLimit.optional() })
const replayOptions = z.strictObject({ force: z.boolean().optional() })

export function createDeadLetters({ open, revive, wake, refused }: DeadLettersOptions): DeadLetters {
  async function letterOf(stored: StoredDeadLetter): Promise<DeadLetter> {
    const { id, attempts, error, diedAtMs, record, raw, expected } = stored
    const event = await revive({ id, late: false, record, raw, expected })
    return { id, attempts, error, diedAt: new Date(diedAtMs), event }
  }

  async function find(id: string): Promise<StoredDeadLetter | undefined> {
    const { items } = await (await open()).scan({ of: 'deadLetters', after: undefined, limit: 1, id })
    return items[0]
  }

  async function resolve(id: string, as: Resolution): Promise<boolean> {
    const found = await find(id)
    if (found === undefined) return false
    const [isResolved] = await (await open()).run([{ do: 'resolve', key: found.messageKey, id, as }])
    return isResolved === true
  }

  return {
    async list(page) {
      const { after, limit = A_PAGE } = checkOptions(pageOptions, page, 'deadLetters.list')
      const { items: stored, next } = await (await open()).scan({ of: 'deadLetters', after, limit })
      const items: DeadLetter[] = []
      for (const one of stored) items.push(await letterOf(one))
      return next === undefined ? { items } : { items, next }
    },
    async get(id) {
      const found = await find(id)
      return found && letterOf(found)
    },
    async replay(id, options) {
      const { force = false } = checkOptions(replayOptions, options, 'deadLetters.replay')
      const found = await resolve(id, force ? 'force' : 'replay')
      wake()
      return found
    },
    discard: (id) => resolve(id, 'discard'),
    async refused() {
      await open()
      const found: RefusedEvent[] = []
      for (const { event, error } of await refused(A_PAGE))
        found.push({ id: event.id, error, event: await revive({ ...event, late: false }) })
      return found
    },
  }
}
