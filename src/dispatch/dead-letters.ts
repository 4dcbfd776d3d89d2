/** Dead letters, as users see them and decide about them. */
import type { Schemas, WebhookEvent } from '../public/events.ts'
import { everyPage } from '../inbox/pages.ts'
import type { Awaitable, OpenStore, Page, Resolution } from '../inbox/store.ts'
import type { Kept } from './revive.ts'

/** An event whose handlers failed in every attempt. */
export interface DeadLetter<S extends Schemas = {}> {
  /** The event's identity; what `deadLetters.replay` takes. */
  readonly id: string
  readonly attempts: number
  /** What a handler threw last: message and stack, at most 8 KiB, without keys. */
  readonly error: string
  readonly diedAt: Date
  readonly event: WebhookEvent<S>
}

/** What `deadLetters.list` takes. */
export interface DeadLettersPage {
  /** The `next` of a page, for the one that follows. */
  readonly after?: string | undefined
  /** Dead letters a page. Default 100. */
  readonly limit?: number | undefined
}

/** The events whose handlers failed in every attempt: kept until somebody decides. */
export interface DeadLetters<S extends Schemas = {}> {
  /** Oldest first, a page at a time. */
  list(page?: DeadLettersPage): Promise<Page<DeadLetter<S>>>
  /** The one with this id; undefined where there is none. It is looked for page by page. */
  get(id: string): Promise<DeadLetter<S> | undefined>
  /**
   * Runs its handlers again: as `late` where a later report of its message was handed over meanwhile, unless `force`. False
   * where there is no such dead letter.
   */
  replay(id: string, options?: { readonly force?: boolean | undefined }): Promise<boolean>
  /** Gives it up: it is not listed any more, and never run again. False where there is no such dead letter. */
  discard(id: string): Promise<boolean>
}

type Reviver = (kept: Kept) => Awaitable<WebhookEvent>

const A_PAGE = 100

/** A page of dead letters, oldest first. */
async function readDeadLetters(
  store: OpenStore<object>,
  revive: Reviver,
  { after, limit = A_PAGE }: DeadLettersPage,
): Promise<Page<DeadLetter>> {
  const { items: stored, next } = await store.deadLetters({ after, limit })
  const items: DeadLetter[] = []
  for (const { id, attempts, error, diedAtMs, record, raw, expected } of stored) {
    const event = await revive({ id, late: false, record, raw, expected })
    items.push({ id, attempts, error, diedAt: new Date(diedAtMs), event })
  }
  return next === undefined ? { items } : { items, next }
}

/** All of them, a page at a time; what is settled meanwhile is not asked for again. */
async function* everyDeadLetter(store: OpenStore<object>, revive: Reviver): AsyncGenerator<DeadLetter> {
  for await (const { items } of everyPage((after) => readDeadLetters(store, revive, { after }))) yield* items
}

/** The one with this id; no store has an index for a question that only people ask. */
async function findDeadLetter(store: OpenStore<object>, revive: Reviver, id: string): Promise<DeadLetter | undefined> {
  for await (const letter of everyDeadLetter(store, revive)) if (letter.id === id) return letter
  return undefined
}

interface DeadLettersOptions {
  readonly open: () => Awaitable<OpenStore<object>>
  readonly revive: Reviver
  readonly now: () => number
  /** Told that some may be due again. */
  readonly wake: () => void
}

export function createDeadLetters({ open, revive, now, wake }: DeadLettersOptions): DeadLetters {
  async function resolve(id: string, resolution: Resolution): Promise<boolean> {
    const store = await open()
    return store.resolve(id, resolution, now())
  }

  return {
    list: async (page = {}) => readDeadLetters(await open(), revive, page),
    get: async (id) => findDeadLetter(await open(), revive, id),
    async replay(id, { force = false } = {}) {
      const found = await resolve(id, force ? 'force' : 'replay')
      wake()
      return found
    },
    discard: (id) => resolve(id, 'discard'),
  }
}
