/** A model of the contract by linear search, without indexes. */
import assert from 'node:assert/strict'
import type {
  AdmittedAndClaimed,
  Admission,
  Claim,
  ClaimRequest,
  ClaimResult,
  NewEvent,
  Resolution,
  Settlement,
  StoredDeadLetter,
  StoredEvent,
} from '../inbox/store.ts'

interface ModelEvent {
  readonly event: NewEvent
  state: 'waiting' | 'settled' | 'dead'
  dueMs: number
  attempts: number
  token: number
  late: boolean
  replay: boolean
  dispatched: boolean
  erased: boolean
  /** Set on a dead letter only, like `diedAtMs`. */
  error: string
  diedAtMs: number
}

type ModelDeadLetter = Pick<StoredDeadLetter, 'id' | 'attempts' | 'error' | 'diedAtMs'>

/** The part of an order that decides lateness. */
export function timeAndRankOf(order: string): string {
  return order.slice(0, 13)
}

export type Model = ReturnType<typeof createModel>

export function createModel() {
  const events: ModelEvent[] = []
  /** Token and end of the lease, by message. */
  const leases = new Map<string, { readonly token: number; readonly untilMs: number }>()
  let highestToken = 0

  const ofMessage = (messageKey: string): ModelEvent[] => events.filter(({ event }) => event.messageKey === messageKey)
  const kept = (messageKey: string): ModelEvent[] => ofMessage(messageKey).filter(({ erased }) => !erased)

  function isLate(event: NewEvent): boolean {
    return ofMessage(event.messageKey).some(
      (other) => other.dispatched && timeAndRankOf(event.order) < timeAndRankOf(other.event.order),
    )
  }

  /** Each message's first waiting event, with the time from which it may be claimed. */
  function heads(exclude: ReadonlySet<string>): readonly { readonly head: ModelEvent; readonly fromMs: number }[] {
    const keys = new Set(events.filter(({ state }) => state === 'waiting').map(({ event }) => event.messageKey))
    return [...keys]
      .filter((key) => !exclude.has(key))
      .flatMap((key) => {
        const [head] = ofMessage(key)
          .filter(({ state }) => state === 'waiting')
          .sort((a, b) => (a.event.order < b.event.order ? -1 : 1))
        return head === undefined ? [] : [{ head, fromMs: Math.max(head.dueMs, leases.get(key)?.untilMs ?? 0) }]
      })
  }

  function admitOne(event: NewEvent, nowMs: number): Admission {
    const siblings = ofMessage(event.messageKey)
    if (siblings.some((other) => other.event.id === event.id)) return 'duplicate'
    const late = event.order !== '' && isLate(event)
    const isGap = event.awaits !== 0 && !siblings.some((other) => (other.event.step & event.awaits) !== 0)
    for (const other of siblings)
      if (event.step !== 0 && other.event.awaits === event.step && !other.dispatched)
        other.dueMs = Math.min(other.dueMs, nowMs)
    const dueMs = isGap && !late ? event.gapUntilMs : nowMs
    const fresh = { attempts: 0, token: 0, replay: false, dispatched: false, erased: false, error: '', diedAtMs: 0 }
    events.push({ event, state: 'waiting', dueMs, late, ...fresh })
    return late ? 'late' : 'new'
  }

  function takeOver(claim: Claim, possible: readonly { readonly head: ModelEvent }[], leaseUntilMs: number): void {
    const found = possible.find(({ head }) => head.event.id === claim.id)?.head
    assert.ok(found, 'only the first event of a message may be claimed, when it is due and its message is not leased')
    const { late, replay } = found
    assert.deepEqual(
      { late: claim.late, replay: claim.replay, attempt: claim.attempt },
      { late, replay, attempt: found.attempts + 1 },
    )
    assert.ok(claim.token > highestToken || claim.token > found.token, 'the token is greater than earlier ones')
    highestToken = Math.max(highestToken, claim.token)
    Object.assign(found, { attempts: found.attempts + 1, token: claim.token, dispatched: true })
    leases.set(claim.messageKey, { token: claim.token, untilMs: leaseUntilMs })
  }

  return {
    admit: (batch: readonly NewEvent[], nowMs: number) => batch.map((event) => admitOne(event, nowMs)),
    /** Checks that the claims are allowed, and applies them. */
    checkClaim({ limit, nowMs, leaseUntilMs, exclude }: ClaimRequest, { claims, nextDueMs }: ClaimResult): void {
      const possible = heads(exclude).filter(({ fromMs }) => fromMs <= nowMs)
      assert.equal(claims.length, Math.min(limit, possible.length), 'a claim for each due message, up to the limit')
      for (const claim of claims) takeOver(claim, possible, leaseUntilMs)
      if (claims.length === limit && possible.length >= limit) return
      const nextMs = Math.min(Infinity, ...heads(exclude).map(({ fromMs }) => fromMs))
      assert.equal(nextDueMs ?? Infinity, nextMs, '`nextDueMs` is the time when the next event is due')
    },
    /** Checks and applies claims of a batch that the model has just admitted. A store may claim fewer. */
    checkClaimOfAdmitted(batch: readonly NewEvent[], request: ClaimRequest, result: AdmittedAndClaimed): void {
      const { limit, nowMs, leaseUntilMs, exclude } = request
      const { admissions, claims } = result
      const possible = heads(exclude).filter(({ fromMs }) => fromMs <= nowMs)
      const admitted = batch.filter((_, index) => admissions[index] === 'new' || admissions[index] === 'late')
      assert.ok(claims.length <= limit, 'at most the limit')
      let before = -1
      for (const claim of claims) {
        const at = admitted.findIndex(({ id }) => id === claim.id)
        assert.ok(at > before, 'claims only events of this batch, in its order')
        before = at
        takeOver(claim, possible, leaseUntilMs)
      }
    },
    settle({ id, messageKey, token, ...settlement }: Settlement, nowMs: number): boolean {
      const found = events.find(({ event, state }) => event.id === id && state === 'waiting')
      if (found?.token !== token || token === 0) return false
      if (settlement.outcome === 'retry') found.dueMs = settlement.dueMs
      else if (settlement.outcome === 'release')
        Object.assign(found, { dueMs: settlement.dueMs, attempts: found.attempts - 1, token: 0 })
      else if (settlement.outcome === 'dead')
        Object.assign(found, { state: 'dead', error: settlement.error, diedAtMs: nowMs })
      else found.state = 'settled'
      if (leases.get(messageKey)?.token === token) leases.delete(messageKey)
      return true
    },
    resolve(id: string, resolution: Resolution, nowMs: number): boolean {
      const found = events.find(({ event, state }) => event.id === id && state === 'dead')
      if (found === undefined) return false
      const late = resolution === 'replay' && found.event.order !== '' && isLate(found.event)
      if (resolution === 'discard') found.state = 'settled'
      else Object.assign(found, { state: 'waiting', dueMs: nowMs, attempts: 0, token: 0, late, replay: true })
      return true
    },
    /** Erases a whole message. */
    erase(messageKey: string): void {
      for (const each of ofMessage(messageKey)) Object.assign(each, { state: 'settled', erased: true })
      leases.delete(messageKey)
    },
    deadLetters: (): readonly ModelDeadLetter[] =>
      events
        .filter(({ state }) => state === 'dead')
        .map(({ event: { id }, attempts, error, diedAtMs }) => ({ id, attempts, error, diedAtMs })),
    unsettled: () => events.filter(({ state }) => state === 'waiting').length,
    /** The expected fields of each listed event, of one message or of all, except erased ones. */
    listed(messageKey: string | undefined, nowMs: number): ReadonlyMap<string, Partial<StoredEvent>> {
      function facts(of: ModelEvent): Partial<StoredEvent> {
        const { event, state, attempts, late, dueMs, token, error, diedAtMs } = of
        const lease = leases.get(event.messageKey)
        if (state === 'settled') return { state, dueMs: undefined, error: undefined }
        const known = { attempts, late, endedAtMs: undefined, error: undefined }
        if (state === 'dead') return { ...known, state, error, endedAtMs: diedAtMs, dueMs: undefined }
        if (token === 0 || lease?.token !== token) return { ...known, state: 'due', dueMs }
        // A store may keep or drop an expired lease.
        return lease.untilMs <= nowMs ? known : { ...known, state: 'leased', dueMs: lease.untilMs }
      }
      const all = messageKey === undefined ? events.filter(({ erased }) => !erased) : kept(messageKey)
      return new Map(all.map((each) => [each.event.id, facts(each)]))
    },
    /** The newest order and the final ones of a message. */
    latest(messageKey: string) {
      const orders = (list: readonly ModelEvent[]): string[] => list.map(({ event }) => event.order).sort()
      const siblings = kept(messageKey).filter(({ event }) => event.order !== '')
      const newest = orders(siblings).at(-1)
      return newest === undefined ? undefined : { newest, finals: orders(siblings.filter(({ event }) => event.final)) }
    },
  }
}
