/** Forgetting in every place that the receiver writes to: on the way to the store, in quarantine, in the store. */
import { readSentBody } from '../../verify/body.ts'
import type { Clock } from '../../runtime/clock.ts'
import { isTarget, type NewEvent, type OpenStore } from '../../inbox/store.ts'
import { isRecord } from '../../runtime/values.ts'
import type { KeptRequest } from '../../quarantine/request.ts'
import { forgetInStore } from './in-store.ts'
import { checkForgetOptions, checkSelector, type ForgetOptions, type ForgetSelector, type Wanted } from './selector.ts'

/** What `forget` has removed, place by place; with `dryRun` what it would have. */
export interface Forgotten {
  /** Events of which the store kept the record or the body. */
  readonly events: number
  /** Those of them that were not settled: no handler is begun for them any more. */
  readonly unsettled: number
  /** Those of them that were dead letters. */
  readonly deadLetters: number
  /** Messages whose newest state was kept, or a part of it. */
  readonly messageStates: number
  /** Events on their way to the store: in this process's spool, or waiting for its rest. */
  readonly spooled: number
  /** Requests in this process's quarantine. */
  readonly quarantined: number
  /** How many records and payloads of the store were read to find them; 0 where none had to be. */
  readonly examined: number
  readonly tookMs: number
  readonly dryRun: boolean
}

interface Places {
  readonly clock: Clock
  /** The key of a message; throws where a project is needed. */
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
): (selector: ForgetSelector, options?: ForgetOptions) => Promise<Forgotten> {
  const { clock, keyOf, inbox, quarantine, dispatcher } = places
  return async (selector, given) => {
    const wanted = checkSelector(selector)
    const { dryRun, compact } = checkForgetOptions(given)
    const inStore = wanted.by === 'message' ? { messageKey: keyOf(wanted.messageId, wanted.project) } : wanted
    const startedMs = clock.now()
    // The spool is open then, also where the store is away; what is in it goes before it can come into the store.
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

/** Its body proves nothing and is read all the same: it may be of a person. */
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
