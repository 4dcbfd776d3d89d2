/** The public API of dead letters. */
import { z } from 'zod'
import { checkOptions, pageLimit, textOf } from '../runtime/check-options.ts'
import type { CallbackSchemas, WebhookEvent } from '../public/events.ts'
import { everyPage } from '../inbox/lists.ts'
import type { Awaitable, OpenStore, StorePage, Resolution } from '../inbox/store.ts'
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
  list(page?: DeadLettersPage): Promise<StorePage<DeadLetter<S>>>
  /** The dead letter with this id, or undefined. Searches page by page. */
  get(id: string): Promise<DeadLetter<S> | undefined>
  /**
   * Runs the handlers again. The event is `late` if a later report of its message was dispatched meanwhile, unless `force` is
   * set. Resolves to false if there is no such dead letter.
   */
  replay(id: string, options?: { readonly force?: boolean | undefined }): Promise<boolean>
  /** Gives the event up: it is no longer listed and never runs again. Resolves to false if there is no such dead letter. */
  discard(id: string): Promise<boolean>
}

interface DeadLettersOptions {
  readonly open: () => Awaitable<OpenStore<object>>
  readonly revive: (kept: Kept) => Awaitable<WebhookEvent>
  readonly now: () => number
  /** Called after a replay. */
  readonly wake: () => void
}

const A_PAGE = 100

const pageOptions = z.strictObject({ after: textOf('the `next` of a page').optional(), limit: pageLimit.optional() })
const replayOptions = z.strictObject({ force: z.boolean().optional() })

export function createDeadLetters({ open, revive, now, wake }: DeadLettersOptions): DeadLetters {
  async function list(page?: DeadLettersPage): Promise<StorePage<DeadLetter>> {
    const { after, limit = A_PAGE } = checkOptions(pageOptions, page, 'deadLetters.list')
    const { items: stored, next } = await (await open()).deadLetters({ after, limit })
    const items: DeadLetter[] = []
    for (const { id, attempts, error, diedAtMs, record, raw, expected } of stored) {
      const event = await revive({ id, late: false, record, raw, expected })
      items.push({ id, attempts, error, diedAt: new Date(diedAtMs), event })
    }
    return next === undefined ? { items } : { items, next }
  }

  async function resolve(id: string, resolution: Resolution): Promise<boolean> {
    return (await open()).resolve(id, resolution, now())
  }

  return {
    list,
    /** Searches page by page: stores keep no index for lookups that only people make. */
    async get(id) {
      for await (const { items } of everyPage((after) => list({ after }))) {
        const letter = items.find((one) => one.id === id)
        if (letter !== undefined) return letter
      }
      return undefined
    },
    async replay(id, options) {
      const { force = false } = checkOptions(replayOptions, options, 'deadLetters.replay')
      const found = await resolve(id, force ? 'force' : 'replay')
      wake()
      return found
    },
    discard: (id) => resolve(id, 'discard'),
  }
}
