/** The contract played plainly: no index, no heap, everything found by looking at everything. */
import assert from 'node:assert/strict'
import type {
  AdmittedAndClaimed,
  Admission,
  Claim,
  ClaimRequest,
  ClaimResult,
  NewEvent,
  Settlement,
} from '../inbox/store.ts'

interface ModelEvent {
  readonly event: NewEvent
  state: 'waiting' | 'settled' | 'dead'
  dueMs: number
  attempts: number
  token: number
  late: boolean
  replay: boolean
  handedOver: boolean
}

export interface Model {
  admit(events: readonly NewEvent[], nowMs: number): readonly Admission[]
  /** Holds what a store claimed against what it might have claimed, and takes it over. */
  checkClaim(request: ClaimRequest, result: ClaimResult): void
  /** The same for what it claimed of a batch that the model has just admitted, too: it may be fewer. */
  checkClaimOfAdmitted(events: readonly NewEvent[], request: ClaimRequest, result: AdmittedAndClaimed): void
  settle(settlement: Settlement, nowMs: number): boolean
  replay(id: string, nowMs: number): boolean
  deadIds(): readonly string[]
  unsettled(): number
  /** The newest order and the final ones of a message, as names. */
  latest(messageKey: string): { readonly newest: string; readonly finals: readonly string[] } | undefined
}

export function createModel(): Model {
  const events: ModelEvent[] = []
  /** By message: who holds it, and until when. */
  const leases = new Map<string, { readonly token: number; readonly untilMs: number }>()
  let highestToken = 0

  const ofMessage = (messageKey: string): ModelEvent[] => events.filter(({ event }) => event.messageKey === messageKey)

  function isLate(event: NewEvent): boolean {
    return ofMessage(event.messageKey).some(
      (other) => other.handedOver && event.order < other.event.order && !(event.final && other.event.final),
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
      if (event.step !== 0 && other.event.awaits === event.step && !other.handedOver)
        other.dueMs = Math.min(other.dueMs, nowMs)
    const dueMs = isGap && !late ? event.gapUntilMs : nowMs
    events.push({ event, state: 'waiting', dueMs, attempts: 0, token: 0, late, replay: false, handedOver: false })
    return late ? 'late' : 'new'
  }

  return {
    admit: (batch, nowMs) => batch.map((event) => admitOne(event, nowMs)),
    checkClaim({ limit, nowMs, leaseUntilMs, exclude }, { claims, nextDueMs }) {
      const possible = heads(exclude).filter(({ fromMs }) => fromMs <= nowMs)
      assert.equal(claims.length, Math.min(limit, possible.length), 'as many claims as are due and asked for')
      for (const claim of claims) takeOver(claim, possible, leaseUntilMs)
      if (claims.length === limit && possible.length >= limit) return
      const nextMs = Math.min(Infinity, ...heads(exclude).map(({ fromMs }) => fromMs))
      assert.equal(nextDueMs ?? Infinity, nextMs, 'the moment when something will be due next')
    },
    checkClaimOfAdmitted(batch, { limit, nowMs, leaseUntilMs, exclude }, { admissions, claims }) {
      const possible = heads(exclude).filter(({ fromMs }) => fromMs <= nowMs)
      const admitted = batch.filter((_, index) => admissions[index] === 'new' || admissions[index] === 'late')
      assert.ok(claims.length <= limit, 'at most the limit')
      let before = -1
      for (const claim of claims) {
        const at = admitted.findIndex(({ id }) => id === claim.id)
        assert.ok(at > before, 'only what was just admitted is claimed, in the order given')
        before = at
        takeOver(claim, possible, leaseUntilMs)
      }
    },
    settle({ id, token, ...settlement }, nowMs) {
      const found = events.find(({ event, state }) => event.id === id && state === 'waiting')
      if (found?.token !== token || token === 0) return false
      if (settlement.outcome === 'retry') found.dueMs = settlement.dueMs
      else if (settlement.outcome === 'unbegun')
        Object.assign(found, { dueMs: settlement.dueMs, attempts: found.attempts - 1, token: 0 })
      else found.state = settlement.outcome === 'dead' ? 'dead' : 'settled'
      if (leases.get(settlement.messageKey)?.token === token) leases.delete(settlement.messageKey)
      assert.ok(nowMs > 0)
      return true
    },
    replay(id, nowMs) {
      const found = events.find(({ event, state }) => event.id === id && state === 'dead')
      if (found === undefined) return false
      const late = found.event.order !== '' && isLate(found.event)
      Object.assign(found, { state: 'waiting', dueMs: nowMs, attempts: 0, token: 0, late, replay: true })
      return true
    },
    deadIds: () => events.filter(({ state }) => state === 'dead').map(({ event }) => event.id),
    unsettled: () => events.filter(({ state }) => state === 'waiting').length,
    latest(messageKey) {
      const orders = (list: readonly ModelEvent[]): string[] => list.map(({ event }) => event.order).sort()
      const siblings = ofMessage(messageKey).filter(({ event }) => event.order !== '')
      const newest = orders(siblings).at(-1)
      return newest === undefined ? undefined : { newest, finals: orders(siblings.filter(({ event }) => event.final)) }
    },
  }

  function takeOver(claim: Claim, possible: readonly { readonly head: ModelEvent }[], leaseUntilMs: number): void {
    const found = possible.find(({ head }) => head.event.id === claim.id)?.head
    assert.ok(found, 'only the first event of a message may be claimed, when it is due and nobody holds the message')
    const { late, replay } = found
    assert.deepEqual(
      { late: claim.late, replay: claim.replay, attempt: claim.attempt },
      { late, replay, attempt: found.attempts + 1 },
    )
    assert.ok(claim.token > highestToken || claim.token > found.token, 'tokens grow')
    highestToken = Math.max(highestToken, claim.token)
    found.attempts += 1
    found.token = claim.token
    found.handedOver = true
    leases.set(claim.messageKey, { token: claim.token, untilMs: leaseUntilMs })
  }
}
