/** Forgetting on demand: what may name a person goes, the identities and what orders a message stay. */
import { reportsIn, withoutReports } from '../../inbox/latest.ts'
import { identityIn } from '../../inbox/order.ts'
import {
  isTarget,
  type ForgetRequest,
  type ForgetTarget,
  type ForgottenCounts,
  type KeptEvent,
  type Page,
  type StoredDeadLetter,
} from '../../inbox/store.ts'
import { packMessage, settledAtMsOf, unpacked, type Known, type Message, type Pending } from './message.ts'

interface Dead extends StoredDeadLetter {
  readonly pending: Pending
}

interface Forgetting {
  readonly known: {
    all(): Iterable<readonly [key: string, value: Known]>
    peek(key: string): Known | undefined
    replace(key: string, text: string): void
  }
  readonly dead: Map<string, Dead>
  readonly expecting: {
    kept(): readonly KeptEvent[]
    forget(target: ForgetTarget, dryRun: boolean): boolean
  }
  /** Where the message waits no more, or another event of it is the first now. */
  readonly schedule: (message: Message) => void
  /** No longer among what is not settled. */
  readonly settled: (pending: Pending) => void
}

/** Each step goes through the keys of all that there is. */
const MOST_STEPS = 100

/** Keys are digests, so a step looks at those that begin with a part of all numbers: what comes and goes shifts nobody. */
export function keptEvents(
  { known, dead, expecting }: Pick<Forgetting, 'known' | 'dead' | 'expecting'>,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Page<KeptEvent> {
  const all = [...known.all()]
  const sent = expecting.kept()
  const [
    ,
    first = 0,
    of = Math.max(1, Math.min(MOST_STEPS, Math.ceil((all.length + dead.size + sent.length) / limit))),
  ] = /^(\d{1,9})\/(\d{1,9})$/.exec(after ?? '')?.map(Number) ?? []
  const isOfStep = (key: string): boolean => Math.floor((parseInt(key.slice(0, 8), 16) / 2 ** 32) * of) === first
  const items = sent.filter(({ messageKey }) => isOfStep(messageKey))
  for (const [key, value] of all) if (isOfStep(key)) items.push(...keptOf(key, value))
  for (const { id, record, raw, pending } of dead.values()) {
    const { messageKey } = pending.event
    if (isOfStep(messageKey)) items.push({ messageKey, id, atMs: record.receivedAtMs, record, raw })
  }
  return first + 1 < of ? { items, next: `${first + 1}/${of}` } : { items }
}

function keptOf(messageKey: string, known: Known): readonly KeptEvent[] {
  const { pending, latest } = unpacked(messageKey, known)
  const waiting = pending.map(({ event: { id, record, raw } }): KeptEvent => {
    return { messageKey, id, atMs: record.receivedAtMs, record, raw }
  })
  const reports = reportsIn(latest).map(({ order, record }): KeptEvent => {
    return { messageKey, id: identityIn(order), atMs: record.receivedAtMs, record, raw: undefined }
  })
  return [...waiting, ...reports]
}

/** All at once: the place of each message is known. */
export function forgetEvents(state: Forgetting, { targets, dryRun }: ForgetRequest): ForgottenCounts {
  const sum = { events: 0, unsettled: 0, deadLetters: 0, states: 0 }
  const wanted = new Map(targets.map((target) => [target.messageKey, target]))
  for (const { id, pending } of [...state.dead.values()]) {
    const target = wanted.get(pending.event.messageKey)
    if (target === undefined || !isTarget(target, id)) continue
    sum.events += 1
    sum.deadLetters += 1
    if (!dryRun) state.dead.delete(id)
  }
  for (const target of wanted.values()) {
    const { unsettled, states } = forgetMessage(state, target, dryRun)
    const wasExpected = state.expecting.forget(target, dryRun)
    sum.events += unsettled
    sum.unsettled += unsettled
    sum.states += wasExpected ? 1 : states
  }
  return sum
}

function forgetMessage(
  { known, schedule, settled }: Forgetting,
  target: ForgetTarget,
  dryRun: boolean,
): Pick<ForgottenCounts, 'unsettled' | 'states'> {
  const { messageKey } = target
  const found = known.peek(messageKey)
  if (found === undefined) return { unsettled: 0, states: 0 }
  const message = unpacked(messageKey, found)
  const gone = message.pending.filter(({ event }) => isTarget(target, event.id))
  const latest = withoutReports(message.latest, (id) => isTarget(target, id))
  const counts = { unsettled: gone.length, states: latest === message.latest ? 0 : 1 }
  if (dryRun || counts.unsettled + counts.states === 0) return counts
  message.latest = latest
  if (typeof found === 'string') {
    known.replace(messageKey, packMessage(message, settledAtMsOf(found)))
    return counts
  }
  for (const pending of gone) settled(pending)
  message.pending = message.pending.filter((pending) => !gone.includes(pending))
  message.settledIds = [...message.settledIds, ...gone.map(({ event }) => event.id)]
  // Under a lease for another event it stays.
  const { lease } = message
  if (lease === undefined || gone.some(({ token }) => token === lease.token)) schedule(message)
  return counts
}
