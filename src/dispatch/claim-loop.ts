/** Asks the store for what is due: when, how much, and what its answers tell of what else waits there. */
import { asOurs } from '../errors.ts'
import { inStoreTime } from '../inbox/in-store-time.ts'
import type { Claim, ClaimRequest, ClaimResult } from '../inbox/store.ts'
import { askRoom, enterSlot, giveRoomBack, takeInHand, tellOfChange } from './capacity.ts'
import { BACKLOG, type DispatchState, type Opened } from './state.ts'

/** How long to leave a store alone that threw. */
const STORE_PAUSE_MS = 1_000
/** How long a look that will likely find nothing is put off, so that many attempts share it. */
const SHARE_MS = 5

/** Something may be due: it is claimed soon, and never twice at once. */
export function wake(state: DispatchState): void {
  if (state.isWoken || state.stopped || state.opened === undefined) return
  state.isWoken = true
  if (!state.isClaiming) state.clock.soon(() => void claimWhileWoken(state))
}

/** Something may be due, but likely is not. A claim that begins before does for it. */
export function wakeLater(state: DispatchState): void {
  if (state.isWoken || state.stopped || state.cancelLater !== undefined) return
  function wakeNow(): void {
    state.cancelLater = undefined
    wake(state)
  }
  // A process that ends meanwhile would leave what comes next of a message undone.
  state.cancelLater = state.clock.setTimer(wakeNow, SHARE_MS, true)
}

/** Takes over the look that was put off, for whoever looks or counts now. False where none was. */
export function takeLook(state: DispatchState): boolean {
  const { cancelLater } = state
  if (cancelLater === undefined) return false
  state.cancelLater = undefined
  cancelLater()
  return true
}

/** Something may be due then. */
export function wakeBy(state: DispatchState, dueMs: number): void {
  state.toldMs = Math.min(state.toldMs, dueMs)
  if (dueMs < state.timerMs) wakeAt(state, dueMs)
}

/** Something will be due then, and nothing before but what was told. */
function wakeAt(state: DispatchState, dueMs: number): void {
  state.cancelTimer()
  state.timerMs = Math.min(dueMs, state.toldMs)
  function wakeNow(): void {
    if (state.timerMs >= state.toldMs) state.toldMs = Infinity
    state.timerMs = Infinity
    wake(state)
  }
  state.cancelTimer = state.clock.setTimer(wakeNow, state.timerMs - state.clock.now())
}

/** Claims again as long as somebody asks for it meanwhile. */
async function claimWhileWoken(state: DispatchState): Promise<void> {
  state.isClaiming = true
  try {
    while (state.isWoken) {
      state.isWoken = false
      takeLook(state)
      const nextDueMs = await claimDue(state)
      if (nextDueMs !== undefined) wakeAt(state, nextDueMs)
    }
  } catch (error) {
    // Nobody knows what waits.
    state.fullClaims = BACKLOG
    state.absence.begin('dispatch', asOurs(error, 'store_failed'))
    state.isWoken = false
    wakeAt(state, state.clock.now() + STORE_PAUSE_MS)
  } finally {
    state.isClaiming = false
    if (state.waitingForChange.size > 0) tellOfChange(state)
  }
}

/** As much as there is room for, and runs what the store gives. Resolves to when something will be due next, where it says so. */
async function claimDue(state: DispatchState): Promise<number | undefined> {
  const { opened, stopped, clock, concurrency } = state
  if (stopped || opened === undefined) return undefined
  // As long as there is no backlog, room is left for what comes.
  const nowMs = clock.now()
  const request = askRoom(state, opened.store, state.fullClaims >= BACKLOG ? Infinity : concurrency, nowMs)
  if (request === undefined) {
    state.waitingSinceMs = Math.min(state.waitingSinceMs, nowMs)
    // Whoever makes room wakes us.
    state.fullClaims = BACKLOG
    return undefined
  }
  const { found } = state.absence
  const answer = (state.meter?.measured(opened.store) ?? opened.store).claim(request)
  const { claims, nextDueMs } = answer instanceof Promise ? await claimInTime(state, opened, request, answer) : answer
  // Nobody waits for its handlers any more, and the store may be closed: the leases run out.
  if (state.over) return undefined
  if (state.absence.foundBy.size > 0) state.absence.endAnswered('dispatch', found)
  state.fullClaims = claims.length < request.limit ? 0 : state.fullClaims + 1
  state.foundLast = claims.length > 0
  state.turns += 1
  state.waitingSinceMs = state.fullClaims > 0 ? waitingSince(state, claims, nowMs) : Infinity
  for (const claim of claims) run(state, claim, opened, request.leaseUntilMs)
  return nextDueMs
}

/** What is left is due for less long than what was claimed last; of what was handed over before, nobody knows since when. */
function waitingSince({ waitingSinceMs }: DispatchState, claims: readonly Claim[], nowMs: number): number {
  const last = claims.at(-1)
  if (last?.attempt !== 1 || last.replay) return Math.min(waitingSinceMs, nowMs)
  return Math.min(last.record.receivedAtMs, nowMs)
}

/** How claiming goes, for people who look on. */
export interface Progress {
  /** False before the store was open. */
  readonly hasBegun: boolean
  /** Nothing more is claimed. */
  readonly hasStopped: boolean
  /** Claims that were answered. */
  readonly turns: number
  /** A claim is wanted or under way, or its timer should have fired; where there is no room for another, none is wanted. */
  readonly isTurnDue: boolean
  /** How long the longest due event waits that is not in hand, as far as claims tell. 0 where nothing waits. */
  readonly oldestDueMs: number
}

export function progressOf(state: DispatchState): Progress {
  const { opened, stopped, turns, isWoken, isClaiming, timerMs, waitingSinceMs, clock } = state
  const nowMs = clock.now()
  return {
    hasBegun: opened !== undefined,
    hasStopped: stopped,
    turns,
    isTurnDue: isWoken || isClaiming || timerMs < nowMs,
    oldestDueMs: Math.max(0, nowMs - waitingSinceMs),
  }
}

function run(state: DispatchState, claim: Claim, from: Opened, leaseUntilMs: number): void {
  enterSlot(state, takeInHand(state, claim, from, leaseUntilMs))
}

async function claimInTime(
  state: DispatchState,
  from: Opened,
  request: ClaimRequest,
  answer: Promise<ClaimResult>,
): Promise<ClaimResult> {
  state.roomHeld.push(request)
  // What comes too late is ours all the same: left alone, it would wait for its lease to run out.
  const { leaseUntilMs } = request
  const runLate = ({ claims }: ClaimResult): void => {
    if (state.stopped || state.clock.now() >= leaseUntilMs) return
    for (const claim of claims) run(state, claim, from, leaseUntilMs)
  }
  try {
    return await inStoreTime(state.clock, state.storeTimeoutMs, answer, () => {
      // That it rejects was reported as slow.
      answer.then(runLate, () => {})
    })
  } finally {
    giveRoomBack(state, request)
  }
}
