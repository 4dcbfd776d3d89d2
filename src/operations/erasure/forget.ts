/** Erases from every place that the receiver writes to: the spool, the quarantine and the store. */
import type { z } from 'zod'
import { readSentBody } from '../../verify/body.ts'
import { checkOptions } from '../../runtime/check-options.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { MessageStore } from '../../inbox/store.ts'
import type { NewEvent } from '../../messages/event-record.ts'
import type { ErasedCounts } from '../../messages/commands.ts'
import { isRecord } from '../../runtime/values.ts'
import type { KeptRequest } from '../../quarantine/request.ts'
import { checkSelector, forgetOptionsSchema, type ForgetOptions, type ForgetSelector, type Wanted } from './selector.ts'
import { everyPage } from '../../inbox/lists.ts'

/** Counts what `forget` removed, by place. With `dryRun`, counts what it would remove. */
export interface ErasureCounts {
  /** Events with a record or a body in the store. */
  readonly events: number
  /** Erased events that were unsettled. Their handlers no longer start. */
  readonly unsettled: number
  /** Erased events that were dead letters. */
  readonly deadLetters: number
  /** Messages with an erased state. */
  readonly messageStates: number
  /** Events not yet in the store: in this process's spool, or in a batch that has not been written. */
  readonly spooled: number
  /** Requests in this process's quarantine. */
  readonly quarantined: number
  /** Records and payloads of the store that were read; 0 if none had to be. */
  readonly examined: number
  readonly tookMs: number
  readonly dryRun: boolean
}

interface Places {
  readonly clock: Clock
  /** The key of a message. Throws if a project is required. */
  readonly keyOf: (messageId: string, project: string | undefined) => string
  readonly inbox: {
    open(): Promise<MessageStore<object>>
    forgetSpooled(isMeant: (event: NewEvent) => boolean, dryRun: boolean): Promise<number>
  }
  readonly quarantine: { forget(isMeant: (request: KeptRequest) => boolean, dryRun: boolean): Promise<number> }
  readonly dispatcher: {
    forget(isMeant: (claim: { readonly id: string; readonly messageKey: string }) => boolean): void
  }
}

export function createForget({ clock, keyOf, inbox, quarantine, dispatcher }: Places) {
  return async (selector: ForgetSelector, given?: ForgetOptions): Promise<ErasureCounts> => {
    const wanted = checkSelector(selector)
    const options = checkOptions(forgetOptionsSchema, given, 'forget')
    const { dryRun } = options
    const { inStore, isMeant } = wantedInStore(wanted, keyOf)
    const startedMs = clock.now()
    // Opening also opens the spool, even if the store is unavailable. Erase the spool first, before its events reach the store.
    const opening = inbox.open()
    await opening.catch(() => {})
    const spooled = await inbox.forgetSpooled(isMeant, dryRun)
    const quarantined = await quarantine.forget((request) => isMeantRequest(request, wanted), dryRun)
    const { states, ...counts } = await forgetInStore(await opening, inStore, options, (targets) => {
      const byKey = new Map(targets.map((target) => [target.messageKey, target]))
      dispatcher.forget(({ id, messageKey }) => {
        const target = byKey.get(messageKey)
        return target !== undefined && (target.ids?.includes(id) ?? true)
      })
    })
    return { ...counts, messageStates: states, spooled, quarantined, tookMs: clock.now() - startedMs, dryRun }
  }
}

/** What to erase of one message: these events, or everything without `ids`. The key of the message selects its send. */
interface ForgetTarget {
  readonly messageKey: string
  readonly ids?: readonly string[] | undefined
}

/** What to erase from a store, and whether it includes an event that is not in the store yet. */
export function wantedInStore(wanted: Wanted, keyOf: Places['keyOf']) {
  const inStore = wanted.by === 'message' ? { messageKey: keyOf(wanted.messageId, wanted.project) } : wanted
  const isMeant = (event: NewEvent): boolean =>
    'messageKey' in inStore ? event.messageKey === inStore.messageKey : inStore.isMeant(event)
  return { inStore, isMeant }
}

/** Matches a refused request too: its body proves nothing but may contain personal data. */
export function isMeantRequest({ callback }: KeptRequest, wanted: Wanted): boolean {
  const { captured, arrivedAtMs } = callback
  if (wanted.by !== 'message') return wanted.isMeant({ record: undefined, raw: captured.bytes, atMs: arrivedAtMs })
  const { messageId, project } = wanted
  const { fields } = readSentBody(callback)
  const statuses = fields?.['statuses']
  const ids = [fields?.['messageId'], isRecord(statuses) ? statuses['message_id'] : undefined]
  const isOfProject = project === undefined || fields?.['project'] === project
  return isOfProject && ids.some((id) => (typeof id === 'string' || typeof id === 'number') && String(id) === messageId)
}

/** Small, because each body may have 256 KiB. */
const READ_A_STEP = 200
const TARGETS_A_STEP = 200

/**
 * Erases from a store, in steps. Without a message id, reads all records to find the targets. `wanted`: a message is given by its
 * key. `forgetting` is called before and after each step is erased.
 */
export async function forgetInStore(
  store: MessageStore<object>,
  wanted: ForgetTarget | Exclude<Wanted, { by: 'message' }>,
  { dryRun, compact }: z.output<typeof forgetOptionsSchema>,
  forgetting: (targets: readonly ForgetTarget[]) => void = () => {},
): Promise<ErasedCounts & { readonly examined: number }> {
  const sum = { events: 0, unsettled: 0, deadLetters: 0, states: 0, examined: 0 }

  async function forget(targets: readonly ForgetTarget[]): Promise<void> {
    for (let from = 0; from < targets.length; from += TARGETS_A_STEP) {
      const some = targets.slice(from, from + TARGETS_A_STEP)
      if (!dryRun) forgetting(some)
      const erased = await store.run(
        some.map(({ messageKey: key, ids }) => ({ do: 'erase' as const, key, ids, dryRun })),
      )
      for (const { events, unsettled, deadLetters, states } of erased) {
        sum.events += events
        sum.unsettled += unsettled
        sum.deadLetters += deadLetters
        sum.states += states
      }
      if (!dryRun) forgetting(some)
    }
  }

  if ('messageKey' in wanted) await forget([wanted])
  else {
    /** Events found so far. The store may list one event twice: its bytes and its report. */
    const met = new Map<string, Set<string>>()
    const isOneByOne = wanted.by === 'time'
    for await (const page of everyPage((after) => store.scan({ of: 'kept', after, limit: READ_A_STEP }))) {
      sum.examined += page.items.length
      const found = new Map<string, Set<string>>()
      for (const item of page.items) {
        if (!wanted.isMeant(item)) continue
        const ids = met.get(item.messageKey)
        if (ids?.has(item.id) === true) continue
        if (ids === undefined) met.set(item.messageKey, new Set([item.id]))
        else ids.add(item.id)
        found.set(item.messageKey, (found.get(item.messageKey) ?? new Set()).add(item.id))
      }
      if (isOneByOne) await forget(targetsOf(found))
      // Erased events are not listed again; events that are only counted may be.
      if (isOneByOne && !dryRun) met.clear()
    }
    if (!isOneByOne) {
      // A payload may outlast the record of its message, so erase payloads first. A dry run counts each event once.
      if (!dryRun) await forget(targetsOf(met))
      await forget([...met.keys()].map((messageKey) => ({ messageKey })))
    }
  }
  if (compact && !dryRun) await store.compact?.()
  return sum
}

function targetsOf(found: ReadonlyMap<string, ReadonlySet<string>>): readonly ForgetTarget[] {
  return Array.from(found, ([messageKey, ids]) => ({ messageKey, ids: [...ids] }))
}
