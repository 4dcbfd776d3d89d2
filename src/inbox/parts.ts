/**
 * Admission into a store that has parts: an inbox for each, with batches, an outage and a spool of its own. So one that is away,
 * or slow, has its own share spooled, and nobody waits for it.
 */
import { someOf, systemClock } from '../clock.ts'
import { MessagingWebhooksError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { createAbsence, type Absence } from './absence.ts'
import { createInbox, type Inbox } from './inbox.ts'
import { worstOf } from './keeping.ts'
import type { Spools } from './spool/spool.ts'
import type { Admission, JoinedStore, NewEvent, OpenStore, Store, StoreParts } from './store.ts'

/** So long the other parts are waited for once one is open. */
const GRACE_MS = 1_000

/** How a shard of a sharded store is now. */
export interface ShardStats {
  readonly name: string
  /** `away`: it did not answer in time, or with an error. */
  readonly store: 'up' | 'away'
  /** Events that are in its spool, on their way to it. */
  readonly spooled: number
  /** Events in it or its spool that are not settled; undefined where it is away. */
  readonly unsettled: number | undefined
  /** Dead letters in it; undefined where it is away. */
  readonly deadLetters: number | undefined
}

type InboxOptions = Parameters<typeof createInbox>[1]

interface PartsOptions extends Omit<InboxOptions, 'absence' | 'openSpools'> {
  readonly logger: Logger
  /** Opens the logs for what this part cannot take; undefined for none. */
  readonly openSpoolsOf: (name: string, store: Store<object>) => (() => Promise<Spools>) | undefined
}

interface InboxOfParts<X extends object> extends Inbox<X> {
  /** Of a part that is open. */
  absenceOf(part: OpenStore<object>): Absence | undefined
  /** One of them was found away, and not yet back. */
  readonly isAway: boolean
  stats(): Promise<readonly ShardStats[]>
}

interface Part<X extends object> {
  readonly name: string
  readonly inbox: Inbox<X>
  readonly absence: Absence
}

export function createInboxOfParts<X extends object>(
  { stores, join }: StoreParts<X>,
  { logger, openSpoolsOf, ...options }: PartsOptions,
): InboxOfParts<X> {
  const { clock, onWork } = options
  const parts = new Map(Array.from(stores, ([name, store]) => [name, createPart(name, store)] as const))
  const absences = new Map<OpenStore<object>, Absence>()
  const joined: JoinedStore<X> = join({
    open: (name) => openPart(partOf(name)),
    onWork,
    onAway(name, cause) {
      if (!isClosed)
        partOf(name).absence.begin('dispatch', new MessagingWebhooksError('store_failed', undefined, { cause }))
    },
    onBack: (name) => partOf(name).absence.end('dispatch'),
    isBehind: (name) => partOf(name).inbox.spooled > 0,
    wantsParts: true,
  })
  let opening: Promise<OpenStore<X>> | undefined
  let isClosed = false

  function createPart(name: string, store: Store<X>): Part<X> {
    const report = ({ code, detail, cause }: MessagingWebhooksError): void => {
      const which = `It is the shard ${name}.`
      options.report(
        new MessagingWebhooksError(
          code,
          detail === undefined ? which : `${detail} ${which}`,
          cause === undefined ? {} : { cause },
        ),
      )
    }
    const absence = createAbsence({ clock, logger, report, name })
    const inbox = createInbox(store, {
      ...options,
      report,
      absence,
      // What it leased is all that it can lose.
      onLost: (isAmong) => options.onLost?.((messageKey) => joined.mayStandIn(messageKey, name) && isAmong(messageKey)),
      openSpools: openSpoolsOf(name, store),
    })
    return { name, inbox, absence }
  }

  function partOf(name: string): Part<X> {
    const part = parts.get(name)
    if (part === undefined) throw new MessagingWebhooksError('internal', `There is no shard ${name}.`)
    return part
  }

  async function openPart({ inbox, absence }: Part<X>): Promise<OpenStore<X>> {
    const opened = await inbox.open()
    absences.set(opened, absence)
    return opened
  }

  /** Opens what can be opened. Each part is asked again as it is needed, and by its spool. */
  function open(): Promise<OpenStore<X>> {
    if (isClosed) return Promise.reject(new MessagingWebhooksError('receiver_closed'))
    if (opening !== undefined) return opening
    const attempts = [...parts.values()].map(openPart)
    const attempt = someOf(systemClock(), GRACE_MS, attempts).then(() => joined)
    opening = attempt
    attempt.catch(() => {
      opening = undefined
    })
    return attempt
  }

  function admitAt(name: string, event: NewEvent): Admission | Promise<Admission> {
    return partOf(name).inbox.admit(event)
  }

  async function statsOf({ name, inbox }: Part<X>): Promise<ShardStats> {
    const known = await inbox.known()
    const { spooled } = inbox
    if (known === undefined) return { name, store: 'away', spooled, unsettled: undefined, deadLetters: undefined }
    return { name, store: 'up', spooled, unsettled: known.unsettled + spooled, deadLetters: known.deadLetters }
  }

  /** Asks each, and rejects where one does: then nobody knows the sum. */
  async function sumOf(ask: (inbox: Inbox<X>) => number | Promise<number>): Promise<number> {
    const counts = await Promise.all(Array.from(parts.values(), async ({ inbox }) => ask(inbox)))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  return {
    open,
    admit(event) {
      const home = joined.homeOf(event.messageKey)
      return home instanceof Promise ? home.then((name) => admitAt(name, event)) : admitAt(home, event)
    },
    unsettled: () => sumOf((inbox) => inbox.unsettled()),
    async known() {
      const all = await Promise.all(
        Array.from(parts.values(), async ({ name, inbox }) => {
          const known = await inbox.known()
          return known && { ...known, holders: known.holders?.map((holder) => ({ ...holder, shard: name })) }
        }),
      )
      const known = all.filter((each) => each !== undefined)
      if (known.length < all.length) return undefined
      return {
        unsettled: known.reduce((sum, { unsettled }) => sum + unsettled, 0),
        deadLetters: known.reduce((sum, { deadLetters }) => sum + deadLetters, 0),
        holders: known.some(({ holders }) => holders === undefined)
          ? undefined
          : known.flatMap(({ holders }) => holders ?? []),
      }
    },
    get spooled() {
      return Array.from(parts.values(), ({ inbox }) => inbox.spooled).reduce((sum, count) => sum + count, 0)
    },
    forgetSpooled: (isMeant, dryRun) => sumOf((inbox) => inbox.forgetSpooled(isMeant, dryRun)),
    get spoolBytes() {
      const known = Array.from(parts.values()).flatMap(({ inbox }) => inbox.spoolBytes ?? [])
      return known.length === 0 ? undefined : known.reduce((sum, bytes) => sum + bytes, 0)
    },
    keeping: async () => worstOf(await Promise.all(Array.from(parts.values(), ({ inbox }) => inbox.keeping()))),
    absenceOf: (part) => absences.get(part),
    get isAway() {
      return Array.from(parts.values()).some(({ absence }) => absence.isAway)
    },
    stats: () => Promise.all(Array.from(parts.values(), statsOf)),
    async close() {
      isClosed = true
      await joined.close()
      await Promise.all(Array.from(parts.values(), ({ inbox }) => inbox.close()))
    },
  }
}
