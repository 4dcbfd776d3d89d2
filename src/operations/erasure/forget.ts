/** Erases from every place that the receiver writes to: the spool, the quarantine and the store. */
import { readSentBody } from '../../verify/body.ts'
import { checkOptions } from '../../runtime/check-options.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isTarget, type NewEvent, type OpenStore } from '../../inbox/store.ts'
import { isRecord } from '../../runtime/values.ts'
import type { KeptRequest } from '../../quarantine/request.ts'
import { forgetInStore } from './in-store.ts'
import { checkSelector, forgetOptionsSchema, type ForgetOptions, type ForgetSelector, type Wanted } from './selector.ts'

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
    open(): Promise<OpenStore<object>>
    forgetSpooled(isMeant: (event: NewEvent) => boolean, dryRun: boolean): Promise<number>
  }
  readonly quarantine: { forget(isMeant: (request: KeptRequest) => boolean, dryRun: boolean): Promise<number> }
  readonly dispatcher: {
    forget(isMeant: (claim: { readonly id: string; readonly messageKey: string }) => boolean): void
  }
}

export function createForget(
  places: Places,
): (selector: ForgetSelector, options?: ForgetOptions) => Promise<ErasureCounts> {
  const { clock, keyOf, inbox, quarantine, dispatcher } = places
  return async (selector, given) => {
    const wanted = checkSelector(selector)
    const { dryRun, compact } = checkOptions(forgetOptionsSchema, given, 'forget')
    const inStore = wanted.by === 'message' ? { messageKey: keyOf(wanted.messageId, wanted.project) } : wanted
    const startedMs = clock.now()
    // Opening also opens the spool, even if the store is unavailable. Erase the spool first, before its events reach the store.
    const opening = inbox.open()
    await opening.catch(() => {})
    const spooled = await inbox.forgetSpooled(
      (event) => ('messageKey' in inStore ? event.messageKey === inStore.messageKey : inStore.isMeant(event)),
      dryRun,
    )
    const quarantined = await quarantine.forget((request) => isMeantRequest(request, wanted), dryRun)
    const { states, ...counts } = await forgetInStore(await opening, inStore, {
      dryRun,
      compact,
      nowMs: () => clock.now(),
      forgetting(targets) {
        const byKey = new Map(targets.map((target) => [target.messageKey, target]))
        dispatcher.forget(({ id, messageKey }) => {
          const target = byKey.get(messageKey)
          return target !== undefined && isTarget(target, id)
        })
      },
    })
    return { ...counts, messageStates: states, spooled, quarantined, tookMs: clock.now() - startedMs, dryRun }
  }
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
