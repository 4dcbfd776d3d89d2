/** What this process has in hand, and how much more it may take: events under lease, slots for their handlers, and some ahead. */
import { removeMember } from '../churning-map.ts'
import type { Claim, ClaimRequest, OpenStore } from '../inbox/store.ts'
import type { DispatchState, Opened, Work } from './state.ts'

const NO_MESSAGES: ReadonlySet<string> = new Set()

export function takeInHand(
  state: DispatchState,
  claim: Claim,
  from: Opened,
  leaseUntilMs: number,
  payload?: Work['payload'],
): Work {
  const work: Work = {
    claim,
    from,
    leaseUntilMs,
    controller: new AbortController(),
    payload,
    extras: undefined,
    isBegun: false,
    begunAtMs: 0,
    hasSlot: false,
    isRunning: false,
    isHung: false,
    isOver: false,
    isFollowed: false,
    isLost: false,
    isForgotten: false,
  }
  state.atWork += 1
  state.inHand.members.set(claim.messageKey, work)
  return work
}

/** Nobody waits for it any more: its handlers may run on, and its message is not free. */
export function giveUp(state: DispatchState, work: Work): void {
  if (work.hasSlot) leaveSlot(state, work)
  if (!work.isHung) state.atWork -= 1
  work.isHung = true
  tellOfAttempt(state, work.claim.id)
}

/** Of it nothing is left to do here. */
export function letGo(state: DispatchState, work: Work): void {
  if (work.hasSlot) leaveSlot(state, work)
  const { claim } = work
  if (!work.isOver) {
    work.isOver = true
    if (!work.isHung) state.atWork -= 1
    if (state.inHand.members.get(claim.messageKey) === work) removeMember(state.inHand, claim.messageKey)
  }
  // Mostly nobody waits, and this is called all the time.
  if (state.waitingForAttempt.size > 0) tellOfAttempt(state, claim.id)
  else if (state.waitingForChange.size > 0) tellOfChange(state)
}

/** The next attempt at this event is over, or none will be made. */
export function tellOfAttempt(state: DispatchState, id: string): void {
  for (const resolve of state.waitingForAttempt.get(id) ?? []) resolve()
  state.waitingForAttempt.delete(id)
  tellOfChange(state)
}

/** Whoever waits for a change looks again. */
export function tellOfChange({ waitingForChange }: DispatchState): void {
  for (const resolve of waitingForChange) resolve()
  waitingForChange.clear()
}

/** Waits for the next change, at most `ms`. Somebody waits for us, so the process must stay. */
export function nextChange({ clock, waitingForChange }: DispatchState, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(resolve, ms, true)
    waitingForChange.add(() => {
      cancel()
      resolve()
    })
  })
}

/** All that is in hand, as it is now. */
export function allInHand({ inHand }: DispatchState): readonly Work[] {
  return [...inHand.members.values()]
}

export function isInHand(state: DispatchState, id: string): boolean {
  return allInHand(state).some(({ claim }) => claim.id === id)
}

/** A slot at once where one is free, else the next in turn. */
export function enterSlot(state: DispatchState, work: Work): void {
  if (state.waitingForSlot.length === 0 && state.slotsUsed < state.concurrency) state.begin(state, work)
  else enterSlotSoon(state, work)
}

/** The same, but not before the I/O under way; without `work`, for whoever waits. */
export function enterSlotSoon(state: DispatchState, work?: Work): void {
  if (work !== undefined) state.waitingForSlot.push(work)
  if (state.isHandingOutSlots) return
  state.isHandingOutSlots = true
  state.clock.soon(() => handOutSlots(state))
}

export function leaveSlot(state: DispatchState, work: Work): void {
  work.hasSlot = false
  state.slotsUsed -= 1
  if (state.waitingForSlot.length > 0) enterSlotSoon(state)
}

/** Who leaves its slot at once leaves it to the next one here. */
function handOutSlots(state: DispatchState): void {
  try {
    while (state.slotsUsed < state.concurrency) {
      const next = state.waitingForSlot.shift()
      if (next === undefined) break
      state.begin(state, next)
    }
  } finally {
    state.isHandingOutSlots = false
  }
}

/** A slower attempt counts at once, a quicker one by this share. */
const SHARE = 1 / 8

/** The handlers of an event took so long: so long others wait for its slot. */
export function learnPace(state: DispatchState, tookMs: number): void {
  const { attemptMs } = state
  // A clock that is kept right may be set back meanwhile; less than no time would leave no room for ever.
  const ms = Math.max(tookMs, 0)
  state.attemptMs = ms >= attemptMs || attemptMs === Infinity ? ms : attemptMs + (ms - attemptMs) * SHARE
}

/** A lease outlasts the longest attempt by this much, so that there is time to wait for a slot and to settle. */
const MARGIN_MS = 10_000
/** What is leased ahead should wait for its slot no longer than this. */
const AHEAD_MS = 50
/** Leased ahead for each slot at most: should handlers hang of a sudden, these wait for them, and no other process has them. */
const MOST_AHEAD = 7
/**
 * Events in our hands for each slot, those included that are being settled: meanwhile others run; where the store is slow, no
 * more are taken. Too few leave what comes to claims, which ask twice for each: with 4, and 3 ahead, 128 connections at once cost
 * Postgres 1.8 times the CPU, and Redis 1.7.
 */
const MOST_A_SLOT = 16

/**
 * A request for at most so many events as there is room for: one for each free slot, and where handlers are quick, some that
 * wait for one. Undefined where there is no room. `among`: whose messages it is about, for nothing of what is in hand is
 * leased again; else about all.
 */
export function askRoom(
  state: DispatchState,
  { contextFor }: OpenStore<object>,
  most: number,
  nowMs: number,
  among?: readonly { readonly messageKey: string }[],
): ClaimRequest | undefined {
  const { concurrency, slotsUsed, waitingForSlot, atWork, attemptMs, roomHeld } = state
  // What the store gives to handlers may be in use from the claim on.
  const ahead = contextFor === undefined ? Math.min(MOST_AHEAD, Math.floor(AHEAD_MS / attemptMs)) : 0
  const free = concurrency - slotsUsed - waitingForSlot.length + ahead * concurrency
  let limit = Math.min(free, MOST_A_SLOT * concurrency - atWork)
  for (const held of roomHeld) limit -= held.limit
  limit = Math.min(most, limit)
  if (limit <= 0) return undefined
  const exclude = state.inHand.members.size === 0 ? NO_MESSAGES : messagesInHand(state, among)
  return { limit, nowMs, leaseUntilMs: nowMs + state.handlers.longestMs + MARGIN_MS, exclude }
}

function messagesInHand(
  { inHand }: DispatchState,
  among?: readonly { readonly messageKey: string }[],
): ReadonlySet<string> {
  const { members } = inHand
  if (among === undefined) return new Set(members.keys())
  const found = among.filter(({ messageKey }) => members.has(messageKey))
  return found.length === 0 ? NO_MESSAGES : new Set(found.map(({ messageKey }) => messageKey))
}

/** Gives back the room that a request held, once the store has answered or is too late. False where it was given back before. */
export function giveRoomBack({ roomHeld }: DispatchState, request: ClaimRequest): boolean {
  const place = roomHeld.indexOf(request)
  if (place !== -1) roomHeld.splice(place, 1)
  return place !== -1
}
